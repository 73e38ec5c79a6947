# SPDX-License-Identifier: BSD-3-Clause
"""Two models that learn on line a number from several: a small neural network, and a linear law for
comparison."""

import numpy as np


class Scale:
    """Mean and spread of the first samples, by which all are scaled."""

    def __init__(self, values):
        self.mean, self.spread = values.mean(0), values.std(0) + 1e-9

    def down(self, values):
        return (values - self.mean) / self.spread

    def up(self, values):
        return values * self.spread + self.mean


class Network:
    """Layers of tanh and a linear one, by Adam (Kingma and Ba 2015)."""

    def __init__(self, inputs, hidden=(32, 32), rate=3e-3, seed=1):
        self.random = np.random.default_rng(seed)
        sizes = (inputs, *hidden, 1)
        self.layers = []
        for a, b in zip(sizes, sizes[1:]):
            self.layers += [self.random.normal(0, 1 / np.sqrt(a), (a, b)), np.zeros(b)]
        self.moments = [[np.zeros_like(x), np.zeros_like(x)] for x in self.layers]
        self.rate, self.steps = rate, 0

    def forward(self, x):
        """The outputs of all layers."""
        outputs = [x]
        for k in range(0, len(self.layers), 2):
            x = x @ self.layers[k] + self.layers[k + 1]
            if k + 2 < len(self.layers):
                x = np.tanh(x)
            outputs.append(x)
        return outputs

    def predict(self, x):
        return self.forward(x)[-1][:, 0]

    def gradients(self, x, y):
        """Of half the mean square error, for each layer."""
        outputs = self.forward(x)
        slope = (outputs[-1] - y[:, None]) / len(y)
        found = []
        for k in range(len(self.layers) - 2, -1, -2):
            below = outputs[k // 2]
            found[:0] = [below.T @ slope, slope.sum(0)]
            slope = (slope @ self.layers[k].T) * (1 - below**2)
        return found

    def step(self, x, y):
        self.steps += 1
        for layer, moment, g in zip(self.layers, self.moments, self.gradients(x, y)):
            moment[0] += 0.1 * (g - moment[0])
            moment[1] += 0.001 * (g**2 - moment[1])
            first = moment[0] / (1 - 0.9**self.steps)
            second = moment[1] / (1 - 0.999**self.steps)
            layer -= self.rate * first / (np.sqrt(second) + 1e-8)

    def learn(self, x, y, steps, batch=256):
        for _ in range(steps):
            chosen = self.random.integers(0, len(x), batch)
            self.step(x[chosen], y[chosen])


class Linear:
    """Least squares over all samples so far, which are added up and not kept."""

    def __init__(self, inputs, ridge=1e-6):
        self.squares, self.products = ridge * np.eye(inputs + 1), np.zeros(inputs + 1)

    @staticmethod
    def with_one(x):
        return np.hstack([x, np.ones((len(x), 1))])

    def learn(self, x, y):
        x = self.with_one(x)
        self.squares += x.T @ x
        self.products += x.T @ y

    def predict(self, x):
        return self.with_one(x) @ np.linalg.solve(self.squares, self.products)
