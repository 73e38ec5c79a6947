# SPDX-License-Identifier: BSD-3-Clause
"""The published vectors: in one MPI job, and in a job each under two MPIs; with one process, with
several, and with unlike numbers. One start runs all scenarios."""

import collections

import pytest
import vectors


def write(folder, scenarios, share):
    for s in scenarios:
        (folder / f"{s.name}.conf").write_text(s.conf)
        for component, text in s.parts.items():
            (folder / f"{s.name}.{component}").write_text(f"share {share}\n{text}")


def gets(folder):
    """{(scenario, component, variable): {(step, index, layer): value or F}}"""
    found = collections.defaultdict(dict)
    for path in folder.glob("comp*"):
        for line in path.read_text().splitlines():
            word, scenario, component, step, name, index, layer, value = line.split()
            assert word == "GET"
            key = (int(step), int(index), int(layer))
            assert key not in found[scenario, component, name], f"{scenario}: {line} a second time"
            found[scenario, component, name][key] = value if value == "F" else float(value)
    return found


def close(a, b):
    return a == b if "F" in (a, b) else abs(a - b) <= 1e-14 * max(abs(a), abs(b))


def check_times(scenario, found):
    for (component, name), text in scenario.gets.items():
        values = found[scenario.name, component, name]
        for word in text.split():
            step, value = word.split(":")
            sign = -1 if value.startswith("-") else 1
            seen = [k for k in values if k[0] == int(step)]
            assert len(seen) % 4 == 0 and seen, f"{scenario.name}: step {step} of {name}"
            for key in seen:
                more = key[1] - 1 + (key[2] - 1) / 10
                want = value if value == "F" else float(value) + sign * more
                assert close(values[key], want), (
                    f"{scenario.name}: {component} gets {name} {key} as {values[key]}, not {want}"
                )
        assert {k[0] for k in values} == {int(w.split(":")[0]) for w in text.split()}


def check_table(scenario, found):
    indices, steps = scenario.table
    values = found[scenario.name, "compB", "yA"]
    for step, text in enumerate(steps, 1):
        for index, want in zip(indices, text.split()):
            got = values[step, int(index), 1]
            assert close(got, float(want)), f"{scenario.name}: step {step} index {index} is {got}"


def check_rest(scenario, found):
    for key, want in getattr(scenario, "layers", {}).items():
        got = found[scenario.name, "compB", "yA"][key]
        assert close(got, want), f"{scenario.name}: {key} is {got}, not {want}"
    for who, rows in getattr(scenario, "others", {}).items():
        for (step, index), want in rows.items():
            got = found[(scenario.name, *who)][step, index, 1]
            assert got == want, f"{scenario.name} {who}"


def check_masked(found):
    values = found["masked", "compB", "yA"]
    # at step 3: the mean of steps 1 and 2; index 1 is masked in step 1
    assert values[3, 1, 1] == 2001 and values[3, 2, 1] == 1502


def check(scenarios, found):
    for s in scenarios:
        check_times(s, found)
        if hasattr(s, "table"):
            check_table(s, found)
        check_rest(s, found)
    check_masked(found)


NOTHING_KEPT = {"WAITIO_LOCAL_COMPLETE_MAX": "0"}  # a send waits until its message is taken

WAYS = {
    "one-job-1-1": (("openmpi", 1), ("openmpi", 1), "block"),
    "one-job-2-3": (("mpich", 2), ("mpich", 3), "cyclic"),
    "jobs-1-1": (("openmpi", 1), ("mpich", 1), "block"),
    "jobs-2-2": (("mpich", 2), ("openmpi", 2), "reverse"),
    "jobs-3-2": (("openmpi", 3), ("mpich", 2), "last"),
    "kept-2-1": (("openmpi", 2), ("mpich", 1), "cyclic"),
}


@pytest.mark.parametrize("way", WAYS)
def test_published_vectors(troupe, tmp_path, way):
    (mpi_a, n_a), (mpi_b, n_b), share = WAYS[way]
    names = [s.name for s in vectors.GOOD]
    write(tmp_path, vectors.GOOD, share)
    out = tmp_path / "out"
    out.mkdir()
    words_a = [troupe.puppet(mpi_a), "compA", tmp_path, *names]
    words_b = [troupe.puppet(mpi_b), "compB", tmp_path, *names]
    if way.startswith("one-job"):
        line = troupe.one_job(mpi_a, [(n_a, words_a), (n_b, words_b)])
    else:
        line = troupe.jobs([(n_a, mpi_a, words_a), (n_b, mpi_b, words_b)])
    settings = NOTHING_KEPT if way.startswith("kept") else {}
    done = troupe.run(line, PUPPET_OUT=str(out), **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    check(vectors.GOOD, gets(out))


def test_names_of_any_length(troupe, tmp_path):
    scenario = vectors.long_names()
    write(tmp_path, [scenario], "block")
    out = tmp_path / "out"
    out.mkdir()
    words = [[troupe.puppet("mpich"), name, tmp_path, "n15"] for name in scenario.names]
    done = troupe.run(troupe.one_job("mpich", [(1, w) for w in words]), PUPPET_OUT=str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    check_times(scenario, gets(out))
