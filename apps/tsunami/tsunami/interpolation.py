# SPDX-License-Identifier: BSD-3-Clause
"""Optimal interpolation of heights at sensors into the sea surface, as in tsunami data assimilation
without a source model (Maeda, Obara, Shinohara, Kanazawa and Uehira 2015, Geophysical Research
Letters 42, 7923-7932, doi:10.1002/2015GL065588): errors of the simulation are correlated over a
fixed length, errors of sensors are not. Fluxes are not touched; the waves make them."""

import numpy as np


def taper(distance, support):
    """Gaspari and Cohn's (1999) correlation of finite support: 1 at 0, 0 from `support` on."""
    r = np.minimum(distance / (support / 2), 2.0)
    near = 1 - r**2 * (5 / 3 - r * (5 / 8 + r * (1 / 2 - r / 4)))
    far = r > 1
    s = r[far]
    near[far] = 4 - s * (5 - s * (5 / 3 + s * (5 / 8 - s * (1 / 2 - s / 12)))) - 2 / (3 * s)
    return np.maximum(near, 0.0)


class Interpolation:
    """Gaussian covariances of length `length` (km), cut off smoothly at `support`.

    background, error: standard deviations (m) of the simulation's heights and of a sensor.
    sensors: (n, 2) places in km.
    """

    def __init__(self, sensors, length=15.0, support=50.0, background=0.3, error=0.03):
        self.sensors = np.asarray(sensors, float)
        self.length, self.support = length, support
        self.background, self.error = background, error
        self.between = self.covariance(self.sensors)

    def covariance(self, places):
        """Of the simulation's errors at places (n, 2) with those at the sensors, m2."""
        away = np.hypot(
            places[:, None, 0] - self.sensors[None, :, 0],
            places[:, None, 1] - self.sensors[None, :, 1],
        )
        gauss = np.exp(-((away / self.length) ** 2))
        return self.background**2 * gauss * taper(away, self.support)

    def weights(self, innovation):
        """Observed minus simulated heights -> w, so that covariance(places) @ w is the increment
        at places. Sensors without a value (NaN) take no part."""
        w = np.zeros(len(self.sensors))
        seen = np.flatnonzero(~np.isnan(innovation))
        if len(seen):
            matrix = self.between[np.ix_(seen, seen)] + self.error**2 * np.eye(len(seen))
            w[seen] = np.linalg.solve(matrix, innovation[seen])
        return w
