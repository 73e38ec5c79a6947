# SPDX-License-Identifier: BSD-3-Clause
"""What instruments make of the sea: noise, samples that never arrive, failures."""

import numpy as np

from tsunami import files


def what_sensors_say(heights, times, config):
    """The recording as it would be measured: NaN where nothing arrives."""
    random = np.random.default_rng(config["seed"])
    said = heights + random.normal(0.0, config["noise"], heights.shape)
    said[random.random(heights.shape) < config["lost"]] = np.nan
    for sensor, begin, end in config["failures"]:
        said[(times >= begin) & (times < end), sensor % heights.shape[1]] = np.nan
    return said


class Network:
    """Stations all over the sea, from the maps of the recording: 2,000 at 100 Hz is what the
    papers' observation blocks delivered."""

    def __init__(self, recording, stations, seed):
        self.times, self.maps = files.load_maps(recording)
        wet = np.flatnonzero(np.ptp(self.maps, axis=0).ravel() > 0)
        random = np.random.default_rng(seed)
        self.cells = random.choice(wet, stations, replace=stations > len(wet))
        self.random = random

    def heights(self, moment, noise):
        k = int(np.clip(np.searchsorted(self.times, moment, "right") - 1, 0, len(self.times) - 2))
        part = (moment - self.times[k]) / (self.times[k + 1] - self.times[k])
        before, after = (self.maps[k + d].ravel()[self.cells] for d in (0, 1))
        return before + part * (after - before) + self.random.normal(0, noise, len(self.cells))
