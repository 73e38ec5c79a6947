# SPDX-License-Identifier: BSD-3-Clause
"""WaitIO for Python: messages between separately launched parallel programs.

    import waitio

    with waitio.Universe() as universe:
        world = universe.world
        world.send({"step": 1}, dest=0)

The calls live in an extension module that is loaded when the first of them is used: the `waitio`
command, which is part of this package, works without it, with the standard library alone.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Where each public name comes from.
_CORE = (
    "ANY_SOURCE ANY_TAG COMM_TYPE_PB COMM_TYPE_SHARED Collectives Group IN_PLACE MatchedMessage"
    " ORDER_C ORDER_FORTRAN Request Status Wtick Wtime abort allow_pickle counter counters finalize"
    " init initialized library_version phase rejoin resume_from resume_mark startall testall"
    " testany testsome waitall waitany waitsome"
)
_TYPES = (
    "Datatype BYTE CHAR BOOL SHORT INT LONG INT8_T INT16_T INT32_T INT64_T UINT8_T"
    " UINT16_T UINT32_T UINT64_T FLOAT DOUBLE LONG_DOUBLE COMPLEX DOUBLE_COMPLEX FLOAT_INT"
    " DOUBLE_INT LONG_INT TWOINT"
)
_OPERATORS = "Op SUM PROD MAX MIN LAND LOR LXOR BAND BOR BXOR MINLOC MAXLOC"
_EXCEPTIONS = (
    "ArgumentError AuthError BufferError BusyError CancelledError ConfigError Error ForkError"
    " GroupError JoinError LimitError NoMemoryError Peer PeerError PickleError ProtocolError"
    " RankError RequestError RevokedError RouteError StateError SystemError TagError TimeoutError"
    " TruncateError UnsupportedError VersionError"
)
_HOME = {
    **dict.fromkeys(f"{_CORE} {_TYPES} {_OPERATORS}".split(), "waitio._core"),
    **dict.fromkeys(_EXCEPTIONS.split(), "waitio.exceptions"),
    "Message": "waitio.stream",
    "ObjectRequest": "waitio.objects",
    "Universe": "waitio.universe",
}

__all__ = sorted(_HOME)  # noqa: PLE0605


def _load(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name != "waitio._core" and "_core" not in str(error):
            raise
        raise ImportError(
            "the extension module of the package waitio is missing or does not load"
            f" ({error}); this copy holds the `waitio` command only. Install the package:"
            " pip install . in WaitIO's sources",
            name="waitio._core",
        ) from error


def __getattr__(name: str) -> Any:
    if name.startswith("ERR_"):
        from waitio.errortable import ERRORS

        for code, (word, _, _) in ERRORS.items():
            globals()["ERR_" + word] = code
        if name in globals():
            return globals()[name]
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'waitio' has no attribute '{name}'")
    value = getattr(_load(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
