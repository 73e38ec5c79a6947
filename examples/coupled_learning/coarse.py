# SPDX-License-Identifier: BSD-3-Clause
"""The coarse model, twice: corrected by what the learner says, and as it is.

While the learner learns, both begin each step from the truth. Then they are on their own.
"""

import numpy as np
from burgers import COARSE, FREE, LEARN, STEP_COARSE, UNIT, advance

from waitio.coupler import Coupler

with Coupler("coarse", "coupling.conf") as coarse:
    boxes = np.arange(1, COARSE + 1)
    coarse.grid("boxes", boxes)
    coarse.map("fine", "cells", "coarse", "boxes")
    coarse.map("coarse", "boxes", "learn", "boxes", send_index=boxes, recv_index=boxes)
    coarse.map("learn", "boxes", "coarse", "boxes", send_index=boxes, recv_index=boxes)
    plain = corrected = np.zeros(COARSE)
    errors = []
    with coarse.run():
        for step in coarse.steps(STEP_COARSE, LEARN + FREE):
            truth, correction = coarse.get("truth"), coarse.get("correction")
            if step.number <= LEARN:
                plain = corrected = truth
            else:
                errors.append([np.abs(u - truth).mean() for u in (plain, corrected)])
            before = corrected
            forecast = advance(before, step.time, STEP_COARSE)
            corrected = forecast + correction * STEP_COARSE * UNIT
            plain = advance(plain, step.time, STEP_COARSE)
            coarse.put("states", np.stack([before, forecast, corrected]))
    without, with_it = np.mean(errors, axis=0)
    print(f"error of the free run: {without:.4f} as it is, {with_it:.4f} corrected")
    drift = abs(corrected.sum() - plain.sum()) / COARSE
    print(f"the correction changed the mean by {drift:.1e}")
