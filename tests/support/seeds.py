# SPDX-License-Identifier: BSD-3-Clause
"""The seed of tests that choose by chance: the same in every run, so that a change is judged by
what it changes. WT_SEED=N takes another one, WT_SEED=random one that nobody has seen yet."""

import os
import random


def seed(usual: int = 1) -> int:
    text = os.environ.get("WT_SEED", "")
    if text == "random":
        return random.randrange(10**6)
    return int(text) if text else usual
