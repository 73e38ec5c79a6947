# SPDX-License-Identifier: BSD-3-Clause
"""The universe of this process: joining, who is there, groups, leaving."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Callable

from waitio import _core
from waitio._core import Group


def _number(comm: Any, attribute: str, method: str) -> int:
    value = getattr(comm, attribute, None)
    if value is None:
        value = getattr(comm, method)()
    return int(value)


class Universe:
    """All processes of all parallel blocks of a coupled run, seen from this one.

    Making it joins; leaving the `with` block finalizes. A process belongs to one universe at a
    time: every `Universe` of a process is the same.

    Parameters:
        timeout: seconds to wait for every block (None: 1000); `WAITIO_INIT_TIMEOUT` wins.
        comm: an mpi4py communicator whose rank and size place this process in its block; without
            it the launcher's variables do, or `WAITIO_RANK` and `WAITIO_NPROCS`. Nothing is sent
            over it.
        pb: id of this block, in the place of `WAITIO_PBID`.
        npb: number of blocks, in the place of `WAITIO_NPB`.
        allow_pickle: whether Python objects may travel without authentication (`allow_pickle()`).
    """

    def __init__(
        self,
        timeout: float | None = None,
        *,
        comm: Any = None,
        pb: int | None = None,
        npb: int | None = None,
        allow_pickle: bool | None = None,
    ) -> None:
        settings: dict[str, int | None] = {"WAITIO_PBID": pb, "WAITIO_NPB": npb}
        if comm is not None:
            settings["WAITIO_RANK"] = _number(comm, "rank", "Get_rank")
            settings["WAITIO_NPROCS"] = _number(comm, "size", "Get_size")
        given = {name: str(int(value)) for name, value in settings.items() if value is not None}
        _core._init_with(timeout, given)
        if allow_pickle is not None:
            _core.allow_pickle(allow_pickle)
        self._look()

    def _look(self) -> None:
        self._seen = _core._joined()
        self._place = _core._place()
        self._world: Group | None = None

    def _now(self) -> tuple[int, int, int, tuple[int, ...]]:
        """My place in the universe of today: another object may have joined again."""
        if self._seen != _core._joined() and _core.initialized():
            self._look()
        return self._place

    @property
    def rank(self) -> int:
        """My universe rank: the ranks of PB 0 come first, then those of PB 1, and so on."""
        return self._now()[0]

    @property
    def size(self) -> int:
        """Processes in the universe."""
        return self._now()[1]

    @property
    def pb(self) -> int:
        """Id of my parallel block."""
        return self._now()[2]

    @property
    def nprocs(self) -> tuple[int, ...]:
        """Processes of each parallel block."""
        return self._now()[3]

    @property
    def npb(self) -> int:
        """Number of parallel blocks."""
        return len(self._now()[3])

    @property
    def pb_rank(self) -> int:
        """My rank in my parallel block."""
        return self.rank - sum(self.nprocs[: self.pb])

    @property
    def world(self) -> Group:
        """The group of all processes, in order of universe rank (gid 0)."""
        self._now()
        if self._world is None:
            self._world = Group.world()
        return self._world

    def block(self, pb: int | None = None, gid: int = 0) -> Group:
        """Make the group of one parallel block (None: mine)."""
        return Group.block(self.pb if pb is None else pb, gid=gid)

    def group(
        self,
        members: Mapping[int, Iterable[int]] | Callable[[int, int], object],
        gid: int = 0,
    ) -> Group:
        """Make a group: of {PB id: ranks}, or of those for which `members(pb, rank)` is true."""
        if callable(members):
            return Group.where(members, gid=gid)
        return Group.ranks(members, gid=gid)

    def rejoin(self, timeout: float | None = None) -> None:
        """Leave, and meet all processes anew: a block has died and was started again.

        Groups and requests of before are refused; `world` is the group of the new universe.
        """
        _core.rejoin(timeout)
        self._look()

    def finalize(self) -> None:
        """Leave the universe; harmless when it was left already."""
        if _core.initialized():
            _core.finalize()

    def __enter__(self) -> Universe:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.finalize()

    def __repr__(self) -> str:
        return (
            f"<Universe of {self.size} processes in {self.npb} blocks;"
            f" I am PB {self.pb} rank {self.pb_rank}>"
        )
