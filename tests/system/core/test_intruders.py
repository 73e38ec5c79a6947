# SPDX-License-Identifier: BSD-3-Clause
"""Somebody who speaks the handshake but does not know the secret (tests/faults/intruder.py), at the
rendezvous and at a member's port: refused by whichever side it meets. Each test names the line of
src/auth/handshake.c that it guards."""

import socket
import threading
import time

import pytest


def joining(u):
    """PB 0 of two, in init."""
    a = u.process(0, 0, 1, 2, "actor")
    a.begin("init 30")
    end = time.monotonic() + 10
    while u.port not in a.ports():
        assert time.monotonic() < end, a.story()
        time.sleep(0.02)
    return a


def all_goes_on(u, a):
    b = u.process(1, 0, 1, 2, "actor")
    b.begin("init 30")
    for x in (a, b):
        x.was_ok(x.answer(), "init")
    for x in (a, b):
        x.ok("group 0 0")
    b.ok("isend 1 0 0 100000 1 5")
    a.ok("irecv 1 0 1 100000 1")
    assert a.ok("wait 1 5")[-1] == "-1"
    u.leave(a, b)


class Wiretap:
    """Stands between a dialler and a listener of this host and writes down what they say."""

    def __init__(self, here, port):
        self.said, self.heard = b"", b""
        self.listener = socket.create_server((here, port))
        self.port = port
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        try:
            client, _ = self.listener.accept()
        except OSError:
            return
        server = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        server.settimeout(None)
        threading.Thread(target=self._pump, args=(server, client, False), daemon=True).start()
        self._pump(client, server, True)

    def _pump(self, a, b, note):
        try:
            while data := a.recv(65536):
                if note:
                    self.said += data
                else:
                    self.heard += data
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass


@pytest.fixture
def tapped(universe):
    """(universe, listener, dialler, wiretap): the second has connected to the first through the
    wiretap, which therefore knows the name of the run, and one proof."""
    u = universe(WAITIO_COMM_TYPE="socket")
    a = u.process(
        0, 0, 1, 2, "actor", env=dict(WAITIO_NETDEV="127.0.0.1", WAITIO_ADVERTISE="127.0.0.79")
    )
    a.begin("init 30")
    end = time.monotonic() + 10
    while not (ports := a.ports() - {u.port}):
        assert time.monotonic() < end, a.story()
        time.sleep(0.02)
    (port,) = ports
    tap = Wiretap("127.0.0.79", port)
    b = u.process(1, 0, 1, 2, "actor")
    b.begin("init 30")
    for x in (a, b):
        x.was_ok(x.answer(), "init")
    for x in (a, b):
        x.ok("group 0 0")
    b.ok("isend 1 0 0 1000 1 5")
    a.ok("irecv 1 0 1 1000 1")
    assert a.ok("wait 1 5")[-1] == "-1"
    assert len(tap.said) > 96, "the link does not go through the wiretap"
    yield u, a, b, tap
    tap.listener.close()


def run_of(tap):
    return tap.said[16:32]


def test_proof_of_nothing_at_the_rendezvous(universe, intruder):
    """Guard: on_proof. Without it READY comes, and the intruder may register as a member."""
    u = universe()
    a = joining(u)
    with intruder.call(u.port, intruder.hello(intruder.BOOT, intruder.BOOT_RUN)) as s:
        assert intruder.message(s)[0] == intruder.CHALLENGE
        s.sendall(intruder.proof())
        kind, data = intruder.message(s)
        assert kind == intruder.REFUSE, "a proof of nothing was taken"
        assert intruder.refusal(data)[0] == intruder.AUTH
    all_goes_on(u, a)
    assert "secret" in a.err()


def test_proof_of_nothing_at_a_member(tapped, intruder):
    """The same at the port for messages. Guard: on_proof."""
    u, a, b, tap = tapped
    b.kill()  # no honest link is in the way
    a.ok("irecv 2 0 1 10 1")
    a.fails("wait 2 0", "PEER")
    with intruder.call(tap.port, intruder.hello(intruder.LINK, run_of(tap), rank=1)) as s:
        assert intruder.message(s)[0] == intruder.CHALLENGE
        s.sendall(intruder.proof())
        kind, data = intruder.message(s)
        assert kind == intruder.REFUSE, "a proof of nothing was taken"
        assert intruder.refusal(data)[0] == intruder.AUTH
    assert a.count("auth_failures") == 1


def test_replayed_handshake(tapped, intruder):
    """What an honest dialler said, said again: the acceptor's new nonce makes its proof worthless.
    Guard: nonce_mine is random."""
    u, a, b, tap = tapped
    b.kill()
    a.ok("irecv 2 0 1 10 1")
    a.fails("wait 2 0", "PEER")
    for _ in range(2):
        with intruder.call(tap.port, tap.said[:96]) as s:
            assert intruder.message(s)[0] == intruder.CHALLENGE
            kind, data = intruder.message(s)
            assert kind == intruder.REFUSE, "an old proof was taken"
            assert intruder.refusal(data)[0] == intruder.AUTH


class FakeService:
    """Listens at the rendezvous port; answers every HELLO with what answer(hello) gives and notes
    which types of message follow."""

    def __init__(self, port, intruder, answer):
        self.followed = []
        self.listener = socket.create_server(("127.0.0.1", port))
        self.intruder, self.answer = intruder, answer
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            with s:
                s.settimeout(5)
                try:
                    kind, hello = self.intruder.message(s)
                    if kind == self.intruder.HELLO:
                        s.sendall(self.answer(hello))
                        self.followed.append(self.intruder.message(s)[0])
                except OSError:
                    pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)


def meets(universe, intruder, answer):
    """PB 1 meets a fake service. @return (its answer to init, types of its messages after HELLO)"""
    u = universe(WAITIO_INIT_TIMEOUT=3)
    fake = FakeService(u.port, intruder, answer)
    b = u.process(1, 0, 1, 2, "actor")
    line = b.do("init 3", timeout=20)
    fake.close()
    return line, set(fake.followed)


def test_service_that_does_not_know_the_secret(universe, intruder):
    """Guard: the comparison in on_challenge. Without it the member proves itself to a stranger and
    believes what it says."""
    line, followed = meets(
        universe, intruder, lambda hello: intruder.challenge(intruder.BOOT, intruder.BOOT_RUN)
    )
    assert line.split()[:2] == ["error", str(-intruder.AUTH)] and "secret" in line, line
    assert followed == {intruder.REFUSE}


def test_service_that_reflects(universe, intruder):
    """Guard: take_nonce."""

    def mirror(hello):
        return intruder.prefix(intruder.CHALLENGE, 88) + hello[8:56] + b"\0" * 32

    line, followed = meets(universe, intruder, mirror)
    assert line.split()[:2] == ["error", str(-intruder.AUTH)] and "reflected" in line, line
    assert followed == {intruder.REFUSE}


def test_service_of_another_version(universe, intruder):
    """Guard: fail_version. Without it the challenge is read as if it were ours."""
    line, followed = meets(
        universe,
        intruder,
        lambda hello: intruder.challenge(intruder.BOOT, intruder.BOOT_RUN, version=99),
    )
    assert line.split()[:2] == ["error", str(-intruder.VERSION)] and "99" in line, line
    assert followed == {intruder.REFUSE}


def refused_for_its_version(intruder, s):
    kind, data = intruder.message(s)
    assert kind == intruder.REFUSE, data
    code, text = intruder.refusal(data)
    assert code == intruder.VERSION and "99" in text, (code, text)


def test_member_of_another_version_at_the_rendezvous(universe, intruder):
    """It is told, in words every version can read; the service logs it and goes on."""
    u = universe()
    a = joining(u)
    with intruder.call(u.port, intruder.hello(intruder.BOOT, intruder.BOOT_RUN, version=99)) as s:
        refused_for_its_version(intruder, s)
    all_goes_on(u, a)
    assert "version 99" in a.err()


def test_member_of_another_version_at_a_member(tapped, intruder):
    u, a, b, tap = tapped
    with intruder.call(tap.port, intruder.hello(intruder.LINK, run_of(tap), 1, version=99)) as s:
        refused_for_its_version(intruder, s)
    u.leave(a, b)


def test_proof_of_another_version(universe, intruder):
    """The version may not change in the middle either."""
    u = universe()
    a = joining(u)
    with intruder.call(u.port, intruder.hello(intruder.BOOT, intruder.BOOT_RUN)) as s:
        assert intruder.message(s)[0] == intruder.CHALLENGE
        s.sendall(intruder.proof(version=99))
        refused_for_its_version(intruder, s)
    all_goes_on(u, a)
