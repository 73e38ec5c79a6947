#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A simulation that hands its steps to others by ADIOS2: an ordinary program of ADIOS2.

  waitio run -n 2 python3 writer.py : python3 reader.py

Which engine it uses stands in adios2.xml beside it.
"""

import os

import adios2
import numpy as np

STEPS = 4
# PyPI's ADIOS2 has no MPI: the process's place in its job comes from the launcher.
RANK, SIZE = int(os.environ["WAITIO_RANK"]), int(os.environ["WAITIO_NPROCS"])
ROWS, COLUMNS = 4, 6


def main():
    config = os.path.join(os.path.dirname(os.path.abspath(__file__)), "adios2.xml")
    io = adios2.Adios(config).declare_io("flow")
    io.define_attribute("units", "K")
    shape, start, count = [SIZE * ROWS, COLUMNS], [RANK * ROWS, 0], [ROWS, COLUMNS]
    with adios2.Stream(io, "flow", "w") as stream:
        for step in stream.steps(STEPS):
            field = step.current_step() + np.arange(ROWS * COLUMNS, dtype=float) / 100 + RANK
            step.write("T", field.reshape(ROWS, COLUMNS), shape, start, count)
            step.write("time", 0.1 * step.current_step())
    print(f"writer {RANK} of {SIZE}: {STEPS} steps")


main()
