# SPDX-License-Identifier: BSD-3-Clause
"""scikit-build-core, with two additions.

An sdist carries the C library's sources as `library/`: they lie outside of this folder in a
checkout, where an sdist cannot reach. And the build may be asked for in the checkout's root.
"""

from __future__ import annotations

import os
import shutil

from scikit_build_core import build as _build
from scikit_build_core.build import *  # noqa: F403

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(HERE)
os.chdir(HERE)  # `pip install .` in the checkout's root, whose pyproject.toml leads here
PARTS = (
    "CMakeLists.txt",
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "cmake",
    "include",
    "src",
    "tools",
)


def _carry(target: str) -> None:
    os.mkdir(target)
    for part in PARTS:
        source = os.path.join(ROOT, part)
        if os.path.isdir(source):
            skip = shutil.ignore_patterns("__pycache__", "*.pyc", "gen")
            shutil.copytree(source, os.path.join(target, part), ignore=skip)
        else:
            shutil.copy2(source, target)


def build_sdist(sdist_directory: str, config_settings: dict | None = None) -> str:
    """Make an sdist that needs nothing outside of it."""
    target = os.path.join(HERE, "library")
    if os.path.exists(os.path.join(HERE, "PKG-INFO")):  # this is an sdist already
        return _build.build_sdist(sdist_directory, config_settings)
    shutil.rmtree(target, ignore_errors=True)
    _carry(target)
    try:
        return _build.build_sdist(sdist_directory, config_settings)
    finally:
        shutil.rmtree(target, ignore_errors=True)
