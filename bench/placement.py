# SPDX-License-Identifier: BSD-3-Clause
"""Are the two processors of a benchmark near (they share a cache) or far? In a virtual machine this
changes within a minute, and with it what is quick: rounds of one kind belong together."""

import statistics
import sys

from place import parse, run_one

NEAR_S = (
    120e-9  # a word travels in so long at most: 50 to 100 ns within a cache, 200 and more without
)


def flag(args, place):
    """Seconds that a word takes from one processor to the other."""
    command = [*place.prefix, str(args.build / "bench" / "floor_flag"), *map(str, place.cpus)]
    (seconds,) = parse(run_one(command, {})).values()
    return seconds


def name(seconds):
    return "near" if seconds <= NEAR_S else "far"


class Rounds:
    """Rounds by placement. One in which that changed is left out, and made again, within limits."""

    def __init__(self, args, place):
        self.args, self.place = args, place
        self.known = args.transport == "shm" and not args.one_core
        self.of = {}  # name: rounds
        self.flags = {}  # name: seconds
        self.dropped = 0

    def _look(self):
        return flag(self.args, self.place) if self.known else None

    def add(self, one):
        """Make a round by calling one(). True: it counts."""
        before = self._look()
        found = one()
        after = self._look()
        if not self.known:
            self.of.setdefault("", []).append(found)
            return True
        if name(before) != name(after):
            self.dropped += 1
            return False
        self.of.setdefault(name(before), []).append(found)
        self.flags.setdefault(name(before), []).extend((before, after))
        return True

    def make(self, one):
        """All rounds that are asked for, each by calling one()."""
        for _ in range(2 * self.args.rounds):
            counts = self.add(one)
            done = sum(map(len, self.of.values()))
            said = f"round {done} of {self.args.rounds} done"
            print(said if counts else "the placement changed: again", file=sys.stderr)
            if done == self.args.rounds:
                return
        if not self.of:
            raise RuntimeError(
                "the placement of the processors changed in every round: start it again"
            )

    def heading(self, which):
        """What stands above the table of these rounds."""
        if not which:
            return ""
        ns = statistics.median(self.flags[which]) * 1e9
        n = len(self.of[which])
        return f"{which}: a word takes {ns:.0f} ns between the processors; {n} rounds\n"
