# SPDX-License-Identifier: BSD-3-Clause
"""What came out, in numbers, and whether it is good enough: the demonstration is a test."""

import dataclasses

import numpy as np

from tsunami import files


@dataclasses.dataclass
class Check:
    """Something that must hold: value below (or above) limit."""

    text: str
    value: float
    limit: float

    @property
    def good(self):
        return bool(self.value < self.limit)  # false for what is not a number


class Outcome:
    """The results of a run: truth, free run, assimilated run and forecasts at the same moments."""

    def __init__(self, folder, recording, plan, config):
        self.folder, self.recording, self.plan, self.config = folder, recording, plan, config
        self.sensors = config["sensors"]
        self.times, self.free = files.load_series(folder / "free")
        times, self.event = files.load_series(folder / "event")
        finer, truth = files.load_series(recording / "truth")
        self.truth = truth[np.searchsorted(finer, self.times - 1e-6)]
        saved = np.load(folder / "assim.npz")
        self.forecasts, self.surprise = saved["forecasts"], saved["surprise"]
        if len(times) != len(self.times) or len(self.forecasts) != len(times):
            raise ValueError(f"the runs in {folder} are not equally long")
        self.spin_up = self.times >= 1200

    def ahead(self):
        """(truth, learned, persistence, nothing) at the towns, when the forecasts become due."""
        lead = self.plan.lead
        truth = self.truth[lead:, self.sensors :]
        learned = self.forecasts[:-lead]
        stays = self.event[:-lead, self.sensors :]
        return truth, learned, stays, np.zeros_like(truth)

    def numbers(self):
        truth, *others = self.ahead()
        learned, stays, nothing = (float(np.sqrt(np.mean((o - truth) ** 2))) for o in others)
        return {
            "free_sea": self._part(self.free, slice(None, self.sensors)),
            "event_sea": self._part(self.event, slice(None, self.sensors)),
            "free_towns": self._part(self.free, slice(self.sensors, None)),
            "event_towns": self._part(self.event, slice(self.sensors, None)),
            "learned": learned,
            "persistence": stays,
            "nothing": nothing,
        }

    def _part(self, heights, stations):
        difference = (heights - self.truth)[self.spin_up][:, stations]
        return float(np.sqrt(np.mean(difference**2)))


def judge(numbers):
    """The demonstration has failed when one of these does not hold."""
    n = numbers
    return [
        Check("error at the sensors, assimilated / free run", n["event_sea"] / n["free_sea"], 0.5),
        Check(
            "error at the towns, assimilated / free run", n["event_towns"] / n["free_towns"], 0.5
        ),
        Check("error of the forecast, learned / persistence", n["learned"] / n["persistence"], 0.7),
        Check("error of the forecast, learned / no forecast", n["learned"] / n["nothing"], 0.7),
    ]
