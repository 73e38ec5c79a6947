# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong with an array that was put, or with a grid. The run goes on if it is caught."""

from __future__ import annotations

from waitio.exceptions import ArgumentError


class FieldError(ArgumentError):
    """A field or grid does not fit: base of the classes below."""


class ShapeError(FieldError):
    """The array has another shape than the variable's grid and layers."""


class DimensionError(ShapeError):
    """Names of dimensions, or their coordinates, are not those of the grid."""


class DtypeError(FieldError, TypeError):
    """The elements are no numbers that float64 holds, or lie where they cannot be read."""


class MissingValueError(FieldError):
    """The array has NaN where the grid has points."""
