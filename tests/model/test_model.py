# SPDX-License-Identifier: BSD-3-Clause
"""The explorer of the memory model finds what a slip in the library's own code would break.

Each row changes one place of the source in a copy, builds the exploration of it and runs the
program that has to fail. tests/model/model_<name>.c explore the source as it stands (CTest).
"""

import pathlib
import re
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SRC = HERE.parent.parent / "src"
SHM = ["tx", "rx", "events", "record", "link", "ring", "inbox"]

# name, exploration, program, file below src, old text, new text
MUTANTS = [
    (
        "a slot is published before it is filled",
        "ring",
        "headers",
        "transport/shm/ring.h",
        "    memcpy(s->msg, msg, WIO_MSG_BYTES);\n    shm_slot_publish(w, s);\n"
        "    return true;\n}\n\n"
        "/* Loads from",
        "    shm_slot_publish(w, s);\n    memcpy(s->msg, msg, WIO_MSG_BYTES);\n"
        "    return true;\n}\n\n"
        "/* Loads from",
    ),
    (
        "one slot more than there are",
        "ring",
        "headers",
        "transport/shm/ring.h",
        "    return w->slot_tail - w->slot_head < w->ring.geo.slots;",
        "    return w->slot_tail - w->slot_head <= w->ring.geo.slots;",
    ),
    (
        "payloads longer than the room",
        "ring",
        "payloads",
        "transport/shm/ring.h",
        "    return w->mid_tail - w->mid_head + n <= w->ring.geo.mid;",
        "    return w->mid_tail - w->mid_head <= w->ring.geo.mid;",
    ),
    (
        "bulk is published before it is copied in",
        "ring",
        "stream",
        "transport/shm/ring.c",
        "        copy_bulk(w, src + done, (uint32_t)piece);\n",
        "        atomic_store_explicit(&w->ring.ctl->bulk_tail, w->bulk_tail + piece, "
        "memory_order_release);\n        copy_bulk(w, src + done, (uint32_t)piece);\n",
    ),
    (
        "a cell is claimed without a comparison",
        "inbox",
        "one cell",
        "transport/shm/inbox.c",
        "if (atomic_compare_exchange_strong_explicit(\n                    &c->word, &word, "
        "shm_word(at, owner, SHM_CLAIMED), memory_order_acquire,\n"
        "                    memory_order_relaxed)) {",
        "atomic_store_explicit(&c->word, shm_word(at, owner, SHM_CLAIMED), memory_order_release);"
        "\n            {",
    ),
    (
        "a cell that is still full is claimed",
        "inbox",
        "one cell",
        "transport/shm/inbox.c",
        "        if (ahead < 0)\n            return NULL;",
        "        if (ahead < 0)\n            ahead = 0;\n"
        "        if (ahead < 0)\n            return NULL;",
    ),
    (
        "a living writer's cell is passed over",
        "bell",
        "bell: inbox",
        "transport/shm/rx.c",
        "    return writing && l != NULL && !l->eof;",
        "    return writing && l != NULL && l->eof;",
    ),
    (
        "no second look before sleep",
        "bell",
        "bell: inbox",
        "transport/shm/events.c",
        "        wio_shm_heavy_fence(f);\n        if (anything(f, how))\n            return 1;\n",
        "        wio_shm_heavy_fence(f);\n",
    ),
    (
        "a sender without membarrier is not thought of",
        "bell",
        "full inbox, writer without",
        "transport/shm/shm.h",
        "    f->fences |= l->fence;",
        "    f->fences |= !f->membarrier;",
    ),
    (
        "a wish for room is taken back by a store",
        "bell",
        "old wish, fences",
        "transport/shm/rx.c",
        "(void)atomic_exchange_explicit(&f->inbox.head->wanted, 0, memory_order_acquire);",
        "atomic_store_explicit(&f->inbox.head->wanted, 0, memory_order_seq_cst);",
    ),
    (
        "a ring's writer is not woken",
        "bell",
        "full ring, fences",
        "transport/shm/rx.c",
        "    if (shm_ring_tell(l->r))\n        wake_writer(l);",
        "    (void)shm_ring_tell(l->r);",
    ),
    (
        "an ended bias is given free",
        "lock",
        "bias moves",
        "p2p/lock.c",
        "    atomic_store_explicit(&l->bias, &l->biases[0], memory_order_relaxed); "
        "/* revoke stays set */",
        "    atomic_store_explicit(&current(l)->revoke, 0, memory_order_release);\n"
        "    atomic_store_explicit(&l->bias, &l->biases[0], memory_order_relaxed);",
    ),
    (
        "the owner looks before it says that it is inside",
        "lock",
        "owner and service",
        "p2p/lock.h",
        "        atomic_store_explicit(&b->held, 1, memory_order_relaxed);\n"
        "        atomic_signal_fence(memory_order_seq_cst);\n"
        "        if (__builtin_expect(atomic_load_explicit(&b->revoke, "
        "memory_order_acquire) == 0, 1))\n            return;",
        "        int revoked = atomic_load_explicit(&b->revoke, memory_order_acquire);\n"
        "        atomic_store_explicit(&b->held, 1, memory_order_relaxed);\n"
        "        if (revoked == 0)\n            return;",
    ),
    (
        "the owner is not waited for",
        "lock",
        "owner and service",
        "p2p/lock.c",
        "    for (int i = 0; atomic_load_explicit(&b->held, memory_order_acquire) != 0; i++) {",
        "    for (int i = 0; atomic_load_explicit(&b->held, memory_order_acquire) > 1; i++) {",
    ),
    (
        "revoked after the barrier",
        "lock",
        "owner and service",
        "p2p/lock.c",
        "    atomic_store_explicit(&b->revoke, 1, memory_order_seq_cst);\n"
        "    (void)wio_os_membarrier_private();",
        "    (void)wio_os_membarrier_private();\n"
        "    atomic_store_explicit(&b->revoke, 1, memory_order_seq_cst);",
    ),
]


@pytest.fixture(scope="session")
def compiler(build_dir):
    """How to compile: the build's own compiler, or skip where it cannot report plain accesses."""
    cache = (build_dir / "CMakeCache.txt").read_text()
    found = re.search(r"^CMAKE_C_COMPILER:\w+=(.+)$", cache, re.M)
    if not (build_dir / "tests" / "model").is_dir() or not found:
        pytest.skip("the explorations are not part of this build")
    return found.group(1)


def run(command, limit):
    return subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)


@pytest.mark.parametrize("row", MUTANTS, ids=[row[0].replace(" ", "-") for row in MUTANTS])
def test_explorer_finds(row, compiler, build_dir, tmp_path):
    """The change breaks the program that is named, and the explorer shows how."""
    _, model, program, file, old, new = row
    copy = tmp_path / "src"
    for layer in ("os", "base", "wire", "auth", "boot", "transport", "p2p"):
        shutil.copytree(SRC / layer, copy / layer)
    text = (copy / file).read_text()
    assert text.count(old) == 1, f"{file}: the text to be changed is there {text.count(old)} times"
    (copy / file).write_text(text.replace(old, new))
    exe = tmp_path / model
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-w", "-fsanitize=thread", "-U_FORTIFY_SOURCE"]
    flags += ["-include", "mm_atomics.h", f"-I{HERE}", f"-I{copy}", f"-I{SRC.parent}/include"]
    sources = [str(HERE / f"model_{model}.c")]
    if model == "bell":
        sources += [str(copy / "transport" / "shm" / f"{part}.c") for part in SHM]
    objects = []
    for source in sources:
        objects.append(str(tmp_path / (pathlib.Path(source).stem + ".o")))
        made = run([compiler, *flags, "-c", source, "-o", objects[-1]], 60)
        assert made.returncode == 0, made.stderr
    library = sorted(build_dir.rglob("libmodel_explorer.a"))[0]
    made = run([compiler, *objects, str(library), "-o", str(exe)], 60)
    assert made.returncode == 0, made.stderr
    done = run([str(exe), "-p", program], 120)
    assert done.returncode == 1 and "FAIL  " in done.stdout, done.stdout[-2000:] + done.stderr
