# SPDX-License-Identifier: BSD-3-Clause
"""Fields: what a program puts is checked and laid out as the coupler wants it, and back.

The coupler takes float64, [layer][point], without gaps. An array that is so already is not copied.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from waitio.coupler.errors import DimensionError, DtypeError, MissingValueError, ShapeError
from waitio.coupler.grids import Grid, is_xarray

FILL = 2147483647.0
"""Value of points that no entry of a table reaches, unless the configuration gives a variable a
`fill` of its own; as input, "does not count" in means."""


class Field(NamedTuple):
    """A variable of this component, as the configuration says."""

    name: str
    grid: Grid
    layers: int
    interval: int
    """Seconds between exchanges."""
    lag: int
    fill: float = FILL
    """What does not count; NaN where the receivers of a put have several fill values."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of its arrays here: of the grid, with layers one dimension more before it."""
        return self.grid.shape if self.layers == 1 else (self.layers, *self.grid.shape)

    def __str__(self) -> str:
        return f"'{self.name}' on grid '{self.grid.name}'"


# ---- arrays -------------------------------------------------------------------------------------


def _as_array(given: Any, field: Field) -> np.ndarray:
    """Return NumPy's view of anything: arrays, lists, tensors on the CPU."""
    if isinstance(given, np.ndarray):
        array: np.ndarray = given
    elif hasattr(given, "__dlpack_device__"):
        array = _from_dlpack(given, field)
    else:
        array = np.asarray(given)
    if isinstance(array, np.ma.MaskedArray):
        raise DtypeError(f"{field}: a masked array; put array.filled({field.fill:g})")
    if array.dtype.kind not in "fiu" or not np.can_cast(array.dtype, np.float64, "safe"):
        raise DtypeError(
            f"{field}: elements are {array.dtype}; float64, or what NumPy converts to it safely"
        )
    return array


def _from_dlpack(given: Any, field: Field) -> np.ndarray:
    kind = int(given.__dlpack_device__()[0])
    if kind not in (1, 3):  # the CPU, and its memory pinned for CUDA
        raise DtypeError(f"{field}: the tensor lies on a device; put tensor.cpu()")
    if getattr(given, "requires_grad", False):
        raise DtypeError(f"{field}: the tensor requires grad; put tensor.detach()")
    try:  # memory is shared by both; by __array__ it can be written to with any NumPy
        array: np.ndarray = (
            np.asarray(given) if hasattr(given, "__array__") else np.from_dlpack(given)
        )
    except (BufferError, RuntimeError, TypeError) as error:
        raise DtypeError(f"{field}: {error}") from None
    return array


def _wrong_shape(array: np.ndarray, field: Field) -> ShapeError:
    hint = ""
    if sorted(array.shape) == sorted(field.shape):
        hint = "; are its dimensions in another order? Layers come first"
    elif field.layers == 1 and array.shape[1:] == field.shape:
        hint = f"; the configuration has no layers for it, the array has {array.shape[0]}"
    elif field.layers > 1 and array.shape == field.grid.shape:
        hint = f"; the configuration says layer = {field.layers}"
    return ShapeError(f"{field} has the shape {field.shape} here, the array {array.shape}{hint}")


def outgoing(given: Any, field: Field, nan_is_fill: bool) -> np.ndarray:
    """Return what `given` holds as the coupler wants it: (layers, points) or (points,)."""
    if is_xarray(given):
        given = _laid_out(given, field)
    array = _as_array(given, field)
    flat = (field.grid.points,) if field.layers == 1 else (field.layers, field.grid.points)
    if array.shape == field.shape:
        if field.grid.mask is not None:
            array = array[..., field.grid.mask]
        array = array.reshape(flat)
    elif array.shape != flat:
        raise _wrong_shape(array, field)
    ready: np.ndarray = np.ascontiguousarray(array, dtype=np.float64)
    if nan_is_fill and np.isnan(ready).any():
        if np.isnan(field.fill):
            raise MissingValueError(
                f"{field}: NaN, and its receivers have different fill values in the configuration; "
                "give them one, or two variables"
            )
        ready = np.where(np.isnan(ready), field.fill, ready)
    return ready


# ---- xarray -------------------------------------------------------------------------------------


def _laid_out(given: Any, field: Field) -> Any:
    """Return the values of a DataArray, its dimensions in the order of the grid."""
    grid = field.grid
    if hasattr(given, "data_vars"):
        raise DtypeError(f"{field}: a Dataset; put one of its variables")
    if grid.dims is None:
        return given.values
    names = [str(d) for d in given.dims]
    lacks = [d for d in grid.dims if d not in names]
    more = [d for d in names if d not in grid.dims]
    if lacks or len(more) != (field.layers > 1):
        layers = ", and one of its layers" if field.layers > 1 else ""
        raise DimensionError(
            f"{field} has the dimensions {grid.dims}{layers}; the array has {tuple(names)}"
        )
    for name, own in grid.coords.items():
        if name in given.coords and not _same(given.coords[name], own):
            raise DimensionError(
                f"{field}: coordinate '{name}' of the array is not that of the grid here "
                "(another part, another order?)"
            )
    return given.transpose(*more, *grid.dims).values


def _same(given: Any, own: Any) -> bool:
    if given is own:
        return True
    if given.dims != own.dims or given.shape != own.shape:
        return False
    a, b = given.values, own.values
    if a is b:
        return True
    if a.dtype.kind in "fiu" and b.dtype.kind in "fiu":
        return bool(np.allclose(a, b, rtol=0, atol=1e-6, equal_nan=True))
    return bool((a == b).all())


def target(out: Any, field: Field) -> np.ndarray:
    """Return the memory of the caller's array, to be filled."""
    array = _as_array(out.values if is_xarray(out) else out, field)
    if array.shape != field.shape:
        raise _wrong_shape(array, field)
    if array.dtype != np.float64 or not array.flags.c_contiguous or not array.flags.writeable:
        raise DtypeError(f"{field}: out= needs float64 in C order that can be written to")
    if field.grid.mask is not None:
        raise ShapeError(f"{field}: out= is not possible on a grid with a mask")
    return array


def spread(points: np.ndarray, field: Field) -> np.ndarray:
    """Return points in the shape of the field; NaN where a masked grid has none."""
    if field.grid.mask is None:
        return points.reshape(field.shape)
    whole = np.full(field.shape, np.nan)
    whole[..., field.grid.mask] = points
    return whole


def labelled(values: np.ndarray, field: Field, time: Any, fresh: bool) -> Any:
    """Return a DataArray with the grid's coordinates and the time of the values."""
    import xarray  # type: ignore[import-not-found,unused-ignore]  # the grid was made of one of its objects

    grid = field.grid
    assert grid.dims is not None
    dims = grid.dims if field.layers == 1 else (layer_name(grid), *grid.dims)
    if isinstance(time, (np.datetime64, np.timedelta64)):  # what every xarray and pandas takes
        time = time.astype(f"{time.dtype.kind}8[ns]")
    coords = {**grid.coords, "time": time}
    attrs = {"fresh": fresh}
    return xarray.DataArray(values, dims=dims, coords=coords, name=field.name, attrs=attrs)


def layer_name(grid: Grid) -> str:
    """Return a name for the dimension of layers that the grid does not use."""
    return "layer" if "layer" not in (grid.dims or ()) else "layer_"


def model_time(start: Any, seconds: int) -> Any:
    """Return `start` plus seconds; without a start the seconds as a timedelta."""
    if start is None:
        return np.timedelta64(seconds, "s")
    if isinstance(start, np.datetime64):
        return start + np.timedelta64(seconds, "s")
    import datetime

    return start + datetime.timedelta(seconds=seconds)


def as_start(start: Any) -> Any | None:
    """Return a date as it is, or one of a text ("2026-01-01")."""
    return np.datetime64(start, "s") if isinstance(start, str) else start
