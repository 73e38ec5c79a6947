# SPDX-License-Identifier: BSD-3-Clause
"""Staging: a running program hands its steps to programs that read them, without the file system.

A simulation, in each of its processes:

    from waitio.stage import Writer

    with Writer("flow") as flow:
        for _ in range(100):
            ...
            with flow.step():
                flow.put("T", block, shape=(ny, nx), start=(y0, 0))
                flow.put("time", t)

An analysis, in any number of processes of another job:

    from waitio.stage import Reader

    with Reader("flow") as flow:
        for step in flow:
            print(step.number, step["time"], step["T"][10:20].max())
"""

from __future__ import annotations

try:
    import numpy as _numpy
except ImportError as _error:  # the package itself does not need it
    raise ImportError("waitio.stage needs NumPy: pip install numpy", name="numpy") from _error
else:
    del _numpy

from waitio.stage.datasets import steps
from waitio.stage.streams import Reader, Step, Variable, Writer

__all__ = ["Reader", "Step", "Variable", "Writer", "steps"]
