# SPDX-License-Identifier: BSD-3-Clause
"""The package as a package: wheel, sdist, the command without the extension, stubs, docstrings."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile

import pytest
import surroundings

tomllib = pytest.importorskip("tomllib")

ALONE = """
import waitio
with waitio.Universe(20) as universe:
    request = universe.world.irecv(0)
    universe.world.send("hello", 0)
    print(request.wait(), universe.size)
"""


def clean(**more):
    """The environment, without anything of this Python either."""
    return surroundings.clean("PYTHON", "PIP_", "VIRTUAL_ENV", **more)


@pytest.fixture(scope="module")
def sdist(helpers, source, tmp_path_factory):
    """An sdist, made the way pip and build make one."""
    helpers.needs("scikit_build_core")
    folder = tmp_path_factory.mktemp("sdist")
    code = "import sys; sys.path.insert(0, 'backend'); import waitio_backend as b; "
    helpers.command(sys.executable, "-c", code + f"b.build_sdist({str(folder)!r})", cwd=source)
    assert not (source / "library").exists(), "the copy of the library was left behind"
    return next(folder.glob("waitio-*.tar.gz"))


def test_a_wheel_from_the_sdist_works_in_an_empty_environment(sdist, helpers, make_universe):
    """The sdist is unpacked away from the checkout, so it holds all that it needs."""
    helpers.needs("Cython")
    u = make_universe()
    with tarfile.open(sdist) as tar:
        names = tar.getnames()
        assert not [n for n in names if "/tests/" in n or "__pycache__" in n]
        tar.extractall(u.folder)
    tree = next(u.folder.glob("waitio-*"))
    quick = helpers.settings(
        "cmake.build-type=Debug",
        "cmake.define.CMAKE_C_FLAGS_DEBUG=-O0",
        f"build-dir={u.folder / 'build'}",
    )
    helpers.pip("wheel", "--no-build-isolation", "-w", u.folder, *quick, tree)
    wheel = next(u.folder.glob("waitio-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
    assert not [f for f in files if f.endswith((".pyx", ".pxi", ".h", ".a"))]
    assert any(f.endswith("LICENSE") for f in files) and "waitio/py.typed" in files
    helpers.command(sys.executable, "-m", "venv", u.folder / "empty")
    python = u.folder / "empty" / "bin" / "python"
    words = ("-q", "--no-index", "--no-deps", "--disable-pip-version-check")
    helpers.command(python, "-m", "pip", "install", *words, wheel, env=clean())
    place = dict(WAITIO_PBID="0", WAITIO_NPB="1", WAITIO_RANK="0", WAITIO_NPROCS="1")
    env = clean(
        **place, WAITIO_MASTER_HOST="127.0.0.1", WAITIO_MASTER_PORT=u.env["WAITIO_MASTER_PORT"]
    )
    env["HOME"] = str(u.folder)
    assert helpers.command(python, "-I", "-c", ALONE, env=env, cwd=u.folder) == "hello 1\n"
    waitio = python.parent / "waitio"
    assert "messages between" in helpers.command(waitio, "--help", env=clean()).lower()
    out = helpers.command(waitio, "info", env=env)  # a program of the C library, from the wheel
    assert "0.1" in out
    beside = clean(**place, PATH=f"{python.parent}:{os.environ['PATH']}", HOME=str(u.folder))
    assert helpers.command("waitio-info", env=beside).splitlines()[0] == out.splitlines()[0]
    assert "--mode" in helpers.command("waitio-perf", "--help", env=beside)
    assert "waitio-serv" in helpers.command("waitio-serv", "--help", env=beside)
    code = "import waitio; print('rank', waitio.Universe(20).rank)"
    run = [waitio, "run", "-n", "2", python, "-c", code]
    text = helpers.command(*run, env=clean(HOME=str(u.folder)), cwd=u.folder)
    assert "rank 0" in text and "rank 1" in text


def test_scripts_of_pip_do_not_take_themselves_for_the_program(source, tmp_path):
    """Where the C library is not in the package, they find the installed program, or say so."""
    words = tomllib.loads((source / "pyproject.toml").read_text())["project"]["scripts"]
    assert {w for w in words if w != "waitio"} == {
        "waitio-info",
        "waitio-perf",
        "waitio-relay",
        "waitio-serv",
    }
    for name in words:
        module, function = words[name].split(":")
        script = tmp_path / "bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(
            f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\n"
            f"sys.exit({function}())\n"
        )
        script.chmod(0o755)
    real = tmp_path / "real"
    real.mkdir()
    env = clean(PYTHONPATH=str(source), PATH=f"{tmp_path / 'bin'}:{real}:/usr/bin:/bin")
    call = [tmp_path / "bin" / "waitio-info", "--one"]
    done = subprocess.run(call, env=env, capture_output=True, text=True, timeout=30)
    assert done.returncode == 127 and "not installed" in done.stderr, done.stderr
    (real / "waitio-info").write_text('#!/bin/sh\necho "the program $*"\n')
    (real / "waitio-info").chmod(0o755)
    done = subprocess.run(call, env=env, capture_output=True, text=True, timeout=30)
    assert done.stdout == "the program --one\n", done.stderr


def test_the_root_of_the_checkout_builds_the_same(source, helpers, tmp_path):
    """`pip install .` there: its backend works in python/."""
    helpers.needs("scikit_build_core")
    files = (source / "pyproject.toml", source.parent / "pyproject.toml")
    needs = [tomllib.loads(f.read_text())["build-system"]["requires"] for f in files]
    assert needs[0] == needs[1]
    code = "import sys; sys.path.insert(0, 'python/backend'); import waitio_backend as b; "
    code += f"print(b.prepare_metadata_for_build_wheel({str(tmp_path)!r}))"
    out = helpers.command(sys.executable, "-c", code, cwd=source.parent)
    assert "waitio-0" in out.splitlines()[-1], out


@pytest.mark.parametrize("lack, words", [("compiler", "no C compiler"), ("OpenSSL", "OpenSSL")])
def test_what_the_build_lacks_is_named_by_its_package(source, tmp_path, lack, words):
    hide = {"compiler": [], "OpenSSL": ["-DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON"]}[lack]
    env = clean(CC=str(tmp_path / "no-compiler")) if lack == "compiler" else clean()
    call = ["cmake", "-S", str(source), "-B", str(tmp_path / "build"), *hide]
    call.append(f"-DPython_EXECUTABLE={sys.executable}")
    done = subprocess.run(call, env=env, capture_output=True, text=True, timeout=120)
    said = " ".join(done.stderr.split())
    assert done.returncode != 0 and words in said, done.stderr
    assert "apt-get install gcc libc6-dev libssl-dev python3-dev" in said


def test_the_command_needs_the_standard_library_only(source, helpers):
    """On a login node: no extension, no site-packages. The interface then says what to do."""
    env = clean(PYTHONPATH=str(source))
    base = [sys.executable, "-S"]
    assert "usage" in helpers.command(*base, "-m", "waitio", "--help", env=env)
    helpers.command(*base, "-m", "waitio", "run", "--dry-run", "-n", "1", "true", env=env)
    code = "import waitio, waitio.exceptions; waitio.Error; waitio.ERR_PEER; waitio.Universe"
    done = subprocess.run([*base, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and last.startswith("ImportError:"), done.stderr
    assert "pip install" in last and "_core" in last


def test_codes_are_those_of_the_library(source):
    with open(source.parent / "spec" / "errors.toml", "rb") as file:
        rows = tomllib.load(file)["error"]
    sys.path.insert(0, str(source))
    try:
        from waitio import errortable, exceptions
    finally:
        sys.path.remove(str(source))
    assert {r["code"]: (r["name"], r["message"], r["remedy"]) for r in rows} == errortable.ERRORS
    for row in rows:
        error = exceptions.from_code(row["code"], "")
        assert error == row["code"] and error.name == row["name"]
        assert error.remedy == exceptions.python_names(row["remedy"])
        assert type(error) is not exceptions.Error, f"no class for {row['name']}"
    stub = (source / "waitio" / "__init__.pyi").read_text()
    assert set(re.findall(r"ERR_(\w+): int", stub)) == {row["name"] for row in rows}


def test_stubs_agree_with_the_extension(site, helpers, tmp_path):
    helpers.needs("mypy")
    allow = tmp_path / "allow"
    allow.write_text(
        # What Cython's classes look like.
        "waitio\\._core\\.(Collectives|CouplerHandle|Datatype|Group|MatchedMessage|Op|Request|StageHandle|Status)(\\.__init__)?\n"
        "waitio\\._core\\.__test__\n"
    )
    env = clean(PYTHONPATH=str(site), MYPYPATH=str(site))
    check = [sys.executable, "-m", "mypy.stubtest", "--ignore-unused-allowlist"]
    helpers.command(*check, "--allowlist", allow, "waitio._core", env=env, cwd=tmp_path)
    files = [f for f in (site / "waitio").glob("*.py") if f.name != "__init__.py"]
    files += (site / "waitio").glob("*.pyi")
    for package in ("coupler", "stage"):
        files += (site / "waitio" / package).glob("*.py")
    words = ["--strict", "--follow-imports=silent", f"--cache-dir={tmp_path / 'cache'}"]
    helpers.command(sys.executable, "-m", "mypy", *words, *files, env=clean(), cwd=tmp_path)
    use = tmp_path / "use.py"
    use.write_text(
        "import waitio\nu = waitio.Universe(30)\ns: waitio.Status = u.world.Recv(bytearray(1))\n"
        "n: int = s.count + u.world.rank\ntry:\n    pass\nexcept waitio.PeerError as e:\n"
        "    print(e.peer.pb if e.peer else e.remedy)\n"
    )
    env = clean(MYPYPATH=str(site))
    helpers.command(sys.executable, "-m", "mypy", *words, use, env=env, cwd=tmp_path)


def test_the_stub_names_what_the_package_exports(site, helpers):
    code = (
        "import waitio, re, pathlib; text = pathlib.Path(waitio.__file__).with_name('__init__.pyi')"
        ".read_text(); named = set(re.findall(r'(\\w+) as \\1', text));"
        " assert named == set(waitio.__all__), named ^ set(waitio.__all__);"
        " [getattr(waitio, n) for n in waitio.__all__]; assert 'Universe' in dir(waitio)"
    )
    helpers.command(sys.executable, "-c", code, env=clean(PYTHONPATH=str(site)))


DOCUMENTED = """
import inspect, waitio, waitio.coupler
missing = []
def look(name, thing):
    if not inspect.getdoc(thing):
        missing.append(name)
for home, name in [(h, n) for h in (waitio, waitio.coupler) for n in h.__all__]:
    thing = getattr(home, name)
    if isinstance(thing, (int, float)):
        continue
    look(name, thing)
    if inspect.isclass(thing):
        for member, value in vars(thing).items():
            if not member.startswith("_") and (callable(value) or isinstance(value, property)
                                               or inspect.isgetsetdescriptor(value)):
                look(f"{name}.{member}", value)
assert not missing, missing
"""


def test_everything_has_a_docstring(site, helpers):
    helpers.command(sys.executable, "-c", DOCUMENTED, env=clean(PYTHONPATH=str(site)))


def test_the_licence_is_the_project_s(source):
    assert (source / "LICENSE").read_text() == (source.parent / "LICENSE").read_text()


def test_versions_agree(source):
    text = (source.parent / "include" / "waitio.h").read_text()
    version = re.search(r'VERSION_STRING "([^"]+)"', text).group(1)
    with open(source / "pyproject.toml", "rb") as file:
        assert tomllib.load(file)["project"]["version"] == version
    assert f'__version__ = "{version}"' in (source / "waitio" / "__init__.py").read_text()


def test_calls_that_may_block_release_the_interpreter(source):
    """Every C call that can wait stands in a `with nogil` block."""
    waiting = re.compile(
        r"\b(waitio_(?:mpi_)?(?:wait|waitany|probe)_for|waitio_(?:init|finalize)|launch)\("
    )
    for part in (source / "cython").glob("*.pxi"):
        lines = part.read_text().splitlines()
        if part.name == "capi.pxi":
            continue
        for above, line in zip(lines, lines[1:]):
            at_once = ", 0, &" in line or line.startswith("cdef")
            if waiting.search(line) and not at_once:
                assert "with nogil" in above, f"{part.name}: {line.strip()}"
