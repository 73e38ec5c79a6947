# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of the blocks: grids, weights, what is coupled, and how the blocks are started."""

import dataclasses
import json
import subprocess

import netCDF4

from climate import world

DAY = 86400
CONF = """\
! What is exchanged; all components read this. Times in seconds.
&h3ou_coupling log_level = 'SILENT' /

! Heat goes down as the mean of the day, conservatively remapped.
&h3ou_var comp_put = 'atmos', comp_get = 'ocean', grid_put = 'air', grid_get = 'sea' /
&h3ou_var var_put = 'heat', var_get = 'heat', intvl = {day}, lag = -1, flag = 'AVR' /

! How warm and bright the sea is goes up; wet = 1 becomes the part of a cell that the sea covers.
&h3ou_var comp_put = 'ocean', comp_get = 'atmos', grid_put = 'sea', grid_get = 'air' /
&h3ou_var var_put = 'sst', var_get = 'sst', intvl = {day}, lag = -1, flag = 'SNP' /
&h3ou_var var_put = 'albedo', var_get = 'albedo', intvl = {day}, lag = -1, flag = 'SNP' /
&h3ou_var var_put = 'wet', var_get = 'wet', intvl = {day}, lag = -1, flag = 'SNP' /
"""
LEARN = """
! The block that learns sees means of some days, on the ocean's grid, as soon as they are made.
&h3ou_var comp_put = 'atmos', comp_get = 'learn', grid_put = 'air', grid_get = 'sea' /
{from_atmos}
&h3ou_var comp_put = 'ocean', comp_get = 'learn', grid_put = 'sea', grid_get = 'sea' /
{from_ocean}
"""
OUTPUT = """
! The block that writes gets means of a month, each field on its own grid.
&h3ou_var comp_put = 'atmos', comp_get = 'output', grid_put = 'air', grid_get = 'air' /
{from_atmos}
&h3ou_var comp_put = 'ocean', comp_get = 'output', grid_put = 'sea', grid_get = 'sea' /
{from_ocean}
"""
LESSONS = {"atmos": ("heat", "t_air", "sun"), "ocean": ("sst", "albedo")}
OUTPUTS = {
    "atmos": ("t_air", "t_surface", "sun", "olr", "heat"),
    "ocean": ("sst", "ice", "heat_in"),
}
JOB = """\
# Four programs, two MPIs, one coupled model: `waitio run climate.toml` in this folder.
[run]
timeout = "30m"

[[block]]
name = "atmos"
command = ["climate_atmos", "climate.nml"]
n = {atmos}
mpi = "openmpi"
env = {{ OMPI_MCA_mpi_yield_when_idle = 1 }}     # more processes than cores

[[block]]
name = "ocean"
command = ["climate_ocean", "{days}"]
n = {ocean}
mpi = "mpich"
"""
PYTHON = """
[[block]]
name = "{name}"
command = ["python3", "-m", "climate.{name}"]
env = {{ H3OU_MPI = "mpich" }}                   # one process needs no launcher
"""


@dataclasses.dataclass(frozen=True)
class Plan:
    nx: int = 120
    ny: int = 60
    cube: int = 48  # cells along the edge of a face
    days: int = 1080
    steps_a_day: int = 8
    lesson: int = 5  # days that learn averages over
    month: int = 30
    atmos: int = 2  # processes
    ocean: int = 2
    learn: bool = True
    output: bool = True
    damage: float = 0.0  # relative, of one weight: the check must see it


SMALL = Plan(nx=36, ny=18, cube=12, days=120, steps_a_day=4)


def conf(plan):
    def records(names, seconds):
        line = "&h3ou_var var_put = '{0}', var_get = '{0}', intvl = {1}, lag = 1, flag = 'AVR' /"
        return "\n".join(line.format(name, seconds) for name in names)

    text = CONF.format(day=DAY)  # what goes to blocks that do not run is dropped
    for part, fields, days in ((LEARN, LESSONS, plan.lesson), (OUTPUT, OUTPUTS, plan.month)):
        parts = {f"from_{who}": records(names, days * DAY) for who, names in fields.items()}
        text += part.format(**parts)
    return text


def job(plan):
    text = JOB.format(**dataclasses.asdict(plan))
    for name in ("learn", "output"):
        if getattr(plan, name):
            text += PYTHON.format(name=name)
    return text


def call(folder, env, *words):
    done = subprocess.run(
        ["waitio", *words], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise OSError(f"waitio {' '.join(words)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def make_weights(folder, env, damage):
    """One file for each way, `destarea`: integrals are kept. Returns what `waitio` says of them."""
    said = {}
    for source, target in (("air", "sea"), ("sea", "air")):
        path = f"{source}_{target}.nc"
        words = (f"{source}.nc", f"{target}.nc", "-m", "conservative", "--norm", "destarea")
        said[path] = json.loads(call(folder, env, "cpl", "weights", *words, "--json", "-o", path))
    if damage:
        with netCDF4.Dataset(folder / "air_sea.nc", "a") as file:
            middle = len(file["remap_matrix"]) // 2
            file["remap_matrix"][middle, 0] *= 1 + damage
    return said


def prepare(folder, plan, env):
    """Fill the folder; returns the reports of the weights."""
    folder.mkdir(parents=True, exist_ok=True)
    call(folder, env, "cpl", "grid", f"r{plan.nx}x{plan.ny}", "-o", "air.nc")
    call(folder, env, "cpl", "grid", f"cs{plan.cube}", "-o", "sea.nc")
    world.complete_sea(folder / "sea.nc")
    said = make_weights(folder, env, plan.damage)
    names = ("nx", "ny", "days", "steps_a_day")
    settings = "\n".join(f"    {name} = {getattr(plan, name)}" for name in names)
    (folder / "climate.nml").write_text(f"&climate\n{settings}\n/\n")
    (folder / "coupling.conf").write_text(conf(plan))
    (folder / "climate.toml").write_text(job(plan))
    (folder / "plan.json").write_text(json.dumps(dataclasses.asdict(plan)))
    return said
