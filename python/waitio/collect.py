# SPDX-License-Identifier: BSD-3-Clause
"""Collectives on Python objects, made of those on memory.

Objects travel as pickles; their lengths go first. Reductions gather the objects and combine them
in rank order, so that any function of two will do.
"""

from __future__ import annotations

import functools
import pickle
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Callable

from waitio import _core
from waitio._core import Group
from waitio.objects import check_allowed, pickled

LONG = 8  # bytes of a length on the way


def _lengths(data: bytes | bytearray) -> list[int]:
    return list(struct.unpack(f"<{len(data) // LONG}q", data))


def _packed(lengths: Iterable[int]) -> bytearray:
    numbers = list(lengths)
    return bytearray(struct.pack(f"<{len(numbers)}q", *numbers))


def bcast(group: Group, obj: Any, root: int) -> Any:
    """Large arrays in the object go beside the pickle."""
    check_allowed()
    text: Any = None
    parts: list[Any] = []
    if group.rank == root:
        text, parts = pickled(obj)
        head = _packed([len(text), len(parts)])
    else:
        head = _packed([0, 0])
    group.Bcast(head, root)
    size, number = _lengths(head)
    sizes = _packed(part.nbytes for part in parts) if parts else bytearray(LONG * number)
    if number:
        group.Bcast(sizes, root)
    if group.rank != root:
        text = _core._new_buffer(size)
        parts = [_core._new_buffer(n) for n in _lengths(sizes)]
    for part in (text, *parts):
        _in_pieces(group, part, root)
    return obj if group.rank == root else pickle.loads(text, buffers=parts)


def _in_pieces(group: Group, memory: Any, root: int) -> None:
    """Broadcast more than the number of elements of one call."""
    view, most = memoryview(memory).cast("B"), (1 << 31) - 1
    for at in range(0, max(1, view.nbytes), most):
        group.Bcast(view[at : at + most], root)


def _places(lengths: Sequence[int]) -> list[int]:
    places, at = [], 0
    for n in lengths:
        places.append(at)
        at += n
    return places


def _split(data: bytearray, lengths: Sequence[int]) -> list[Any]:
    view = memoryview(data)
    return [pickle.loads(view[at : at + n]) for at, n in zip(_places(lengths), lengths)]


def gather(group: Group, obj: Any, root: int) -> list[Any] | None:
    """The root learns the lengths first."""
    check_allowed()
    text = pickle.dumps(obj, protocol=5)
    here = group.rank == root
    sizes = bytearray(LONG * group.size) if here else None
    group.Gather(_packed([len(text)]), sizes, root)
    if sizes is None:
        group.Gatherv(text, None, root)
        return None
    lengths = _lengths(sizes)
    data = _core._new_buffer(sum(lengths))
    group.Gatherv(text, [data, (lengths, _places(lengths))], root)
    return _split(data, lengths)


def allgather(group: Group, obj: Any) -> list[Any]:
    """Everybody learns the lengths first."""
    check_allowed()
    text = pickle.dumps(obj, protocol=5)
    sizes = bytearray(LONG * group.size)
    group.Allgather(_packed([len(text)]), sizes)
    lengths = _lengths(sizes)
    data = _core._new_buffer(sum(lengths))
    group.Allgatherv(text, [data, (lengths, _places(lengths))])
    return _split(data, lengths)


def _texts(group: Group, objs: Any, call: str) -> list[bytes]:
    objs = list(objs)
    if len(objs) != group.size:
        raise ValueError(
            f"{call} needs one object for each of the {group.size} members, not {len(objs)}"
        )
    return [pickle.dumps(obj, protocol=5) for obj in objs]


def scatter(group: Group, objs: Any, root: int) -> Any:
    """Each member learns its length first."""
    check_allowed()
    size = bytearray(LONG)
    if group.rank == root:
        texts = _texts(group, objs, "scatter")
        lengths = [len(t) for t in texts]
        group.Scatter(_packed(lengths), size, root)
        data = _core._new_buffer(lengths[root])
        group.Scatterv([b"".join(texts), (lengths, _places(lengths))], data, root)
    else:
        group.Scatter(None, size, root)
        data = _core._new_buffer(_lengths(size)[0])
        group.Scatterv(None, data, root)
    return pickle.loads(data)


def alltoall(group: Group, objs: Any) -> list[Any]:
    """Lengths first."""
    check_allowed()
    texts = _texts(group, objs, "alltoall")
    there = [len(t) for t in texts]
    sizes = bytearray(LONG * group.size)
    group.Alltoall(_packed(there), sizes)
    here = _lengths(sizes)
    data = _core._new_buffer(sum(here))
    group.Alltoallv([b"".join(texts), (there, _places(there))], [data, (here, _places(here))])
    return _split(data, here)


def reduce(group: Group, obj: Any, op: Callable[[Any, Any], Any], root: int) -> Any:
    """Gather, then combine at the root."""
    everything = gather(group, obj, root)
    return None if everything is None else functools.reduce(op, everything)


def allreduce(group: Group, obj: Any, op: Callable[[Any, Any], Any]) -> Any:
    """Every member combines; all in the same order."""
    return functools.reduce(op, allgather(group, obj))


def scan(group: Group, obj: Any, op: Callable[[Any, Any], Any]) -> Any:
    """As allreduce, up to this member."""
    return functools.reduce(op, allgather(group, obj)[: group.rank + 1])


def exscan(group: Group, obj: Any, op: Callable[[Any, Any], Any]) -> Any:
    """As allreduce, before this member."""
    before = allgather(group, obj)[: group.rank]
    return functools.reduce(op, before) if before else None
