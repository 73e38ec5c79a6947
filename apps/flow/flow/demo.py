# SPDX-License-Identifier: BSD-3-Clause
"""`make demo-staging`: runs a flow solver and the programs that read its stream, checks the
numbers, writes the report. Status 0: all checks hold; 1: one does not; 2: something is missing or
went wrong."""

import argparse
import dataclasses
import functools
import shutil
import sys

from tsunami import launch, selfcheck
from tsunami.launch import DemoError, Progress

from flow import prepare
from flow.results import Results

PROGRAMS = {
    "waitio": "the command waitio (make builds it)",
    "flow_solver": "the program flow_solver (make builds it where Open MPI is)",
    "mpiexec.openmpi": "Open MPI's launcher (Debian package openmpi-bin)",
}
KILLED = 128 + 9  # how the run ends: the probe was killed


def arguments(words):
    parser = argparse.ArgumentParser(
        prog="flow", description=__doc__.split("\n\n")[0].replace("`", "")
    )
    parser.add_argument("--folder", default="build/flow", help="where everything is written")
    parser.add_argument("--small", action="store_true", help="coarse and short, for tests")
    parser.add_argument("--steps", type=int, help="of the lattice")
    parser.add_argument("--solver", type=int, help="processes of the solver")
    parser.add_argument("--no-report", action="store_true", help="numbers only")
    parser.add_argument(
        "--report-only", action="store_true", help="from the results of a run that lie there"
    )
    return parser.parse_args(words)


def make_plan(args):
    plan = prepare.SMALL if args.small else prepare.Plan()
    changes = {n: getattr(args, n) for n in ("steps", "solver") if getattr(args, n) is not None}
    plan = dataclasses.replace(plan, **changes)
    if not 1 <= plan.solver <= plan.nx:
        raise DemoError(f"--solver {plan.solver}: from 1 to {plan.nx} processes have cells")
    if plan.steps < 40 * plan.every:
        raise DemoError(f"--steps {plan.steps}: at least {40 * plan.every} are needed")
    return plan


def run_blocks(plan, folder, env):
    shutil.rmtree(folder, ignore_errors=True)
    prepare.prepare(folder, plan)
    progress = Progress("flow + five readers")
    said = launch.run(["waitio", "run", "flow.toml"], folder, env, progress, good=(0, KILLED))
    progress.done("done")
    for line in said:
        print("    " + line)


def results_of(args, home):
    env = launch.environment(home)
    launch.need(PROGRAMS, ("matplotlib", "netCDF4", "PIL", "waitio.stage"), env)
    folder = home / "run"
    if not args.report_only:
        run_blocks(make_plan(args), folder, env)
    try:
        if not (folder / "flow.nc").exists():
            raise OSError("flow.nc was not written")
        return Results(folder)
    except (OSError, ValueError, KeyError) as error:
        raise DemoError(f"no results of a whole run in {folder} ({error})") from None


def write_report(results, found):
    from flow import report  # matplotlib is slow to load

    return report.write(results, found)


def main(words=None):
    args = arguments(words)
    write = None if args.no_report else write_report
    return selfcheck.run("flow", args.folder, functools.partial(results_of, args), write)


if __name__ == "__main__":
    sys.exit(main())
