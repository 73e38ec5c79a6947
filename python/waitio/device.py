# SPDX-License-Identifier: BSD-3-Clause
"""What an array in device memory says about itself, checked: address, size, type of its elements.

Loaded when the first such array is passed. The copies are made in the extension module
(cython/device.pxi).
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

# Letters of the buffer protocol by kind and size of an element; others travel as bytes.
_LETTERS = {
    ("b", 1): "?",
    **{("i", size): letter for size, letter in ((1, "b"), (2, "h"), (4, "i"), (8, "q"))},
    **{("u", size): letter for size, letter in ((1, "B"), (2, "H"), (4, "I"), (8, "Q"))},
    **{("f", size): letter for size, letter in ((2, "e"), (4, "f"), (8, "d"), (16, "g"))},
    **{("c", size): letter for size, letter in ((8, "Zf"), (16, "Zd"))},
}
_FOREIGN_ORDER = ">" if sys.byteorder == "little" else "<"
# Codes of DLPack's element types that the table above knows.
_DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
# Bits of DLPack's flags.
_READ_ONLY, _COPIED = 1, 2


class LayoutError(Exception):
    """Why an array cannot be used; the caller adds which one."""


class Layout(NamedTuple):
    """Contiguous memory on a device."""

    address: int
    size: int
    """In bytes."""
    itemsize: int
    format: bytes
    """As in the buffer protocol."""
    stream: int | None
    """Whose work must be over before the memory is used; None: nobody's."""


def _letters(kind: str, itemsize: int, order: str) -> bytes:
    letter = _LETTERS.get((kind, itemsize), f"{itemsize}s")
    return (order + letter if order == _FOREIGN_ORDER else letter).encode()


def _is_packed(
    shape: Sequence[int], strides: Sequence[int], itemsize: int, last_first: bool
) -> bool:
    step = itemsize
    places = list(zip(shape, strides))
    for n, stride in reversed(places) if last_first else places:
        if n != 1 and stride != step:
            return False
        step *= n
    return True


def _check_strides(
    shape: Sequence[int], strides: Sequence[int], itemsize: int, writable: bool
) -> None:
    """Without gaps, in the order of C or Fortran."""
    if 0 in shape or any(_is_packed(shape, strides, itemsize, order) for order in (True, False)):
        return
    remedy = (
        "receive into a contiguous array and copy from it on the device"
        if writable
        else "send a contiguous copy (ascontiguousarray, or contiguous() of a tensor)"
    )
    raise LayoutError(
        f"its memory is not contiguous (shape {tuple(shape)}, strides {tuple(strides)} bytes, "
        f"item size {itemsize}); {remedy}"
    )


def _size(shape: Sequence[int], itemsize: int) -> int:
    size = itemsize
    for n in shape:
        size *= n
    if size > sys.maxsize:
        raise LayoutError(f"its shape {tuple(shape)} is larger than any memory")
    return size


def _numbers(name: str, given: Any, least: int | None) -> tuple[int, ...]:
    try:
        numbers = tuple(operator.index(n) for n in given)
    except TypeError:
        numbers = (-1,)
        least = 0
    if least is not None and any(n < least for n in numbers):
        raise LayoutError(
            f"its __cuda_array_interface__ has {name} {given!r}, not a tuple of numbers"
        )
    return numbers


def _type_of(typestr: Any) -> tuple[str, int, bytes]:
    """Return kind and size of an element, and the letters of the buffer protocol."""
    text = typestr if isinstance(typestr, str) else ""
    if len(text) < 3 or text[0] not in "<>|=" or not text[2:].isdecimal():
        raise LayoutError(
            f"its __cuda_array_interface__ has typestr {typestr!r}; one such as '<f8' is needed"
        )
    kind, itemsize = text[1], int(text[2:])
    if kind == "O":
        raise LayoutError("its elements are Python objects, whose addresses mean nothing elsewhere")
    return kind, itemsize * (4 if kind == "U" else 1), text[0].encode()


def _address(data: Any, writable: bool) -> int:
    if not (
        isinstance(data, (tuple, list))
        and len(data) == 2
        and (data[0] is None or isinstance(data[0], int))
    ):
        raise LayoutError(
            f"its __cuda_array_interface__ has data {data!r}; (address, read-only) is needed"
        )
    if writable and data[1]:
        raise LayoutError("its memory is read-only; pass a writable array")
    return data[0] or 0


def _usable(address: int, size: int) -> None:
    if size and not 0 < address <= sys.maxsize * 2 + 1 - size:
        raise LayoutError(f"its address is {address:#x}, and it has {size} bytes")


def from_interface(interface: Any, writable: bool) -> Layout:
    """Read a `__cuda_array_interface__` of any version up to 3."""
    if not isinstance(interface, Mapping):
        raise LayoutError(
            f"its __cuda_array_interface__ is a {type(interface).__name__}, not a dict"
        )
    for name in ("shape", "typestr", "data"):
        if name not in interface:
            raise LayoutError(f"its __cuda_array_interface__ lacks '{name}'")
    if interface.get("mask") is not None:
        raise LayoutError(
            "it has a mask, which would be lost; pass its data and its mask one by one"
        )
    shape = _numbers("shape", interface["shape"], 0)
    kind, itemsize, order = _type_of(interface["typestr"])
    strides = interface.get("strides")
    if strides is not None:
        strides = _numbers("strides", strides, None)
        if len(strides) != len(shape):
            raise LayoutError(f"its shape is {shape}, and its strides are {strides}")
        _check_strides(shape, strides, itemsize, writable)
    stream = interface.get("stream")
    if stream is not None and (not isinstance(stream, int) or stream < 1):
        raise LayoutError(
            f"its __cuda_array_interface__ has stream {stream!r}; None, 1 (the legacy default "
            "stream), 2 (the thread's default stream) or a stream's handle is needed"
        )
    size = _size(shape, itemsize)
    address = _address(interface["data"], writable)
    _usable(address, size)
    return Layout(address, size, itemsize, _letters(kind, itemsize, order.decode()), stream)


def from_dlpack(
    address: int,
    shape: Sequence[int],
    strides: Sequence[int] | None,
    dtype: tuple[int, int, int],
    flags: int,
    writable: bool,
) -> Layout:
    """Read a DLPack tensor; `strides` are in elements, `dtype` is code, bits and lanes."""
    code, bits, lanes = dtype
    if bits % 8 or not bits or not lanes:
        raise LayoutError(f"its elements have {bits} bits; view them as bytes")
    itemsize = bits // 8 * lanes
    if writable and flags & _READ_ONLY:
        raise LayoutError("its memory is read-only; pass a writable tensor")
    if writable and flags & _COPIED:
        raise LayoutError("its __dlpack__ gives a copy, which what arrives would not leave")
    if any(n < 0 for n in shape):
        raise LayoutError(f"its shape is {tuple(shape)}")
    if strides is not None:
        _check_strides(shape, [n * itemsize for n in strides], itemsize, writable)
    size = _size(shape, itemsize)
    _usable(address, size)
    kind = _DLPACK_KINDS.get(code, "") if lanes == 1 else ""
    return Layout(address, size, itemsize, _letters(kind, itemsize, ""), None)
