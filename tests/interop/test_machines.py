# SPDX-License-Identifier: BSD-3-Clause
"""Blocks on unlike machines in one universe: big-endian s390x and little-endian aarch64, emulated,
with this one. Every number of every wire format has to be read the same on both sides."""

import shutil

import pytest

# The first block's rank 0 holds the rendezvous: each machine has to play that part once.
PAIRS = [
    ("native", "s390x"),
    ("s390x", "native"),
    ("native", "aarch64"),
    ("aarch64", "native"),
    ("s390x", "aarch64"),
]
MIB = 1 << 20
# Between machines of one byte order memory can be shared, and "auto" would choose that.
TCP = dict(WAITIO_COMM_TYPE="socket")


def differ(names):
    """What members on these machines differ in, as tests/lang/unlike.c has it."""
    if "s390x" in names:
        return "order"
    return "format" if "aarch64" in names and "native" in names else "alike"


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_ring(mixed, names):
    """Guard: a number of the rendezvous, the handshake or a frame in the machine's own order ends
    joining or the first message."""
    for p in mixed(names, **TCP).go([2, 1], "ring", 30, timeout=120):
        assert p.lines[-1].startswith("ring ok") and p.err() == ""


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_sizes(mixed, names):
    for p in mixed(names, **TCP).go([1, 1], "sizes", "sizes", 2 * MIB, timeout=120):
        assert p.lines == ["sizes ok"]


@pytest.mark.parametrize("mode", ["persistent", "truncate", "probe", "cancel", "any", "order"])
def test_calls(mixed, mode):
    for p in mixed(["native", "s390x"], **TCP).go([1, 1], "sizes", mode, timeout=120):
        assert p.lines == [f"{mode} ok"]


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_traffic(mixed, names):
    """Random messages in groups of all kinds; every process must draw the same plan."""
    cast = mixed(names, **TCP).go([2, 2], "traffic", 11, 2, 200, 300000, timeout=150)
    assert sum(int(p.lines[-1].split()[2]) for p in cast) == 2 * 200


def test_crc(mixed):
    """Guard: a checksum over words in the machine's own order refuses every frame."""
    mixed(["native", "s390x"], WAITIO_CRC=1, **TCP).go([1, 1], "sizes", "sizes", MIB, timeout=120)


def test_secret_is_proven_between_machines(mixed, tmp_path):
    """One secret joins, in the other tests; two do not, and the one who comes hears why."""
    u = mixed(["native", "s390x"], WAITIO_INIT_TIMEOUT=6, **TCP)
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"{name:x>40}\n")
        (tmp_path / name).chmod(0o600)
    a = u.process(0, 0, 1, 2, "actor", env=dict(WAITIO_SECRET_FILE=tmp_path / "one"))
    b = u.process(1, 0, 1, 2, "actor", env=dict(WAITIO_SECRET_FILE=tmp_path / "two"))
    for p in (a, b):
        p.begin("init 6")
    lines = [p.answer(60) for p in (a, b)]
    assert all(line.startswith("error") for line in lines)
    assert "secret" in lines[1], lines


def test_truncation_tells_both_sizes(mixed):
    a, b = mixed(["native", "s390x"], **TCP).actors([1, 1], timeout=60)
    for x, y, at in ((a, b, (1, 0)), (b, a, (0, 1))):
        for size in (1000, 300000, 3 * MIB):
            x.ok(f"isend 1 0 {at[0]} {size} 5 77")
            y.ok(f"irecv 2 0 {at[1]} {size // 3} 5")
            y.fails("wait 2 0", "TRUNCATE", str(size), str(size // 3))
            x.ok("wait 1 0")


def test_death_of_the_other_machine_is_told(mixed):
    a, b = mixed(["native", "s390x"], **TCP).actors([1, 1], timeout=60)
    a.ok("irecv 1 0 1 100 5")
    b.kill()
    a.fails("wait 1 0", "PEER")


@pytest.mark.parametrize("names", [("native", "s390x"), ("s390x", "native")], ids="-".join)
def test_no_shared_memory_across_byte_orders(mixed, names):
    """Same host, same user; still TCP, without a word to the user. Guard: without the byte order
    in shm's realm the two meet in memory and read each other's numbers backwards."""
    a, b = mixed(names).actors([1, 1], timeout=60)
    for x, y, at in ((a, b, (1, 0)), (b, a, (0, 1))):
        x.ok(f"isend 1 0 {at[0]} 100000 5 77")
        y.ok(f"irecv 2 0 {at[1]} 100000 5")
        assert y.ok("wait 2 77")[-1] == "-1"
        x.ok("wait 1 0")
    assert a.count("shm_max") == b.count("shm_max") == 0
    assert a.err() == b.err() == ""
    a, b = mixed(names, WAITIO_COMM_TYPE="shm").actors([1, 1], timeout=60)
    for x, at in ((a, 1), (b, 0)):  # too long to be completed before there is a link
        x.begin(f"isend 1 0 {at} 3000000 5 77")
        line = x.answer(60)
        line = x.do("wait 1 0") if line.startswith("ok") else line
        assert line.startswith("error") and "shm: the other byte order" in line, x.story()


@pytest.mark.parametrize("names", [("native", "aarch64"), ("aarch64", "native")], ids="-".join)
def test_shared_memory_with_one_byte_order(mixed, names):
    """This machine has membarrier(2), the emulated one has not: one writer uses fences, the other
    none, as each inbox says."""
    u = mixed(names, WAITIO_COMM_TYPE="shm", WAITIO_SHM_PROMOTE=8)
    u.go([1, 1], "sizes", "sizes", 2 * MIB, timeout=120)
    u = mixed(names, WAITIO_COMM_TYPE="shm", WAITIO_SHM_PROMOTE=8)
    u.go([2, 2], "traffic", 11, 2, 200, 300000, timeout=150)
    u = mixed(names)
    a, b = u.actors([1, 1], timeout=60)
    a.ok("isend 1 0 1 100000 5 77")
    b.ok("irecv 2 0 0 100000 5")
    assert b.ok("wait 2 77")[-1] == "-1"
    a.ok("wait 1 0")
    assert a.count("shm_max") > 0 and b.count("shm_max") > 0


@pytest.mark.parametrize("names", [*PAIRS, ("native", "s390x", "aarch64")], ids="-".join)
def test_typed_data(mixed, names):
    """The conversion library's common form: numbers, complex ones, characters, LOGICAL, a struct
    with holes, packing by hand, collectives, folds; long double refused by name. Guard: a type
    that is not turned, or turned twice, gives a line that names it."""
    blocks = [2, 1, 1][: len(names)]
    u = mixed(names, WAITIO_ERRORS=None, **TCP)
    for p in u.go(blocks, "unlike", differ(names), timeout=150):
        assert p.lines == ["ok"], p.story()


@pytest.mark.parametrize("names", [("native", "s390x"), ("s390x", "native")], ids="-".join)
@pytest.mark.parametrize("program", ["coll_all", "plain_mpi", "more_calls"])
def test_collectives(mixed, names, program):
    u = mixed(names, WAITIO_ERRORS=None, **TCP)
    for p in u.go([2, 2], program, timeout=170):
        assert p.lines == ["ok"], p.story()


@pytest.mark.parametrize("names", [("native", "s390x"), ("s390x", "native")], ids="-".join)
def test_staging(mixed, names):
    """Three write, two read across their blocks: the first steps in answer to requests, the later
    ones straight from the writers. Every element is checked. Guard: layouts or elements in the
    machine's own order."""
    u = mixed(names, **TCP)
    words = ("write", "flow", "split=2", "steps=10")
    cast = [u.process(0, r, 3, 2, "stage", *words) for r in range(3)]
    cast += [u.process(1, r, 2, 2, "stage", "read", "flow", "split=1") for r in range(2)]
    u.all_end(cast, 150)
    for p in cast[3:]:
        steps = [int(line.split()[1]) for line in p.lines if line.startswith("step ")]
        assert steps == list(range(10)), p.story()


def test_external32_has_one_form(mixed):
    """Bytes that do not depend on the machine, from three that differ."""
    u = mixed(("native", "s390x", "aarch64"), WAITIO_ERRORS=None, **TCP)
    for p in u.go([1, 1, 1], "mpi_external", timeout=150):
        assert p.lines == ["ok"], p.story()


@pytest.mark.skipif(shutil.which("s390x-linux-gnu-gfortran") is None, reason="no s390x gfortran")
@pytest.mark.parametrize("names", [("native", "s390x"), ("s390x", "native")], ids="-".join)
@pytest.mark.parametrize("program", ["coll_types", "faces_loose"])
def test_fortran(mixed, names, program):
    """All types of Fortran in all collectives; every third pair of type and communicator."""
    u = mixed(names, WAITIO_ERRORS=None, COLL_TYPES_EACH=3, **TCP)
    for p in u.go([2, 1], program, timeout=170):
        assert p.lines == ["ok"], p.story()
