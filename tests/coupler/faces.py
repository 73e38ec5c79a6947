# SPDX-License-Identifier: BSD-3-Clause
"""The same as faces.c by the Python calls: partner of faces.c and faces.F90 (without its texts)."""

import sys

import numpy as np

import h3ou

N, LAYERS = 12, 3


def messages(me, peer, is_a, base, rank):
    if is_a:
        h3ou.h3ou_send_array(peer, [base, 2 * base, 3 * base])
        h3ou.h3ou_send_array(peer, [1.5, 2.5, 3.5, 4.5])
        h3ou.h3ou_send_array(peer, np.array([0.25, 0.5], np.float32))
        h3ou.h3ou_send_scalar(peer, 42)
        assert h3ou.h3ou_recv_scalar(peer, 0.0) == -7.5
    else:
        assert h3ou.h3ou_recv_array(peer, [0] * 3) == [1, 2, 3]
        assert h3ou.h3ou_recv_array(peer, [0.0] * 4) == [1.5, 2.5, 3.5, 4.5]
        assert h3ou.h3ou_recv_array(peer, np.zeros(2, np.float32)) == [0.25, 0.5]
        assert h3ou.h3ou_recv_scalar(peer, 0) == 42
        h3ou.h3ou_send_scalar(peer, -7.5)
    assert h3ou.h3ou_bcast_global_int("compA", [9 if is_a else 0] * 3) == [9] * 3
    doubles = [0.0 if is_a else 8.0] * 4
    assert h3ou.h3ou_bcast_model_double("compB", "compA", doubles) == [8.0] * 4
    if rank == 0:
        others = np.zeros(2, np.float32)
        h3ou.h3ou_isend_model_real(peer, 0, [base, base])
        h3ou.h3ou_irecv_model_real(peer, 0, others)
        h3ou.h3ou_isend_waitall()
        h3ou.h3ou_irecv_waitall()
        assert others.tolist() == [-base, -base]
        if is_a:
            h3ou.h3ou_send_model_int(peer, 0, [9] * 3)
        else:
            assert h3ou.h3ou_recv_model_int(peer, 0, [0] * 3) == [9] * 3


def define(me, is_a, rank, size):
    first, last = rank * N // size, (rank + 1) * N // size
    points = np.arange(last, first, -1, dtype=np.int32)
    h3ou.h3ou_def_grid(points, me, "gA" if is_a else "gB", 20)
    h3ou.h3ou_end_grid_def()
    table = np.arange(1, N + 1, dtype=np.int32)
    for there in ("compA", "gA", "compB", "gB"), ("compB", "gB", "compA", "gA"):
        if there[0] == me:
            h3ou.h3ou_set_interpolation_table(me, *there, 1, table, table, np.full(N, 2.0))
        else:
            h3ou.h3ou_set_interpolation_table_no_index(me, *there, 1)
    return points


def main():
    me, conf = sys.argv[1:3]
    is_a = me == "compA"
    peer, base, own, other = ("compB", 1, "A", "B") if is_a else ("compA", -1, "B", "A")
    h3ou.h3ou_init(me, conf)
    rank, size = h3ou.h3ou_get_my_rank(), h3ou.h3ou_get_my_size()
    messages(me, peer, is_a, base, rank)
    points = define(me, is_a, rank, size)
    if is_a:  # after a table with coefficients, to all processes
        h3ou.h3ou_send_array(peer, [1.5, 2.5, 3.5, 4.5])
    else:
        assert h3ou.h3ou_recv_array(peer, [0.0] * 4) == [1.5, 2.5, 3.5, 4.5]
    assert h3ou.h3ou_get_num_of_put_data() == 2
    assert h3ou.h3ou_get_put_data_name(1) == "deep" + own
    assert h3ou.h3ou_get_vlayer("deepA") == LAYERS
    time = np.array([2000, 2, 28, 23, 0, 0], np.int32)
    h3ou.h3ou_init_time(time)
    heights = 100.0 * np.arange(1, LAYERS + 1)[:, None]
    for step in range(5):
        if step > 0:
            h3ou.h3ou_set_time(me, time, 3600)
            flat, deep = np.zeros(points.size), np.full((LAYERS, points.size), 77.0)
            assert h3ou.h3ou_get_data_1d("flat" + other, flat)
            assert (flat == -2 * base * (1000 * (step - 1) + points)).all()
            fresh = h3ou.h3ou_get_data_25d("deep" + other, deep)
            assert fresh == (step % 2 == 1)
            expected = -2 * base * (1000 * (step - 1) + points + heights)
            assert (deep == (expected if fresh else 77)).all()
            h3ou.h3ou_inc_calendar(time, 3600)
        h3ou.h3ou_put_data_1d("flat" + own, base * (1000.0 * step + points))
        h3ou.h3ou_put_data_25d("deep" + own, base * (1000.0 * step + points + heights))
    assert time.tolist() == [2000, 2, 29, 3, 0, 0]
    print("ok " + me, flush=True)
    h3ou.h3ou_coupling_end(time)


main()
