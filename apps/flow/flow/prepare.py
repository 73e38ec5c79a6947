# SPDX-License-Identifier: BSD-3-Clause
"""What a run is, and how its blocks are started."""

import dataclasses
import json

STREAM = "flow"
FLOW, RENDER, STATISTICS, PROBE, SPARE, OUTPUT = range(6)  # blocks
TAG_DEVELOPED, TAG_DONE = 11, 12

JOB = """\
# A flow solver and five programs that read its stream: `waitio run flow.toml` in this folder.
[run]
timeout = "15m"
keep_going = true                     # one of them is killed; the others go on
summary = true

[[block]]
name = "flow"
command = ["flow_solver", {settings}]
n = {solver}
mpi = "openmpi"
env = {{ OMPI_MCA_mpi_yield_when_idle = 1 }}     # more processes than cores

[[block]]
name = "render"
command = ["python3", "-c", "from flow import render; render.main()"]

[[block]]
name = "statistics"
command = ["python3", "-c", "from flow import statistics; statistics.main()"]
env = {{ WAITIO_WARN_WAIT = "0" }}         # it is meant to wait long
n = {statistics}

[[block]]
name = "probe"
command = ["python3", "-c", "from flow import probe; probe.main()"]

[[block]]
name = "spare"
command = ["python3", "-c", "from flow import probe; probe.spare()"]
env = {{ WAITIO_WARN_WAIT = "0" }}

[[block]]
name = "output"
command = ["python3", "-m", "waitio", "stage", "write", "{stream}", "--to", "flow.nc", "--latest",
           "--every", "{output_every}", "--variables", "velocity,density,x,y,z,drag,lift"]
"""


@dataclasses.dataclass(frozen=True)
class Plan:
    """Units of the lattice: cells, steps. The cylinder is that of a well-known benchmark."""

    nx: int = 176
    ny: int = 41
    nz: int = 12
    diameter: float = 10.0
    x: float = 20.0
    y: float = 20.0
    speed: float = 0.06  # mean of the inflow
    viscosity: float = 0.006  # the Reynolds number is 100
    steps: int = 9000
    every: int = 50  # steps from one that is handed on to the next
    ramp: int = 1000
    solver: int = 2  # processes
    statistics: int = 2
    late: float = 0.55  # part of the run after which statistics come
    killed: float = 0.65  # and the probe is killed
    output: int = 20  # every so many that are handed on go into the file
    physics: bool = True  # long and fine enough for comparisons

    @property
    def reynolds(self):
        return self.speed * self.diameter / self.viscosity

    @property
    def handed_on(self):
        return self.steps // self.every


SMALL = Plan(nx=72, nz=4, steps=2400, every=20, ramp=600, late=0.4, killed=0.6, physics=False)


def job(plan):
    names = (
        "nx", "ny", "nz", "diameter", "x", "y", "speed", "viscosity", "steps", "every", "ramp",
    )  # fmt: skip
    words = [f"{name}={getattr(plan, name)}" for name in names]
    words += [f"stream={STREAM}", "readers=2"]  # those of render and probe
    return JOB.format(
        settings=", ".join(f'"{word}"' for word in words),
        solver=plan.solver,
        statistics=plan.statistics,
        stream=STREAM,
        output_every=plan.output,
    )


def prepare(folder, plan):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "flow.toml").write_text(job(plan))
    (folder / "plan.json").write_text(json.dumps(dataclasses.asdict(plan)))


def read_plan(folder):
    return Plan(**json.loads((folder / "plan.json").read_text()))
