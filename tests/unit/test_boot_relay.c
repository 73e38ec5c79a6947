/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of leaders that the table travels down: every process pretends to live on a host of its
 * own. Whatever a parent does, its children join; and the service learns why they came to it. */
#include "boot_people.h"
#include "boot/fetch.h"
#include "boot/listen.h"
#include "boot/relay.h"

#define HOSTS 20

/* One process per host, all of block 1 but the first of them. */
static void hosts(struct crowd *c, int from, int to, int n, double timeout)
{
    for (int i = from; i < to; i++) {
        c->identity = 1000 + (uint64_t)i;
        wt_start(c, i > 0, 2, i > 0 ? i - 1 : 0, i > 0 ? n - 1 : 1, timeout);
    }
}

static void start(struct crowd *c, uint32_t fan)
{
    wt_crowd(c);
    c->plain = true;
    c->fan = fan;
    c->above = 4;
}

/* @return everybody within so many seconds; on a busy machine it may be later */
static bool all_joined(struct crowd *c, int from, int n, double within)
{
    bool soon = true;
    wt_wait_all(c, 30);
    for (int i = from; i < c->n; i++) {
        wt_expect_ok(c, i, (uint32_t)i, (uint32_t)n);
        assert_memory_equal(c->p[i].universe, c->p[from].universe, 16);
        if (c->p[i].seconds > within)
            print_error("person %d took %.1f s\n", i, c->p[i].seconds);
        soon &= c->p[i].seconds < within;
    }
    return soon;
}

/* By the service's last report, which comes within 20 ms where nobody else is busy. */
static uint64_t tables_sent(const struct crowd *c)
{
    for (int i = 0; i < WT_PATIENCE_S * 1000 && !c->serv->formed; i++)
        usleep(1000);
    assert_true(c->serv->formed);
    return c->serv->st.tables;
}

/* Whoever hears nothing for a second or three looks elsewhere, and rightly so where it is the
 * machine that is slow: what is to be quick, or to ask nobody else, must be so in one of a few
 * tries. */
static void in_some_try(bool (*one)(int), int what)
{
    bool good = false;
    for (int tries = 0; tries < 4 && !good; tries++)
        good = one(what);
    if (!good)
        print_error("in no try (%d)\n", what);
    assert_true(good);
}

static bool serves_only_the_first(int fan)
{
    struct crowd c;
    start(&c, (uint32_t)fan);
    pid_t s = wt_service(&c, 40, 0);
    hosts(&c, 0, HOSTS, HOSTS, 25);
    bool soon = all_joined(&c, 0, HOSTS, 2.5);
    bool few = tables_sent(&c) == (uint64_t)fan;
    wt_end_service(s);
    wt_end(&c);
    return soon && few;
}

static void the_service_serves_only_the_first(void **state)
{
    (void)state;
    for (int fan = 1; fan <= 3; fan++)
        in_some_try(serves_only_the_first, fan);
}

static bool no_tree(int n)
{
    struct crowd c;
    start(&c, 2);
    pid_t s = wt_service(&c, 40, 0);
    hosts(&c, 0, n, n, 25);
    bool soon = all_joined(&c, 0, n, 2);
    assert_int_equal(tables_sent(&c), n);
    wt_end_service(s);
    wt_end(&c);
    return soon;
}

static void few_hosts_need_no_tree(void **state)
{
    (void)state;
    in_some_try(no_tree, 4);
}

/* More hosts than the default limit, service inside rank 0, followers on every host. */
static void the_default_tree_with_an_embedded_service(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    c.plain = true;
    for (int i = 0; i < 40; i++) {
        c.identity = 1000 + (uint64_t)i;
        wt_start(&c, 0, 2, i, 40, 25);
        wt_start(&c, 1, 2, i, 40, 25);
    }
    wt_wait_all(&c, 30);
    for (int i = 0; i < 80; i++)
        wt_expect_ok(&c, i, (uint32_t)(i % 2 * 40 + i / 2), 80);
    wt_end(&c);
}

static int no_accepting(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_ACCEPT ? -EMFILE : 0;
}

enum lack { ADDRESSES, DESCRIPTORS };

static bool parents_without(int what)
{
    struct crowd c;
    start(&c, 2);
    if (what == ADDRESSES) {
        c.plain = false;
        snprintf(c.cfg.netdev, sizeof c.cfg.netdev, "lo");
    }
    pid_t s = wt_service(&c, 40, 0);
    wio_os_fault = what == DESCRIPTORS ? no_accepting : NULL;
    hosts(&c, 0, HOSTS, HOSTS, 25);
    wio_os_fault = NULL;
    bool soon = all_joined(&c, 0, HOSTS, 2.5);
    assert_int_equal(tables_sent(&c), HOSTS);
    wt_end_service(s);
    wt_end(&c);
    return soon;
}

/* Loopback addresses are no addresses for other hosts: nobody can be a parent, all ask the service.
 */
static void parents_without_an_address(void **state)
{
    (void)state;
    in_some_try(parents_without, ADDRESSES);
}

/* The connection is made by the system, and nobody takes it. */
static void parents_without_descriptors(void **state)
{
    (void)state;
    in_some_try(parents_without, DESCRIPTORS);
}

/* ---- a leader that does as it is told to do wrong ---- */

enum misdeed {
    SAYS_NO_PORT,  /* nothing at all */
    CANNOT_LISTEN, /* port 0 */
    CLOSED_PORT,
    DEAF_PORT, /* takes connections, never answers */
    HANGS_UP,  /* takes connections and closes them */
    WRONG_TABLE,
    HALF_A_TABLE,
    LEAVES, /* is gone when it is asked to be a parent */
    MISDEEDS
};

struct rogue {
    struct wio_bc up, down;
    enum misdeed how;
    struct crowd *c;
    int n, epfd, listener, kind;
    uint16_t port;
    uint8_t *table;
    size_t table_bytes;
    bool have;
    uint8_t universe[WIO_UNIVERSE_ID];
};

static int rogue_opened(struct wio_bc *bc)
{
    const struct rogue *r = bc->owner;
    struct wio_boot_hello m = {.pid = 1, .host = "rogue"};
    uint8_t out[WIO_BOOT_HELLO_MAX];
    snprintf(m.job, sizeof m.job, "%s", r->c->job);
    return wio_bc_send(bc, WIO_BOOT_HELLO, out, wio_boot_put_hello(out, &m));
}

static int rogue_registers(struct wio_bc *bc)
{
    struct wio_tab_host h = {.identity = 7, .naddr = 1};
    struct wio_boot_reg g = {0, 2, 1, 0, 0, 1, 99, 1, 3, 0};
    uint8_t out[512];
    h.addr[0] = (struct wio_tab_addr){4, 0, 8, 0, 0, {127, 0, 0, 1}};
    int rc = wio_bc_send(bc, WIO_BOOT_HOSTS, out, wio_boot_put_hosts(out, 0, &h, 1));
    return rc != 0 ? rc : wio_bc_send(bc, WIO_BOOT_REG, out, wio_boot_put_regs(out, &g, 1));
}

static int rogue_is_asked(struct rogue *r)
{
    struct wio_boot_port m = {.port = r->port, .why = ""};
    uint8_t out[WIO_BOOT_PORT_MAX];
    if (r->how == LEAVES)
        _exit(0);
    if (r->how == SAYS_NO_PORT)
        return 0;
    if (r->how == CANNOT_LISTEN)
        m.port = 0;
    if (r->how == CLOSED_PORT) {
        close(r->listener);
        r->listener = -1;
    }
    return wio_bc_send(&r->up, WIO_BOOT_PORT, out, wio_boot_put_port(out, &m));
}

static int rogue_frame(struct wio_bc *bc, enum wio_boot_type type, const uint8_t *p, size_t n)
{
    struct rogue *r = bc->owner;
    (void)p;
    (void)n;
    if (type == WIO_BOOT_WELCOME)
        return rogue_registers(bc);
    if (type == WIO_BOOT_RELAY)
        return rogue_is_asked(r);
    if (type == WIO_BOOT_TABLE) {
        r->have = true;
        return wio_bc_send(bc, WIO_BOOT_ACK, NULL, 0);
    }
    if (type == WIO_BOOT_FETCH && r->have) { /* the table, with other bytes behind a right head */
        if (r->how == WRONG_TABLE) {
            r->table[16] ^= 1; /* the universe; not under the checksum */
            return wio_bc_send_table(bc, r->table, r->table_bytes);
        }
        wio_bc_send_table(bc, r->table, r->table_bytes / 2); /* a wrong length */
    }
    return 0;
}

static void *rogue_room(struct wio_bc *bc, size_t n)
{
    struct rogue *r = bc->owner;
    r->table_bytes = n;
    return r->table = malloc(n);
}

static const struct wio_bc_upcalls rogue_up = {
    .frame = rogue_frame, .opened = rogue_opened, .table_room = rogue_room};
static const struct wio_bc_upcalls rogue_down = {.frame = rogue_frame};

static void rogue_accepts(struct rogue *r)
{
    struct sockaddr_storage sa;
    socklen_t len = sizeof sa;
    int fd = wio_os_accept(r->listener, &sa, &len);
    if (fd < 0)
        return;
    if (r->how == HANGS_UP) {
        close(fd);
        return;
    }
    if (r->how == DEAF_PORT)
        return; /* held open */
    if (wio_bc_start(&r->down, fd, WIO_AUTH_ACCEPT, false, false, &r->c->secret, &rogue_down, r) !=
        0)
        _exit(1);
    r->down.kind = 3;
    wio_bc_arm(&r->down, r->epfd);
}

static pid_t rogue(struct crowd *c, enum misdeed how)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid != 0)
        return pid;
    alarm(WT_LAST_RESORT_S);
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)c->cfg.master_port)};
    struct rogue r = {.how = how, .c = c, .kind = 1, .epfd = wio_os_epoll_create()};
    int fd = wio_os_socket(AF_INET, SOCK_STREAM);
    if (wio_boot_listen("127.0.0.1", &r.port, &r.listener) != 0)
        _exit(1);
    (void)wio_os_connect(fd, (struct sockaddr *)&sa, sizeof sa);
    if (wio_bc_start(&r.up, fd, WIO_AUTH_DIAL, false, true, &c->secret, &rogue_up, &r) != 0)
        _exit(1);
    r.up.kind = 2;
    wio_os_epoll_ctl(r.epfd, EPOLL_CTL_ADD, r.listener, EPOLLIN, &r.kind);
    for (bool up = true;;) {
        struct epoll_event ev;
        if (up)
            wio_bc_arm(&r.up, r.epfd);
        if (wio_os_epoll_wait(r.epfd, &ev, 1, 1000) < 1)
            continue;
        const int *kind = ev.data.ptr;
        if (*kind == 1)
            rogue_accepts(&r);
        else if (*kind == 2)
            up = wio_bc_event(&r.up, ev.events);
        else if (wio_bc_event(&r.down, ev.events))
            wio_bc_arm(&r.down, r.epfd);
    }
}

static bool bad_parent(int how)
{
    struct crowd c;
    start(&c, 1); /* a chain: everybody's table depends on the first */
    pid_t s = wt_service(&c, 50, 0);
    pid_t bad = rogue(&c, (enum misdeed)how);
    wt_came(&c, 1);
    c.n = 1; /* the rogue's place */
    hosts(&c, 1, 6, 6, 25);
    wt_wait_all(&c, 30);
    for (int i = 1; i < 6; i++)
        wt_expect_ok(&c, i, (uint32_t)i, 6);
    double limit = how == SAYS_NO_PORT ? 2.5 : how == DEAF_PORT ? 5 : 1.5;
    for (int i = 1; i < 6; i++)
        if (c.p[i].seconds > limit)
            print_error("misdeed %d: %d took %.1f s\n", how, i, c.p[i].seconds);
    bool soon = c.p[1].seconds < limit && c.p[5].seconds < limit;
    const volatile uint64_t *tables = &c.serv->st.tables; /* to the rogue, and to whom it failed */
    for (int i = 0; i < WT_PATIENCE_S * 1000 && *tables < 2; i++)
        usleep(1000);
    assert_true(*tables >= 2);
    kill(bad, SIGKILL);
    waitpid(bad, NULL, 0);
    wt_end_service(s);
    wt_end(&c);
    return soon;
}

static void bad_parents(void **state)
{
    (void)state;
    for (int how = 0; how < MISDEEDS; how++)
        in_some_try(bad_parent, how);
}

/* Second in a chain, and gone when it is told of its parent: that waits for nobody. */
static bool a_child_goes(int unused)
{
    (void)unused;
    struct crowd c;
    start(&c, 1);
    pid_t s = wt_service(&c, 50, 0);
    c.n = 1; /* the rogue's place */
    hosts(&c, 1, 2, 6, 25);
    wt_came(&c, 1);
    pid_t gone = rogue(&c, LEAVES);
    wt_came(&c, 2);
    int64_t t0 = wio_os_now_ns();
    hosts(&c, 2, 6, 6, 25);
    wt_wait_all(&c, 30);
    bool soon = wio_os_now_ns() - t0 < 3000000000;
    for (int i = 1; i < 6; i++)
        wt_expect_ok(&c, i, (uint32_t)i, 6);
    waitpid(gone, NULL, 0);
    wt_end_service(s);
    wt_end(&c);
    return soon;
}

static void a_child_that_goes_keeps_nobody(void **state)
{
    (void)state;
    in_some_try(a_child_goes, 0);
}

/* ---- strangers at a parent's port ---- */

static void a_parent_gives_nothing_to_strangers(void **state)
{
    (void)state;
    struct wio_boot_relay what = {.universe = "one universe", .children = 1};
    struct wio_secret right = {.key = "right secret of this run", .len = 24, .origin = "test"};
    struct wio_secret wrong = {.key = "wrong secret of this run", .len = 24, .origin = "test"};
    static uint8_t packed[4096];
    /* Wrong secret; wrong universe; both right, rubbish for a table; more than was announced. */
    for (int i = 0; i < 4; i++) {
        struct wio_relay r;
        struct wio_fetch f;
        struct wio_boot_parent from = {.bytes = sizeof packed, .name = "p"};
        int epfd = wio_os_epoll_create();
        wio_relay_init(&r);
        wio_fetch_init(&f);
        assert_int_equal(wio_relay_open(&r, epfd, 1, 2, "127.0.0.1", &right, NULL, &what), 0);
        wio_relay_table(&r, packed, sizeof packed);
        memcpy(from.universe, what.universe, sizeof from.universe);
        from.universe[0] ^= i == 1;
        from.bytes -= i == 3;
        from.port = r.port;
        from.host.naddr = 1;
        from.host.addr[0] = (struct wio_tab_addr){4, 0, 8, 0, 0, {127, 0, 0, 1}};
        wio_fetch_start(&f, epfd, 3, i == 0 ? &wrong : &right, &from, "me", 1);
        for (int k = 0; k < 200 && f.state == WIO_FETCH_GOING; k++) {
            struct epoll_event ev;
            if (wio_os_epoll_wait(epfd, &ev, 1, 100) < 1)
                continue;
            const int *kind = ev.data.ptr;
            if (*kind == 1)
                wio_relay_accept(&r);
            else if (*kind == 2)
                wio_relay_event(ev.data.ptr, ev.events);
            else
                wio_fetch_event(&f, ev.events);
        }
        assert_int_equal(f.state, WIO_FETCH_FAILED);
        if (i == 0)
            assert_non_null(strstr(f.why, "secret"));
        if (i != 2)
            assert_true(f.bc.rx_bytes < sizeof packed);
        else
            assert_non_null(strstr(f.why, "malformed packed address table"));
        wio_fetch_close(&f);
        wio_relay_close(&r);
        assert_int_equal(r.served, i >= 2);
        close(epfd);
    }
}

/* ---- stopped and killed ---- */

static void a_stopped_parent_keeps_nobody(void **state)
{
    (void)state;
    struct crowd c;
    start(&c, 2);
    pid_t s = wt_service(&c, 50, 0);
    hosts(&c, 0, 3, HOSTS, 25);
    wt_came(&c, 3);
    kill(c.p[1].pid, SIGSTOP);
    hosts(&c, 3, HOSTS, HOSTS, 25);
    for (int i = 0; i < 15000; i++) {
        int done = 0;
        for (int k = 0; k < HOSTS; k++)
            done += c.p[k].done;
        if (done == HOSTS - 1)
            break;
        usleep(1000);
    }
    for (int i = 0; i < HOSTS; i++)
        assert_int_equal(c.p[i].done, i != 1);
    kill(c.p[1].pid, SIGCONT);
    (void)all_joined(&c, 0, HOSTS, 20);
    wt_end_service(s);
    wt_end(&c);
}

/* Any leader may die at any moment: the others join, or fail in bounded time because it had not. */
static void killed_in_the_tree(void **state)
{
    (void)state;
    uint32_t seed = 11;
    for (int round = 0; round < 8; round++) {
        struct crowd c;
        start(&c, 2);
        pid_t s = wt_service(&c, 20, 0);
        hosts(&c, 0, HOSTS, HOSTS, 4);
        seed = seed * 1664525u + 1013904223u;
        usleep((seed >> 8) % 60000);
        int victim = (int)((seed >> 4) % 7);
        wt_kill(&c, victim);
        wt_wait_all(&c, 25);
        int joined = 0;
        for (int i = 0; i < HOSTS; i++) {
            if (i == victim)
                continue;
            assert_int_equal(c.p[i].done, 1);
            joined += c.p[i].rc == 0;
            if (c.p[i].rc != 0)
                assert_true(c.p[i].rc == WAITIO_ERR_PEER || c.p[i].rc == WAITIO_ERR_TIMEOUT);
        }
        assert_true(joined == 0 || joined == HOSTS - 1);
        wt_end_service(s);
        wt_end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_service_serves_only_the_first),
        cmocka_unit_test(few_hosts_need_no_tree),
        cmocka_unit_test(the_default_tree_with_an_embedded_service),
        cmocka_unit_test(parents_without_an_address),
        cmocka_unit_test(parents_without_descriptors),
        cmocka_unit_test(bad_parents),
        cmocka_unit_test(a_child_that_goes_keeps_nobody),
        cmocka_unit_test(a_parent_gives_nothing_to_strangers),
        cmocka_unit_test(a_stopped_parent_keeps_nobody),
        cmocka_unit_test(killed_in_the_tree),
    };
    if (getenv("WT_ONLY"))
        cmocka_set_test_filter(getenv("WT_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
