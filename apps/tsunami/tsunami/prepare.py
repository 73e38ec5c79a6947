# SPDX-License-Identifier: BSD-3-Clause
"""Everything that the programs read: grids, stations, sources, settings. A run lies in a folder of
its own; the recording of the true event, made once, in a folder that its settings name."""

import dataclasses
import hashlib
import json
import os
import random
import shutil

import numpy as np

from tsunami import files, world


@dataclasses.dataclass(frozen=True)
class Plan:
    """How large a demonstration is. Times in seconds; refine: parts of the data's 2.4 km cells."""

    refine: int = 3  # the simulation that is corrected
    refine_truth: int = 4  # the recording comes from another grid than the simulation it corrects
    spacing: float = 20.0  # km between sensors
    duration: float = 10800.0
    cycle: float = 60.0  # between analyses
    sample: float = 15.0  # between samples of a sensor
    map_every: float = 300.0
    scenarios: int = 16
    lead: int = 30  # cycles that the forecast looks ahead
    speed: float = 400.0  # seconds of the event in a second of the demonstration
    noise: float = 0.02  # m, of a sensor
    lost: float = 0.05  # part of the samples that never arrive
    assimilate: bool = True
    seed: int = 11

    @property
    def cycles(self):
        return round(self.duration / self.cycle)

    def recording_name(self):
        """Recordings of unlike plans do not mix."""
        used = (self.refine_truth, self.spacing, self.duration, self.sample, self.map_every)
        text = repr((used, world.HIDDEN, world.TOWNS, 1))
        return "recording-" + hashlib.sha256(text.encode()).hexdigest()[:8]


SMALL = Plan(
    refine=2, refine_truth=3, duration=7200.0, scenarios=8, lead=20, speed=1200.0, map_every=600.0
)


def stations(grid, plan):
    """Cells of sensors, and of towns."""
    sensors = [world.nearest_cell(grid, *p) for p in world.sensor_places(grid, plan.spacing)]
    towns = [world.nearest_cell(grid, *p) for p in world.TOWNS.values()]
    return [(int(j), int(i)) for j, i in sensors], [(int(j), int(i)) for j, i in towns]


def prepare_recording(folder, plan):
    """Inputs of the run that makes the true event; returns the name of its settings."""
    folder.mkdir(parents=True, exist_ok=True)
    grid = world.make_grid(plan.refine_truth)
    grid.save(folder / "grid.bin")
    world.HIDDEN.surface(grid).astype("f8").tofile(folder / "source.bin")
    sensors, towns = stations(grid, plan)
    files.write_cells(folder / "stations.txt", sensors + towns)
    files.write_settings(
        folder / "ocean.nml",
        grid="grid.bin",
        source="source.bin",
        stations="stations.txt",
        output="truth",
        duration=plan.duration,
        cycle=plan.sample,
        map_every=plan.map_every,
    )
    return "ocean.nml"


def link(source, target):
    """A second name for a file, or a copy where that cannot be."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def prepare_run(folder, plan, recording, mpi):
    """Inputs of the free run (free.nml) and of the three blocks (ocean.nml, event.json)."""
    folder.mkdir(parents=True, exist_ok=True)
    grid = world.make_grid(plan.refine)
    grid.save(folder / "grid.bin")
    world.REPORTED.surface(grid).astype("f8").tofile(folder / "reported.bin")
    dice = random.Random(plan.seed)
    for k in range(plan.scenarios):
        quake = world.made_up_quake(dice)
        quake.surface(grid).astype("f8").tofile(folder / f"scenario{k + 1:02}.bin")
    sensors, towns = stations(grid, plan)
    files.write_cells(folder / "stations.txt", sensors + towns)
    common = {
        "grid": "grid.bin",
        "source": "reported.bin",
        "stations": "stations.txt",
        "duration": plan.duration,
        "cycle": plan.cycle,
        "map_every": plan.map_every,
    }
    files.write_settings(folder / "free.nml", output="free", **common)
    files.write_settings(
        folder / "ocean.nml",
        output="event",
        trace="trace.ocean",
        coupled=True,
        scenario="scenario",
        scenarios=plan.scenarios,
        **common,
    )
    for name in ("truth.series", "truth.maps"):  # so that the folder is all that a block needs
        link(recording / name, folder / name)
    config = {
        "grid": "grid.bin",
        "recording": "truth",
        "sensors": len(sensors),
        "cells": sensors + towns,
        "cycles": plan.cycles,
        "cycle": plan.cycle,
        "scenarios": plan.scenarios,
        "lead": plan.lead,
        "speed": plan.speed,
        "noise": plan.noise,
        "learning_noise": plan.noise / 2,
        "lost": plan.lost,
        "seed": plan.seed,
        "failures": [[3, 1200, 3600], [10, 2400, 9000]],
        "assimilate": plan.assimilate,
        "mpi": mpi,
        "interpolation": {},
        "learner": {},
    }
    (folder / "event.json").write_text(json.dumps(config, indent=1, default=np.ndarray.tolist))
    return config
