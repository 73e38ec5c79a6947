# SPDX-License-Identifier: BSD-3-Clause
"""`waitio cpl weights`, `grid`, `plot`: files, reports, errors, and the same weights as CDO's."""

import json
import os
import resource
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest
from surroundings import clean

NAMES = ("cs12", "ico9", "r40x20")


@pytest.fixture
def cpl(build_dir, tmp_path):
    """The command in an empty folder."""

    def run(*words, code=0):
        done = subprocess.run(
            [str(build_dir / "bin" / "waitio"), "cpl", *map(str, words)],
            cwd=tmp_path,
            env=clean(),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


@pytest.fixture
def grids(cpl, tmp_path):
    """Grid files by name."""
    if "built without netCDF" in cpl("weights", "nothing.nc", "cs2", code=1):
        pytest.skip("built without netCDF (Debian: apt-get install libnetcdf-dev)")
    for name in NAMES:
        cpl("grid", name, "-o", f"{name}.nc")
    return tmp_path


@pytest.fixture
def cdo(grids):
    """CDO makes weights from one grid to another."""
    if shutil.which("cdo") is None:
        pytest.skip("CDO is not installed (Debian: apt-get install cdo)")

    def run(operator, source, target, out):
        line = ["cdo", "-s", "-f", "nc", f"{operator},{target}", f"-const,1,{source}", out]
        subprocess.run(line, cwd=grids, check=True, capture_output=True, timeout=120)

    return run


def difference(cpl, first, second):
    return json.loads(cpl("weights", "--compare", first, second, "--json"))


@pytest.mark.parametrize("source, target", [("ico9", "cs12"), ("cs12", "ico9")])
def test_conservative_weights_are_cdos(cpl, cdo, source, target):
    """Both take edges for great circles on these grids."""
    cdo("gencon", f"{source}.nc", f"{target}.nc", "theirs.nc")
    cpl("weights", f"{source}.nc", f"{target}.nc", "-o", "ours.nc")
    found = difference(cpl, "ours.nc", "theirs.nc")
    assert found["links"][0] > 2000
    assert found["largest"] < 1e-12


def test_bilinear_weights_are_cdos(cpl, cdo):
    """But beyond the last row of centres, where CDO takes the nearest four."""
    cdo("genbil", "r40x20.nc", "cs12.nc", "theirs.nc")
    cpl("weights", "r40x20.nc", "cs12.nc", "-m", "bilinear", "-o", "ours.nc")
    report = json.loads(cpl("weights", "r40x20.nc", "cs12.nc", "-m", "bilinear", "--json"))
    found = difference(cpl, "ours.nc", "theirs.nc")
    beyond = report["by_method"]["none"]
    assert found["links"][0] > 3000
    assert found["beyond"] <= 4 * beyond <= 32
    if beyond == 0:
        assert found["largest"] < 1e-10


@pytest.mark.parametrize("source, target", [("ico9", "cs12"), ("r40x20", "ico9")])
def test_nearest_neighbours_are_cdos(cpl, cdo, source, target):
    """But of several at the same distance ours is the one with the lowest index."""
    cdo("gennn", f"{source}.nc", f"{target}.nc", "theirs.nc")
    cpl("weights", f"{source}.nc", f"{target}.nc", "-m", "nearest", "-o", "ours.nc")
    found = difference(cpl, "ours.nc", "theirs.nc")
    assert found["beyond"] <= 0.02 * found["links"][0]


def test_distance_weights_are_cdos_to_its_digits(cpl, cdo):
    """CDO's distances have eight digits."""
    cdo("gendis", "ico9.nc", "cs12.nc", "theirs.nc")
    cpl("weights", "ico9.nc", "cs12.nc", "-m", "distance", "-o", "ours.nc")
    found = difference(cpl, "ours.nc", "theirs.nc")
    assert found["only"] == [0, 0]
    assert found["largest"] < 1e-7


@pytest.mark.parametrize("order", ["conservative", "conservative2", "nearest"])
def test_cdo_remaps_with_our_files(cpl, cdo, grids, order):
    """A file of ours is one that CDO takes; a constant stays one."""
    cpl("weights", "ico9.nc", "cs12.nc", "-m", order, "-o", "ours.nc")
    line = ["cdo", "-s", "-f", "nc", "remap,cs12.nc,ours.nc", "-const,7,ico9.nc", "field.nc"]
    subprocess.run(line, cwd=grids, check=True, capture_output=True, timeout=120)
    line = ["cdo", "-s", "output", "-fldmin", "field.nc"]
    low = subprocess.run(line, cwd=grids, capture_output=True, text=True, timeout=120).stdout
    line[3] = "-fldmax"
    high = subprocess.run(line, cwd=grids, capture_output=True, text=True, timeout=120).stdout
    assert float(low) == pytest.approx(7, abs=1e-5)
    assert float(high) == pytest.approx(7, abs=1e-5)


def test_the_report_tells_the_truth(cpl):
    report = json.loads(cpl("weights", "cs12", "r40x20", "-m", "conservative2", "--json"))
    assert report["sources"] == 864 and report["targets"] == 800
    assert report["by_method"]["conservative2"] == 800
    assert report["by_method"]["none"] == report["masked"] == report["unused"] == 0
    for name in ("unity", "column", "constant", "harmonic"):
        assert report[name] < 1e-12
    assert report["weight"][0] < 0 < report["mean_error"] < 1e-2
    text = cpl("weights", "cs12", "r40x20")
    assert "source cs12: 864 cells, 0 masked" in text
    assert "conservative 800, without value 0" in text


@pytest.mark.parametrize(
    "method, source", [("nearest", "ico9"), ("bilinear", "r40x20"), ("distance", "cs12")]
)
def test_centres_are_enough(cpl, grids, method, source):
    """Methods that look at centres read no corners: the file is the same as with a report, which
    does, and holds no areas."""
    for name, more in (("quiet", ["--quiet"]), ("said", [])):
        cpl("weights", f"{source}.nc", "ico9.nc", "-m", method, "-o", f"{name}.nc", *more)
    quiet = (grids / "quiet.nc").read_bytes()
    assert quiet == (grids / "said.nc").read_bytes()
    assert b"src_grid_center_lat" in quiet and b"grid_area" not in quiet
    cpl("weights", "ico9.nc", "cs12.nc", "-o", "areas.nc")
    assert b"src_grid_area" in (grids / "areas.nc").read_bytes()


def test_threads_change_nothing(cpl, grids):
    for threads in (1, 3):
        cpl("weights", "ico9", "cs12", "--threads", threads, "-o", f"{threads}.nc", "--quiet")
    assert (grids / "1.nc").read_bytes() == (grids / "3.nc").read_bytes()


def test_formats_hold_the_same(cpl, grids):
    for form in ("scrip", "esmf"):
        cpl("weights", "ico9", "cs12", "--format", form, "-o", f"{form}.nc")
    assert difference(cpl, "scrip.nc", "esmf.nc")["largest"] == 0


def test_a_picture_shows_who_has_no_value(cpl, grids):
    cpl("weights", "r40x20", "ico9", "-m", "bilinear", "-o", "some.nc")
    cpl("weights", "r40x20", "ico9", "-m", "bilinear,distance", "-o", "all.nc")
    pictures = {}
    for name in ("some", "all"):
        cpl("plot", f"{name}.nc", "-o", f"{name}.svg")
        ET.parse(grids / f"{name}.svg")
        pictures[name] = (grids / f"{name}.svg").read_text()
    assert "without value" in pictures["some"]
    assert "without value" not in pictures["all"] and "distance" in pictures["all"]


@pytest.mark.parametrize(
    "words, code, said",
    [
        (["weights", "cs4"], 2, "two grids are needed"),
        (["weights", "cs4", "cs5", "-m", "conservatve"], 2, "'conservatve' is no method"),
        (["weights", "cs4", "cs5", "-m", "fixed"], 2, "'fixed' needs its value"),
        (["weights", "cs4", "cs5", "--norm", "area"], 2, "norm=area is no setting"),
        (["weights", "cs4", "cs5", "--neighbours", "0"], 2, "neighbours=0 is no setting"),
        (["weights", "cs4", "cs5", "-m", "bilinear"], 1, "barycentric"),
        (["weights", "cs4", "r2x9"], 1, "r360x180"),
        (["weights", "cs4", "cs5", "-o", "no/such/folder.nc"], 1, "no/such/folder.nc"),
        (["wieghts"], 2, "did you mean 'weights'"),
        (["grid", "cs9"], 2, "-o FILE"),
        (["plot", "no.nc", "-o", "x.svg"], 1, "'no.nc'"),
    ],
)
def test_mistakes_are_named(cpl, words, code, said):
    assert said in cpl(*words, code=code)


def test_only_whole_files_replace_others(cpl, grids):
    """A file size limit stops the writing: the old file stays, nothing lies beside it."""
    cpl("weights", "ico9", "cs12", "-o", "w.nc")
    before, names = (grids / "w.nc").read_bytes(), sorted(os.listdir(grids))
    resource.setrlimit(resource.RLIMIT_FSIZE, (40000, resource.RLIM_INFINITY))
    try:
        said = cpl("weights", "ico9", "cs12", "-m", "conservative2", "-o", "w.nc", code=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    assert "cannot write 'w.nc'" in said
    assert (grids / "w.nc").read_bytes() == before
    assert sorted(os.listdir(grids)) == names
    (grids / "folder").mkdir()
    for words in (["weights", "cs4", "cs5"], ["grid", "cs4"], ["plot", "w.nc"]):
        assert "no regular file" in cpl(*words, "-o", "folder", code=1)
