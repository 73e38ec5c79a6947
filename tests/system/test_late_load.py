# SPDX-License-Identifier: BSD-3-Clause
"""The shared library can be loaded by a program that is running already, as Python's modules are.

Thread variables that are reached without a call lie in room that the loader sets aside when a
program starts; a library that comes later finds a few hundred bytes of it, shared with others.
"""

import ctypes
import re
import subprocess

import pytest

ROOM = 64


def test_thread_variables_are_small(build_dir):
    library = build_dir / "lib" / "libwaitio.so"
    out = subprocess.run(["readelf", "-lW", library], capture_output=True, text=True, check=True)
    sizes = [line.split()[5] for line in out.stdout.splitlines() if line.split()[:1] == ["TLS"]]
    assert all(int(size, 16) <= ROOM for size in sizes), f"{sizes} bytes of thread variables"


def test_loads_late(build_dir):
    if re.search(r"WAITIO_SANITIZE:\w+=\S", (build_dir / "CMakeCache.txt").read_text()):
        pytest.skip("a sanitizer must be there from the start of the program")
    library = ctypes.CDLL(str(build_dir / "lib" / "libwaitio.so"))
    library.waitio_last_error.restype = ctypes.c_char_p
    assert library.waitio_initialized(None) != 0
    assert library.waitio_last_error()
