# SPDX-License-Identifier: BSD-3-Clause
"""Where the library, its headers and the sources of the providers are installed."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from waitio import __version__
from waitio.errors import WaitioError

SHARE = os.path.join("share", "waitio", "hybrid")
FORM = "waitio_hybrid.pc.in"


@dataclass(frozen=True)
class Place:
    """An installation."""

    prefix: str
    libdir: str  # below the prefix

    @property
    def lib(self) -> str:
        """The folder of libwaitio."""
        return os.path.join(self.prefix, self.libdir)

    @property
    def include(self) -> str:
        """The folder of the headers."""
        return os.path.join(self.prefix, "include")

    @property
    def share(self) -> str:
        """The folder of the sources."""
        return os.path.join(self.prefix, SHARE)

    def kinds(self) -> list[tuple[str, str, list[str]]]:
        """Return name, short name and macros of the version for each kind of MPI."""
        with open(os.path.join(self.share, "waitio_mpi_kinds.txt")) as file:
            rows = [line.rstrip("\n").split("|") for line in file if not line.startswith("#")]
        return [(row[0], row[1], row[2].split(".")) for row in rows]

    def built_for(self, prefix: str, library: str) -> str:
        """Return the MPI that an installed library was built for, "" when there is none."""
        for folder in dict.fromkeys((os.path.join(prefix, self.libdir), self.lib)):
            try:
                with open(os.path.join(folder, "pkgconfig", f"{library}.pc")) as file:
                    match = re.search(r"\(built with (.*); compile", file.read())
            except OSError:
                continue
            if match:
                return match.group(1)
        return ""


def prefixes() -> Iterator[str]:
    """Return folders that may be the prefix, as seen from this package and this command."""
    starts = [os.path.abspath(__file__)]
    if sys.argv and sys.argv[0]:
        starts.append(os.path.realpath(sys.argv[0]))
    for start in starts:
        for _ in range(6):
            start = os.path.dirname(start)
            yield start


def find_place() -> Place:
    """Return the installation that this command belongs to."""
    for prefix in prefixes():
        if not os.path.isfile(os.path.join(prefix, SHARE, FORM)):
            continue
        for pattern in ("lib*", "lib*/*"):
            for path in sorted(
                glob.glob(os.path.join(glob.escape(prefix), pattern, "libwaitio.so"))
            ):
                return Place(prefix, os.path.relpath(os.path.dirname(path), prefix))
    raise WaitioError(
        "the sources of the providers (share/waitio/hybrid) and libwaitio.so are not installed"
        " around this command. `pip install` brings neither; in the sources of WaitIO run"
        " `make install PREFIX=...`, then PREFIX/bin/waitio build-hybrid"
    )


def fill_in(place: Place, values: dict[str, str], path: str) -> None:
    """Write a file for pkg-config."""
    up = os.path.relpath(place.prefix, os.path.join(place.lib, "pkgconfig"))
    values = {
        "WAITIO_PC_TO_PREFIX": up,
        "CMAKE_INSTALL_LIBDIR": place.libdir,
        "CMAKE_INSTALL_INCLUDEDIR": "include",
        "PROJECT_VERSION": __version__,
        **values,
    }
    with open(os.path.join(place.share, FORM)) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(re.sub(r"@(\w+)@", lambda match: values[match.group(1)], text))
