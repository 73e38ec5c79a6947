# SPDX-License-Identifier: BSD-3-Clause
"""An intercommunicator between two blocks that run under different MPIs."""

import pathlib

import pytest
from jobs import MPIS, blocks, other

SOURCE = pathlib.Path(__file__).with_name("two_mpis.c")


@pytest.mark.parametrize("first", MPIS)
def test_blocks_of_two_mpis_talk_by_an_intercommunicator(first, launcher, install_dir):
    lib = next(install_dir.glob("**/libwaitio.so")).parent
    include = next(install_dir.glob("**/waitio_mpi.h")).parent
    words = ["-std=c11", "-Wall", f"-I{include}", f"-L{lib}", "-lwaitio", f"-Wl,-rpath,{lib}"]
    shape = [(first, 3), (other(first), 2)]
    parts = [(mpi, count, [launcher.compile(mpi, SOURCE, *words)]) for mpi, count in shape]
    done = launcher.run(blocks(*parts), 90)
    assert done.returncode == 0, done.all()
    assert done.stdout.count("ok") == 5
