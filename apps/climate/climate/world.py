# SPDX-License-Identifier: BSD-3-Clause
"""Sea and land on the grids. Cells are numbered from 0 here, from 1 in the coupler."""

import pathlib

import netCDF4
import numpy as np

LAND = pathlib.Path(__file__).with_name("land.txt")


def land_of_degrees():
    """True for land, [row from the south, column from 180 degrees west]; make_land.py made it."""
    lines = [x for x in LAND.read_text().splitlines() if not x.startswith("#")]
    land = np.zeros((180, 360), bool)
    for row, line in zip(land, lines):
        for run in line.split():
            first, count = map(int, run.split("+"))
            row[first : first + count] = True
    return land


def vectors(lon, lat):
    """Degrees become unit vectors."""
    lon, lat = np.radians(lon), np.radians(lat)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], -1)


def points_within(corners, n=4):
    """n x n points spread over each cell of four corners: (cell, point, 3)."""
    at = (np.arange(n) + 0.5) / n
    s, t = (x.ravel()[None, :, None] for x in np.meshgrid(at, at))
    a, b, c, d = (corners[:, k, None, :] for k in range(4))
    inside = (1 - t) * ((1 - s) * a + s * b) + t * ((1 - s) * d + s * c)
    return inside / np.linalg.norm(inside, axis=-1, keepdims=True)


def sea_of(corners):
    """True for cells of which land covers less than a half."""
    x, y, z = np.moveaxis(points_within(corners), -1, 0)
    row = np.clip((np.degrees(np.arcsin(z)) + 90).astype(int), 0, 179)
    column = (np.degrees(np.arctan2(y, x)) + 180).astype(int) % 360
    return land_of_degrees()[row, column].mean(1) < 0.5


def neighbours(corners):
    """The cell beyond each side of each cell: (cell, side)."""
    name = np.round(corners, 9) + 0.0  # no -0.0
    _, corner = np.unique(name.reshape(-1, 3), axis=0, return_inverse=True)
    corner = corner.reshape(corners.shape[:2])
    sides = np.stack([corner, np.roll(corner, -1, 1)], -1)
    sides.sort(-1)
    _, side = np.unique(sides.reshape(-1, 2), axis=0, return_inverse=True)
    order = np.argsort(side.ravel(), kind="stable")
    pairs = order.reshape(-1, 2)  # each side belongs to two cells
    beyond = np.empty(side.size, int)
    beyond[pairs[:, 0]], beyond[pairs[:, 1]] = pairs[:, 1] // 4, pairs[:, 0] // 4
    return beyond.reshape(-1, 4)


def angle(a, b):
    return 2 * np.arcsin(np.linalg.norm(a - b, axis=-1) / 2)


def links(corners, centres, beyond):
    """Length of each side / distance of the two middles; the same number seen from both cells."""
    length = angle(corners, np.roll(corners, -1, 1))
    distance = angle(centres[:, None], centres[beyond])
    cell = np.arange(len(beyond))[:, None]
    other = np.argmax(beyond[beyond] == cell[..., None], -1)  # the same side, seen from there
    return np.where(cell < beyond, length / distance, (length / distance)[beyond, other])


def complete_sea(path):
    """To a grid file of `waitio cpl grid` add where the sea is, and who is beside whom."""
    with netCDF4.Dataset(path, "a") as file:
        corners = vectors(file["grid_corner_lon"][:].data, file["grid_corner_lat"][:].data)
        centres = vectors(file["grid_center_lon"][:].data, file["grid_center_lat"][:].data)
        beyond = neighbours(corners)
        file["grid_imask"][:] = sea_of(corners)
        file.createDimension("sides", 4)
        for name, kind, values in (
            ("neighbour", "i4", beyond + 1),
            ("link", "f8", links(corners, centres, beyond)),
        ):
            file.createVariable(name, kind, ("grid_size", "sides"))[:] = values


class Grid:
    """A grid file: middles, corners (degrees), and which cells count."""

    def __init__(self, path):
        with netCDF4.Dataset(path) as file:
            self.lon, self.lat = (file[f"grid_center_{x}"][:].data for x in ("lon", "lat"))
            self.corner_lon = file["grid_corner_lon"][:].data
            self.corner_lat = file["grid_corner_lat"][:].data
            self.wet = file["grid_imask"][:].data != 0
            self.dims = tuple(int(n) for n in file["grid_dims"][:])


def weights(path):
    """Links of a weight file, numbered from 1 as the coupler does: source, target, weight."""
    with netCDF4.Dataset(path) as file:
        return (
            file["src_address"][:].data.astype("i4"),
            file["dst_address"][:].data.astype("i4"),
            file["remap_matrix"][:, 0].data.astype("f8"),
        )


def areas(path):
    """Areas of the cells of both grids of a weight file, on the unit sphere."""
    with netCDF4.Dataset(path) as file:
        return file["src_grid_area"][:].data, file["dst_grid_area"][:].data
