/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets, events and what can be injected into them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/os.h"

static struct {
    enum wio_os_call call;
    int answer;
    int asked;
} injected;

static int inject(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    if (call != injected.call)
        return 0;
    injected.asked++;
    return injected.answer;
}

static void set_fault(enum wio_os_call call, int answer)
{
    injected.call = call;
    injected.answer = answer;
    injected.asked = 0;
    wio_os_fault = inject;
}

static int no_faults(void **state)
{
    (void)state;
    wio_os_fault = NULL;
    return 0;
}

/** Listener on a free port of 127.0.0.1. */
static int listen_local(struct sockaddr_storage *addr, socklen_t *len)
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = wio_os_socket(AF_INET, SOCK_STREAM);
    assert_true(fd >= 0);
    assert_int_equal(wio_os_bind(fd, (struct sockaddr *)&sin, sizeof sin), 0);
    assert_int_equal(wio_os_listen(fd, 8), 0);
    assert_int_equal(wio_os_sockname(fd, addr, len), 0);
    return fd;
}

/** Two ends of a TCP connection. */
static void connect_local(int end[2])
{
    struct sockaddr_storage addr;
    socklen_t len;
    int listener = listen_local(&addr, &len);
    end[0] = wio_os_socket(AF_INET, SOCK_STREAM);
    int r = wio_os_connect(end[0], (struct sockaddr *)&addr, len);
    assert_true(r == 0 || r == -EINPROGRESS);
    assert_int_equal(wio_os_poll_in(&listener, 1, 5000000000), 1);
    end[1] = wio_os_accept(listener, &addr, &len);
    assert_true(end[1] >= 0);
    assert_int_equal(wio_os_so_error(end[0]), 0);
    struct sockaddr_storage mine, theirs;
    socklen_t mine_len, theirs_len;
    assert_int_equal(wio_os_sockname(end[0], &mine, &mine_len), 0);
    assert_int_equal(wio_os_peername(end[1], &theirs, &theirs_len), 0);
    assert_int_equal(mine_len, theirs_len);
    assert_memory_equal(&mine, &theirs, mine_len);
    wio_os_close(listener);
}

static void close_both(int end[2])
{
    wio_os_close(end[0]);
    wio_os_close(end[1]);
}

static void test_tcp_round(void **state)
{
    (void)state;
    int end[2];
    char buf[16] = "";
    connect_local(end);
    for (int i = 0; i < 2; i++) { /* both kinds of making a socket */
        assert_true(fcntl(end[i], F_GETFD) & FD_CLOEXEC);
        assert_true(fcntl(end[i], F_GETFL) & O_NONBLOCK);
    }
    assert_int_equal(wio_os_recv(end[1], buf, sizeof buf), -EAGAIN);
    assert_int_equal(wio_os_send(end[0], "hello", 5), 5);
    assert_int_equal(wio_os_poll_in(&end[1], 1, 5000000000), 1);
    assert_int_equal(wio_os_recv(end[1], buf, sizeof buf), 5);
    assert_memory_equal(buf, "hello", 5);
    assert_int_equal(wio_os_shutdown_send(end[0]), 0);
    assert_int_equal(wio_os_poll_in(&end[1], 1, 5000000000), 1);
    assert_int_equal(wio_os_recv(end[1], buf, sizeof buf), 0);
    close_both(end);
    wio_os_close(-1);
}

static void test_vectors(void **state)
{
    (void)state;
    int end[2];
    char a[3], b[8];
    connect_local(end);
    struct iovec out[] = {{"ab", 2}, {"", 0}, {"cdef", 4}};
    struct iovec in[] = {{a, sizeof a}, {b, sizeof b}};
    assert_int_equal(wio_os_sendv(end[0], out, 3), 6);
    assert_int_equal(wio_os_poll_in(&end[1], 1, 5000000000), 1);
    assert_int_equal(wio_os_recvv(end[1], in, 2), 6);
    assert_memory_equal(a, "abc", 3);
    assert_memory_equal(b, "def", 3);
    set_fault(WIO_OS_SEND, 3); /* torn inside the second piece */
    struct iovec torn[] = {{"xy", 2}, {"zw", 2}};
    assert_int_equal(wio_os_sendv(end[0], torn, 2), 3);
    set_fault(WIO_OS_RECV, 1);
    assert_int_equal(wio_os_poll_in(&end[1], 1, 5000000000), 1);
    assert_int_equal(wio_os_recvv(end[1], in, 2), 1);
    assert_int_equal(a[0], 'x');
    set_fault(WIO_OS_RECV, 100); /* more than there is room for changes nothing */
    assert_int_equal(wio_os_recvv(end[1], in, 2), 2);
    assert_memory_equal(a, "yz", 2);
    close_both(end);
}

static void test_no_sigpipe(void **state)
{
    (void)state;
    int end[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, end), 0);
    wio_os_close(end[1]);
    struct iovec iov = {"x", 1};
    signal(SIGPIPE, SIG_DFL); /* would end this program */
    assert_int_equal(wio_os_send(end[0], "x", 1), -EPIPE);
    assert_int_equal(wio_os_sendv(end[0], &iov, 1), -EPIPE);
    assert_int_equal(wio_os_send_fd(end[0], 0, "x", 1), -EPIPE);
    wio_os_close(end[0]);
}

static void test_refused_connection(void **state)
{
    (void)state;
    struct sockaddr_storage addr;
    socklen_t len;
    wio_os_close(listen_local(&addr, &len)); /* a port nobody listens on */
    int fd = wio_os_socket(AF_INET, SOCK_STREAM);
    int r = wio_os_connect(fd, (struct sockaddr *)&addr, len);
    if (r == -EINPROGRESS) {
        assert_int_equal(wio_os_poll_in(&fd, 1, 5000000000), 1);
        r = wio_os_so_error(fd);
    }
    assert_int_equal(r, -ECONNREFUSED);
    wio_os_close(fd);
}

static void test_tcp_info(void **state)
{
    (void)state;
    int end[2];
    struct wio_os_tcp_info info;
    connect_local(end);
    assert_int_equal(wio_os_send(end[0], "x", 1), 1);
    assert_int_equal(wio_os_poll_in(&end[1], 1, 5000000000), 1);
    memset(&info, 0xff, sizeof info);
    assert_int_equal(wio_os_tcp_info(end[0], &info), 0);
    assert_int_equal(info.retransmits, 0);
    assert_int_equal(info.notsent, 0);
    assert_in_range(info.last_ack_ns, 0, 60000000000);
    assert_in_range(info.rtt_us, 0, 10000000);
    close_both(end);
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_true(wio_os_tcp_info(pair[0], &info) < 0);
    close_both(pair);
}

static void test_descriptor_passing(void **state)
{
    (void)state;
    int end[2], got;
    char buf[4];
    uid_t uid = (uid_t)-1;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, end), 0);
    int event = wio_os_eventfd();
    assert_int_equal(wio_os_send_fd(end[0], event, "fd", 2), 2);
    assert_int_equal(wio_os_recv_fd(end[1], &got, buf, sizeof buf), 2);
    assert_memory_equal(buf, "fd", 2);
    assert_true(got >= 0 && got != event);
    assert_true(fcntl(got, F_GETFD) & FD_CLOEXEC);
    wio_os_eventfd_set(event);
    assert_int_equal(wio_os_poll_in(&got, 1, 0), 1); /* the same object */
    wio_os_close(got);
    assert_int_equal(wio_os_send(end[0], "no", 2), 2);
    assert_int_equal(wio_os_recv_fd(end[1], &got, buf, sizeof buf), 2);
    assert_int_equal(got, -1);
    assert_int_equal(wio_os_peer_uid(end[0], &uid), 0);
    assert_int_equal(uid, getuid());
    wio_os_close(event);
    close_both(end);
}

/** A sender of several descriptors must not fill our table. */
static void test_surplus_descriptors_are_dropped(void **state)
{
    (void)state;
    int end[2], got, sent[2];
    char buf[1] = "x";
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, end), 0);
    sent[0] = sent[1] = end[0];
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof sent)];
    } control = {0};
    struct iovec iov = {buf, 1};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         .msg_controllen = sizeof control.room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof sent);
    memcpy(CMSG_DATA(head), sent, sizeof sent);
    assert_int_equal(sendmsg(end[0], &msg, 0), 1);
    int lowest = dup(0); /* the number that the first descriptor will get */
    wio_os_close(lowest);
    assert_int_equal(wio_os_recv_fd(end[1], &got, buf, 1), 1);
    assert_int_equal(got, lowest);
    int next = dup(0);
    assert_int_equal(next, lowest + 1); /* no second one came */
    wio_os_close(next);
    wio_os_close(got);
    close_both(end);
}

static void test_epoll_and_events(void **state)
{
    (void)state;
    struct epoll_event ev[4];
    int tag, ep = wio_os_epoll_create(), event = wio_os_eventfd();
    assert_true(ep >= 0 && event >= 0);
    assert_int_equal(wio_os_epoll_ctl(ep, EPOLL_CTL_ADD, event, EPOLLIN, &tag), 0);
    assert_int_equal(wio_os_epoll_ctl(ep, EPOLL_CTL_ADD, event, EPOLLIN, &tag), -EEXIST);
    assert_int_equal(wio_os_epoll_wait(ep, ev, 4, 0), 0);
    wio_os_eventfd_set(event);
    wio_os_eventfd_set(event);
    assert_int_equal(wio_os_epoll_wait(ep, ev, 4, 5000), 1);
    assert_ptr_equal(ev[0].data.ptr, &tag);
    wio_os_eventfd_clear(event);
    wio_os_eventfd_clear(event); /* does not block */
    assert_int_equal(wio_os_epoll_wait(ep, ev, 4, 0), 0);
    wio_os_close(event);
    wio_os_close(ep);
}

static void test_poll(void **state)
{
    (void)state;
    int event[3] = {wio_os_eventfd(), -1, wio_os_eventfd()};
    int64_t before = wio_os_now_ns();
    assert_int_equal(wio_os_poll_in(event, 3, 20000000), 0);
    assert_true(wio_os_now_ns() - before >= 20000000);
    wio_os_eventfd_set(event[2]);
    assert_int_equal(wio_os_poll_in(event, 3, -1), 4);
    wio_os_eventfd_set(event[0]);
    assert_int_equal(wio_os_poll_in(event, 3, 0), 5);
    wio_os_close(event[0]);
    assert_int_equal(wio_os_poll_in(event, 3, 0), -EBADF);
    wio_os_close(event[2]);
    int many[17] = {0};
    assert_int_equal(wio_os_poll_in(many, 17, 0), -EINVAL);
}

static void test_every_kind_can_fail(void **state)
{
    (void)state;
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;
    int end[2], got;
    char c;
    struct iovec iov = {&c, 1};
    struct wio_os_ifaddr *list;
    struct epoll_event ev;
    int listener = listen_local(&addr, &len);
    connect_local(end);
    set_fault(WIO_OS_SOCKET, -EMFILE);
    assert_int_equal(wio_os_socket(AF_INET, SOCK_STREAM), -EMFILE);
    assert_int_equal(wio_os_bind(listener, (struct sockaddr *)&addr, len), -EMFILE);
    assert_int_equal(wio_os_listen(listener, 1), -EMFILE);
    assert_int_equal(wio_os_ifaddrs(&list, &got), -EMFILE);
    set_fault(WIO_OS_CONNECT, -ENETUNREACH);
    assert_int_equal(wio_os_connect(end[0], (struct sockaddr *)&addr, len), -ENETUNREACH);
    set_fault(WIO_OS_ACCEPT, -ENFILE);
    assert_int_equal(wio_os_accept(listener, &addr, &len), -ENFILE);
    set_fault(WIO_OS_SEND, -ECONNRESET);
    assert_int_equal(wio_os_send(end[0], "x", 1), -ECONNRESET);
    assert_int_equal(wio_os_sendv(end[0], &iov, 1), -ECONNRESET);
    assert_int_equal(wio_os_send_fd(end[0], 0, "x", 1), -ECONNRESET);
    assert_int_equal(injected.asked, 3);
    set_fault(WIO_OS_SEND, 2);
    assert_int_equal(wio_os_send(end[0], "abc", 3), 2);
    set_fault(WIO_OS_RECV, -ETIMEDOUT);
    assert_int_equal(wio_os_recv(end[1], &c, 1), -ETIMEDOUT);
    assert_int_equal(wio_os_recvv(end[1], &iov, 1), -ETIMEDOUT);
    assert_int_equal(wio_os_recv_fd(end[1], &got, &c, 1), -ETIMEDOUT);
    set_fault(WIO_OS_EPOLL, -ENOSPC);
    assert_int_equal(wio_os_epoll_create(), -ENOSPC);
    assert_int_equal(wio_os_epoll_ctl(0, EPOLL_CTL_ADD, 0, 0, NULL), -ENOSPC);
    assert_int_equal(wio_os_epoll_wait(0, &ev, 1, 0), -ENOSPC);
    assert_int_equal(wio_os_eventfd(), -ENOSPC);
    no_faults(NULL);
    wio_os_close(listener);
    close_both(end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tcp_round),
        cmocka_unit_test_teardown(test_vectors, no_faults),
        cmocka_unit_test(test_no_sigpipe),
        cmocka_unit_test(test_refused_connection),
        cmocka_unit_test(test_tcp_info),
        cmocka_unit_test(test_descriptor_passing),
        cmocka_unit_test(test_surplus_descriptors_are_dropped),
        cmocka_unit_test(test_epoll_and_events),
        cmocka_unit_test(test_poll),
        cmocka_unit_test_teardown(test_every_kind_can_fail, no_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
