# SPDX-License-Identifier: BSD-3-Clause
"""A TCP proxy that spoils connections: it splits what it forwards into pieces of any size,
delays them, holds them and sends them together, stalls for a while, cuts a connection off (with or
without a reset, or one direction of it), or changes a byte. One fault at a time; storm.py has all.

    with Proxy(("127.0.0.77", 4711), ("127.0.0.1", 4711), Split(seed=1)):
        ...

A policy's piece(n, done) is asked for every piece: n bytes are there, done were forwarded before
in this direction. It returns how many to forward (0 ends the connection) and may sleep."""

import random
import select
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


class HalfClose(Cut):
    """After so many bytes one direction ends, as by shutdown(2); the other goes on."""

    half = True


class Together(Split):
    """What comes within some time is sent in one piece."""

    def __init__(self, seconds, most=1 << 20):
        self.hold, self.most = seconds, most

    def piece(self, n, _done):
        return n


class CutAgain(Split):
    """Each connection ends after a random number of bytes, at most `most`."""

    def __init__(self, seed, most, reset):
        self.random = random.Random(seed)
        self.most, self.reset, self.cuts = most, reset, 0
        self.limits = {}

    def piece(self, n, done):
        me = threading.get_ident()  # a thread for each direction of a connection
        if done == 0:
            self.limits[me] = self.random.randint(400, self.most)
        if done >= self.limits[me]:
            self.cuts += 1
            return 0
        return min(n, self.limits[me] - done)


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


class Record(Split):
    """Forwards everything as it is, and keeps a copy."""

    def __init__(self):
        self.seen = bytearray()

    def piece(self, n, _done):
        return n

    def change(self, data, _done):
        self.seen += data
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

    def _recv(self, a):
        data = a.recv(65536)
        if data and (hold := getattr(self.policy, "hold", 0)):
            time.sleep(hold)
            while len(data) < self.policy.most and select.select([a], [], [], 0)[0]:
                more = a.recv(65536)
                if not more:  # seen again by the next call
                    break
                data += more
        return data

    def _pump(self, a, b):
        done = 0
        try:
            while not self.closing:
                data = self._recv(a)
                if not data:
                    b.shutdown(socket.SHUT_WR)
                    return
                while data:
                    n = self.policy.piece(len(data), done)
                    if n == 0 and getattr(self.policy, "half", False):
                        b.shutdown(socket.SHUT_WR)
                        return
                    if n == 0:
                        self._end(a, b, getattr(self.policy, "reset", False))
                        return
                    b.sendall(self.policy.change(data[:n], done))
                    done += n
                    data = data[n:]
        except OSError:
            self._end(a, b, False)


class Spoiled:
    """Three processes; PB 0 and 1 publish addresses at which proxies listen."""

    def __init__(self, u, policy, program, *args):
        self.u, self.proxies, self.cast = u, [], []
        u.set(WAITIO_COMM_TYPE="socket")
        for pb in (1, 0):
            here = f"127.0.0.{77 + pb}"
            p = u.process(
                pb,
                0,
                1,
                3,
                program,
                *args,
                env=dict(WAITIO_NETDEV="127.0.0.1", WAITIO_ADVERTISE=here),
            )
            if program == "actor":
                p.begin("init 30")
            for port in self.ports(p):
                self.proxies.append(Proxy((here, port), ("127.0.0.1", port), policy))
            self.cast.insert(0, p)
        self.cast.append(u.process(2, 0, 1, 3, program, *args))
        if program == "actor":
            self.cast[2].begin("init 30")
            for p in self.cast:
                p.was_ok(p.answer(40), "init")
            for p in self.cast:
                p.ok("group 0 0")

    def ports(self, p):
        deadline = time.monotonic() + 10
        while True:
            found = p.ports() - {self.u.port}
            if found:
                return found
            assert time.monotonic() < deadline, p.story()
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_unused):
        for p in self.proxies:
            p.close()

    def used(self):
        return sum(p.connections for p in self.proxies)
