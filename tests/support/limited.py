#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a C test under a time limit that grows with the machine's load.

limited.py NAME SECONDS PROGRAM [WORD ...]

CTest starts every test through this. SECONDS are for an idle machine. A test that reaches the limit
is shown - its processes, where their threads wait, their stacks - and ended, with all it started;
the exit status is then 124. Otherwise it is the program's own (128 + n after signal n). The load of
the machine is said of one that fails.
"""

import os
import signal
import subprocess
import sys
import uuid

import patience

SKIPPED = 77


def main(name, seconds, *words):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also for a job in the background
    mark = uuid.uuid4().hex
    limit = patience.Limit(float(seconds))
    child = subprocess.Popen(
        words,
        env={**os.environ, patience.MARK: mark},
        stdin=subprocess.DEVNULL,
        preexec_fn=patience.die_with_parent,
    )
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        status = patience.wait(child, limit)
        if status not in (0, SKIPPED):
            print(f"the load of the machine was {os.getloadavg()[0]:.2f}", flush=True)
        if status is None:
            print(patience.hang_report(name, limit, patience.of_test(mark)), flush=True)
            return 124
        if status < 0:
            print(f"{name} was ended by {signal.Signals(-status).name}", flush=True)
            return 128 - status
        return status
    except KeyboardInterrupt:
        return 130
    finally:
        patience.end(mark)
        child.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
