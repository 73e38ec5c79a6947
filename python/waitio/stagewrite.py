# SPDX-License-Identifier: BSD-3-Clause
"""`waitio stage write`: a block of a run that writes a stream into files."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from typing import Any

from waitio.errors import UsageError, WaitioError
from waitio.options import Option, help_text, parse, seconds, whole


def _names(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    if not names:
        raise ValueError("names with commas between them are needed")
    return names


OPTIONS = (
    Option(("--to",), "to", "out.nc, out.{step}.nc (a file for each step), out.zarr", "PATH"),
    Option(("--variables",), "variables", "only these", "A,B,...", convert=_names),
    Option(("--every",), "every", "every n-th step only", "N", convert=whole(1, 10**9)),
    Option(("--first",), "first", "the first step (0)", "N", convert=whole(0, 10**15)),
    Option(("--last",), "last", "the last step", "N", convert=whole(0, 10**15)),
    Option(("--latest",), "latest", "pass over steps that a slower file system cannot follow"),
    Option(("--limit",), "limit", "longest wait for a step (10m)", "TIME", convert=seconds),
    Option(("--overwrite",), "overwrite", "replace what is there"),
)
HELP = f"""usage: waitio stage write STREAM --to PATH [OPTIONS]

A block of a run that writes the steps of a stream into netCDF files or a Zarr store:

  waitio run -n 64 --mpi openmpi ./flow : -n 4 waitio stage write flow --to flow.zarr

Zarr: all processes of the block write chunks of each step. netCDF: one process writes a file, or
several write a file for each step (out.{{step}}.nc) in turn. Attributes named T/units belong to
variable T, T/dimensions names its dimensions ("z y x"). The dimension that grows is "time" if the
stream has such a number, else "step". When a file cannot be written, the block ends with status 1.
The simulation then goes on without it, if the run was started with --keep-going.

{help_text(OPTIONS)}
"""
NEEDED = {".nc": ("netCDF4", "netcdf4"), ".zarr": ("zarr", "'zarr>=3'")}


def _words(words: Sequence[str]) -> tuple[str, dict[str, Any]]:
    streams: list[str] = []
    values: dict[str, Any] = {}
    rest = list(words)
    while rest:  # options may stand behind the stream
        found, rest = parse(rest, OPTIONS, "waitio stage write")
        values.update(found)
        streams += rest[:1]
        rest = rest[1:]
    if len(streams) != 1 or "to" not in values:
        raise UsageError("waitio stage write needs one STREAM and --to; see --help")
    return streams[0], values


def _kind(path: str) -> str:
    """Return ".nc" or ".zarr" if what writes it is installed."""
    kind = next((k for k in NEEDED if path.rstrip("/").endswith(k)), None)
    if kind is None:
        raise UsageError(f"--to '{path}': it must end with .nc or .zarr")
    module, package = NEEDED[kind]
    if importlib.util.find_spec(module) is None:
        raise WaitioError(f"--to '{path}' needs the Python package: pip install {package}")
    if module == "zarr":
        import zarr  # type: ignore[import-not-found,unused-ignore]

        if int(str(zarr.__version__).split(".", maxsplit=1)[0]) < 3:
            raise WaitioError(
                f"--to '{path}' needs zarr 3; {zarr.__version__} is here: pip install {package}"
            )
    return kind


def _sink(values: dict[str, Any], reader: Any) -> Any:
    path, universe = values["to"], reader.universe
    process, processes = universe.pb_rank, universe.nprocs[universe.pb]
    overwrite = bool(values.get("overwrite"))
    if _kind(path) == ".nc":
        from waitio.stage.tonetcdf import ToNetcdf

        return ToNetcdf(path, process, processes, overwrite)
    import numpy as np

    from waitio.stage.tozarr import ToZarr

    block = universe.block(gid=0x5A41) if processes > 1 else None

    def agree(failed: bool) -> bool:
        """Whether any process of the block has failed."""
        if block is None:
            return failed
        mine, all_of_us = np.array([int(failed)]), np.zeros(1, int)
        block.Allreduce(mine, all_of_us)
        return bool(all_of_us[0])

    return ToZarr(path.rstrip("/"), process, processes, overwrite, agree)


def _write(stream: str, values: dict[str, Any]) -> tuple[int, int]:
    """Write all steps. @return (process, steps)"""
    from waitio.stage import Reader
    from waitio.stage.frames import Frame

    limit = {"limit": values["limit"]} if "limit" in values else {}
    chosen = {
        "first": values.get("first", 0),
        "last": values.get("last"),
        "stride": values.get("every", 1),
    }
    steps = 0
    with Reader(stream, latest=bool(values.get("latest")), **chosen, **limit) as reader:
        sink = _sink(values, reader)
        try:
            for step in reader:
                frame = Frame(stream, step, values.get("variables"))
                if steps == 0 and frame.left_out and reader.universe.pb_rank == 0:
                    names = ", ".join(f"'{name}'" for name in frame.left_out)
                    sys.stderr.write(
                        f"waitio: stream '{stream}': left out, because local arrays have no place "
                        f"in a whole: {names}\n"
                    )
                sink.write(frame)
                steps += 1
        except BaseException:
            sink.give_up()
            raise
        sink.close()
        return reader.universe.pb_rank, steps


def main(words: Sequence[str]) -> int:
    """Run the command; return its exit status."""
    if "--help" in words or "-h" in words:
        sys.stdout.write(HELP)
        return 0
    stream, values = _words(words)
    _kind(values["to"])
    try:
        from waitio.exceptions import Error

        process, steps = _write(stream, values)
    except ImportError as error:
        raise WaitioError(
            f"waitio stage needs the Python package with its extension and NumPy ({error}): "
            "pip install 'waitio[numpy]'"
        ) from error
    except Error as error:
        raise WaitioError(str(error)) from error
    if process == 0:
        sys.stdout.write(f"{values['to']}: {steps} steps of stream '{stream}'\n")
    return 0
