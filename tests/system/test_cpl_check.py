# SPDX-License-Identifier: BSD-3-Clause
"""`waitio cpl check`, `convert`, `keys`: errors of a coupler's configuration in both formats, what
it asks of the programs, pictures, and the reference that is made from the source."""

import json
import pathlib
import re
import subprocess
import xml.etree.ElementTree as ET

import pytest
from surroundings import clean

FORMATS = ("conf", "yaml")


@pytest.fixture
def cpl(build_dir, tmp_path):
    """The command in an empty folder: its exit status, and both outputs."""

    def run(*words):
        done = subprocess.run(
            [str(build_dir / "bin" / "waitio"), "cpl", *map(str, words)],
            cwd=tmp_path,
            env=clean(),
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def write(cpl, tmp_path):
    """A file of one of the formats; skips where YAML cannot be read."""

    def file(form, text, name="c"):
        (tmp_path / f"{name}.{form}").write_text(text)
        if form == "yaml" and "built without libyaml" in cpl("convert", f"{name}.yaml")[2]:
            pytest.skip("built without libyaml (Debian: apt-get install libyaml-dev)")
        return f"{name}.{form}"

    return file


def conf(*rows):
    """Namelists. A row: from, to, fields; a field: name, keys."""
    text = ""
    for start, end, *fields in rows:
        text += f"&h3ou_var comp_put='{start}', comp_get='{end}', "
        text += f"grid_put='g{start}', grid_get='g{end}' /\n"
        for name, keys in fields:
            text += f"&h3ou_var var_put='{name}', var_get='{name}', {keys} /\n"
    return text


def yaml(*rows):
    """The same in YAML."""
    text = "couplings:\n"
    for start, end, *fields in rows:
        text += (
            f"- from: {start}\n  to: {end}\n  from_grid: g{start}\n  to_grid: g{end}\n  fields:\n"
        )
        for name, keys in fields:
            text += f"  - {{name: {name}, {keys}}}\n"
    return text


SNP, HOURLY = "flag='SNP', ", "interval: 1h"
AVR = "flag='AVR', "

# What goes wrong: namelists, YAML, and the words of both errors.
MISTAKES = {
    "lag 1 both ways": (
        conf(
            ("A", "B", ("x", SNP + "intvl=60, lag=1")), ("B", "A", ("y", SNP + "intvl=60, lag=1"))
        ),
        yaml(
            ("A", "B", ("x", "interval: 60, lag: serial")),
            ("B", "A", ("y", "interval: 60, lag: serial")),
        ),
        "the circle: 'B' in its step at 0 s waits for 'x', which 'A' sends at 60 s",
        "the circle: 'B' in its step at 0 s waits for 'x', which 'A' sends at 60 s",
    ),
    "no interval": (
        conf(("A", "B", ("x", "flag='SNP'"))),
        yaml(("A", "B", ("x", "layers: 1"))),
        "c.conf:2: the record &h3ou_var that ends here needs intvl",
        "c.yaml:7:5: this field needs interval",
    ),
    "interval 0": (
        conf(("A", "B", ("x", SNP + "intvl=0"))),
        yaml(("A", "B", ("x", "interval: 0"))),
        "c.conf:2: the record &h3ou_var that ends here has intvl = 0, which needs lag = 0",
        "c.yaml:7:25: interval: 0 is not a time",
    ),
    "reduction": (
        conf(("A", "B", ("x", "flag='snp', intvl=60"))),
        yaml(("A", "B", ("x", "interval: 60, reduction: SNP"))),
        "c.conf:2: flag = 'snp' is neither 'SNP' nor 'AVR'",
        "c.yaml:7:40: reduction: SNP is none of snapshot, average",
    ),
    "factor": (
        conf(("A", "B", ("x", SNP + "intvl=60, factor=5"))),
        yaml(("A", "B", ("x", "interval: 60, factor: 5"))),
        "c.conf:2: factor has never had an effect",
        "c.yaml:7:29: factor is no key of a field",
    ),
    "log level": (
        "&h3ou_coupling log_level='Loud' /\n",
        "log: quiet\n",
        "c.conf:1: log_level = 'Loud' is none of SILENT, WHISPER and LOUD",
        "c.yaml:1:6: log: quiet is none of silent, whisper, loud",
    ),
    "unknown key": (
        "&h3ou_coupling log_levl='LOUD' /\n",
        "lgo: loud\n",
        "c.conf:1: log_levl is no key of &h3ou_coupling (did you mean 'log_level'?)",
        "c.yaml:1:1: lgo is no key of the file (did you mean 'log'?)",
    ),
    "a mean at once": (
        conf(("A", "B", ("x", AVR + "lag=0"))),
        yaml(("A", "B", ("x", "lag: now, reduction: average"))),
        "asks for a mean (AVR) of what is sent at once",
        "asks for one of several puts, but each is sent at once",
    ),
    "twice": (
        conf(("A", "B", ("x", SNP + "intvl=60"), ("x", AVR + "intvl=60"))),
        yaml(("A", "B", ("x", "interval: 60"), ("x", "interval: 1h"))),
        "c.conf:3: component 'B' receives 'x' a second time, as in line 2",
        "c.yaml:8: component 'B' receives 'x' a second time, as in line 7",
    ),
    "itself": (
        conf(("A", "A", ("x", SNP + "intvl=60"))),
        yaml(("A", "A", ("x", "interval: 60"))),
        "couples a component with itself",
        "couples component 'A' with itself",
    ),
    "vector": (
        conf(("A", "B", ("u", SNP + "intvl=60, layer=3, grid_intpl_tag=10001"))),
        yaml(("A", "B", ("u", "interval: 60, layers: 3, vector: yes"))),
        "needs an even number of layers",
        "needs an even number of layers",
    ),
    "half a vector": (
        conf(("A", "B", ("u", SNP + "intvl=60, vector_with='v'"), ("w", SNP + "intvl=60"))),
        yaml(("A", "B", ("u", "interval: 60, vector_with: v"), ("w", "interval: 60"))),
        "c.conf:2: 'u' is the first component of a vector whose second is 'v'",
        "c.yaml:7: 'u' is the first component of a vector whose second is 'v'",
    ),
    "an unequal vector": (
        conf(("A", "B", ("u", SNP + "intvl=60, vector_with='v'"), ("v", SNP + "intvl=90"))),
        yaml(("A", "B", ("u", "interval: 60, vector_with: v"), ("v", "interval: 90"))),
        "'u' and 'v' (line 3) are the components of a vector (vector_with), but their intervals",
        "'u' and 'v' (line 8) are the components of a vector (vector_with), but their intervals",
    ),
    "no file of this format": (
        "&h3ou_var comp_put='A",
        "couplings: [",
        "c.conf:1: a text in quotes does not end",
        "c.yaml:2:1: this is no YAML",
    ),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_names_mistakes(cpl, write, mistake, form):
    """Each with its place; the same as JSON; and no picture of it."""
    texts = dict(zip(FORMATS, MISTAKES[mistake]))
    words = dict(zip(FORMATS, MISTAKES[mistake][2:]))[form]
    code, out, err = cpl("check", write(form, texts[form]), "--graph", "g.svg")
    assert code == 1
    assert words in out
    assert "nothing is drawn" in err
    code, out, _ = cpl("check", f"c.{form}", "--json")
    report = json.loads(out)
    assert code == 1
    assert report["ok"] is False
    assert any(words in fault["text"] for fault in report["faults"])
    assert report["components"] == []


GOOD = [
    # fine now, and errors of the old coupler: lags and intervals that differ, one put got twice
    (("A", "B", ("x", SNP + "intvl=60, lag=1"), ("y", SNP + "intvl=60, lag=-1")),),
    (("A", "B", ("x", SNP + "intvl=5400"), ("y", AVR + "intvl=3600")),),
    (("A", "B", ("x", SNP + "lag=0"), ("y", SNP + "intvl=60")),),
]


@pytest.mark.parametrize("rows", GOOD)
def test_accepts_what_works(cpl, write, rows):
    """With nothing to say about it."""
    code, out, err = cpl("check", write("conf", conf(*rows)), "--quiet")
    assert (code, out, err) == (0, "", "")


def test_all_errors_at_once(cpl, write):
    """Three slips, three lines; what follows from them is not told."""
    text = conf(
        ("A", "B", ("x", SNP + "intvl=x"), ("y", "flag='snp', intvl=60"), ("z", SNP + "itvl=60"))
    )
    code, out, _ = cpl("check", write("conf", text))
    assert code == 1
    assert [line[:15] for line in out.splitlines() if line.startswith("error")] == [
        f"error: c.conf:{n}" for n in (2, 3, 4)
    ]
    assert "did you mean 'intvl'?" in out


def test_a_run_names_how_many_more(cpl, write):
    """`convert` and a run stop at the first error, and say that there are others."""
    text = "log: x\ndebug: x\nstop_step: x\n"
    code, _, err = cpl("convert", write("yaml", text))
    assert code == 1
    assert "c.yaml:1:6: log: x is none of" in err
    assert "(2 more errors in the file: `waitio cpl check` shows all)" in err


@pytest.mark.parametrize("form", FORMATS)
def test_steps_that_do_not_fit(cpl, write, form):
    """No multiple: fewer exchanges (a warning); no common time: an error."""
    row = ("A", "B", ("x", SNP + "intvl=5400" if form == "conf" else "interval: 90min"))
    file = write(form, conf(row) if form == "conf" else yaml(row))
    code, out, _ = cpl("check", file, "--step", "A=1h", "--step", "B=3600")
    assert code == 0
    assert "it gets something every 10800 s only" in out
    assert cpl("check", file, "--step", "A=1h", "--step", "B=3600", "--strict")[0] == 1
    code, out, _ = cpl("check", file, "--step", "A=1h", "--step", "B=1800")
    assert code == 1
    assert "needs 'x' at 5400 s, made up to 5400 s, but no step of component 'A'" in out
    code, _, err = cpl("check", file, "--step", "C=1h")
    assert code == 2
    assert "'C'" in err
    assert cpl("check", file, "--step", "A=often")[0] == 2


def test_steps_in_the_file(cpl, write):
    """There they are an error."""
    text = "components: {A: {step: 1h}, B: }\n" + yaml(("A", "B", ("x", "interval: 90min")))
    code, out, _ = cpl("check", write("yaml", text))
    assert code == 1
    assert "no multiple of the step of component 'A', 3600 s (line 1)" in out


def test_sides_that_are_missing(cpl, write):
    """Puts that nobody gets, gets that nobody brings, components that do nothing."""
    text = "components:\n  A: {puts: [x, soot]}\n  B: {gets: [x, y]}\n  C:\n"
    code, out, _ = cpl("check", write("yaml", text + yaml(("A", "B", ("x", "interval: 60")))))
    assert code == 1
    assert "c.yaml:2: component 'A' puts 'soot', but nobody gets it" in out
    assert "c.yaml:3: component 'B' gets 'y', but no coupling brings it" in out
    assert "c.yaml:4: component 'C' is in no coupling" in out


def test_slips_in_names(cpl, write):
    """Namelists list no components, so it can only be doubted."""
    text = conf(
        ("atmos", "ocean", ("x", SNP + "intvl=60")), ("ocean", "atmso", ("y", SNP + "intvl=60"))
    )
    code, out, _ = cpl("check", write("conf", text))
    assert code == 0
    assert "'atmos' and 'atmso' differ in little" in out


def test_intervals_beyond_the_run(cpl, write):
    """Exchanged once only: hardly meant."""
    text = "calendar: {start: 2026-01-01, stop: 2026-01-02}\n" + yaml(
        ("A", "B", ("x", "interval: 1d"))
    )
    _, out, _ = cpl("check", write("yaml", text))
    assert "'x' is exchanged only once, at the start" in out


PAIR = (
    ("A", "B", ("x", AVR + "intvl=7200, lag=1"), ("y", SNP + "intvl=3600, lag=1")),
    ("B", "A", ("z", SNP + "intvl=7200")),
)


def test_says_what_to_call(cpl, write):
    """Each component's steps, gets and puts."""
    file = write("conf", conf(*PAIR).replace("intvl=3600", "intvl=7200"))
    code, out, _ = cpl("check", file, "--step", "A=30min", "--step", "B=1h")
    assert code == 0
    a, b = out.split("\nA: ")[1].split("\nB: ")
    assert a.startswith("step 30 min\n")
    assert "    0             set_time  get z  put for the interval x\n" in a
    assert "    ... 1 step more with the same calls\n" in a
    assert "    1 h 30 min    set_time  put y  put for the interval x\n" in a
    assert "before the first step: put z" in b
    assert "    0             set_time  get x, y\n" in b
    assert "    1 h           set_time  put z\n" in b


def test_calls_as_json(cpl, write):
    """The same for programs."""
    _, out, _ = cpl("check", write("conf", conf(*PAIR)), "--step", "A=3600", "--json")
    a, b = json.loads(out)["components"]
    assert (a["name"], a["step"], a["step_assumed"]) == ("A", 3600, False)
    assert (b["step"], b["step_assumed"], b["put_before_first_step"]) == (3600, True, ["z"])
    assert b["steps"][:2] == [
        {"time": 0, "get": ["x", "y"], "put": []},
        {"time": 3600, "get": ["y"], "put": ["z"]},
    ]


# ---- pictures ----------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def texts(path):
    """Words of a picture and the boxes around them: left, top, right, bottom."""
    found = []
    for node in ET.parse(path).getroot().iter(f"{SVG}text"):
        size, x, y = (float(node.get(k)) for k in ("font-size", "x", "y"))
        wide = len(node.text) * size * 0.55
        left = {"start": x, "middle": x - wide / 2, "end": x - wide}[node.get("text-anchor")]
        found.append((node.text, (left, y - size, left + wide, y)))
    return found


def check_picture(path):
    """All of it is inside, nothing lies over other words, and it is no wider than it must be."""
    root = ET.parse(path).getroot()
    _, _, wide, high = (float(n) for n in root.get("viewBox").split())
    found = texts(path)
    for i, (word, a) in enumerate(found):
        assert a[0] >= 0, word
        assert a[1] >= 0, word
        assert a[2] <= wide, word
        assert a[3] <= high, word
        for other, b in found[:i]:
            apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
            assert apart, f"{word!r} lies over {other!r}"
    assert all(float(n.get("font-size")) >= 12 for n in root.iter(f"{SVG}text"))
    return [word for word, _ in found]


def many(n):
    """Components in a ring, with names and lists that need room."""
    fields = [(f"a_field_with_a_long_name_{i}", SNP + "intvl=3600, layer=3") for i in range(6)]
    names = [f"component_{i}" for i in range(n)]
    return [
        (one, names[(i + 1) % n], *[(f"{f}_{i}", k) for f, k in fields])
        for i, one in enumerate(names)
    ]


@pytest.mark.parametrize("rows", [PAIR, many(2), many(5)], ids=["pair", "two", "five"])
def test_pictures(cpl, write, tmp_path, rows):
    """Words never overlap."""
    file = write("conf", conf(*rows))
    code, _, err = cpl("check", file, "--graph", "g.svg", "--timeline", "t.svg", "--quiet")
    assert (code, err) == (0, "")
    graph, timeline = check_picture(tmp_path / "g.svg"), check_picture(tmp_path / "t.svg")
    for start, _, *fields in rows:
        assert start in graph
        assert start in timeline
        assert all(name in graph for name, _ in fields)


def test_the_timeline_runs_as_the_lags_say(cpl, write, tmp_path):
    """Lag 1: the receiver's steps stand below the sender's. Lag -1 both ways: beside each other."""

    def rows_of(lag):
        rows = (
            ("A", "B", ("x", SNP + f"intvl=60, lag={lag}")),
            ("B", "A", ("y", SNP + "intvl=60")),
        )
        file = write("conf", conf(*rows))
        assert cpl("check", file, "--timeline", "t.svg", "--quiet")[0] == 0
        return [box[1] for word, box in texts(tmp_path / "t.svg") if word == "0 – 1 min"]

    serial, parallel = rows_of(1), rows_of(-1)
    assert len(serial) == len(parallel) == 2
    assert serial[1] > serial[0]
    assert parallel[1] == parallel[0]


def test_pictures_that_cannot_be_written(cpl, write, tmp_path):
    """A folder that is not there; something that is no file."""
    file = write("conf", conf(*PAIR))
    code, _, err = cpl("check", file, "--graph", "nowhere/g.svg", "--quiet")
    assert code == 1
    assert "cannot write 'nowhere/g.svg'" in err
    (tmp_path / "t.svg").mkdir()
    code, _, err = cpl("check", file, "--timeline", "t.svg", "--quiet")
    assert code == 1
    assert "no regular file" in err


# ---- converting --------------------------------------------------------------------------------


def test_converts(cpl, write):
    """What comes out means the same, and is not changed by converting it again."""
    file = write("conf", "&h3ou_coupling log_level='LOUD' /\n" + conf(*PAIR))
    write("yaml", "couplings:\n", "probe")
    code, text, _ = cpl("convert", file)
    assert code == 0
    assert "log: loud\n" in text
    assert "{name: x, interval: 2h, lag: serial, reduction: average}" in text
    assert cpl("convert", file, "-o", "d.yaml") == (0, "", "")
    assert cpl("convert", "d.yaml")[1] == text
    fields = [json.loads(cpl("check", f, "--json")[1])["fields"] for f in (file, "d.yaml")]
    for all_fields in fields:
        for field in all_fields:
            del field["line"]
    assert fields[0] == fields[1]


def test_names_that_yaml_cannot_hold(cpl, write, tmp_path):
    """Latin 1 in a namelist: an error, not a file that nobody can read."""
    write("yaml", "couplings:\n", "probe")
    text = conf(("A", "B", ("Niederschlag_für", SNP + "intvl=60")))
    (tmp_path / "l.conf").write_bytes(text.encode("latin-1"))
    code, _, err = cpl("convert", "l.conf", "-o", "l.yaml")
    assert code == 1
    assert "is no YAML" in err
    assert not (tmp_path / "l.yaml").exists()


def test_arguments(cpl):
    """What is no command, or misses its file."""
    assert cpl("check")[0] == 2
    assert cpl("check", "a", "b")[0] == 2
    assert cpl("keys", "a")[0] == 2
    assert cpl("check", "--nonsense", "a")[0] == 2
    code, _, err = cpl("check", "not_there.conf")
    assert code == 1
    assert "not_there.conf cannot be opened" in err


# ---- the reference -----------------------------------------------------------------------------


def test_the_reference_is_the_source(cpl, source_dir):
    """docs/guide/coupler-config.md holds the tables of `waitio cpl keys`, and no others."""
    code, keys, _ = cpl("keys")
    assert code == 0
    page = (pathlib.Path(source_dir) / "docs" / "guide" / "coupler-config.md").read_text()
    tables = re.findall(r"^### .*\n(?:(?!#).*\n)*", keys + "\n", re.MULTILINE)
    assert len(tables) >= 8
    for table in tables:
        assert table.strip() in page, f"put what `waitio cpl keys` prints here:\n{table}"
    rows = [row for row in page.splitlines() if re.match(r"\| `[^-]", row)]
    assert sorted(rows) == sorted(row for row in keys.splitlines() if row.startswith("| `"))
