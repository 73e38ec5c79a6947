# SPDX-License-Identifier: BSD-3-Clause
"""Find out which MPI a program was built with (--mpi auto), and where its launcher is."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Sequence

from waitio.errors import WaitioError

# Prefixes of library names, the most telling first.
LIBRARIES: tuple[tuple[str, str], ...] = (
    ("libmpich", "mpich"),
    ("libmpifort.so.12", "intel"),
    ("libmpi.so.12", "intel"),
    ("libmpi_usempi", "openmpi"),
    ("libmpi_mpifh", "openmpi"),
    ("libmpi_cxx", "openmpi"),
    ("libopen-rte", "openmpi"),
    ("libmpi.so.20", "openmpi"),
    ("libmpi.so.40", "openmpi"),
    ("libmpi.so.80", "openmpi"),
)
CANDIDATES: dict[str, tuple[str, ...]] = {
    "openmpi": ("mpiexec.openmpi", "mpirun.openmpi", "orterun", "mpiexec", "mpirun"),
    "mpich": ("mpiexec.mpich", "mpirun.mpich", "mpiexec.hydra", "mpiexec", "mpirun"),
    "intel": ("mpiexec.hydra", "mpiexec", "mpirun"),
    "mvapich": ("mpiexec.mvapich", "mpiexec.hydra", "mpiexec", "mpirun"),
    "slurm": ("srun",),
    "fujitsu": ("mpiexec",),
}
GENERIC = ("mpiexec", "mpirun", "mpiexec.hydra")
# Words in `mpiexec --version` that tell the flavours apart, and the flavours that fit them.
MARKS: tuple[tuple[str, str], ...] = (
    ("fujitsu", "fujitsu"),
    ("intel", "intel"),
    ("open mpi", "openmpi"),
    ("openrte", "openmpi"),
    ("prte", "openmpi"),
    ("mvapich", "mvapich"),
    ("hydra", "mpich"),
    ("mpich", "mpich"),
)


def _dynamic_names(data: bytes) -> list[str]:
    """Return the DT_NEEDED names of a 64-bit ELF image; anything odd yields an empty list."""
    order = "<" if data[5] == 1 else ">"
    (table_at,) = struct.unpack_from(order + "Q", data, 32)
    size, count = struct.unpack_from(order + "HH", data, 54)
    loads, dynamic = [], None
    for index in range(count):
        kind, _, offset, address, _, length = struct.unpack_from(
            order + "IIQQQQ", data, table_at + index * size
        )
        if kind == 1:
            loads.append((address, offset, length))
        elif kind == 2:
            dynamic = (offset, length)
    if dynamic is None:
        return []
    needed, strings = [], 0
    for at in range(dynamic[0], dynamic[0] + dynamic[1], 16):
        tag, value = struct.unpack_from(order + "qQ", data, at)
        if tag == 1:
            needed.append(value)
        elif tag == 5:
            strings = value
    base = next((strings - a + o for a, o, n in loads if a <= strings < a + n), 0)
    return [data[base + at : data.index(b"\0", base + at)].decode("latin-1") for at in needed]


def needed_libraries(path: str) -> list[str]:
    """Return the shared libraries an executable asks for; [] if it is no 64-bit ELF file."""
    try:
        with open(path, "rb") as file:
            data = file.read(64 << 20)
    except OSError:
        return []
    if data[:5] != b"\x7fELF\x02":
        return []
    try:
        return _dynamic_names(data)
    except (struct.error, ValueError, IndexError):
        return []


def launcher_flavour(path: str) -> str:
    """Ask an mpiexec which MPI it belongs to; "" if it does not say."""
    try:
        answer = (
            subprocess.run(
                [path, "--version"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=10,
                check=False,
            )
            .stdout.decode("utf-8", "replace")
            .lower()
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return next((flavour for word, flavour in MARKS if word in answer), "")


def _fits(path: str, flavour: str) -> bool:
    if flavour in ("slurm", "fujitsu"):
        return True
    found = launcher_flavour(path)
    return found in (flavour, "") or {found, flavour} == {"mvapich", "mpich"}


def find_launcher(flavour: str, given: str = "") -> str:
    """Return the path of the launcher of an MPI flavour, or explain what is missing."""
    if given:
        path = shutil.which(given)
        if path is None:
            raise WaitioError(f"--mpiexec '{given}': no such program", 127)
        return path
    tried = CANDIDATES[flavour]
    for name in tried:
        path = shutil.which(name)
        if path is not None and (name not in GENERIC or _fits(path, flavour)):
            return path
    raise WaitioError(
        f"no launcher for --mpi {flavour} in PATH (tried {', '.join(tried)}); load its module"
        " or name it with --mpiexec PATH",
        127,
    )


def flavour_of(libraries: Sequence[str]) -> tuple[str, str]:
    """Return the MPI flavour that names of libraries tell, and which name; "" if none does."""
    for prefix, flavour in LIBRARIES:
        for name in libraries:
            if name.startswith(prefix):
                return flavour, name
    return "", ""


def installed_flavour() -> str:
    """Choose the flavour for --mpi auto where the program does not tell: what is installed."""
    if "PJM_JOBID" in os.environ and shutil.which("mpiexec"):
        return "fujitsu"
    for name in ("mpiexec", "mpirun"):
        path = shutil.which(name)
        flavour = launcher_flavour(path) if path else ""
        if flavour:
            return flavour
    if shutil.which("srun"):
        return "slurm"
    raise WaitioError(
        "--mpi auto: the program names no MPI library and no mpiexec or srun is in"
        " PATH; say --mpi FLAVOUR",
        127,
    )
