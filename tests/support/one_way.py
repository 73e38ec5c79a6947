# SPDX-License-Identifier: BSD-3-Clause
"""A forwarder as ssh -L is one: one_way.py NS HOST PORT NS HOST PORT [PIECE]. It listens in the
first network namespace and connects in the second; connections are made in this direction only. It
reads and writes at most PIECE bytes at a time."""

import ctypes
import os
import socket
import sys
import threading

CLONE_NEWNET = 0x40000000
PIECE = int(sys.argv[7]) if len(sys.argv) > 7 else 65536
libc = ctypes.CDLL(None, use_errno=True)


def enter(name):
    """This thread's next sockets are of that namespace."""
    fd = os.open(f"/run/netns/{name}", os.O_RDONLY)
    if libc.setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.close(fd)


def pump(one, other):
    try:
        while data := one.recv(PIECE):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        for s in (one, other):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def serve(client, where):
    enter(where[0])
    try:
        server = socket.create_connection((where[1], int(where[2])), timeout=10)
    except OSError:
        client.close()
        return
    server.settimeout(None)
    for s in (client, server):
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    back = threading.Thread(target=pump, args=(server, client), daemon=True)
    back.start()
    pump(client, server)
    back.join()
    client.close()
    server.close()


def main():
    here, there = sys.argv[1:4], sys.argv[4:7]
    enter(here[0])
    listener = socket.create_server((here[1], int(here[2])))
    print("listening", flush=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, there), daemon=True).start()


main()
