# SPDX-License-Identifier: BSD-3-Clause
"""The learner: sees both models, learns what the coarse one does wrong in a step, and tells it.

A network says the flux that is missing between two cells, from the four cells around. A flux moves
what it takes from one cell to the next, so the correction conserves the sum of u, trained or not.
"""

import collections
import random
import sys

import numpy as np
from burgers import COARSE, FREE, LEARN, LENGTH, STEP_COARSE, UNIT

from waitio.coupler import Coupler

try:
    import torch
except ImportError:
    sys.exit("learn.py needs PyTorch: pip install torch")

WIDTH, BATCH, MEMORY, ROUNDS = 32, 16, 800, 2
DX, DT = LENGTH / COARSE, STEP_COARSE * UNIT
SCALE = 0.1  # of the missing fluxes, so that the network works with numbers about 1

torch.manual_seed(1)
torch.set_num_threads(1)
random.seed(1)
network = torch.nn.Sequential(
    torch.nn.Linear(4, WIDTH),
    torch.nn.Tanh(),
    torch.nn.Linear(WIDTH, WIDTH),
    torch.nn.Tanh(),
    torch.nn.Linear(WIDTH, 1),
).double()
optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, LEARN * ROUNDS, 1e-4)


def tendency(u):
    """What the network adds to du/dt: u is [case][cell]."""
    around = torch.stack([torch.roll(u, shift, 1) for shift in (1, 0, -1, -2)], 2)
    flux = SCALE * network(around).squeeze(2)
    return -(flux - torch.roll(flux, 1, 1)) / DX


def learn(seen):
    """Some steps of gradient descent on what was seen lately."""
    total = 0.0
    for _ in range(ROUNDS):
        batch = random.sample(seen, min(BATCH, len(seen)))
        before, missing = (torch.stack(column) for column in zip(*batch))
        loss = ((tendency(before) - missing) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item()
    return total / ROUNDS


with Coupler("learn", "coupling.conf") as learner:
    learner.grid("boxes", np.arange(1, COARSE + 1))
    learner.map("fine", "cells", "learn", "boxes")
    learner.map("coarse", "boxes", "learn", "boxes")
    learner.map("learn", "boxes", "coarse", "boxes")
    seen = collections.deque(maxlen=MEMORY)
    truth = torch.empty(COARSE, dtype=torch.float64)
    states = torch.empty(3, COARSE, dtype=torch.float64)
    with learner.run():
        learner.put("correction", np.zeros(COARSE))
        for step in learner.steps(STEP_COARSE, LEARN + FREE):
            learner.get("truth", out=truth)
            learner.get("states", out=states)
            before, forecast, state = states.clone()
            if step.number <= LEARN:
                seen.append((before, (truth - forecast) / DT))
                loss = learn(seen)
                if step.number % 250 == 0:
                    print(f"interval {step.number}: loss {loss:.5f}", flush=True)
            with torch.no_grad():
                learner.put("correction", tendency(state[None])[0])
