# SPDX-License-Identifier: BSD-3-Clause
"""The coupler: models on different grids exchange fields at their own intervals.

    from waitio.coupler import Coupler

    with Coupler("ocean", "coupling.conf") as ocean:
        ocean.grid("sea", lon=lon, lat=lat)
        ocean.map("atmos", "air", "ocean", "sea")
        with ocean.run():
            ocean.put("sst", sst)
            for step in ocean.steps(3600, 24):
                wind = ocean.get("wind")
                ...
                ocean.put("sst", sst)

Fields are NumPy arrays, xarray's DataArrays where the grid was made of one, or tensors of PyTorch.
"""

from __future__ import annotations

try:
    import numpy as _numpy
except ImportError as _error:  # the package itself does not need it
    raise ImportError("waitio.coupler needs NumPy: pip install numpy", name="numpy") from _error
else:
    del _numpy

from waitio.coupler.component import Coupler, Run, Step
from waitio.coupler.errors import (
    DimensionError,
    DtypeError,
    FieldError,
    MissingValueError,
    ShapeError,
)
from waitio.coupler.fields import FILL
from waitio.coupler.grids import Grid

__all__ = [
    "FILL",
    "Coupler",
    "DimensionError",
    "DtypeError",
    "FieldError",
    "Grid",
    "MissingValueError",
    "Run",
    "ShapeError",
    "Step",
]
