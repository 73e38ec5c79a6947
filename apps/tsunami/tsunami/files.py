# SPDX-License-Identifier: BSD-3-Clause
"""The files that the programs leave for each other; ocean/grid.f90 and ocean/record.f90 describe
them too."""

import dataclasses
import pathlib

import numpy as np


@dataclasses.dataclass
class Grid:
    """Cells of equal size in degrees. depth[j, i] in metres, row 0 in the south; 0 on land."""

    west: float
    south: float
    dlon: float
    dlat: float
    depth: np.ndarray

    @property
    def shape(self):
        return self.depth.shape

    @property
    def wet(self):
        return self.depth > 0

    @property
    def lon(self):
        return self.west + self.dlon * (np.arange(self.shape[1]) + 0.5)

    @property
    def lat(self):
        return self.south + self.dlat * (np.arange(self.shape[0]) + 0.5)

    @property
    def kilometres(self):
        """(x, y) of all cells from the south-west corner, on a plane that touches the sphere in
        the middle: good to a part in a hundred over two degrees."""
        middle = np.radians(self.south + self.dlat * self.shape[0] / 2)
        degree = np.pi / 180 * 6371.0
        x = (self.lon - self.west) * degree * np.cos(middle)
        y = (self.lat - self.south) * degree
        return np.meshgrid(x, y)

    def save(self, path):
        with open(path, "wb") as out:
            np.array(self.shape[::-1], "i4").tofile(out)
            np.array([self.west, self.south, self.dlon, self.dlat], "f8").tofile(out)
            np.asarray(self.depth, "f8").tofile(out)

    @classmethod
    def load(cls, path):
        with open(path, "rb") as file:
            nx, ny = np.fromfile(file, "i4", 2)
            place = np.fromfile(file, "f8", 4)
            depth = np.fromfile(file, "f8", nx * ny).reshape(ny, nx)
        return cls(*place, depth)


def load_series(path):
    """Times and heights[sample, station] that the ocean recorded."""
    with open(f"{path}.series", "rb") as file:
        stations, samples = np.fromfile(file, "i4", 2)
        data = np.fromfile(file, "f8")
    data = data[: samples * (stations + 1)].reshape(-1, stations + 1)
    return data[:, 0], data[:, 1:]


def load_maps(path):
    """Times and heights[map, j, i] that the ocean recorded."""
    with open(f"{path}.maps", "rb") as file:
        nx, ny, maps = np.fromfile(file, "i4", 3)
        kind = np.dtype([("time", "f8"), ("height", "f4", (ny, nx))])
        data = np.fromfile(file, kind, maps)
    return data["time"], data["height"]


def write_settings(path, **settings):
    """A namelist for the ocean."""

    def text(value):
        if isinstance(value, bool):
            return ".true." if value else ".false."
        return f"'{value}'" if isinstance(value, (str, pathlib.Path)) else repr(value)

    lines = [f"    {name} = {text(value)}" for name, value in settings.items()]
    pathlib.Path(path).write_text("\n".join(["&ocean", *lines, "/", ""]))


def write_cells(path, cells):
    """Stations for the ocean, from (j, i) counted from 0."""
    lines = [f"{len(cells)}"] + [f"{i + 1} {j + 1}" for j, i in cells]
    pathlib.Path(path).write_text("\n".join(lines) + "\n")
