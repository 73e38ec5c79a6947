# SPDX-License-Identifier: BSD-3-Clause
"""What is written about waitio run and env is complete, and the job-script templates work."""

import re
import subprocess
import sys

import pytest


@pytest.fixture
def package(source_dir, monkeypatch):
    """The package `waitio` of this checkout, importable."""
    monkeypatch.syspath_prepend(str(source_dir / "python"))


def test_manual_page_names_every_option(package, source_dir):
    from waitio import envcmd, runargs

    text = (source_dir / "docs/man/waitio.1.md").read_text()
    for option in runargs.RUN_OPTIONS + runargs.BLOCK_OPTIONS + envcmd.OPTIONS:
        for name in option.names:
            assert re.search(rf"[`, ]{re.escape(name)}[` ]", text) or name == "-h", name


def test_manual_pages_of_staging_name_every_option(package, source_dir):
    from waitio import iotest, stagedump, stagels, stagewatch

    tools = stagels.OPTIONS + stagedump.OPTIONS + stagewatch.OPTIONS
    for page, options in (("iotest", iotest.OPTIONS), ("stage", tools)):
        text = (source_dir / f"docs/man/waitio-{page}.1.md").read_text()
        for name in (name for option in options for name in option.names):
            assert re.search(rf"`{re.escape(name)}[` ]", text), (page, name)
    guide = (source_dir / "docs/man/waitio-iotest.1.md").read_text()
    assert all(f"`{way}`" in guide for way in iotest.WAYS)


def test_guide_names_every_key_of_a_job_file(package, source_dir):
    from waitio import jobfile

    text = (source_dir / "docs/guide/run.md").read_text()
    for key in {**jobfile.RUN_KEYS, **jobfile.BLOCK_KEYS}:
        assert f"`{key}`" in text, key


def test_job_file_knows_every_setting_of_the_command_line(package):
    from waitio import jobfile, runargs

    only_typed = {"file", "dry_run", "separator", "help"}
    assert {o.dest for o in runargs.RUN_OPTIONS} - only_typed == set(jobfile.RUN_KEYS) - {"env"}
    assert {o.dest for o in runargs.BLOCK_OPTIONS} == set(jobfile.BLOCK_KEYS) - {"command"}


def test_scripts_pass_shellcheck(source_dir, need):
    need("shellcheck")
    scripts = sorted((source_dir / "examples/jobs").glob("*.sh"))
    subprocess.run(["shellcheck", *scripts], check=True, timeout=60)


def test_scripts_are_valid_shell(source_dir):
    scripts = sorted((source_dir / "examples/jobs").glob("*.sh"))
    assert len(scripts) >= 7
    for script in scripts:
        done = subprocess.run(["bash", "-n", script], capture_output=True, check=False)
        assert done.returncode == 0 and script.stat().st_mode & 0o100, script


def test_one_machine_templates(waitio, source_dir, need):
    need("mpiexec.openmpi", "mpiexec.mpich")
    for name in ("ocean", "atmos", "sensor.sh"):
        waitio.script(name, f'echo "{name} $WAITIO_PBID $OMP_NUM_THREADS $*"')
    (waitio.cwd / "atmos-run").mkdir()
    (waitio.cwd / "atmos-run/atmos").symlink_to(waitio.cwd / "atmos")
    job = waitio.cwd / "one-machine.toml"
    job.write_bytes((source_dir / "examples/jobs/one-machine.toml").read_bytes())
    waitio.script("waitio", f'exec {sys.executable} -m waitio "$@"')
    script = source_dir / "examples/jobs/one-machine.sh"
    env = {**waitio.env, "PATH": f"{waitio.cwd}:{waitio.env['PATH']}"}
    done = subprocess.run([script], env=env, cwd=waitio.cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 7
    if sys.version_info >= (3, 11):
        status, out, err = waitio("run", job)
        assert status == 0, err
        assert b"[ocean 3] ocean 0 1 ocean.nml\n" in out and b"[atmos 1] atmos 1 2 \n" in out
        assert b"[sensor.sh 0] sensor.sh 2 1 --every 10\n" in out


def run_template(waitio, source_dir, name, env):
    """Run a template where srun, waitio-serv and friends are stand-ins that print."""
    waitio.script("waitio", f'exec {sys.executable} -m waitio "$@"')
    waitio.script(
        "srun",
        "for w; do p=$w; case $w in ./*) break;; esac; done\n"
        'echo "$p $WAITIO_PBID/$WAITIO_NPB $WAITIO_MASTER_HOST" \\\n'
        '  "$WAITIO_MASTER_PORT $WAITIO_JOB_ID"\n'
        'echo "$p: $*" >>srun.log\n'
        'case "$p" in $LATE) sleep 1; exit 3;; esac\n'
        'case "$p" in $FAIL) exit 3;; esac; [ -z "$FAIL" ] || exec sleep 30',
    )
    waitio.script("mpiexec", 'exec srun "$@"')
    waitio.script(
        "waitio-serv", 'echo "$*" >>serv.log; [ "$1" = -c ] && echo master || echo "serv $*"'
    )
    full = {
        **waitio.env,
        "PATH": f"{waitio.cwd}:{waitio.env['PATH']}",
        "FAIL": "",
        "LATE": "",
        **env,
    }
    return subprocess.run(
        [source_dir / "examples/jobs" / name],
        env=full, cwd=waitio.cwd, capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip


def test_heterogeneous_job_template(waitio, source_dir):
    done = run_template(waitio, source_dir, "slurm-hetjob.sh", {"SLURM_JOB_ID": "1234567"})
    lines = sorted(line.split() for line in done.stdout.splitlines())
    assert done.returncode == 0, done.stderr
    assert [line[:2] for line in lines] == [["./atmos", "1/2"], ["./ocean", "0/2"]]
    assert lines[0][2:] == lines[1][2:] and lines[0][4:] == ["1234567"]
    low, high = map(int, open("/proc/sys/net/ipv4/ip_local_port_range").read().split())
    assert not low <= int(lines[0][3]) <= high


@pytest.mark.parametrize("failing", ["./ocean", "./atmos"])
def test_heterogeneous_job_ends_when_a_block_fails(waitio, source_dir, failing):
    env = {"SLURM_JOB_ID": "1", "FAIL": failing}
    done = run_template(waitio, source_dir, "slurm-hetjob.sh", env)
    assert done.returncode == 3, done.stderr


@pytest.mark.parametrize("late", ["./ocean", "./atmos"])
def test_heterogeneous_job_keeps_the_status_of_the_block_that_ends_last(waitio, source_dir, late):
    """`wait ... || [ ... ] || status=$?` took the status of the test in between: 1."""
    done = run_template(waitio, source_dir, "slurm-hetjob.sh", {"SLURM_JOB_ID": "1", "LATE": late})
    assert done.returncode == 3, done.stderr


def test_slurm_templates_say_how_many_cores_a_task_gets(waitio, source_dir):
    """srun does not take the number over from the job since Slurm 22.05."""
    run_template(waitio, source_dir, "slurm-hetjob.sh", {"SLURM_JOB_ID": "1"})
    env = {"WAITIO_JOB_ID": "j1", "WAITIO_MASTER_PORT": "20001", "SLURM_CPUS_PER_TASK": "7"}
    for name in ("first", "second"):
        run_template(waitio, source_dir, f"slurm-{name}.sh", env)
    log = (waitio.cwd / "srun.log").read_text().splitlines()
    het, own = sorted(log[:2]), log[2:]
    text = (source_dir / "examples/jobs/slurm-hetjob.sh").read_text()
    asked = re.findall(r"^#SBATCH .*(--cpus-per-task=\d+)", text, re.MULTILINE)
    assert asked[0] in het[1].split() and asked[1] in het[0].split(), het
    assert len(own) == 2 and all("--cpus-per-task=7" in line.split() for line in own), own
    launcher = waitio.script("fake", "exit 1")
    words = ["run", "--dry-run", "--mpi", "slurm", "--mpiexec", launcher, "true"]
    assert b" --cpus-per-task=7 " in waitio(*words, env={"SLURM_CPUS_PER_TASK": "7"})[1]


@pytest.mark.parametrize("system", ["slurm", "pjm"])
def test_separate_jobs_wait_for_each_other_longer_than_a_queue(waitio, source_dir, system):
    env = {"WAITIO_JOB_ID": "j1", "WAITIO_MASTER_PORT": "20001"}
    run_template(waitio, source_dir, f"{system}-first.sh", env)
    run_template(waitio, source_dir, f"{system}-second.sh", env)
    waits = [line for line in (waitio.cwd / "serv.log").read_text().splitlines() if "-c" in line]
    assert waits == ["-c --timeout 86400"] * 2
    for name in ("first", "second"):
        text = (source_dir / f"examples/jobs/{system}-{name}.sh").read_text()
        assert "export WAITIO_INIT_TIMEOUT" in text and text.count("INIT_TIMEOUT:=86400") == 1


@pytest.mark.parametrize(
    "given, first, last",
    [
        ("32768 60999", 20000, 31999),
        ("15000 61000", 3000, 14999),
        ("1024 50000", 50001, 62000),
        ("1024 65535", 20000, 31999),
    ],
)
def test_ports_are_none_that_the_system_gives_out(
    package, monkeypatch, tmp_path, given, first, last
):
    from waitio import ports

    (tmp_path / "range").write_text(given.replace(" ", "\t") + "\n")
    monkeypatch.setattr(ports, "RANGE_FILE", str(tmp_path / "range"))
    assert ports.window() == (first, last)
    ids = [f"run-{n}" for n in range(200)]
    found = {ports.port_for(job) for job in ids}
    assert all(ports.window()[0] <= port <= ports.window()[1] for port in found)
    assert len(found) > 190 and ports.port_for("run-1") == ports.port_for("run-1")


@pytest.mark.parametrize("name, pbid", [("first", 0), ("second", 1)])
@pytest.mark.parametrize("system", ["slurm", "pjm"])
def test_separate_job_templates(waitio, source_dir, system, name, pbid):
    env = {"WAITIO_JOB_ID": "j1", "WAITIO_MASTER_PORT": "20001"}
    done = run_template(waitio, source_dir, f"{system}-{name}.sh", env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split()[1:] == [f"{pbid}/2", "master", "20001", "j1"]
    assert ("serv -d -m" in done.stdout) == (pbid == 0)
    assert run_template(waitio, source_dir, f"{system}-{name}.sh", {}).returncode != 0


@pytest.mark.parametrize("system", ["slurm", "pjm"])
def test_submit_templates(waitio, source_dir, system):
    for command in ("sbatch", "pjsub"):
        waitio.script(command, 'echo "$* $WAITIO_JOB_ID $WAITIO_MASTER_PORT $WAITIO_SECRET_FILE"')
    done = run_template(waitio, source_dir, f"{system}-submit.sh", {})
    assert done.returncode == 0, done.stderr
    first, second = (line.split() for line in done.stdout.splitlines())
    assert first[2:] == second[2:] and first[1].endswith("first.sh")
    if system == "pjm":
        assert (waitio.cwd / first[-1]).stat().st_mode & 0o777 == 0o600
