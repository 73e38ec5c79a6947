# SPDX-License-Identifier: BSD-3-Clause
"""A neural network learns from a running simulation and forecasts ahead of it: PyTorch on one side
of WaitIO, the simulation on the other, launched apart.

    pip install numpy torch          # and waitio
    waitio run --name wave python torch_forecast.py : --name learn python torch_forecast.py

Block 0 simulates long waves in a canal, one made-up source after the other. After every sample it
sends the heights at its sensors and at the coast. Block 1 receives them straight into a tensor,
trains while the simulation goes on, and says how high the sea will be there 25 samples later.
It compares itself with "it stays as it is" and fails when it is not clearly better.
"""

import sys

import numpy as np

import waitio

CELLS, SENSORS = 200, (20, 40, 60, 80, 100)
EVENTS, SAMPLES, STEPS = 60, 120, 4  # STEPS time steps between samples
HISTORY, LEAD = 12, 25  # samples looked back at, and ahead
TAG = 1


def simulate(world):
    """Block 0. Heights and fluxes leap over each other; the canal ends in a wall, the coast."""
    random = np.random.default_rng(3)
    cell = np.arange(CELLS)
    depth = 1.0 - 0.6 * cell / CELLS  # shoals towards the coast
    courant = 0.9
    message = np.empty(len(SENSORS) + 1, np.float32)
    for _ in range(EVENTS):
        place, width = random.uniform(5, 70), random.uniform(5, 12)
        height = random.uniform(-1, 1) * np.exp(-(((cell - place) / width) ** 2))
        flux = np.zeros(CELLS + 1)
        for _ in range(SAMPLES):
            for _ in range(STEPS):
                between = (depth[1:] + depth[:-1]) / 2
                flux[1:-1] -= courant * between * np.diff(height)
                flux[0] = -np.sqrt(depth[0]) * height[0]  # waves leave to the open sea
                height = height - courant * np.diff(flux)
            message[:-1], message[-1] = height[list(SENSORS)], height[-1]
            world.Send(message, dest=1, tag=TAG)


class Forecaster:
    """Two small layers, trained on one batch of what was seen so far for every new sample."""

    def __init__(self, torch):
        torch.manual_seed(1)
        torch.set_num_threads(1)
        self.torch = torch
        size = HISTORY * (len(SENSORS) + 1)
        layers = torch.nn.Linear(size, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
        self.network = torch.nn.Sequential(*layers)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=3e-3)
        self.inputs, self.targets = [], []

    def forecast(self, inputs):
        with self.torch.no_grad():
            return float(self.network(inputs))

    def learn(self, inputs, target):
        self.inputs.append(inputs)
        self.targets.append(target)
        batch = self.torch.randint(len(self.inputs), (64,)).tolist()
        wanted = self.torch.stack([self.targets[k] for k in batch])
        found = self.network(self.torch.stack([self.inputs[k] for k in batch]))[:, 0]
        loss = self.torch.nn.functional.mse_loss(found, wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def learn(world, torch):
    """Block 1. Returns (error of the network, error of persistence) over the last events."""
    forecaster = Forecaster(torch)
    errors = []
    for event in range(EVENTS):
        seen = torch.zeros(HISTORY + SAMPLES, len(SENSORS) + 1)  # at rest before
        said = []
        for k in range(HISTORY, HISTORY + SAMPLES):
            world.Recv(seen[k], source=0, tag=TAG)  # a row of the tensor, no copy
            now = seen[k - HISTORY + 1 : k + 1].reshape(-1)
            said.append((forecaster.forecast(now), float(seen[k, -1])))
            if k >= HISTORY + LEAD:
                before = seen[k - LEAD - HISTORY + 1 : k - LEAD + 1].reshape(-1)
                forecaster.learn(before, seen[k, -1])
        if event >= EVENTS * 3 // 4:
            truth = seen[HISTORY + LEAD :, -1].numpy()
            ahead = np.array(said[:-LEAD])
            errors.append([(ahead[:, 0] - truth) ** 2, (ahead[:, 1] - truth) ** 2])
    network, persistence = np.sqrt(np.mean(errors, axis=(0, 2)))
    return network, persistence


def main():
    try:
        import torch
    except ImportError as error:
        raise SystemExit(f"torch_forecast: {error}; install it with: pip install torch") from None
    with waitio.Universe(60) as universe:
        if universe.npb != 2 or universe.size != 2:
            raise SystemExit("torch_forecast: start two blocks of one process each")
        if universe.pb == 0:
            simulate(universe.world)
            return
        network, persistence = learn(universe.world, torch)
    print(f"error of the network {network:.4f}, of persistence {persistence:.4f}")
    if not network < 0.5 * persistence:
        sys.exit("torch_forecast: the network has not learned enough")


if __name__ == "__main__":
    main()
