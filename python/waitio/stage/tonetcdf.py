# SPDX-License-Identifier: BSD-3-Clause
"""Steps into netCDF files: one for all, or one for each step."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np

from waitio.errors import WaitioError
from waitio.stage import meaning
from waitio.stage.frames import Field, Frame, same_shape, told

PLACE = "{step}"  # in a name: a file for each step


class NetcdfFile:
    """A netCDF-4 file whose record dimension grows with each step."""

    def __init__(self, path: str, frame: Frame, process: int, overwrite: bool) -> None:
        import netCDF4  # type: ignore[import-not-found,unused-ignore]

        self.path, self.process = path, process
        self.written = 0
        if os.path.exists(path) and not overwrite:
            raise WaitioError(f"'{path}' is there already; --overwrite replaces it")
        with told(frame, None, path, process):
            self.file = netCDF4.Dataset(path, "w", format="NETCDF4")
            self._define(frame)

    def _define(self, frame: Frame) -> None:
        self.file.setncatts({"Conventions": "CF-1.8", **frame.attrs})
        self.file.createDimension(frame.record, None)
        if frame.record != meaning.STEP and not any(f.name == meaning.STEP for f in frame.fields):
            self.file.createVariable(meaning.STEP, "i8", (frame.record,))
        elif frame.record == meaning.STEP:
            self.file.createVariable(meaning.STEP, "i8", (meaning.STEP,))
        for field in frame.fields:
            self._define_one(frame, field)

    def _define_one(self, frame: Frame, field: Field) -> None:
        value = field.value
        for dim, size in zip(field.dims, value.shape if field.is_array else ()):
            known = self.file.dimensions.get(dim)
            if known is None:
                self.file.createDimension(dim, size)
            elif len(known) != size or dim == frame.record:
                raise WaitioError(
                    f"{frame.where(field.name)}: its dimension '{dim}' has {size} elements, that "
                    f"of other variables {len(known)}; give them other names ('{field.name}/"
                    f"{meaning.DIMENSIONS}')"
                )
        dtype: Any = str if isinstance(value, str) else np.asarray(value).dtype
        if field.is_array:
            dtype = value.dtype
        if dtype is not str and dtype.kind == "c":
            raise WaitioError(
                f"{frame.where(field.name)}: netCDF has no complex numbers; write Zarr, or leave "
                "it out with --variables"
            )
        dims = field.dims if field.fixed else (frame.record, *field.dims)
        attrs = dict(field.attrs)
        fill = attrs.pop("_FillValue", None)
        if field.name == meaning.STEP and field.name in self.file.variables:
            raise WaitioError(
                f"{frame.where(field.name)}: '{meaning.STEP}' is the number of the step in files; "
                "give the variable another name, or put a number 'time'"
            )
        made = self.file.createVariable(field.name, dtype, dims, fill_value=fill)
        made.set_auto_maskandscale(False)
        made.setncatts(attrs)

    def write(self, frame: Frame) -> None:
        """Add a step."""
        at = self.written
        for field in frame.fields:
            with told(frame, field.name, self.path, self.process):
                self._write_one(frame, field, at)
        with told(frame, None, self.path, self.process):
            if not any(f.name == meaning.STEP for f in frame.fields):
                self.file[meaning.STEP][at] = frame.number
            self.file.sync()
        self.written += 1

    def _write_one(self, frame: Frame, field: Field, at: int) -> None:
        if field.name not in self.file.variables:
            raise WaitioError(
                f"{frame.where(field.name)}: it was not in the first step, and is not in "
                f"'{self.path}'; choose what is in all steps with --variables"
            )
        made = self.file[field.name]
        if not field.is_array:
            made[at] = field.value
            return
        same_shape(frame, field, made.shape if field.fixed else made.shape[1:], self.path)
        if not field.fixed:
            made[at] = field.value.get()
        elif at == 0:
            made[:] = field.value.get()

    def close(self) -> None:
        """Close it."""
        self.file.close()


class ToNetcdf:
    """Writes steps. Several processes need a name with {step}: each writes every n-th file."""

    def __init__(self, path: str, process: int, processes: int, overwrite: bool) -> None:
        if processes > 1 and PLACE not in path:
            raise WaitioError(
                f"'{path}': {processes} processes cannot write one netCDF file; start one, or let "
                "each write files of its own (out.{step}.nc), or write out.zarr"
            )
        self.path, self.process, self.processes = path, process, processes
        self.overwrite = overwrite
        self.file: NetcdfFile | None = None
        self.steps = 0

    def write(self, frame: Frame) -> None:
        """Write a step, if it is this process's turn."""
        mine = self.steps % self.processes == self.process
        self.steps += 1
        if PLACE in self.path:
            if mine:
                path = self.path.replace(PLACE, f"{frame.number:06d}")
                one = NetcdfFile(path, frame, self.process, self.overwrite)
                try:
                    one.write(frame)
                    with told(frame, None, path, self.process):
                        one.close()
                except BaseException:
                    _give_up(one)
                    raise
            return
        if self.file is None:
            self.file = NetcdfFile(self.path, frame, self.process, self.overwrite)
        self.file.write(frame)

    def close(self) -> None:
        """Close what is open."""
        if self.file is not None:
            self.file.close()

    def give_up(self) -> None:
        """Close what is open after an error: what was written before stays, if it can."""
        if self.file is not None:
            _give_up(self.file)


def _give_up(file: Any) -> None:
    with contextlib.suppress(Exception):
        file.close()
