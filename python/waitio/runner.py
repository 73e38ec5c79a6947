# SPDX-License-Identifier: BSD-3-Clause
"""Run the blocks: start, collect output, pass on signals, end what has to end, report.

One thread and one loop over file descriptors. Signals wake the loop through a pipe. The runner
never waits for one process: children are collected as they end, whoever they are.
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from types import FrameType
from typing import Callable

from waitio import (
    adios2place,
    goingon,
    launchers,
    mpicheck,
    procs,
    rendezvous,
    routes,
    span,
    stats,
    summary,
)
from waitio.blocks import Block, Settings
from waitio.errors import WaitioError
from waitio.intake import Intake, Owner
from waitio.joinwatch import JoinWatch
from waitio.launchers import Launch, plan
from waitio.output import OutputClosedError, Sink
from waitio.progress import Progress
from waitio.rundir import RunDir
from waitio.tools import find_tool

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
HYDRA = ("mpich", "intel", "mvapich")
STATUS_TIMEOUT = 124
STATUS_PIPE = 128 + signal.SIGPIPE
# After SIGKILL to the ranks, a launcher gets this long to leave properly.
LAUNCHER_GRACE = 2.0
# Output that is still on its way when every process has ended.
DRAIN_TIME = 2.0
SHIM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shim.py")


def say(text: str) -> None:
    """Print a line of our own on standard error."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"waitio run: {text}\n")
        sys.stderr.flush()


class BlockRun:
    """A block while it runs."""

    def __init__(self, block: Block, launches: list[Launch]) -> None:
        """Nothing is started yet."""
        self.block = block
        self.launches = launches
        self.live: dict[int, Launch] = {}
        self.ranks: dict[int, bool] = {}  # by pid: does it live
        self.ended_ranks: list[int] = []  # in the order of their ends
        self.started = self.ended = 0.0
        self.status = 0
        self.detail = ""
        self.ended_by_us = ""
        self.kill_at = 0.0
        self.ranks_gone_at = 0.0
        self.killed = 0
        self.late_signal = 0
        self.asked_at = 0.0  # the last time that it got a signal that asks it to end
        self.asked_early = False  # such a signal came before all of its ranks were there
        self.stranded_others = False  # it ended without joining, and others waited for it
        self.missing = ""  # the rank that did so, where the block itself goes on

    @property
    def running(self) -> bool:
        """Tell whether one of its processes still lives."""
        return bool(self.live)

    def targets(self) -> list[int]:
        """Return whom a signal goes to: the ranks if all are known, else the launcher."""
        ranks = [pid for pid, alive in self.ranks.items() if alive]
        if self.launches[0].direct and len(self.ranks) >= self.block.n and ranks:
            return ranks
        return list(self.live)

    def send(self, number: int) -> None:
        """Send a signal to the block."""
        targets = self.targets()
        for pid in targets:
            procs.send(pid, number)
        if number in ENDING:
            self.asked_at = time.monotonic()
            missing = len(self.ranks) < self.block.n
            self.asked_early = self.asked_early or (self.launches[0].direct and missing)
        if number in ENDING and self.launches[0].direct and list(self.ranks) != targets:
            # A launcher that is still starting its ranks may forget it: they get it as they come.
            self.late_signal = number


class Runner:
    """One run."""

    def __init__(
        self,
        blocks: Sequence[Block],
        settings: Settings,
        make_sink: Callable[[Settings], Sink] = Sink,
    ) -> None:
        """Prepare; `run` does everything. The sink gets what the blocks print."""
        self.settings = settings
        self.make_sink = make_sink
        self.blocks = blocks
        self.runs: list[BlockRun] = []
        self.selector = selectors.DefaultSelector()
        self.timed_out = False
        self.failed: BlockRun | None = None
        self.status = 0
        self.begin = 0.0
        self.service: subprocess.Popen[bytes] | None = None
        self.nofile = (0, 0)
        self.forwarded: list[signal.Signals] = list(FORWARDED)
        self.signalled: list[int] = []
        self.cut_short = False  # a signal came before every process was started
        self.keep: list[int] = []
        self.keyboard_end = -1
        self.counters: list[str] = []
        self.progress: Progress | None = None
        self.lost: Exception | None = None  # why the last output could not be written

    # ---- the whole ----

    def run(self) -> int:
        """Run all blocks to their end; return the exit status of the command."""
        self.meeting = rendezvous.arrange(self.blocks, self.settings)
        self.sink = self.make_sink(self.settings)
        self.intake = Intake(self.selector, self.sink, self._admit)
        self.nofile = procs.raise_file_limit()
        with self._signals():
            kept = self._kept_secret()
            self.folder = RunDir(self._reaches_out(), kept)
            guard = None
            self.keep = procs.adopted([])  # children of whoever became this process by exec
            try:
                guard = procs.Guard(self.folder.secret, self.folder.remove, self._sweep)
                self.keep.append(guard.pid)
                procs.adopt_orphans()
                self._start()
                self._loop()
                self._note_unstarted()
            except OutputClosedError:
                self.status = STATUS_PIPE
                self._end_all("nobody reads the output")
            finally:
                try:
                    self._clean_up()
                finally:
                    self._leave(guard)
        self._note_lost()
        self._report()
        if self.counters:
            say("counters by block (per process: WAITIO_STATS_FILE=stats.%r); *_max: the largest")
            for line in self.counters:
                with contextlib.suppress(OSError):
                    sys.stderr.write(f"  {line}\n")
        if kept and not self.status:
            goingon.forget(kept)
        elif kept:
            say("the same command goes on with this run")
        return self.status

    def _leave(self, guard: procs.Guard | None) -> None:
        """No process of the run is left: remove its folders."""
        if self.progress:
            self.progress.end()
        for text in self._sweep():
            say(text)
        self.counters = stats.table(self.folder.shared, self.blocks)
        self.folder.remove()
        if guard:
            guard.release()

    def _kept_secret(self) -> str:
        """Return where the secret of a run that can go on is kept, "" for another one."""
        route = self.meeting.route
        return goingon.secret_of(route.scratch, self.meeting.job_id) if route.resume else ""

    def _reaches_out(self) -> bool:
        """Tell whether blocks may need the secret on other machines."""
        if self.meeting.route.meet:
            return self.meeting.remote
        return self.meeting.host != rendezvous.LOOPBACK

    @contextlib.contextmanager
    def _signals(self):  # type: ignore[no-untyped-def]
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        self.selector.register(reading, selectors.EVENT_READ, lambda: os.read(reading, 4096))
        if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup: its processes ignore it, too
            self.forwarded.remove(signal.SIGHUP)
        old = {number: signal.signal(number, self._on_signal) for number in self.forwarded}
        old[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda number, frame: None)
        old_wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(old_wakeup)
            for number, handler in old.items():
                signal.signal(number, handler)
            self.selector.unregister(reading)
            os.close(reading)
            os.close(writing)

    def _loop(self) -> None:
        while self._running():
            for key, _ in self.selector.select(self._patience()):
                key.data()
            self._reap()
            self._tick()

    def _running(self) -> list[BlockRun]:
        return [run for run in self.runs if run.running]

    def _note_unstarted(self) -> None:
        """A signal that came before every process was started decides the exit status."""
        if not self.status and self.cut_short:
            self.status = 128 + self._interrupts()[0]

    def _note_lost(self) -> None:
        """What met the output that was read when all blocks had ended counts as before that."""
        if isinstance(self.lost, WaitioError):
            say(str(self.lost))
            self.status = self.status or self.lost.status
        elif self.lost:
            self.status = self.status or STATUS_PIPE

    def _interrupts(self) -> list[int]:
        """Return the signals so far that ask the run to end."""
        return [number for number in self.signalled if number in ENDING]

    # ---- starting ----

    def _start(self) -> None:
        self.begin = time.monotonic()
        common = rendezvous.common_env(self.meeting, self.folder.secret)
        common.update(stats.file_variables(self.blocks, os.environ, self.folder.shared))
        common.update(adios2place.variables(os.environ))
        if self.settings.progress:
            self.progress = Progress(self.folder.shared)
            self.sink.before = self.progress.clear
            common["WAITIO_CPL_PROGRESS"] = self.folder.shared
        npb = len(self.blocks)
        if self.settings.span:
            span.prepare(self.blocks)
        self.runs = [
            BlockRun(block, plan(block, common, npb, self.settings.tagging))
            for block in self.blocks
        ]
        for warning in filter(None, map(mpicheck.check, self.blocks)):
            say(f"warning: {warning}")
        setup = procs.child_setup(self.nofile, self.forwarded)
        self.service = rendezvous.start_service(self.meeting, self.folder, npb, setup)
        self.setup = setup
        self.watch = JoinWatch(
            find_tool("waitio-serv") or "",
            rendezvous.asking_env(self.meeting, self.folder.secret),
            self.selector,
            self.service is not None,
            self._stranded,
        )
        self.intake.listen(self.folder.socket)
        self._spawn_all(setup)

    def _spawn_all(self, setup: Callable[[], None]) -> None:
        """Start the blocks; after a signal that asks the run to end no process any more."""
        for run in self.runs:
            for launch in run.launches:
                # `_on_signal` sends to the processes it knows: it waits until it knows this one.
                with procs.held_back(self.forwarded):
                    if self._interrupts():
                        self.cut_short = True
                        return
                    run.started = run.started or time.monotonic()
                    self._spawn(run, launch, setup)

    def _spawn(self, run: BlockRun, launch: Launch, setup: Callable[[], None]) -> None:
        command = launch.command
        if launch.direct:
            shim = [sys.executable, "-I", "-S", SHIM, self.folder.socket, str(run.block.pbid)]
            command = command[: launch.split] + shim + command[launch.split :]
        env = {k: v for k, v in os.environ.items() if k not in launch.drop}
        env.update(launch.env)
        wdir = os.path.abspath(run.block.wdir) if run.block.wdir else None
        if wdir:
            env["PWD"] = wdir
        out, err = os.pipe(), os.pipe()
        try:
            child = subprocess.Popen(
                command,
                stdin=self._stdin(run, launch),
                stdout=out[1],
                stderr=err[1],
                env=env,
                cwd=wdir if wdir and os.path.isdir(wdir) else None,
                start_new_session=True,
                preexec_fn=setup,
            )
        except OSError as error:
            for fd in out + err:
                os.close(fd)
            raise WaitioError(
                f"block '{run.block.name}': cannot start '{command[0]}': {error.strerror}",
                126 if isinstance(error, PermissionError) else 127,
            ) from None
        child.returncode = 0  # collected by _reap, not by this object
        if self.keyboard_end >= 0:
            os.close(self.keyboard_end)
            self.keyboard_end = -1
        os.close(out[1])
        os.close(err[1])
        run.live[child.pid] = launch
        self.intake.add(out[0], err[0], self._owner(run, launch.rank), launch.tagged)

    @staticmethod
    def _owner(run: BlockRun, rank: int) -> Owner:
        return run.block.pbid, run.block.name, rank

    def _stdin(self, run: BlockRun, launch: Launch) -> int:
        if run.block.name != self.settings.stdin or launch.rank > 0:
            return subprocess.DEVNULL
        if not os.isatty(0):
            return 0
        # Its own process group may not read our terminal: pass the bytes on.
        reading, self.keyboard = os.pipe()
        os.set_blocking(self.keyboard, False)
        self.selector.register(0, selectors.EVENT_READ, self._type)
        self.keyboard_end = reading
        return reading

    def _type(self) -> None:
        """Pass on what was typed, or pasted: not more than the pipe takes."""
        pipe = select.poll()
        pipe.register(self.keyboard, select.POLLOUT)
        if not pipe.poll(0):  # read on when the program has read
            self.selector.unregister(0)
            self.selector.register(self.keyboard, selectors.EVENT_WRITE, self._type_on)
            return
        data = b""
        with contextlib.suppress(OSError):
            data = os.read(0, select.PIPE_BUF)  # so much goes whole into a pipe that has room
        with contextlib.suppress(OSError):
            os.write(self.keyboard, data)
        if not data:
            self.selector.unregister(0)
            os.close(self.keyboard)

    def _type_on(self) -> None:
        self.selector.unregister(self.keyboard)
        self.selector.register(0, selectors.EVENT_READ, self._type)

    def _admit(self, pbid: int, rank: int, pid: int) -> Owner:
        """Note a rank that has handed over its output; tell whose output it is."""
        if not 0 <= pbid < len(self.runs):
            raise ValueError(f"block {pbid}")
        run = self.runs[pbid]
        run.ranks[pid] = True
        run.ranks_gone_at = 0.0
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            self._rank_ended(run, pid, rank)
        except (OSError, AttributeError):
            pass  # no pidfd: it counts as alive
        else:
            self.selector.register(
                pidfd, selectors.EVENT_READ, lambda: self._rank_ended(run, pid, rank, pidfd)
            )
        if run.late_signal:
            procs.send(pid, run.late_signal)
        return self._owner(run, rank if 0 <= rank < run.block.n else -1)

    def _rank_ended(self, run: BlockRun, pid: int, rank: int, pidfd: int = -1) -> None:
        if pidfd >= 0:
            self.selector.unregister(pidfd)
            os.close(pidfd)
        run.ranks[pid] = False
        if len(run.ranks) >= run.block.n and not any(run.ranks.values()):
            run.ranks_gone_at = time.monotonic()
        # Not every launcher ends a block that has lost a rank before MPI_Init.
        run.ended_ranks.append(rank)
        if len(run.ended_ranks) == 1 and not run.ended_by_us:
            self.watch.begin(time.monotonic())

    # ---- signals ----

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.signalled.append(number)
        if number == signal.SIGINT and self.signalled.count(signal.SIGINT) > 1:
            self.sink.before()
            say("second interrupt: killing all blocks")
            self.status = self.status or 128 + number
            for run in self._running():
                run.ended_by_us = run.ended_by_us or "killed after a second interrupt"
                run.kill_at = time.monotonic()
            return
        for run in self._running():
            run.send(number)

    # ---- ending ----

    def _reap(self) -> None:
        """Collect all processes that have ended; raise what their output met after that."""
        trouble: Exception | None = None
        while True:
            try:
                pid, raw = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            for run in self.runs:
                if pid in run.live:
                    launch = run.live.pop(pid)
                    try:
                        self.intake.drain(run.block.pbid)
                    except (OutputClosedError, WaitioError) as error:
                        trouble = trouble or error
                    self._ended(run, launch, os.waitstatus_to_exitcode(raw))
            if self.service and pid == self.service.pid:
                self.service.returncode = os.waitstatus_to_exitcode(raw)
        if trouble:
            raise trouble

    def _ended(self, run: BlockRun, launch: Launch, code: int) -> None:
        status = self._status(run, launch, code)
        if not run.live:
            run.ended = time.monotonic()
            if not run.ended_by_us:
                self.watch.begin(run.ended)
        if status == 0 or run.status:
            return
        run.status = status
        if launch.rank >= 0 and run.block.n > 1:
            run.detail = f"rank {launch.rank}: "
        if run.ended_by_us:
            return
        if self.failed is None:
            self.failed = run
            self.status = status
        self._end(run, f"rank {launch.rank} failed")
        if not self.settings.keep_going:
            for other in self._running():
                self._end(other, f"block '{run.block.name}' failed")

    def _never_joins(self, run: BlockRun) -> bool:
        """Has the block ended, or one of its ranks, while the universe is not complete?"""
        if run.ended_by_us or run.ended:
            return not run.ended_by_us
        for rank in run.ended_ranks:
            left = procs.carriers(self.folder.secret, run.block.pbid, ranks_only=True, rank=rank)
            if not left:  # else what it has started may join in its place
                run.missing = f"rank {rank}" if rank >= 0 else "a rank"
                return True
        return False

    @staticmethod
    def _who_ended(run: BlockRun) -> str:
        of = f"{run.missing} of " if run.missing else ""
        return f"{of}block '{run.block.name}'"

    def _stranded(self, text: str) -> None:
        """Processes wait at the rendezvous for a block that has ended: they would wait in vain."""
        gone = [run for run in self.runs if self._never_joins(run)]
        if not gone or not self._running():
            return
        names = ", ".join(
            self._who_ended(run)
            + (
                ""
                if run.missing
                else f" ({summary.how(run.status) if run.status else 'exit status 0'})"
            )
            for run in gone
        )
        what = "they are left waiting" if self.settings.keep_going else "ending them"
        self.sink.before()
        say(
            f"{names} ended without ever joining, and others wait for it: {what}. The"
            f" rendezvous says: {text}. Does the program call waitio_init, and did it get so far?"
        )
        for run in gone:
            run.stranded_others = True
        if self.settings.keep_going:
            return
        if self.failed is None:
            self.failed = gone[0]
            self.status = self.status or 1
        for other in self._running():
            self._end(other, f"{self._who_ended(gone[0])} ended without joining")

    def _status(self, run: BlockRun, launch: Launch, code: int) -> int:
        """Turn what a process ended with into the shell's convention."""
        asked = self._interrupts()
        if asked and run.asked_early and (code == 0 or not run.ranks):
            return 128 + asked[0]  # its ranks were not all there: it tells nothing of them
        if code > 0 and launch.rank < 0 and run.block.mpi in HYDRA:
            sent = asked + ([signal.SIGTERM] if run.ended_by_us else [])
            number = self.intake.hydra_signal(run.block.pbid, sent)
            return 128 + number if number else code
        if code < 0 and launch.rank < 0 and asked:
            return 128 + asked[0]  # hydra may crash when all its ranks end at once
        return code if code >= 0 else 128 - code

    def _end(self, run: BlockRun, why: str) -> None:
        """Ask a block to end; what is left after the grace time is killed."""
        if not run.running or run.kill_at:
            return
        now = time.monotonic()
        run.kill_at = now + self.settings.grace
        run.ended_by_us = why
        if run.asked_at and now < run.asked_at + self.settings.grace:
            return  # the user's signal has asked it just now: what it does then, it may finish
        run.send(signal.SIGTERM)

    def _end_all(self, why: str) -> None:
        """End every block and wait for it; output is still read, but its fate does not matter."""
        for run in self._running():
            self._end(run, why)
        while self._running():
            self._read_on(self._patience())
            with contextlib.suppress(OutputClosedError, WaitioError):
                self._reap()
            self._tick()

    def _read_on(self, patience: float | None) -> Exception | None:
        """Take what comes, each output for itself; return why one cannot be written."""
        trouble: Exception | None = None
        for key, _ in self.selector.select(patience):
            try:
                key.data()
            except (OutputClosedError, WaitioError) as error:
                trouble = trouble or error
        return trouble

    def _kill(self, run: BlockRun) -> None:
        """First the ranks, so that a launcher can tidy up; then everything."""
        run.killed += 1
        run.kill_at = time.monotonic() + LAUNCHER_GRACE
        plain = run.launches[0].rank >= 0
        if run.killed == 1 and not plain:
            for pid in run.live:
                procs.send(pid, signal.SIGTERM)
            for pid, alive in run.ranks.items():
                if alive:
                    procs.send(pid, signal.SIGKILL)
            return
        for pid in list(run.live) + procs.carriers(self.folder.secret, run.block.pbid):
            procs.send(pid, signal.SIGKILL)

    def _kill_leavings(self, run: BlockRun) -> None:
        """A launcher may wait for ever for something that a rank has left running."""
        found = procs.carriers(self.folder.secret, run.block.pbid, ranks_only=True)
        # A launcher with a count of its own may start more ranks than -n says, and later. One that
        # is among the found has knocked before: let it in.
        self.intake.admit()
        if run.ranks_gone_at:
            run.ranks_gone_at = 0.0
            for pid in found:
                procs.send(pid, signal.SIGKILL)

    def _tick(self) -> None:
        now = time.monotonic()
        self.watch.tick(now, self.setup)
        if self.progress:
            self.progress.tick(now)
        for run in self._running():
            if run.kill_at and now >= run.kill_at:
                self._kill(run)
            if run.ranks_gone_at and now >= run.ranks_gone_at + LAUNCHER_GRACE:
                self._kill_leavings(run)
        limit = self.settings.timeout
        if limit and now >= self.begin + limit and not self.timed_out and self._running():
            self.timed_out = True
            self.status = self.status or STATUS_TIMEOUT
            self.sink.before()
            say(f"--timeout: {limit:g} s have passed, ending all blocks")
            for run in self._running():
                self._end(run, "timeout")

    def _patience(self) -> float | None:
        """Return how long the loop may sleep."""
        moments = [run.kill_at for run in self._running() if run.kill_at]
        moments += [r.ranks_gone_at + LAUNCHER_GRACE for r in self._running() if r.ranks_gone_at]
        moments += [self.watch.next] if self.watch.next else []
        moments += [self.progress.next] if self.progress else []
        if self.settings.timeout and not self.timed_out:
            moments.append(self.begin + self.settings.timeout)
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    # ---- afterwards ----

    def _clean_up(self) -> None:
        """End whatever the blocks left behind, and read the last of their output."""
        if self._running():
            self._end_all("the run is over")
        if self.service and self.service.returncode is None:
            procs.send(self.service.pid, signal.SIGTERM)

        def left() -> list[int]:
            found = set(procs.carriers(self.folder.secret)) | set(procs.adopted(self.keep))
            return [pid for pid in found if pid not in self.keep]

        count = procs.end_all(left, min(1.0, self.settings.grace))
        if count > (1 if self.service else 0) and self.settings.summary:
            say(f"ended {count} processes that the blocks left behind")
        deadline = time.monotonic() + DRAIN_TIME
        while self.intake.open and time.monotonic() < deadline:
            self.lost = self._read_on(0.05) or self.lost
        self.intake.close()
        try:
            self.sink.close()
        except (OutputClosedError, WaitioError) as error:
            self.lost = self.lost or error

    def _sweep(self) -> list[str]:
        """Remove what killed processes have left in scratch directories; say what is left."""
        sure = not self.settings.job_id and all(map(launchers.stays_here, self.blocks))
        return routes.sweep(self.meeting.route, self.meeting.job_id, sure)

    def _report(self) -> None:
        interrupted = self._interrupts()
        if not (self.status or self.settings.summary or any(r.status for r in self.runs)):
            return
        rows: list[tuple[str, ...]] = [("block", "procs", "ended", "after", "")]
        for run in self.runs:
            mark = "<- first failure" if run is self.failed else ""
            after = f"{run.ended - run.started:.3f} s" if run.ended else "-"
            rows.append((run.block.name, str(run.block.n), self._how(run), after, mark))
        total = time.monotonic() - self.begin
        cause = f", interrupted by {summary.signal_name(interrupted[0])}" if interrupted else ""
        say(f"exit status {self.status} after {total:.3f} s{cause}")
        for line in summary.table(rows, right=(1, 3)):
            with contextlib.suppress(OSError):
                sys.stderr.write(f"  {line}\n")

    def _how(self, run: BlockRun) -> str:
        if not run.started:
            return "never started"
        text = run.detail + summary.how(run.status)
        if run.missing:
            text = f"{run.missing} never joined; then {text}"
        elif run.stranded_others:
            text += ", never joined"
        if run.ended_by_us and run is not self.failed:
            text += f", ended: {run.ended_by_us}"
        if run.killed:
            text += f", killed after the grace of {self.settings.grace:g} s"
        return text
