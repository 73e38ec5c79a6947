# SPDX-License-Identifier: BSD-3-Clause
"""The transport through files, by its conformance suite, between two clients of one file system.

Half of the nodes of each test use one client, half the other one. What whole programs do there -
joining, deaths, errors that come late - is in tests/system/core/test_weak_files.py.
"""

import subprocess

import clients
import patience
import pytest
from surroundings import clean

SEEN = ("hidden", "unlisted", "stale_sizes", "stale_pages", "held")


def conform(build_dir, program, folders, before=(), share=1, silence=3):
    """Run a program of tests/conform, files only; nothing may be left of it.

    @param share  of the messages it sends one in so many: a weakness comes to bear in some hundred
    @param silence  seconds without a sign of life after which a peer is dead, between two clients
    """
    env = clean(
        CONFORM_ONLY="file",
        CONFORM_SCRATCH=":".join(map(str, folders)),
        CONFORM_SHARE=share,
        CONFORM_SILENCE=silence,
    )
    done = subprocess.run(
        [*before, build_dir / "tests" / "conform" / program],
        env=env,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=patience.scaled(240),
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return done.stdout


@pytest.mark.parametrize("weakness", clients.WEAK)
def test_messages(weak, build_dir, weakness):
    """All sizes both ways, batches, order, random traffic. Guard: without opening again, or
    without syncing, most of the weaknesses end this by its time limit."""
    with weak(**clients.WEAK[weakness]) as pair:
        conform(build_dir, "messages", [c.path for c in pair], share=8)
        seen = {name: n + pair[1].counts()[name] for name, n in pair[0].counts().items()}
        idle = ("strong", "late sizes")  # files have their size before they have their name
        assert weakness in idle or sum(seen[name] for name in SEEN) > 0, seen


def test_links_where_names_come_late(weak, build_dir):
    """Links that are made, closed, made again, broken by deaths and given up. It is names that they
    hang on; where data is old, too, this takes many minutes. Locks tell nothing there: a dead peer
    is one that is silent."""
    with weak(entry_ms=50) as pair:  # each dial waits for a name
        conform(build_dir, "links", [c.path for c in pair], share=48, silence=0.5)


OVERLAY = """mount -t tmpfs tmpfs "$0" && cd "$0" && mkdir lower upper work seen &&
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work seen || exit 77
"$@" && ls -A seen | wc -l"""


@pytest.mark.parametrize("program", ["messages", "links"])
def test_overlay(tmp_path, build_dir, program):
    """Containers have such a file system as their root."""
    (tmp_path / "at").mkdir()
    begin = ["unshare", "--mount", "sh", "-c", OVERLAY, tmp_path / "at"]
    tried = subprocess.run([*begin, "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no overlay can be mounted here: {tried.stderr.decode().strip()}")
    assert conform(build_dir, program, ["seen"], begin).splitlines()[-1] == "0"


def test_disk(tmp_path, build_dir):
    """The file system of the machine's temporary folder (unless asked, they use /dev/shm)."""
    conform(build_dir, "messages", [tmp_path])
    assert not list(tmp_path.iterdir())
