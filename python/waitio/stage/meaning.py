# SPDX-License-Identifier: BSD-3-Clause
"""What the attributes of a stream mean: of which variable they are, and the names of dimensions.

The attribute "T/units" belongs to variable T, as in ADIOS2; one without such a beginning belongs to
the stream. "T/dimensions" names the dimensions of T, outermost first: "z y x".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from waitio.exceptions import ArgumentError

DIMENSIONS = "dimensions"
TIME, STEP = "time", "step"


def plain(value: Any) -> Any:
    """Return a number for an array of one."""
    return value[0] if isinstance(value, np.ndarray) and value.size == 1 else value


def of_variable(name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a variable, without that of the dimensions' names."""
    begin = f"{name}/"
    found = {k[len(begin) :]: plain(v) for k, v in attributes.items() if k.startswith(begin)}
    found.pop(DIMENSIONS, None)
    return found


def of_stream(names: Iterable[str], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that belong to none of these variables."""
    known = set(names)
    return {k: plain(v) for k, v in attributes.items() if k.rpartition("/")[0] not in known}


def dimensions(
    stream: str, name: str, shape: tuple[int, ...], attributes: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the names of a global array's dimensions; those that nobody named are its own."""
    text = attributes.get(f"{name}/{DIMENSIONS}")
    if text is None:
        return tuple(f"{name}_{i}" for i in range(len(shape)))
    words = tuple(str(text).replace(",", " ").split())
    if len(words) != len(shape) or len(set(words)) != len(words):
        raise ArgumentError(
            f"stream '{stream}': attribute '{name}/{DIMENSIONS}' is '{text}'; variable '{name}' "
            f"has {len(shape)} dimensions, each needs a name of its own"
        )
    return words
