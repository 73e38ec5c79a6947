# SPDX-License-Identifier: BSD-3-Clause
"""`make demo-coupled`: prepares the inputs, runs the four blocks by one `waitio run`, checks the
numbers, writes the report. Status 0: all checks hold; 1: one does not; 2: something is missing or
went wrong."""

import argparse
import dataclasses
import functools
import shutil
import sys

from tsunami import launch, selfcheck
from tsunami.launch import DemoError, Progress

from climate import prepare
from climate.results import Results

PROGRAMS = {
    "waitio": "the command waitio (make builds it)",
    "climate_atmos": "the program climate_atmos (make builds it where gfortran, Open MPI and "
    "netCDF-C are)",
    "climate_ocean": "the program climate_ocean (make builds it where MPICH and netCDF-C are)",
    "mpiexec.openmpi": "Open MPI's launcher (Debian package openmpi-bin)",
    "mpiexec.mpich": "MPICH's launcher (Debian package mpich)",
}


def arguments(words):
    parser = argparse.ArgumentParser(
        prog="climate", description=__doc__.split("\n\n")[0].replace("`", "")
    )
    parser.add_argument("--folder", default="build/climate", help="where everything is written")
    parser.add_argument("--small", action="store_true", help="coarse and short, for tests")
    parser.add_argument("--days", type=int, help="of model time; a year has 360")
    parser.add_argument("--atmos", type=int, help="processes of the atmosphere")
    parser.add_argument("--ocean", type=int, help="processes of the ocean")
    parser.add_argument(
        "--damage", type=float, help="change one weight by this part: the run must fail"
    )
    parser.add_argument(
        "--models-only", action="store_true", help="without the blocks that learn and write"
    )
    parser.add_argument("--no-report", action="store_true", help="numbers only")
    parser.add_argument(
        "--report-only", action="store_true", help="from the results of a run that lie there"
    )
    return parser.parse_args(words)


def make_plan(args):
    plan = prepare.SMALL if args.small else prepare.Plan()
    names = ("days", "atmos", "ocean", "damage")
    changes = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if args.models_only:
        changes.update(learn=False, output=False)
    plan = dataclasses.replace(plan, **changes)
    for name, most in (("atmos", plan.ny), ("ocean", plan.cube**2)):
        if not 1 <= getattr(plan, name) <= most:
            raise DemoError(
                f"--{name} {getattr(plan, name)}: from 1 to {most} processes have cells"
            )
    for name, unit in (("month", "months"), ("lesson", "lessons")):
        length = getattr(plan, name)
        if plan.days < 2 * length or plan.days % length:
            raise DemoError(f"--days {plan.days}: two or more whole {unit} of {length} days")
    return plan


def run_blocks(plan, folder, env):
    shutil.rmtree(folder, ignore_errors=True)
    progress = Progress("grids and weights")
    try:
        said = prepare.prepare(folder, plan, env)
    except OSError as problem:
        raise DemoError(str(problem)) from None
    cells = said["air_sea.nc"]
    progress.done(
        f"{cells['sources']} cells of air, {cells['targets'] - cells['masked']} of sea, "
        f"{cells['links']} links"
    )
    progress = Progress("atmos + ocean + learn + output" if plan.learn else "atmos + ocean")
    said = launch.run(["waitio", "run", "climate.toml"], folder, env, progress)
    progress.done("done")
    for line in said:
        print("    " + line)


def results_of(args, home):
    env = launch.environment(home)
    modules = "numpy", "netCDF4", "matplotlib", "h3ou"
    launch.need(PROGRAMS, modules, {**env, "H3OU_MPI": "mpich"})
    folder = home / "run"
    if not args.report_only:
        run_blocks(make_plan(args), folder, env)
    try:
        return Results(folder)
    except (OSError, ValueError) as error:
        raise DemoError(f"no results of a whole run in {folder} ({error})") from None


def write_report(results, found):
    from climate import report  # matplotlib is slow to load

    return report.write(results, found)


def main(words=None):
    args = arguments(words)
    write = None if args.no_report or args.models_only else write_report
    return selfcheck.run("climate", args.folder, functools.partial(results_of, args), write)


if __name__ == "__main__":
    sys.exit(main())
