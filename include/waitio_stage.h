/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file waitio_stage.h
 * Staging: a running program hands its output step by step to programs that read it, without the
 * file system. Link libwaitio_stage and libwaitio.
 *
 * A *stream* has a name. The processes of one parallel block (PB), or a group of them, open it for
 * writing; processes of other PBs, also several groups of them, open it for reading. Writers and
 * readers may be any numbers of processes (M x N). A *step* is what all writers put between
 * begin_step and end_step; readers see a step as a whole or not at all. A *variable* is one of
 *
 * - a global array: it has a shape; each writer puts one or more blocks (boxes) of it;
 * - a local array: blocks without a place in a whole; a reader gets one block at a time;
 * - a scalar or a text: one value in a step, that of the lowest writer that puts it.
 *
 * Arrays are in C order: the last index runs fastest.
 *
 * Functions return 0 or a negative WAITIO_ERR_*; waitio_stage_last_error() says which stream, step,
 * variable and process it was. No error of a stream ends the program, whatever WAITIO_ERRORS says.
 * Each call that waits has a time limit in seconds: < 0 means that of the settings, 0 means not to
 * wait. After PEER, PROTOCOL and NOMEM, and where it is said so, a stream can only be closed.
 *
 * "Collective" means: all processes that opened the stream together call it, in the same order. One
 * thread at a time for each stream. In a writer a thread of the library serves the readers, while
 * the program computes; it calls WaitIO only, never MPI.
 */
#ifndef WAITIO_STAGE_H
#define WAITIO_STAGE_H

#include <stddef.h>
#include <stdint.h>

#include "waitio.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/** A stream as this process has it open. */
typedef struct waitio_stage *waitio_stage_t;

/** Most dimensions of an array. */
#define WAITIO_STAGE_DIMS_MAX 8
/** Limit of a call: that of the settings. */
#define WAITIO_STAGE_DEFAULT (-1.0)

/** How a stream is opened. */
enum { WAITIO_STAGE_WRITE = 1, WAITIO_STAGE_READ = 2 };

/** Types of elements. */
enum {
    WAITIO_STAGE_INT8 = 1,
    WAITIO_STAGE_INT16,
    WAITIO_STAGE_INT32,
    WAITIO_STAGE_INT64,
    WAITIO_STAGE_UINT8,
    WAITIO_STAGE_UINT16,
    WAITIO_STAGE_UINT32,
    WAITIO_STAGE_UINT64,
    WAITIO_STAGE_FLOAT,
    WAITIO_STAGE_DOUBLE,
    WAITIO_STAGE_FLOAT_COMPLEX,
    WAITIO_STAGE_DOUBLE_COMPLEX,
    WAITIO_STAGE_STRING /**< a text; scalars and attributes only */
};

/** What a variable is. */
enum { WAITIO_STAGE_GLOBAL = 1, WAITIO_STAGE_LOCAL, WAITIO_STAGE_SCALAR };

/** When put may forget the program's array. */
enum {
    WAITIO_STAGE_DEFERRED, /**< the array stays as it is until end_step has returned 0 */
    WAITIO_STAGE_NOW       /**< it is copied at once */
};

/** What begin_step of a reader found. */
enum {
    WAITIO_STAGE_OK,       /**< a step */
    WAITIO_STAGE_END,      /**< the writers have closed the stream; all steps have been read */
    WAITIO_STAGE_NOT_READY /**< no step within the time limit; call again */
};

/** Which step begin_step of a reader takes. */
enum {
    WAITIO_STAGE_NEXT,  /**< the next one that is kept */
    WAITIO_STAGE_LATEST /**< the newest; those before it are passed over */
};

/** What writers do when the queue is full. */
enum {
    WAITIO_STAGE_BLOCK,          /**< end_step waits for the readers */
    WAITIO_STAGE_DISCARD_OLDEST, /**< the oldest step that nobody reads now is given up, never the
                                      newest */
    WAITIO_STAGE_DISCARD_NEWEST  /**< the new step is given up */
};

/** Which groups of readers get a step. Where they share the steps, each goes to one group; a step
 * that a group has not read when it leaves or dies goes to another one, perhaps after later steps,
 * and no group reaches the end before all steps are read. */
enum {
    WAITIO_STAGE_TO_ALL,      /**< each group gets each step */
    WAITIO_STAGE_ROUND_ROBIN, /**< one group after the other, in the order in which they came */
    WAITIO_STAGE_ON_DEMAND    /**< the group that asks first */
};

/** A queue of no steps: end_step returns when the readers have read the step, and nothing is
 * copied. */
#define WAITIO_STAGE_SYNCHRONOUS (-1)

/**
 * Settings of a stream. Set all bytes to zero first (`= {0}`, memset()): members may be added at
 * the end, and 0 means the default. Of queue and readers those of the first writer count.
 */
struct waitio_stage_settings {
    double limit; /**< seconds that calls wait which are not told otherwise; 0: 600 */
    int queue;    /**< writers: steps that each process keeps; 0: 2; or _SYNCHRONOUS */
    int full;     /**< writers: _BLOCK (0), _DISCARD_OLDEST, _DISCARD_NEWEST */
    int readers;  /**< writers: open waits for so many groups of readers; 0: it does not wait */
    size_t memory_max; /**< writers: bytes that the steps of a process may have together; 0: any */
    /** Readers: 1: the first writer is process writer_rank of PB writer_pb. 0: it is the first
     * process of some PB, which is found by the name. */
    int writer_known;
    int writer_pb, writer_rank;
    int share; /**< writers: _TO_ALL (0), _ROUND_ROBIN, _ON_DEMAND; that of the first one counts */
};

/**
 * Open a stream. Collective over @p group. Joins the universe if need be. Writers wait for
 * settings.readers groups of readers, readers for the writers.
 * @param name of the stream, 1 to 200 bytes, any characters
 * @param mode WAITIO_STAGE_WRITE or _READ
 * @param group the writers, or these readers; in the same order in all its processes. NULL: all
 *              processes of my PB. May be freed afterwards
 * @param settings NULL: defaults @param[out] stage NULL after an error
 * @return 0; ARG, TIMEOUT (the text says who was asked), VERSION (the other side has another
 * release), PEER, NOMEM, the errors of joining
 */
int waitio_stage_open(const char *name, int mode, waitio_group_t group,
                      const struct waitio_stage_settings *settings, waitio_stage_t *stage);
/**
 * Close it. Collective. Writers: no further steps come; waits until all steps that are kept have
 * been read. Readers: leaves the stream, which goes on; ends a step that is open. Frees everything,
 * also after an error: deferred arrays and those of gets that failed are free afterwards. Only when
 * the other side does not go on, and its data is still under way, such arrays may be in use until
 * this process leaves the universe: then it returns TIMEOUT, and the text says so.
 * @param[in,out] stage NULL afterwards
 * @return 0; TIMEOUT: readers had not read all, or data is still under way; what had happened to
 * the stream before, if it had failed
 */
int waitio_stage_close(waitio_stage_t *stage, double limit);
/** The text of this thread's last error: stream, step, variable, process, remedy. Never NULL. */
const char *waitio_stage_last_error(void);

/* ---- writers -------------------------------------------------------------------------------- */

/**
 * Define an array, at any time. Each writer defines what it puts.
 * @param name 1 to 200 bytes @param type but not _STRING
 * @param ndims 1 .. WAITIO_STAGE_DIMS_MAX @param shape of the whole array; NULL: a local array
 * @param[out] variable to put
 * @return 0; ARG: also when the name is defined already
 */
int waitio_stage_define(waitio_stage_t stage, const char *name, int type, int ndims,
                        const uint64_t *shape, int *variable);
/** Change the shape of a global array, from the next put on. All writers that put the array in a
 * step must agree: else the stream fails for everybody. @return 0; ARG; STATE: put in this step */
int waitio_stage_reshape(waitio_stage_t stage, int variable, const uint64_t *shape);
/**
 * Choose what is done to the blocks of an array on their way, from the next put on. All writers
 * that put the array choose the same. The stream's thread applies it, readers undo it; their boxes
 * need not know of it.
 *
 * - "zstd", "blosc2": nothing is lost. Parameters: level=1 .. (quick .. small), shuffle=0 or 1 (1:
 *   bytes of one place together, the default).
 * - "zfp": errors are bounded, of float and double. One of accuracy=E (no value is wrong by more
 *   than E), precision=BITS (of each value), rate=BITS (bytes that each value takes). Blocks with
 *   values that are not finite, and with an accuracy finer than the type, are not changed.
 * - "none" or NULL: nothing.
 *
 * @param parameters KEY=VALUE, several separated by blanks or commas; NULL or "": the defaults
 * @return 0; ARG: no such parameter, not for this type; STATE: put in this step; UNSUPPORTED: no
 * such operator, or its library is not installed (the text says which)
 */
int waitio_stage_operator(waitio_stage_t stage, int variable, const char *name,
                          const char *parameters);
/**
 * Define a variable that the stream's thread makes of others at the end of each step in which they
 * are put. It is not put.
 *
 * - "min", "max": a scalar, the smallest or largest element of one array, of all writers. NaN if
 *   one element is. No complex types.
 * - "magnitude": an array, sqrt(x*x + y*y + ...) of arrays of float or double, whose blocks must be
 *   the same boxes. They may be reshaped together.
 *
 * @param n sources, 1 to 8; min and max: 1 @param variables the sources @param[out] variable of the
 * magnitude, e.g. for an operator; -1 for scalars. NULL: not wanted
 * @return 0; ARG, NOMEM. What does not fit at the end of a step is told by end_step: ARG; LIMIT:
 * memory_max
 */
int waitio_stage_derive(waitio_stage_t stage, const char *name, const char *what, int n,
                        const int *variables, int *variable);
/**
 * Put a block. Any number of blocks of a variable in a step; no two blocks of a global array, of
 * one writer or of two, may overlap.
 * @param start first element of the block in the whole array; NULL: 0. Local arrays: not read
 * @param count elements in each dimension; NULL: the whole shape (global arrays)
 * @param data in C order, without gaps @param how WAITIO_STAGE_DEFERRED or _NOW
 * @return 0; ARG (a box outside), STATE (no step is open), NOMEM; LIMIT: memory_max
 */
int waitio_stage_put(waitio_stage_t stage, int variable, const uint64_t *start,
                     const uint64_t *count, const void *data, int how);
/** Put a scalar: one element of @p type, copied. Where several writers put it, the value of the
 * lowest rank counts; where one puts it twice in a step, the last value. @return 0; ARG, STATE */
int waitio_stage_put_scalar(waitio_stage_t stage, const char *name, int type, const void *value);
/** Put a text, copied. @return 0; ARG, STATE */
int waitio_stage_put_text(waitio_stage_t stage, const char *name, const char *text);
/**
 * Set an attribute: of the stream, valid from this step on until it is set anew. The lowest
 * writer's counts. For _STRING @p values is a text, and @p n is not read.
 * @return 0; ARG, NOMEM
 */
int waitio_stage_attribute(waitio_stage_t stage, const char *name, int type, size_t n,
                           const void *values);
/**
 * End the step: readers see it when all writers have done so. Waits while more steps are kept than
 * settings.queue says (_BLOCK), or until the writers know which step is given up.
 * Local errors, as of an earlier step, are told by begin_step, end_step and close.
 * @return 0; STATE; TIMEOUT: the step is queued, but the queue is too long: call end_step again to
 * wait for it. PEER: a writer has died. ARG: what the writers put does not fit together
 */
int waitio_stage_end_step(waitio_stage_t stage, double limit);

/* ---- writers and readers --------------------------------------------------------------------- */

/**
 * Begin a step. Writers: never waits, @p which and @p status are not read. Readers: collective.
 * @param which WAITIO_STAGE_NEXT or _LATEST; that of the first reader counts, as its limit
 * @param[out] status WAITIO_STAGE_OK, _END or _NOT_READY
 * @return 0 (with any status); PEER: a writer has died, or one of these readers; ARG: what the
 * writers put does not fit together; STATE
 */
int waitio_stage_begin_step(waitio_stage_t stage, int which, double limit, int *status);
/** @param[out] step number of the step that is open, or was last; from 0, -1 before the first.
 * Steps that were discarded or passed over have numbers, too. */
int waitio_stage_step(waitio_stage_t stage, int64_t *step);
/** Bytes, steps and the like of this process, by name: "steps", "discarded" (writers' first process
 * only), "bytes", "queued_bytes", "queued_bytes_max", "spare_bytes" (memory kept for the copies of
 * the next steps; with "queued_bytes" never more than "queued_bytes_max"), "plans", "plans_reused",
 * "groups", "pushes" (blocks that a reader got before it asked), "raw_bytes" and "packed_bytes"
 * (writers: before and after operators).
 * @return 0; ARG: no such number */
int waitio_stage_count(waitio_stage_t stage, const char *name, uint64_t *value);

/* ---- readers -------------------------------------------------------------------------------- */

/** A variable of the step that is open. */
struct waitio_stage_variable {
    const char *name;                      /**< belongs to the stream, until end_step */
    int type, kind;                        /**< WAITIO_STAGE_GLOBAL, _LOCAL, _SCALAR */
    int ndims;                             /**< 0: scalar */
    uint64_t shape[WAITIO_STAGE_DIMS_MAX]; /**< of global arrays */
    size_t blocks;                         /**< arrays: how many were put */
};
/** @param[out] n arrays, scalars and texts of this step. */
int waitio_stage_variables(waitio_stage_t stage, int *n);
/** The i-th of them: arrays first. @return 0; ARG */
int waitio_stage_variable_at(waitio_stage_t stage, int i, struct waitio_stage_variable *variable);
/** The one of that name. @return 0; ARG: this step has none (the text says what it has) */
int waitio_stage_inquire(waitio_stage_t stage, const char *name,
                         struct waitio_stage_variable *variable);
/** The operator of an array, as "zfp accuracy=0.001". @param[out] text "": none. Belongs to the
 * stream, until end_step @return 0; ARG */
int waitio_stage_get_operator(waitio_stage_t stage, const char *name, const char **text);
/** Where a block of an array lies. @param[out] writer rank of the process that put it
 * @param[out] start ndims numbers, or NULL @param[out] count the same @return 0; ARG */
int waitio_stage_block(waitio_stage_t stage, const char *name, size_t block, int *writer,
                       uint64_t *start, uint64_t *count);
/**
 * Get a box of a global array. The data has come when perform or end_step has returned 0.
 * @param type must be that of the variable @param start NULL: 0 @param count NULL: to the end
 * @param data room for the box, in C order
 * @return 0; ARG (a box outside, another type), STATE, NOMEM; UNSUPPORTED: its operator's library
 * is not installed here
 */
int waitio_stage_get(waitio_stage_t stage, const char *name, int type, const uint64_t *start,
                     const uint64_t *count, void *data);
/** Get a whole block of a global or local array. */
int waitio_stage_get_block(waitio_stage_t stage, const char *name, int type, size_t block,
                           void *data);
/** Fetch what was asked for: not collective. @return 0; TIMEOUT, PEER: the stream can only be
 * closed, for data may still arrive; ARG: a part of a box that nobody has put */
int waitio_stage_perform(waitio_stage_t stage, double limit);
/** The value of a scalar, at once. @return 0; ARG */
int waitio_stage_get_scalar(waitio_stage_t stage, const char *name, int type, void *value);
/** A text of this step. @param[out] text belongs to the stream, until end_step @return 0; ARG */
int waitio_stage_get_text(waitio_stage_t stage, const char *name, const char **text);
/** An attribute. Any pointer may be NULL. @param[out] values belong to the stream, until end_step;
 * _STRING: a text, @p n is its length @return 0; ARG: no such attribute */
int waitio_stage_get_attribute(waitio_stage_t stage, const char *name, int *type, size_t *n,
                               const void **values);
/** Name of the i-th attribute, NULL past the last. Belongs to the stream, until end_step. */
const char *waitio_stage_attribute_name(waitio_stage_t stage, int i);
/**
 * From the next begin_step on take only steps first, first + stride, ... up to last; the writers
 * pass over the others. Only the first reader's counts. @param last < 0: no end
 * @return 0; ARG: stride < 1, first < 0
 */
int waitio_stage_select_steps(waitio_stage_t stage, int64_t first, int64_t last, int64_t stride);

/* ---- bindings -------------------------------------------------------------------------------- */

/** Bytes of an element, 0 for _STRING and what is no type. */
size_t waitio_stage_size(int type);
/** Let waits call @p look now and then, in the thread that waits: for bindings that must see
 * signals. The wait ends with CANCELLED when it returns other than 0. NULL: none. */
void waitio_stage_look_at(int (*look)(void *with), void *with);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif /* WAITIO_STAGE_H */
