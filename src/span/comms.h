/* SPDX-License-Identifier: BSD-3-Clause */
/** @file comms.h  Making communicators. */
#ifndef SPAN_COMMS_H
#define SPAN_COMMS_H

#include "span/span.h"

/** Where and for whom a communicator is made. */
struct span_place {
    const char *name; /**< of the call */
    MPI_Comm parent;  /**< of the vendor: holds all members that are of this job */
    int tag;          /**< of the vendor's messages */
};

/** Give the program a new communicator: one of the vendor's if all members are of this job, else a
 * stand-in. All members that are of this job call. @param made owned from now on; NULL: this
 * process is no member @return MPI's code, through the error handler */
int span_comm_give(const struct span_place *place, WAITIO_MPI_Comm made, MPI_Comm *out);
/** Has the vendor made its part in all members? The MPI of one job alone may have no more.
 * @param made collective over it @param rc MPI's code of this process
 * @return MPI's code, through the error handler */
int span_comm_agree(const struct span_place *place, WAITIO_MPI_Comm made, int rc);
/** Ours for a communicator of the program. Collective over it. @param[out] mine shall the caller
 * free it? */
int span_comm_ours(MPI_Comm comm, WAITIO_MPI_Comm *out, bool *mine);
/** MPI_Comm_split_type of an intercommunicator. @return MPI's code, through the error handler */
int span_comm_split_both(struct span_comm *c, int split_type, int key, MPI_Info info,
                         MPI_Comm *out);
/** Give *comm, of the vendor, the topology that @p from has: *comm is replaced. @return MPI's code
 */
int span_topology_copy(WAITIO_MPI_Comm from, MPI_Comm *comm);

#endif /* SPAN_COMMS_H */
