# SPDX-License-Identifier: BSD-3-Clause
"""Messages through files on a file system that is really full: an error that says what to do, or
waiting until there is space. Guards: without the limit on waiting the sends never end."""

BIG = 1_000_000


def fill(folder):
    """Use up all that is free."""
    path = folder / "others"
    with open(path, "wb", buffering=0) as file:
        size = 1 << 16
        while size:
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                pass
            size //= 2
    return path


def pair(universe, small, **env):
    u = universe(WAITIO_COMM_TYPE="file", WAITIO_SCRATCH_DIR=small, **env)
    a, b = u.actors([1, 1])
    a.ok("isend 60 0 1 100 600 3")
    b.ok("irecv 61 0 0 100 600")
    b.ok("wait 61 3")
    a.ok("wait 60 0")
    return u, a, b


def test_an_error_names_what_to_do(universe, small):
    u, a, b = pair(universe, small, WAITIO_FILE_FULL_WAIT=0)
    fill(small)
    b.ok(f"irecv 63 0 0 {BIG} 601")
    a.begin(f"isend 62 0 1 {BIG} 601 4")
    line = a.answer()
    if line.startswith("ok"):
        a.begin("wait 62 0")
        line = a.answer()
    for text in ("no space for", "WAITIO_FILE_FULL_WAIT=0 s", "WAITIO_SCRATCH_DIR", str(small)):
        assert text in line, line
    b.fails("wait 63 4", "PEER", "given up its files")
    for process in (a, b):
        process.do("finalize")
        process.begin("exit 0")
        process.ended()
    assert [p.name for p in small.iterdir()] == ["others"]


def test_waiting_until_there_is_space(universe, small):
    u, a, b = pair(universe, small)
    others = fill(small)
    b.ok(f"irecv 63 0 0 {BIG} 601")
    a.ok(f"isend 62 0 1 {BIG} 601 4")
    b.begin("wait 63 4")
    a.begin("wait 62 0")
    a.logs("no space for", "WAITIO_FILE_FULL_WAIT=600 s")
    others.unlink()
    a.was_ok(a.answer(), "wait")
    assert b.was_ok(b.answer(), "wait")[-1] == "-1"
    u.leave(a, b)
    assert list(small.iterdir()) == []
