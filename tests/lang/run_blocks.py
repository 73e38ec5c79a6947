#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Start programs as blocks of one universe, with environment variables by hand.

run_blocks.py [--limit S] [--expect N] [--quiet-ok] [--algorithms I] COUNT PROGRAM [...]

Each COUNT PROGRAM pair is one block of COUNT processes. Every process must end with status 0 (or
N) and print `ok` (when 0 is expected) before the limit, which grows with the load of the machine;
otherwise all output is shown and the status is 1. With --algorithms every collective uses the I-th
algorithm of its WAITIO_COLL_ variable (counted modulo their number; 0 is "auto"). The run has a
home, a secret, a job id and a port of its own, all on 127.0.0.1.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import patience  # noqa: E402


def root():
    """The checkout."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def free_port():
    sys.path.append(os.path.join(root(), "python"))
    from waitio.ports import free_port as choose

    return choose()


def forced(index):
    """Every WAITIO_COLL_ variable set to its value number `index`, modulo how many it has."""
    with open(os.path.join(root(), "spec", "config.toml"), encoding="utf-8") as table:
        rows = re.findall(r'name = "(WAITIO_COLL_\w+)".*values = \[([^]]*)\]', table.read())
    assert rows, "no WAITIO_COLL_ variables found"
    values = {name: re.findall(r'"(\w+)"', text) for name, text in rows}
    return {name: words[index % len(words)] for name, words in values.items()}


def start(blocks, home, log_dir, algorithms):
    """Start every process of every block; return (name, process, log path) triples."""
    base = {k: v for k, v in os.environ.items() if not k.startswith(("WAITIO_", "COUPLER_"))}
    base.update(
        HOME=home,
        WAITIO_MASTER_HOST="127.0.0.1",
        WAITIO_MASTER_PORT=str(free_port()),
        WAITIO_JOB_ID=f"lang{os.getpid()}",
        WAITIO_NPB=str(len(blocks)),
        WAITIO_INIT_TIMEOUT="60",
    )
    for name in (
        "WAITIO_COMM_TYPE",
        "WAITIO_ERRORS",
        "WAITIO_LOG",
        "WAITIO_PROGRESS",
        "WAITIO_SHM_FETCH",
    ):
        if name in os.environ:
            base[name] = os.environ[name]
    base.update(forced(algorithms))
    started = []
    for pbid, (count, program) in enumerate(blocks):
        for rank in range(count):
            env = dict(base, WAITIO_PBID=str(pbid), WAITIO_RANK=str(rank), WAITIO_NPROCS=str(count))
            name = f"{os.path.basename(program)} {pbid}.{rank}"
            path = os.path.join(log_dir, f"{pbid}.{rank}")
            with open(path, "wb") as log:
                started.append(
                    (
                        name,
                        subprocess.Popen([program], env=env, stdout=log, stderr=subprocess.STDOUT),
                        path,
                    )
                )
    return started


def finish(started, limit):
    """Wait until all have ended or the time is up; show and end what is left, by process id."""
    while any(p.poll() is None for _, p, _ in started) and limit.left() > 0:
        time.sleep(0.02)
    late = {p.pid for _, p, _ in started if p.poll() is None}
    if late:
        print(patience.hang_report("the run", limit, sorted(late)))
    for _, process, _ in started:
        if process.pid in late:
            process.kill()
        process.wait()
    return late


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--expect", type=int, default=0, help="exit status of every process")
    parser.add_argument("--quiet-ok", action="store_true", help="status 0 is enough, without `ok`")
    parser.add_argument("--algorithms", type=int, default=0, help="force the collectives' I-th")
    parser.add_argument("blocks", nargs="+")
    args = parser.parse_args()
    pairs = list(zip(args.blocks[::2], args.blocks[1::2]))
    if len(args.blocks) % 2:
        parser.error("blocks are COUNT PROGRAM pairs")
    blocks = [(int(count), os.path.abspath(program)) for count, program in pairs]
    failed = False
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o700)
        started = start(blocks, home, home, args.algorithms)
        late = finish(started, patience.Limit(args.limit))
        for name, process, path in started:
            with open(path, encoding="utf-8", errors="replace") as log:
                text = log.read()
            good = process.returncode == args.expect
            good = good and (args.expect != 0 or args.quiet_ok or "ok" in text.split())
            failed |= not good
            end = (
                "did not end in time" if process.pid in late else f"ended with {process.returncode}"
            )
            print(f"{name}: {'passed' if good else 'FAILED, ' + end}")
            if not good or args.expect:
                print(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
