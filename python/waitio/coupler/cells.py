# SPDX-License-Identifier: BSD-3-Clause
"""Where the points of a grid are: cells, from which the coupler makes weights.

A process gives those of its own points, in the order of the grid's indices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from waitio.coupler.errors import DtypeError, FieldError, ShapeError

UNITS = ("degrees", "radians", "plane")


class Cells(NamedTuple):
    """Arrays of this process's points; corners have the shape (point, corner)."""

    lon: np.ndarray
    lat: np.ndarray
    corner_lon: np.ndarray | None = None
    corner_lat: np.ndarray | None = None
    mask: np.ndarray | None = None
    fraction: np.ndarray | None = None
    area: np.ndarray | None = None
    nx: int = 0
    ny: int = 0
    periodic: bool = False
    fold: bool = False
    unit: str = "degrees"


def _reals(given: Any, what: str) -> np.ndarray:
    array = np.asarray(given)
    if array.dtype.kind not in "fiu":
        raise DtypeError(f"{what}: numbers, not {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.float64)


def _corners(what: str, lon: Any, lat: Any, n: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    if (lon is None) != (lat is None):
        raise FieldError(f"{what}: corner_lon and corner_lat come together")
    if lon is None:
        return None, None
    x, y = _reals(lon, f"{what}: corner_lon"), _reals(lat, f"{what}: corner_lat")
    if x.ndim != 2 or x.shape[0] != n or x.shape != y.shape:
        raise ShapeError(
            f"{what}: corners have the shape (point, corner), here ({n}, ...), the same for both; "
            f"not {x.shape} and {y.shape}"
        )
    return x, y


def of_points(
    what: str,
    points: int,
    lon: Any,
    lat: Any,
    *,
    corner_lon: Any = None,
    corner_lat: Any = None,
    mask: Any = None,
    fraction: Any = None,
    area: Any = None,
    shape: tuple[int, int] | None = None,
    periodic: bool = False,
    fold: bool = False,
    unit: str = "degrees",
) -> Cells:
    """Check the arrays of a process's points; `what` is the grid, for errors."""
    if unit not in UNITS:
        raise FieldError(f"{what}: unit {unit!r} is none of {', '.join(UNITS)}")
    given = {"lon": lon, "lat": lat, "fraction": fraction, "area": area}
    reals = {k: _reals(v, f"{what}: {k}").reshape(-1) for k, v in given.items() if v is not None}
    if mask is not None:
        reals["mask"] = np.ascontiguousarray(np.asarray(mask).reshape(-1) != 0, dtype=np.int32)
    for name, array in reals.items():
        if array.size != points:
            raise ShapeError(
                f"{what}: {name} has {array.size} values, this process {points} points"
            )
    x, y = _corners(what, corner_lon, corner_lat, points)
    rows = (0, 0) if shape is None else tuple(int(length) for length in shape)
    if len(rows) != 2:
        raise ShapeError(f"{what}: shape is that of the whole grid, (ny, nx); not {shape}")
    ny, nx = rows
    return Cells(
        reals["lon"],
        reals["lat"],
        x,
        y,
        reals.get("mask"),
        reals.get("fraction"),
        reals.get("area"),
        nx,
        ny,
        periodic,
        fold,
        unit,
    )


def needs_corners(method: str, source: bool) -> str | None:
    """Return which of the methods needs corners of the source or target grid; None: none."""
    for one in method.split(" ")[0].split(","):
        if one in ("conservative", "conservative2") or (one == "barycentric" and source):
            return one
    return None


# ---- of a whole grid ----------------------------------------------------------------------------


def _edges(bounds: np.ndarray, n: int, what: str) -> np.ndarray:
    """Return lower and upper bound of each of `n` values: (n, 2)."""
    if bounds.shape == (n + 1,):
        return np.stack([bounds[:-1], bounds[1:]], axis=1)
    if bounds.shape == (n, 2):
        return bounds
    raise ShapeError(
        f"{what} has shape {bounds.shape}: for {n} values ({n + 1},), edge after edge, or ({n}, 2)"
    )


def _around(bounds: np.ndarray, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Return the corners of each cell: (*shape, corners)."""
    if len(shape) == 2 and bounds.shape == (shape[0] + 1, shape[1] + 1):
        low, high = bounds[:-1], bounds[1:]
        return np.stack([low[:, :-1], low[:, 1:], high[:, 1:], high[:, :-1]], axis=-1)
    if bounds.shape[:-1] == shape and bounds.shape[-1] >= 3:
        return bounds
    raise ShapeError(
        f"{what} has shape {bounds.shape}: for a grid of shape {shape} that with three or more "
        "corners behind it, or for two dimensions one more vertex in each"
    )


def closes(lon: np.ndarray, bounds: Any, unit: str = "degrees") -> bool:
    """Tell whether longitudes, of one row, go once around the globe.

    Whole turns do not count: 359 and -1 are one longitude. With bounds the last cell has to end
    where the first begins; without, the step between the two must be as the others are.
    """
    if lon.size < 3:
        return False
    turn = 360.0 if unit == "degrees" else 2 * np.pi
    x = np.asarray(lon, dtype=np.float64)
    steps = _short_way(np.diff(x, append=x[:1]), turn)  # the last one goes over the seam
    one_way = bool((steps > 0).all() or (steps < 0).all())
    if not one_way or abs(abs(float(steps.sum())) - turn) > turn / 2:
        return False
    if bounds is None:
        others, gap = np.abs(steps[:-1]), abs(float(steps[-1]))
        return bool(0.99 * others.min() <= gap <= 1.01 * others.max())
    edges = _edges(_reals(bounds, "lon_bounds"), lon.size, "lon_bounds")
    width = np.abs(_short_way(edges[:, 1] - edges[:, 0], turn)).min()
    # The lower bound comes first, whichever way the longitudes run.
    gap = float(np.abs(_short_way(edges[0] - edges[-1, ::-1], turn)).min())
    return bool(gap <= 1e-3 * width + 2 * turn * _rounding(bounds))


def _rounding(given: Any) -> float:
    """Return how exact the numbers are: those of single precision have gaps of 3e-5 at 360."""
    dtype = np.asarray(given).dtype
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0


def _short_way(difference: Any, turn: float) -> Any:
    """Return differences of longitudes without whole turns: above -turn/2, up to turn/2."""
    return turn / 2 - np.mod(turn / 2 - difference, turn)


def corners_of(
    lon_bounds: Any,
    lat_bounds: Any,
    sizes: tuple[int, ...],
    take: tuple[Any, ...],
    lon_dim: int | None,
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the corners of this process's elements of a whole grid: (*part, corners).

    lon_dim: the dimension of the longitudes of a rectilinear grid; None: each element has its own.
    """
    if (lon_bounds is None) != (lat_bounds is None):
        raise FieldError("lon_bounds and lat_bounds come together")
    if lon_bounds is None:
        return None, None
    lons, lats = _reals(lon_bounds, "lon_bounds"), _reals(lat_bounds, "lat_bounds")
    if lon_dim is None:
        x, y = _around(lons, sizes, "lon_bounds"), _around(lats, sizes, "lat_bounds")
        if x.shape != y.shape:
            raise ShapeError(f"lon_bounds has shape {x.shape}, lat_bounds {y.shape}")
        return x[take], y[take]
    lat_dim = 1 - lon_dim
    x = _edges(lons, sizes[lon_dim], "lon_bounds")[take[lon_dim]][:, [0, 1, 1, 0]]
    y = _edges(lats, sizes[lat_dim], "lat_bounds")[take[lat_dim]][:, [0, 0, 1, 1]]
    both = (len(y), len(x), 4) if lon_dim == 1 else (len(x), len(y), 4)
    wide, high = (x[None], y[:, None]) if lon_dim == 1 else (x[:, None], y[None])
    return np.broadcast_to(wide, both), np.broadcast_to(high, both)
