# SPDX-License-Identifier: BSD-3-Clause
"""An error that ends a Fortran program is on standard error once, whoever prints it."""

import subprocess

import pytest
from surroundings import clean


@pytest.mark.parametrize("errors", [None, "return", "abort"])
@pytest.mark.parametrize(
    "words, env, text",
    [
        ([], {"WAITIO_NPB": "2"}, "WAITIO_NPB=2 is set but WAITIO_PBID is not"),
        (["strided"], {}, "the buffer is not contiguous"),
    ],
)
def test_an_error_without_ierr_is_printed_once(build_dir, tmp_path, errors, words, env, text):
    program = build_dir / "tests" / "lang" / "errors_modern"
    if not program.exists():
        pytest.skip(f"{program} was not built: no Fortran compiler")
    full = clean(HOME=tmp_path, WAITIO_ERRORS=errors, **env)
    done = subprocess.run(
        [program, *words], env=full, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert done.stderr.count(text) == 1, done.stderr
    assert "still alive" not in done.stdout
