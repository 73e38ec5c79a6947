# SPDX-License-Identifier: BSD-3-Clause
"""Parameters that take turns: a test of four ways and three sizes need not run twelve times.

@pytest.mark.in_turn("way") keeps, of all combinations with the parameter "way", so many that every
way and every combination of the other parameters has its turn. What one shows in a way must not
hang on the others: docs/design/promises.md says why that is so.
"""

MARK = "in_turn(parameter): it takes turns in the combinations of the other parameters"


def _taken(group, name):
    """Of one test's items those that run."""

    def way_of(item):
        return repr(item.callspec.params[name])

    def rest_of(item):
        return [repr(value) for other, value in item.callspec.params.items() if other != name]

    ways, rests = [], []  # in the order of their first items
    for item in group:
        ways += [way_of(item)] if way_of(item) not in ways else []
        rests += [rest_of(item)] if rest_of(item) not in rests else []
    for item in group:
        way, rest = ways.index(way_of(item)), rests.index(rest_of(item))
        if rest % len(ways) == way or way % len(rests) == rest:
            yield item


def taken(items):
    """The items, without those whose turn it is not. A single item always runs."""
    groups = {}
    for item in items:
        mark = item.get_closest_marker("in_turn")
        if mark:
            test = (item.path, item.cls, item.originalname)
            groups.setdefault((test, mark.args[0]), []).append(item)
    kept = {item for (_, name), group in groups.items() for item in _taken(group, name)}
    marked = {item for group in groups.values() for item in group}
    return [item for item in items if item in kept or item not in marked]
