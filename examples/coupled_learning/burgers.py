# SPDX-License-Identifier: BSD-3-Clause
"""What the three programs share: the equation, and how long everything takes.

Burgers' equation on a circle, u_t + (u^2/2)_x = f, by a finite volume scheme of first order. Waves
steepen into shocks; on few cells the scheme smears them. f is the same for both models.
"""

import numpy as np

FINE, COARSE = 256, 32  # cells
LENGTH = 2 * np.pi
UNIT = 0.005  # of the equation's time, in one second of model time
STEP_FINE, STEP_COARSE = 1, 8  # seconds; the second is the interval of coupling.conf
LEARN, FREE = 1500, 500  # intervals: with the truth, then without it


def forcing(cells, seconds):
    """Large waves that come and go, as means over the cells."""
    edges = np.linspace(0, LENGTH, cells + 1)
    t = seconds * UNIT
    total = np.zeros(cells)
    for k, speed, strength in ((1, 0.7, 0.5), (2, -1.1, 0.4), (3, 0.37, 0.3)):
        phase = np.sin(speed * t) * 4 + k
        total += strength * np.cos(0.9 * t * speed + k) * np.diff(np.sin(k * edges + phase)) / k
    return total / (edges[1] - edges[0])


def advance(u, seconds, step):
    """One step; the sum of u changes by the forcing only."""
    right = np.roll(u, -1)
    speed = np.maximum(abs(u), abs(right))
    flux = (u**2 + right**2) / 4 - speed * (right - u) / 2
    dx, dt = LENGTH / u.size, step * UNIT
    return u - dt / dx * (flux - np.roll(flux, 1)) + dt * forcing(u.size, seconds)
