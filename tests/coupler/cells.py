# SPDX-License-Identifier: BSD-3-Clause
"""As cells.c, by the module h3ou: a component gives its cells, and both define the table.

cells.py COMPONENT CONF CELLS SHARE method|file|conf [TEXT]
"""

import math
import os
import pathlib
import sys

import numpy as np

import h3ou


def mine(share, n, rank, size):
    i = np.arange(n)
    if share == "cyclic":
        return i % size == rank
    if share == "last" and size > 1:
        return (rank > 0) & (i % (size - 1) == rank - 1)
    return i * size // n == rank


def main():
    me, conf, path, share, how, *text = sys.argv[1:]
    h3ou.h3ou_init(me, conf)
    rank, size = h3ou.h3ou_get_my_rank(), h3ou.h3ou_get_my_size()
    lines = pathlib.Path(path).read_text().splitlines()
    unit, corners, nx, ny, periodic, n = map(int, lines[0].split())
    rows = np.array([line.split() for line in lines[1:]], dtype=float)
    rows = rows[mine(share, n, rank, size)]
    index, mask, fraction, x, y = rows.T[:5]
    around = rows[:, 5:].reshape(-1, 2, corners)
    grid = "gA" if me == "compA" else "gB"
    h3ou.h3ou_def_grid(index.astype(np.int32), me, grid, 1)
    h3ou.h3ou_def_grid_cells(
        grid,
        x,
        y,
        around[:, 0],
        around[:, 1],
        mask=mask,
        fraction=fraction,
        nx=nx,
        ny=ny,
        periodic=periodic,
        unit=h3ou.UNITS[unit],
    )
    h3ou.h3ou_end_grid_def()
    if how != "conf":
        h3ou.h3ou_set_interpolation_weights(me, "compA", "gA", "compB", "gB", 1, **{how: text[0]})
    time = np.array([2000, 1, 1, 0, 0, 0], np.int32)
    h3ou.h3ou_init_time(time)
    field = np.array([math.sin(i) for i in index])  # NumPy's own sine may differ in a bit
    if me == "compA":
        h3ou.h3ou_put_data_1d("vA", field)
    h3ou.h3ou_set_time(me, time, 10)
    if me == "compB":
        assert h3ou.h3ou_get_data_1d("yA", field)
        out = pathlib.Path(os.environ["CELLS_OUT"]) / str(rank)
        out.write_text(
            "".join(f"GET 0 {int(i)} {v.hex()}\n" for i, v in zip(index, field.tolist()))
        )
    h3ou.h3ou_coupling_end(time)


main()
