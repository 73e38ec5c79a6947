/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of neighbourhoods: every byte of the receiving memory, also of blocks that no message
 * fills, and arguments that are not used. The schedules of all ranks run against each other.
 */
#include "unit/mpi_world.h"

enum { SIZE = 3, BLOCKS = 3, ROOM = 4 * BLOCKS };
enum { PLAIN, RESIZED, REVERSED, TYPES }; /* one int; one int of two; two ints of four, turned */

static WAITIO_MPI_Datatype types[TYPES];
static const int extent[TYPES] = {1, 2, 4}, ints[TYPES] = {1, 1, 2};

static int make_types(void **state)
{
    int places[2] = {2, 0};
    WAITIO_MPI_Datatype pair;
    (void)state;
    types[PLAIN] = WAITIO_MPI_INT;
    WAITIO_MPI_Type_create_resized(WAITIO_MPI_INT, 0, 8, &types[RESIZED]);
    WAITIO_MPI_Type_create_indexed_block(2, 1, places, WAITIO_MPI_INT, &pair);
    WAITIO_MPI_Type_create_resized(pair, 0, 16, &types[REVERSED]);
    WAITIO_MPI_Type_free(&pair);
    WAITIO_MPI_Type_commit(&types[RESIZED]);
    WAITIO_MPI_Type_commit(&types[REVERSED]);
    return 0;
}

/* A line of three with a loop at each: below, itself, above. Its ends lead nowhere. */
struct line {
    int edge[SIZE][BLOCKS];
    struct wio_near near[SIZE];
};

static void draw_line(struct line *l)
{
    for (int r = 0; r < SIZE; r++) {
        l->edge[r][0] = r > 0 ? r - 1 : WAITIO_MPI_PROC_NULL;
        l->edge[r][1] = r;
        l->edge[r][2] = r < SIZE - 1 ? r + 1 : WAITIO_MPI_PROC_NULL;
        l->near[r] = (struct wio_near){
            .indegree = BLOCKS, .outdegree = BLOCKS, .in = l->edge[r], .out = l->edge[r]};
    }
}

enum form { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, ALLTOALLW_BOTTOM, FORMS };

struct memory {
    int in[SIZE][ROOM], out[SIZE][ROOM], want[SIZE][ROOM];
};

/* Element number i of the block that a process sends to another. */
static int word(int from, int block, int i)
{
    return 1000 * (from + 1) + 10 * block + i;
}

/* Where number i of block b lies in memory: the type REVERSED holds 2 and 0, the others only 0. */
static int place(int type, int b, int i)
{
    return b * extent[type] + (type == REVERSED && i == 0 ? 2 : 0);
}

static void fill(const struct line *l, struct memory *m, enum form form, int type)
{
    for (int r = 0; r < SIZE; r++)
        for (int i = 0; i < ROOM; i++)
            m->in[r][i] = m->out[r][i] = m->want[r][i] = -7;
    for (int r = 0; r < SIZE; r++)
        for (int b = 0; b < BLOCKS; b++) {
            int peer = l->edge[r][b];
            for (int i = 0; i < ints[type]; i++) {
                m->in[r][place(type, b, i)] = word(r, b, i);
                if (peer != WAITIO_MPI_PROC_NULL) /* I am its block at the other side */
                    m->want[r][place(type, b, i)] =
                        word(peer, form <= ALLGATHERV ? 0 : BLOCKS - 1 - b, i);
            }
        }
}

/* Counts, displacements in elements and bytes, types of each block. */
struct lists {
    int one[BLOCKS], displs[BLOCKS];
    WAITIO_MPI_Aint in[SIZE][BLOCKS], out[SIZE][BLOCKS];
    WAITIO_MPI_Datatype types[BLOCKS];
};

static struct wio_call call_of(enum form form, int type, struct memory *m, struct lists *l, int r)
{
    bool bottom = form == ALLTOALLW_BOTTOM;
    struct wio_call c = {.kind =
                             form <= ALLGATHERV ? WIO_NEIGHBOR_ALLGATHER : WIO_NEIGHBOR_ALLTOALL,
                         .v = form != ALLGATHER && form != ALLTOALL};
    c.send = (struct wio_side){.buf = m->in[r], .count = 1, .type = types[type]};
    c.recv = (struct wio_side){.buf = m->out[r], .count = 1, .type = types[type]};
    for (int b = 0; b < BLOCKS; b++) {
        l->one[b] = 1;
        l->displs[b] = b;
        l->types[b] = types[type];
        l->in[r][b] = (bottom ? (intptr_t)m->in[r] : 0) + (intptr_t)sizeof(int) * b * extent[type];
        l->out[r][b] =
            (bottom ? (intptr_t)m->out[r] : 0) + (intptr_t)sizeof(int) * b * extent[type];
    }
    if (c.v)
        c.recv.counts = l->one;
    if (form == ALLTOALLV)
        c.send.counts = l->one, c.send.displs = l->displs;
    if (form == ALLGATHERV || form == ALLTOALLV)
        c.recv.displs = l->displs;
    if (form >= ALLTOALLW) {
        c.send = (struct wio_side){.buf = bottom ? WAITIO_MPI_BOTTOM : m->in[r],
                                   .counts = l->one,
                                   .types = l->types,
                                   .places = l->in[r]};
        c.recv = (struct wio_side){.buf = bottom ? WAITIO_MPI_BOTTOM : m->out[r],
                                   .counts = l->one,
                                   .types = l->types,
                                   .places = l->out[r]};
    }
    return c;
}

static const int pb[SIZE] = {0, 0, 0}, first[1] = {0};
static const struct wio_topology topo = {1, pb, first, .runs = true};

/* Every form with every type; where an edge leads nowhere, the memory stays as it is. */
static void open_borders_stay_as_they_are(void **state)
{
    static struct memory m;
    static struct world w;
    struct line line;
    struct lists lists;
    (void)state;
    draw_line(&line);
    for (int form = 0; form < FORMS; form++)
        for (int type = 0; type < TYPES; type++)
            for (int swap = 0; swap < 2; swap++) {
                fill(&line, &m, form, type);
                w = (struct world){.size = SIZE};
                for (int r = 0; r < SIZE; r++) {
                    struct wio_caller who = {.rank = r,
                                             .size = SIZE,
                                             .topo = &topo,
                                             .near = &line.near[r],
                                             .swap = swap};
                    struct wio_call c = call_of(form, type, &m, &lists, r);
                    assert_int_equal(wio_coll_write(&w.s[r], &c, &who), 0);
                }
                run(&w);
                if (memcmp(m.out, m.want, sizeof m.out) != 0)
                    print_error("form %d type %d swap %d\n", form, type, swap);
                assert_memory_equal(m.out, m.want, sizeof m.out);
            }
}

static int write_only(struct wio_call c, const struct wio_near *near)
{
    struct wio_caller who = {.size = 1, .topo = &topo, .near = near};
    struct wio_schedule s;
    int rc = wio_coll_write(&s, &c, &who);
    wio_schedule_free(&s);
    return rc;
}

static void no_data_needs_no_type(void **state)
{
    int none[1] = {0}, one[1] = {1}, data[2] = {0, 0};
    WAITIO_MPI_Datatype null[1] = {WAITIO_MPI_DATATYPE_NULL};
    struct wio_side nothing = {.counts = none, .displs = none, .types = null},
                    something = {.buf = data, .counts = one, .displs = none, .types = null};
    (void)state;
    assert_int_equal(
        write_only(
            (struct wio_call){.kind = WIO_ALLTOALL, .v = true, .send = nothing, .recv = nothing},
            NULL),
        0);
    nothing.types = NULL;
    assert_int_equal(
        write_only(
            (struct wio_call){.kind = WIO_ALLTOALL, .v = true, .send = nothing, .recv = nothing},
            NULL),
        0);
    assert_int_equal(write_only(
                         (struct wio_call){
                             .kind = WIO_ALLTOALL, .v = true, .send = something, .recv = something},
                         NULL),
                     WAITIO_MPI_ERR_TYPE);
    assert_non_null(strstr(wio_last_error(), "the datatype is WAITIO_MPI_DATATYPE_NULL"));
    assert_int_equal(
        write_only((struct wio_call){.kind = WIO_ALLREDUCE, .op = WAITIO_MPI_SUM}, NULL),
        WAITIO_MPI_ERR_TYPE);
}

static void wrong_neighbourhoods_are_refused(void **state)
{
    int me[2] = {0, 0}, one[2] = {1, 1}, data[2] = {0, 0};
    WAITIO_MPI_Aint low[2] = {0, 4};
    WAITIO_MPI_Datatype type[2] = {WAITIO_MPI_INT, WAITIO_MPI_INT};
    struct wio_near near = {.indegree = 1, .outdegree = 2, .in = me, .out = me};
    struct wio_side null = {.counts = one, .places = low, .types = type};
    struct wio_call c = {.kind = WIO_NEIGHBOR_ALLTOALL,
                         .send = {.buf = data, .count = 1, .type = WAITIO_MPI_INT},
                         .recv = {.buf = data, .count = 1, .type = WAITIO_MPI_INT}};
    (void)state;
    assert_int_equal(write_only(c, &near), WAITIO_ERR_ARG);
    assert_non_null(strstr(wio_last_error(), "more edges to itself"));
    near.indegree = 2;
    near.outdegree = 1;
    assert_int_equal(write_only(c, &near), WAITIO_ERR_ARG);
    assert_non_null(strstr(wio_last_error(), "fewer edges to itself"));
    c.v = true;
    c.send = c.recv = null; /* no addresses: a buffer that was forgotten */
    assert_int_equal(write_only(c, &near), WAITIO_ERR_ARG);
    assert_non_null(strstr(wio_last_error(), "send buffer is NULL but 4 bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_borders_stay_as_they_are),
        cmocka_unit_test(no_data_needs_no_type),
        cmocka_unit_test(wrong_neighbourhoods_are_refused),
    };
    setenv("WAITIO_ERRORS", "return", 1);
    return cmocka_run_group_tests(tests, make_types, NULL);
}
