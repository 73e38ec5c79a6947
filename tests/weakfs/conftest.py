# SPDX-License-Identifier: BSD-3-Clause
"""Clients of weak file systems for the tests here."""

import clients
import pytest


@pytest.fixture
def weak(build_dir, tmp_path):
    """weak(attr_ms=300, b={...}): context of two clients; what is not given is strong."""

    def make(name="fs", **how):
        return clients.weak_pair(build_dir, tmp_path / name, **how)

    return make
