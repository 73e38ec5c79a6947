# SPDX-License-Identifier: BSD-3-Clause
"""A component that only listens: it gets means of whole intervals, as soon as they are complete."""

import time

import numpy as np

import h3ou
from climate.prepare import DAY

NOTHING = 2147483647.0  # marks points that have no value


class Source:
    """Fields from one component: (its name, its grid, our grid, the names, the table or None for
    the same grid on both sides)."""

    def __init__(self, component, grid, own_grid, names, table=None):
        self.component, self.grid, self.own_grid = component, grid, own_grid
        self.names, self.table = names, table


class Listener:
    """grids: {name: global indices}; sources in the order in which all components define tables."""

    def __init__(self, name, grids, sources, interval_days):
        self.name, self.grids, self.sources = name, grids, sources
        self.seconds = interval_days * DAY
        self.waited, self.began = 0.0, time.monotonic()
        h3ou.h3ou_init(name, "coupling.conf")
        for grid, index in grids.items():
            h3ou.h3ou_def_grid(index, name, grid, 1)
        h3ou.h3ou_end_grid_def()
        for source in sources:
            self.give_table(source)
        self.date = np.array([2001, 1, 1, 0, 0, 0], np.int32)
        h3ou.h3ou_init_time(self.date)

    def give_table(self, source):
        index = self.grids[source.own_grid]
        table = source.table or (index, index, np.ones(len(index)))
        where = source.component, source.grid, self.name, source.own_grid
        h3ou.h3ou_set_interpolation_table(self.name, *where, 1, *table)

    def next(self):
        """Wait for an interval's end; {component: {name: means at our points}}."""
        began = time.monotonic()
        h3ou.h3ou_set_time(self.name, self.date, self.seconds)
        self.waited += time.monotonic() - began
        got = {}
        for source in self.sources:
            for name in source.names:
                data = np.empty(len(self.grids[source.own_grid]))
                if not h3ou.h3ou_get_data_1d(name, data):
                    raise RuntimeError(f"coupling.conf: no {name} every {self.seconds} s")
                got.setdefault(source.component, {})[name] = data
        h3ou.h3ou_inc_time(self.date, self.seconds)
        return got

    def end(self):
        with open(f"time.{self.name}.0", "w", encoding="utf-8") as out:
            print(f"{time.monotonic() - self.began:.4f} {self.waited:.4f}", file=out)
        h3ou.h3ou_coupling_end(self.date)
