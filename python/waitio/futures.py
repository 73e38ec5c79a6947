# SPDX-License-Identifier: BSD-3-Clause
"""A pool of workers in the processes of other blocks, in the way of concurrent.futures.

    with BlockPoolExecutor(group) as pool:   # in every process of the group
        if pool is not None:                 # at the root, rank 0
            print(list(pool.map(simulate, cases)))

The root sends pickled tasks, at most `depth` at a time to a worker; all others serve until the pool
is shut down. A worker that dies fails the tasks that it had with `WorkerLostError`, and the pool
goes on with those that are left.
"""

from __future__ import annotations

import itertools
import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from types import TracebackType
from typing import Any

import waitio
from waitio._core import Group
from waitio.exceptions import Error, LimitError, PeerError

TASK_TAG, RESULT_TAG = 1, 2
STEP = 0.05  # seconds after which the root's thread looks for new tasks
QUEUE = 1024  # tasks that wait for a worker


class WorkerLostError(PeerError):
    """The worker that had the task has died, left or cannot be reached."""


class _Task:
    """A task of the pool, pickled when it was submitted."""

    def __init__(self, future: Future[Any], text: bytes) -> None:
        self.future = future
        self.text = text


class _Worker:
    """What the root knows of one."""

    def __init__(self, group: Group, rank: int) -> None:
        self.rank = rank
        self.tasks: deque[_Task] = deque()  # answers come in the order of the tasks
        self.sends: deque[Any] = deque()
        self.answer = group.irecv(rank, RESULT_TAG)


class BlockPool(Executor):
    """The pool, at the root: `submit`, `map` and `shutdown` of concurrent.futures.

    Parameters: `group`: a group of its own, no other messages travel in it; `depth`: tasks that a
    worker holds at once; `queue`: tasks that wait here before `submit` blocks.
    """

    def __init__(self, group: Group, depth: int = 2, queue: int = QUEUE) -> None:
        if group.size < 2:
            raise LimitError(f"a pool needs workers; the group has {group.size} member", -15)
        self._group = group
        self._depth = depth
        self._room = threading.BoundedSemaphore(queue)
        self._waiting: deque[_Task] = deque()
        self._lock = threading.Lock()
        self._closed = False
        self._workers = {r: _Worker(group, r) for r in range(group.size) if r != group.rank}
        self._thread = threading.Thread(target=self._run, daemon=True, name="waitio pool")
        self._thread.start()

    @property
    def workers(self) -> int:
        """How many workers are left."""
        return len(self._workers)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have `function(*args, **kwargs)` computed by a worker; blocks while the queue is full."""
        text = pickle.dumps((function, args, kwargs), protocol=5)
        future: Future[Any] = Future()
        while not self._room.acquire(timeout=STEP):
            self._check_open()
        with self._lock:
            if self._closed or not self._workers:
                self._room.release()
                self._check_open()
            self._waiting.append(_Task(future, text))
        return future

    def _check_open(self) -> None:
        if not self._workers:
            raise WorkerLostError("no worker of the pool is left")
        if self._closed:
            raise RuntimeError("the pool was shut down")

    def map(
        self,
        function: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        unordered: bool = False,
    ) -> Iterator[Any]:
        """As `Executor.map`; `chunksize` calls travel together, `unordered`: as they are ready."""
        calls = zip(*iterables)
        chunks = iter(lambda: list(itertools.islice(calls, chunksize)), [])
        futures = [self.submit(_chunk, function, chunk) for chunk in chunks]
        return _results(futures, timeout, unordered)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; the workers end when those submitted are done."""
        with self._lock:
            self._closed = True
            dropped = list(self._waiting) if cancel_futures else []
            if cancel_futures:
                self._waiting.clear()
        for task in dropped:
            task.future.cancel()
            self._room.release()
        if wait and threading.current_thread() is not self._thread:
            self._thread.join()

    # ---- the root's thread: it alone talks to the workers ----

    def _run(self) -> None:
        try:
            while self._workers and not self._idle():
                self._feed()
                self._wait()
        except BaseException as error:  # the universe was left, most of all
            self._fail_all(error)
            return
        self._fail_all(WorkerLostError("no worker of the pool is left"))
        for worker in self._workers.values():
            worker.answer.cancel()
            try:
                self._group.send(None, worker.rank, TASK_TAG)
            except Error:
                pass  # it has gone by itself

    def _idle(self) -> bool:
        busy = any(w.tasks for w in self._workers.values())
        with self._lock:
            return self._closed and not self._waiting and not busy

    def _feed(self) -> None:
        for worker in sorted(self._workers.values(), key=lambda w: len(w.tasks)):
            while len(worker.tasks) < self._depth:
                with self._lock:
                    task = self._waiting.popleft() if self._waiting else None
                if task is None:
                    return
                self._room.release()
                if task.future.set_running_or_notify_cancel():
                    self._give(worker, task)
                    if worker.rank not in self._workers:
                        break

    def _give(self, worker: _Worker, task: _Task) -> None:
        worker.tasks.append(task)
        try:
            worker.sends.append(self._group.isend(task.text, worker.rank, TASK_TAG))
        except Error as error:
            self._lost(worker, error)

    def _wait(self) -> None:
        workers = list(self._workers.values())
        try:
            waitio.waitany([w.answer for w in workers], 0.002 if self._hungry() else STEP)
        except waitio.TimeoutError:
            pass
        except Error:
            pass  # found again below, with the worker
        for worker in workers:
            try:
                for send in [s for s in worker.sends if s.test()[0]]:
                    worker.sends.remove(send)
                over, answer = worker.answer.test()
                while over:
                    self._take(worker, answer)
                    worker.answer = self._group.irecv(worker.rank, RESULT_TAG)
                    over, answer = worker.answer.test()
            except Error as error:
                self._lost(worker, error)

    def _hungry(self) -> bool:
        """May a worker take a task as soon as there is one?"""
        return any(len(w.tasks) < self._depth for w in self._workers.values())

    def _take(self, worker: _Worker, answer: tuple[bool, bytes]) -> None:
        task = worker.tasks.popleft()
        good, text = answer
        try:
            value = pickle.loads(text)
        except BaseException as error:
            good, value = False, error
        if good:
            task.future.set_result(value)
        else:
            task.future.set_exception(value)

    def _lost(self, worker: _Worker, error: Error) -> None:
        del self._workers[worker.rank]
        pb, rank = self._group.locate(worker.rank)
        for task in worker.tasks:
            lost = WorkerLostError(
                f"the worker PB {pb} rank {rank} is lost and the task with it: {error}"
            )
            lost.peer = error.peer
            task.future.set_exception(lost)
        worker.tasks.clear()

    def _fail_all(self, error: BaseException) -> None:
        with self._lock:
            self._closed = True
            left = [t for t in self._waiting if t.future.set_running_or_notify_cancel()]
            self._waiting.clear()
        for worker in self._workers.values():
            left += worker.tasks
            worker.tasks.clear()
        for task in left:
            task.future.set_exception(error)


def _chunk(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
    return [function(*args) for args in calls]


def _results(futures: list[Future[Any]], timeout: float | None, unordered: bool) -> Iterator[Any]:
    from concurrent import futures as standard

    try:
        if unordered:
            for future in standard.as_completed(futures, timeout):
                yield from future.result()
            return
        import time

        until = None if timeout is None else time.monotonic() + timeout
        for future in futures:
            yield from future.result(None if until is None else max(0, until - time.monotonic()))
    finally:
        for future in futures:
            future.cancel()


def serve(group: Group, root: int = 0) -> int:
    """Compute what the pool at `root` sends, until it is shut down; return how many tasks."""
    for done in itertools.count():
        text = group.recv(root, TASK_TAG)
        if text is None:
            return done
        try:
            function, args, kwargs = pickle.loads(text)
            answer = (True, pickle.dumps(function(*args, **kwargs), protocol=5))
        except Exception as error:
            answer = (False, _portable(error))
        group.send(answer, root, RESULT_TAG)
    raise AssertionError


def _portable(error: Exception) -> bytes:
    """The exception as a pickle, or what it says where it has none."""
    try:
        text = pickle.dumps(error, protocol=5)
        pickle.loads(text)
    except Exception:
        text = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"), protocol=5)
    return text


class BlockPoolExecutor:
    """For `with`, in every process of a group: the pool at the root, None elsewhere.

    The other processes serve in it, until the root leaves its block. `group` needs a message space
    of its own (`universe.group(..., gid=...)`, `Dup`).
    """

    def __init__(self, group: Group, root: int = 0, depth: int = 2, queue: int = QUEUE) -> None:
        self._group = group
        self._root = root
        self._depth = depth
        self._queue = queue
        self._pool: BlockPool | None = None

    def __enter__(self) -> BlockPool | None:
        if self._group.rank == self._root:
            self._pool = BlockPool(self._group, self._depth, self._queue)
        else:
            serve(self._group, self._root)
        return self._pool

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=kind is not None)
