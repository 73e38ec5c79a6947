# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a stream as xarray's Datasets. xarray is imported when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def steps(stream: str, *, chunks: Any = None, limit: float | None = None, **options: Any) -> Any:
    """Iterate over the steps of a stream, each an `xarray.Dataset`.

    Each is open until the next one is asked for; `.load()` what must outlive it. Arrays are fetched
    when they are needed, also a part of them.

    Parameters:
        stream: its name.
        chunks: None: arrays of NumPy; {}: dask arrays, a chunk for each block of the writers; else
            as in `Dataset.chunk`.
        limit: seconds to wait for a step.
        options: those of `Reader`.

    Raises ImportError where xarray is not installed, `waitio.TimeoutError` when no step came.
    """
    try:
        from waitio.stage import backend
    except ImportError as error:
        raise ImportError(
            "waitio.stage.steps needs xarray: pip install 'waitio[xarray]'"
        ) from error
    limits = {} if limit is None else {"limit": limit}
    return _steps(backend.Source(stream, **limits, **options), chunks, limit)


def _steps(source: Any, chunks: Any, limit: float | None) -> Iterator[Any]:
    from waitio.stage import backend

    try:
        while True:
            step = source.next(limit)
            if step is None:
                return
            yield backend.chunked(source, step, chunks)
    finally:
        source.close()
