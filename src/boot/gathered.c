/* SPDX-License-Identifier: BSD-3-Clause */
/** @file gathered.c  The address table of processes that were started together. */
#include "boot/gathered.h"

#include <stdlib.h>

#include "boot/addresses.h"
#include "boot/boot_table.h"
#include "os/os.h"

#define CARD_MAGIC 0x57494f43u /* "WIOC" */
#define LIBRARY_VERSION "0.1"

void wio_card_fill(struct wio_card *card, const struct wio_config *cfg,
                   const struct wio_boot_offer *offer)
{
    *card = (struct wio_card){.magic = CARD_MAGIC,
                              .pid = (uint32_t)wio_os_pid(),
                              .pbid = (int32_t)cfg->pbid,
                              .npb = (int32_t)cfg->npb,
                              .context = -1,
                              .inside = cfg->comm_type == WIO_CFG_COMM_TYPE_MPI ? WIO_CFG_INSIDE_OFF
                                                                                : cfg->inside,
                              .identity = wio_host_identity(),
                              .ep = offer->ep};
    wio_text(card->version, sizeof card->version, LIBRARY_VERSION);
    if (wio_os_hostname(card->host, sizeof card->host) < 0)
        wio_text(card->host, sizeof card->host, "?");
    int rc = wio_os_random(card->universe, sizeof card->universe);
    if (rc < 0) {
        (void)wio_fail_os(WAITIO_ERR_SYSTEM, rc, "random universe id");
        card->code = WAITIO_ERR_SYSTEM;
        wio_text(card->text, sizeof card->text, "%s", wio_last_detail());
    }
}

/* "process 3 of the job (context 1, pid 4711 on node7)" */
static const char *name_of(const struct wio_card *cards, uint32_t i, char *buf, size_t n)
{
    const struct wio_card *c = &cards[i];
    if (c->context < 0)
        wio_text(buf, n, "process %u of the job (pid %u on %.63s)", i, c->pid, c->host);
    else
        wio_text(buf, n, "process %u of the job (context %d, pid %u on %.63s)", i, c->context,
                 c->pid, c->host);
    return buf;
}

static int check_cards(const struct wio_card *cards, uint32_t n)
{
    char a[160], b[160];
    for (uint32_t i = 0; i < n; i++) {
        const struct wio_card *c = &cards[i];
        if (c->magic != CARD_MAGIC || strncmp(c->version, cards[0].version, sizeof c->version) != 0)
            return wio_fail(WAITIO_ERR_VERSION,
                            "%s has another libwaitio (%.15s) than process 0 (%.15s): all "
                            "processes of the job need the same",
                            name_of(cards, i, a, sizeof a), c->version, cards[0].version);
        if (c->code != 0)
            return wio_fail(c->code, "%s: %.231s", name_of(cards, i, a, sizeof a), c->text);
        if (c->inside != cards[0].inside)
            return wio_fail(WAITIO_ERR_JOIN,
                            "%s and %s have different values of WAITIO_INSIDE (or one of them has "
                            "WAITIO_COMM_TYPE=mpi): set the same for all processes of mpiexec",
                            name_of(cards, 0, a, sizeof a), name_of(cards, i, b, sizeof b));
    }
    return 0;
}

/* @return 0 with *by_pbid, and *npb as the variables say, or -1 */
static int agree(const struct wio_card *cards, uint32_t n, bool *by_pbid, int32_t *npb)
{
    char a[160], b[160];
    uint32_t says = n; /* who said WAITIO_NPB first */
    *by_pbid = cards[0].pbid >= 0;
    *npb = -1;
    for (uint32_t i = 0; i < n; i++) {
        if ((cards[i].pbid >= 0) != *by_pbid)
            return wio_fail(WAITIO_ERR_JOIN,
                            "WAITIO_PBID is set for %s, but not for %s: set it in all contexts of "
                            "mpiexec, or in none (then the blocks are the contexts, in their "
                            "order)",
                            name_of(cards, *by_pbid ? 0 : i, a, sizeof a),
                            name_of(cards, *by_pbid ? i : 0, b, sizeof b));
        if (cards[i].npb < 0)
            continue;
        if (says < n && cards[i].npb != *npb)
            return wio_fail(WAITIO_ERR_JOIN,
                            "WAITIO_NPB is %d for %s, but %d for %s: set the same in all contexts",
                            *npb, name_of(cards, says, a, sizeof a), cards[i].npb,
                            name_of(cards, i, b, sizeof b));
        if (says == n) {
            says = i;
            *npb = cards[i].npb;
        }
    }
    return 0;
}

static uint32_t block_of(const struct wio_card *c, bool by_pbid)
{
    return (uint32_t)(by_pbid ? c->pbid : c->context < 0 ? 0 : c->context);
}

/* Sizes of the blocks into size[n]. @return their number, or < 0 */
static int64_t blocks(const struct wio_card *cards, uint32_t n, uint32_t *size, bool *by_pbid)
{
    int32_t said;
    int rc = agree(cards, n, by_pbid, &said);
    if (rc != 0)
        return rc;
    const char *are = *by_pbid ? "the number of blocks that WAITIO_PBID names is"
                               : "the number of contexts of mpiexec (a : b) is";
    char a[160];
    uint32_t npb = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t pb = block_of(&cards[i], *by_pbid);
        if ((said >= 0 && *by_pbid && pb >= (uint32_t)said) || pb >= n)
            return wio_fail(WAITIO_ERR_JOIN, "%s is in PB %u, but there are only %u (%s)",
                            name_of(cards, i, a, sizeof a), pb, said >= 0 ? (uint32_t)said : n,
                            said >= 0 ? "WAITIO_NPB" : "processes, one for each block at least");
        size[pb]++;
        if (pb >= npb)
            npb = pb + 1;
    }
    if (said >= 0 && npb != (uint32_t)said)
        return wio_fail(WAITIO_ERR_JOIN,
                        "WAITIO_NPB is %d, but %s %u: start all blocks by one mpiexec, or set "
                        "WAITIO_NPB=%u, or leave it out",
                        said, are, npb, npb);
    for (uint32_t pb = 0; pb < npb; pb++)
        if (size[pb] == 0)
            return wio_fail(WAITIO_ERR_JOIN,
                            "PB %u has no process: WAITIO_PBID must count the blocks from 0 to %u",
                            pb, npb - 1);
    return npb;
}

/* Hosts by first appearance: host[i] of each card. @return their number */
static uint32_t hosts(const struct wio_card *cards, uint32_t n, uint32_t *host, uint32_t *slots,
                      uint32_t mask)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t s = (uint32_t)wio_mix64(cards[i].identity) & mask;
        while (slots[s] != 0 && cards[slots[s] - 1].identity != cards[i].identity)
            s = (s + 1) & mask;
        if (slots[s] == 0) {
            slots[s] = i + 1;
            host[i] = found++;
        } else {
            host[i] = host[slots[s] - 1];
        }
    }
    return found;
}

struct plan {
    const struct wio_card *cards;
    uint32_t n, me, npb, nhosts;
    bool by_pbid;
    uint32_t *size, *host, *next; /* of each block, card, block */
};

/* @return the number of each member in the order of universe ranks; NULL: no memory */
static uint32_t *fill(const struct plan *p, struct wio_image *im, uint32_t *my_rank)
{
    uint32_t *number = wio_os_alloc(p->n * sizeof *number);
    if (number == NULL)
        return NULL;
    uint32_t base = 0;
    for (uint32_t pb = 0; pb < p->npb; pb++) {
        im->pb_size[pb] = p->size[pb];
        im->pb_base[pb] = p->next[pb] = base;
        base += p->size[pb];
    }
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t pb = block_of(&p->cards[i], p->by_pbid), at = p->next[pb]++;
        im->ep[at] = p->cards[i].ep;
        im->ep[at].host = p->host[i];
        im->host[p->host[i]].identity = p->cards[i].identity;
        number[at] = i;
        if (i == p->me)
            *my_rank = at - im->pb_base[pb];
    }
    return number;
}

static int make(struct plan *p, struct wio_table **out)
{
    size_t bytes = (size_t)wio_image_bytes(p->npb, p->nhosts, p->n);
    void *base = wio_os_alloc(bytes);
    if (base == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "address table");
    struct wio_image im;
    wio_image_layout(&im, base, p->npb, p->nhosts);
    im.head->magic = WIO_IMAGE_MAGIC;
    im.head->bytes = bytes;
    im.head->npb = p->npb;
    im.head->nhosts = p->nhosts;
    im.head->size = p->n;
    memcpy(im.head->universe, p->cards[0].universe, sizeof im.head->universe);
    uint32_t rank = 0, *number = fill(p, &im, &rank);
    int rc = number == NULL ? wio_fail(WAITIO_ERR_NOMEM, "address table")
                            : wio_table_open(base, bytes, false,
                                             block_of(&p->cards[p->me], p->by_pbid), rank, out);
    if (rc != 0) {
        wio_os_free(number);
        wio_os_free(base);
        return rc;
    }
    (*out)->number = number;
    return 0;
}

int wio_gathered_table(const struct wio_card *cards, uint32_t n, uint32_t me,
                       struct wio_table **out)
{
    int rc = check_cards(cards, n);
    if (rc != 0)
        return rc;
    uint32_t room = 4;
    while (room < 2 * n)
        room *= 2;
    uint32_t *work = wio_os_alloc((3 * (size_t)n + room) * sizeof *work);
    if (work == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "address table of %u processes", n);
    struct plan p = {.cards = cards,
                     .n = n,
                     .me = me,
                     .size = work,
                     .host = work + n,
                     .next = work + 2 * (size_t)n};
    int64_t npb = blocks(cards, n, p.size, &p.by_pbid);
    if (npb > 0) {
        p.npb = (uint32_t)npb;
        p.nhosts = hosts(cards, n, p.host, work + 3 * (size_t)n, room - 1);
        rc = make(&p, out);
    }
    wio_os_free(work);
    return npb < 0 ? (int)npb : rc;
}

/* ---- a part of a universe ---- */

struct place {
    uint64_t token;
    uint32_t number;
};

static int by_token(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->token < y->token ? -1 : x->token > y->token;
}

/* The cards in the order of their tokens. @return NULL: an error was set */
static struct place *sorted(const struct wio_card *cards, uint32_t n)
{
    char a[160], b[160];
    struct place *p = wio_os_alloc(n * sizeof *p);
    if (p == NULL) {
        (void)wio_fail(WAITIO_ERR_NOMEM, "no memory for the cards of %u processes", n);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        p[i] = (struct place){cards[i].ep.token, i};
    qsort(p, n, sizeof *p, by_token);
    for (uint32_t i = 1; i < n; i++)
        if (p[i].token == p[i - 1].token) {
            (void)wio_fail(WAITIO_ERR_JOIN,
                           "%s and %s have chosen the same random number: start again",
                           name_of(cards, p[i - 1].number, a, sizeof a),
                           name_of(cards, p[i].number, b, sizeof b));
            wio_os_free(p);
            return NULL;
        }
    return p;
}

int wio_gathered_numbers(const struct wio_card *cards, uint32_t n, const struct wio_table *t,
                         uint16_t caps, uint32_t **number)
{
    int rc = check_cards(cards, n);
    struct place *p = rc == 0 ? sorted(cards, n) : NULL;
    if (p == NULL)
        return rc != 0 ? rc : wio_last_code();
    uint32_t *out = wio_os_alloc(t->size * sizeof *out);
    for (uint32_t i = 0; out != NULL && i < t->size; i++) {
        const struct place key = {.token = t->ep[i].token};
        const struct place *at =
            (t->ep[i].caps & caps) != caps ? NULL : bsearch(&key, p, n, sizeof *p, by_token);
        out[i] = at != NULL ? at->number : WIO_NO_NUMBER;
    }
    wio_os_free(p);
    if (out == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %u processes", t->size);
    if (out[t->me] == WIO_NO_NUMBER) {
        wio_os_free(out);
        return wio_fail(WAITIO_ERR_JOIN, "this process is missing among those of its MPI job");
    }
    *number = out;
    return 0;
}
