# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes that the old coupler answered with a crash, a hang, stale data or exit status 0: each
has a scenario, and what the error must say on both sides."""

from vectors import (
    FOUR,
    HOUR,
    PAIRS,
    SIX,
    identity,
    layers,
    pair,
    several,
    table,
    two,
    var,
)


def with_conf(name, conf):
    scenario = two(name, (3600,), steps_a=FOUR, steps_b=FOUR)
    scenario.conf = conf
    return scenario


def changed(scenario, component, old, new):
    assert old in scenario.parts[component], (scenario.name, old)
    scenario.parts[component] = scenario.parts[component].replace(old, new)
    return scenario


def row(more):
    return pair(*PAIRS["AB"]) + f"&h3ou_var var_put='vA', var_get='yA', {more} /\n"


AB = pair(*PAIRS["AB"])
GRID_A = "grid gA 1 2 3 4"

# name: scenario, words of the error
MISTAKES = [
    (
        two("e05", (3600,), a="noinit", steps_a=FOUR, steps_b=FOUR),
        "has not put 'vA' before its first",
    ),
    (two("e08", (3600, 1), (3600, 1)), "wait for each other for ever"),
    (two("e21", (3600,), (3600,), steps_a=HOUR, steps_b=SIX), "has ended its run at 21600 s"),
    (two("e21b", (3600,), steps_a=HOUR, steps_b=SIX), "has ended its run at 21600 s"),
    (two("e21c", (3600,), steps_a=SIX, steps_b=HOUR), "has ended its run at 21600 s"),
    (two("e21d", (3600, 1), steps_a=SIX, steps_b=HOUR), "has ended its run at 21600 s"),
    (two("e22", (3600,), a="even"), "has not put 'vA' in the step that ends at 3600 s"),
    (
        two("e19both", (1800,), (1800,), steps_a="1800 " * 8, steps_b=FOUR),
        "must be a multiple of the time steps of both",
    ),
    (with_conf("m8", row("flag='SNP'")), "m8.conf:2: the record"),
    (with_conf("m9", row("flag='SNP', intvl=0, lag=-1")), "has intvl = 0, which needs lag = 0"),
    (with_conf("m10", row("flag='snp', intvl=3600")), "flag = 'snp' is neither"),
    (with_conf("m4", row("flag='SNP', intvl=3600, factor=5")), "factor has never had an effect"),
    (with_conf("key", row("flag='SNP', intvl=3600, lagg=1")), "lagg is no key of &h3ou_var"),
    (with_conf("loglevel", "&h3ou_coupling log_level='X' /\n" + row("")), "is none of SILENT"),
    (
        two("e38", (3600,), a="deep"),
        "as an array with layers, but the configuration says layer = 1",
    ),
    (
        changed(two("name", (3600,)), "compA", "put vA", "put vX"),
        "has no variable 'vX'",
    ),
    (
        changed(two("dup", (3600,)), "compB", "grid gB 1 2 3 4", "grid gB 1 2 3 2"),
        "index 2",
    ),
    (
        changed(two("dupA", (3600,)), "compA", GRID_A, "grid gA 1 2 3 1"),
        "index 1",
    ),
    (table("hole", "2 1 1", ("", ""), n_a="1 3 5"), "owns the index 2 of grid 'gA'"),
    (table("oor", "1 9 1", ("", "")), "owns the index 9 of grid 'gB'"),
    (table("zero", "0 1 1", ("", "")), "global indices are 1 or greater"),
    (changed(two("zerogrid", (3600,)), "compA", GRID_A, "grid gA 1 0"), "global indices are 1 or"),
    (table("nan", "1 1 nan", ("", "")), "a coefficient that is not finite"),
    (
        changed(
            two("bothgive", (3600,)),
            "compB",
            "table compA gA compB gB 1",
            "table compA gA compB gB 1 1 1 1;2 2 1;3 3 1",
        ),
        "both components give entries for it, 'compA' 4 and 'compB' 3",
    ),
    (
        changed(two("nonegives", (3600,)), "compA", " " + identity(4), ""),
        "neither component 'compA' nor component 'compB' gives entries",
    ),
    (
        changed(two("nogrid", (3600,)), "compA", GRID_A, "grid hA 1 2 3 4"),
        "has defined no grid of that name",
    ),
    (changed(two("notable", (3600,)), "compA", "table ", "#"), "for which no table"),
    (
        changed(
            changed(two("order", (3600,), (3600,)), "compB", "gA compB gB 1", "gA compB gB 7"),
            "compB",
            "get yA",
            "get yA",
        ),
        "while component",
    ),
    (
        with_conf(
            "partner",
            AB + var("vA", "yA", 3600) + pair("compZ", "compB", "g", "gB") + var("z", "z", 1),
        ),
        "from component 'compZ', which does not run",
    ),
    (
        with_conf("vector", AB + var("vA", "yA", 3600, layer=2, grid_intpl_tag=10001)),
        "has no coef_cos and coef_sin",
    ),
    (
        several("twoget", [var("x1", "y", 60), var("x2", "y", 60)], FOUR, {}, ["x1 0 1", "x2 0 1"]),
        "receives 'y' a second time",
    ),
    (changed(two("hush", (3600,)), "compB", "steps ", "hush\nsteps "), "the end of the run"),
    (
        changed(two("step", (3600,)), "compB", "steps 3600 3600", "steps 3600 -1"),
        "a time step of -1 s",
    ),
    (
        layers("e37", -1, 3, FOUR, "", a="thin"),
        "with 2 layers, but the configuration says layer = 3",
    ),
    (
        two("hurry", (3600, 0), steps_a=FOUR, steps_b=HOUR),
        "with lag = 0 each get needs one put",
    ),
    # circles that only the run shows: both get first; a put too few, then a step; a put too many
    (
        two("bothget", (3600, 0), (3600, 0), a="noinit", b="noinit", steps_a=FOUR, steps_b=FOUR),
        "the components wait for each other in a circle",
    ),
    (
        two("putfew", (3600,), (3600, 0), b="noinit even", steps_a=FOUR, steps_b=FOUR),
        "the components wait for each other in a circle",
    ),
    (
        two("putmany", (3600, 0), a="twice", steps_a=FOUR, steps_b=FOUR),
        "has put 'vA' more often than component 'compB' has got 'yA'",
    ),
]
