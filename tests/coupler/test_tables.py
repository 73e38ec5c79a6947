# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of tables and cells that do not fit, in Fortran and in Python: the array and the sizes are
named, on both sides; what is right goes on working."""

import sys
import time

import pytest
from test_faces import fortran
from test_mistakes import check
from vectors import PAIRS, pair, var


@pytest.fixture
def play(troupe, tmp_path):
    """Run compA (2 processes) and compB, in one language."""

    def run(language, mistake):
        conf = tmp_path / "coupling.conf"
        conf.write_text(pair(*PAIRS["AB"]) + var("vA", "yA", 10))
        env = {}
        if language == "fortran":
            program = [fortran(troupe, "mpich", "tables.f90")]
        else:
            pytest.importorskip("numpy")
            troupe.need("mpich")
            program = [sys.executable, troupe.source_dir / "tests" / "coupler" / "tables.py"]
            env = {
                "PYTHONPATH": str(troupe.source_dir / "python" / "h3ou"),
                "H3OU_LIB": str(troupe.build_dir / "lib" / "h3ou"),
            }
        parts = [(n, [*program, c, conf, mistake]) for n, c in ((2, "compA"), (1, "compB"))]
        return troupe.run(troupe.one_job("mpich", parts), **env)

    return run


@pytest.mark.parametrize("language", ["fortran", "python"])
def test_dummies_of_the_other_processes_may_have_any_size(play, language):
    done = play(language, "none")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("array", ["recv_index", "coef", "coef_cos", "coef_sin"])
def test_a_short_array_of_a_table_is_named_in_fortran(play, patient, array):
    since = time.monotonic()
    says = (
        "h3ou_set_interpolation_table from grid 'gA' to grid 'gB': "
        f"{array} has the size 5, not 6 as send_index"
    )
    check(play("fortran", array), says, time.monotonic() - since, patient)


MISTAKES = {
    "coef": "send_index, recv_index and coef have the sizes 6, 6 and 5",
    "empty": "the cells of grid 'gA' of component 'compA' lack centres (x, y) in process",
    "unit": "h3ou_def_grid_cells: unit 'miles' is none of degrees, radians, plane",
    "mask": "h3ou_def_grid_cells: mask has shape (1,), lon has 3",
    "corners": "give corner_lon and corner_lat together",
    "flat": "h3ou_put_data_25d: 'vA' has shape (3,), not (layer, point)",
    "own": 'KeyError: "a mistake of the program\'s own"',
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_python_are_named_on_both_sides(play, patient, mistake):
    since = time.monotonic()
    check(play("python", mistake), MISTAKES[mistake], time.monotonic() - since, patient)


def test_a_program_in_python_may_catch_what_the_module_refuses(play):
    done = play("python", "caught")
    assert done.returncode == 0, done.stdout + done.stderr


def test_values_that_do_not_fit_and_arrays_that_may_not_be_written(play):
    done = play("python", "values")
    assert done.returncode == 0, done.stdout + done.stderr
