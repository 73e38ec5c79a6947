/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file userops.h
 * Operators of Python programs. C calls a function that gets no word of who made it, so each
 * operator has a function of its own out of the table below.
 */
#ifndef WAITIO_PYTHON_USEROPS_H
#define WAITIO_PYTHON_USEROPS_H

/** Set by the extension: call operator number @p slot. */
static void (*wio_py_operator)(int slot, void *in, void *inout, int n, int type);

#define WIO_PY_OPERATORS 32
#define WIO_PY_FUNCTION(i)                                                                         \
    static void wio_py_operator_##i(void *in, void *inout, int *n, WAITIO_MPI_Datatype *type)      \
    {                                                                                              \
        wio_py_operator(i, in, inout, *n, *type);                                                  \
    }
WIO_PY_FUNCTION(0)
WIO_PY_FUNCTION(1)
WIO_PY_FUNCTION(2)
WIO_PY_FUNCTION(3)
WIO_PY_FUNCTION(4)
WIO_PY_FUNCTION(5)
WIO_PY_FUNCTION(6)
WIO_PY_FUNCTION(7)
WIO_PY_FUNCTION(8)
WIO_PY_FUNCTION(9)
WIO_PY_FUNCTION(10)
WIO_PY_FUNCTION(11)
WIO_PY_FUNCTION(12)
WIO_PY_FUNCTION(13)
WIO_PY_FUNCTION(14)
WIO_PY_FUNCTION(15)
WIO_PY_FUNCTION(16)
WIO_PY_FUNCTION(17)
WIO_PY_FUNCTION(18)
WIO_PY_FUNCTION(19)
WIO_PY_FUNCTION(20)
WIO_PY_FUNCTION(21)
WIO_PY_FUNCTION(22)
WIO_PY_FUNCTION(23)
WIO_PY_FUNCTION(24)
WIO_PY_FUNCTION(25)
WIO_PY_FUNCTION(26)
WIO_PY_FUNCTION(27)
WIO_PY_FUNCTION(28)
WIO_PY_FUNCTION(29)
WIO_PY_FUNCTION(30)
WIO_PY_FUNCTION(31)

static WAITIO_MPI_User_function *const wio_py_operators[WIO_PY_OPERATORS] = {
    wio_py_operator_0,  wio_py_operator_1,  wio_py_operator_2,  wio_py_operator_3,
    wio_py_operator_4,  wio_py_operator_5,  wio_py_operator_6,  wio_py_operator_7,
    wio_py_operator_8,  wio_py_operator_9,  wio_py_operator_10, wio_py_operator_11,
    wio_py_operator_12, wio_py_operator_13, wio_py_operator_14, wio_py_operator_15,
    wio_py_operator_16, wio_py_operator_17, wio_py_operator_18, wio_py_operator_19,
    wio_py_operator_20, wio_py_operator_21, wio_py_operator_22, wio_py_operator_23,
    wio_py_operator_24, wio_py_operator_25, wio_py_operator_26, wio_py_operator_27,
    wio_py_operator_28, wio_py_operator_29, wio_py_operator_30, wio_py_operator_31,
};

#endif
