# SPDX-License-Identifier: BSD-3-Clause
"""What coordinates say of themselves by CF's conventions: which they are, units, bounds.

They are objects of xarray, or other arrays with attributes.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from waitio.coupler.errors import DimensionError, FieldError

_NAMES = {
    "lon": ("lon", "longitude", "nav_lon", "glon", "clon", "xlong"),
    "lat": ("lat", "latitude", "nav_lat", "glat", "clat", "xlat"),
}
_UNITS = {
    "lon": ("degrees_east", "degree_east", "degrees_e", "degree_e"),
    "lat": ("degrees_north", "degree_north", "degrees_n", "degree_n"),
}
# Degrees west or south run the other way: they are none of these.
_ANGLES = {
    "degrees": re.compile(r"(arc_?|angular_)?(deg(ree)?s?|°)[ _]?(east|north|e|n|true|t)?"),
    "radians": re.compile(r"rad(ian)?s?([ _]?(east|north))?"),
}


def _bounds_name(one: Any) -> Any:
    return one.attrs.get("bounds") or one.encoding.get("bounds")


def find(thing: Any, which: str) -> Any:
    """Return the coordinate that is the longitude or latitude, by its attributes or its name."""
    words = {"lon": "longitude", "lat": "latitude"}[which]
    named = {_bounds_name(thing.coords[name]) for name in thing.coords}  # have the same units
    for name in thing.coords:
        coordinate = thing.coords[name]
        if name in named:
            continue
        units = str(coordinate.attrs.get("units", "")).lower()
        if coordinate.attrs.get("standard_name") == words or units in _UNITS[which]:
            return coordinate
    for name in thing.coords:
        if str(name).lower() in _NAMES[which]:
            return thing.coords[name]
    raise DimensionError(
        f"no coordinate is a {words}: none has the standard name or units of one "
        f"({_UNITS[which][0]}), or is called {' or '.join(_NAMES[which][:2])}; there are "
        f"{', '.join(map(str, thing.coords)) or 'none'}"
    )


# ---- units --------------------------------------------------------------------------------------


def _name(array: Any, what: str) -> str:
    return f"'{getattr(array, 'name', None) or what}'"


def _units(array: Any) -> Any:
    """Of xarray's objects, or of a variable of netCDF4, whose attributes are Python's."""
    attributes = getattr(array, "attrs", None)
    return getattr(array, "units", None) if attributes is None else attributes.get("units")


def _angle(array: Any, what: str) -> str | None:
    """Return "degrees" or "radians"; None where the array says nothing."""
    units = _units(array)
    if not isinstance(units, str) or not units.strip():
        return None
    for angle, form in _ANGLES.items():
        if form.fullmatch(units.strip().lower()):
            return angle
    raise FieldError(
        f"{_name(array, what)} has the units {units!r}, which are neither degrees "
        "(east, north) nor radians: convert it, or define the grid by its indices and say with "
        "cells(unit=...) where they are"
    )


def unit(lon: Any, lat: Any, bounds: tuple[Any, Any]) -> str:
    """Return what the coordinates are in, as `cells` says it. Degrees, where nothing says units."""
    found = {
        what: (_angle(array, what), array)
        for what, array in zip(("lon", "lat", "lon_bounds", "lat_bounds"), (lon, lat, *bounds))
        if array is not None
    }
    # CF: bounds that say nothing are in the units of their coordinate.
    one = found["lon"][0] or "degrees"
    for what, (angle, array) in found.items():
        if (angle or (one if "bounds" in what else "degrees")) != one:
            raise FieldError(
                f"{_name(array, what)} is in {angle or 'degrees'} (units: {_units(array)!r}), but "
                f"{_name(lon, 'lon')} in {one} (units: {_units(lon)!r}): convert one, or define "
                "the grid by its indices and say with cells(unit=...) where they are"
            )
    return one


# ---- bounds -------------------------------------------------------------------------------------


class Bounds(NamedTuple):
    """The bounds of longitudes and latitudes, corners last."""

    lon: Any = None
    lat: Any = None
    lacks: str | None = None
    """Why named bounds are not used."""


def _misfit(thing: Any, one: Any, called: str, corners: tuple[int, int]) -> str | None:
    """Return why what a coordinate names as bounds are none that a grid can have."""
    whose = f"'{one.name}' names the bounds '{called}'"
    if called not in thing.coords and called not in getattr(thing, "data_vars", ()):
        return f"{whose}, which are not there; a Dataset has them, a DataArray has coordinates only"
    values = thing[called]
    more = [d for d in values.dims if d not in one.dims]
    if len(more) != 1 or values.ndim != one.ndim + 1:
        return (
            f"{whose} with the dimensions {values.dims}: bounds have those of the coordinate, "
            f"{one.dims}, and one more, for the corners; select one of the others (isel)"
        )
    least, most = corners
    if not least <= values.sizes[more[0]] <= most:
        return (
            f"{whose} with {values.sizes[more[0]]} corners: "
            + (f"{least}" if least == most else f"{least} or more")
            + " make a cell"
        )
    return None


def bounds(thing: Any, lon: Any, lat: Any, dims: tuple[str, ...]) -> Bounds:
    """Return what CF's attribute `bounds` of the two coordinates names.

    Where they are nothing that a grid can have, none: who needs no weights needs no bounds.
    """
    corners = (2, 2) if lon.ndim < len(dims) else (3, 1 << 30)
    found = []
    for one in (lon, lat):
        called = _bounds_name(one)
        if called is None:
            return Bounds()
        lacks = _misfit(thing, one, called, corners)
        if lacks is not None:
            return Bounds(lacks=lacks)
        own = [d for d in dims if d in one.dims]
        values = thing[called]
        found.append(values.transpose(*own, *(d for d in values.dims if d not in own)))
    return Bounds(*found)
