# SPDX-License-Identifier: BSD-3-Clause
"""scripts/setup.sh where nothing is installed: what it says, and what it does not do."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = "cat dirname env grep head mktemp rm sh sort tail uname".split()
RESOLVING = "W: Failed to fetch http://mirror/x  Temporary failure resolving 'mirror'"
UNKNOWN = "E: Unable to locate package gcc"


@pytest.fixture
def setup(tmp_path):
    """Runs it with a PATH of basic commands, and an apt-get that does what the test wants."""
    for tool in TOOLS:
        (tmp_path / tool).symlink_to(shutil.which(tool))

    def command(name, text):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)

    def run(parts, user, apt, sudo=None):
        command("id", f"echo {user}")
        if apt is not None:
            command("apt-get", f"echo apt-get $* >>{tmp_path}/calls\n{apt}")
        if sudo is not None:
            command("sudo", sudo)
        words = [str(ROOT / "scripts" / "setup.sh"), *parts.split()]
        env = {k: str(tmp_path) for k in ("PATH", "HOME", "TMPDIR", "HEADERS")}
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)
        calls = tmp_path / "calls"
        return done, calls.read_text() if calls.exists() else ""

    return run


def test_a_user_is_told_all_that_is_missing_and_the_command(setup):
    done, calls = setup("build demo", 1000, "exit 100")
    assert done.returncode == 1 and calls == "", calls
    for word in ("a C compiler (Debian package gcc)", "MPICH's mpiexec", "OpenSSL's", "optional"):
        assert word in done.stderr, done.stderr
    last = done.stderr.strip().splitlines()[-1].split()
    assert last[:3] == ["apt-get", "install", "--no-install-recommends"], done.stderr
    assert {"gcc", "make", "cmake", "mpich", "openmpi-bin", "gfortran"} <= set(last)
    assert len(set(last)) == len(last), "a package is named twice"
    assert "    apt-get update\n" in done.stderr and "Neither root nor sudo" in done.stderr


def test_who_has_sudo_with_a_password_gets_it_in_the_command(setup):
    done, calls = setup("build", 1000, "exit 100", sudo="exit 1")
    assert done.returncode == 1 and calls == ""
    assert "    sudo apt-get install --no-install-recommends gcc" in done.stderr


def test_without_apt_other_package_managers_are_named(setup):
    done, _ = setup("build", 0, None)
    assert done.returncode == 1 and "CMake 3.20" in done.stderr and "spack" in done.stderr


@pytest.mark.parametrize(
    "lines, reason",
    [
        ([RESOLVING, UNKNOWN], "cannot be reached"),
        ([UNKNOWN], "package sources do not have them"),
        (["E: You don't have enough free space in /var/cache/apt/archives/."], "disk is full"),
        (["E: Could not get lock /var/lib/dpkg/lock."], "another package manager"),
        (["E: something new"], "apt-get says it above"),
    ],
)
def test_root_is_told_why_packages_cannot_be_installed(setup, lines, reason):
    text = "\n".join(f'echo "{line}"' for line in lines)
    done, calls = setup("build", 0, f"{text}\nexit 100")
    assert done.returncode == 1 and calls.count(" install ") == 3 and calls.count(" update") == 1
    assert done.stderr.count("setup: the reason: ") == 1
    assert reason in done.stderr.splitlines()[-1], done.stderr
    assert lines[-1] in done.stderr, "what apt-get said itself"
    assert "could not install gcc" in done.stderr


def test_what_is_optional_stops_nothing(setup):
    """METIS alone cannot be had; everything else can."""
    refuse = 'case "$*" in *libmetis-dev*) exit 100 ;; esac'
    done, calls = setup("demo-heat", 0, refuse)
    assert done.returncode == 0, done.stderr
    assert "goes on without libmetis-dev" in done.stdout
    had = [one for one in calls.splitlines() if " install " in one and "libmetis-dev" not in one]
    assert "gcc" in had[0] and had[-1].endswith(" libyaml-dev"), calls
