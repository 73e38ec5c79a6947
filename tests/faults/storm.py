# SPDX-License-Identifier: BSD-3-Clause
"""All faults of a network by chance, and again the same ones: a proxy whose every connection has a
fate that follows from the seed, the proxy's name and the number of the connection.

    with Storm("a", ("127.0.0.77", 4711), ("127.0.0.1", 4711), seed=1) as storm:
        ...

Bytes are forwarded in pieces down to one byte, late, or held back and sent together; streams stall;
a connection ends after so many bytes or so long, with resets or in silence, at one side first or in
one direction first; for a while every new connection ends at once (an outage). What is forwarded is
right, but for `corrupt`: one bit is turned over on every n-th connection. proxy.py has one fault at
a time, for tests of that one. One thread serves all connections of a proxy."""

import heapq
import random
import selectors
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

ENDS = ["reset", "silence", "dialer", "acceptor", "half"]  # how a connection ends: who is told
CRUMBS = 40000  # about every so many bytes some go one by one
HELD = 32768  # bytes that are sent together
DARK_S = 0.7  # for so long one side is not told
HIGH = 262144  # bytes read at once
NOTED = 96  # bytes of a dialer that are remembered: its part of the handshake


@dataclass
class Mix:
    """How rough it is. Zero for `bytes` and `seconds`: connections live."""

    bytes: int = 6_000_000  # a connection ends after at most so many
    seconds: float = 1.5  # or after at most so long
    stalls: float = 0.1  # part of the streams that stall once, for up to half a second
    outages: float = 15.0  # mean seconds between outages, 0: none
    outage: float = 0.4  # longest one
    corrupt: int = 0  # on every n-th connection one bit is turned over, 0: never


@dataclass
class Flow:
    """One direction of a connection, and its fate."""

    source: socket.socket
    sink: socket.socket
    chance: random.Random
    manner: str  # plain, pieces, held, late
    stall_at: int  # byte of the stream, -1: none
    corrupt_at: int = -1
    buffer: bytearray = field(default_factory=bytearray)
    done: int = 0
    crumbs: int = 0  # so many bytes go one by one
    next_crumbs: int = 0
    not_before: float = 0.0
    blocked: bool = False  # the sink takes no more now
    ended: bool = False  # nothing more comes
    shut: bool = False
    note: bytearray = None  # what is said first

    def piece(self):
        """Bytes of the buffer that go now."""
        if self.done >= self.next_crumbs:
            self.crumbs = self.chance.randrange(300)
            self.next_crumbs = self.done + self.chance.randrange(1, 2 * CRUMBS)
        if self.crumbs > 0:
            self.crumbs -= 1
            return 1
        if self.manner == "pieces":
            return min(len(self.buffer), self.chance.randint(1, 5000))
        return len(self.buffer)

    def ready_at(self, now):
        """When what has just been read may go."""
        if 0 <= self.stall_at <= self.done:
            self.stall_at = -1
            return now + self.chance.random() / 2
        if self.manner == "late":
            return now + self.chance.random() * 0.01
        if self.manner == "held" and len(self.buffer) < HELD:
            return max(self.not_before, now + 0.003)
        return now

    def spoil(self):
        """Turn a bit over, once, when its byte is in the buffer."""
        if 0 <= self.corrupt_at - self.done < len(self.buffer):
            self.buffer[self.corrupt_at - self.done] ^= 1 << self.chance.randrange(8)
            self.corrupt_at = -1
            return 1
        return 0


class Path:
    """One connection through the proxy."""

    def __init__(self, chance, mix, number, dialer, acceptor):
        self.sockets = [dialer, acceptor]
        self.masks = {dialer: 0, acceptor: 0}
        self.end = chance.choice(ENDS)
        self.budget = chance.randrange(mix.bytes) if mix.bytes else 1 << 60
        self.until = time.monotonic() + (chance.random() * mix.seconds if mix.seconds else 1e9)
        self.dark_until = 0.0  # cut, and one side does not know
        self.half = False  # cut in one direction
        spoilt = mix.corrupt and number % mix.corrupt == mix.corrupt - 1
        self.flows = []
        for a, b in ((dialer, acceptor), (acceptor, dialer)):
            own = random.Random(chance.random())
            manner = own.choice(["plain", "plain", "pieces", "held", "late"])
            stall = own.randrange(200_000) if own.random() < mix.stalls else -1
            corrupt = own.randrange(100_000) if spoilt else -1
            self.flows.append(Flow(a, b, own, manner, stall, corrupt))

    def moved(self):
        return sum(f.done for f in self.flows)


class Storm:
    """Listens at one address and forwards to another, badly."""

    def __init__(self, name, here, there, seed, mix=None):
        self.name, self.there, self.seed, self.mix = name, there, seed, mix or Mix()
        self.connections = self.kills = self.corrupted = self.outages = self.bytes = 0
        self.chance = random.Random(f"{seed}/{name}")
        self.selector = selectors.DefaultSelector()
        self.paths, self.timers, self.closing = set(), [], False
        self.said = []  # how the latest dialers have begun
        self.calm = False  # True: no new faults
        self.out_from, self.out_until = self._next_outage(time.monotonic())
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(here)
        self.listener.listen(100)
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ, None)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_unused):
        self.close()

    def close(self):
        self.closing = True
        self.thread.join(10)

    # ---- the loop ----

    def _run(self):
        try:
            while not self.closing:
                pause = 0.05
                if self.timers:
                    pause = min(pause, max(0.0, self.timers[0][0] - time.monotonic()))
                for key, _ in self.selector.select(pause):
                    if key.data is None:
                        self._accept()
                    elif key.data in self.paths:
                        self._serve(key.data, key.fileobj)
                self._due()
        finally:
            for path in list(self.paths):
                self._drop(path)
            self.listener.close()
            self.selector.close()

    def _due(self):
        now = time.monotonic()
        if now >= self.out_until:
            self.out_from, self.out_until = self._next_outage(now)
        elif now >= self.out_from and not self.calm and self.out_from > 0:
            self.out_from = -1.0  # begins
            self.outages += 1
            for path in list(self.paths):
                self._cut(path, "reset", now)
        while self.timers and self.timers[0][0] <= now:
            path = heapq.heappop(self.timers)[2]
            if path in self.paths:
                self._serve(path, None)

    def _next_outage(self, now):
        if not self.mix.outages:
            return 1e18, 1e18
        begin = now + self.chance.expovariate(1 / self.mix.outages)
        return begin, begin + self.chance.random() * self.mix.outage

    def _accept(self):
        try:
            client, _ = self.listener.accept()
        except OSError:
            return
        self.connections += 1
        if self.out_from < 0 and not self.calm:
            self._end(client, True)
            return
        server = socket.socket()
        try:
            server.settimeout(5)
            server.connect(self.there)
        except OSError as why:
            if isinstance(why, ConnectionRefusedError):  # it has ended: refuse, as its host would
                self.selector.unregister(self.listener)
                self.listener.close()
            client.close()
            server.close()
            return
        for s in (client, server):
            s.setblocking(False)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        chance = random.Random(f"{self.seed}/{self.name}/{self.connections}")
        path = Path(chance, self.mix, self.connections, client, server)
        path.flows[0].note = bytearray()
        self.said.append(path.flows[0].note)
        del self.said[:-100]
        self.paths.add(path)
        self._at(path.until, path)
        self._want(path)

    def _at(self, when, path):
        heapq.heappush(self.timers, (when, id(path), path))

    # ---- one connection ----

    def _serve(self, path, who):
        now = time.monotonic()
        if path.dark_until:
            if who is not None or now >= path.dark_until:
                self._drop(path)
            return
        for flow in path.flows:
            if who is flow.sink:
                flow.blocked = False
            if not self._pump(path, flow, now):
                return
        worn_out = path.moved() >= path.budget or now >= path.until
        if worn_out and not self.calm:
            self._cut(path, path.end, now)
        elif all(f.shut for f in path.flows):
            self._drop(path)
        else:
            self._want(path)

    def _pump(self, path, flow, now):
        """Forward what may go. @return False: the path is gone"""
        try:
            self._read(flow, now)
            if now < flow.not_before:
                self._at(flow.not_before, path)
            else:
                self._write(path, flow)
        except OSError:
            self._cut(path, "reset", now, ours=False)
            return False
        return True

    def _read(self, flow, now):
        if flow.ended or flow.blocked or len(flow.buffer) >= HELD:
            return
        try:
            data = flow.source.recv(HIGH)
        except BlockingIOError:
            return
        flow.ended = not data
        flow.buffer += data
        if flow.note is not None and len(flow.note) < NOTED:
            flow.note += data[: NOTED - len(flow.note)]
        self.corrupted += flow.spoil()
        if data and flow.not_before <= now:
            flow.not_before = flow.ready_at(now)

    def _write(self, path, flow):
        try:
            while flow.buffer and path.moved() < path.budget:
                n = flow.sink.send(memoryview(flow.buffer)[: flow.piece()])
                del flow.buffer[:n]
                flow.done += n
                self.bytes += n
        except BlockingIOError:
            flow.blocked = True
        if flow.ended and not flow.buffer and not flow.shut:
            flow.shut = True
            flow.sink.shutdown(socket.SHUT_WR)

    def _want(self, path):
        """Tell the selector what each socket waits for."""
        for flow in path.flows:
            other = path.flows[1] if flow is path.flows[0] else path.flows[0]
            mask = 0
            if not flow.ended and not flow.blocked and len(flow.buffer) < HELD:
                mask |= selectors.EVENT_READ
            if other.blocked:
                mask |= selectors.EVENT_WRITE
            self._mask(path, flow.source, mask)

    def _mask(self, path, s, mask):
        old = path.masks[s]
        if mask == old:
            return
        path.masks[s] = mask
        if old == 0:
            self.selector.register(s, mask, path)
        elif mask == 0:
            self.selector.unregister(s)
        else:
            self.selector.modify(s, mask, path)

    # ---- ends ----

    def _cut(self, path, how, now, ours=True):
        self.kills += ours and not path.half
        if how in ("dialer", "acceptor"):  # the other side is not told, for a while
            told = path.sockets[how == "acceptor"]
            left = path.sockets[how == "dialer"]
            self._mask(path, told, 0)
            self._mask(path, left, 0)
            self._end(told, path.flows[0].chance.random() < 0.5)
            path.sockets = [left]
            path.dark_until = now + DARK_S * path.flows[0].chance.random()
            self._at(path.dark_until, path)
        elif how == "half" and not path.flows[0].shut:
            # One direction ends; what comes the other way still arrives, for a while.
            flow = path.flows[path.flows[0].chance.randrange(2)]
            try:
                flow.sink.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            flow.ended = flow.shut = True
            flow.buffer.clear()
            path.end, path.budget = "reset", 1 << 60
            path.until = now + DARK_S
            path.half = True  # counted
            self._at(path.until, path)
            self._want(path)
        else:
            self._drop(path, reset=how == "reset")

    def _drop(self, path, reset=False):
        self.paths.discard(path)
        for s in path.sockets:
            self._mask(path, s, 0)
            self._end(s, reset)

    @staticmethod
    def _end(s, reset):
        try:
            if reset:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
        except OSError:
            pass
