# SPDX-License-Identifier: BSD-3-Clause
"""crowd.py HOST PORT N: opens N connections and says nothing on them. Writes "held N" when as many
as possible stand (that many), keeps them until its standard input ends."""

import resource
import select
import socket
import sys
import time

PATIENCE_S = 25


def main():
    host, port, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    want = n + 50 if hard == resource.RLIM_INFINITY else min(n + 50, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (want, hard))
    poll, pending, held = select.poll(), {}, []
    for _ in range(min(n, want - 50)):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex((host, port))
        pending[s.fileno()] = s
        poll.register(s, select.POLLOUT)
    deadline = time.monotonic() + PATIENCE_S
    while pending and time.monotonic() < deadline:
        for fd, _ in poll.poll(1000):
            poll.unregister(fd)
            held.append(pending.pop(fd))
    print("held", len(held), flush=True)
    sys.stdin.read()


main()
