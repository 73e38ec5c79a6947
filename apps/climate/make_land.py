#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes climate/land.txt anew: which cells of one degree are land.

    make_land.py SHAPEFILE >climate/land.txt

SHAPEFILE (.shp) has the land of Natural Earth at 1:110 million (naturalearthdata.com), which is in
the public domain. The package geopandas 0.14.4 on PyPI has a copy, as polygons of countries:

    pip download --no-deps geopandas==0.14.4 && unzip geopandas-0.14.4-*.whl '*naturalearth_lowres*'

A cell is land if its middle is inside of a polygon. A line holds a row of 360 cells, from the
south; runs of land in it are FIRST+COUNT, FIRST counted from 0 at 180 degrees west."""

import pathlib
import struct
import sys

import numpy as np
from matplotlib.path import Path


def rings(shape):
    """All rings of all polygons of a shapefile: arrays (point, 2) of longitude and latitude."""
    at = 100  # bytes of the file's header
    while at < len(shape):
        (words,) = struct.unpack_from(">i", shape, at + 4)
        kind, parts, points = struct.unpack_from("<i32xii", shape, at + 8)
        if kind != 5:
            sys.exit(f"make_land: a shape of type {kind}, not 5 (polygon)")
        first = struct.unpack_from(f"<{parts}i", shape, at + 52)
        xy = np.frombuffer(shape, "<f8", 2 * points, at + 52 + 4 * parts).reshape(-1, 2)
        yield from np.split(xy, first[1:])
        at += 8 + 2 * words


def land(shape):
    """True for land, [row from the south, column from 180 degrees west]."""
    lon, lat = np.meshgrid(np.arange(-179.5, 180), np.arange(-89.5, 90))
    middles = np.column_stack([lon.ravel(), lat.ravel()])
    inside = np.zeros(len(middles), bool)
    for ring in rings(shape):  # a hole is a ring inside of another: it turns land into sea again
        low, high = ring.min(0), ring.max(0)
        near = np.flatnonzero(((middles >= low) & (middles <= high)).all(1))
        inside[near] ^= Path(ring).contains_points(middles[near])
    return inside.reshape(180, 360)


def runs(row):
    edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(int), [0]])))
    return " ".join(f"{a}+{b - a}" for a, b in zip(edges[::2], edges[1::2]))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    mask = land(pathlib.Path(sys.argv[1]).read_bytes())
    print(
        "# Land in cells of one degree, from Natural Earth (public domain); make_land.py has more."
    )
    for row in mask:
        print(runs(row))


if __name__ == "__main__":
    main()
