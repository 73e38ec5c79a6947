# SPDX-License-Identifier: BSD-3-Clause
"""Files that users of the old library find in the folder of a run: logs, times, the configuration;
and the report by a key of the configuration."""

import json

import pytest
from test_vectors import write
from vectors import two

COMPONENTS = ("compA", "compB")


def play(troupe, folder, head, yaml=None, **env):
    """Two and one process in a folder of their own. @return the names of what they leave there"""
    scenario = two("files", (3600,), (7200,), steps_a="3600 " * 4, steps_b="3600 " * 4)
    scenario.conf = yaml or head + scenario.conf
    write(folder, [scenario], "block")
    run = folder / "run"
    run.mkdir(exist_ok=True)
    (folder / "out").mkdir()
    words = [[troupe.puppet("mpich"), c, folder, "files"] for c in COMPONENTS]
    line = troupe.one_job("mpich", [(2, words[0]), (1, words[1])])
    done = troupe.run(line, cwd=run, PUPPET_OUT=str(folder / "out"), **env)
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.name for path in run.iterdir()}, done.stderr


CALLS = {"h3ou.compA.log.PE00000", "h3ou.compA.log.PE00001", "h3ou.compB.log.PE00000"}
MESSAGES = {
    "jcup.compA.coupling.log.PE00000",
    "jcup.compA.coupling.log.PE00001",
    "jcup.compB.coupling.log.PE00000",
}
ALWAYS = {
    "TM.compA",
    "TM.compB",
    "TM.compA.pe00000",
    "TM.compA.pe00001",
    "TM.compB.pe00000",
    "jcup.coupling.conf.log",
    "jcup.compA.conf.log",
    "jcup.compB.conf.log",
}
YAML = """
components: {{compA: {{grids: gA}}, compB: {{grids: gB}}}}
couplings:
  - {{from: compA, to: compB, interval: 1h, fields: [{{from: vA, to: yA}}]}}
  - {{from: compB, to: compA, interval: 2h, fields: [{{from: vB, to: yB}}]}}
{head}
"""


@pytest.mark.parametrize(
    "keys, env, want",
    [
        ("", {}, set()),
        ("log_level='WHISPER'", {}, CALLS),
        ("debug_mode=.true.", {}, MESSAGES),
        ("log_level='LOUD', debug_mode=.true., files='all'", {}, CALLS | MESSAGES | ALWAYS),
        ("", {"WAITIO_CPL_FILES": "all"}, ALWAYS),
        ("log_level='LOUD', files='all'", {"WAITIO_CPL_FILES": "none"}, set()),
        ("log_level='LOUD', files='none'", {}, set()),
    ],
)
def test_which_files_there_are(troupe, tmp_path, keys, env, want):
    head = f"&h3ou_coupling {keys} /\n"
    assert play(troupe, tmp_path, head, **env)[0] == want


def test_the_same_keys_in_yaml(troupe, tmp_path):
    head = "log: whisper\ndebug: yes\nfiles: all\nreport: said"
    try:
        found, _ = play(troupe, tmp_path, "", yaml=YAML.format(head=head))
    except AssertionError as error:
        if "without libyaml" in str(error):
            pytest.skip("built without libyaml (Debian: apt-get install libyaml-dev)")
        raise
    assert found == CALLS | MESSAGES | ALWAYS | {"said", "said.json"}


def lines(folder, name):
    return (folder / "run" / name).read_text().splitlines()


def test_what_the_logs_say(troupe, tmp_path):
    head = "&h3ou_coupling log_level='LOUD', debug_mode=.true. /\n"
    play(troupe, tmp_path, head)
    log = lines(tmp_path, "h3ou.compA.log.PE00001")
    assert "component 'compA', process 1 of 2" in log[0] and log[0].split()[:2] == ["0", "s"]
    assert sum("  put 'vA': points: 2, layers: 1" in line for line in log) == 5
    gets = [line for line in log if "  get 'yB'" in line]
    assert [line.split()[0] for line in gets] == ["0", "3600", "7200", "10800"]
    assert [line.endswith("nothing new") for line in gets] == [False, True, False, True]
    assert [line.split("step ")[1] for line in log if "  step " in line][-1] == "4: 3600 s"
    assert log[-1].endswith("end of the run at 14400 s")
    messages = lines(tmp_path, "jcup.compB.coupling.log.PE00000")
    taken = [line for line in messages if "  takes 'yA' of 3600 s from component 'compA'" in line]
    assert len(taken) == 2 and all(line.endswith(": 10 numbers") for line in taken)  # 8 of a head
    assert sum("  sends 'vB' of 7200 s to component 'compA', process 1" in m for m in messages) == 1


def test_what_the_other_files_say(troupe, tmp_path):
    play(troupe, tmp_path, "&h3ou_coupling files='all' /\n")
    assert "couplings:" in lines(tmp_path, "jcup.coupling.conf.log")
    own = lines(tmp_path, "jcup.compB.conf.log")
    assert own[:2] == ["component 'compB', processes: 1", "grid 'gB'"]
    assert any(line.startswith("gets 'yA' on 'gB' from component 'compA'") for line in own)
    times = {}
    for line in lines(tmp_path, "TM.compA")[2:]:
        name, numbers = line[:60].strip(), [float(x) for x in line[60:].split()]
        assert numbers[0] <= numbers[1] + 1e-6 and numbers[1] <= numbers[2] + 1e-6, line
        times[name] = numbers
    assert set(times) == {
        "set-up",
        "run",
        "run: in the coupler",
        "run: waits for compB",
        "put vA to compB: work",
        "put vA to compB: waits",
        "get yB from compB: work",
        "get yB from compB: waits",
    }
    assert 0 < times["run: in the coupler"][2] <= times["run"][2]
    assert len(lines(tmp_path, "TM.compA.pe00001")) == 9


def test_an_error_is_in_the_log(troupe, tmp_path):
    scenario = two("wrong", (3600,), steps_a="3600 3600", steps_b="3600 3600")
    scenario.conf = "&h3ou_coupling log_level='WHISPER' /\n" + scenario.conf
    scenario.parts["compA"] = scenario.parts["compA"].replace("put vA", "put vX")
    write(tmp_path, [scenario], "block")
    words = [[troupe.puppet("mpich"), c, tmp_path, "wrong"] for c in COMPONENTS]
    line = troupe.one_job("mpich", [(1, w) for w in words])
    assert troupe.run(line, cwd=tmp_path).returncode != 0
    for component in COMPONENTS:
        text = (tmp_path / f"h3ou.{component}.log.PE00000").read_text()
        assert "  error: " in text and "vX" in text, text


def test_a_file_that_cannot_be_written_ends_nothing(troupe, tmp_path):
    (tmp_path / "run" / "h3ou.compA.log.PE00000").mkdir(parents=True)
    head = "&h3ou_coupling log_level='WHISPER' /\n"
    found, said = play(troupe, tmp_path, head)
    assert found == CALLS
    assert said.count("'h3ou.compA.log.PE00000' cannot be written: Is a directory") == 1, said


@pytest.mark.parametrize("env", [{}, {"WAITIO_CPL_REPORT": "other"}])
def test_the_report_by_the_configuration(troupe, tmp_path, env):
    name = env.get("WAITIO_CPL_REPORT", "said")
    found, _ = play(troupe, tmp_path, "&h3ou_coupling report='said' /\n", **env)
    assert found == {name, f"{name}.json"}
    report = json.loads((tmp_path / "run" / f"{name}.json").read_text())
    assert {c["name"] for c in report["components"]} == set(COMPONENTS)
