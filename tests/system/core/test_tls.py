# SPDX-License-Identifier: BSD-3-Clause
"""WAITIO_TLS=1: the same programs over encrypted connections, and what an onlooker, a tamperer, a
program without encryption and one with another secret get."""

import importlib.util
import os
import pathlib
import time

import patience
import pytest

path = pathlib.Path(__file__).resolve().parents[2] / "faults" / "proxy.py"
spec = importlib.util.spec_from_file_location("waitio_test_tls_proxy", path)
faults = importlib.util.module_from_spec(spec)
spec.loader.exec_module(faults)

TLS = dict(WAITIO_TLS=1, WAITIO_COMM_TYPE="socket")


def test_random_traffic(universe):
    u = universe(**TLS)
    u.go([2, 1, 1], "traffic", 5, 3, 200, 300000)


def test_open_mpi_and_mpich(universe):
    u = universe(**TLS)
    cast = [u.mpi("openmpi", 0, 2, 2, "mpi_ring", 40), u.mpi("mpich", 1, 2, 2, "mpi_ring", 40)]
    u.all_end(cast, 90)


def test_a_peer_dies(universe):
    u = universe(**TLS)
    a, b, c = u.actors([1, 1, 1])
    u.exchange(a, 0, b, 1, 100000)
    a.ok("irecv 1 0 1 1000 5")
    b.kill()
    a.begin("wait 1 3")
    a.failed("PEER", "PB 1 rank 0", timeout=15)
    u.exchange(a, 0, c, 2, 2000000)
    u.leave(a, c)


def test_connections_take_turns(universe):
    """Closing and opening again loses nothing: WAITIO_MAX_CONNECTIONS=1."""
    u = universe(WAITIO_MAX_CONNECTIONS=1, **TLS)
    u.go([1, 1, 1, 1], "traffic", 7, 3, 60, 20000, timeout=90)


def leads_host(pid):
    """Does it listen for the other processes of its host, at an abstract socket?"""
    found = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    rows = [line.split() for line in pathlib.Path("/proc/net/unix").read_text().splitlines()]
    return any(r[7:] and r[7][0] == "@" and f"socket:[{r[6]}]" in found for r in rows)


@pytest.mark.parametrize("encrypts", [0, 1], ids=["service-encrypts", "caller-encrypts"])
def test_plain_meets_encrypted(universe, encrypts):
    """Refused, with both settings named at both ends."""
    u = universe(WAITIO_INIT_TIMEOUT=5, WAITIO_COMM_TYPE="socket")
    a = u.process(0, 0, 1, 2, "actor", env=dict(WAITIO_TLS=1 - encrypts))
    a.begin("init 5")
    a.ports()
    limit = patience.Limit(5)
    while not leads_host(a.pid) and limit.left() > 0:
        time.sleep(0.01)
    b = u.process(1, 0, 1, 2, "actor", env=dict(WAITIO_TLS=encrypts))
    b.begin("init 5")
    b.failed("CONFIG", "WAITIO_TLS=1", "WAITIO_TLS=0", timeout=15)
    a.failed("TIMEOUT", "PB 1", timeout=15)
    assert "WAITIO_TLS=1" in a.err() and "WAITIO_TLS=0" in a.err(), a.story()


@pytest.mark.parametrize("first", [0, 1])
def test_other_secret(universe, tmp_path, first):
    """The leader of the host refuses the other one, and says so when it has waited in vain."""
    u = universe(WAITIO_INIT_TIMEOUT=4, WAITIO_LOG="debug", **TLS)
    cast = []
    for pb in (first, 1 - first):
        file = tmp_path / f"secret{pb}"
        file.write_text(f"the secret of block {pb}, long enough\n")
        file.chmod(0o600)
        cast.append(u.process(pb, 0, 1, 2, "actor", env=dict(WAITIO_SECRET_FILE=file)))
        cast[-1].begin("init 4")
        cast[0].logs("leading this host")
    cast[1].failed("AUTH", "secret", timeout=15)
    cast[0].failed("TIMEOUT", "refused another process of this host", "secrets differ", timeout=15)


@pytest.mark.parametrize(
    "env, says",
    [
        (dict(WAITIO_SECRET="none"), "WAITIO_SECRET=none"),
        (dict(WAITIO_COMM_TYPE="file"), "WAITIO_COMM_TYPE=file"),
        (dict(WAITIO_COMM_TYPE="hybrid"), "WAITIO_COMM_TYPE=hybrid"),
    ],
    ids=["no-secret", "file", "hybrid"],
)
def test_what_cannot_be_encrypted_is_refused(universe, env, says):
    u = universe(WAITIO_TLS=1, **env)
    a = u.process(0, 0, 1, 2, "actor")
    a.fails("init 5", "CONFIG", "WAITIO_TLS=1", says)


def stream(universe, tls):
    """What is on the wire while 2 MB travel. @return the bytes that an onlooker sees"""
    record = faults.Record()
    with faults.Spoiled(universe(WAITIO_TLS=tls), record, "actor") as s:
        a, b, _ = s.cast
        a.ok("isend 1 0 1 2000000 1 5")
        b.ok("irecv 1 0 0 2000000 1")
        a.begin("wait 1 0")
        assert b.ok("wait 1 5", timeout=30)[-1] == "-1"
        a.was_ok(a.answer(30))
        s.u.leave(*s.cast)
    assert len(record.seen) > 2000000
    return bytes(record.seen)


def test_an_onlooker_reads_nothing(universe):
    """The actors send the same bytes each time: a second plain run shows that the test would see
    them."""
    plain, again, encrypted = (stream(universe, tls) for tls in (0, 0, 1))
    part = plain[1000000:1000032]
    assert len(set(part)) > 8 and part in again
    assert part not in encrypted
    frame = plain[plain.index(b"WI", 400) :][:4]  # how a header begins
    assert frame in again and frame not in encrypted


@pytest.mark.parametrize("at", [1000, 300000, 1500000])
def test_changed_bytes_are_a_named_error(universe, at):
    """Never wrong data, and both ends tell."""
    with faults.Spoiled(universe(WAITIO_TLS=1), faults.Corrupt(at), "actor") as s:
        a, b, _ = s.cast
        a.ok("isend 1 0 1 3000000 1 5")
        b.ok("irecv 1 0 0 3000000 1")
        a.begin("wait 1 0")
        b.begin("wait 1 5")
        line = b.answer(20)
        assert line.startswith("error") and int(line.split()[1]) in (-8, -21), line
        assert "PB 0 rank 0" in line, line
        assert a.answer(20).startswith("error")
        told = a.err() + b.err() + line
        assert "encrypted connection" in told, told
        for p in s.cast:
            p.kill()


def where_is(pid, text):
    """(How often, how often where a core file would have it) these bytes are in a process's memory:
    the kernel leaves out what has the flag dd."""
    all_of_it = dumped = 0
    with open(f"/proc/{pid}/smaps") as smaps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in smaps:
            words = line.split()
            if "-" in words[0] and not words[0].endswith(":"):
                first, last = (int(x, 16) for x in words[0].split("-"))
                readable = words[1].startswith("r") and "[v" not in line
            elif words[0] == "VmFlags:" and readable:
                memory.seek(first)
                found = memory.read(last - first).count(text)
                all_of_it += found
                dumped += found if "dd" not in words else 0
    return all_of_it, dumped


@pytest.mark.parametrize("tls", [0, 1], ids=["plain", "tls"])
def test_no_core_file_has_the_secret(universe, tmp_path, tls):
    """While it joins, is joined, and was told a wrong one. Guard: without wio_os_hidden_page the
    secret is on the heap, which every core file has."""
    secret = "a-secret-that-no-core-file-may-have"
    file = tmp_path / "secret"
    file.write_text(secret + "\n")
    file.chmod(0o600)
    u = universe(WAITIO_SECRET_FILE=file, WAITIO_TLS=tls, WAITIO_COMM_TYPE="socket")
    a = u.process(0, 0, 1, 2, "actor")
    a.begin("init 30")
    b = u.process(1, 0, 1, 2, "actor")
    b.begin("init 30")
    for p in (a, b):
        p.was_ok(p.answer(), "init")
        p.ok("group 0 0")
    u.exchange(a, 0, b, 1, 100000)
    for p in (a, b):
        assert where_is(p.pid, secret.encode()) == (1, 0)
    u.leave(a, b)


def test_secrets_are_not_shown(universe, tmp_path):
    """Neither the log at its most talkative, nor command lines, nor the environment hold the
    secret."""
    secret = "a-secret-that-nobody-may-see-anywhere"
    file = tmp_path / "secret"
    file.write_text(secret + "\n")
    file.chmod(0o600)
    u = universe(WAITIO_SECRET_FILE=file, WAITIO_LOG="debug", **TLS)
    a, b = u.actors([1, 1])
    u.exchange(a, 0, b, 1, 100000)
    for p in (a, b):
        for name in ("cmdline", "environ"):
            with open(f"/proc/{p.child.pid}/{name}", "rb") as f:
                assert secret.encode() not in f.read()
    u.leave(a, b)
    for p in (a, b):
        assert secret not in p.err()
        assert "link to" in p.err()  # it was talkative
