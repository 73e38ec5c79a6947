# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes in grids, cells and tables by the module h3ou.

tables.py COMPONENT CONF MISTAKE

compA gives the table, by its first process; others give dummies of any size. MISTAKE: what compA
does wrong; none: compB gets 2 i. values: what the module refuses by itself, and what it takes.
"""

import sys
import tempfile

import numpy as np

import h3ou

N = 6


def cells(mine, mistake):
    """Those of the grid gA, given wrongly."""
    some = mine.astype(float)
    if mistake == "empty":
        h3ou.h3ou_def_grid_cells("gA", [], [], np.empty((0, 4)), np.empty((0, 4)))
    elif mistake == "unit":
        h3ou.h3ou_def_grid_cells("gA", some, some, unit="miles")
    elif mistake == "mask":
        h3ou.h3ou_def_grid_cells("gA", some, some, mask=[1])
    elif mistake == "corners":
        h3ou.h3ou_def_grid_cells("gA", some, some, corner_lon=np.zeros((len(some), 4)))


BIG = 5_000_000_000
# call, its arguments, words of what it raises
REFUSED = [
    ("def_grid", ([1, BIG], "compA", "gA", 1), "grid_index: the value 5000000000 at place 1"),
    (
        "def_grid",
        (np.array([1, -BIG]), "compA", "gA", 1),
        "'gA': grid_index: the value -5000000000",
    ),
    ("def_grid", (np.array([2**63], np.uint64), "compA", "gA", 1), "value 9223372036854775808"),
    ("def_grid", ([2**70], "compA", "gA", 1), f"value {2**70} at place 0"),
    ("def_grid", ([1.0, 2.0], "compA", "gA", 1), "grid_index is an array of float64"),
    ("def_grid_cells", ("gA", [1, 2], [1, 2], None, None, [0, BIG]), "cells: mask: the value 5000"),
    ("def_grid_cells", ("gA", [1, 2], [1, 2], None, None, [0, 0.5]), "mask: the value 0.5"),
    ("send_scalar", ("compB", BIG), "to component 'compB': val: the value 5000000000"),
    ("send_array", ("compB", [1, BIG]), "val: the value 5000000000 at place 1"),
    (
        "send_model_int",
        ("compB", 0, [BIG]),
        "send_model_int to 'compB': data: the value 5000000000",
    ),
    ("send_model_int", ("compB", 0, [1.5]), "data: the value 1.5"),
    ("send_model_int", ("compB", 0, [float("nan")]), "data: the value nan"),
    ("send_model_int", ("compB", 0, np.full(1, 2.0**31, "f4")), "data: the value 2147483648.0"),
    ("send_model_int", ("compB", BIG, [1]), "target_pe: the value 5000000000"),
    (
        "isend_model_int",
        ("compB", 0, [BIG]),
        "isend_model_int to 'compB': data: the value 5000000000",
    ),
    ("bcast_global_int", ("compA", [BIG]), "bcast_global_int from 'compA': data: the value 5"),
    ("bcast_model_int", ("compA", "compB", [BIG]), "bcast_model_int from 'compA': data: the"),
    ("set_time", ("compA", None, BIG), "delta_t: the value 5000000000"),
    ("set_time", ("compA", None, 0.5), "delta_t: the value 0.5"),
]


def read_only(dtype, n):
    """As numpy.frombuffer of bytes, and a file that is mapped for reading, make them."""
    yield np.frombuffer(bytes(n * np.dtype(dtype).itemsize), dtype)
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(n * np.dtype(dtype).itemsize))
        file.flush()
        yield np.memmap(file.name, dtype, "r")


def refuses(words, call, *arguments):
    try:
        getattr(h3ou, "h3ou_" + call)(*arguments)
    except (TypeError, ValueError) as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"{call} was taken, not refused with {words}")


def values(me, rank):
    """What would be cut in silence, or end the process, is refused; dummies may be anything."""
    first = me == "compA" and rank == 0
    if first:
        for call, arguments, words in REFUSED:
            refuses(words, call, *arguments)
        for array in read_only(np.float64, 3):
            refuses("'yA': the array is read-only", "get_data_1d", "yA", array)
            refuses("the array is read-only", "get_data_25d", "yA", array.reshape(3, 1))
            refuses("the array is read-only", "irecv_model_double", "compB", 0, array)
        for array in read_only(np.int32, 3):
            refuses("the array is read-only", "irecv_model_int", "compB", 0, array)
        table = "compA", "gA", "compB", "gB", 1
        name = "set_interpolation_table"
        refuses("to grid 'gB': send_index: the", name, me, *table, [BIG], [1], [1.0])
        refuses("recv_index is an array of float64", name, me, *table, [1], [1.0], [1.0])
    given = np.array([7, 8], np.int64) if first else np.array([np.nan, 1e300])
    if me == "compB":
        with np.errstate(invalid="ignore"):
            assert h3ou.h3ou_bcast_global_int("compA", given) == [7, 8]
        if rank == 0:
            assert h3ou.h3ou_recv_model_int("compA", 0, [0] * 2) == [7, 8]
            assert h3ou.h3ou_recv_model_int("compA", 0, [0] * 2) == [1, 0]
        assert h3ou.h3ou_recv_array("compA", [0]) == [-(2**31)]
    else:
        with np.errstate(invalid="ignore"):
            assert h3ou.h3ou_bcast_global_int("compA", given) == [7, 8]
        if first:
            h3ou.h3ou_send_model_int("compB", 0, [7.0, 8.0])
            h3ou.h3ou_isend_model_int("compB", 0, [True, False])
            h3ou.h3ou_isend_waitall()
        h3ou.h3ou_send_array("compB", [-(2**31) if rank == 0 else BIG])


def main():
    me, conf, mistake = sys.argv[1:]
    h3ou.h3ou_init(me, conf)
    rank, size = h3ou.h3ou_get_my_rank(), h3ou.h3ou_get_my_size()
    index = np.arange(1, N + 1, dtype=np.int64 if mistake == "values" else np.int32)
    if mistake == "values":
        values(me, rank)
    mine = index[rank * N // size : (rank + 1) * N // size]
    h3ou.h3ou_def_grid(mine, me, "gA" if me == "compA" else "gB", 1)
    if me == "compA":
        cells(mine, mistake)
    h3ou.h3ou_end_grid_def()
    there = ("compA", "gA", "compB", "gB", 1)
    if me == "compA":
        coef = np.full(N - (mistake == "coef"), 2.0)
        table = (index, index, coef) if rank == 0 else ([0], [0, 0], [])
        h3ou.h3ou_set_interpolation_table(me, *there, *table)
    else:
        h3ou.h3ou_set_interpolation_table_no_index(me, *there)
    time = np.array([2000, 1, 1, 0, 0, 0], np.int32)
    h3ou.h3ou_init_time(time)
    field = mine.astype(float)
    if me == "compA":
        if mistake == "flat":
            h3ou.h3ou_put_data_25d("vA", field)
        h3ou.h3ou_put_data_1d("vA", field)
        if mistake == "own":
            raise KeyError("a mistake of the program's own")
        if mistake == "caught":
            try:
                h3ou.h3ou_put_data_25d("vA", field)
            except ValueError:
                pass
    h3ou.h3ou_set_time(me, time, 10)
    if me == "compB":
        assert h3ou.h3ou_get_data_1d("yA", field)
        assert (field == 2 * mine).all()
    h3ou.h3ou_coupling_end(time)


main()
