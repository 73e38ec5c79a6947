# SPDX-License-Identifier: BSD-3-Clause
"""Remapping by the sender or by the receiver: the same to the last bit for any partition, and fewer
bytes where the target is coarser (sides.c)."""

import os

import pytest
from test_ensembles import collection
from test_ensembles import play as play_members
from test_restart import from_step, keys, rich
from test_restart import play as play_part
from vectors import PAIRS, pair, var

MEAN = {"type": "'real4'", "flag": "AVR", "intvl": 20, "masked": "'fill'"}
AT_ONCE = {"lag": 0, "intvl": None, "bundle": "'both'"}
NAMES = {
    "d1": {},
    "d2": {"flag": "AVR", "intvl": 20, "masked": "'fill'"},
    "d3": {"flag": "ACC", "intvl": 20, "lag": 1, "masked": "'part'"},
    "d4": {"lag": 0, "intvl": None, "fill": "-1d30"},
    "d5": {"lag": -3, "intvl": 20},
    "f1": {"type": "'real4'"},
    "f2": {"type": "'real4'", "lag": 0, "masked": "'fill'"},
    "i1": {"type": "'int'", "masked": "'fill'"},
    "i2": {"type": "'int'"},
    "v1": {"layer": 2, "grid_intpl_tag": 10001},
    # vectors of two variables: alone, as a mean of real4, and at once in a bundle
    "da": {"vector_with": "'db'"},
    "db": {},
    "fa": {**MEAN, "vector_with": "'fb'"},
    "fb": MEAN,
    "ea": {**AT_ONCE, "vector_with": "'eb'"},
    "eb": AT_ONCE,
    # more bundles of what goes at once
    "d6": {"lag": 0, "intvl": None, "bundle": "'six'"},
    "d7": {"lag": 0, "intvl": None, "bundle": "'six'"},
    "f6": {"lag": 0, "intvl": None, "bundle": "'seven'", "type": "'real4'"},
    "f7": {"lag": 0, "intvl": None, "bundle": "'seven'", "type": "'real4'", "masked": "'fill'"},
    "f8": {"lag": 0, "intvl": None, "bundle": "'seven'", "type": "'real4'"},
    "i6": {"lag": 0, "intvl": None, "bundle": "'eight'", "type": "'int'"},
    "i7": {"lag": 0, "intvl": None, "bundle": "'eight'", "type": "'int'", "masked": "'part'"},
    "h1": {"masked": "'part'"},
}
FINE = [name for name in NAMES if name not in ("i2", "h1")]
WAYS = [(1, 1, "block"), (3, 2, "cyclic"), (4, 3, "block"), (2, 4, "block")]


def run(troupe, folder, side, way, names, function="none"):
    folder.mkdir()
    n_a, n_b, share = way
    conf = folder / "sides.conf"
    rows = {n: var(n, n, **{"intvl": 10, **NAMES[n], "remap": side and f"'{side}'"}) for n in names}
    other = rows.pop("h1", None)
    text = pair(*PAIRS["AB"]) + "".join(rows.values())
    conf.write_text(text + (pair("compA", "compB", "hA", "hB") + other if other else ""))
    program = troupe.compile("mpich", troupe.source_dir / "tests" / "coupler" / "sides.c")
    words = [[program, c, conf, share, 5, function, *names] for c in ("compA", "compB")]
    line = troupe.one_job("mpich", [(n_a, words[0]), (n_b, words[1])])
    job = f"sides{os.getpid()}-{folder.name}"
    return troupe.run(line, WAITIO_JOB_ID=job, PUPPET_OUT=str(folder))


def read(folder):
    """{(name, step, index, layer): bits}, bytes that A has sent"""
    got, sent = {}, 0
    for path in folder.glob("comp*"):
        for line in path.read_text().splitlines():
            word, *rest = line.split()
            if word == "GOT":
                assert tuple(rest[:-1]) not in got
                got[tuple(rest[:-1])] = rest[-1]
            elif rest[1] == "0":
                sent += int(rest[2])
    return got, sent


@pytest.mark.parametrize("way", WAYS)
def test_no_bit_depends_on_the_side(troupe, tmp_path, way):
    results, sent = {}, {}
    for side in ("receive", "send", ""):
        done = run(troupe, tmp_path / f"at{side}", side, way, FINE)
        assert done.returncode == 0, done.stdout + done.stderr
        results[side], sent[side] = read(tmp_path / f"at{side}")
    # as one process would, whose receiver remaps
    done = run(troupe, tmp_path / "one", "receive", (1, 1, "block"), FINE)
    assert done.returncode == 0, done.stdout + done.stderr
    whole, _ = read(tmp_path / "one")
    assert len(whole) == 24 * (5 * (1 + 1 + 1 + 1 + 1 + 2 + 2 + 2 + 7) + 3 * (3 + 2))
    for (name, *at, layer), bits in whole.items():  # two variables are turned as two layers are
        if name == "v1":
            assert whole[("da" if layer == "0" else "db", *at, "0")] == bits
    for side in results:
        assert results[side] == whole, side
    if way[2] == "block":
        assert sent["send"] < 0.8 * sent["receive"], sent
        assert sent[""] == sent["send"], sent
    else:  # all sources of a point in one process of A: seldom
        assert sent[""] == min(sent.values()), sent


def test_a_function_of_the_receiver_needs_the_sources(troupe, tmp_path):
    """What does not say which side goes to the receiver; what says the sender is refused."""
    way = (2, 1, "block")
    done = run(troupe, tmp_path / "auto", "auto", way, ["d1", "da", "db"], "early")
    assert done.returncode == 0, done.stdout + done.stderr
    got, _ = read(tmp_path / "auto")
    for name, value in (("d1", 42), ("da", 1), ("db", 2)):
        values = {int(k[2]): float.fromhex(bits) for k, bits in got.items() if k[0] == name}
        assert values[1] == values[23] == value and values[4] == -7, values  # 4 is masked
    done = run(troupe, tmp_path / "send", "send", way, ["d1"], "early")
    text = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert text.count("'d1' shall be remapped by the sender") >= 2, text
    done = run(troupe, tmp_path / "late", "auto", way, ["d1"], "late")
    text = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert text.count("has given its own remapping function after the tables") >= 2, text


@pytest.mark.parametrize("way", [(1, 1, "block"), (3, 2, "cyclic")])
def test_a_function_may_let_the_coupler_remap(troupe, tmp_path, way):
    """The same bits as without a function: by the table, the masks and the fill value of each
    variable, though two tables agree in tag and points."""
    results = []
    for function in ("none", "same"):
        done = run(troupe, tmp_path / function, "receive", way, [*FINE, "h1"], function)
        assert done.returncode == 0, done.stdout + done.stderr
        results.append(read(tmp_path / function)[0])
    wrong = {k for k in results[0].keys() | results[1].keys() if results[0][k] != results[1][k]}
    assert not wrong, sorted(wrong)


@pytest.mark.parametrize("side, component", [("send", "compA"), ("receive", "compB")])
def test_a_sum_that_is_no_whole_number(troupe, tmp_path, side, component):
    done = run(troupe, tmp_path / side, side, (1, 1, "block"), ["i2"])
    text = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert text.count(f"'i2' of component '{component}' is") >= 2, text
    assert "which is no whole number of 32 bits" in text


def remapped(scenario, side):
    scenario.conf = scenario.conf.replace("&h3ou_var var_put", f"&h3ou_var remap='{side}', var_put")
    assert f"remap='{side}'" in scenario.conf
    return scenario


def test_members_of_an_ensemble(troupe, tmp_path):
    """Statistics of what members have summed; and sums for each member."""
    found = {}
    for side in ("receive", "send"):
        s = remapped(collection("stats"), side)
        parts = [(2, f"compA000{m}") for m in range(3)]
        (tmp_path / side).mkdir()
        done, found[side] = play_members(
            troupe, tmp_path / side, s, "mpich", [*parts, (2, "compB")]
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert found["send"] == found["receive"] and len(found["send"]) > 8


def test_a_restart_goes_on_with_sums_of_the_sender(troupe, tmp_path):
    """The whole run remapped by the receivers, the two parts by the senders."""
    whole, all_of_it = play_part(troupe, tmp_path / "1", rich("cut"), (2, 1, 1))
    assert whole.returncode == 0, whole.stdout + whole.stderr
    head = keys(tmp_path, restart_intvl=18000)
    half = remapped(rich("cut", head, "3600 " * 5), "send")
    first, found = play_part(troupe, tmp_path / "2", half, (3, 1, 2))
    assert first.returncode == 0, first.stdout + first.stderr
    again = remapped(rich("cut", keys(tmp_path, restart_read=".true.")), "send")
    rest, found = play_part(troupe, tmp_path / "3", again, (1, 2, 1))
    assert rest.returncode == 0, rest.stdout + rest.stderr
    assert "resumes at 18000 s from" in rest.stderr
    want = from_step(all_of_it, 6)
    for name in want:
        assert found[name] == want[name], name
