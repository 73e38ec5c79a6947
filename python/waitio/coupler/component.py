# SPDX-License-Identifier: BSD-3-Clause
"""A component of a coupled run: what a model written in Python sees."""

from __future__ import annotations

import datetime
import operator
import os
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Union

import numpy as np

from waitio import _core
from waitio.coupler import cells, fields, grids
from waitio.coupler.errors import FieldError, MissingValueError
from waitio.exceptions import ArgumentError, StateError
from waitio.universe import Universe

Seconds = Union[int, datetime.timedelta, np.timedelta64]


def _seconds(given: Any, what: str) -> int:
    """Return whole seconds: steps are exact."""
    if isinstance(given, datetime.timedelta):
        whole, rest = divmod(given, datetime.timedelta(seconds=1))
        if rest:
            raise ArgumentError(f"{what}: {given} is no whole number of seconds")
        return whole
    if isinstance(given, np.timedelta64):
        whole = given.astype("timedelta64[s]")
        if whole != given:
            raise ArgumentError(f"{what}: {given} is no whole number of seconds")
        return int(whole.astype(np.int64))
    if isinstance(given, float) and given.is_integer():
        return int(given)
    try:
        return operator.index(given)
    except TypeError:
        raise TypeError(f"{what}: whole seconds or a timedelta, not {given!r}") from None


def _entries(what: str, given: tuple[Any, ...]) -> list[Any]:
    """Return indices and coefficients of a table as the coupler takes them, None as None."""
    columns: list[Any] = []
    for i, one in enumerate(given):
        if one is not None and i < 2:
            grids.from_index(what, one)  # integers in range
        dtype = np.int32 if i < 2 else np.float64
        columns.append(None if one is None else np.ascontiguousarray(one, dtype=dtype))
    shapes = {column.shape for column in columns if column is not None}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise FieldError(f"{what}: arrays of one dimension and one length, not {shapes}")
    return columns


class Step:
    """One time step, while it is computed."""

    def __init__(self, number: int, time: int, seconds: int, start: Any) -> None:
        self.number = number
        """Its number, from 1."""
        self.time = time
        """Model time at its start, in seconds."""
        self.seconds = seconds
        """Its length."""
        self._start = start

    @property
    def end(self) -> int:
        """Model time at its end."""
        return self.time + self.seconds

    @property
    def date(self) -> Any:
        """The start of the run plus `time`; a timedelta if the run has no start."""
        return fields.model_time(self._start, self.time)

    def __repr__(self) -> str:
        return f"<Step {self.number}: {self.time} s .. {self.end} s>"


class Run:
    """What `Coupler.run` gives: entering starts the run, leaving ends it."""

    def __init__(self, coupler: Coupler) -> None:
        self._coupler = coupler

    def __enter__(self) -> Coupler:
        self._coupler._start()
        return self._coupler

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._coupler.__exit__(kind, error, trace)


class Coupler:
    """This process as a part of a component (a model) of a coupled run.

    All processes that give the same name are the component. Making it joins the universe and meets
    all components. As a context manager it closes at the end of the block; an exception in there
    ends all components, which say its text.

    Parameters:
        component: its name in the configuration.
        conf: path of the configuration, which all components read.
        start: the date at model time 0: a text ("2026-01-01"), a `numpy.datetime64`, or anything
            that a `datetime.timedelta` can be added to (of cftime, say). None: times are
            durations.
        timeout: seconds to wait for every block (None: 1000).
        comm: an mpi4py communicator, as for `waitio.Universe`.
    """

    def __init__(
        self,
        component: str,
        conf: str | os.PathLike[str],
        *,
        start: Any = None,
        timeout: float | None = None,
        comm: Any = None,
    ) -> None:
        if not isinstance(component, str) or not component:
            raise TypeError(f"component: a name, not {component!r}")
        self._first = fields.as_start(start)
        self.universe = Universe(timeout, comm=comm)
        """The universe, for messages of the program's own."""
        self._handle = _core.CouplerHandle(component, os.fspath(conf))
        components, mine, self._rank = self._handle.components()
        self._components = dict(components)
        self._name, self._size = components[mine]
        self._grids: dict[str, grids.Grid] = {}
        self._fields: dict[tuple[bool, str], fields.Field] = {}
        self._got: dict[str, tuple[np.ndarray, int, bool]] = {}
        self._phase = 0  # 0 grids, 1 tables, 2 the run
        self._now = self._end = self._number = 0

    # ---- who is there ----

    @property
    def name(self) -> str:
        """Name of this component."""
        return self._name

    @property
    def rank(self) -> int:
        """Rank of this process in its component."""
        return self._rank

    @property
    def size(self) -> int:
        """Processes of this component."""
        return self._size

    @property
    def components(self) -> dict[str, int]:
        """All components that run, by name, with their numbers of processes."""
        return dict(self._components)

    @property
    def puts(self) -> tuple[str, ...]:
        """Names of what this component puts, in the order of the configuration."""
        return self._handle.variables(False)

    @property
    def gets(self) -> tuple[str, ...]:
        """Names of what this component gets."""
        return self._handle.variables(True)

    @property
    def time(self) -> int:
        """Model time at the start of the step, in seconds."""
        return self._now

    @property
    def date(self) -> Any:
        """The start of the run plus `time`; a timedelta if the run has no start."""
        return fields.model_time(self._first, self._now)

    # ---- grids and tables ----

    def grid(
        self,
        name: str,
        points: Any = None,
        *,
        lon: Any = None,
        lat: Any = None,
        kind: str | None = None,
        part: grids.Part = None,
        mask: Any = None,
        lon_bounds: Any = None,
        lat_bounds: Any = None,
        periodic: bool | None = None,
    ) -> grids.Grid:
        """Define a grid; all processes of the component do, in the same order.

        Parameters:
            points: this process's global indices (integers from 1; fields get the shape of this
                array), or a DataArray or Dataset of xarray with the coordinates of the whole grid.
            lon, lat: instead of it: coordinates of the whole grid, in degrees unless they have
                the attribute `units` (degrees or radians). Two arrays of two dimensions are
                curvilinear; two of one dimension rectilinear (fields have the shape (lat, lon))
                or unstructured.
            kind: "rectilinear", "curvilinear" or "unstructured", where it is not clear.
            part: what this process has of the whole grid: a slice, a tuple of slices, or a
                mapping from dimensions to slices; one of them may be an array of positions. None:
                an even share of the first dimension.
            mask: booleans of the whole grid, False where it has no point.
            lon_bounds, lat_bounds: where cells end, for weights that the coupler makes, in the
                units of the coordinates. Rectilinear: edge after edge (n + 1), or two for each
                (n, 2); else the corners behind the shape of `lon`, or for two dimensions one more
                vertex in each. xarray: a Dataset brings what CF's attribute `bounds` names; a
                DataArray has no place for them.
            periodic: whether the last dimension goes once around the globe, so that bilinear
                weights go over the seam. None: longitudes of a rectilinear grid tell, where they
                are the last dimension (transpose a DataArray with (lon, lat)).

        Where the coordinates are known, `map(method=...)` and `weight_method` of the configuration
        can make weights; `cells` says it of a grid of indices.
        """
        if self._phase > 0:
            raise StateError(f"grid '{name}' is defined after the first table: grids come first")
        if (points is None) == (lon is None and lat is None) or (lon is None) != (lat is None):
            raise ArgumentError(f"grid '{name}': give either points, or lon and lat")
        place = (self._rank, self._size)
        more: dict[str, Any] = {"part": part, "mask": mask, "bounds": (lon_bounds, lat_bounds)}
        more["periodic"] = periodic
        if points is None:
            grid = grids.from_arrays(name, lon, lat, place, kind=kind, **more)
        elif grids.is_xarray(points):
            grid = grids.from_xarray(name, points, place, **more)
        elif any(one is not None for one in (part, mask, kind, lon_bounds, lat_bounds, periodic)):
            raise ArgumentError(
                f"grid '{name}': part, mask, kind, bounds and periodic are for coordinates"
            )
        else:
            grid = grids.from_index(name, points)
        self._handle.grid(name, grid.index)
        self._grids[name] = grid
        if grid.cells is not None:
            self._handle.cells(name, *grid.cells)
        return grid

    def cells(
        self,
        name: str,
        lon: Any,
        lat: Any,
        *,
        corner_lon: Any = None,
        corner_lat: Any = None,
        mask: Any = None,
        fraction: Any = None,
        area: Any = None,
        shape: tuple[int, int] | None = None,
        periodic: bool = False,
        fold: bool = False,
        unit: str = "degrees",
    ) -> None:
        """Say where the points of a grid are, for weights that the coupler makes.

        Arrays are of this process's points, in the order of the grid's indices. Before the first
        table.

        Parameters:
            lon, lat: centres.
            corner_lon, corner_lat: (point, corner), in order around the cell; a cell with fewer
                corners repeats one. Not needed by methods that look at centres only.
            mask: 0 or False: the cell takes no part.
            fraction: part of the cell that counts, 0 to 1.
            area: the model's own areas, for given-areas=yes.
            shape: (ny, nx) of the whole grid where it is logically rectangular:
                index = 1 + i + nx j.
            periodic: i = nx - 1 and i = 0 are neighbours.
            fold: tripolar: cells i and nx - 1 - i of the last row share an edge.
            unit: "degrees", "radians", or "plane".
        """
        grid = self._grids.get(name)
        if grid is None:
            raise ArgumentError(f"cells of grid '{name}', which is not defined here")
        grid.cells = cells.of_points(
            f"grid '{name}'",
            grid.points,
            lon,
            lat,
            corner_lon=corner_lon,
            corner_lat=corner_lat,
            mask=mask,
            fraction=fraction,
            area=area,
            shape=shape,
            periodic=periodic,
            fold=fold,
            unit=unit,
        )
        self._handle.cells(name, *grid.cells)

    def map(
        self,
        send_component: str,
        send_grid: str,
        recv_component: str,
        recv_grid: str,
        *,
        send_index: Any = None,
        recv_index: Any = None,
        coef: Any = None,
        cos: Any = None,
        sin: Any = None,
        tag: int = 1,
        method: str | None = None,
        weight_file: str | os.PathLike[str] | None = None,
    ) -> None:
        """Define the table from one grid to another; all processes of both components do.

        `received[recv_index] += coef * sent[send_index]`: any processes of both may give entries,
        in any split; the others give none.

        Parameters:
            send_index, recv_index: global indices of each entry.
            coef: its coefficient; None: 1.
            cos, sin: of the angle by which vectors are turned.
            tag: number of the table, where two grids have several.
            method: instead of entries: how the coupler makes the weights from the cells of both
                grids, as weight_method of the configuration ("conservative,nearest"). The same
                text on both sides.
            weight_file: instead of entries: a netCDF file of ESMF or SCRIP weights, the same text
                on both sides.
        """
        self._grids_done()
        names = (send_component, send_grid, recv_component, recv_grid)
        what = f"table {send_component}.{send_grid} -> {recv_component}.{recv_grid}"
        if (send_index is None) != (recv_index is None):
            raise ArgumentError(f"{what}: send_index and recv_index come together")
        if send_index is None and not (coef is None and cos is None and sin is None):
            raise ArgumentError(f"{what}: coef, cos and sin need send_index and recv_index")
        if (method is not None) + (weight_file is not None) + (send_index is not None) > 1:
            raise ArgumentError(f"{what}: give entries, method or weight_file, one of the three")
        if method is not None:
            self._check_corners(what, names, method)
            self._handle.map_cells(names, operator.index(tag), method)
        elif weight_file is not None:
            self._handle.map_file(names, operator.index(tag), os.fspath(weight_file))
        else:
            columns = _entries(what, (send_index, recv_index, coef, cos, sin))
            self._handle.map(names, operator.index(tag), *columns)

    def _check_corners(self, what: str, names: tuple[str, str, str, str], method: str) -> None:
        """Name bounds that cannot be used, where the method needs them."""
        for side, component, name in ((0, *names[:2]), (1, *names[2:])):
            grid = self._grids.get(name) if component == self._name else None
            needs = cells.needs_corners(method, side == 0)
            if grid is not None and grid.lacks is not None and needs is not None:
                raise FieldError(
                    f"{what}: {needs} needs corners of grid '{name}', but {grid.lacks}"
                )

    def _grids_done(self) -> None:
        if self._phase == 0:
            self._handle.grids_done()
            self._phase = 1

    # ---- the run ----

    def run(self) -> Run:
        """Return a context manager: entering starts the run, leaving closes the coupler."""
        return Run(self)

    def _start(self) -> None:
        if self._phase == 2:
            return
        self._grids_done()
        self._handle.start()
        self._phase = 2

    def step(self, seconds: Seconds, exchange: bool = True) -> Step:
        """Begin a time step and exchange what is due; starts the run if nothing has.

        Parameters:
            seconds: its length; whole seconds, or a timedelta.
            exchange: False: nothing is sent or fresh in this step, on all sides.
        """
        length = _seconds(seconds, "step")
        self._start()
        self._handle.step(length, exchange)
        self._now, self._end = self._end, self._end + length
        self._number += 1
        return Step(self._number, self._now, length, self._first)

    def steps(
        self,
        seconds: Seconds | Iterable[Seconds],
        count: int | None = None,
        *,
        until: Seconds | None = None,
    ) -> Iterator[Step]:
        """Step until the end: `for step in coupler.steps(3600, 24): ...`.

        Parameters:
            seconds: length of all steps, or an iterable with that of each.
            count: how many; None: until `until`, the iterable's end, or for ever.
            until: model time at which no further step begins.
        """
        end = None if until is None else _seconds(until, "until")
        lengths = iter(seconds) if isinstance(seconds, Iterable) else None
        done = 0
        while (count is None or done < count) and (end is None or self._end < end):
            length: Any = seconds
            if lengths is not None:
                length = next(lengths, None)
                if length is None:
                    return
            yield self.step(length)
            done += 1

    def _field(self, gets: bool, name: str) -> fields.Field:
        found = self._fields.get((gets, name))
        if found is not None:
            return found
        verb = "get" if gets else "put"
        if self._phase < 2:
            raise StateError(f"{verb} '{name}' before the run: with coupler.run(): ...")
        facts = self._handle.field(gets, name)
        if facts is None:
            known = ", ".join(self.gets if gets else self.puts) or "nothing"
            raise ArgumentError(
                f"component '{self._name}' {verb}s no '{name}' in the configuration; it {verb}s"
                f" {known}"
            )
        grid, layers, _, interval, lag, fill = facts
        if grid not in self._grids:  # its partner does not run: a put goes nowhere
            raise ArgumentError(f"'{name}' is on grid '{grid}', which is not defined here")
        found = fields.Field(name, self._grids[grid], layers, interval, lag, fill)
        self._fields[gets, name] = found
        return found

    def field(self, name: str, *, gets: bool = False) -> fields.Field:
        """Return what a variable is that this component puts, or gets: grid, layers, interval."""
        return self._field(gets, name)

    def put(self, name: str, data: Any, *, nan_is_fill: bool = False) -> None:
        """Put a field; its numbers are copied, or sent, before the call returns.

        Parameters:
            data: a NumPy array of the field's shape (layers first), a DataArray whose dimensions
                are found by name, a tensor on the CPU, nested lists. Float64 in C order is taken
                without a copy; other numbers are converted if float64 holds them.
            nan_is_fill: NaN means "does not count": the variable's `fill` of the configuration,
                or `FILL`, is sent instead; without it NaN is refused.

        Raises `ShapeError`, `DimensionError`, `DtypeError`, `MissingValueError`; the run can go on.
        """
        field = self._field(False, name)
        ready = fields.outgoing(data, field, nan_is_fill)
        try:
            self._handle.put(name, ready, field.layers)
        except ValueError as error:
            if str(error) != "NaN":
                raise
            count = int(np.isnan(ready).sum())
            raise MissingValueError(
                f"{field}: {count} of {ready.size} numbers are NaN; nan_is_fill=True marks them as "
                "not there, a mask of the grid leaves the points out"
            ) from None

    def get(self, name: str, out: Any = None, *, fill: float | None = None) -> Any:
        """Get a field: an array, or a DataArray where the grid was made of one.

        If nothing is due in this step it has the values of the last time, as `fresh(name)` tells;
        a DataArray also has the model time of its values (`time`) and the attribute `fresh`.
        Before anything has come it raises `StateError`.

        Parameters:
            out: an array or tensor (float64, C order) that is filled, and returned; untouched
                when nothing is due.
            fill: put in place of the variable's `fill` of the configuration, or of `FILL`: the
                value of points that no entry of the table reaches. Without a `fill` of the
                configuration they have 0 with lag 0, which stays as it is.
        """
        field = self._field(True, name)
        before = self._got.get(name)
        size = field.layers * field.grid.points
        memory = np.empty(size) if out is None else fields.target(out, field)
        fresh = self._handle.get(name, memory, field.layers)
        if fresh:
            if fill is not None:
                memory[memory == field.fill] = fill
            flat = memory if out is None else memory.reshape(-1).copy()
            self._got[name] = (flat, self._now, True)
        elif before is not None:
            self._got[name] = (before[0], before[1], False)
        elif out is None:
            raise StateError(f"get '{name}': nothing has come yet; the first is due later")
        if out is not None:
            return out
        numbers, time, _ = self._got[name]
        # A copy: the array is the caller's to change.
        values = fields.spread(numbers.copy(), field).reshape(field.shape)
        if field.grid.dims is None:
            return values
        return fields.labelled(values, field, fields.model_time(self._first, time), fresh)

    def fresh(self, name: str) -> bool:
        """Whether the last `get` of it brought something new."""
        self._field(True, name)
        return name in self._got and self._got[name][2]

    # ---- the end ----

    def close(self) -> None:
        """End the run together with all components; harmless when it has ended already."""
        if self._handle.open:
            self._handle.close()

    def __enter__(self) -> Coupler:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        elif self._handle.open:
            self._handle.fail(f"{type(error).__name__}: {error}".strip(": "))

    def __repr__(self) -> str:
        return f"<Coupler: component '{self._name}', process {self._rank} of {self._size}>"
