/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same ping-pong, rate loop and streams over a pair of ZeroMQ PAIR sockets. Built by
 * bench/run.py where libzmq is installed. peer_zmq ENDPOINT 0|1 [CPU [SCALE [MAXBYTES]]]
 * tcp://127.0.0.1:PORT or ipc://PATH
 */
#include <zmq.h>

#include "pt2pt.h"

static void *sock;
static struct bench_memory out, in;

static void must(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "peer_zmq: %s\n", zmq_strerror(zmq_errno()));
    exit(1);
}

static void give(void *arg, size_t n)
{
    (void)arg;
    must(zmq_send(sock, bench_place(&out, n), n, 0));
}

static void take(void *arg, size_t n)
{
    (void)arg;
    must(zmq_recv(sock, bench_place(&in, n), n, 0));
}

/* Its threads send. */
static void both(void *arg, size_t bytes)
{
    give(arg, bytes);
    take(arg, bytes);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: peer_zmq ENDPOINT 0|1 [CPU [SCALE [MAXBYTES]]]\n");
        return 2;
    }
    int scale = argc > 4 ? atoi(argv[4]) : 1, none = 0, patience_ms = 60000;
    size_t max = argc > 5 ? strtoull(argv[5], NULL, 10) : 0;
    bench_pin(argc > 3 ? atoi(argv[3]) : -1); /* its own threads too: they start later */
    out = bench_memory(max);
    in = bench_memory(max);
    struct bench_pair p = {give, take, both, NULL, NULL, NULL, scale, max};
    void *context = zmq_ctx_new();
    sock = zmq_socket(context, ZMQ_PAIR);
    must(zmq_setsockopt(sock, ZMQ_SNDHWM, &none, sizeof none));
    must(zmq_setsockopt(sock, ZMQ_RCVHWM, &none, sizeof none));
    must(zmq_setsockopt(sock, ZMQ_RCVTIMEO, &patience_ms, sizeof patience_ms));
    if (argv[2][0] == '0') {
        must(zmq_connect(sock, argv[1]));
        bench_measure(&p);
    } else {
        must(zmq_bind(sock, argv[1]));
        bench_answer(&p);
    }
    zmq_close(sock);
    zmq_ctx_term(context);
    return 0;
}
