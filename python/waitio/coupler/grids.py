# SPDX-License-Identifier: BSD-3-Clause
"""Grids: which points of a component this process has, and where they are.

A grid is a set of global indices. They are given, or made of coordinates: the points of the whole
grid are numbered from 1, the last dimension fastest, and each process takes its part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union

import numpy as np

from waitio.coupler import cells, cf
from waitio.coupler.errors import DimensionError, DtypeError, FieldError, ShapeError

Part = Union[None, slice, Sequence[Any], Mapping[str, Any], np.ndarray]
LARGEST = 2**31 - 1


class Whole(NamedTuple):
    """What is known of where the points of a whole grid are."""

    sizes: tuple[int, ...]
    row: int | None
    """Rectilinear: the dimension along which longitudes are; None: each point has its own."""
    lon_bounds: np.ndarray | None
    lat_bounds: np.ndarray | None
    periodic: bool
    """The last dimension goes once around the globe."""
    unit: str = "degrees"


class Grid:
    """The points of a grid that this process has.

    Made by `Coupler.grid`. A field on it has the shape `shape`, with layers one dimension more
    before it.
    """

    def __init__(
        self,
        name: str,
        index: np.ndarray,
        *,
        dims: tuple[str, ...] | None = None,
        coords: Mapping[str, Any] | None = None,
        lon: np.ndarray | None = None,
        lat: np.ndarray | None = None,
        mask: np.ndarray | None = None,
    ) -> None:
        self.name = name
        """Its name in the configuration."""
        self.shape: tuple[int, ...] = index.shape
        """Shape of a field without layers, in this process."""
        self.mask = None if mask is None or bool(mask.all()) else mask
        """Which elements of `shape` are points of the grid; None: all."""
        points = index if self.mask is None else index[self.mask]
        self.index: np.ndarray = np.ascontiguousarray(points.reshape(-1), dtype=np.int32)
        """Global indices of the points, in the order in which fields travel."""
        self.dims = dims
        """Names of the dimensions, when it was made of an object of xarray."""
        self.coords: Mapping[str, Any] = coords or {}
        """Coordinates of this process's part, as xarray has them."""
        self.lon, self.lat = lon, lat
        """Longitude and latitude of each element of `shape`, in the units of the coordinates
        (`cells.unit`); None when only indices are known."""
        self.cells: cells.Cells | None = None
        """Where the points are, for weights that the coupler makes; None: it is not known."""
        self.lacks: str | None = None
        """Why the cells have no corners, where the coordinates name bounds that do not fit."""

    def place(self, whole: Whole, take: tuple[Any, ...]) -> Grid:
        """Make the cells of this process's points, of what is known of the whole grid."""
        x, y = cells.corners_of(whole.lon_bounds, whole.lat_bounds, whole.sizes, take, whole.row)
        there = slice(None) if self.mask is None else self.mask
        logical = len(whole.sizes) == 2
        assert self.lon is not None and self.lat is not None
        self.cells = cells.of_points(
            f"grid '{self.name}'",
            self.points,
            self.lon[there],
            self.lat[there],
            corner_lon=None if x is None else x[there].reshape(-1, x.shape[-1]),
            corner_lat=None if y is None else y[there].reshape(-1, y.shape[-1]),
            shape=(whole.sizes[0], whole.sizes[1]) if logical else None,
            periodic=whole.periodic and logical,
            unit=whole.unit,
        )
        return self

    @property
    def points(self) -> int:
        """How many points of the grid this process has."""
        return int(self.index.size)

    def __repr__(self) -> str:
        words = f"{self.points} points" + (f" in {self.shape}" if len(self.shape) != 1 else "")
        return f"<Grid '{self.name}': {words} here>"


def _integers(given: Any, what: str) -> np.ndarray:
    array = np.asarray(given)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise DtypeError(f"{what}: indices are integers, not {array.dtype}")
    if int(array.min()) < 1 or int(array.max()) > LARGEST:
        raise FieldError(
            f"{what}: indices are 1 .. {LARGEST}, found {int(array.min())} .. {int(array.max())}"
        )
    return array


def rows_of(n: int, rank: int, size: int) -> slice:
    """Return an even share of `n` rows: the first processes have one more."""
    low, more = divmod(n, size)
    start = rank * low + min(rank, more)
    return slice(start, start + low + (rank < more))


def _selection(
    part: Part, shape: tuple[int, ...], dims: tuple[str, ...] | None, place: tuple[int, int]
) -> tuple[Any, ...]:
    """Return what this process takes of each dimension of the whole grid."""
    if part is None:
        return (rows_of(shape[0], *place),) + (slice(None),) * (len(shape) - 1)
    if isinstance(part, Mapping):
        unknown = [name for name in part if name not in (dims or ())]
        if unknown:
            raise DimensionError(f"part: no dimension {unknown[0]!r}; there are {dims or 'none'}")
        parts = tuple(part.get(name, slice(None)) for name in dims or ())
    else:
        parts = tuple(part) if isinstance(part, tuple) else (part,)
        if len(parts) > len(shape):
            raise ShapeError(f"part has {len(parts)} dimensions, the grid {len(shape)}")
        parts += (slice(None),) * (len(shape) - len(parts))
    return tuple(
        one if isinstance(one, slice) else _positions(one, parts, n) for one, n in zip(parts, shape)
    )


def _positions(one: Any, parts: tuple[Any, ...], n: int) -> np.ndarray:
    """Return the positions that a part takes of a dimension with `n`."""
    given = np.asarray(one)
    if given.ndim != 1 or sum(not isinstance(other, slice) for other in parts) > 1:
        raise ShapeError(
            "part: a slice for each dimension, e.g. np.s_[0:45, :]; for one of them it may be an "
            f"array of positions; not {one!r}"
        )
    if given.dtype.kind == "b" and given.size == n:
        return np.flatnonzero(given)
    if given.size == 0:
        return given.astype(np.int64)
    if given.dtype.kind not in "iu":
        raise ShapeError(f"part: positions are integers, or {n} booleans; not {one!r}")
    if given.min() < -n or given.max() >= n:
        raise ShapeError(f"part: positions 0 .. {n - 1}, found {given.min()} .. {given.max()}")
    return given


def _numbers(shape: tuple[int, ...]) -> np.ndarray:
    total = int(np.prod(shape, dtype=np.int64))
    if total > LARGEST:
        raise FieldError(f"a grid of {total} points has more than {LARGEST} indices")
    return np.arange(1, total + 1, dtype=np.int64).reshape(shape)


def _coordinate(given: Any, what: str) -> np.ndarray:
    array = np.asarray(given)
    if array.dtype.kind not in "fiu":
        raise DtypeError(f"{what}: numbers, not {array.dtype}")
    if np.isnan(array).any():
        raise FieldError(f"{what} has NaN; leave points out by mask=")
    return array


def _kind(lon: np.ndarray, lat: np.ndarray, kind: str | None) -> str:
    if lon.ndim == lat.ndim == 2 and kind in (None, "curvilinear"):
        found = "curvilinear"
    elif lon.ndim == lat.ndim == 1 and kind in (None, "rectilinear", "unstructured"):
        found = kind or ""
        if not kind and lon.size == lat.size:
            raise FieldError(
                f"lon and lat have {lon.size} values each: say kind='rectilinear' (every lon with "
                "every lat) or kind='unstructured' (one point each)"
            )
        found = found or "rectilinear"
    else:
        raise ShapeError(
            f"lon of shape {lon.shape} and lat of shape {lat.shape} make no grid"
            + (f" of kind {kind!r}" if kind else "")
            + ": one dimension each (rectilinear, unstructured) or two each (curvilinear)"
        )
    if found != "rectilinear" and lon.shape != lat.shape:
        raise ShapeError(f"{found}: lon has shape {lon.shape}, lat {lat.shape}")
    return found


def from_index(name: str, index: Any) -> Grid:
    """Make a grid of global indices, in the shape that fields have."""
    return Grid(name, _integers(index, f"grid '{name}'"))


def from_arrays(
    name: str,
    lon: Any,
    lat: Any,
    place: tuple[int, int],
    *,
    kind: str | None = None,
    part: Part = None,
    mask: Any = None,
    bounds: tuple[Any, Any] = (None, None),
    periodic: bool | None = None,
) -> Grid:
    """Make a grid of longitudes and latitudes of the whole grid.

    `place`: rank and size of the component, for the even share.
    """
    unit = cf.unit(lon, lat, bounds)
    lons, lats = _coordinate(lon, "lon"), _coordinate(lat, "lat")
    rectilinear = _kind(lons, lats, kind) == "rectilinear"
    if periodic is None:
        periodic = rectilinear and cells.closes(lons, bounds[0], unit)
    if rectilinear:
        lats, lons = np.meshgrid(lats, lons, indexing="ij")
    take = _selection(part, lons.shape, None, place)
    grid = Grid(
        name,
        _numbers(lons.shape)[take],
        lon=lons[take],
        lat=lats[take],
        mask=_mask(mask, lons.shape, take),
    )
    return grid.place(Whole(lons.shape, 1 if rectilinear else None, *bounds, periodic, unit), take)


def _mask(mask: Any, shape: tuple[int, ...], take: tuple[Any, ...]) -> np.ndarray | None:
    if mask is None:
        return None
    array = np.asarray(mask)
    if array.dtype.kind != "b":
        raise DtypeError(f"mask: True where the grid has a point, False else; not {array.dtype}")
    if array.shape != shape:
        raise ShapeError(f"mask has shape {array.shape}, the whole grid {shape}")
    here: np.ndarray = array[take]
    return here


# ---- xarray -------------------------------------------------------------------------------------


def is_xarray(thing: Any) -> bool:
    """Tell whether it is a DataArray or Dataset, without importing xarray."""
    return hasattr(thing, "coords") and hasattr(thing, "dims") and hasattr(thing, "isel")


def _dims(thing: Any, lon: Any, lat: Any) -> tuple[str, ...]:
    """Return the grid's dimensions in the order of the object."""
    own = set(lon.dims) | set(lat.dims)
    rectilinear = len(lon.dims) == len(lat.dims) == 1 and lon.dims != lat.dims
    if not rectilinear and tuple(lon.dims) != tuple(lat.dims):
        raise DimensionError(
            f"'{lon.name}' has dimensions {lon.dims}, '{lat.name}' {lat.dims}: they make no grid"
        )
    order = [str(d) for d in thing.dims if d in own]
    if hasattr(thing, "data_vars"):  # a Dataset's order means nothing
        order = [*map(str, lat.dims)] + [str(d) for d in lon.dims if d not in lat.dims]
    return tuple(order)


def _spread(one: Any, dims: tuple[str, ...], sizes: tuple[int, ...]) -> np.ndarray:
    """Return a coordinate of each point of the whole grid."""
    values = _coordinate(one.values, str(one.name))
    if one.ndim < len(dims):  # rectilinear: one of two
        ahead = one.dims[0] == dims[0]
        return np.broadcast_to(values[:, None] if ahead else values[None, :], sizes)
    return values if tuple(one.dims) == dims else values.T


def from_xarray(
    name: str,
    thing: Any,
    place: tuple[int, int],
    *,
    part: Part = None,
    mask: Any = None,
    bounds: tuple[Any, Any] = (None, None),
    periodic: bool | None = None,
) -> Grid:
    """Make a grid of the coordinates of a DataArray or Dataset that has the whole grid."""
    lon, lat = cf.find(thing, "lon"), cf.find(thing, "lat")
    dims = _dims(thing, lon, lat)
    sizes = tuple(int(thing.sizes[d]) for d in dims)
    take = _selection(part, sizes, dims, place)
    here = dict(zip(dims, take))
    if is_xarray(mask):
        missing = set(dims) ^ set(map(str, mask.dims))
        if missing:
            raise DimensionError(f"mask has dimensions {mask.dims}, the grid {dims}")
        mask = mask.transpose(*dims).values
    coords = {
        key: value.isel({d: here[d] for d in value.dims})
        for key, value in thing.coords.items()
        if value.ndim and set(value.dims) <= set(dims)
    }
    grid = Grid(
        name,
        _numbers(sizes)[take],
        dims=dims,
        coords=coords,
        lon=_spread(lon, dims, sizes)[take],
        lat=_spread(lat, dims, sizes)[take],
        mask=_mask(mask, sizes, take),
    )
    row = dims.index(str(lon.dims[0])) if lon.ndim < len(dims) else None
    x, y = bounds
    if x is None and y is None:
        x, y, grid.lacks = cf.bounds(thing, lon, lat, dims)
    unit = cf.unit(lon, lat, (x, y))
    if periodic is None:
        periodic = row == 1 and cells.closes(np.asarray(lon.values), x, unit)
    return grid.place(Whole(sizes, row, x, y, periodic, unit), take)
