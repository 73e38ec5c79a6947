# SPDX-License-Identifier: BSD-3-Clause
"""What others may do in a scratch directory: their directories, links and universes. Programs must
refuse what is not theirs alone, name it, and neither read, change nor remove it."""

import os
import shutil
import tempfile

import pytest

NOBODY = 65534
HOWS = ["joining", "messages"]  # what meets the trick first


@pytest.fixture(params=HOWS)
def how(request, universe):
    """A universe that joins in the directory, or only exchanges messages there."""
    env = universe.alone if request.param == "joining" else dict(WAITIO_COMM_TYPE="file")
    return universe(**env, WAITIO_INIT_TIMEOUT=5)


@pytest.fixture
def root():
    if os.geteuid() != 0:
        pytest.skip("only root can be, or make a directory of, another user")


def run_dir(u, tmp_path):
    return tmp_path / f".waitio-file-{u.env['WAITIO_JOB_ID']}"


def refused(u, *texts, code="CONFIG"):
    """Both processes of a pair fail, and say why."""
    cast = [u.process(pb, 0, 1, 2, "actor") for pb in (0, 1)]
    for p in cast:
        p.begin("init 5")
    for p in cast:
        p.failed(code, *texts, timeout=20)


def tree(path):
    """Names, owners, modes and contents below a directory."""
    return [
        (str(p), p.lstat().st_uid, p.lstat().st_mode, p.read_bytes() if p.is_file() else b"")
        for p in sorted(path.rglob("*"))
    ]


# ---- directories of others ----


def test_directory_of_another_user(how, tmp_path, root):
    path = run_dir(how, tmp_path)
    path.mkdir(mode=0o700)
    os.chown(path, NOBODY, NOBODY)
    refused(how, str(path), f"belongs to user {NOBODY}", "WAITIO_SCRATCH_DIR")
    assert list(path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o755])
def test_directory_with_loose_permissions(how, tmp_path, mode):
    path = run_dir(how, tmp_path)
    path.mkdir()
    path.chmod(mode)
    refused(how, str(path), f"mode {mode:o}", "700")
    assert list(path.iterdir()) == []


def test_rendezvous_of_another_user(universe, tmp_path, root):
    u = universe(**universe.alone, WAITIO_INIT_TIMEOUT=5)
    run_dir(u, tmp_path).mkdir(mode=0o700)
    room = run_dir(u, tmp_path) / "rendezvous"
    room.mkdir(mode=0o700)
    os.chown(room, NOBODY, NOBODY)
    refused(u, str(room), "must be a directory of ours")
    assert list(room.iterdir()) == []


def test_two_users_with_one_job_id(universe, build_dir, root):
    """A program of another user, with the same job id in the same scratch directory, gets an error
    that names the owner, and the run that is there goes on undisturbed."""
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv command")
    scratch = tempfile.mkdtemp(prefix="wt-shared-", dir="/tmp")
    try:
        os.chmod(scratch, 0o1777)
        home = os.path.join(scratch, "home")
        os.mkdir(home, 0o700)
        os.chown(home, NOBODY, NOBODY)
        u = universe(**{**universe.alone, "WAITIO_SCRATCH_DIR": scratch})
        a, b = u.actors([1, 1])
        # Another user may not be able to reach this build: give him a copy.
        program = shutil.copy(u.programs / "actor", scratch)
        for library in (build_dir / "lib").glob("libwaitio.so*"):
            shutil.copy(library, scratch)
        before = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        place = dict(WAITIO_PBID=0, WAITIO_NPB=2, WAITIO_RANK=0, WAITIO_NPROCS=1)
        env = {**place, "HOME": home, "LD_LIBRARY_PATH": scratch}
        other = u.run([*before, program], "other", env)
        other.fails("init 3", "CONFIG", "belongs to user 0", "it must be ours", timeout=20)
        u.exchange(a, 0, b, 1, 100000)
        u.leave(a, b)
    finally:
        shutil.rmtree(scratch)


# ---- symbolic links ----


@pytest.fixture
def precious(tmp_path):
    """A directory that a link points to; nothing may be made, changed or removed in it."""
    path = tmp_path / "precious"
    (path / "in").mkdir(parents=True)
    (path / "data").write_text("of years")
    for folder in (path, path / "in"):
        folder.chmod(0o700)
    before = tree(path)
    yield path
    assert tree(path) == before


def test_symbolic_link_in_place_of_the_directory(how, tmp_path, precious):
    run_dir(how, tmp_path).symlink_to(precious)
    refused(how, str(run_dir(how, tmp_path)), "symbolic links are not followed")


def test_symbolic_link_in_place_of_the_rendezvous(universe, tmp_path, precious):
    u = universe(**universe.alone, WAITIO_INIT_TIMEOUT=5)
    run_dir(u, tmp_path).mkdir(mode=0o700)
    (run_dir(u, tmp_path) / "rendezvous").symlink_to(precious)
    refused(u, "rendezvous", "no symbolic link")


@pytest.mark.parametrize("name", ["here", "0123456789abcdef", "notes"])
def test_symbolic_links_in_the_rendezvous(universe, tmp_path, precious, name):
    """They are thrown away; what they point to is not."""
    u = universe(**universe.alone)
    room = run_dir(u, tmp_path) / "rendezvous"
    room.mkdir(parents=True)
    for folder in (room, room.parent):
        folder.chmod(0o700)
    (room / name).symlink_to(precious / "data" if name == "here" else precious)
    a, b = u.actors([1, 1])
    u.exchange(a, 0, b, 1, 100000)
    u.leave(a, b)


def test_symbolic_links_among_the_streams(universe, tmp_path, precious):
    """Somebody puts links into the folder of a living process: a knock, a stream, a goodbye."""
    u = universe(WAITIO_COMM_TYPE="file")
    a, b = u.actors([1, 1])
    for folder in run_dir(u, tmp_path).glob("??/*"):
        for other in run_dir(u, tmp_path).glob("??/*"):
            token = other.name
            (folder / f"k0000000{0}-{token}").symlink_to(precious / "data")
            (folder / f"s0000000{1}-{token}-0123456789abcdef").symlink_to(precious / "data")
            (folder / f"l0000000{1}-{token}-0123456789abcdef").symlink_to(precious / "data")
    u.exchange(a, 0, b, 1, 100000)
    u.leave(a, b)


# ---- universes beside each other ----


def test_two_universes_with_one_job_id_in_one_directory(universe, tmp_path):
    """They met at two ports; the folders of their processes lie beside each other."""
    first = universe(WAITIO_COMM_TYPE="file", WAITIO_JOB_ID="same")
    second = universe(WAITIO_COMM_TYPE="file", WAITIO_JOB_ID="same", HOME=str(first.folder))
    casts = [u.actors([1, 1]) for u in (first, second)]
    assert len(list((tmp_path / ".waitio-file-same").glob("??/*"))) == 4
    for (a, b), u in zip(casts, (first, second), strict=True):
        for x, other in ((a, 1), (b, 0)):
            x.ok(f"irecv 1 0 {other} 100000 5")
            x.ok(f"isend 2 0 {other} 100000 5 {u.port}")
    for (a, b), u in zip(casts, (first, second), strict=True):
        for x in (a, b):
            assert x.ok(f"wait 1 {u.port}")[-1] == "-1"  # as its own peer sent it
            x.ok("wait 2 0")
        u.leave(a, b)
    assert not (tmp_path / ".waitio-file-same").exists()
