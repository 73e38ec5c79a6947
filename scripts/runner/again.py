# SPDX-License-Identifier: BSD-3-Clause
"""Second tries: a test that fails runs once more, alone, after all others.

One that passes then is unsteady: it counts as passed and is listed. So many that a change must have
broken something are not run again, nor are those that are left after MOST_S.
"""

import time

from runner import child, ctests, pytests
from runner.tally import Tally

MOST_S = 600


def unit_of(name, programs):
    """What can be run again: a Python test, or the program of a C test; None: neither."""
    if ".py::" in name:
        return name
    program = name.partition("::")[0]
    return program if program in programs else None


def passes(args, env, unit):
    """Run one test alone. Did it pass?"""
    second = Tally()
    if ".py::" in unit:
        pytests.run_one(args, env, second, unit)
    else:
        alone = ctests.CTest(args, env, ctests.exactly([unit]), 2, "ctest-again")
        child.wait([alone])
        alone.count(second)
    return second.passed > 0 and not second.failed


def run(args, env, tally, most, clock=time.monotonic, passes=passes):
    """Run what failed again, and sort it.

    @param most  so many may be unsteady: where more failed, all stay failures
    """
    units = {}
    programs = ctests.names(args.build) if tally.failed else {}
    for name, _ in tally.failed:
        unit = unit_of(name, programs)
        if unit:
            units.setdefault(unit, set()).add(name)
    if not units:
        return
    if len(tally.failed) > most:
        print(f"{len(tally.failed)} tests failed: too many to run them again", flush=True)
        return
    until = clock() + MOST_S
    for unit, failed in units.items():
        if clock() > until:
            print(f"{unit} is not run again: {MOST_S} s of second tries are over", flush=True)
            continue
        print(f"once more, alone: {unit}", flush=True)
        if passes(args, env, unit):
            tally.forgive(failed)
