# SPDX-License-Identifier: BSD-3-Clause
"""`make demo`: records an event if need be, runs the three blocks, checks the numbers, writes the
report. Status 0: all checks hold; 1: one does not; 2: something is missing or went wrong."""

import argparse
import dataclasses
import json
import pathlib
import shutil
import sys
import time

from tsunami import checks, launch, prepare, remote, way
from tsunami.launch import APP, DemoError, Progress

PROGRAMS = {
    "waitio": "the command waitio (make builds it)",
    "tsunami_ocean": "the program tsunami_ocean (make builds it where gfortran and Open MPI are)",
    "mpiexec.openmpi": "Open MPI's launcher (Debian package openmpi-bin)",
}


def arguments(words):
    parser = argparse.ArgumentParser(
        prog="tsunami", description=__doc__.split("\n\n")[0].replace("`", "")
    )
    parser.add_argument("--folder", default="build/tsunami", help="where everything is written")
    parser.add_argument("--small", action="store_true", help="coarse and short, for tests")
    parser.add_argument("--speed", type=float, help="seconds of the event in a second")
    parser.add_argument(
        "--no-assimilation", action="store_true", help="increments are zero: the checks must fail"
    )
    parser.add_argument(
        "--no-mpi4py", action="store_true", help="assim as one plain process, without MPI"
    )
    parser.add_argument("--no-report", action="store_true", help="numbers only")
    parser.add_argument(
        "--report-only", action="store_true", help="from the results of a run that lie there"
    )
    parser.add_argument(
        "--prepare-only", action="store_true", help="inputs for blocks started by hand, and stop"
    )
    parser.add_argument(
        "--blocks",
        choices=("here", "remote"),
        default="here",
        help="remote: print how to start the blocks on two clusters",
    )
    parser.add_argument(
        "--route",
        choices=way.ROUTES,
        default="auto",
        help="file: the programs share a directory and nothing else; hybrid: large ones by file",
    )
    parser.add_argument(
        "--network",
        type=float,
        metavar="SECONDS",
        help="only stream 2,000 stations at 100 Hz, for so long",
    )
    args = parser.parse_args(words)
    if args.blocks == "remote" and args.route != "auto":
        parser.error(
            "--blocks remote prints the lines of the ordinary way; docs/guide/file.md has the"
            f" variables for --route {args.route}"
        )
    return args


def make_plan(args):
    plan = prepare.SMALL if args.small else prepare.Plan()
    changes = {"assimilate": not args.no_assimilation}
    if args.speed:
        changes["speed"] = args.speed
    return dataclasses.replace(plan, **changes)


def record(plan, home, env):
    """The true event, from a source that nobody else sees. Made once."""
    folder = home / plan.recording_name()
    done = folder / "complete"
    progress = Progress("recording the true event")
    if done.exists():
        progress.done("already there")
        return folder
    settings = prepare.prepare_recording(folder, plan)
    launch.run(
        ["waitio", "run", "--mpi", "openmpi", "-n", 1, "tsunami_ocean", settings],
        folder,
        env,
        progress,
    )
    done.touch()
    progress.done("done")
    return folder


def job_file(folder, mpi, route):
    """The job file beside the inputs; without MPI for Python the assimilation is one process."""
    text = (APP / "tsunami.toml").read_text()
    if not mpi:
        text = text.replace('n = 2\nmpi = "mpich"\n', "")
    (folder / "tsunami.toml").write_text(route.job_file(text))


def prepare_blocks(plan, home, env, mpi, recording, route):
    """Inputs, and the free run; returns what the blocks have been told."""
    folder = home / "run"
    config = prepare.prepare_run(folder, plan, recording.resolve(), mpi)
    progress = Progress("free run, from the first report")
    launch.run(
        ["waitio", "run", "--mpi", "openmpi", "-n", 1, "tsunami_ocean", "free.nml"],
        folder,
        env,
        progress,
    )
    progress.done("done")
    job_file(folder, mpi, route)
    return config


def run_blocks(plan, home, env, mpi, recording, route):
    """Run the three blocks; everything they leave is in the folder `run`."""
    folder = home / "run"
    shutil.rmtree(folder, ignore_errors=True)
    config = prepare_blocks(plan, home, env, mpi, recording, route)
    progress = Progress("ocean + gauges + assim")
    words = ["waitio", "run", *route.options(), "tsunami.toml"]
    said = launch.run(words, folder, route.env, progress, plan.scenarios)
    progress.done("done")
    said = route.look_back(folder, said)
    print("    " + route.text())
    for line in said:
        print("    " + line)
    return checks.Outcome(folder, recording, plan, config)


def stream_network(seconds, plan, home, recording, route):
    """The papers' rate: 2,000 stations, 100 samples a second."""
    folder = home / "network"
    prepare.prepare_run(folder, plan, recording.resolve(), mpi=False)
    gauges = ["python3", "-m", "tsunami.gauges", "event.json", "--rate", 100, "--seconds", seconds]
    listen = ["python3", "-m", "tsunami.listen"]
    blocks = ["--name", "gauges", *gauges, ":", "--name", "listen", *listen]
    words = ["waitio", "run", *route.options(), *blocks]
    said = launch.run(words, folder, route.env, Progress("network"))
    print("\n".join(said))
    return 0


def old_outcome(plan, home, recording):
    folder = home / "run"
    try:
        config = json.loads((folder / "event.json").read_text())
        return checks.Outcome(folder, recording, plan, config)
    except (OSError, ValueError) as error:
        raise DemoError(f"no results of a whole run in {folder} ({error})") from None


def outcome_of(args, home):
    """Do what the options say; None when there is nothing to judge."""
    env = launch.environment(home)
    launch.need(PROGRAMS, ("numpy", "matplotlib", "waitio._core"), env)
    plan = make_plan(args)
    recording = record(plan, home, env)
    route = way.Way(args.route, home, dict(env))
    if args.network:
        stream_network(args.network, plan, home, recording, route)
        return None
    if args.report_only:
        return old_outcome(plan, home, recording)
    if args.prepare_only:
        shutil.rmtree(home / "run", ignore_errors=True)
        prepare_blocks(plan, home, env, True, recording, route)
        print(f"inputs: {home / 'run'}")
        return None
    lacks = "" if args.no_mpi4py else launch.missing_mpi(env)
    if lacks:
        print(f"tsunami: {lacks}\ntsunami: assim runs as one process, without MPI")
    return run_blocks(plan, home, env, not (lacks or args.no_mpi4py), recording, route)


def main(words=None):
    args = arguments(words)
    began = time.monotonic()
    home = pathlib.Path(args.folder).resolve()
    if args.blocks == "remote":
        print(remote.lines(home / "run", APP), end="")
        return 0
    home.mkdir(parents=True, exist_ok=True)
    try:
        outcome = outcome_of(args, home)
    except DemoError as problem:
        print(f"tsunami: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if outcome is None:
        return 0
    numbers = outcome.numbers()
    found = checks.judge(numbers)
    path = None
    if not args.no_report:
        from tsunami import report  # matplotlib is slow to load

        path = report.write(outcome, numbers, found)
    for check in found:
        print(
            f"{'ok  ' if check.good else 'FAIL'} {check.text}: {check.value:.2f} of {check.limit}"
        )
    if path:
        print(f"report: {path}  (after {time.monotonic() - began:.0f} s)")
    return 0 if all(check.good for check in found) else 1


if __name__ == "__main__":
    sys.exit(main())
