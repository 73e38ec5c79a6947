# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios of the published coupler: what runs, and what each component must get.

A scenario is a configuration, what each component does, and the values of index 1 (layer 1) by
step, written as `1:1 2:F 3:2001`. Other indices follow: one more for each (see `follows`).
"""

PAIRS = {"AB": ("compA", "compB", "gA", "gB"), "BA": ("compB", "compA", "gB", "gA")}
HOUR = "3600 " * 8


def pair(comp_put, comp_get, grid_put, grid_get, tag=None):
    extra = f", mapping_tag={tag}" if tag else ""
    return (
        f"&h3ou_var comp_put='{comp_put}', comp_get='{comp_get}', grid_put='{grid_put}', "
        f"grid_get='{grid_get}'{extra} /\n"
    )


def var(put, get, intvl, lag=-1, flag="SNP", **more):
    text = f"&h3ou_var var_put='{put}', var_get='{get}', lag={lag}, flag='{flag}'"
    more = {"intvl": intvl, **more}
    return text + "".join(f", {k}={v}" for k, v in more.items() if v is not None) + " /\n"


def identity(n):
    return ";".join(f"{i} {i} 1" for i in range(1, n + 1))


class Scenario:
    """Files of a scenario, and what it gives."""

    def __init__(self, name, conf, parts, gets=(), follows=True):
        self.name, self.conf, self.parts = name, conf, parts
        self.gets = dict(gets)  # (component, name): "1:1 2:F"
        self.follows = follows


def two(
    name, there, back=None, *, steps_a=HOUR, steps_b=HOUR, a="", b="", gets_a=None, gets_b=None
):
    """vA goes from A to B as yA, vB back as yB: (interval, lag, flag, more) each."""
    conf = pair(*PAIRS["AB"]) + var("vA", "yA", *there)
    part_a = "grid gA 1 2 3 4\ntable compA gA compB gB 1 " + identity(4)
    part_b = "grid gB 1 2 3 4\ntable compA gA compB gB 1"
    if back:
        conf += pair(*PAIRS["BA"]) + var("vB", "yB", *back)
        part_a += "\ntable compB gB compA gA 1\nget yB"
        part_b += "\ntable compB gB compA gA 1 " + identity(4) + f"\nput vB 0 -1 {b}"
    part_a += f"\nput vA 0 1 {a}\nsteps {steps_a}\n"
    part_b += f"\nget yA\nsteps {steps_b}\n"
    gets = {}
    if gets_a:
        gets["compA", "yB"] = gets_a
    if gets_b:
        gets["compB", "yA"] = gets_b
    return Scenario(name, conf, {"compA": part_a, "compB": part_b}, gets)


def negative(text):
    return " ".join(
        f"{s}:{v if v == 'F' else -int(v)}" for s, v in (w.split(":") for w in text.split())
    )


EVEN = "1:1 2:F 3:2001 4:F 5:4001 6:F 7:6001 8:F"
EACH = "1:1 2:1001 3:2001 4:3001 5:4001 6:5001 7:6001 8:7001"
NEXT = "1:1001 2:2001 3:3001 4:4001 5:5001 6:6001 7:7001 8:8001"
LAG1 = "1:2001 2:F 3:4001 4:F 5:6001 6:F 7:8001 8:F"
MEAN = "1:1 2:F 3:1501 4:F 5:3501 6:F 7:5501 8:F"
MEAN1 = "1:1501 2:F 3:3501 4:F 5:5501 6:F 7:7501 8:F"
NOW = "1:1 2:1001 3:2001 4:3001 5:4001 6:5001 7:6001 8:7001"
COMMON = "1:1 2:F 3:F 4:3001 5:F 6:F 7:6001 8:F"
HALF = "1800 " * 8
FOUR = "3600 " * 4
THREE = "3600 " * 3
TA = "1800 1800 3600 900 2700 3600"

TIMES = [
    two("e02", (7200,), (7200,), gets_b=EVEN, gets_a=negative(EVEN)),
    two("e04", (7200, -1, "AVR"), (7200,), gets_b=MEAN, gets_a=negative(EVEN)),
    two("e07", (3600,), (3600, 1), gets_b=EACH, gets_a=negative(NEXT)),
    two("e14", (7200, 1), (7200,), gets_b=LAG1, gets_a=negative(EVEN)),
    two("e15", (7200, 1, "AVR"), (7200, -1, "AVR"), gets_b=MEAN1, gets_a=negative(MEAN)),
    two("e25", (3600, 1, "AVR"), (3600,), gets_b=NEXT, gets_a=negative(EACH)),
    two("e09", (3600, 1), gets_b=NEXT),
    two("e40", (3600, 1), a="noinit", gets_b=NEXT),
    two("e10", (3600,), gets_b=EACH),
    two("e11", (3600, 0), a="noinit", gets_b=NEXT),
    two("e13", (7200, 0), (7200, 0), gets_b=NOW, gets_a=negative(NOW)),
    two(
        "e17",
        (3600, -1, "AVR"),
        (3600, -1, "AVR"),
        steps_a=HALF,
        steps_b=FOUR,
        gets_b="1:1 2:1501 3:3501 4:5501",
        gets_a="1:-1 2:F 3:-1001 4:F 5:-2001 6:F 7:-3001 8:F",
    ),
    two("e20", (5400,), (5400,), gets_b=COMMON, gets_a=negative(COMMON)),
    two("e26", (7200,), (3600,), gets_b=EVEN, gets_a=negative(EACH)),
    two("taSNP", (3600,), steps_a=TA, steps_b=FOUR, gets_b="1:1 2:2001 3:3001 4:5001"),
    two(
        "e23",
        (14400, -1, "AVR"),
        (14400, -1, "AVR"),
        a="even",
        b="even",
        gets_b="1:1 2:F 3:F 4:F 5:3001 6:F 7:F 8:F",
        gets_a="1:-1 2:F 3:F 4:F 5:-3001 6:F 7:F 8:F",
    ),
    two("putput", (3600,), a="twice", steps_a=THREE, steps_b=THREE, gets_b="1:1 2:1501 3:2501"),
    two(
        "putputavr",
        (3600, -1, "AVR"),
        a="twice",
        steps_a=THREE,
        steps_b=THREE,
        gets_b="1:1 2:1251 3:2251",
    ),
    # mended: the interval is shorter than B's step; B gets what A put up to its step
    two("e19", (1800,), steps_a=HALF, steps_b=FOUR, gets_b="1:1 2:2001 3:4001 4:6001"),
    # a later lag: the first message, too, is of one interval alone
    two(
        "later",
        (3600, 2, "ACC"),
        steps_a=FOUR,
        steps_b=FOUR,
        gets_b="1:2001 2:3001 3:4001 4:4001",
    ),
]


def layers(name, lag, n, steps, gets, intvl=3600, a=""):
    scenario = two(name, (intvl, lag), steps_a=steps, steps_b=steps, a=a, gets_b=gets)
    scenario.conf = pair(*PAIRS["AB"]) + var("vA", "yA", intvl, lag, layer=n)
    return scenario


LAYERS = [
    layers("e30", -1, 3, THREE, "1:1.1 2:1001.1 3:2001.1"),
    layers("e32", 1, 3, THREE, "1:1001.1 2:2001.1 3:3001.1"),
    layers("e34", 0, 3, FOUR, "1:1.1 2:F 3:2001.1 4:F", intvl=7200),
    layers("e36", -1, 50, THREE, "1:1.1 2:1001.1 3:2001.1"),
]


def several(name, rows, steps, gets, puts):
    """rows of var(); puts: lines of A; gets: {name: text} of B."""
    part_a = "grid gA 1 2 3 4\ntable compA gA compB gB 1 " + identity(4) + "\n"
    part_a += "".join(f"put {p}\n" for p in puts) + f"steps {steps}\n"
    part_b = "grid gB 1 2 3 4\ntable compA gA compB gB 1\n"
    part_b += "".join(f"get {g}\n" for g in gets) + f"steps {steps}\n"
    return Scenario(
        name,
        pair(*PAIRS["AB"]) + "".join(rows),
        {"compA": part_a, "compB": part_b},
        {("compB", g): text for g, text in gets.items()},
    )


SIX = "3600 " * 6
SEVERAL = [
    several(
        "m11",
        [
            var("x1", "x1", 3600, grid_intpl_tag=1),
            var("x2", "x2", 3600, grid_intpl_tag=1),
            var("x3", "x3", 7200, grid_intpl_tag=2),
        ],
        FOUR,
        {
            "x1": "1:101 2:1101 3:2101 4:3101",
            "x2": "1:201 2:1201 3:2201 4:3201",
            "x3": "1:301 2:F 3:2301 4:F",
        },
        ["x1 100 1", "x2 200 1", "x3 300 1"],
    ),
    several(
        "m16",
        [var("x1", "x1", 7200, 1), var("x2", "x2", 3600, 1)],
        SIX,
        {
            "x1": "1:2101 2:F 3:4101 4:F 5:6101 6:F",
            "x2": "1:1201 2:2201 3:3201 4:4201 5:5201 6:6201",
        },
        ["x1 100 1", "x2 200 1"],
    ),
    several(
        "m19",
        [var("x1", "x1", 10800, -1, "AVR"), var("x2", "x2", 3600)],
        SIX,
        {
            "x1": "1:101 2:F 3:F 4:2101 5:F 6:F",
            "x2": "1:201 2:1201 3:2201 4:3201 5:4201 6:5201",
        },
        ["x1 100 1", "x2 200 1"],
    ),
    # mended: one put, received under two names with intervals of their own
    several(
        "m13",
        [var("x1", "x1", 3600), var("x1", "x1b", 7200)],
        SIX,
        {
            "x1": "1:101 2:1101 3:2101 4:3101 5:4101 6:5101",
            "x1b": "1:101 2:F 3:2101 4:F 5:4101 6:F",
        },
        ["x1 100 1"],
    ),
    several(
        "m1",
        [var("x1", "x1", 3600), var("x1", "x1b", 7200, -1, "AVR")],
        SIX,
        {
            "x1": "1:101 2:1101 3:2101 4:3101 5:4101 6:5101",
            "x1b": "1:101 2:F 3:1601 4:F 5:3601 6:F",
        },
        ["x1 100 1"],
    ),
    several(
        "m12",
        [var("x1", "x1", 7200), var("x1", "x1b", 7200, -1, "AVR")],
        FOUR,
        {"x1": "1:101 2:F 3:2101 4:F", "x1b": "1:101 2:F 3:1601 4:F"},
        ["x1 100 1"],
    ),
    # mended: lags and intervals may differ, whatever the tags
    several(
        "m5",
        [var("x1", "x1", 3600, -1, grid_intpl_tag=1), var("x2", "x2", 3600, 0, grid_intpl_tag=1)],
        FOUR,
        {"x1": "1:101 2:1101 3:2101 4:3101", "x2": "1:201 2:1201 3:2201 4:3201"},
        ["x1 100 1", "x2 200 1"],
    ),
    several(
        "m6",
        [var("x1", "x1", 3600, -1), var("x2", "x2", 3600, 1)],
        FOUR,
        {"x1": "1:101 2:1101 3:2101 4:3101", "x2": "1:1201 2:2201 3:3201 4:4201"},
        ["x1 100 1", "x2 200 1"],
    ),
    several(
        "m7",
        [var("x1", "x1", 5400), var("x2", "x2", 3600)],
        "1800 1800 1800 1800 1800 1800",
        {"x1": "1:101 2:F 3:F 4:3101 5:F 6:F", "x2": "1:201 2:F 3:2201 4:F 5:4201 6:F"},
        ["x1 100 1", "x2 200 1"],
    ),
    several(
        "m18",
        [var(f"x{i}", f"x{i}", 3600, grid_intpl_tag=1) for i in range(1, 43)],
        "3600 3600",
        {f"x{i}": f"1:{i}01 2:{1000 + 100 * i + 1}" for i in range(1, 43)},
        [f"x{i} {100 * i} 1" for i in range(1, 43)],
    ),
]

FILL = "2147483647"


def table(name, entries, at, *, n_a="1 2 3 4 5 6", n_b="1 2 3 4", lag=-1, a="", giver="compA"):
    """at: what B gets at steps 1 and 2, by the order of its indices."""
    give = f"table compA gA compB gB 1 {entries}"
    take = "table compA gA compB gB 1"
    parts = {
        "compA": f"grid gA {n_a}\n{give if giver == 'compA' else take}\n"
        f"put vA 0 1 {a}\nsteps 3600 3600\n",
        "compB": f"grid gB {n_b}\n{give if giver == 'compB' else take}\nget yA\nsteps 3600 3600\n",
    }
    scenario = Scenario(name, pair(*PAIRS["AB"]) + var("vA", "yA", 3600, lag), parts, (), False)
    scenario.table = (n_b.split(), at)
    return scenario


STENCIL = ";".join(f"{j} {j} 0.25;{j + 1} {j} 0.75" for j in range(1, 5))
NO_COEF = ";".join(f"{j} {j};{j + 1} {j}" for j in range(1, 5))
TABLES = [
    table(
        "t2s2", STENCIL, ("1.75 2.75 3.75 4.75", "1001.75 1002.75 1003.75 1004.75"), giver="compB"
    ),
    table("t2s1", STENCIL, ("1.75 2.75 3.75 4.75", "1001.75 1002.75 1003.75 1004.75")),
    table("t2nocoef", NO_COEF, ("3 5 7 9", "2003 2005 2007 2009")),
    table("t3", "1 1 2;3 3 2", (f"2 {FILL} 6 {FILL}", f"2002 {FILL} 2006 {FILL}")),
    table("z3", "1 1 2;3 3 2", ("2002 0 2006 0", "4002 0 4006 0"), lag=0, a="noinit"),
    table("t7", "6 1 1;6 2 1;6 3 1;6 4 1", ("6 6 6 6", "1006 1006 1006 1006")),
    table(
        "t5", "1 1 1;2 1 1;3 1 1;4 1 1;5 2 1", (f"10 5 {FILL} {FILL}", f"4010 1005 {FILL} {FILL}")
    ),
    table("t6", "1 1 1;1 1 10;2 2 100", (f"11 200 {FILL} {FILL}", f"11011 100200 {FILL} {FILL}")),
    table(
        "gap",
        "10 10 1;25 25 1;300 300 1;41 41 1",
        ("10 25 300 41", "1010 1025 1300 1041"),
        n_a="10 25 300 41",
        n_b="10 25 300 41",
    ),
]


def vectors():
    """Turned by cos = 0.6, sin = 0.8: u and v are layers 1 and 2."""
    scenario = table("turn", "1 1 1 0.6 0.8;2 2 1 1 0", ("", ""))
    scenario.conf = pair(*PAIRS["AB"]) + var("vA", "yA", 3600, layer=2, grid_intpl_tag=10001)
    u, v = 1.1, 1.2
    scenario.layers = {(1, 1, 1): 0.6 * u - 0.8 * v, (1, 1, 2): 0.8 * u + 0.6 * v}
    scenario.layers.update({(1, 2, 1): 2.1, (1, 2, 2): 2.2})
    scenario.layers.update({(1, 3, 1): float(FILL), (1, 4, 2): float(FILL)})
    return scenario


def grid_pairs(name, tag):
    """Mended: two pairs of grids between the same components."""
    conf = pair(*PAIRS["AB"]) + var("vA", "yA", 3600)
    conf += pair("compA", "compB", "g2", "g3", tag) + var("w2", "y3", 3600)
    a = "grid gA 1 2 3 4\ngrid g2 1 2\n"
    a += (
        "table compA gA compB gB 1 "
        + identity(4)
        + f"\ntable compA g2 compB g3 {tag} 1 2 10;2 1 10\n"
    )
    a += "put vA 0 1\nput w2 0 1\nsteps 3600 3600\n"
    b = "grid gB 1 2 3 4\ngrid g3 1 2\ntable compA gA compB gB 1\n"
    b += f"table compA g2 compB g3 {tag}\nget yA\nget y3\nsteps 3600 3600\n"
    scenario = Scenario(name, conf, {"compA": a, "compB": b}, {("compB", "yA"): "1:1 2:1001"})
    scenario.others = {("compB", "y3"): {(1, 1): 20, (1, 2): 10, (2, 1): 10020, (2, 2): 10010}}
    return scenario


def long_names():
    """Mended: names longer than 14 characters, and than 64."""
    a, b = "component_with_a_name_of_many_" + "a" * 50, "component_with_a_name_of_many_" + "b" * 50
    scenario = two("n15", (3600,), steps_a=THREE, steps_b=THREE, gets_b="1:1 2:1001 3:2001")
    scenario.conf = scenario.conf.replace("compA", a).replace("compB", b)
    scenario.parts = {
        c: text.replace("compA", a).replace("compB", b)
        for c, text in ((a, scenario.parts["compA"]), (b, scenario.parts["compB"]))
    }
    scenario.names = (a, b)
    scenario.gets = {(b, "yA"): "1:1 2:1001 3:2001"}
    return scenario


def masked():
    """Values equal to the fill value count nothing in a mean: here index 1 in odd steps."""
    return two(
        "masked",
        (7200, -1, "AVR"),
        a="masked",
        steps_a=FOUR,
        steps_b=FOUR,
    )


def not_there():
    """The receiver of a record does not run: its puts are dropped; other records are ignored."""
    scenario = two("absent", (3600,), steps_a=THREE, steps_b=THREE, gets_b="1:1 2:1001 3:2001")
    scenario.conf += pair("compA", "compZ", "gA", "gZ") + var("vA", "yZ", 60)
    scenario.conf += pair("compX", "compZ", "gX", "gZ") + var("v", "yX", 60, 1)
    return scenario


GOOD = TIMES + LAYERS + SEVERAL + TABLES + [vectors(), grid_pairs("g1", 1), grid_pairs("g2", 2)]


def again():
    """Mended: a second get in a step brings the same, of SNP and AVR."""
    scenario = several(
        "twice",
        [var("x1", "x1", 7200), var("x1", "x1b", 7200, -1, "AVR")],
        FOUR,
        {"x1": "1:101 2:F 3:2101 4:F", "x1b": "1:101 2:F 3:1601 4:F"},
        ["x1 100 1"],
    )
    scenario.parts["compB"] += "again\n"
    return scenario


def skipped():
    """set_time with is_exchange = .false. on both sides: nothing is due in that step."""
    scenario = two("skipped", (3600,), steps_a=FOUR, steps_b=FOUR, gets_b="1:1 2:1001 3:F 4:3001")
    for component in scenario.parts:
        scenario.parts[component] += "skip 3\n"
    return scenario


def simple():
    """Messages only: no grid, no variable, no time."""
    return Scenario("simple", "", {"compA": "hush\n", "compB": "hush\n"})


GOOD += [masked(), not_there(), again(), skipped(), simple()]
