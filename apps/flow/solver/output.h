/* SPDX-License-Identifier: BSD-3-Clause */
/* What the solver hands on: the stream, or nothing at all. */
#ifndef FLOW_OUTPUT_H
#define FLOW_OUTPUT_H

#include <waitio_stage.h>

#include "flow.h"

struct flow_output {
    const char *name; /**< of the stream, NULL: none */
    waitio_stage_t stream;
    int velocity, density, body, axis[3];
    float *fields; /**< density, then velocity */
    double spent;  /**< seconds in calls of the stream */
    double longest;
    double opening; /**< seconds until the readers had come */
    int steps;
    unsigned long long discarded, bytes, queued_most;
};

/**
 * Open the stream; waits for so many groups of readers. Slow and dead readers hold nobody up: the
 * oldest step is discarded when two are kept.
 * @return 0 or an error of WaitIO, which was printed
 */
int flow_output_open(struct flow_output *o, const struct flow_slab *s, const char *name,
                     int readers);
/** Hand on the fields of now. @return 0 or an error, which was printed */
int flow_output_put(struct flow_output *o, struct flow_slab *s, const struct flow_sums *sums,
                    double *energy);
/** Close it: waits until living readers have what is kept. @return 0 or an error */
int flow_output_close(struct flow_output *o);

#endif /* FLOW_OUTPUT_H */
