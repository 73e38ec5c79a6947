# SPDX-License-Identifier: BSD-3-Clause
"""What `waitio stage watch` shows of a variable: a small picture, and its least and largest value.

Of an array that has more than two dimensions it shows the plane in the middle of the others. An
array of many bytes is fetched in pieces, of which only what the picture needs is kept.
"""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any

from waitio import stagetool

if TYPE_CHECKING:
    import numpy as np

    from waitio.stage import Variable

SIDE = 512  # most points of a picture in each direction
LINE = 2048  # and of a line
WHOLE = 64 << 20  # arrays up to so many bytes are looked at wholly for their extent
NOTHING = 255  # in place of what is no number


def plane(shape: tuple[int, ...]) -> stagetool.Box:
    """Return the box of the last two dimensions, in the middle of the others."""
    leading = max(0, len(shape) - 2)
    start = (*(n // 2 for n in shape[:leading]), *(0,) * (len(shape) - leading))
    return start, (*(1,) * leading, *shape[leading:])


def _decimated(variable: Variable, box: stagetool.Box) -> tuple[Any, Any]:
    """Return a plane (or a line) with few points, and its extent; holds a few rows at a time."""
    import numpy as np

    start, count = box
    axis = max(0, len(count) - 2)  # that of the rows
    most = SIDE if len(count) > 1 else LINE
    steps = [-(-n // most) for n in count[axis:]]
    row = variable.dtype.itemsize * math.prod(count[axis + 1 :])
    rows = max(1, stagetool.PIECE // row)
    kept, found = [], None
    for at in range(0, count[axis], rows):
        size = (*count[:axis], min(rows, count[axis] - at), *count[axis + 1 :])
        part = variable.get((*start[:axis], at, *start[axis + 1 :]), size)
        found = stagetool.wider(found, stagetool.extent(part))
        part = part.reshape(part.shape[axis:])[-at % steps[0] :: steps[0]]
        kept.append(part if len(steps) == 1 else part[:, :: steps[1]])
    return np.concatenate(kept), found


def picture(variable: Variable) -> dict[str, Any]:
    """Return what the page shows of a global array with elements, as JSON has it."""
    nbytes = variable.dtype.itemsize * math.prod(variable.shape)
    box = plane(variable.shape)
    points, extent = _decimated(variable, box)
    whole = len(variable.shape) <= 2
    if not whole and nbytes <= WHOLE:
        extent, whole = stagetool.extent(variable.get()), True
    return {
        "shape": list(variable.shape),
        "at": list(box[0][:-2]),
        "extent": extent,
        "whole": whole,
        **encoded(points),
    }


def encoded(points: np.ndarray) -> dict[str, Any]:
    """Return width, height and bytes of a picture, whose least value is 0 and largest 254."""
    import numpy as np

    values = np.abs(points) if points.dtype.kind == "c" else points
    values = np.atleast_2d(values).astype("f8")
    inside = stagetool.extent(values)
    low, high = inside or (0.0, 0.0)
    scale = 254.0 / (high - low) if high > low and np.isfinite(high - low) else 0.0
    there = np.isfinite(values)
    grey = np.where(there, (np.where(there, values, low) - low) * scale, NOTHING)
    return {
        "width": values.shape[1],
        "height": values.shape[0],
        "low": low,
        "high": high,
        "data": base64.b64encode(np.rint(grey).astype("u1").tobytes()).decode(),
    }
