# SPDX-License-Identifier: BSD-3-Clause
"""Component `learn`: a neural network learns, while the models run, which heat the sea gets from
the air, from fields that it gets through the coupler. A fifth of the sea's cells is never learned
from; the error there is measured before each lesson, so of a state that nobody has seen."""

import json
import pathlib

import numpy as np

from climate import prepare, world
from climate.component import Listener, Source
from climate.surrogate import Linear, Network, Scale

STEPS = 60  # of the network in a lesson
MEMORY = 24  # lessons


def held_out(index):
    """True for a fifth of the cells, spread evenly; nothing but the index decides."""
    return (index.astype("u8") * 2654435761 % 2**32) < 2**32 // 5


def inputs_of(got, sin_lat):
    """What the network sees of each cell: (cell, input)."""
    air, sea = got["atmos"], got["ocean"]
    cool = sea["sst"] - air["t_air"]
    return np.column_stack(
        [air["t_air"], sea["sst"], cool, air["sun"], sea["albedo"], sin_lat**2, abs(sin_lat)]
    )


class Student:
    def __init__(self, index, sin_lat):
        self.test, self.sin_lat = held_out(index), sin_lat
        self.memory, self.curve = [], []
        self.network = None

    def begin(self, x, y):
        self.x_scale, self.y_scale = Scale(x[~self.test]), Scale(y[~self.test])
        self.network, self.linear = Network(x.shape[1]), Linear(x.shape[1])

    def examine(self, day, x, y):
        """Errors at the cells held out: of the network, the linear law, and the others' mean."""
        guesses = [
            self.y_scale.up(model.predict(x[self.test])) for model in (self.network, self.linear)
        ]
        guesses.append(y[~self.test].mean())
        truth = y[self.test]
        errors = [float(np.sqrt(np.mean((guess - truth) ** 2))) for guess in guesses]
        self.curve.append((day, *errors))

    def lesson(self, day, got):
        """Is examined in it first (but for the first), then learns it."""
        x, y = inputs_of(got, self.sin_lat), got["atmos"]["heat"]
        first = self.network is None
        if first:
            self.begin(x, y)
        x = self.x_scale.down(x)
        if not first:
            self.examine(day, x, y)
        mine = x[~self.test], self.y_scale.down(y[~self.test])
        self.linear.learn(*mine)
        self.memory = [*self.memory[1 - MEMORY :], mine]
        old_x, old_y = (np.concatenate(part) for part in zip(*self.memory))
        self.network.learn(old_x, old_y, STEPS)
        self.last = y, self.y_scale.up(self.network.predict(x))


def main():
    plan = prepare.Plan(**json.loads(pathlib.Path("plan.json").read_text()))
    sea = world.Grid("sea.nc")
    index = np.flatnonzero(sea.wet).astype(np.int32) + 1
    sources = [
        Source("atmos", "air", "sea", prepare.LESSONS["atmos"], world.weights("air_sea.nc")),
        Source("ocean", "sea", "sea", prepare.LESSONS["ocean"]),
    ]
    listener = Listener("learn", {"sea": index}, sources, plan.lesson)
    student = Student(index, np.sin(np.radians(sea.lat[sea.wet])))
    for day in range(plan.lesson, plan.days + 1, plan.lesson):
        student.lesson(day, listener.next())
    curve = np.array(student.curve)
    np.savetxt(
        "learn.csv",
        curve,
        delimiter=",",
        comments="",
        fmt="%.17g",
        header="day,network,linear,mean",
    )
    truth, guess = student.last
    np.savez("learn.npz", index=index, test=student.test, truth=truth, guess=guess)
    print(
        f"error where nothing was learned, W/m2: network {curve[-1, 1]:.2f}, "
        f"linear law {curve[-1, 2]:.2f}, mean {curve[-1, 3]:.2f}",
        flush=True,
    )
    listener.end()


if __name__ == "__main__":
    main()
