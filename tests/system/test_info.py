# SPDX-License-Identifier: BSD-3-Clause
"""`waitio info`: what it prints comes from the variables and the running universe."""

import subprocess

import pytest
from surroundings import clean


@pytest.fixture
def info(build_dir):
    def run(*args, **env):
        return subprocess.run(
            [str(build_dir / "bin" / "waitio-info"), *args],
            env=clean(**env),
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


def rows(text):
    """{(distance, transport): [latency, bandwidth, local, eager, piece]}"""
    found = {}
    for line in text.splitlines():
        cells = line.split()
        for i, word in enumerate(cells):
            if word in ("self", "tcp", "shm") and len(cells) == i + 6:
                found[" ".join(cells[:i]), word] = [float(c) for c in cells[i + 1 :]]
    return found


def test_protocols_by_distance(info):
    table = rows(info("--protocols").stdout)
    assert set(table) == {
        ("myself", "self"),
        ("same host", "shm"),
        ("same host", "tcp"),
        ("same subnet", "tcp"),
        ("farther", "tcp"),
    }
    latency = [
        table[k][0]
        for k in (
            ("same host", "shm"),
            ("same host", "tcp"),
            ("same subnet", "tcp"),
            ("farther", "tcp"),
        )
    ]
    assert latency == sorted(latency)
    assert table["farther", "tcp"][3] > table["same subnet", "tcp"][3]


def test_every_limit_can_be_set(info):
    out = info(
        "--protocols",
        WAITIO_EAGER_MAX="300K",
        WAITIO_EAGER_MAX_FAR="7M",
        WAITIO_SHM_EAGER_MAX="20K",
        WAITIO_LOCAL_COMPLETE_MAX="8K",
        WAITIO_CHUNK="128K",
        WAITIO_SHM_RINGS="5",
        WAITIO_SHM_FETCH="on",
        WAITIO_SHM_FETCH_MIN="70K",
    ).stdout
    table = rows(out)
    assert table["same host", "tcp"][2:] == [8192, 300 << 10, 128 << 10]
    assert table["farther", "tcp"][2:] == [8192, 7 << 20, 128 << 10]
    assert table["same host", "shm"][2:] == [8192, 20 << 10, 128 << 10]
    assert "first 5 of them" in out
    assert f"{70 << 10} bytes (WAITIO_SHM_FETCH_MIN)" in out and "sender's memory always" in out


def test_malformed_variable_is_an_error(info):
    p = info("--protocols", WAITIO_EAGER_MAX_FAR="much")
    assert p.returncode == 1 and "WAITIO_EAGER_MAX_FAR" in p.stderr


def test_what_was_set_is_marked(info):
    lines = info(WAITIO_CHUNK="128K", COUPLER_JOB_ID="j7").stdout.splitlines()
    marked = {line.split()[1]: line for line in lines if line.startswith("* ")}
    assert set(marked) == {"WAITIO_CHUNK", "WAITIO_JOB_ID"}
    assert "(default: " in marked["WAITIO_CHUNK"] and "j7" in marked["WAITIO_JOB_ID"]
    assert any("*: set in the environment" in line for line in lines)
