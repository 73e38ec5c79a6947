# SPDX-License-Identifier: BSD-3-Clause
"""What the package raises: one class per kind of failure, each with code, peer and remedy."""

from __future__ import annotations

import builtins
import re
from typing import Any, NamedTuple

from waitio.errortable import ERRORS


class Peer(NamedTuple):
    """The other process of a failed operation."""

    rank: int
    """Its rank in the group of the operation."""
    pb: int
    """The parallel block it belongs to."""
    pb_rank: int
    """Its rank in that block."""

    def __str__(self) -> str:
        return f"PB {self.pb} rank {self.pb_rank}"


class Error(Exception):
    """Base of everything the library reports.

    Compares equal to its code, so that ``error == waitio.ERR_PEER`` reads as in C.
    """

    code = 0
    """The number, one of the ``ERR_*`` constants of this package."""

    def __init_subclass__(cls, code: int | None = None, **words: Any) -> None:
        super().__init_subclass__(**words)
        if code is not None:
            cls.code = code

    def __init__(self, text: str, code: int | None = None, peer: Peer | None = None) -> None:
        if code is not None:
            self.code = code
        self.peer = peer
        """The other process, where the failure concerns one."""
        super().__init__(text)

    @property
    def name(self) -> str:
        """Name of the code, such as ``PEER``."""
        return ERRORS.get(self.code, (str(self.code), "", ""))[0]

    @property
    def remedy(self) -> str:
        """What to do about failures of this kind."""
        return python_names(ERRORS.get(self.code, ("", "", ""))[2])

    def __int__(self) -> int:
        return self.code

    def __eq__(self, other: object) -> bool:
        return self.code == other if isinstance(other, int) else self is other

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self):  # type: ignore[no-untyped-def]
        return (type(self), (str(self), self.code, self.peer))


class ArgumentError(Error, ValueError, code=-1):
    """An argument is wrong: group, rank, tag, buffer."""


class GroupError(ArgumentError, code=-3):
    """The group was freed, or this process is no member of it."""


class RankError(ArgumentError, code=-4):
    """The rank is not one of the group."""


class TagError(ArgumentError, code=-5):
    """The tag is out of range."""


class BufferError(ArgumentError, builtins.BufferError):
    """The object's memory cannot be sent or received into as it is."""


class RequestError(Error, code=-6):
    """The request is stale or of another universe."""


class TruncateError(Error, code=-7):
    """The message was longer than the receive buffer; what fits was delivered."""


class PeerError(Error, ConnectionError, code=-8):
    """The other process has died, left or cannot be reached."""


class RouteError(PeerError, code=-14):
    """No transport connects the two processes."""


class RevokedError(PeerError, code=-23):
    """A member failed in a collective: the group takes no more of them."""


class TimeoutError(Error, builtins.TimeoutError, code=-9):
    """The time given was not enough."""


class ConfigError(Error, code=-10):
    """A setting is missing or malformed."""


class JoinError(Error, code=-11):
    """The rendezvous refused this process."""


class AuthError(JoinError, code=-12):
    """The two sides do not hold the same secret."""


class PickleError(AuthError):
    """Python objects are not exchanged in a universe without authentication."""


class VersionError(JoinError, code=-13):
    """The two sides speak different versions."""


class LimitError(Error, code=-15):
    """A limit of the system or of the configuration is reached."""


class StateError(Error, RuntimeError, code=-16):
    """The call is not allowed now: the universe was left, or never joined."""


class ForkError(StateError, code=-17):
    """The call was made in a forked child of a process that has joined."""


class SystemError(Error, OSError, code=-18):
    """A system call failed."""


class UnsupportedError(Error, code=-19):
    """The library does not do this."""


class CancelledError(Error, code=-20):
    """The receive was cancelled."""


class ProtocolError(Error, code=-21):
    """What arrived is malformed."""


class BusyError(Error, code=-22):
    """Another operation is still in progress."""


class NoMemoryError(Error, MemoryError, code=-2):
    """Memory ran out."""


_CLASSES: dict[int, type[Error]] = {}
for _class in list(globals().values()):
    if isinstance(_class, type) and issubclass(_class, Error):
        _CLASSES.setdefault(_class.code, _class)


# WAITIO_MPI_ERR_BUFFER and downwards: finer classes of the conversion library (waitio_mpi.h). Here
# a bad root is a rank, a bad group a group, all others are arguments.
_CLASSES_OF_MPI = -101
_COARSER = {-105: -4, -106: -3}

_C_NAME = re.compile(
    r"\bwaitio_([a-z_]+)\b|\bWAITIO_(?:MPI_)?(ANY_SOURCE|ANY_TAG)\b|\bWAITIO_MPI_(\w+)"
)
# What the functions of C are called here.
_CALLS = {
    **{name: f"waitio.{name}" for name in "init finalize rejoin abort counter waitall".split()},
    **{name: name.capitalize() for name in ("isend", "irecv", "send", "recv", "probe", "iprobe")},
    **{name: f"Request.{name}" for name in ("wait", "test", "cancel")},
    "start": "Request.Start",
    "create_group": "Group.ranks",
}


def _spelled(match: re.Match[str]) -> str:
    call, constant, mpi = match.groups()
    if call is not None:
        return _CALLS.get(call, match.group())
    if constant is not None:
        return f"waitio.{constant}"
    return f"waitio.{mpi}" if mpi.isupper() else str(mpi)


def python_names(text: str) -> str:
    """Return a message of the library with the names that things have in Python."""
    return _C_NAME.sub(_spelled, text) if "waitio_" in text or "WAITIO_" in text else text


def from_code(code: int, text: str, peer: Peer | None = None) -> Error:
    """Return the exception for a code of the library.

    Parameters: `text` says what happened; `peer` is the other process, where there is one.
    """
    if code <= _CLASSES_OF_MPI:
        code = _COARSER.get(code, ArgumentError.code)
    what = python_names(text) or ERRORS.get(code, ("", str(code), ""))[1]
    return _CLASSES.get(code, Error)(what, code, peer)
