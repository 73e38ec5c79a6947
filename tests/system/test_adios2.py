# SPDX-License-Identifier: BSD-3-Clause
"""The engine for ADIOS2 (src/adios): ordinary programs of ADIOS2 in jobs of their own, in C++
(adios2/cases.cpp compares every element) and in Python (examples/adios2)."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "adios2"
LIMITS = "Limit=30,OpenTimeoutSecs=30"


def untagged(out):
    """Lines without the process's name before them."""
    lines = out.decode(errors="replace").splitlines()
    return [re.sub(r"^\[[^]]*\] ", "", line) for line in lines]


@pytest.fixture
def plugin(build_dir):
    """Folder of the engine."""
    if not (build_dir / "lib" / "libwaitio_adios2.so").exists():
        pytest.skip("the engine was not built: no ADIOS2 was found (pip install adios2)")
    return build_dir / "lib"


@pytest.fixture
def python(plugin):
    """A Python that has ADIOS2's package."""
    for path in (sys.executable, os.environ.get("WAITIO_ADIOS2_PYTHON")):
        script = "import adios2, numpy"
        if path and subprocess.run([path, "-c", script], capture_output=True).returncode == 0:
            return path
    pytest.skip("no Python with the packages adios2 and numpy (WAITIO_ADIOS2_PYTHON names one)")


@pytest.fixture
def case(waitio, plugin, build_dir):
    """Run a case with M writers and N readers; returns (status, lines)."""
    program = build_dir / "tests" / "system" / "adios2_cases"

    def run(name, writers=1, readers=1, write="", read="", timeout=60, flags=(), **env):
        words = ["run", *flags, "--timeout", f"{timeout}s", "-n", writers]
        words += [program, "write", name, ",".join(filter(None, (LIMITS, write)))]
        words += [":", "-n", readers, program, "read", name]
        words += [",".join(filter(None, (LIMITS, read)))]
        env = {**{k: str(v) for k, v in env.items()}, "ADIOS2_PLUGIN_PATH": str(plugin)}
        status, out, err = waitio(*words, env=env, timeout=timeout + 30)
        return status, untagged(out + err)

    return run


def good(result):
    status, lines = result
    assert status == 0, "\n".join(lines)
    return lines


@pytest.mark.parametrize(
    ("name", "writers", "readers", "steps"),
    [
        ("common", 1, 1, 5),
        ("common", 3, 5, 5),
        ("common", 5, 3, 5),
        ("shape", 2, 1, 5),
        ("local", 3, 2, 3),
        ("memory", 2, 1, 3),
        ("zero", 3, 2, 4),
        ("attributes", 2, 1, 4),
        ("both", 1, 1, 5),
    ],
)
def test_what_is_written_is_read(case, name, writers, readers, steps):
    lines = good(case(name, writers, readers))
    assert lines.count(f"steps {steps}") >= readers


def test_zero_copy(case):
    assert "steps 5" in good(case("common", 2, 1, write="Synchronous=true,MinDeferredSize=0"))


def test_what_is_not_supported_is_refused_by_name(case):
    lines = good(case("refused"))
    assert sum(line.startswith("refused ") for line in lines) == 28


def test_writers_that_disagree(case):
    lines = good(case("overlap", 2, 1))
    assert lines.count("refused both put") == 2


def test_a_time_limit_of_begin_step(case):
    lines = good(case("pace", WRITER_MS=200, STEPS=3, READER_LIMIT_MS=20))
    assert "seen 3 last 2" in lines
    assert int(next(x for x in lines if x.startswith("waited")).split()[1]) > 3


def test_the_latest_step(case):
    lines = good(
        case("pace", write="QueueLimit=10", read="AlwaysProvideLatestTimestep=true", READER_MS=100)
    )
    seen = int(next(x for x in lines if x.startswith("seen")).split()[1])
    assert 0 < seen < 10 and f"seen {seen} last 9" in lines


def test_a_queue_that_discards(case):
    queue = "QueueLimit=1,QueueFullPolicy=DiscardOldest"
    lines = good(case("pace", write=queue, READER_MS=60, WRITER_MS=5, STEPS=30))
    seen = int(next(x for x in lines if x.startswith("seen")).split()[1])
    assert 0 < seen < 30 and f"seen {seen} last 29" in lines


def test_a_reader_that_leaves(case):
    lines = good(case("pace", STEPS=20, LEAVE_AFTER=3, write="QueueLimit=1"))
    assert "seen 3 last 2" in lines and "written" in lines


@pytest.mark.parametrize("mode", ["StepsRoundRobin", "StepsOnDemand"])
def test_readers_that_share_the_steps(waitio, plugin, build_dir, mode):
    program = build_dir / "tests" / "system" / "adios2_cases"
    words = ["run", "--timeout", "40s", "-n", 2, program, "write", "pace"]
    words.append(f"{LIMITS},RendezvousReaderCount=2,StepDistributionMode={mode}")
    words += [":", program, "read", "pace", LIMITS] * 2
    env = {"ADIOS2_PLUGIN_PATH": str(plugin), "STEPS": "12", "READER_MS": "5"}
    status, out, err = waitio(*words, env=env)
    assert status == 0, err.decode()
    seen = [int(line.split()[1]) for line in untagged(out) if line.startswith("seen")]
    assert len(seen) == 2 and sum(seen) == 12, seen


def test_a_writer_without_readers(waitio, plugin, build_dir):
    program = build_dir / "tests" / "system" / "adios2_cases"
    queue = "RendezvousReaderCount=0,QueueLimit=3,QueueFullPolicy=Discard"
    status, out, err = waitio(
        *("run", "--timeout", "40s", program, "write", "pace", queue),
        env={"ADIOS2_PLUGIN_PATH": str(plugin)},
    )
    assert status == 0 and b"written" in out, err.decode()


def test_a_reader_without_writers(waitio, plugin, build_dir):
    program = build_dir / "tests" / "system" / "adios2_cases"
    status, out, err = waitio(
        *("run", "--timeout", "40s", program, "read", "pace", "OpenTimeoutSecs=1"),
        *(":", "sh", "-c", "exec sleep 5"),
        env={"ADIOS2_PLUGIN_PATH": str(plugin)},
    )
    assert status == 1
    assert b"failed: waitio_adios2: stream 'pace': " in out, (out + err).decode()


@pytest.mark.parametrize("who", [0, 1])
def test_readers_hear_of_a_dead_writer(case, who):
    began = time.monotonic()
    env = dict(STEPS=1000, WRITER_MS=5, DIE_AT=20, DIE_RANK=who)
    # Without --keep-going `waitio run` may end the readers before they say what they were told.
    status, lines = case("pace", 2, 1, flags=["--keep-going"], **env)
    assert status != 0 and time.monotonic() - began < 25
    told = "\n".join(lines)
    assert "OtherError" in told, told
    assert re.search(rf"writer {who} |PB 0 rank {who}", told), told


# ---- Python


@pytest.mark.parametrize(("writes", "reads"), [("py", "py"), ("cpp", "cpp"), ("cpp", "py")])
def test_the_examples_by_the_configuration_alone(waitio, plugin, build_dir, request, writes, reads):
    """In the two languages, and from one to the other."""

    def words(name, language):
        if language == "cpp":
            return [build_dir / "tests" / "system" / f"adios2_{name}", EXAMPLES / "adios2.xml"]
        return [request.getfixturevalue("python"), EXAMPLES / f"{name}.py"]

    both = ["-n", "2", *words("writer", writes), ":", *words("reader", reads)]
    env = {"ADIOS2_PLUGIN_PATH": str(plugin)}
    status, out, err = waitio("run", "--timeout", "60s", *both, env=env, timeout=90)
    assert status == 0, err.decode()
    lines = untagged(out)
    assert "step 3, time 0.3: (8, 6), 3.615 K" in lines
    assert sum(line.startswith("step") for line in lines) == 4


# ---- the command


@pytest.fixture
def place(plugin, build_dir, tmp_path):
    """What is installed of WaitIO, without the engine; returns the prefix."""
    prefix = tmp_path / "installed"
    (prefix / "lib" / "waitio").mkdir(parents=True)
    (prefix / "share" / "waitio" / "adios2").mkdir(parents=True)
    for path in plugin.glob("libwaitio*.so*"):
        if "adios2" not in path.name:
            (prefix / "lib" / path.name).symlink_to(path)
    (prefix / "include").symlink_to(ROOT / "include")
    (prefix / "share" / "waitio" / "adios2" / "adios").symlink_to(ROOT / "src" / "adios")
    package = prefix / "lib" / "waitio" / "python" / "waitio"
    shutil.copytree(ROOT / "python" / "waitio", package, ignore=shutil.ignore_patterns("_core*"))
    return prefix


def build_engine(place, *words, **env):
    done = subprocess.run(
        [sys.executable, "-m", "waitio", "build-adios2", *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(place / "lib" / "waitio" / "python"), **env},
        cwd=place,
        capture_output=True,
        text=True,
        timeout=170,
    )
    return done.returncode, done.stdout, done.stderr


def test_build_adios2(place, python, waitio, build_dir):
    path = os.pathsep.join([os.path.dirname(python), os.environ["PATH"]])
    status, out, err = build_engine(place, "--prefix", place / "mine", PATH=path)
    assert status == 0, out + err
    folder = place / "mine" / "lib"
    assert f"installed {folder / 'libwaitio_adios2.so'}" in out
    program = build_dir / "tests" / "system" / "adios2_cases"
    words = ["run", "--timeout", "60s", program, "write", "shape", ":", program, "read", "shape"]
    status, out, err = waitio(*words, env={"ADIOS2_PLUGIN_PATH": str(folder)}, timeout=90)
    assert status == 0 and "steps 5" in untagged(out), err.decode()


def test_build_adios2_says_what_is_missing(place, tmp_path):
    status, out, err = build_engine(place, "--adios2", tmp_path)
    assert status != 0 and f"{tmp_path} has not both include/adios2/plugin" in err
    (tmp_path / "include" / "adios2" / "plugin").mkdir(parents=True)
    for name in ("include/adios2/plugin/PluginEngineInterface.h", "libadios2_cxx.so"):
        (tmp_path / name).touch()
    (tmp_path / "libadios2_core.so").touch()
    status, out, err = build_engine(place, "--adios2", tmp_path, "--cxx", "no-such-compiler")
    assert status != 0 and "'no-such-compiler'" in err and "--cxx" in err
    status, out, err = build_engine(place, "--adios2", tmp_path, "--cxx", "false")
    assert status != 0 and "building the engine failed:\n  false -std=c++17" in err
    shutil.rmtree(place / "share")
    status, out, err = build_engine(place, "--adios2", tmp_path)
    assert status != 0 and "make install" in err


def test_run_says_where_the_engine_is(plugin, tmp_path, monkeypatch):
    """The folder of the engine beside the command, unless the user has said it."""
    from waitio import adios2place

    monkeypatch.setattr(sys, "argv", [str(plugin.parent / "bin" / "waitio")])
    assert adios2place.variables({}) == {"ADIOS2_PLUGIN_PATH": str(plugin)}
    assert adios2place.variables({"ADIOS2_PLUGIN_PATH": "mine"}) == {}
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "bin" / "waitio")])
    monkeypatch.setattr(adios2place, "prefixes", lambda: [str(tmp_path)])
    assert adios2place.variables({}) == {}
