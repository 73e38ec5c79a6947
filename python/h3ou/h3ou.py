# SPDX-License-Identifier: BSD-3-Clause
"""The Python interface of h3-Open-UTIL/MP, for programs written against it, on WaitIO's coupler.

Arrays are NumPy's: int32 for indices and times, float64 for fields; fields with layers have the
shape (layer, point). Other integers are taken if int32 can hold their values. Calls that receive
messages return a new list; of their last argument only the length and the type count. A Python
float is a double (the old module sent it as a float32).

The library is that of the MPI which the process was started with; H3OU_MPI names another
(openmpi, mpich). Errors of the library end all components with a text and a status that is not 0.
What this module itself refuses is a ValueError or TypeError; like any exception that the program
does not catch, it ends all components in the same way.
"""

import ctypes
import operator
import os
import pathlib
import sys

import numpy as np

_INT, _REAL, _DOUBLE = range(3)
_DTYPES = {_INT: np.int32, _REAL: np.float32, _DOUBLE: np.float64}


def _loaded_mpi():
    """The MPI that is in this process already: mpi4py's, say."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        text = maps.read()
    if "libmpich.so" in text or "libmpi.so.12" in text:
        return "mpich"
    return "openmpi" if "libmpi.so.40" in text else None


def _launcher():
    """The MPI whose launcher started this process."""
    if "OMPI_COMM_WORLD_SIZE" in os.environ:
        return "openmpi"
    return "mpich" if "PMI_RANK" in os.environ else None


def _folders():
    """Where libraries may be, one folder for each MPI: installed, and in a build."""
    here = pathlib.Path(__file__).resolve().parent
    named = os.environ.get("H3OU_LIB")
    return [pathlib.Path(named)] if named else [here.parent]


def _load():
    wanted = os.environ.get("H3OU_MPI") or _loaded_mpi() or _launcher()
    found = {}
    for folder in _folders():
        for path in sorted(folder.glob("*/libh3ouc.so")):
            found.setdefault(path.parent.name, path)
    if wanted is None and len(found) == 1:
        wanted = next(iter(found))
    if wanted not in found:
        raise ImportError(
            f"h3ou: no libh3ouc for {wanted or 'an MPI: none is loaded and no mpiexec is seen'}; "
            f"found: {', '.join(found) or 'none'} in {', '.join(map(str, _folders()))}; H3OU_MPI "
            "names the MPI, H3OU_LIB the folder that holds one folder for each MPI"
        )
    return ctypes.CDLL(str(found[wanted]), mode=ctypes.RTLD_GLOBAL)  # Open MPI's parts look for it


_lib = _load()
_lib.h3ouc_get_my_comm.restype = ctypes.c_void_p


def _text(name):
    return ctypes.c_char_p(name.encode())


def _at(array):
    return ctypes.c_void_p(array.ctypes.data)


def _at_or_none(array):
    """Of cells: an empty array is none, so that the library names what a process lacks."""
    return _at(array) if array.size > 0 else None


def _array(values, dtype):
    """The values without gaps, of the type that the library wants."""
    return np.ascontiguousarray(values, dtype=dtype)


_RANGE = "an integer of 32 bits: -2147483648 to 2147483647"


def _integers(values, what, whole_floats=False):
    """The values as int32; NumPy would cut others in silence. `what` names call and argument."""
    given = np.asarray(values)
    if given.size == 0 or given.dtype == np.int32:  # [] is an array of floats for NumPy
        return _array(given, np.int32)
    kind = given.dtype.kind
    if kind == "O":  # integers beyond 64 bits, and what is no number
        for value in given.flat:
            operator.index(value)
    elif kind not in "biu" and not (whole_floats and kind == "f"):
        raise TypeError(f"{what} is an array of {given.dtype}, not of integers")
    if kind == "f":
        given = given.astype(np.float64)  # float32 would round the limits, too
    wrong = (given < -0x80000000) | (given > 0x7FFFFFFF)
    if kind == "f":
        wrong |= given != np.floor(given)  # NaN, too
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"{what}: the value {given.flat[at]} at place {at} is not {_RANGE}")
    return _array(given, np.int32)


def _integer(value, what):
    """The same for one number; 3600.0 is one, too."""
    if not -0x80000000 <= value <= 0x7FFFFFFF or int(value) != value:
        raise ValueError(f"{what}: the value {value} is not {_RANGE}")
    return int(value)


def _numbers(values, of_type, what):
    """Values to be sent, in the type of the message."""
    if of_type == _INT:
        return _integers(values, what, whole_floats=True)
    return _array(values, _DTYPES[of_type])


def _to_fill(data, dtype, dimensions, what):
    """The memory of an array of the program, into which the library writes."""
    good = isinstance(data, np.ndarray) and data.dtype == dtype and data.flags.c_contiguous
    if not good or dimensions not in (0, data.ndim):
        shape = f" of {dimensions} dimension(s)" if dimensions else ""
        raise TypeError(f"{what}: needs a {np.dtype(dtype).name} array{shape} without gaps")
    if not data.flags.writeable:
        raise ValueError(f"{what}: the array is read-only; give a copy of it, or one of np.empty")
    return data


# ---- start and end ------------------------------------------------------------------------------


_coupled = []  # not empty: there are others to tell


def _tell_all(before):
    """For exceptions that the program does not catch: the others would wait for this process."""

    def tell(kind, error, trace):
        before(kind, error, trace)
        if _coupled:
            if sys.stdout is not None:
                sys.stdout.flush()
            _lib.wio_h3ou_die(_text(f"{kind.__name__}: {error}"))

    return tell


def h3ou_init(comp_name, config_file_name):
    """Meet all components; MPI_Init is called unless it was."""
    _lib.wio_h3ou_open(_text(comp_name), _text(config_file_name), 1)
    _coupled.append(comp_name)
    sys.excepthook = _tell_all(sys.excepthook)


def _close():
    _lib.wio_h3ou_close(1)
    _coupled.clear()


def h3ou_get_my_rank():
    """Return the rank of this process in its component."""
    return _lib.h3ouc_get_my_rank()


def h3ou_get_my_size():
    """Return the number of processes of this component."""
    return _lib.h3ouc_get_my_size()


def h3ou_coupling_end(time_array=None):
    """Send what lag 1 still owes, and end together with all components."""
    _close()


def h3ou_end():
    """End a program that exchanges messages only."""
    _close()


# ---- grids and tables ---------------------------------------------------------------------------


def h3ou_def_grid(grid_index, comp_name, grid_name, nz):
    """Define a grid by the global indices (from 1) of this process's points; nz is not read."""
    index = _integers(grid_index, f"h3ou_def_grid of grid '{grid_name}': grid_index")
    _lib.wio_h3ou_grid(_at(index), index.size, _text(comp_name), _text(grid_name))


def h3ou_end_grid_def():
    """Say that all grids are defined."""
    _lib.wio_h3ou_grids_done()


def h3ou_set_interpolation_table(
    my_name, send_comp, send_grid, recv_comp, recv_grid, mapping_tag, send_index, recv_index, coef
):
    """Define the table from one grid to another; the other side calls the form without indices.

    The arrays of the component's first process count; other processes may give dummies.
    """
    what = f"h3ou_set_interpolation_table from grid '{send_grid}' to grid '{recv_grid}'"
    if h3ou_get_my_rank() != 0:
        send_index, recv_index, coef = [], [], []
    send = _integers(send_index, f"{what}: send_index")
    receive = _integers(recv_index, f"{what}: recv_index")
    numbers = _array(coef, np.float64)
    if not send.size == receive.size == numbers.size:
        raise ValueError(
            f"{what}: send_index, recv_index and coef have the sizes {send.size}, {receive.size} "
            f"and {numbers.size}; each entry has one of each"
        )
    names = [_text(name) for name in (send_comp, send_grid, recv_comp, recv_grid)]
    tag = _integer(mapping_tag, f"{what}: mapping_tag")
    _lib.wio_h3ou_table(*names, tag, _at(send), _at(receive), _at(numbers), None, None, send.size)


def h3ou_set_interpolation_table_no_index(
    my_name, send_comp, send_grid, recv_comp, recv_grid, mapping_tag
):
    """Define the table whose entries the other side gives."""
    names = [_text(name) for name in (send_comp, send_grid, recv_comp, recv_grid)]
    tag = _integer(mapping_tag, "h3ou_set_interpolation_table_no_index: mapping_tag")
    _lib.wio_h3ou_table(*names, tag, None, None, None, None, None, -1)


class _Cells(ctypes.Structure):
    """struct waitio_cpl_cells"""

    _fields_ = [
        ("unit", ctypes.c_int),
        ("x", ctypes.c_void_p),
        ("y", ctypes.c_void_p),
        ("corners", ctypes.c_int),
        ("corner_x", ctypes.c_void_p),
        ("corner_y", ctypes.c_void_p),
        ("mask", ctypes.c_void_p),
        ("fraction", ctypes.c_void_p),
        ("area", ctypes.c_void_p),
        ("nx", ctypes.c_int64),
        ("ny", ctypes.c_int64),
        ("periodic", ctypes.c_int),
        ("fold", ctypes.c_int),
        ("n", ctypes.c_size_t),
    ]


UNITS = ("degrees", "radians", "plane")


def _by_point(**given):
    """Arrays with one number for each point, as the library wants them."""
    held = {
        name: _numbers(values, _INT if name == "mask" else _DOUBLE, f"h3ou_def_grid_cells: {name}")
        for name, values in given.items()
        if values is not None
    }
    n = held["lon"].size
    for name, array in held.items():
        if array.shape != (n,):
            raise ValueError(f"h3ou_def_grid_cells: {name} has shape {array.shape}, lon has {n}")
    return held


def _corners(corner_lon, corner_lat, n):
    if (corner_lon is None) != (corner_lat is None):
        raise ValueError("h3ou_def_grid_cells: give corner_lon and corner_lat together")
    corners = [_array(c, np.float64) for c in (corner_lon, corner_lat) if c is not None]
    for array in corners:
        if array.ndim != 2 or array.shape != (n, corners[0].shape[1]):
            raise ValueError(
                f"h3ou_def_grid_cells: corners have the shape (point, corner), the same for both; "
                f"not {array.shape} for {n} points"
            )
    return corners


def h3ou_def_grid_cells(
    grid_name,
    lon,
    lat,
    corner_lon=None,
    corner_lat=None,
    mask=None,
    fraction=None,
    area=None,
    nx=0,
    ny=0,
    periodic=False,
    fold=False,
    unit="degrees",
):
    """Say where the points of a grid of this component are, for weights that the coupler makes.

    One number for each point of this process, in the order of the grid's indices; corners have the
    shape (point, corner). nx, ny: logically rectangular, index = 1 + i + nx j.
    """
    held = _by_point(lon=lon, lat=lat, mask=mask, fraction=fraction, area=area)
    n = held["lon"].size
    if unit not in UNITS:
        raise ValueError(f"h3ou_def_grid_cells: unit {unit!r} is none of {', '.join(UNITS)}")
    corners = _corners(corner_lon, corner_lat, n)
    at = {name: _at_or_none(array) for name, array in held.items()}
    cells = _Cells(
        unit=UNITS.index(unit),
        x=at["lon"],
        y=at["lat"],
        corners=corners[0].shape[1] if corners else 0,
        corner_x=_at_or_none(corners[0]) if corners else None,
        corner_y=_at_or_none(corners[1]) if corners else None,
        nx=nx,
        ny=ny,
        periodic=bool(periodic),
        fold=bool(fold),
        n=n,
        **{name: at[name] for name in ("mask", "fraction", "area") if name in at},
    )
    _lib.wio_h3ou_cells(_text(grid_name), ctypes.byref(cells))


def h3ou_set_interpolation_weights(
    my_name, send_comp, send_grid, recv_comp, recv_grid, mapping_tag, method=None, file=None
):
    """The table by weights: made as `method` says (weight_method of the configuration), or those of
    a netCDF `file`. Both components call it with the same texts."""
    names = [_text(name) for name in (send_comp, send_grid, recv_comp, recv_grid)]
    how = [None if text is None else _text(os.fspath(text)) for text in (method, file)]
    tag = _integer(mapping_tag, "h3ou_set_interpolation_weights: mapping_tag")
    _lib.wio_h3ou_weights(*names, tag, *how)


# ---- the run ------------------------------------------------------------------------------------


def h3ou_init_time(time_array):
    """Begin the run. The coupler's time begins with 0, whatever the date is."""
    _lib.wio_h3ou_start()


def h3ou_set_time(my_name, time_array, delta_t):
    """Begin a step of delta_t seconds, and exchange what is due."""
    _lib.wio_h3ou_step(_integer(delta_t, "h3ou_set_time: delta_t"), 1)


def h3ou_inc_calendar(time_array, delta_t):
    """Add seconds to year, month, day, hour, minute, second, in place."""
    time = (ctypes.c_int * 6)(
        *(_integer(v, "h3ou_inc_calendar: time_array") for v in time_array[:6])
    )
    _lib.wio_h3ou_calendar(time, _integer(delta_t, "h3ou_inc_calendar: delta_t"))
    time_array[:6] = list(time)


h3ou_inc_time = h3ou_inc_calendar


def h3ou_put_data_1d(var_name, data):
    """Put a field: one number for each point of this process."""
    field = _array(data, np.float64)
    _lib.wio_h3ou_put(_text(var_name), _at(field), field.size, 1, 1)


def h3ou_put_data_25d(var_name, data):
    """Put a field with layers: (layer, point)."""
    field = _array(data, np.float64)
    if field.ndim != 2:
        raise ValueError(
            f"h3ou_put_data_25d: '{var_name}' has shape {field.shape}, not (layer, point)"
        )
    _lib.wio_h3ou_put(_text(var_name), _at(field), field.shape[1], field.shape[0], 0)


def h3ou_get_data_1d(var_name, data):
    """Fill data if something is due in this step. Returns whether it is."""
    fresh = ctypes.c_int(0)
    field = _to_fill(data, np.float64, 1, f"h3ou_get_data_1d of '{var_name}'")
    _lib.wio_h3ou_get(_text(var_name), _at(field), field.size, 1, 1, ctypes.byref(fresh))
    return bool(fresh.value)


def h3ou_get_data_25d(var_name, data):
    """Fill data (layer, point) if something is due in this step. Returns whether it is."""
    fresh = ctypes.c_int(0)
    field = _to_fill(data, np.float64, 2, f"h3ou_get_data_25d of '{var_name}'")
    layers, points = field.shape
    _lib.wio_h3ou_get(_text(var_name), _at(field), points, layers, 0, ctypes.byref(fresh))
    return bool(fresh.value)


def h3ou_get_num_of_put_data():
    """Return how many variables this component puts."""
    return _lib.wio_h3ou_count(0)


def h3ou_get_num_of_get_data():
    """Return how many variables this component gets."""
    return _lib.wio_h3ou_count(1)


def _name(gets, number):
    text = ctypes.create_string_buffer(1025)
    _lib.wio_h3ou_name(gets, number, text, 1024, ctypes.c_char(b"\0"))
    return text.value.decode()


def h3ou_get_put_data_name(data_num):
    """Return the name of a variable that this component puts; data_num counts from 0."""
    return _name(0, data_num)


def h3ou_get_get_data_name(data_num):
    """Return the name of a variable that this component gets; data_num counts from 0."""
    return _name(1, data_num)


def h3ou_get_vlayer(data_name):
    """Return the layers of a variable."""
    return _lib.wio_h3ou_layers(_text(data_name))


# ---- messages -----------------------------------------------------------------------------------


def _type_of(values):
    """Of a number or of the first of several."""
    kind = np.asarray(values).dtype
    if kind == np.float32:
        return _REAL
    return _INT if kind.kind in "iu" else _DOUBLE


def h3ou_send_scalar(target_name, val):
    """Send a number from the first process to the first process of a component."""
    h3ou_send_array(target_name, np.atleast_1d(val))


def h3ou_recv_scalar(target_name, val):
    """Returns a number of the type of val."""
    return h3ou_recv_array(target_name, np.atleast_1d(val))[0]


def h3ou_send_array(target_name, val):
    """Send numbers from the first process to the first process of a component."""
    of_type = _type_of(val)
    if h3ou_get_my_rank() != 0:  # it sends nothing: its values may be any
        val = np.zeros(np.shape(val), _DTYPES[of_type])
    data = _numbers(val, of_type, f"h3ou_send_array to component '{target_name}': val")
    _lib.wio_h3ou_send_array(_text(target_name), _at(data), data.size, of_type)


def h3ou_recv_array(target_name, val):
    """Return numbers of a component, in all processes; val says how many, and of which type."""
    of_type = _type_of(val)
    data = np.empty(len(val), _DTYPES[of_type])
    _lib.wio_h3ou_recv_array(_text(target_name), _at(data), data.size, of_type)
    return data.tolist()


_under_way = []  # arrays of messages that were started


def _calls(of_type):
    """The calls for one type: published with the type in their names."""
    dtype, kind = _DTYPES[of_type], ("int", "real", "double")[of_type]

    def told(call, source_name, data):
        """A copy of what the first process of a component tells; others give anything."""
        if _coupled == [source_name] and h3ou_get_my_rank() == 0:
            data = _numbers(data, of_type, f"{call}_{kind} from '{source_name}': data")
        return np.array(data, dtype)

    def bcast_global(source_name, data):
        """Return what the first process of a component has, in all processes of all."""
        field = told("h3ou_bcast_global", source_name, data)
        _lib.wio_h3ou_bcast_global(_text(source_name), _at(field), field.size, of_type)
        return field.tolist()

    def bcast_model(source_name, target_name, data):
        """Return, in two components, what the first process of one has."""
        field = told("h3ou_bcast_model", source_name, data)
        names = _text(source_name), _text(target_name)
        _lib.wio_h3ou_bcast_model(*names, _at(field), field.size, of_type)
        return field.tolist()

    def sent(call, target_name, target_pe, data):
        """What a message carries, and to which process."""
        what = f"{call}_{kind} to '{target_name}'"
        field = _numbers(data, of_type, f"{what}: data")
        return field, _integer(target_pe, f"{what}: target_pe")

    def send_model(target_name, target_pe, data):
        """Send numbers to a process of a component."""
        field, process = sent("h3ou_send_model", target_name, target_pe, data)
        _lib.wio_h3ou_send(_text(target_name), process, _at(field), field.size, of_type, 1)

    def recv_model(source_name, source_pe, data):
        """Return numbers of a process of a component; data says how many."""
        field = np.empty(len(data), dtype)
        process = _integer(source_pe, f"h3ou_recv_model_{kind} from '{source_name}': source_pe")
        _lib.wio_h3ou_recv(_text(source_name), process, _at(field), field.size, of_type, 1)
        return field.tolist()

    def isend_model(target_name, target_pe, data):
        """Start to send a copy of the numbers to a process of a component."""
        field, process = sent("h3ou_isend_model", target_name, target_pe, data)
        field = field.copy()
        _under_way.append(field)
        _lib.wio_h3ou_send(_text(target_name), process, _at(field), field.size, of_type, 0)

    def irecv_model(source_name, source_pe, data):
        """Start to receive into data, an array of the call's type, which the waitall fills."""
        what = f"h3ou_irecv_model_{kind} from '{source_name}'"
        process = _integer(source_pe, f"{what}: source_pe")
        _under_way.append(_to_fill(data, dtype, 0, what))
        _lib.wio_h3ou_recv(_text(source_name), process, _at(data), data.size, of_type, 0)

    return bcast_global, bcast_model, send_model, recv_model, isend_model, irecv_model


for _suffixes, _of_type in ((("int",), _INT), (("real", "float"), _REAL), (("double",), _DOUBLE)):
    for _call in _calls(_of_type):
        for _suffix in _suffixes:
            globals()[f"h3ou_{_call.__name__}_{_suffix}"] = _call


def h3ou_isend_waitall():
    """Complete all messages that were started. h3ou_irecv_waitall is the same."""
    _lib.wio_h3ou_wait()
    _under_way.clear()


h3ou_irecv_waitall = h3ou_isend_waitall
