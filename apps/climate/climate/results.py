# SPDX-License-Identifier: BSD-3-Clause
"""What a run has left, and whether it is as it must be."""

import json

import netCDF4
import numpy as np
from tsunami.selfcheck import Check

from climate import prepare, world


def table(path):
    return np.genfromtxt(path, delimiter=",", names=True)


class Results:
    def __init__(self, folder):
        self.folder = folder
        self.plan = prepare.Plan(**json.loads((folder / "plan.json").read_text()))
        self.atmos, self.ocean = table(folder / "atmos.csv"), table(folder / "ocean.csv")
        self.air, self.sea = world.Grid(folder / "air.nc"), world.Grid(folder / "sea.nc")
        self.air_area, self.sea_area = world.areas(folder / "air_sea.nc")
        self.learned = table(folder / "learn.csv") if self.plan.learn else None

    def field(self, who, name):
        """(month, cell), masked where there is no value."""
        with netCDF4.Dataset(self.folder / f"{who}.nc") as file:
            return file[name][:].reshape(file[name].shape[0], -1)

    def times(self):
        """(process, seconds, of these in the coupler) of all processes."""
        found = []
        for name in ("atmos", "ocean", "learn", "output"):
            for path in sorted(self.folder.glob(f"time.{name}.*")):
                seconds, waited = map(float, path.read_text().split())
                found.append((f"{name} {path.suffix[1:]}", seconds, waited))
        return found

    def energy(self):
        """J/m2 of the globe since the start: what each store gained, the heat that is on its way
        to the ocean, what came from space, and what of this is in no store."""
        gain = {
            "air": self.atmos["air_J_m2"] - self.atmos["air_J_m2"][0],
            "land": self.atmos["land_J_m2"] - self.atmos["land_J_m2"][0],
            "sea": self.ocean["sea_J_m2"] - self.ocean["sea_J_m2"][0],
            "on its way": self.atmos["given_J_m2"] - self.ocean["received_J_m2"],
        }
        space = self.atmos["space_J_m2"]
        return gain, space, sum(gain.values()) - space

    def written_error(self):
        """The ocean's monthly heat in the file against its own daily sums, relative."""
        heat = self.field("ocean", "heat_in").filled(0)
        written = heat @ self.sea_area / (4 * np.pi)
        daily = self.ocean["got_W_m2"][1:].reshape(-1, self.plan.month).mean(1)
        return float(np.abs(written - daily).max() / self.ocean["exchanged_W_m2"].mean())

    def checks(self):
        exchanged = 86400 * self.ocean["exchanged_W_m2"].sum()
        _, _, left = self.energy()
        found = [
            Check("heat given and got, largest difference of a day", self.worst(), 1e-12),
            Check("energy that is in no store", float(np.abs(left).max() / exchanged), 1e-12),
        ]
        if self.plan.output:
            found.append(Check("heat in the file and in the ocean", self.written_error(), 1e-12))
        if self.plan.learn:
            last = self.learned[len(self.learned) // 2 :]
            ratio = last["network"].mean() / last["linear"].mean()
            found.append(Check("error of the network / of a linear law", float(ratio), 0.8))
        return found

    def worst(self):
        return float(self.ocean["error"].max())
