# SPDX-License-Identifier: BSD-3-Clause
"""`make install`: complete, usable through pkg-config and CMake, movable, free of build paths."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from jobs import install
from surroundings import clean, member, rendezvous

# A whole universe in one process: joins, sends itself a message, leaves.
PROGRAM = """
#include <waitio.h>
#include <string.h>
int main(void)
{
    int major = -1, size = -1, order[1] = {1};
    waitio_filter_func_t all[1] = {truef};
    char out[8] = "hello", in[8] = "";
    waitio_req_t sent = WAITIO_REQ_NULL, got = WAITIO_REQ_NULL;
    if (waitio_get_version(&major, NULL, NULL) != 0 || major != WAITIO_VERSION_MAJOR)
        return 2;
    if (waitio_init(20) != 0) {
        fprintf(stderr, "%s\\n", waitio_last_error());
        return 3;
    }
    waitio_group_t group = waitio_create_group(0, all, order);
    if (group == NULL || waitio_group_size(group, &size) != 0 || size != 1)
        return 4;
    if (waitio_irecv(group, 0, in, sizeof in, 7, &got) ||
        waitio_isend(group, 0, out, sizeof out, 7, &sent))
        return 5;
    if (waitio_wait(&sent) || waitio_wait(&got) || strcmp(in, out) != 0)
        return 6;
    puts(in);
    return waitio_finalize() != 0;
}
"""

# A component alone, with a configuration in YAML.
COUPLER = """
#include <waitio_cpl.h>
#include <stdio.h>
int main(void)
{
    const int points[2] = {1, 2};
    waitio_cpl_t cpl;
    if (waitio_cpl_open("alone", "c.yaml", &cpl) != 0)
        return 2;
    waitio_cpl_grid(cpl, "g", points, 2);
    waitio_cpl_grids_done(cpl);
    waitio_cpl_start(cpl);
    waitio_cpl_step(cpl, 3600);
    waitio_cpl_close(&cpl);
    puts("coupled");
    return waitio_finalize() != 0;
}
"""
CONFIGURATION = "components: {alone: {step: 1h, grids: g}}\ncouplings: []\n"

# A writer alone: without readers its steps are kept for late ones.
STAGING = """
#include <waitio_stage.h>
int main(void)
{
    const uint64_t shape[1] = {3};
    const double values[3] = {1, 2, 3};
    waitio_stage_t stage;
    int v;
    if (waitio_stage_open("alone", WAITIO_STAGE_WRITE, NULL, NULL, &stage) != 0)
        return 2;
    if (waitio_stage_define(stage, "v", WAITIO_STAGE_DOUBLE, 1, shape, &v) != 0 ||
        waitio_stage_begin_step(stage, 0, 0, NULL) != 0 ||
        waitio_stage_put(stage, v, NULL, NULL, values, WAITIO_STAGE_NOW) != 0 ||
        waitio_stage_end_step(stage, 30) != 0 || waitio_stage_close(&stage, 30) != 0)
        return 3;
    puts("staged");
    return waitio_finalize() != 0;
}
"""

COUPLER_CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(use C)
find_package(waitio 0.1 REQUIRED)
add_executable(coupled coupled.c)
target_link_libraries(coupled PRIVATE waitio::waitio_cpl)
"""

CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(use C)
find_package(waitio 0.1 REQUIRED)
add_executable(shared main.c)
target_link_libraries(shared PRIVATE waitio::waitio)
add_executable(static main.c)
target_link_libraries(static PRIVATE waitio::waitio_static)
"""


def run(command, **kwargs):
    done = subprocess.run(
        [str(c) for c in command],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **kwargs,
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def clean_env(tmp_path, **extra):
    """An environment without anything of the build, with a home of its own."""
    folders = os.environ["PATH"].split(os.pathsep)
    path = [p for p in folders if "/build/" not in p + "/" and ".venv" not in p]
    return clean("PYTHON", PATH=os.pathsep.join(path), HOME=tmp_path, **extra)


def alone(tmp_path, **extra):
    """Variables of a universe of one process."""
    return clean_env(tmp_path, **rendezvous(1, **extra), **member(0, 0, 1))


@pytest.fixture(scope="module")
def install_dir(build_dir, tmp_path_factory):
    """An installed copy of our own, because we hide it."""
    prefix = tmp_path_factory.mktemp("install") / "prefix"
    install(build_dir, prefix)
    return prefix


@pytest.fixture(scope="module")
def moved(install_dir, source_dir, tmp_path_factory):
    """A copy of the installed tree under another path; the first one is hidden meanwhile."""
    if not list((source_dir / "src" / "api").glob("*.c")):
        pytest.skip("the library has no public functions yet (src/api)")
    target = tmp_path_factory.mktemp("moved") / "somewhere else"
    hidden = install_dir.with_name("hidden")
    shutil.copytree(install_dir, target, symlinks=True)
    install_dir.rename(hidden)
    yield target
    hidden.rename(install_dir)


def libdir(prefix):
    return next(prefix.glob("**/libwaitio.so")).parent


def test_contents(install_dir, source_dir):
    lib = libdir(install_dir)
    for name in (
        "libwaitio.so.0",
        "libwaitio.a",
        "pkgconfig/waitio.pc",
        "cmake/waitio/waitioConfig.cmake",
    ):
        assert (lib / name).exists(), f"{name} is not installed"
    for name in ("libwaitio_a64fx.so", "libwaitio_a64fx.a"):
        assert os.readlink(lib / name) == name.replace("_a64fx", "")
    for header in (source_dir / "include").glob("*.h"):
        assert (install_dir / "include" / header.name).read_bytes() == header.read_bytes()
    assert os.access(install_dir / "bin" / "waitio", os.X_OK)
    tools = source_dir / "tools"
    for tool in ("waitio-serv", "waitio-info", "waitio-relay", "waitio-perf"):
        if (tools / f"{tool}.c").exists() or list((tools / tool).glob("*.c")):
            assert os.access(install_dir / "bin" / tool, os.X_OK), f"{tool} is not installed"
    for page in (source_dir / "docs" / "man").glob("*.[1-9].md"):
        name = page.name[: -len(".md")]
        text = (install_dir / "share" / "man" / f"man{name[-1]}" / name).read_text()
        assert '.SH "NAME"' in text and "`" not in text, f"{name} is no manual page"


def test_nothing_names_the_build(install_dir, build_dir, source_dir):
    places = {
        str(p): re.compile(rb"(?<![\w.])" + re.escape(str(p).encode()) + rb"(?!\w)")
        for p in (build_dir, source_dir, install_dir)
    }
    for path in sorted(install_dir.rglob("*")):
        if path.is_symlink():
            assert not os.readlink(path).startswith("/"), f"{path} is an absolute link"
        elif path.is_file():
            data = path.read_bytes()
            found = [place for place, pattern in places.items() if pattern.search(data)]
            assert not found, f"{path.relative_to(install_dir)} contains {found}"


def test_no_bytecode_or_test_files(install_dir):
    bad = [
        p for p in install_dir.rglob("*") if p.name == "__pycache__" or p.name.startswith("test_")
    ]
    assert bad == []


def test_pkg_config_shared(moved, tmp_path):
    (tmp_path / "main.c").write_text(PROGRAM)
    env = clean_env(tmp_path, PKG_CONFIG_PATH=str(libdir(moved) / "pkgconfig"))
    flags = run(["pkg-config", "--cflags", "--libs", "waitio"], env=env)
    # A shell splits the flags, as in every makefile; the prefix has a blank in it on purpose.
    run(["sh", "-c", f"cc -std=c11 -Wall -Werror -o shared main.c {flags.strip()}"], cwd=tmp_path)
    out = run([tmp_path / "shared"], env=alone(tmp_path, LD_LIBRARY_PATH=str(libdir(moved))))
    assert out == "hello\n"


def test_pkg_config_static(moved, tmp_path):
    (tmp_path / "main.c").write_text(PROGRAM)
    env = clean_env(tmp_path, PKG_CONFIG_PATH=str(libdir(moved) / "pkgconfig"))
    flags = run(["pkg-config", "--static", "--cflags", "--libs", "waitio"], env=env).strip()
    flags = flags.replace("-lwaitio", "-l:libwaitio.a")
    run(["sh", "-c", f"cc -std=c11 -o static main.c {flags}"], cwd=tmp_path)
    assert run([tmp_path / "static"], env=alone(tmp_path)) == "hello\n"


def test_old_link_name(moved, tmp_path):
    (tmp_path / "main.c").write_text(PROGRAM)
    run(
        ["cc", "-std=c11", f"-I{moved / 'include'}", "-o", "old", "main.c", f"-L{libdir(moved)}"]
        + ["-lwaitio_a64fx"],
        cwd=tmp_path,
    )
    out = run([tmp_path / "old"], env=alone(tmp_path, LD_LIBRARY_PATH=str(libdir(moved))))
    assert out == "hello\n"


def test_cmake_package(moved, tmp_path):
    (tmp_path / "main.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    env = clean_env(tmp_path)
    run(["cmake", "-S", ".", "-B", "out", f"-DCMAKE_PREFIX_PATH={moved}"], cwd=tmp_path, env=env)
    run(["cmake", "--build", "out"], cwd=tmp_path, env=env)
    for name in ("shared", "static"):
        assert run([tmp_path / "out" / name], env=alone(tmp_path)) == "hello\n"


def coupled(program, tmp_path, **env):
    """Run it, and again with a step that its YAML does not allow: so the file was read."""
    conf = tmp_path / "c.yaml"
    conf.write_text(CONFIGURATION)
    done = subprocess.run(
        [program],
        cwd=tmp_path,
        env=alone(tmp_path, **env),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if "built without libyaml" in done.stderr:
        pytest.skip("built without libyaml (Debian: apt-get install libyaml-dev)")
    assert done.returncode == 0 and done.stdout == "coupled\n", done.stdout + done.stderr
    conf.write_text(CONFIGURATION.replace("1h", "2h"))
    done = subprocess.run(
        [program],
        cwd=tmp_path,
        env=alone(tmp_path, **env),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1 and "step: 7200 s (c.yaml:1)" in done.stderr, done.stderr


def test_pkg_config_of_the_coupler(moved, tmp_path):
    (tmp_path / "coupled.c").write_text(COUPLER)
    env = clean_env(tmp_path, PKG_CONFIG_PATH=str(libdir(moved) / "pkgconfig"))
    flags = run(["pkg-config", "--cflags", "--libs", "waitio_cpl"], env=env).strip()
    run(["sh", "-c", f"cc -std=c11 -Wall -Werror -o coupled coupled.c {flags}"], cwd=tmp_path)
    coupled(tmp_path / "coupled", tmp_path, LD_LIBRARY_PATH=str(libdir(moved)))


def test_cmake_package_of_the_coupler(moved, tmp_path):
    (tmp_path / "coupled.c").write_text(COUPLER)
    (tmp_path / "CMakeLists.txt").write_text(COUPLER_CMAKE)
    env = clean_env(tmp_path)
    run(["cmake", "-S", ".", "-B", "out", f"-DCMAKE_PREFIX_PATH={moved}"], cwd=tmp_path, env=env)
    run(["cmake", "--build", "out"], cwd=tmp_path, env=env)
    coupled(tmp_path / "out" / "coupled", tmp_path)


def test_commands_run_from_the_moved_tree(moved, tmp_path):
    env = clean_env(tmp_path)
    for program in sorted((moved / "bin").iterdir()):
        out = run([program, "--help"], env=env, cwd=tmp_path)
        assert "usage" in out.lower(), f"{program.name} --help does not show its usage"
    link = pathlib.Path(tmp_path / "linked")
    link.symlink_to(moved / "bin" / "waitio")
    assert "usage" in run([link, "--help"], env=env, cwd=tmp_path).lower()


def installed_files(build_dir):
    """Built files that an installation copies; not those that the configuration made."""
    parts = ("fortran", "tools")  # not the Python packages that other programs have built there
    scripts = [build_dir / "cmake_install.cmake"]
    scripts += [path for part in parts for path in (build_dir / part).rglob("cmake_install.cmake")]
    text = "".join(path.read_text() for path in scripts)
    named = set(re.findall(rf'"({re.escape(str(build_dir))}/[^"$]+)"', text))
    ours = re.compile(r"/(package|CMakeFiles)/|cmake_install|/bin/waitio$")
    return {path for path in named if os.path.isfile(path) and not ours.search(path)}


def test_make_install_builds_what_it_installs_and_no_more(build_dir, source_dir):
    """The target `installed` makes every built file that is installed, and no test or benchmark.
    (What ninja calls inputs leaves out module files, which come with the objects.)"""
    if not (build_dir / "build.ninja").exists() or shutil.which("ninja") is None:
        pytest.skip("not built by ninja")
    said = run(["ninja", "-C", build_dir, "-t", "inputs", "installed"]).split("\n")
    inputs = {os.path.normpath(build_dir / line) for line in said if line}
    files = installed_files(build_dir)
    names = {os.path.basename(path) for path in files}
    assert {"libwaitio.a", "waitio-serv", "waitio.7"} <= names
    missing = {path for path in files if os.path.realpath(path) not in inputs}
    assert not [path for path in missing if not path.endswith(".mod")], missing
    assert not [path for path in inputs if re.search(r"/(tests|bench|apps)/", path)]
    rule = run(["make", "-n", "install"], cwd=source_dir)
    assert re.search(r"WAITIO_PROGRESS=1 scripts/build\.sh \S+ \d+ installed", rule), rule


@pytest.mark.parametrize("by", ["pkg-config", "cmake"])
def test_staging(moved, tmp_path, by):
    (tmp_path / "coupled.c").write_text(STAGING)
    env = clean_env(tmp_path, PKG_CONFIG_PATH=str(libdir(moved) / "pkgconfig"))
    if by == "cmake":
        text = COUPLER_CMAKE.replace("waitio::waitio_cpl", "waitio::waitio_stage")
        (tmp_path / "CMakeLists.txt").write_text(text)
        prefix = f"-DCMAKE_PREFIX_PATH={moved}"
        run(["cmake", "-S", ".", "-B", "out", prefix], cwd=tmp_path, env=env)
        run(["cmake", "--build", "out"], cwd=tmp_path, env=env)
        program = tmp_path / "out" / "coupled"
    else:
        flags = run(["pkg-config", "--cflags", "--libs", "waitio_stage"], env=env).strip()
        run(["sh", "-c", f"cc -std=c11 -Wall -Werror -o coupled coupled.c {flags}"], cwd=tmp_path)
        program = tmp_path / "coupled"
    env = alone(tmp_path, LD_LIBRARY_PATH=str(libdir(moved)))
    assert run([program], cwd=tmp_path, env=env).strip() == "staged"


STAGING_FORTRAN = """
program alone
    use waitio_stage
    implicit none
    type(waitio_stream) :: stream
    type(waitio_variable) :: v
    real(8), asynchronous :: values(2) = [1, 2]
    call waitio_init()
    call waitio_stage_open(stream, 'alone', WAITIO_STAGE_WRITE)
    call waitio_stage_define(stream, 'v', WAITIO_STAGE_DOUBLE, [2], v)
    call waitio_stage_begin_step(stream)
    call waitio_stage_put(stream, v, values)
    call waitio_stage_end_step(stream)
    call waitio_stage_close(stream)
    call waitio_finalize()
    print '(a)', 'staged'
end program alone
"""
STAGING_FORTRAN_CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(alone LANGUAGES Fortran)
find_package(waitio REQUIRED)
add_executable(alone alone.f90)
target_link_libraries(alone PRIVATE waitio::waitio_stage_fortran)
"""


@pytest.mark.parametrize("by", ["pkg-config", "cmake"])
def test_staging_in_fortran(moved, tmp_path, by):
    if not (libdir(moved) / "pkgconfig" / "waitio_stage_fortran.pc").exists():
        pytest.skip("built without a Fortran compiler")
    (tmp_path / "alone.f90").write_text(STAGING_FORTRAN)
    env = clean_env(tmp_path, PKG_CONFIG_PATH=str(libdir(moved) / "pkgconfig"))
    if by == "cmake":
        (tmp_path / "CMakeLists.txt").write_text(STAGING_FORTRAN_CMAKE)
        prefix = f"-DCMAKE_PREFIX_PATH={moved}"
        run(["cmake", "-S", ".", "-B", "out", prefix], cwd=tmp_path, env=env)
        run(["cmake", "--build", "out"], cwd=tmp_path, env=env)
        program = tmp_path / "out" / "alone"
    else:
        flags = run(["pkg-config", "--cflags", "--libs", "waitio_stage_fortran"], env=env).strip()
        run(["sh", "-c", f"gfortran -Wall -o alone alone.f90 {flags}"], cwd=tmp_path)
        program = tmp_path / "alone"
    env = alone(tmp_path, LD_LIBRARY_PATH=str(libdir(moved)))
    assert run([program], cwd=tmp_path, env=env).strip() == "staged"
