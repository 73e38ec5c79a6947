# SPDX-License-Identifier: BSD-3-Clause
"""What the package raises: one class per kind of failure, each with code, peer and remedy."""

from __future__ import annotations

import builtins
from typing import NamedTuple

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
        return ERRORS.get(self.code, ("", "", ""))[2]

    def __int__(self) -> int:
        return self.code

    def __eq__(self, other: object) -> bool:
        return self.code == other if isinstance(other, int) else self is other

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self):  # type: ignore[no-untyped-def]
        return (type(self), (str(self), self.code, self.peer))


class ArgumentError(Error, ValueError):
    """An argument is wrong: group, rank, tag, buffer."""

    code = -1


class GroupError(ArgumentError):
    """The group was freed, or this process is no member of it."""

    code = -3


class RankError(ArgumentError):
    """The rank is not one of the group."""

    code = -4


class TagError(ArgumentError):
    """The tag is out of range."""

    code = -5


class BufferError(ArgumentError, builtins.BufferError):
    """The object's memory cannot be sent or received into as it is."""


class RequestError(Error):
    """The request is stale or of another universe."""

    code = -6


class TruncateError(Error):
    """The message was longer than the receive buffer; what fits was delivered."""

    code = -7


class PeerError(Error, ConnectionError):
    """The other process has died, left or cannot be reached."""

    code = -8


class RouteError(PeerError):
    """No transport connects the two processes."""

    code = -14


class TimeoutError(Error, builtins.TimeoutError):
    """The time given was not enough."""

    code = -9


class ConfigError(Error):
    """A setting is missing or malformed."""

    code = -10


class JoinError(Error):
    """The rendezvous refused this process."""

    code = -11


class AuthError(JoinError):
    """The two sides do not hold the same secret."""

    code = -12


class PickleError(AuthError):
    """Python objects are not exchanged in a universe without authentication."""


class VersionError(JoinError):
    """The two sides speak different versions."""

    code = -13


class LimitError(Error):
    """A limit of the system or of the configuration is reached."""

    code = -15


class StateError(Error, RuntimeError):
    """The call is not allowed now: the universe was left, or never joined."""

    code = -16


class ForkError(StateError):
    """The call was made in a forked child of a process that has joined."""

    code = -17


class SystemError(Error, OSError):
    """A system call failed."""

    code = -18


class UnsupportedError(Error):
    """The library does not do this."""

    code = -19


class CancelledError(Error):
    """The receive was cancelled."""

    code = -20


class ProtocolError(Error):
    """What arrived is malformed."""

    code = -21


class BusyError(Error):
    """Another operation is still in progress."""

    code = -22


class NoMemoryError(Error, MemoryError):
    """Memory ran out."""

    code = -2


_CLASSES: dict[int, type[Error]] = {}
for _class in list(globals().values()):
    if isinstance(_class, type) and issubclass(_class, Error):
        _CLASSES.setdefault(_class.code, _class)


def from_code(code: int, text: str, peer: Peer | None = None) -> Error:
    """Return the exception for a code of the library.

    Parameters: `text` says what happened; `peer` is the other process, where there is one.
    """
    what = text or ERRORS.get(code, ("", str(code), ""))[1]
    return _CLASSES.get(code, Error)(what, code, peer)
