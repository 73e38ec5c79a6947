# SPDX-License-Identifier: BSD-3-Clause
"""Other libraries on this machine that could move the same messages, each in its own best setting.

What is absent is named and skipped. A peer that is said to use TCP is checked: the loopback device
has to have moved at least what the messages hold.
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

from place import HERE, LIMIT_S, free_port, parse, plan, rate_messages, run_all, run_one, taskset

ROOT_ENV = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}
# UCX takes shared memory within a host unless its transports are named.
UCX = {
    "tcp": {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"},
    "shm": {"UCX_TLS": "posix,sysv,cma,self"},
}


class Peers:
    """Finds, builds and runs them."""

    def __init__(self, args, place, net, folder):
        self.args, self.place, self.net, self.folder = args, place, net, Path(folder)
        self.found = {}
        self.skipped = []
        for look in (self._open_mpi, self._mpich, self._ucx, self._zeromq):
            look()

    # ---- MPI: one job, two ranks ----

    def _build_mpi(self, flavour):
        cc, mpiexec = shutil.which(f"mpicc.{flavour}"), shutil.which(f"mpiexec.{flavour}")
        if cc is None or mpiexec is None:
            self.skipped.append(f"no mpicc.{flavour} and mpiexec.{flavour}")
            return None
        exe = self.folder / f"peer_{flavour}"
        source = str(HERE / "peer_mpi.c")
        subprocess.run([cc, "-O2", "-D_GNU_SOURCE", "-o", str(exe), source], check=True)
        cpus = [str(cpu) for cpu in self.place.cpus]
        words = [*self.place.prefix, str(exe), str(self.args.scale), str(self.args.max), *cpus]
        return mpiexec, words

    def _add_mpi(self, name, words, env=None):
        def run():
            return self._one_command(words, {**ROOT_ENV, **(env or {})})

        self.found[name] = run

    def _open_mpi(self):
        built = self._build_mpi("openmpi")
        if built is None:
            return
        mpiexec, program = built
        base = [mpiexec, "-n", "2", "--bind-to", "none", "--mca", "pml", "ob1"]
        if self.args.one_core:
            base += ["--mca", "mpi_yield_when_idle", "1"]
        if self.args.transport == "tcp":
            tcp = ["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"]
            self._add_mpi("Open MPI (tcp)", [*base, *tcp, *program])
            return
        vader = [*base, "--mca", "btl", "vader,self"]
        self._add_mpi("Open MPI (shm)", [*vader, *program])
        no_cma = ["--mca", "btl_vader_single_copy_mechanism", "none"]
        self._add_mpi("Open MPI (shm, no CMA)", [*vader, *no_cma, *program])

    def _mpich(self):
        if self.args.one_core:
            self.skipped.append("MPICH only spins: milliseconds per message on one core")
            return
        built = self._build_mpi("mpich")
        if built is None:
            return
        mpiexec, program = built
        words = [mpiexec, "-n", "2", "-bind-to", "none", *program]
        device = self._mpich_device()
        if self.args.transport == "shm":
            self._add_mpi("MPICH (shm)", words)
        elif "ucx" in device:
            # Its network module is UCX, which has messages within a host whatever
            # MPIR_CVAR_NOLOCAL says, and would take shared memory for them.
            self._add_mpi("MPICH (tcp)", words, {**UCX["tcp"], "MPIR_CVAR_NOLOCAL": "1"})
        elif "ofi" in device:
            env = {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_OFI_USE_PROVIDER": "tcp"}
            self._add_mpi("MPICH (tcp)", words, env)
        else:
            self._add_mpi("MPICH (tcp)", words, {"MPIR_CVAR_NOLOCAL": "1"})

    @staticmethod
    def _mpich_device():
        for tool in ("mpichversion.mpich", "mpichversion"):
            if shutil.which(tool):
                done = subprocess.run([tool], capture_output=True, text=True, check=False)
                for line in done.stdout.splitlines():
                    if line.startswith("MPICH Device"):
                        return line
        return ""

    # ---- UCX's own perf tool: a pair of processes for each size ----

    def _ucx(self):
        if self.args.one_core:
            self.skipped.append("ucx_perftest only spins: milliseconds per message on one core")
        elif shutil.which("ucx_perftest") is None:
            self.skipped.append("no ucx_perftest (Debian package ucx-utils)")
        else:
            self.found[f"UCX ({self.args.transport})"] = self._run_ucx

    def _run_ucx(self):
        values = {}
        for size, rounds, trips in plan(self.args):
            row = self._ucx_test("tag_lat", size, trips, ["-w", str(rounds // 4 + 1)])
            values["half_rtt", size] = float(row["50.0_percentile_lat"]) * 1e-6
        count = rate_messages(self.args)
        row = self._ucx_test("tag_bw", 8, count, ["-O", "64", "-w", str(count // 10)])
        values["rate", 8] = float(row["overall_mr"])
        return values

    def _ucx_test(self, test, size, count, more):
        port = str(free_port())
        env = {**os.environ, **UCX[self.args.transport]}
        tool = self._wrap([*self.place.prefix, "ucx_perftest", "-p", port])
        words = ["127.0.0.1", "-t", test, "-s", str(size), "-n", str(count), "-v", "-f", *more]
        server = subprocess.Popen(
            taskset(self.place.cpus[1], tool),
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            for _ in range(100):  # until the server listens
                time.sleep(0.05)
                done = subprocess.run(
                    taskset(self.place.cpus[0], [*tool, *words]),
                    env=env,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=LIMIT_S,
                    check=False,
                )
                lines = [line for line in done.stdout.splitlines() if "," in line]
                if done.returncode == 0 and len(lines) >= 2:
                    server.wait(timeout=30)
                    return dict(zip(lines[0].split(","), lines[-1].replace(" ", "").split(",")))
                if server.poll() is not None:
                    break
            raise RuntimeError(f"ucx_perftest failed: {done.stderr.strip()[-300:]}")
        finally:
            if server.poll() is None:
                server.kill()
                server.wait()

    # ---- ZeroMQ: a pair of PAIR sockets ----

    def _zeromq(self):
        exe = self.folder / "peer_zmq"
        cc = shutil.which("cc")
        source = str(HERE / "peer_zmq.c")
        words = [cc or "cc", "-O2", "-D_GNU_SOURCE", "-o", str(exe), source, "-lzmq"]
        if cc is None or subprocess.run(words, capture_output=True, check=False).returncode:
            self.skipped.append("no ZeroMQ to build with (Debian package libzmq3-dev)")
            return
        kind = "tcp" if self.args.transport == "tcp" else "ipc"
        self.found[f"ZeroMQ ({kind})"] = lambda: self._run_zeromq(str(exe), kind)

    def _run_zeromq(self, exe, kind):
        place = f"tcp://127.0.0.1:{free_port()}" if kind == "tcp" else f"ipc://{self.folder}/zmq"
        numbers = [str(self.args.scale), str(self.args.max)]
        commands = [
            self._wrap([*self.place.prefix, exe, place, str(r), str(cpu), *numbers])
            for r, cpu in enumerate(self.place.cpus)
        ]
        return parse(run_all(commands, [os.environ.copy()] * 2))

    # ---- running ----

    def _wrap(self, command):
        return self.net.wrap(command) if self.args.transport == "tcp" else command

    def _one_command(self, words, env):
        return parse(run_one(self._wrap(words), env))

    def run(self, name):
        """One run of one peer; over TCP with a look at what the loopback device moved."""
        if self.args.transport != "tcp":
            return self.found[name]()
        before = self.net.moved()
        values = self.found[name]()
        moved = self.net.moved() - before
        held = sum(2 * size * trips for size, _, trips in plan(self.args))
        if moved < 0.9 * held:
            raise RuntimeError(
                f"it does not use TCP: its messages hold {held} bytes, {moved} went over loopback"
            )
        return values
