/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file seats.c
 * Who is registered, who has gone, who waits for whom. A place that nobody has registered yet may
 * still come: its callers wait LATE_NS. One whose line has ended is gone: its callers hear so after
 * AGAIN_NS, for a line may break and be made again. One that is registered and does not answer is
 * stopped or computing: its callers wait as long as they like.
 */
#include "relay.h"

const char *rl_place_text(const struct wio_place *p, char *buf, size_t n)
{
    if (p->rank == WIO_PLACE_RENDEZVOUS)
        wio_text(buf, n, "rendezvous %02x%02x%02x%02x", p->id[0], p->id[1], p->id[2], p->id[3]);
    else
        wio_text(buf, n, "universe rank %u of %02x%02x%02x%02x", p->rank, p->id[0], p->id[1],
                 p->id[2], p->id[3]);
    return buf;
}

static struct seat **bucket(struct relay *r, const struct wio_place *place)
{
    uint64_t h = wio_hash_bytes(place->rank, place->id, sizeof place->id);
    return &r->seats[h % BUCKETS];
}

static struct seat *find(struct relay *r, const struct wio_place *place)
{
    struct seat *s = *bucket(r, place);
    while (s != NULL && !wio_place_equal(&s->place, place))
        s = s->next;
    return s;
}

static struct seat *find_or_make(struct relay *r, const struct wio_place *place)
{
    struct seat *s = find(r, place);
    if (s != NULL)
        return s;
    s = wio_os_alloc(sizeof *s);
    if (s == NULL)
        return NULL;
    s->place = *place;
    wio_list_init(&s->calls);
    struct seat **at = bucket(r, place);
    s->next = *at;
    *at = s;
    return s;
}

/* Forget a seat that says nothing. */
static void tidy(struct relay *r, struct seat *s)
{
    if (s->line != NULL || s->gone != 0 || !wio_list_empty(&s->calls))
        return;
    struct seat **at = bucket(r, &s->place);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    wio_os_free(s);
}

static void untomb(struct relay *r, struct seat *s)
{
    if (wio_list_linked(&s->tomb)) {
        wio_list_remove(&s->tomb);
        r->ntombs--;
    }
    s->gone = 0;
}

static void entomb(struct relay *r, struct seat *s)
{
    if (r->ntombs >= TOMBS_MAX) {
        struct seat *old = WIO_CONTAINER(wio_list_first(&r->tombs), struct seat, tomb);
        untomb(r, old);
        tidy(r, old);
    }
    s->gone = wio_os_now_ns();
    wio_list_push(&r->tombs, &s->tomb);
    r->ntombs++;
}

/* Tell the registered one of a caller. */
static void announce(struct relay *r, struct seat *s, struct guest *caller)
{
    caller->announced = rl_send(s->line->fd, WIO_DETOUR_WANTED, &s->place, caller->number, "");
    if (!caller->announced) {
        rl_guest_over(r, s->line); /* perhaps half a message is out */
    }
}

static void announce_all(struct relay *r, struct seat *s)
{
    WIO_LIST_FOR_SAFE(it, next, &s->calls)
    {
        if (s->line == NULL)
            break;
        announce(r, s, WIO_CONTAINER(it, struct guest, call));
    }
}

void rl_register(struct relay *r, struct guest *g, const struct wio_place *place)
{
    char text[64];
    struct seat *s = find_or_make(r, place);
    if (s == NULL || !rl_send(g->fd, WIO_DETOUR_OPEN, place, 0, "")) {
        rl_guest_over(r, g);
        if (s != NULL)
            tidy(r, s);
        return;
    }
    if (s->line != NULL)
        rl_guest_refuse(r, s->line, WAITIO_ERR_JOIN,
                        "another process of this run has registered for the same place, from %.60s",
                        g->from);
    untomb(r, s);
    s->line = g;
    g->seat = s;
    rl_guest_phase(r, g, G_LINE);
    wio_info(&r->log, WIO_C_SERV, "%s is registered, from %s",
             rl_place_text(place, text, sizeof text), g->from);
    announce_all(r, s);
}

static void refuse_full(struct relay *r, struct guest *g)
{
    rl_guest_refuse(r, g, WAITIO_ERR_BUSY, "all %u links of this relay are in use (--links)",
                    r->max_links);
}

void rl_call(struct relay *r, struct guest *g, const struct wio_place *place)
{
    struct seat *s = r->nguests[G_CALL] < CALLS_MAX ? find_or_make(r, place) : NULL;
    if (r->npairs >= r->max_links)
        refuse_full(r, g);
    else if (s == NULL || wio_os_random(&g->number, sizeof g->number) < 0)
        rl_guest_refuse(r, g, WAITIO_ERR_BUSY, "too many callers wait");
    if (g->over) {
        if (s != NULL)
            tidy(r, s);
        return;
    }
    r->calls++;
    g->seat = s;
    g->announced = false;
    rl_guest_phase(r, g, G_CALL);
    wio_list_push(&s->calls, &g->call);
    if (s->line != NULL)
        announce(r, s, g);
}

static struct guest *caller_of(struct relay *r, const struct wio_detour_msg *m)
{
    struct seat *s = find(r, &m->place);
    if (s == NULL)
        return NULL;
    WIO_LIST_FOR(it, &s->calls)
    {
        struct guest *c = WIO_CONTAINER(it, struct guest, call);
        if (c->number == m->number)
            return c;
    }
    return NULL;
}

void rl_answer(struct relay *r, struct guest *g, const struct wio_detour_msg *m)
{
    struct guest *c = caller_of(r, m);
    if (c == NULL) {
        rl_guest_refuse(r, g, WAITIO_ERR_PEER, "the caller has gone");
        return;
    }
    if (r->npairs >= r->max_links) { /* others were quicker */
        refuse_full(r, c);
        rl_guest_over(r, g);
        return;
    }
    if (!rl_send(c->fd, WIO_DETOUR_OPEN, &m->place, 0, "") ||
        !rl_send(g->fd, WIO_DETOUR_OPEN, &m->place, 0, "")) {
        rl_guest_over(r, c);
        rl_guest_over(r, g);
        return;
    }
    int caller = c->fd, answerer = g->fd;
    c->fd = g->fd = -1;
    rl_guest_over(r, c);
    rl_guest_over(r, g);
    rl_link(r, caller, answerer, &m->place);
}

void rl_decline(struct relay *r, struct guest *g, const struct wio_detour_msg *m)
{
    struct guest *c = caller_of(r, m);
    if (c != NULL && c->seat == g->seat)
        rl_guest_refuse(r, c, m->code != 0 ? m->code : WAITIO_ERR_BUSY, "%.190s", m->text);
}

void rl_seat_leave(struct relay *r, struct guest *g)
{
    char text[64];
    struct seat *s = g->seat;
    if (s == NULL)
        return;
    g->seat = NULL;
    wio_list_remove(&g->call);
    if (s->line == g) {
        s->line = NULL;
        entomb(r, s);
        WIO_LIST_FOR(it, &s->calls)
        {
            WIO_CONTAINER(it, struct guest, call)->announced = false;
        }
        wio_info(&r->log, WIO_C_SERV, "%s has gone", rl_place_text(&s->place, text, sizeof text));
    }
    tidy(r, s);
}

struct guest *rl_line_of(const struct guest *caller)
{
    return caller->seat->line;
}

int64_t rl_seats_tick(struct relay *r, int64_t now)
{
    int64_t next = INT64_MAX;
    char text[64];
    WIO_LIST_FOR_SAFE(it, after, &r->guests[G_CALL])
    {
        struct guest *c = WIO_CONTAINER(it, struct guest, node);
        struct seat *s = c->seat;
        if (s->line != NULL)
            continue;
        int64_t due = s->gone != 0 ? s->gone + AGAIN_NS : c->since + LATE_NS;
        if (due > now) {
            next = due < next ? due : next;
            continue;
        }
        rl_place_text(&s->place, text, sizeof text);
        if (s->gone != 0)
            rl_guest_refuse(r, c, WAITIO_ERR_PEER, "%s has left or died", text);
        else
            rl_guest_refuse(r, c, WAITIO_ERR_NOROUTE,
                            "%s is not registered here: does it have this relay in WAITIO_RELAY?",
                            text);
    }
    return next;
}

void rl_seats_free(struct relay *r)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct seat *s; (s = r->seats[i]) != NULL;) {
            r->seats[i] = s->next;
            wio_os_free(s);
        }
}
