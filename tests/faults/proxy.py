# SPDX-License-Identifier: BSD-3-Clause
"""A TCP proxy that spoils connections: it splits what it forwards into pieces of any size,
delays them, stalls for a while, cuts a connection off (with or without a reset), or changes a
byte.

    with Proxy(("127.0.0.77", 4711), ("127.0.0.1", 4711), Split(seed=1)):
        ...

A policy's piece(n, done) is asked for every piece: n bytes are there, done were forwarded before
in this direction. It returns how many to forward (0 ends the connection) and may sleep."""

import random
import socket
import struct
import threading
import time


class Split:
    """Pieces of 1 to `largest` bytes, now and then a pause."""

    def __init__(self, seed, largest=3000, pause=0.001, often=0.02, first_bytes=300):
        self.random = random.Random(seed)
        self.largest, self.pause, self.often, self.first = largest, pause, often, first_bytes

    def piece(self, n, done):
        if self.random.random() < self.often:
            time.sleep(self.pause)
        if done < self.first:  # handshake and first header: byte by byte
            return 1
        return min(n, self.random.randint(1, self.largest))

    def change(self, data, _done):
        return data


class Delay(Split):
    """Whole pieces, each late."""

    def __init__(self, seconds):
        self.seconds = seconds

    def piece(self, n, _done):
        time.sleep(self.seconds)
        return n


class Stall(Split):
    """Nothing for some seconds after so many bytes."""

    def __init__(self, after, seconds):
        self.after, self.seconds = after, seconds
        self.stalled = 0

    def piece(self, n, done):
        if done >= self.after and not self.stalled:
            self.stalled += 1
            time.sleep(self.seconds)
        return min(n, self.after - done) if done < self.after else n


class Cut(Split):
    """The end after so many bytes, with a reset or in silence (truncation). Counts how often."""

    def __init__(self, after, reset):
        self.after, self.reset, self.cuts = after, reset, 0

    def piece(self, n, done):
        if done >= self.after:
            self.cuts += 1
            return 0
        return min(n, self.after - done)


class Corrupt(Split):
    """One bit turned over at an offset of the stream."""

    def __init__(self, at):
        self.at, self.changed = at, 0

    def piece(self, n, _done):
        return n

    def change(self, data, done):
        if done <= self.at < done + len(data):
            self.changed += 1
            spoilt = bytearray(data)
            spoilt[self.at - done] ^= 0x10
            return bytes(spoilt)
        return data


class Proxy:
    """Listens at one address, forwards to another until closed."""

    def __init__(self, here, there, policy):
        self.there, self.policy = there, policy
        self.sockets = []
        self.connections = 0
        self.closing = False
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(here)
        self.listener.listen(50)
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    def __enter__(self):
        return self

    def __exit__(self, *_unused):
        self.close()

    def close(self):
        self.closing = True
        for s in [self.listener, *self.sockets]:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for t in list(self.threads):
            t.join(10)
        for s in [self.listener, *self.sockets]:
            s.close()

    def _accept(self):
        while not self.closing:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.sockets.append(client)
            self.connections += 1
            try:
                server = socket.create_connection(self.there, timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            self.sockets.append(server)
            for s in (client, server):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for a, b in ((client, server), (server, client)):
                t = threading.Thread(target=self._pump, args=(a, b), daemon=True)
                self.threads.append(t)
                t.start()

    def _end(self, a, b, reset):
        for s in (a, b):
            try:
                if reset:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    s.shutdown(socket.SHUT_RD)  # wakes the other pump, which would keep it open
                    s.close()
                else:
                    s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _pump(self, a, b):
        done = 0
        try:
            while not self.closing:
                data = a.recv(65536)
                if not data:
                    b.shutdown(socket.SHUT_WR)
                    return
                while data:
                    n = self.policy.piece(len(data), done)
                    if n == 0:
                        self._end(a, b, getattr(self.policy, "reset", False))
                        return
                    b.sendall(self.policy.change(data[:n], done))
                    done += n
                    data = data[n:]
        except OSError:
            self._end(a, b, False)
