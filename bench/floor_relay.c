/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The floor for waitio-relay: a bare forwarder by splice(2), one connection, a thread for each
 * direction, blocking calls, no handshake.
 *   floor_relay PORT HOST2 PORT2    listens on PORT, connects to HOST2 port PORT2
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIPE_BYTES = 256 << 10 };

struct way {
    int from, to;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void *forward(void *arg)
{
    const struct way *w = arg;
    int p[2];
    if (pipe(p) != 0)
        die("pipe");
    fcntl(p[1], F_SETPIPE_SZ, PIPE_BYTES);
    for (;;) {
        ssize_t n = splice(w->from, NULL, p[1], NULL, PIPE_BYTES, SPLICE_F_MOVE);
        if (n <= 0)
            break;
        while (n > 0) {
            ssize_t k = splice(p[0], NULL, w->to, NULL, (size_t)n, SPLICE_F_MOVE);
            if (k <= 0)
                die("splice");
            n -= k;
        }
    }
    shutdown(w->to, SHUT_WR);
    return NULL;
}

static struct sockaddr_in address(const char *host, const char *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
    if (inet_pton(AF_INET, host, &a.sin_addr) != 1)
        die(host);
    return a;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: floor_relay PORT HOST2 PORT2\n");
        return 2;
    }
    struct sockaddr_in here = address("0.0.0.0", argv[1]), there = address(argv[2], argv[3]);
    int one = 1, ls = socket(AF_INET, SOCK_STREAM, 0), to = -1;
    setsockopt(ls, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(ls, (struct sockaddr *)&here, sizeof here) != 0 || listen(ls, 1) != 0)
        die("listen");
    int from = accept(ls, NULL, NULL);
    for (bool connected = false; !connected;) {
        to = socket(AF_INET, SOCK_STREAM, 0);
        connected = connect(to, (struct sockaddr *)&there, sizeof there) == 0;
        if (!connected) {
            close(to);
            usleep(10000);
        }
    }
    setsockopt(from, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct way out = {from, to}, back = {to, from};
    pthread_t t;
    if (pthread_create(&t, NULL, forward, &back) != 0)
        die("pthread_create");
    forward(&out);
    pthread_join(t, NULL);
    return 0;
}
