# SPDX-License-Identifier: BSD-3-Clause
"""The fine model: costs 64 times as much as the coarse one, and is taken for the truth."""

import numpy as np
from burgers import COARSE, FINE, FREE, LEARN, STEP_COARSE, STEP_FINE, advance

from waitio.coupler import Coupler

with Coupler("fine", "coupling.conf") as fine:
    cells = np.arange(1, FINE + 1)
    fine.grid("cells", cells)
    ratio = FINE // COARSE
    mean = {  # each coarse cell gets the mean of its fine ones
        "send_index": cells,
        "recv_index": (cells - 1) // ratio + 1,
        "coef": np.full(FINE, 1 / ratio),
    }
    fine.map("fine", "cells", "coarse", "boxes", **mean)
    fine.map("fine", "cells", "learn", "boxes", **mean)
    with fine.run():
        u = np.zeros(FINE)
        fine.put("u", u)
        for step in fine.steps(STEP_FINE, until=(LEARN + FREE) * STEP_COARSE):
            u = advance(u, step.time, STEP_FINE)
            fine.put("u", u)
