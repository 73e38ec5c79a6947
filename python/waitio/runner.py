# SPDX-License-Identifier: BSD-3-Clause
"""Run the blocks: start, collect output, pass on signals, end what has to end, report.

One thread and one loop over file descriptors. Signals wake the loop through a pipe. The runner
never waits for one process: children are collected as they end, whoever they are.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from types import FrameType
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from waitio import procs, rendezvous, summary
from waitio.blocks import Block, Settings
from waitio.errors import WaitioError
from waitio.launchers import Launch, plan
from waitio.output import OutputClosed, Sink, Stream
from waitio.rundir import RunDir

READ_SIZE = 1 << 16
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
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

    def __init__(self, block: Block, launches: List[Launch]) -> None:
        """Nothing is started yet."""
        self.block = block
        self.launches = launches
        self.live: Dict[int, Launch] = {}
        self.ranks: Dict[int, int] = {}
        self.started = self.ended = 0.0
        self.status = 0
        self.detail = ""
        self.ended_by_us = ""
        self.kill_at = 0.0
        self.killed = 0

    @property
    def running(self) -> bool:
        """Tell whether one of its processes still lives."""
        return bool(self.live)

    def targets(self) -> List[int]:
        """Return whom a signal goes to: the ranks if all are known, else the launcher."""
        ranks = [pid for pid, fd in self.ranks.items() if _alive(fd)]
        if self.launches[0].direct and len(self.ranks) >= self.block.n and ranks:
            return ranks
        return list(self.live)


def _alive(fd: int) -> bool:
    if fd < 0:
        return True
    try:
        signal.pidfd_send_signal(fd, 0)
    except (ProcessLookupError, AttributeError):
        return False
    return True


class Runner:
    """One run."""

    def __init__(self, blocks: Sequence[Block], settings: Settings) -> None:
        """Prepare; `run` does everything."""
        self.settings = settings
        self.blocks = blocks
        self.runs: List[BlockRun] = []
        self.selector = selectors.DefaultSelector()
        self.streams = 0
        self.interrupts = 0
        self.failed: Optional[BlockRun] = None
        self.status = 0
        self.begin = 0.0
        self.service: Optional[subprocess.Popen[bytes]] = None
        self.nofile = (0, 0)
        self.signalled: List[int] = []

    # ---- the whole ----

    def run(self) -> int:
        """Run all blocks to their end; return the exit status of the command."""
        self.meeting = rendezvous.arrange(self.blocks, self.settings)
        remote = self.meeting.host != rendezvous.LOOPBACK
        self.sink = Sink(self.settings)
        self.nofile = procs.raise_file_limit()
        with self._signals():
            self.folder = RunDir(remote)
            guard = None
            try:
                guard = procs.Guard(self.meeting.job_id, self.folder.local)
                self.guard_pid = guard.pid
                procs.adopt_orphans()
                self._start()
                self._loop()
            except OutputClosed:
                self.status = STATUS_PIPE
                self._end_all("nobody reads the output")
            finally:
                self._clean_up()
                self.folder.remove()
                if guard:
                    guard.release()
        self._report()
        return self.status

    @contextlib.contextmanager
    def _signals(self):  # type: ignore[no-untyped-def]
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        self.selector.register(reading, selectors.EVENT_READ, lambda: os.read(reading, 4096))
        old = {number: signal.signal(number, self._on_signal) for number in FORWARDED}
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

    def _running(self) -> List[BlockRun]:
        return [run for run in self.runs if run.running]

    # ---- starting ----

    def _start(self) -> None:
        self.begin = time.monotonic()
        common = rendezvous.common_env(self.meeting, self.folder.secret)
        npb = len(self.blocks)
        self.runs = [
            BlockRun(block, plan(block, common, npb, self.settings.tagging))
            for block in self.blocks
        ]
        setup = procs.child_setup(self.nofile)
        self.service = rendezvous.start_service(self.meeting, self.folder, npb, setup)
        self._listen()
        for run in self.runs:
            if self.signalled:
                break
            run.started = time.monotonic()
            for launch in run.launches:
                self._spawn(run, launch, setup)

    def _listen(self) -> None:
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.server.bind(self.folder.socket)
        self.server.listen(4096)
        self.server.setblocking(False)
        self.selector.register(self.server, selectors.EVENT_READ, self._accept)

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
            )  # noqa: PLW1509
        except OSError as error:
            for fd in out + err:
                os.close(fd)
            raise WaitioError(
                f"block '{run.block.name}': cannot start '{command[0]}': {error.strerror}",
                126 if isinstance(error, PermissionError) else 127,
            ) from None
        child.returncode = 0  # collected by _reap, not by this object
        os.close(out[1])
        os.close(err[1])
        run.live[child.pid] = launch
        self._read_from(out[0], Stream(self.sink, 1, *self._owner(run, launch.rank), launch.tagged))
        self._read_from(err[0], Stream(self.sink, 2, *self._owner(run, launch.rank), launch.tagged))

    @staticmethod
    def _owner(run: BlockRun, rank: int) -> Tuple[int, str, int]:
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
        data = b""
        with contextlib.suppress(OSError):
            data = os.read(0, 4096)
        with contextlib.suppress(OSError):
            os.write(self.keyboard, data)
        if not data:
            self.selector.unregister(0)
            os.close(self.keyboard)

    # ---- output ----

    def _read_from(self, fd: int, stream: Stream) -> None:
        os.set_blocking(fd, False)
        self.streams += 1

        def ready() -> None:
            try:
                data = os.read(fd, READ_SIZE)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if data:
                stream.feed(data)
                return
            self.selector.unregister(fd)
            os.close(fd)
            self.streams -= 1
            stream.close()

        self.selector.register(fd, selectors.EVENT_READ, ready)

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self.server.accept()
            except OSError:
                return
            peer.settimeout(2.0)
            with peer, contextlib.suppress(OSError, ValueError):
                self._take_over(peer)

    def _take_over(self, peer: socket.socket) -> None:
        """Take the output pipes of a rank that has just been started by a launcher."""
        credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid, uid = (int.from_bytes(credentials[at : at + 4], sys.byteorder) for at in (0, 4))
        text, fds, _, _ = socket.recv_fds(peer, 64, 2)
        if uid != os.getuid() or len(fds) != 2:
            for fd in fds:
                os.close(fd)
            return
        pbid, rank = (int(word) for word in text.split())
        run = self.runs[pbid]
        rank = rank if 0 <= rank < run.block.n else -1
        for number, fd in zip((1, 2), fds):
            os.set_inheritable(fd, False)
            self._read_from(fd, Stream(self.sink, number, *self._owner(run, rank)))
        pidfd = -1
        with contextlib.suppress(OSError, AttributeError):
            pidfd = os.pidfd_open(pid)
        run.ranks[pid] = pidfd

    # ---- signals ----

    def _on_signal(self, number: int, frame: Optional[FrameType]) -> None:
        del frame
        self.signalled.append(number)
        if number in ENDING:
            self.interrupts += 1
        if number == signal.SIGINT and self.signalled.count(signal.SIGINT) > 1:
            say("second interrupt: killing all blocks")
            for run in self._running():
                run.ended_by_us = run.ended_by_us or "killed after a second interrupt"
                run.kill_at = run.kill_at or time.monotonic()
                run.kill_at = min(run.kill_at, time.monotonic())
            return
        for run in self._running():
            for pid in run.targets():
                procs.send(pid, number)

    # ---- ending ----

    def _reap(self) -> None:
        while True:
            try:
                pid, raw = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for run in self.runs:
                if pid in run.live:
                    self._ended(run, run.live.pop(pid), os.waitstatus_to_exitcode(raw))
            if self.service and pid == self.service.pid:
                self.service.returncode = os.waitstatus_to_exitcode(raw)

    def _ended(self, run: BlockRun, launch: Launch, code: int) -> None:
        status = code if code >= 0 else 128 - code
        if not run.live:
            run.ended = time.monotonic()
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

    def _end(self, run: BlockRun, why: str) -> None:
        """Ask a block to end; what is left after the grace time is killed."""
        if not run.running or run.kill_at:
            return
        run.kill_at = time.monotonic() + self.settings.grace
        run.ended_by_us = why
        if any(number in ENDING for number in self.signalled):
            return  # it has been asked by the user's signal
        for pid in run.targets():
            procs.send(pid, signal.SIGTERM)

    def _end_all(self, why: str) -> None:
        """End every block and wait for it; output is still read, but its fate does not matter."""
        for run in self._running():
            self._end(run, why)
        while self._running():
            with contextlib.suppress(OutputClosed, WaitioError):
                for key, _ in self.selector.select(self._patience()):
                    key.data()
            self._reap()
            self._tick()

    def _kill(self, run: BlockRun) -> None:
        """First the ranks, so that a launcher can tidy up; then everything."""
        run.killed += 1
        run.kill_at = time.monotonic() + LAUNCHER_GRACE
        plain = run.launches[0].rank >= 0
        if run.killed == 1 and not plain:
            for pid in run.live:
                procs.send(pid, signal.SIGTERM)
            for pid, fd in run.ranks.items():
                if _alive(fd):
                    procs.send(pid, signal.SIGKILL)
            return
        for pid in list(run.live) + procs.carriers(self.meeting.job_id, run.block.pbid):
            procs.send(pid, signal.SIGKILL)

    def _tick(self) -> None:
        now = time.monotonic()
        for run in self._running():
            if run.kill_at and now >= run.kill_at:
                self._kill(run)
        limit = self.settings.timeout
        if limit and now >= self.begin + limit and not self.status and self._running():
            self.status = STATUS_TIMEOUT
            say(f"--timeout: {limit:g} s have passed, ending all blocks")
            for run in self._running():
                self._end(run, "timeout")

    def _patience(self) -> Optional[float]:
        """Return how long the loop may sleep."""
        moments = [run.kill_at for run in self._running() if run.kill_at]
        if self.settings.timeout and not self.status:
            moments.append(self.begin + self.settings.timeout)
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    # ---- afterwards ----

    def _clean_up(self) -> None:
        """End whatever the blocks left behind, and read the last of their output."""
        if self._running():
            self._end_all("the run is over")
        if self.service and self.service.returncode is None:
            procs.send(self.service.pid, signal.SIGTERM)
        keep = [self.guard_pid] if hasattr(self, "guard_pid") else []

        def left() -> List[int]:
            found = set(procs.carriers(self.meeting.job_id)) | set(procs.adopted(keep))
            return [pid for pid in found if pid not in keep]

        count = procs.end_all(left, min(1.0, self.settings.grace))
        if count > (1 if self.service else 0) and self.settings.summary:
            say(f"ended {count} processes that the blocks left behind")
        deadline = time.monotonic() + DRAIN_TIME
        with contextlib.suppress(OutputClosed, WaitioError):
            while self.streams and time.monotonic() < deadline:
                for key, _ in self.selector.select(0.05):
                    key.data()
        self.sink.close()

    def _report(self) -> None:
        interrupted = [number for number in self.signalled if number in ENDING]
        if not (self.status or self.settings.summary or any(r.status for r in self.runs)):
            return
        rows: List[Tuple[str, ...]] = [("block", "procs", "ended", "after", "")]
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
        if run.ended_by_us and run is not self.failed:
            text += (
                f", ended because {run.ended_by_us}"
                if "failed" in run.ended_by_us
                else (f", {run.ended_by_us}")
            )
        return text
