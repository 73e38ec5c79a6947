# SPDX-License-Identifier: BSD-3-Clause
"""Python with C and Fortran: tests/system/progs/actor.c does what it is told and checks contents by
a seed; the programs of tests/lang follow a script that is here in Python, too."""

import pathlib

import pytest

ROUTES = {
    "socket": {"WAITIO_COMM_TYPE": "socket"},
    "inbox": {"WAITIO_COMM_TYPE": "shm", "WAITIO_SHM_RINGS": 0},
    "ring": {"WAITIO_COMM_TYPE": "shm", "WAITIO_SHM_PROMOTE": 0},
}


@pytest.fixture(params=ROUTES)
def universe(make_universe, request):
    """A universe over each way that messages can take on one host."""
    return make_universe(**ROUTES[request.param])


SIZES = [0, 1, 7, 8, 4096, 65536, 65537, 1_000_000, 20_000_000]

PYTHON = """
def contents(n, seed):
    "fill() of tests/system/progs/common.h"
    k = np.arange(n // 8, dtype="u8")
    with np.errstate(over="ignore"):
        words = (np.uint64(seed) ^ (k * np.uint64(0xFF51AFD7ED558CCD)))
        words = words * np.uint64(0xC4CEB9FE1A85EC53) + k
    tail = [((seed >> (8 * (i & 7))) & 255) ^ (i * 151 & 255) for i in range(n // 8 * 8, n)]
    return np.concatenate([words.view("u1"), np.array(tail, "u1")])

for number, n in enumerate(SIZES):
    into = np.zeros(n, "u1")
    status = world.Recv(into, 0, number)
    assert (status.source, status.tag, status.count) == (0, number, n)
    assert np.array_equal(into, contents(n, 1000 + number)), n
    world.Send(contents(n, 2000 + number), 0, 100 + number)
try:
    world.recv(0, 50)
except waitio.ProtocolError as error:
    assert "C or Fortran" in str(error)
else:
    raise SystemExit("C sent an object")
"""


@pytest.mark.parametrize("first", ["C", "Python"])
def test_c_and_python(universe, first):
    """Each is once the master; every size both ways."""
    code = PYTHON.replace("SIZES", str(SIZES))
    if first == "Python":
        code = code.replace("(0, number", "(1, number").replace("into, 0,", "into, 1,")
        code = code.replace("2000 + number), 0", "2000 + number), 1").replace("recv(0", "recv(1")
    me, other = (0, 1) if first == "C" else (1, 0)
    actor = universe.process(me, 0, 1, 2, "actor")
    python = universe.python(universe.script(code), other, 0, 1, 2)
    actor.ok("init 30", timeout=40)
    actor.ok("group 0 0")
    for number, n in enumerate(SIZES):
        actor.ok(f"isend 1 0 {other} {n} {number} {1000 + number}")
        actor.ok("wait 1 0", timeout=60)
        actor.ok(f"irecv 2 0 {other} {n} {100 + number}")
        found = actor.ok(f"wait 2 {2000 + number}", timeout=60)
        assert found == [str(n), str(other), str(100 + number), "0", "-1"]
    actor.ok(f"isend 1 0 {other} 100 50 7")
    actor.ok("wait 1 0")
    universe.leave(actor)
    python.ended(0)


FOREIGN = ["api_c", "api_upper", "api_modern", "api_fixed", "api_existing"]
SCRIPT = pathlib.Path(__file__).with_name("script.py")


def lang(build_dir, program):
    path = build_dir / "tests" / "lang" / program
    if not path.exists():
        pytest.skip(f"{path} is not built (no Fortran compiler here?)")
    return path


@pytest.mark.parametrize("program", FOREIGN)
@pytest.mark.parametrize("first", [True, False], ids=["Python first", "Python last"])
def test_the_script_of_all_languages(universe, build_dir, program, first):
    """Messages, collectives and groups with a C or Fortran block (tests/lang/script.md)."""
    path = lang(build_dir, program)
    me, other = (0, 1) if first else (1, 0)
    cast = [universe.python(SCRIPT, me, rank, 2, 2) for rank in range(2)]
    place = dict(WAITIO_PBID=other, WAITIO_NPB=2, WAITIO_RANK=0, WAITIO_NPROCS=1)
    cast.append(universe.run([path], program, place))
    universe.all_end(cast, 60)
    for process in cast:
        assert "ok" in process.lines, process.story()


def test_three_languages_at_once(universe, build_dir):
    paths = [lang(build_dir, program) for program in ("api_c", "api_modern")]
    cast = [universe.python(SCRIPT, 1, rank, 2, 3) for rank in range(2)]
    for pb, path in zip((0, 2), paths):
        place = dict(WAITIO_PBID=pb, WAITIO_NPB=3, WAITIO_RANK=0, WAITIO_NPROCS=1)
        cast.append(universe.run([path], path.name, place))
    universe.all_end(cast, 60)
    assert all("ok" in process.lines for process in cast)
