/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staging's plan for very many writers and readers, without any process: what each would compute
 * and hold. A cubic array, cut into wx * wy * wz blocks by the writers, rx * ry * rz boxes by the
 * readers.
 *
 *     bench_plan WX WY WZ RX RY RZ
 *
 * Writes JSON lines, of which "bytes" is a size, and value seconds: "part" (a writer's), "layout"
 * (the first writer: all parts put together and checked), "read" (a reader: the layout as it
 * travels), "plan" (a reader, mean), "pieces" (of a reader's plan; value: how many at most).
 */
#include "common.h"

#include "stage/plan.h"
#include "waitio_stage.h"

enum { DIMS = 3, SAMPLES = 32 };
static const uint64_t EDGE = 9216; /* of the cube */

struct cut {
    uint64_t n[DIMS];
};

static uint64_t all(const struct cut *c)
{
    return c->n[0] * c->n[1] * c->n[2];
}

static struct wio_stg_box box_of(const struct cut *c, uint64_t rank)
{
    uint64_t at[DIMS] = {rank / (c->n[1] * c->n[2]), rank / c->n[2] % c->n[1], rank % c->n[2]};
    uint64_t start[DIMS], count[DIMS];

    for (int d = 0; d < DIMS; d++) {
        start[d] = EDGE * at[d] / c->n[d];
        count[d] = EDGE * (at[d] + 1) / c->n[d] - start[d];
    }
    return wio_stg_box(DIMS, start, count);
}

static void must(int rc)
{
    if (rc == 0)
        return;
    fprintf(stderr, "bench_plan: %s\n", wio_stg_why());
    exit(1);
}

static void put_together(const struct cut *writers, struct wio_stg_bytes *out)
{
    const uint64_t shape[DIMS] = {EDGE, EDGE, EDGE};
    struct wio_stg_layout l = {NULL, 0, 0, {NULL, 0, 0}};
    struct wio_stg_bytes part = {NULL, 0, 0, false};
    double spent = 0, t;

    for (uint64_t w = 0; w < all(writers); w++) {
        struct wio_stg_box box = box_of(writers, w);

        part.n = 0;
        wio_stg_put_u32(&part, 1);
        wio_stg_write_array(&part, "T", WAITIO_STAGE_DOUBLE, WAITIO_STAGE_GLOBAL, "", DIMS, shape,
                            1);
        wio_stg_write_box(&part, &box);
        t = bench_now();
        must(wio_stg_layout_add(&l, (uint32_t)w, part.at, part.n));
        spent += bench_now() - t;
    }
    bench_report("part", part.n, 0);
    t = bench_now();
    must(wio_stg_layout_check(&l));
    wio_stg_layout_write(&l, out);
    bench_report("layout", out->n, spent + bench_now() - t);
    wio_stg_layout_free(&l);
    wio_stg_bytes_free(&part);
}

static void plan(const struct wio_stg_layout *l, const struct cut *readers)
{
    struct wio_stg_plan p = {NULL, 0, 0};
    size_t most = 0, n = 0;
    double t = bench_now();

    for (uint64_t r = 0; r < all(readers); r += all(readers) / SAMPLES + 1, n++) {
        struct wio_stg_want want = {.array = 0, .block = -1, .box = box_of(readers, r)};

        must(wio_stg_plan_make(&p, l, &want, 1));
        most = p.n > most ? p.n : most;
    }
    bench_report("plan", sizeof *p.at * most, (bench_now() - t) / (double)n);
    bench_report("pieces", 0, (double)most);
    wio_stg_plan_free(&p);
}

int main(int argc, char **argv)
{
    struct wio_stg_layout l = {NULL, 0, 0, {NULL, 0, 0}};
    struct wio_stg_bytes layout = {NULL, 0, 0, false};
    struct cut writers, readers;
    double t;

    if (argc < 7) {
        fprintf(stderr, "usage: bench_plan WX WY WZ RX RY RZ\n");
        return 2;
    }
    for (int d = 0; d < DIMS; d++) {
        writers.n[d] = strtoull(argv[1 + d], NULL, 10);
        readers.n[d] = strtoull(argv[4 + d], NULL, 10);
    }
    put_together(&writers, &layout);
    t = bench_now();
    must(wio_stg_layout_read(&l, (uint32_t)all(&writers), layout.at, layout.n));
    bench_report("read", layout.n, bench_now() - t);
    plan(&l, &readers);
    wio_stg_layout_free(&l);
    wio_stg_bytes_free(&layout);
    return 0;
}
