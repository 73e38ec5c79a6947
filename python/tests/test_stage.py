# SPDX-License-Identifier: BSD-3-Clause
"""waitio.stage: writers and readers in Python, against NumPy."""

import textwrap

import pytest


def play(universe, blocks, code):
    """The same program in all processes; `block` and `rank` say which one it is."""
    preamble = """
    import numpy as np
    from waitio.stage import Reader, Writer
    block, rank = int(os.environ["WAITIO_PBID"]), int(os.environ["WAITIO_RANK"])
    nprocs = int(os.environ["WAITIO_NPROCS"])
    whole = np.arange(12 * 10 * 3, dtype="f4").reshape(12, 10, 3)
    """
    return universe.passes(textwrap.dedent(preamble) + textwrap.dedent(code), blocks, joined=False)


def test_the_newest_step_stays_when_older_ones_are_given_up(universe):
    """Also beside one that is being read: it may be the last one of all."""
    universe.passes(
        """
        from waitio.stage import Reader, Writer
        if world.rank == 0:
            with Writer("s", queue=1, full="discard oldest") as flow:
                with flow.step():
                    flow.put("t", 0)
                assert world.recv(source=1) == "reads it"
                for i in range(1, 4):
                    with flow.step():
                        flow.put("t", i)
                world.send("written", 1)
        else:
            with Reader("s") as flow:
                steps = iter(flow)
                assert int(next(steps)["t"]) == 0
                world.send("reads it", 0)
                assert world.recv(source=0) == "written"
                assert [int(step["t"]) for step in steps] == [3]
        """,
        (1, 1),
    )


def test_indexing_is_as_in_numpy(alone):
    """Random boxes, steps and signs: each process of three asks for others."""
    play(
        alone,
        (2, 3),
        """
        if block == 0:
            with Writer("s") as flow:
                flow.attribute("units", "K")
                flow.attribute("levels", [1.5, 2.5])
                for i in range(4):
                    with flow.step() as number:
                        assert number == i
                        mine = (whole + i)[:, rank * 5 : rank * 5 + 5]
                        flow.put("T", mine, shape=whole.shape, start=(0, rank * 5, 0))
                        flow.put("part", np.full(rank + 2, rank, "i8"), local=True)
                        flow.put("t", 0.5 * i)
                        flow.put("note", f"über {i}")
        else:
            dice = np.random.default_rng(rank)
            seen = 0
            with Reader("s") as flow:
                for step in flow:
                    want = whole + step.number
                    T = step["T"]
                    assert set(step) == {"T", "part", "t", "note"}, set(step)
                    assert T.shape == want.shape and T.dtype == want.dtype and T.kind == "global"
                    for _ in range(20):
                        index = tuple(
                            int(dice.integers(-n, n)) if dice.random() < 0.3
                            else slice(*sorted(dice.integers(0, n + 1, 2).tolist()),
                                       int(dice.choice([1, 2])))
                            for n in want.shape[: dice.integers(1, 4)]
                        )
                        assert np.array_equal(T[index], want[index]), index
                    assert np.array_equal(T[::-1, ..., 1], want[::-1, ..., 1])
                    assert np.array_equal(np.asarray(T), want)
                    a, b = T.get_later((1, 1, 1), (2, 2, 2)), T.get_later(count=(1, 10, 3))
                    step.perform()
                    assert np.array_equal(a, want[1:3, 1:3, 1:3])
                    assert np.array_equal(b, want[:1])
                    assert [step["part"].block(i).tolist() for i in range(2)] == [[0] * 2, [1] * 3]
                    assert T.where(1) == (1, (0, 5, 0), (12, 5, 3))
                    assert step["t"] == 0.5 * step.number and step["note"] == f"über {step.number}"
                    assert step.attributes["units"] == "K"
                    assert step.attributes["levels"].tolist() == [1.5, 2.5]
                    seen += 1
            assert seen == 4
        """,
    )


def test_shapes_may_change_between_steps(alone):
    play(
        alone,
        (1, 1),
        """
        if block == 0:
            with Writer("s", queue=0) as flow:
                for n in (3, 5, 2):
                    with flow.step():
                        flow.put("x", np.arange(n))
        else:
            with Reader("s") as flow:
                assert [step["x"][:].tolist() for step in flow] == [
                    list(range(n)) for n in (3, 5, 2)]
                assert flow.count("plans") == 3
        """,
    )


def test_what_is_refused(alone):
    play(
        alone,
        (1, 1),
        """
        def refused(error, text, call, *args, **keys):
            try:
                call(*args, **keys)
            except error as e:
                assert text in str(e), e
            else:
                raise AssertionError(text)

        if block == 0:
            refused(waitio.ArgumentError, "full", Writer, "s", full="never")
            with Writer("s") as flow:
                refused(waitio.StateError, "no step is open", flow.put, "x", 1.0)
                with flow.step():
                    flow.put("x", np.zeros((2, 3)))
                    refused(waitio.ArgumentError, "was defined as", flow.put, "x", np.zeros(4))
                    refused(waitio.ArgumentError, "cannot be staged", flow.put, "y",
                            np.array(["text"]))
                    refused(waitio.ArgumentError, "outside the shape [0:2, 0:3]", flow.put, "x",
                            np.zeros((2, 3)), start=(1, 0))
        else:
            with Reader("s") as flow:
                step = flow.begin_step()
                refused(KeyError, "the step has x", lambda: step["y"])
                refused(IndexError, "2 dimensions", lambda: step["x"][1, 2, 3])
                refused(IndexError, "", lambda: step["x"][7])
                refused(waitio.ArgumentError, "outside the shape", step["x"].get, (1, 1), (2, 3))
                refused(waitio.ArgumentError, "out must be", step["x"].get, out=np.zeros(3))
                flow.end_step()
                refused(waitio.StateError, "no step is open", flow.end_step)
                assert flow.begin_step() is None
        """,
    )


def test_no_step_within_the_limit(alone):
    play(
        alone,
        (1, 1),
        """
        if block == 0:
            with Writer("s") as flow:
                time.sleep(0.5)
                with flow.step():
                    flow.put("x", 1)
        else:
            with Reader("s") as flow:
                tries = 0
                while True:
                    try:
                        step = flow.begin_step(0.1)
                    except waitio.TimeoutError:
                        tries += 1
                    else:
                        break
                assert tries > 0 and step["x"] == 1
        """,
    )


def test_operators_and_derived_variables(alone):
    """Only zstd is needed everywhere; what zfp does is tested in C."""
    play(
        alone,
        (2, 1),
        """
        import ctypes
        try:
            ctypes.CDLL("libzstd.so.1")
            operator = "zstd level=2"
        except OSError:
            operator = "none"
        if block == 0:
            with Writer("s") as flow:
                flow.derive("speed", "magnitude", "u", "v", operator=operator)
                flow.derive("low", "min", "u")
                flow.derive("high", "max", "u")
                for i in range(2):
                    with flow.step():
                        mine = (whole - 100 + i)[rank * 6 : rank * 6 + 6]
                        here = {"shape": whole.shape, "start": (rank * 6, 0, 0)}
                        flow.put("u", mine, operator=operator, **here)
                        flow.put("v", 2 * mine, **here)
                        try:
                            flow.put("k", [1, 2], operator="zfp rate=8")
                        except Exception as error:
                            assert "float and double" in str(error) or "librar" in str(error)
                        else:
                            raise AssertionError("zfp is not for integers")
                assert flow.count("packed_bytes") <= flow.count("raw_bytes")
        else:
            with Reader("s") as flow:
                for step in flow:
                    want = whole - 100 + step.number
                    assert step["u"].operator == operator.replace("none", "")
                    assert step["v"].operator == ""
                    assert np.array_equal(step["u"][3:9, 2], want[3:9, 2])
                    assert np.allclose(step["speed"][...], np.sqrt(5) * abs(want))
                    assert (step["low"], step["high"]) == (want.min(), want.max())
        """,
    )


def test_few_rows_that_fill_a_chunk(alone):
    """One to three rows, each of which an operator packs by itself: all of them come back."""
    play(
        alone,
        (1, 1),
        """
        import ctypes

        def there(name):
            try:
                ctypes.CDLL(name)
            except OSError:
                return False
            return True

        operators = [("zstd", 0)] * there("libzstd.so.1")
        operators += [("zfp accuracy=1e-3", 1e-3)] * there("libzfp.so.1")
        operators += [("blosc2", 0)] * there("libblosc2.so.2")
        shapes = [(1, 512, 512), (2, 361, 720), (3, 300, 300), (1, 131073)]
        fields = {f"{o} {n}": (o, error, np.sin(np.arange(np.prod(n)) / 99).reshape(n))
                  for o, error in operators for n in shapes}
        if block == 0:
            with Writer("s") as flow, flow.step():
                for name, (operator, _, field) in fields.items():
                    flow.put(name, field, operator=operator)
        else:
            with Reader("s") as flow:
                for step in flow:
                    for name, (_, error, field) in fields.items():
                        got = np.full(field.shape, 7.0)
                        step[name].get(out=got)
                        assert np.abs(got - field).max() <= error, name
        """,
    )


# Ways in which a program lets go of a stream: `flow`, whose array only C knows then.
LEAVES = {
    "dropped": "del flow",
    "cycle": "flow.array, flow.me = array, flow; del flow",
    "closed": "flow.close(0)",
}
STAYS = """
import gc, weakref
n = 300_000
def stays(array):
    gc.collect()
    return array() is not None  # else the library would read or write what was freed
def left(array):
    waitio.finalize()
    gc.collect()
    assert array() is None
"""


@pytest.mark.parametrize("way", LEAVES)
def test_what_was_asked_for_stays_until_it_has_come(alone, way):
    """The writer is stopped, so a get ends at its limit, and its receive goes on."""
    play(
        alone,
        (1, 1),
        STAYS
        + f"""
if block == 0:
    with Writer("s", limit=20) as flow, flow.step():
        flow.put("x", np.ones(n))
        flow.put("pid", os.getpid())
    sys.exit(0)
flow = Reader("s")
step = flow.begin_step()
pid = int(step["pid"])
os.kill(pid, signal.SIGSTOP)
while open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[0] != "T":
    pass
array = np.zeros(n)
step["x"].get_later(out=array)
try:
    step.perform(0.1)
except waitio.TimeoutError:
    pass
else:
    raise SystemExit("a stopped process has sent it")
seen = weakref.ref(array)
del step
try:
    {LEAVES[way]}
except waitio.TimeoutError:
    pass
del array
stayed = stays(seen)
os.kill(pid, signal.SIGCONT)
assert stayed
if {way == "closed"}:
    del flow
    assert stays(seen)
    left(seen)
""",
    )


@pytest.mark.parametrize("way", LEAVES)
def test_what_was_put_stays_until_it_is_read(alone, way):
    """Without a queue nothing is copied, and the end of the step goes on by itself."""
    play(
        alone,
        (1, 1),
        STAYS
        + f"""
closes = {way == "closed"}
if block == 0:
    flow = Writer("s", queue=0)
    world = flow.universe.world
    flow.begin_step()
    array = np.ones(n)
    flow.put("x", array)
    try:
        flow.end_step(0.1)
    except waitio.TimeoutError:
        pass
    else:
        raise SystemExit("it was read")
    seen = weakref.ref(array)
    try:
        {LEAVES[way]}
    except waitio.TimeoutError:
        pass
    del array
    assert stays(seen)
    others = [np.full(n, 2.0) for _ in range(20)]
    world.Send(b"read", 1)
    world.Recv(bytearray(1), 1)
    if closes:
        del flow
        assert stays(seen)
        left(seen)
else:
    flow = Reader("s")
    world = flow.universe.world
    world.Recv(bytearray(4), 0)
    try:
        assert (flow.begin_step()["x"][:] == 1).all()
    except waitio.TimeoutError as error:
        assert closes and "before all steps were read" in str(error), error
    world.Send(b"x", 0)
""",
    )


def fortran(build_dir):
    path = build_dir / "tests" / "system" / "stage_f"
    if not path.exists():
        pytest.skip("no Fortran compiler, or tests/lang is not built")
    return f"fortran = {str(path)!r}\n"


def test_what_fortran_writes(alone, build_dir):
    """T(nz, ny, nx) of Fortran is T[x, y, z] here."""
    play(
        alone,
        (2, 1),
        fortran(build_dir)
        + textwrap.dedent("""
        if block == 0:
            os.execv(fortran, [fortran, "write", "flow"])
        with Reader("flow") as flow:
            for step in flow:
                want = 1e6 * step.number + np.arange(13.0 * 7 * 5).reshape(13, 7, 5)
                assert np.array_equal(step["T"][...], want)
                assert np.array_equal(step["T"][4:9, 2, ::2], want[4:9, 2, ::2])
                assert step["hottest"] == want.max()
                assert step["note"] == f"step {step.number} of writer 0"
                assert step["part"].block(1).tolist() == [100 * step.number + 1] * 2
                assert step.attributes["units"] == "K"
                assert step.attributes["levels"].tolist() == [1.5, 2.5]
        assert step.number == 4
        """),
    )


def test_what_fortran_reads(alone, build_dir):
    play(
        alone,
        (2, 2),
        fortran(build_dir)
        + textwrap.dedent("""
        if block == 1:
            os.execv(fortran, [fortran, "read", "flow"])
        with Writer("flow") as flow:
            flow.attribute("units", "K")
            for i in range(5):
                T = 1e6 * i + np.arange(13.0 * 7 * 5).reshape(13, 7, 5)
                with flow.step():
                    flow.put("T", T[rank * 6 : rank * 7 + 6], shape=T.shape, start=(rank * 6, 0, 0))
                    flow.put("part", np.full(rank + 1, 100 * i + rank, "i8"), local=True)
                    flow.put("time", 0.5 * i)
                    flow.put("note", f"step {i} of writer {rank}")
        """),
    )
