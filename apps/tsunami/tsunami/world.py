# SPDX-License-Identifier: BSD-3-Clause
"""The place: sea and land around Vancouver Island, from the sample data inside matplotlib; where
the sensors and the towns are that want a forecast; earthquakes, hidden and made up."""

import dataclasses
import math

import numpy as np

from tsunami.files import Grid

SHALLOWEST = 10.0  # metres; the data has 1 m for much of the coast, too slow for cells of this size

# Towns on the water. The first five get their waves while the demo runs.
TOWNS = {
    "Tofino": (-125.90, 49.14),
    "Bamfield": (-125.14, 48.83),
    "Port Renfrew": (-124.42, 48.55),
    "Neah Bay": (-124.60, 48.38),
    "Sooke": (-123.72, 48.35),
    "Port Angeles": (-123.43, 48.13),
    "Victoria": (-123.37, 48.41),
    "Port Townsend": (-122.75, 48.13),
}


@dataclasses.dataclass(frozen=True)
class Quake:
    """Uplift of the sea floor by a thrust fault, subsidence on the side of the land."""

    lon: float
    lat: float
    strike: float  # degrees from north, clockwise
    length: float  # km
    width: float  # km
    uplift: float  # m

    def surface(self, grid):
        """Height of the sea over it at once: the water follows the sea floor."""
        x, y = grid.kilometres
        cos = math.cos(math.radians(grid.south + grid.dlat * grid.shape[0] / 2))
        degree = math.pi / 180 * 6371.0
        x = x - (self.lon - grid.west) * degree * cos
        y = y - (self.lat - grid.south) * degree
        angle = math.radians(self.strike)
        along = x * math.sin(angle) + y * math.cos(angle)
        across = x * math.cos(angle) - y * math.sin(angle)
        bell = np.exp(-((along / (self.length / 2)) ** 2))
        up = np.exp(-((across / (self.width / 2)) ** 2))
        down = np.exp(-(((across - 0.9 * self.width) / (0.6 * self.width)) ** 2))
        return np.where(grid.wet, self.uplift * bell * (up - 0.35 * down), 0.0)


# What really happens; only the recording knows it.
HIDDEN = Quake(lon=-125.52, lat=48.40, strike=-35, length=60, width=26, uplift=2.0)
# What the first automatic report says: too small, and in a wrong place.
REPORTED = Quake(lon=-125.30, lat=48.72, strike=-35, length=45, width=24, uplift=0.9)


def made_up_quake(random):
    """An earthquake that might happen here, to learn from."""
    return Quake(
        lon=random.uniform(-125.85, -125.0),
        lat=random.uniform(48.15, 48.85),
        strike=random.uniform(-50, -20),
        length=random.uniform(30, 80),
        width=random.uniform(18, 34),
        uplift=random.choice([-1, 1]) * random.uniform(0.5, 2.0),
    )


def sample_data():
    """Longitudes (west negative), latitudes and heights (m) of matplotlib's topobathy.npz."""
    import matplotlib.cbook

    with matplotlib.cbook.get_sample_data("topobathy.npz") as data:
        lon, lat, topo = data["longitude"], data["latitude"], data["topo"]
    return np.asarray(lon, float) - 360.0, np.asarray(lat, float), np.asarray(topo, float)


def make_grid(refine):
    """The data's cells divided by `refine` in both directions. Coasts stay where they are, depths
    are interpolated; sea that has no connection with the Pacific becomes land."""
    lon, lat, topo = sample_data()
    wet = connected(topo < 0, start=(0, 0))
    depth = np.where(wet, np.maximum(-topo, SHALLOWEST), np.nan)
    filled = fill(depth)
    dlon, dlat = (lon[-1] - lon[0]) / (len(lon) - 1), (lat[-1] - lat[0]) / (len(lat) - 1)
    part = (np.arange(refine) + 0.5) / refine - 0.5
    rows = np.clip((np.arange(len(lat))[:, None] + part).ravel(), 0, len(lat) - 1)
    cols = np.clip((np.arange(len(lon))[:, None] + part).ravel(), 0, len(lon) - 1)
    fine = bilinear(filled, rows, cols)
    mask = np.kron(wet, np.ones((refine, refine), bool))
    return Grid(
        lon[0] - dlon / 2,
        lat[0] - dlat / 2,
        dlon / refine,
        dlat / refine,
        np.where(mask, np.maximum(fine, SHALLOWEST), 0.0),
    )


def bilinear(field, rows, cols):
    j, i = (
        np.minimum(rows.astype(int), field.shape[0] - 2),
        np.minimum(cols.astype(int), field.shape[1] - 2),
    )
    fj, fi = (rows - j)[:, None], (cols - i)[None, :]
    j, i = j[:, None], i[None, :]
    return (1 - fj) * ((1 - fi) * field[j, i] + fi * field[j, i + 1]) + fj * (
        (1 - fi) * field[j + 1, i] + fi * field[j + 1, i + 1]
    )


def neighbours(field, outside):
    """The field shifted by one cell in the four directions."""
    wide = np.pad(field, 1, constant_values=outside)
    return wide[:-2, 1:-1], wide[2:, 1:-1], wide[1:-1, :-2], wide[1:-1, 2:]


def connected(wet, start):
    """The part of the sea that can be reached from a cell."""
    found = np.zeros_like(wet)
    found[start] = True
    while True:
        more = wet & (found | np.logical_or.reduce(neighbours(found, False)))
        if (more == found).all():
            return found
        found = more


def fill(depth):
    """Values for land from the sea next to it, so that interpolation does not see the land."""
    depth = depth.copy()
    while np.isnan(depth).any():
        around = np.array(neighbours(depth, np.nan))
        known = (~np.isnan(around)).sum(0)
        mean = np.nansum(around, 0) / np.maximum(known, 1)
        depth = np.where(np.isnan(depth) & (known > 0), mean, depth)
    return depth


def nearest_cell(grid, lon, lat):
    """(j, i) of the wet cell next to a place."""
    cos = math.cos(math.radians(lat))
    away = ((grid.lon[None, :] - lon) * cos) ** 2 + (grid.lat[:, None] - lat) ** 2
    return np.unravel_index(np.argmin(np.where(grid.wet, away, np.inf)), grid.shape)


def sensor_places(grid, spacing=16.0):
    """Sea-floor pressure sensors: a lattice of this many km off the coast and in the mouth of the
    strait, where the water is at least 30 m deep, as (lon, lat)."""
    cos = math.cos(math.radians(grid.south + grid.dlat * grid.shape[0] / 2))
    dlat = spacing / 111.2
    dlon = dlat / cos
    places = []
    for row, lat in enumerate(np.arange(48.08, 49.2, dlat * math.sqrt(3) / 2)):
        for lon in np.arange(-125.93 + (row % 2) * dlon / 2, -124.3, dlon):
            j = int((lat - grid.south) / grid.dlat)
            i = int((lon - grid.west) / grid.dlon)
            if grid.depth[j, i] >= 30:
                places.append((round(float(lon), 3), round(float(lat), 3)))
    return places
