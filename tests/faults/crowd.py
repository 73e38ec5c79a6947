# SPDX-License-Identifier: BSD-3-Clause
"""crowd.py HOST PORT N [drip]: opens N connections and says nothing on them; with drip the
beginning of a handshake, one byte now and then. Writes "held N" when as many as possible stand
(that many) and keeps them until its standard input ends. A dripping crowd writes "closed SECONDS"
when the other side has ended all of them: how long the last one lived."""

import resource
import select
import socket
import sys
import time

PATIENCE_S = 25
HANDSHAKE = b"WIOH\x01\x01\x38\x00" + b"\x01" * 47  # one byte is missing


def drip(socks, began):
    """A slow-loris on every connection until all are closed."""
    at = 0
    while socks:
        time.sleep(0.2)
        piece = HANDSHAKE[at : at + 1]
        at += 1
        for s in list(socks):
            try:
                s.send(piece)
                if s.recv(1000) == b"":
                    socks.remove(s)
            except BlockingIOError:
                pass
            except OSError:
                socks.remove(s)
    print("closed", round(time.monotonic() - began, 1), flush=True)


def main():
    host, port, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    began = time.monotonic()
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
    if sys.argv[4:] == ["drip"]:
        drip(held, began)
    sys.stdin.read()


main()
