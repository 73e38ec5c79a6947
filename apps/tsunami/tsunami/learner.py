# SPDX-License-Identifier: BSD-3-Clause
"""A forecast of coastal heights that is learnt while the simulation runs: ridge regression from the
heights at all stations over the last half hour to those at the coast some time ahead. Every sample
is added once and not kept (recursive least squares in its information form), so that learning may
go on for ever in constant memory. Long waves are nearly linear, hence a linear model."""

import collections

import numpy as np


class Learner:
    """stations: heights that come in; targets: which of them are forecast, `lead` samples ahead.

    history: samples of the past to look at, and every how many of them.
    ridge: penalty of large weights, m2; with little data the forecast is small rather than wild.
    """

    def __init__(self, stations, targets, lead, history=30, every=3, ridge=1.0):
        self.targets = np.asarray(targets, int)
        self.lead, self.history, self.every = lead, history, every
        self.lags = len(range(0, history + 1, every))
        size = stations * self.lags
        self.squares = ridge * np.eye(size)
        self.products = np.zeros((size, len(self.targets)))
        self.samples = 0
        self.weights = None
        self.stations = stations
        self.restart()

    def restart(self):
        """A new event begins: forget what was seen, not what was learnt."""
        quiet = np.zeros(self.stations)
        self.seen = collections.deque([quiet] * (self.history + 1), self.history + 1)
        self.waiting = collections.deque(maxlen=self.lead + 1)

    def look(self, heights):
        """Heights of the next sample: learn what the sample `lead` ago should have foretold."""
        self.seen.append(np.array(heights, float))
        newest = len(self.seen) - 1
        inputs = np.concatenate(
            [self.seen[newest - lag] for lag in range(0, self.history + 1, self.every)]
        )
        self.waiting.append(inputs)
        if len(self.waiting) > self.lead:
            before = self.waiting[0]
            self.squares += np.outer(before, before)
            self.products += np.outer(before, np.asarray(heights)[self.targets])
            self.samples += 1
            self.weights = None
        return inputs

    def forecast(self):
        """Heights at the targets, `lead` samples after the last one that was looked at."""
        if self.weights is None:
            self.weights = np.linalg.solve(self.squares, self.products)
        return self.waiting[-1] @ self.weights
