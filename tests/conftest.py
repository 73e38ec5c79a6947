# SPDX-License-Identifier: BSD-3-Clause
"""What every Python test shares: where the build lies, and an installed copy."""

import os
import pathlib
import subprocess

import pytest

# The installed tree is looked at for files that do not belong there; its command is run before.
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

ROOT = pathlib.Path(__file__).resolve().parent.parent


def _build_dir():
    path = pathlib.Path(os.environ.get("WAITIO_BUILD_DIR", ROOT / "build" / "release"))
    return path.resolve()


@pytest.fixture(scope="session")
def source_dir():
    """Root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def build_dir():
    """Folder that CMake built in: bin/, lib/, tests/system/."""
    path = _build_dir()
    if not (path / "CMakeCache.txt").exists():
        pytest.fail(f"nothing is built in {path}: run make first, or set WAITIO_BUILD_DIR")
    return path


@pytest.fixture(scope="session")
def install_dir(build_dir, tmp_path_factory):
    """An installed copy of the build, made once per run."""
    prefix = tmp_path_factory.mktemp("install") / "prefix"
    done = subprocess.run(
        ["cmake", "--install", str(build_dir), "--prefix", str(prefix)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return prefix
