/* SPDX-License-Identifier: BSD-3-Clause */
/* A layer of well mixed water. Below freezing it is ice, which warms and cools faster. */
#include <math.h>

#include "files.h"
#include "ocean.h"

static const double FREEZING = -1.8;         /* degrees Celsius */
static const double WATER_CAPACITY = 2.46e8; /* J/(m2 K): 60 m */
static const double ICE_CAPACITY = 3.0e7;
static const double CURRENTS = 0.15; /* W/(m2 K) on the unit sphere */
static const double DAY = 86400;     /* s */

static double between_0_and_1(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* What follows from the energy. */
static void diagnose(struct slab *slab, const struct sea *sea)
{
    for (int i = 0; i < sea->n; i++) {
        double e = slab->energy[i];
        double t = FREEZING + e / (e >= 0 ? WATER_CAPACITY : ICE_CAPACITY);

        slab->temperature[i] = t;
        slab->ice[i] = between_0_and_1((FREEZING - t) / 4);
        slab->albedo[i] = 0.07 + 0.53 * slab->ice[i];
    }
}

void slab_start(struct slab *slab, const struct sea *sea)
{
    size_t n = (size_t)sea->n;

    slab->energy = room(n, sizeof(double));
    slab->temperature = room(n + (size_t)sea->halo, sizeof(double));
    slab->albedo = room(n, sizeof(double));
    slab->ice = room(n, sizeof(double));
    slab->wet = room(n, sizeof(double));
    slab->heat = room(n, sizeof(double));
    for (size_t i = 0; i < n; i++) {
        double s = sin(sea->lat[i]), t = 28 - 38 * s * s;

        slab->energy[i] = (t - FREEZING) * (t >= FREEZING ? WATER_CAPACITY : ICE_CAPACITY);
        slab->wet[i] = 1;
    }
    diagnose(slab, sea);
}

/* Water below ice is at its freezing point. */
static double water(double temperature)
{
    return temperature > FREEZING ? temperature : FREEZING;
}

void slab_day(struct slab *slab, const struct sea *sea)
{
    sea_halo(sea, slab->temperature);
    for (int i = 0; i < sea->n; i++) {
        double carried = 0;

        for (int k = 0; k < SIDES; k++)
            if (sea->beside[i][k] >= 0)
                carried += sea->link[i][k] * (water(slab->temperature[sea->beside[i][k]]) -
                                              water(slab->temperature[i]));
        slab->energy[i] += DAY * (slab->heat[i] + CURRENTS * carried / sea->area[i]);
    }
    diagnose(slab, sea);
}
