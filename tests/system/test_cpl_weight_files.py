# SPDX-License-Identifier: BSD-3-Clause
"""`waitio cpl check` looks at the weight files of a configuration: what is wrong in one is said
with the file of the configuration, the line and the weight file."""

import os
import struct
import subprocess
import sys

import pytest
from surroundings import clean

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import classic


@pytest.fixture
def cpl(build_dir, tmp_path):
    """The command in an empty folder: its exit status, and both outputs together."""

    def run(*words):
        line = [str(build_dir / "bin" / "waitio"), "cpl", *map(str, words)]
        done = subprocess.run(
            line, cwd=tmp_path, env=clean(), capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.fixture
def files(cpl, tmp_path):
    """Weights from 54 to 72 cells, and a way to change numbers in them."""
    status, said = cpl("weights", "cs3", "r12x6", "-o", "w.nc")
    if "built without netCDF" in said:
        pytest.skip("built without netCDF (Debian: apt-get install libnetcdf-dev)")
    assert status == 0, said
    return tmp_path


def conf(folder, *weights, grids=(("ga", "gb"),)):
    """Each weight file for a pair of grids, named from the fields in lines 2, 4, ..."""
    text = ""
    for file, (put, get) in zip(weights, grids):
        text += f"&h3ou_var comp_put='a', comp_get='b', grid_put='{put}', grid_get='{get}', "
        text += f"weight_file='{file}' /\n"
        name = f"v{len(text)}"
        text += f"&h3ou_var var_put='{name}', var_get='{name}', intvl=3600, lag=-1, flag='SNP' /\n"
    (folder / "c.conf").write_text(text)
    return "c.conf"


def change(folder, old, new, name="bad.nc"):
    """A copy of the weights with some bytes changed, which are there once."""
    data = (folder / "w.nc").read_bytes()
    assert data.count(old) == 1
    (folder / name).write_bytes(data.replace(old, new))
    return name


def test_sound_files_are_accepted(cpl, files):
    status, said = cpl("check", conf(files, "w.nc"), "--strict", "--quiet")
    assert (status, said) == (0, "")


def test_a_file_that_is_not_there_is_named(cpl, files):
    status, said = cpl("check", conf(files, "no.nc"), "--quiet")
    assert status == 0 and said.startswith("warning: c.conf:2: weight_file:") and "'no.nc'" in said
    assert cpl("check", "c.conf", "--strict", "--quiet")[0] == 1
    status, said = cpl("check", conf(files, files / "no.nc"), "--quiet")
    assert status == 1 and said.startswith("error: c.conf:2: weight_file:")


def test_a_file_of_something_else_is_an_error(cpl, files):
    cpl("grid", "cs3", "-o", "g.nc")
    status, said = cpl("check", conf(files, "g.nc"), "--quiet")
    assert status == 1 and "error: c.conf:2: weight_file: 'g.nc' holds no weights" in said


def test_links_outside_and_weights_that_are_no_numbers_are_errors(cpl, files):
    v, _ = classic.read(files / "w.nc")
    sources = struct.pack(f">{len(v['src_address'])}i", *v["src_address"])
    change(files, sources, struct.pack(">i", 55) + sources[4:])
    status, said = cpl("check", conf(files, "bad.nc"), "--quiet")
    assert status == 1 and "error: c.conf:2: weight_file: 'bad.nc', link 1: source 55" in said
    weights = struct.pack(f">{len(v['remap_matrix'])}d", *v["remap_matrix"])
    change(files, weights, weights[:16] + struct.pack(">d", float("nan")) + weights[24:])
    status, said = cpl("check", conf(files, "bad.nc"), "--quiet")
    assert (
        status == 1 and "error: c.conf:2: weight_file: 'bad.nc', link 3" in said and "nan" in said
    )


def test_sums_far_from_one_are_doubtful(cpl, files):
    v, _ = classic.read(files / "w.nc")
    weights = struct.pack(f">{len(v['remap_matrix'])}d", *v["remap_matrix"])
    change(files, weights, struct.pack(">d", v["remap_matrix"][0] + 0.5) + weights[8:])
    status, said = cpl("check", conf(files, "bad.nc"), "--quiet")
    target = v["dst_address"][0]
    assert status == 0
    assert "warning: c.conf:2: weight_file: 'bad.nc': the weights of 1 of 72 targets" in said
    assert f"(target {target}: 1.5)" in said


def test_files_agree_in_the_size_of_a_grid(cpl, files):
    cpl("weights", "cs4", "r10x5", "-o", "other.nc")
    text = conf(files, "w.nc", "other.nc", grids=(("ga", "gb"), ("ga", "gc")))
    status, said = cpl("check", text, "--quiet")
    assert status == 1
    assert (
        "error: c.conf:4: weight_file: grid 'ga' of component 'a' has 96 cells in 'other.nc', but "
        "54 in 'w.nc'" in said
    )
    text = conf(files, "w.nc", "other.nc", grids=(("ga", "gb"), ("gd", "gc")))
    assert cpl("check", text, "--quiet")[0] == 0
