# SPDX-License-Identifier: BSD-3-Clause
"""The pool of workers in other blocks."""

import sys

import pytest
from jobs import mpiexec

TASKS = """
from waitio.futures import BlockPoolExecutor, WorkerLostError
import pool_tasks as tasks
group = universe.group(lambda pb, rank: True, gid=5)
"""
FUNCTIONS = """
import os, time
import numpy as np
def square(x): return x * x
def add(a, b=0): return a + b
def fail(x): raise KeyError(x)
def lonely(x):
    class Local(Exception): pass
    raise Local("cannot travel")
def die(x): os._exit(3)
def nap(s):
    time.sleep(s)
    return os.getpid()
def big(n): return np.arange(float(n))
"""


@pytest.fixture
def pooled(universe):
    (universe.folder / "pool_tasks.py").write_text(FUNCTIONS)
    return universe


def test_submit_and_map(pooled):
    pooled.passes(
        TASKS
        + """
with BlockPoolExecutor(group) as pool:
    assert (pool is None) == (me != 0)
    if pool is not None:
        assert pool.workers == 3
        assert pool.submit(tasks.square, 7).result(30) == 49
        assert pool.submit(tasks.add, "a", b="b").result(30) == "ab"
        assert list(pool.map(tasks.square, range(300))) == [x * x for x in range(300)]
        sums = list(pool.map(tasks.add, range(50), range(50), chunksize=7))
        assert sums == list(range(0, 100, 2))
        assert sorted(pool.map(tasks.square, range(20), unordered=True)) == [
            x * x for x in range(20)]
        assert (pool.submit(tasks.big, 300_000).result(30) == np.arange(300_000.0)).all()
        assert pool.submit(np.sum, np.ones(500_000)).result(30) == 500_000
        assert len(set(pool.map(tasks.nap, [0.05] * 12))) == 3  # all of them work
        for name, kind in (("fail", KeyError), ("lonely", RuntimeError)):
            error = pool.submit(getattr(tasks, name), 5).exception(30)
            assert isinstance(error, kind), error
        try:
            pool.submit(lambda: 0)
        except Exception as error:
            assert "pickle" in str(error).lower()
        slow = [pool.submit(tasks.nap, 0.2) for _ in range(30)]
        assert slow[-1].cancel() and slow[-1].cancelled()
        threads = [threading.Thread(target=lambda: list(pool.map(tasks.square, range(40))))
                   for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
if me == 0:
    try:
        pool.submit(tasks.square, 1)
    except RuntimeError as error:
        assert "shut down" in str(error)
    else:
        raise SystemExit("it was taken")
assert world.allreduce(1) == 4  # the group is at everybody's disposal again
""",
        blocks=[2, 2],
        env={"PYTHONPATH": f"{pooled.site}:{pooled.folder}"},
    )


def test_a_worker_that_dies_fails_its_tasks_only(pooled):
    cast = pooled.play(
        TASKS
        + """
with BlockPoolExecutor(group, depth=1) as pool:
    if pool is not None:
        doomed = pool.submit(tasks.die, 0)
        error = doomed.exception(60)
        assert isinstance(error, WorkerLostError) and isinstance(error, waitio.PeerError), error
        assert "is lost" in str(error), error
        assert pool.workers == 2
        assert list(pool.map(tasks.square, range(100))) == [x * x for x in range(100)]
        for _ in range(2):
            assert isinstance(pool.submit(tasks.die, 0).exception(60), WorkerLostError)
        try:
            pool.submit(tasks.square, 1).result(30)
        except WorkerLostError as error:
            assert "left" in str(error)
        else:
            raise SystemExit("computed by nobody")
        print("went on", flush=True)
        os._exit(0)
""",
        blocks=[1, 3],
        env={"PYTHONPATH": f"{pooled.site}:{pooled.folder}"},
    )
    cast[0].ended(0, timeout=90)
    cast[0].reader.join(5)
    assert "went on" in cast[0].lines
    for process in cast[1:]:
        process.ended(3)


def test_a_full_queue_holds_up_submit(pooled):
    pooled.passes(
        TASKS
        + """
with BlockPoolExecutor(group, depth=1, queue=4) as pool:
    if pool is not None:
        began = time.monotonic()
        futures = [pool.submit(tasks.nap, 0.1) for _ in range(12)]
        assert time.monotonic() - began > 0.4  # 7 of them had ended by then
        assert len([f.result(30) for f in futures]) == 12
with BlockPoolExecutor(group.Dup()) as pool:
    if pool is not None:
        last = [pool.submit(tasks.nap, 0.3) for _ in range(3)]
        pool.shutdown(wait=False)
        assert all(f.result(30) for f in last)
""",
        env={"PYTHONPATH": f"{pooled.site}:{pooled.folder}"},
    )


@pytest.mark.parametrize("flavour", ["mpich", "openmpi"])
def test_workers_that_an_mpi_has_started(pooled, flavour):
    path = pooled.script(
        TASKS
        + """
with BlockPoolExecutor(group) as pool:
    if pool is not None:
        assert list(pool.map(tasks.square, range(64))) == [x * x for x in range(64)]
print("fine", flush=True)
"""
    )
    where = f"{pooled.site}:{pooled.folder}"
    first = pooled.python(path, 0, 0, 1, 2, env={"PYTHONPATH": where})
    env = {"WAITIO_PBID": "1", "WAITIO_NPB": "2", "PYTHONPATH": where, "PYTHONUNBUFFERED": "1"}
    second = pooled.run(mpiexec(flavour, (2, [sys.executable, path])), "mpi", env)
    pooled.all_end([first, second], 60)
    assert "".join(second.lines).count("fine") == 2
