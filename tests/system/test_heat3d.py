# SPDX-License-Identifier: BSD-3-Clause
"""heat3d, heat conduction by finite elements: the answer against closed forms, one block against
several, WaitIO against plain MPI, meshes from files, wrong input."""

import itertools
import math
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jobs import mpiexec

MPIS = ("openmpi", "mpich")
WAYS = Path(__file__).parents[2] / "bench" / "heat3d_ways.py"
# Two launchers of unequal size, and the same number of processes as one block.
SHAPES = {"one block": [("", 3)], "two MPIs": [("openmpi", 2), ("mpich", 1)]}


@pytest.fixture
def heat3d(waitio, build_dir):
    """Run the program with run-time checks under `waitio run`, a list of (mpi, processes)."""
    program = build_dir / "bin" / "heat3d_checked"
    if not program.exists():
        pytest.skip("heat3d is not built: there is no Fortran compiler")

    def run(shape, *words):
        line = []
        for mpi, count in shape:
            if mpi and not shutil.which(f"mpiexec.{mpi}"):
                pytest.skip(f"{mpi} is not installed")
            line += [":"] if line else []
            line += ["-n", count, *(["--mpi", mpi] if mpi else []), program, *words]
        status, out, err = waitio("run", *line, timeout=60)
        return status, re.sub(r"(?m)^\[[^]]*\] ", "", out.decode()), err.decode()

    run.cwd, run.program = waitio.cwd, program
    return run


@pytest.fixture
def plain(waitio, build_dir):
    """Run the program built with an MPI, under that MPI's launcher."""

    def run(mpi, count, *words):
        program = build_dir / "bin" / f"heat3d_{mpi}"
        if not program.exists():
            pytest.skip(f"heat3d was not built with {mpi}")
        done = subprocess.run(
            [str(word) for word in mpiexec(mpi, (count, [program, *words]))],
            env=waitio.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def answer(result):
    """What was printed, as numbers; the run must have gone well."""
    status, out, err = result
    assert status == 0, out + err
    found = {k: float(v) for k, v in re.findall(r"(?m)^(\w+) +([-+.E\d]+)$", out)}
    found.update({k: float(most) for k, most in re.findall(r"(?m)^(\S+) +\S+ +(\d+\.\d{6})$", out)})
    return found


def box(n):
    return [f"nx={n}", f"ny={n}", f"nz={n}"]


def same(a, b):
    """Equal but for the order of three additions."""
    assert (a["iterations"], a["nodes"]) == (b["iterations"], b["nodes"])
    assert math.isclose(a["norm"], b["norm"], rel_tol=1e-12)
    assert math.isclose(a["error"], b["error"], rel_tol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_halving_the_elements_quarters_the_error(heat3d, shape):
    coarse, fine = (answer(heat3d(SHAPES[shape], *box(n))) for n in (6, 12))
    assert (coarse["nodes"], coarse["elements"], fine["processes"]) == (7**3, 6**3, 3)
    assert coarse["iterations"] > 8
    order = math.log2(coarse["error"] / fine["error"])
    assert 1.8 < order < 2.2, order


def test_linear_temperature_is_met_exactly(heat3d):
    found = answer(heat3d([("", 4)], "nx=5", "ny=4", "nz=7", "solution=linear", "tol=1e-13"))
    assert found["nodes"] == 6 * 5 * 8
    assert found["iterations"] > 5
    assert found["error"] < 1e-11


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_cutting_does_not_change_the_answer(heat3d, count):
    words = ("nx=3", "ny=5", "nz=4")
    same(answer(heat3d([("", count)], *words)), answer(heat3d([("", 1), ("", 2)], *words)))


PARTITIONS = ("rcb", "metis")


def has_metis(heat3d):
    """Was METIS found when heat3d was built? Then it is what cuts by itself."""
    return re.search(r"(?m)^partition +metis$", heat3d([("", 1)], *box(2), "tol=0.1")[1])


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_partition_does_not_change_the_answer(heat3d, count):
    """And whoever cuts, the parts are of one size; METIS cuts no more than half as much again."""
    if not has_metis(heat3d):
        pytest.skip("heat3d is built without METIS")
    found = {}
    for how in PARTITIONS:
        status, out, err = heat3d([("", count)], *box(9), f"partition={how}")
        found[how] = answer((status, out, err))
        assert re.search(rf"(?m)^partition +{how}$", out)
        low, high = map(int, re.search(r"parts +(\d+) to (\d+) nodes", out).groups())
        assert low > 0
        assert high < 1.15 * 1000 / count + 2
    same(found["rcb"], found["metis"])
    assert found["metis"]["cut"] <= 1.5 * found["rcb"]["cut"]
    assert (found["rcb"]["cut"] == 0) == (count == 1)


@pytest.mark.parametrize("how", PARTITIONS)
def test_partitions_of_two_launchers(heat3d, how):
    if how == "metis" and not has_metis(heat3d):
        pytest.skip("heat3d is built without METIS")
    one = answer(heat3d([("", 1)], *box(8)))
    same(one, answer(heat3d(SHAPES["two MPIs"], *box(8), f"partition={how}")))


def test_cut_of_a_box_by_coordinates(heat3d):
    """Two halves of 4 x 4 x 4 nodes: between the two middle planes of 16 nodes each lie the pairs
    of neighbours in a plane of 4 x 4, themselves included: 4 + 4 x 3 in each direction."""
    found = answer(heat3d([("", 2)], "nx=3", "ny=3", "nz=3", "partition=rcb"))
    assert found["cut"] == (4 + 2 * 3) ** 2


def test_every_process_has_a_node_of_a_tiny_mesh(heat3d):
    """METIS leaves parts of such a mesh empty; they are given nodes."""
    result = heat3d([("", 8)], *box(1), "solution=linear")
    assert re.search(r"parts +1 to 1 nodes", result[1]), result[1]
    assert answer(result)["error"] < 1e-12


def test_metis_that_is_not_there_is_told(heat3d):
    if has_metis(heat3d):
        pytest.skip("heat3d is built with METIS")
    status, _, err = heat3d([("", 2)], "partition=metis")
    assert status == 2
    assert err.count("this program was built without METIS; take partition=rcb") == 1


@pytest.mark.parametrize("mpi", MPIS)
def test_plain_mpi_gives_the_same_answer(heat3d, plain, mpi):
    one = answer(plain(mpi, 3, *box(10)))
    assert one["error"] < 2e-3
    for shape in SHAPES.values():
        same(one, answer(heat3d(shape, *box(10))))


def test_times_add_up(heat3d):
    found = answer(heat3d([("", 2)], *box(12)))
    parts = [found[k] for k in ("send/recv", "allreduce", "computing")]
    assert all(p > 0 for p in (*parts, found["assembly"]))
    assert max(parts) <= found["solver"] <= sum(parts) + 1e-5


WRONG = [
    (["nx=0"], 2, "nx=0: give a whole number"),
    (["ny=2.5"], 2, "ny=2.5: give a whole number"),
    (["nz="], 2, "nz=: give a whole number"),
    (["nx=1000", "ny=1000", "nz=1000"], 2, "more than 100000000 nodes"),
    (["tol=-1"], 2, "tol=-1: give a positive number"),
    (["tol=1,2"], 2, "tol=1,2: give a positive number"),
    (["solution=cubic"], 2, "there are sine and linear"),
    (["partition=scotch"], 2, "there are rcb and metis"),
    (["n=3"], 2, "unknown key 'n'; the keys are nx"),
    (["8"], 2, "'8' is not of the form key=value"),
    ([*box(1), "tol=1e-3"], 2, "9 processes for 8 nodes"),
    ([*box(6), "maxit=2"], 1, "not converged: residual"),
    ([*box(6), "check=1e-6"], 1, "is above check= 1.00E-06"),
]


@pytest.mark.parametrize("words, status, text", WRONG, ids=[" ".join(w[0]) for w in WRONG])
def test_wrong_input_is_told_once(heat3d, words, status, text):
    ended, _, err = heat3d([("", 9 if "processes" in text else 2)], *words)
    assert ended == status
    assert len(re.findall(r"heat3d: .*" + re.escape(text), err)) == 1, err


def test_blocks_with_different_settings_are_told(waitio, heat3d):
    status, _, err = waitio("run", heat3d.program, "nx=4", ":", heat3d.program, "nx=5")
    assert status == 2
    assert b"different settings" in err


# An uneven box as files have it: 3 x 4 x 5 hexahedra, inner nodes moved, nodes in no order, one
# node and one surface that belong to no hexahedron.
CELLS = (3, 4, 5)


def bent_mesh():
    """(points, hexahedra, quadrilaterals), counting points from 0."""
    chance = random.Random(4)
    grid = list(itertools.product(*(range(n + 1) for n in CELLS)))
    chance.shuffle(grid)
    place = {at: i for i, at in enumerate(grid)}
    points = [[i / n for i, n in zip(at, CELLS)] for at in grid]
    for at, point in zip(grid, points):
        if all(0 < i < n for i, n in zip(at, CELLS)):
            point[:] = [x + chance.uniform(-0.05, 0.05) for x in point]
    square = [(0, 0), (1, 0), (1, 1), (0, 1)]
    corners = [(a, b, c) for c in (0, 1) for a, b in square]
    cubes = [
        [place[i + a, j + b, k + c] for a, b, c in corners]
        for i, j, k in itertools.product(*(range(n) for n in CELLS))
    ]
    return [*points, [9.0, 9.0, 9.0]], cubes, [[place[a, b, 0] for a, b in square]]


def gmsh(points, cubes, flats):
    # Numbers with gaps, as an edited mesh has them.
    name = [3 * i + 7 for i in range(len(points))]
    text = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Comments", "a box", "$EndComments"]
    text += ["$Nodes", len(points)]
    text += [" ".join(map(str, [name[i], *p])) for i, p in enumerate(points)]
    text += ["$EndNodes", "$Elements", len(cubes) + len(flats) + 1, "1 15 2 0 1 7"]
    rows = [(3, c) for c in flats] + [(5, c) for c in cubes]
    for i, (kind, nodes) in enumerate(rows, 2):
        text.append(" ".join(map(str, [i, kind, 2, 1, 1, *(name[n] for n in nodes)])))
    return "\n".join(map(str, [*text, "$EndElements", ""]))


def vtk(points, cubes, flats):
    cells = flats + cubes
    text = ["# vtk DataFile Version 3.0", "a box", "ASCII", "DATASET UNSTRUCTURED_GRID"]
    text += [f"POINTS {len(points)} double"] + [" ".join(map(str, p)) for p in points]
    text += ["", f"CELLS {len(cells)} {sum(len(c) + 1 for c in cells)}"]
    text += [" ".join(map(str, [len(c), *c])) for c in cells]
    text += [f"CELL_TYPES {len(cells)}", " ".join(["9"] * len(flats) + ["12"] * len(cubes))]
    return "\r\n".join(text)  # and no end of the last line


FORMATS = {"gmsh": gmsh, "vtk": vtk}


@pytest.mark.parametrize("form", FORMATS)
def test_mesh_file(heat3d, form):
    (heat3d.cwd / "box.txt").write_text(FORMATS[form](*bent_mesh()))
    for shape in ([("", 1)], *SHAPES.values()):
        found = answer(heat3d(shape, "mesh=box.txt", "solution=linear", "tol=1e-13"))
        assert (found["elements"], found["nodes"]) == (3 * 4 * 5, 4 * 5 * 6)
        assert found["iterations"] > 5
        assert found["error"] < 1e-11


@pytest.mark.parametrize("mpi", MPIS)
def test_mesh_file_with_plain_mpi(heat3d, plain, mpi):
    path = heat3d.cwd / "box.txt"
    path.write_text(gmsh(*bent_mesh()))
    one = answer(plain(mpi, 2, f"mesh={path}"))
    assert 1e-3 < one["error"] < 5e-2
    same(one, answer(heat3d([("", 3)], "mesh=box.txt")))


def test_only_rank_0_needs_the_mesh_file(waitio, heat3d):
    (heat3d.cwd / "here").mkdir()
    (heat3d.cwd / "here" / "box.txt").write_text(vtk(*bent_mesh()))
    words = (heat3d.program, "mesh=box.txt", "check=0.05")
    status, _, err = waitio("run", "--wdir", "here", *words, ":", *words)
    assert status == 0, err.decode()


BAD_FILES = [
    ("vtk", None, None, "cannot be read"),
    ("vtk", "# vtk Data", "# Data", "line 1: neither a mesh of Gmsh"),
    ("vtk", "Version 3", "Version 5", "version 4.2 or older"),
    ("vtk", "ASCII", "BINARY", "line 3: 'BINARY' for ASCII"),
    ("vtk", "UNSTRUCTURED", "STRUCTURED", "line 4: 'DATASET STRUCTURED_GRID' is not"),
    ("vtk", "9.0 9.0 9.0", "9.0 9.0 x", "line 126: coordinate 'x' is not a number"),
    ("vtk", "4 ", "4 121 ", "point of a cell '121' is not a whole number from 0 to 120"),
    ("vtk", "9 12 12", "9 10 12", "a cell that is not a hexahedron with 8 points"),
    ("vtk", "CELLS", "CELL_DATA", "no POINTS, CELLS and CELL_TYPES"),
    ("vtk", " 12", " 9", "there is no hexahedron in it"),
    ("vtk", "12 12\r\n", "", "type of a cell '' is not"),
    ("gmsh", "2.2 0 8", "4.1 0 8", "line 2: format 4.1 of Gmsh: save the mesh in format 2"),
    ("gmsh", "2.2 0 8", "2.2 1 8", "line 2: the file is binary"),
    ("gmsh", "\n10 ", "\n7 ", "two nodes have the same number"),
    ("gmsh", "2 3 2 1 1", "2 4 2 1 1", "line 134: an element that is not a hexahedron"),
    ("gmsh", "\n3 5 2 1 1 ", "\n3 5 2 1 1 8 ", "a node that is not in $Nodes"),
    ("gmsh", "$Nodes", "$Knots", "$Elements before $Nodes"),
    ("gmsh", "$Elements", "$Things", "the file ends without $Nodes and $Elements"),
    ("gmsh", "\n62\n1 15", "\n63\n1 15", "number of an element '$EndElements' is not"),
]


@pytest.mark.parametrize("form, old, new, text", BAD_FILES, ids=[b[3][:40] for b in BAD_FILES])
def test_bad_mesh_file_is_told(heat3d, form, old, new, text):
    if old:
        good = FORMATS[form](*bent_mesh())
        if old == "12 12\r\n":
            bad = good[: -len("12 12")]
        elif old == " 12":
            head, mark, tail = good.partition("CELL_TYPES")
            bad = head + mark + tail.replace(" 12", " 9")
        elif old == "4 ":
            bad = good.replace("\r\n4 ", "\r\n" + new, 1)
        else:
            assert old in good
            bad = good.replace(old, new, 1)
        (heat3d.cwd / "box.txt").write_text(bad)
    status, _, err = heat3d([("", 2)], "mesh=box.txt")
    assert status == 2
    assert text in err


def test_element_inside_out_is_told(heat3d):
    points, cubes, flats = bent_mesh()
    cubes[7] = cubes[7][4:] + cubes[7][:4]
    (heat3d.cwd / "box.txt").write_text(vtk(points, cubes, flats))
    status, _, err = heat3d([("", 2)], "mesh=box.txt")
    assert status == 2
    assert "element 8 is flat or turned inside out" in err


@pytest.fixture
def four_ways(waitio, build_dir, plain):
    """One source, the same processes: one MPI job, two programs in each of the other ways."""

    def two(programs, *options, env=None):
        line = []
        for mpi, count in (("openmpi", 2), ("mpich", 1)):
            program = build_dir / "bin" / programs.format(mpi=mpi)
            if not program.exists() or not shutil.which(f"mpiexec.{mpi}"):
                pytest.skip(f"{program.name} is not built, or there is no mpiexec.{mpi}")
            line += [":"] if line else []
            line += ["-n", count, "--mpi", mpi, program, *box(8)]
        status, out, err = waitio("run", *options, *line, timeout=60, env=env)
        return status, re.sub(r"(?m)^\[[^]]*\] ", "", out.decode()), err.decode()

    return {
        "one MPI job": lambda: plain("openmpi", 3, *box(8)),
        "conversion library": lambda: two("heat3d_waitio"),
        "hybrid": lambda: two("heat3d_hybrid_{mpi}"),
        "hybrid, always by MPI": lambda: two(
            "heat3d_hybrid_{mpi}", env={"WAITIO_HYBRID_INSIDE": "mpi"}
        ),
        "span": lambda: two(
            "heat3d_{mpi}", "--span", env={"WAITIO_SPAN_LIB": str(build_dir / "lib")}
        ),
    }


def test_the_table_of_the_four_ways(waitio, build_dir):
    """What `make demo` shows at its end."""
    command = [sys.executable, WAYS, "--build", build_dir, "--cells", "8", "--rounds", "1"]
    done = subprocess.run(command, env=waitio.env, capture_output=True, text=True, check=False)
    if "bench: not found:" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    ways = "one MPI job|conversion library|hybrid communicators|span"
    assert len(re.findall(rf"(?m)^\| (?:{ways}) \|(?: [\d.]+ ms \|){{4}}$", done.stdout)) == 4


@pytest.mark.parametrize("way", ["conversion library", "hybrid", "hybrid, always by MPI", "span"])
def test_all_ways_give_one_answer(four_ways, way):
    first, second = answer(four_ways["one MPI job"]()), answer(four_ways[way]())
    assert second["processes"] == 3
    same(first, second)
