# SPDX-License-Identifier: BSD-3-Clause
"""Types, masks, reductions, lags and bundles by waitio_cpl.h (fields.c), for several partitions."""

import os

import pytest
from vectors import PAIRS, pair, var

FILL = 2147483647.0
WAYS = [(1, 1, "block"), (3, 2, "cyclic"), (2, 4, "block")]


def play(troupe, folder, rows, steps, names, way, wrong="", costs=None, **env):
    """{(name, step, index): value}; costs: [(component that counts, words)]"""
    n_a, n_b, share = way
    conf = folder / "fields.conf"
    conf.write_text(pair(*PAIRS["AB"]) + "".join(rows))
    program = troupe.compile("mpich", troupe.source_dir / "tests" / "coupler" / "fields.c")
    parts = []
    for component, n in (("compA", n_a), ("compB", n_b)):
        mine = [w for w in names if component not in wrong or w != wrong.split()[1]]
        parts.append((n, [program, component, conf, share, steps, *mine]))
    line = troupe.one_job("mpich", parts)
    out = folder / "out"
    out.mkdir()
    env.update(WAITIO_JOB_ID=f"fields{os.getpid()}-{n_a}{n_b}", PUPPET_OUT=str(out))
    done = troupe.run(line, **env)
    if wrong:
        assert done.returncode != 0, done.stdout
        return " ".join(done.stderr.split())
    assert done.returncode == 0, done.stdout + done.stderr
    found = {}
    for text in (line for path in out.iterdir() for line in path.read_text().splitlines()):
        if text.startswith("COST"):
            if costs is not None:
                costs.append(text.split()[1:])
            continue
        word, name, step, index, value = text.split()
        assert word == "GOT" and (name, int(step), int(index)) not in found
        found[name, int(step), int(index)] = value if value in "UF" else float(value)
    assert len(found) == 12 * int(steps) * len(names)
    return found


def mean(i, step, masked):
    """Of the points i and i + 1 of A, of which 3 is masked; B's point 4 gets nothing."""
    value = 100 * step + i + 0.5
    if i == 4:
        return "U"
    if i == 12:
        return 100 * step + 12
    if i in (2, 3):
        other = 100 * step + (2 if i == 2 else 4)
        return {"scale": other, "fill": FILL, "part": other / 2}[masked]
    return value


@pytest.mark.parametrize("way", WAYS)
def test_types_and_masks(troupe, tmp_path, way):
    rows = [
        var("d1", "d1", 10, masked="'scale'"),
        var("d2", "d2", 10, masked="'fill'", type="'real4'"),
        var("f1", "f1", 10, masked="'part'", type="'real4'"),
        var("f2", "f2", 10, masked="'fill'", fill="-1d30", type="'real8'"),
        var("i1", "i1", 10, masked="'scale'", type="'int'"),
    ]
    found = play(troupe, tmp_path, rows, "3", ["d1", "d2", "f1", "f2", "i1"], way)
    for step in (1, 2, 3):
        for i in range(1, 13):
            at = step - 1
            assert found["d1", step, i] == mean(i, at, "scale"), (step, i)
            assert found["d2", step, i] == mean(i, at, "fill"), (step, i)
            assert found["f1", step, i] == mean(i, at, "part"), (step, i)
            want = mean(i, at, "fill")
            got = found["f2", step, i]
            assert got == want or (want == FILL and abs(got / -1e30 - 1) < 1e-7), (step, i)
            whole = mean(i, at, "scale")
            assert found["i1", step, i] == (whole if whole == "U" else round(whole)), (step, i)


LAGS = {
    "d1": ("SNP", {"lag": -2}, [0, "F", 0, "F", 200, "F"]),
    "d2": ("SNP", {"lag": 2}, [400, "F", 600, "F", 600, "F"]),
    "d3": ("SNP", {"lag_seconds": -10}, [0, "F", 100, "F", 300, "F"]),
    "d4": ("ACC", {}, [0, "F", 300, "F", 700, "F"]),
    "d5": ("MIN", {}, [0, "F", 100, "F", 300, "F"]),
    "d6": ("MAX", {"lag": 1}, [200, "F", 400, "F", 600, "F"]),
    "d7": ("AVR", {"lag_seconds": 10}, [100, "F", 250, "F", 450, "F"]),
}


@pytest.mark.parametrize("way", WAYS)
def test_lags_and_reductions(troupe, tmp_path, way):
    rows = [
        var(name, name, 20, more.get("lag", -1), flag, lag_seconds=more.get("lag_seconds"))
        for name, (flag, more, _) in LAGS.items()
    ]
    found = play(troupe, tmp_path, rows, "6", list(LAGS), way)
    for name, (flag, _, want) in LAGS.items():
        for step, value in enumerate(want, 1):
            times = 2 if flag == "ACC" and value != 0 else 1
            if value != "F":
                value += times * 1.5
            assert found[name, step, 1] == value, (name, step)


@pytest.mark.parametrize("way", WAYS)
def test_bundles_of_what_goes_at_once(troupe, tmp_path, way):
    rows = [var(n, n, None, 0, bundle="'both'") for n in ("d1", "d2")]
    rows.append(var("f1", "f1", None, 0, type="'real4'"))
    found = play(troupe, tmp_path, rows, "3", ["d1", "d2", "f1"], way)
    for name in ("d1", "d2", "f1"):
        assert [found[name, s, 5] for s in (1, 2, 3)] == [5.5, 105.5, 205.5]


@pytest.mark.parametrize(
    "wrong, says",
    [
        ("compA d2", "puts 1 of the 2 variables of the bundle 'both', and not 'd2'"),
        ("compB d2", "gets 'd1' of the bundle 'both' without 'd2'"),
    ],
)
def test_a_bundle_is_one_call(troupe, tmp_path, wrong, says):
    rows = [var(n, n, None, 0, bundle="'both'") for n in ("d1", "d2")]
    text = play(troupe, tmp_path, rows, "3", ["d1", "d2"], (1, 1, "block"), wrong)
    assert text.count(says) >= 2, text


@pytest.mark.parametrize("name, type_", [("i1", "real8"), ("d1", "int"), ("f1", "int")])
def test_types_are_not_mixed(troupe, tmp_path, name, type_):
    rows = [var(name, name, 10, type=f"'{type_}'"), var("d9", "d9", 10)]
    text = play(troupe, tmp_path, rows, "2", [name, "d9"], (1, 1, "block"), "compB d9")
    assert f"but the configuration says type = '{type_}'" in text


def test_costs_say_who_waited_for_whom(troupe, tmp_path):
    costs = []
    rows = [var("d1", "d1", 10), var("d2", "d2", 10), var("f1", "f1", 20, type="'real4'")]
    play(
        troupe,
        tmp_path,
        rows,
        "4",
        ["d1", "d2", "f1"],
        (2, 1, "block"),
        costs=costs,
        LATE="1",
    )
    puts = {(c[0], c[2]): c for c in costs if c[4] == "0"}
    gets = {c[2]: c for c in costs if c[4] == "1"}
    assert set(puts) == {("0", "d1"), ("0", "f1"), ("1", "d1"), ("1", "f1")} and len(gets) == 2
    _, other, _, variables, _, exchanges, messages, *_ = puts["0", "d1"]
    assert (other, variables, exchanges, messages) == ("compB", "2", "4", "4")
    got = gets["d1"]
    assert got[1] == "compA" and got[5:7] == ["4", "8"] and gets["f1"][5:7] == ["2", "4"]
    # two variables of 11 points of A that are not masked, 8 bytes each, and a head of 8 numbers
    assert int(got[7]) == 4 * (2 * 11 * 8 + 2 * 8 * 8)
    assert int(gets["f1"][7]) == 2 * (11 * 4 + 2 * 8 * 4)
    waited, worked, longest, at, process = map(float, got[8:])
    assert 0.2 < longest <= waited and 0 < worked < waited
    assert at == 30 and process in (0, 1)
    assert float(puts["0", "d1"][8]) < 0.2
