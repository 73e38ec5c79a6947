# SPDX-License-Identifier: BSD-3-Clause
"""What a run has left, and whether it is as it must be."""

import json

import numpy as np
from tsunami.selfcheck import Check

from flow import prepare

# Schaefer and Turek 1996, test case 2D-2: the same channel, cylinder and Reynolds number.
STROUHAL, DRAG = 0.30, 3.23  # the drag at its largest


def table(path):
    return np.atleast_1d(np.genfromtxt(path, delimiter=",", names=True))


def crossings(time, values):
    """When the values go up through their mean."""
    v = values - values.mean()
    k = np.flatnonzero((v[:-1] < 0) & (v[1:] >= 0))
    return time[k] - v[k] * (time[k + 1] - time[k]) / (v[k + 1] - v[k])


def period(time, values):
    """Mean time between two vortices of one side; nan if there are not two."""
    up = crossings(time, values)
    return float((up[-1] - up[0]) / (len(up) - 1)) if len(up) > 1 else float("nan")


class Results:
    def __init__(self, folder):
        self.folder = folder
        self.plan = prepare.read_plan(folder)
        self.solver = table(folder / "solver.csv")
        self.times = self._json("solver.json")
        self.render, self.statistics = self._json("render.json"), self._json("statistics.json")
        self.probe = table(folder / "probe.csv")
        parts = [np.load(folder / f"statistics.{r}.npz") for r in range(self.plan.statistics)]
        self.mean, self.rms = (
            np.concatenate([part[name] for part in parts], axis=2) for name in ("mean", "rms")
        )
        self.body = np.load(folder / "render.npz")["body"]

    def _json(self, name):
        return json.loads((self.folder / name).read_text())

    @property
    def late(self):
        """The last third of the solver's record, in which the flow has developed."""
        return self.solver[len(self.solver) * 2 // 3 :]

    def coefficient(self, force):
        plan = self.plan
        return 2 * force / (plan.speed**2 * plan.diameter * plan.nz)

    def strouhal(self, time, values):
        return self.plan.diameter / (self.plan.speed * period(time, values))

    def mass_error(self):
        s = self.solver
        made = s["mass"] - s["mass"][0] - (s["entered"] - s["entered"][0])
        return float((np.abs(made) / s["mass"]).max())

    def gap(self):
        """(step before the probe died, steps that nobody measured, seconds without a probe)."""
        steps, clock = self.probe["step"], self.probe["clock"]
        k = int(np.argmax(steps >= self.plan.killed * self.plan.handed_on))
        if k + 1 >= len(steps):
            return int(steps[k]), -1, float("nan")
        return int(steps[k]), int(steps[k + 1] - steps[k] - 1), float(clock[k + 1] - clock[k])

    def lost(self):
        """Part of its time that the solver spent in calls of the stream."""
        return self.times["staging"] / self.times["seconds"]

    def lift_error(self):
        """Of what the probes got, against the solver's record."""
        mine = dict(zip(self.solver["step"], self.solver["lift"]))
        scale = np.abs(self.solver["lift"]).max()
        return float(max(abs(mine[p["time"]] - p["lift"]) for p in self.probe) / scale)

    def checks(self):
        found = [
            Check("mass that came from nowhere, relative", self.mass_error(), 1e-10),
            Check(
                "sum of squared velocities, readers against solver", self.statistics["worst"], 1e-9
            ),
            Check("lift, probes against solver", self.lift_error(), 1e-7),
            Check("seconds without a probe after its death", self.gap()[2], 10),
            Check("longest time that handing on one step took (s)", self.times["longest"], 2),
            Check("part of the solver's time for handing on", self.lost(), 0.25),
        ]
        if self.plan.physics:
            late = self.late
            mine = self.strouhal(late["step"], late["lift"])
            theirs = self.strouhal(
                self.probe["time"][-len(late) :], self.probe["velocity"][-len(late) :]
            )
            drag = float(self.coefficient(late["drag"]).mean())
            found += [
                Check(
                    "Strouhal number, against 0.30 of the benchmark", abs(mine / STROUHAL - 1), 0.08
                ),
                Check("Strouhal number, probes against solver", abs(theirs / mine - 1), 0.03),
                Check("drag, against 3.23 of the benchmark", abs(drag / DRAG - 1), 0.15),
            ]
        return found
