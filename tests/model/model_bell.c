/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file model_bell.c
 * Sleep and doorbell: the shared-memory transport's own progress, arm, send and receive, between
 * processes that share the explorer's memory. Sockets, event sets and membarrier(2) are ours.
 * Nobody may sleep for ever while there is something for him.
 */
#include "transport/shm/shm.h"

#define PROCESSES 3
#define CELL 64u
#define SLOTS 2u
#define LOCK(p) (p)                 /* engine lock of a process with two threads */
#define SOCKET(p) (PROCESSES + (p)) /* what others say to it */

/* A process, as if its links had just become ready. */
static struct process {
    struct shm_iface f;
    struct wio_counters ctr;
    struct shm_link link[PROCESSES];
    struct shm_link *owner[PROCESSES];
    uint16_t gen[PROCESSES];
    struct shm_writer w;
    struct shm_reader r;
    int bells[PROCESSES]; /* in the socket from each */
    bool kick, app_kick, svc_armed, used;
    bool inside; /* the application is in a call */
    int to_get, got, closed_from;
    uint8_t next[PROCESSES]; /* message expected from each */
    int sent, queued;        /* messages given to the transport, kept by it */
    struct wio_tx tx[4];
} proc[PROCESSES];
static int process_of[MM_THREADS];
static uint32_t cells;
static size_t arena_used;

static struct process *me(void)
{
    return &proc[process_of[mm_self()]];
}
static int number(const struct process *p)
{
    return (int)(p - proc);
}
static bool killed(int process)
{
    for (int t = 0; t < MM_THREADS; t++)
        if (proc[process].used && process_of[t] == process && mm_dead(t))
            return true;
    return false;
}

/* ---- the system ---- */

#define FD(of, to) (100 + 10 * (of) + (to))
#define EPOLL 1
#define SVC_EPOLL 2
#define KICK 3

int (*wio_os_fault)(enum wio_os_call call, int fd, size_t bytes);

/* The explorer sees what is copied, not how. */
void wio_os_copy(void *to, const void *from, size_t n)
{
    memcpy(to, from, n);
}

int wio_os_membarrier(void)
{
    unsigned threads = 0;
    for (int t = 0; t < MM_THREADS; t++)
        if (proc[process_of[t]].f.membarrier) /* the others are not registered for it */
            threads |= 1u << t;
    mm_membarrier(MM_SITE("membarrier", "", 0, 0), threads);
    return 0;
}

ssize_t wio_os_send(int fd, const void *buf, size_t n)
{
    int to = fd % 10;
    struct shm_rec r;
    memcpy(&r, buf, sizeof r);
    if (n != sizeof r || r.type != SHM_R_BELL)
        mm_fail("a record that is no bell");
    mm_call(SOCKET(to), MM_OUT, "rings");
    proc[to].bells[number(me())]++;
    return (ssize_t)n;
}

ssize_t wio_os_recv_fd(int fd, int *passed, void *buf, size_t n)
{
    int from = fd % 10;
    struct process *p = me();
    *passed = -1;
    mm_call(SOCKET(number(p)), MM_IN, "reads its socket");
    if (p->bells[from] > 0 && n == sizeof(struct shm_rec)) {
        p->bells[from]--;
        struct shm_rec r = {.magic = SHM_REC_MAGIC, .type = SHM_R_BELL};
        memcpy(buf, &r, sizeof r);
        return sizeof r;
    }
    if (!killed(from))
        return -EAGAIN;
    for (int t = 0; t < MM_THREADS; t++)
        if (process_of[t] == from && mm_dead(t))
            mm_mourn(t);
    return 0;
}

static bool readable(const struct process *p, int from)
{
    const struct shm_link *l = &p->link[from];
    return l->fd >= 0 && !l->eof && (p->bells[from] > 0 || killed(from));
}
static bool anything_readable(const struct process *p)
{
    bool yes = p->kick;
    for (int i = 0; i < PROCESSES; i++)
        yes |= p->link[i].fd > 0 && readable(p, i);
    return yes;
}

int wio_os_epoll_wait(int set, struct epoll_event *ev, int max, int timeout)
{
    struct process *p = me();
    int n = 0;
    (void)max;
    (void)timeout;
    mm_call(SOCKET(number(p)), 0, "looks at its sockets");
    if (set == SVC_EPOLL) {
        if (!p->svc_armed || !anything_readable(p))
            return 0;
        p->svc_armed = false;
        ev[0].data.ptr = &p->f.src_kick;
        return 1;
    }
    if (p->kick)
        ev[n++].data.ptr = &p->f.src_kick;
    for (int i = 0; i < PROCESSES; i++)
        if (p->link[i].fd > 0 && readable(p, i))
            ev[n++].data.ptr = &p->link[i].src;
    return n;
}

int wio_os_epoll_ctl(int set, int op, int fd, uint32_t events, void *ptr)
{
    (void)op;
    (void)fd;
    (void)events;
    (void)ptr;
    if (set == SVC_EPOLL)
        me()->svc_armed = true;
    return 0;
}
void wio_os_eventfd_set(int fd)
{
    (void)fd;
    mm_call(SOCKET(number(me())), MM_OUT, "kicks");
    me()->kick = true;
}
void wio_os_eventfd_clear(int fd)
{
    (void)fd;
    mm_call(SOCKET(number(me())), MM_IN, "takes the kick");
    me()->kick = false;
}

static bool woken(void)
{
    const struct process *p = me();
    return p->app_kick || anything_readable(p);
}
static bool service_woken(void)
{
    const struct process *p = me();
    return p->svc_armed && anything_readable(p);
}

/* ---- what the library would do above ---- */

static int on_message(void *user, struct wio_ep *ep, uint32_t peer, const uint8_t *msg,
                      uint32_t bytes, struct wio_sink *sink)
{
    struct process *p = user;
    static uint8_t nowhere[64];
    (void)ep;
    if (msg[0] != p->next[peer] || bytes != 8)
        mm_fail("message %d of process %u arrives as number %d", msg[0], (unsigned)peer,
                p->next[peer]);
    p->next[peer]++;
    sink->buf = nowhere;
    sink->len = bytes;
    return 0;
}
static int on_payload(void *user, struct wio_ep *ep, uint32_t peer, struct wio_sink *sink)
{
    struct process *p = user;
    (void)ep;
    (void)peer;
    (void)sink;
    p->got++;
    p->app_kick = true;
    return 0;
}
static void on_state(void *user, struct wio_ep *ep, uint32_t peer, enum wio_ep_state state, int err,
                     enum wio_bye_reason reason, const char *text)
{
    struct process *p = user;
    (void)ep;
    (void)err;
    (void)reason;
    (void)text;
    if (state == WIO_EP_CLOSED)
        p->closed_from |= 1 << peer;
    p->app_kick = true;
}
static const struct wio_upcalls upcalls = {
    .on_message = on_message, .on_payload = on_payload, .on_state = on_state};

static void done(struct wio_tx *tx, int err)
{
    (void)tx;
    (void)err;
    me()->queued--;
}

/* Never called here, or without effect. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NEVER(type, name, ...)                                                                     \
    type name(__VA_ARGS__)                                                                         \
    {                                                                                              \
        mm_fail(#name " is called");                                                               \
    }
void wio_shm_fetch_forbid(struct shm_link *l) /* nobody fetches here */
{
}
NEVER(ssize_t, wio_os_send_fd, int sock, int fd, const void *buf, size_t n)
NEVER(int, wio_os_dup, int fd)
NEVER(void *, wio_os_realloc, void *p, size_t n)
NEVER(void, wio_shm_accept, struct shm_iface *f)
NEVER(uint64_t, wio_shm_fetch_allow, struct shm_link *l)
NEVER(void, wio_shm_fetch_try, struct shm_link *l, uint64_t proof)
NEVER(void *, wio_shm_attach, const struct shm_iface *f, int fd, size_t bytes, const char **why)
NEVER(void, wio_shm_conn_close, struct shm_conn *c)
NEVER(void, wio_shm_conn_drive, struct shm_conn *c)
NEVER(void, wio_shm_dial, struct shm_link *l)
NEVER(void, wio_shm_listen_watch, struct shm_iface *f, bool on)
NEVER(struct shm_reader *, wio_shm_reader_make, struct shm_iface *f, const struct shm_ring_geo *g,
      int fd)
NEVER(struct shm_writer *, wio_shm_writer_make, struct shm_iface *f, int *fd)
NEVER(void, wio_shm_writer_cool, struct shm_iface *f, struct shm_writer *w)
NEVER(int, wio_fail_os, int code, int oserr, const char *fmt, ...)
NEVER(const char *, wio_last_error, void)

void wio_log_emit(struct wio_log *lg, enum wio_log_comp c, enum wio_log_level l, const char *fmt,
                  ...)
{
    (void)lg;
    (void)c;
    if (l == WIO_LOG_ERROR)
        mm_fail("the library says: %s", fmt);
}
void wio_msg_encode(const struct wio_msg *m, uint8_t out[WIO_MSG_BYTES])
{
    (void)m;
    (void)out;
    mm_fail("put() is not explored here");
}
const char *wio_bye_reason_name(uint16_t reason)
{
    (void)reason;
    return "bye";
}
uint32_t wio_table_pb_of(const struct wio_table *t, uint32_t rank)
{
    (void)t;
    (void)rank;
    return 0;
}
size_t wio_text(char *buf, size_t n, const char *fmt, ...)
{
    (void)fmt;
    if (n > 0)
        buf[0] = 0;
    return 0;
}
int64_t wio_os_now_ns(void)
{
    return 0;
}
void *wio_os_alloc(size_t n)
{
    (void)n;
    return NULL; /* of the text of an end */
}
void wio_os_free(void *p)
{
    (void)p;
}
void wio_os_close(int fd)
{
    (void)fd;
}
void wio_os_epoll_close(int fd, int epfd, int other)
{
    (void)fd;
    (void)epfd;
    (void)other;
}
void wio_os_unmap(void *p, size_t bytes)
{
    (void)p;
    (void)bytes;
}
bool wio_shm_writer_warm(struct shm_iface *f, struct shm_writer *w, unsigned skip, uint32_t bytes)
{
    (void)f;
    (void)w;
    (void)skip;
    (void)bytes;
    return true;
}
uint32_t wio_shm_ring_ahead(const struct shm_ring *r, uint32_t warm, uint64_t at, uint32_t bytes)
{
    (void)r;
    (void)at;
    (void)bytes;
    return warm;
}
void wio_shm_reader_warm(struct shm_reader *r, bool fresh, uint64_t at, uint32_t bytes)
{
    (void)r;
    (void)fresh;
    (void)at;
    (void)bytes;
}
void wio_shm_bury(struct shm_iface *f)
{
    (void)f;
}
void wio_shm_reader_free(struct shm_iface *f, struct shm_reader *r)
{
    (void)f;
    (void)r;
}
void wio_shm_writer_free(struct shm_iface *f, struct shm_writer *w)
{
    (void)f;
    (void)w;
}

/* ---- setup ---- */

static void *take(size_t bytes)
{
    void *at = mm_arena() + arena_used;
    arena_used += bytes;
    return at;
}

static void begin(uint32_t ncells)
{
    memset(proc, 0, sizeof proc);
    memset(process_of, 0, sizeof process_of);
    arena_used = 0;
    cells = ncells;
}

static void process(int i, bool membarrier)
{
    static struct wio_config cfg;
    static struct wio_log quiet;
    static uint32_t bases[2];
    static struct wio_table table = {.pb_base = bases};
    struct process *p = &proc[i];
    struct shm_iface *f = &p->f;
    p->used = true;
    f->base.p = (struct wio_iface_params){
        .cfg = &cfg, .log = &quiet, .counters = &p->ctr, .up = &upcalls, .user = p};
    f->base.table = &table;
    f->epoll = EPOLL;
    f->svc_epoll = SVC_EPOLL;
    f->kick = KICK;
    f->src_kick.what = SHM_IS_KICK;
    f->timer_at = INT64_MAX;
    f->membarrier = membarrier;
    f->owner = p->owner;
    f->owner_gen = p->gen;
    f->nowners = PROCESSES;
    struct wio_list *lists[] = {&f->links,   &f->waiting, &f->ready, &f->closing, &f->readers,
                                &f->blocked, &f->news,    &f->done,  &f->inbound, &f->dials,
                                &f->ended,   &f->ghosts,  &f->barred};
    for (size_t k = 0; k < WIO_ARRAY_LEN(lists); k++)
        wio_list_init(lists[k]);
    struct shm_inbox_geo g = {cells, CELL};
    wio_shm_inbox_place(&f->inbox, &g, take(shm_inbox_bytes(&g)));
    wio_shm_inbox_format(&f->inbox);
    mm_name(&f->inbox.head->tail, "tail of %d", i);
    mm_name(&f->inbox.head->sleeping, "sleeping of %d", i);
    mm_name(&f->inbox.head->wanted, "wanted of %d", i);
    for (uint32_t k = 0; k < cells; k++)
        mm_name(&shm_inbox_cell(&f->inbox, k)->word, "cell[%u] of %d", (unsigned)k, i);
}

static void half_link(int from, int to)
{
    struct process *p = &proc[from];
    struct shm_link *l = &p->link[to];
    l->ep.iface = &p->f.base;
    l->ep.peer = (uint32_t)to;
    l->ep.state = WIO_EP_READY;
    l->told = WIO_EP_READY;
    l->known = true;
    l->state = SHM_READY;
    l->src.what = SHM_IS_LINK;
    l->fd = FD(from, to);
    l->rec_fd = l->out_fd = -1;
    l->timer = INT64_MAX;
    wio_list_init(&l->small);
    wio_list_init(&l->bulk_q);
    wio_list_push(&p->f.links, &l->all);
    wio_list_push(&p->f.ready, &l->group);
    l->owner_in = shm_owner((uint32_t)to, 0);
    p->owner[to] = l;
    /* as map_inbox() of record.c */
    l->peer = proc[to].f.inbox;
    l->owner_out = shm_owner((uint32_t)from, 0);
    shm_choose_fences(l, proc[to].f.membarrier);
}

static void link_up(int a, int b)
{
    half_link(a, b);
    half_link(b, a);
}

static void ring(int from, int to)
{
    struct shm_ring_geo g = {SLOTS, 64, 64};
    struct process *a = &proc[from], *b = &proc[to];
    wio_shm_ring_place(&a->w.ring, &g, take(SHM_PAGE));
    b->r.ring = a->w.ring;
    a->link[to].w = &a->w;
    a->link[to].out_ring = true;
    b->link[from].r = &b->r;
    b->link[from].in_ring = true;
    wio_list_push(&b->f.readers, &b->link[from].rnode);
    mm_name(&a->w.ring.ctl->want, "want");
    mm_name(&a->w.ring.ctl->slot_head, "slot_head");
    for (uint32_t i = 0; i < SLOTS; i++)
        mm_name(&a->w.ring.slot[i].seq, "seq[%u]", (unsigned)i);
}

/* ---- threads ---- */

/* A wait of p2p: wait.c poll_turn() and sleep_once(). @param locked two threads in this process */
static void wait_till(struct process *p, bool locked, bool (*enough)(const struct process *p))
{
    if (locked)
        mm_lock(LOCK(number(p)));
    p->inside = true;
    while (!enough(p)) {
        p->app_kick = false;
        if (wio_shm_progress(&p->f.base, WIO_PROGRESS_FULL) < 0)
            mm_fail("progress fails");
        if (enough(p))
            break;
        if (wio_shm_arm(&p->f.base, WIO_PROGRESS_FULL) != 0)
            continue;
        if (locked)
            mm_unlock(LOCK(number(p)));
        mm_sleep("sleeps", woken);
        if (locked)
            mm_lock(LOCK(number(p)));
    }
    p->inside = false;
    if (locked)
        mm_unlock(LOCK(number(p)));
}

static bool have_all(const struct process *p)
{
    return p->got >= p->to_get;
}
static bool all_gone(const struct process *p)
{
    return p->queued == 0;
}
static bool have_all_or_end(const struct process *p)
{
    return p->got >= p->to_get || (p->closed_from & 1) != 0;
}

static void receiver(void)
{
    wait_till(me(), false, have_all);
}
static void receiver_beside_service(void)
{
    wait_till(me(), true, have_all);
}
static void receiver_of_mortal(void)
{
    wait_till(me(), false, have_all_or_end);
}

/* As service_main() of service.c: it arms only while the application is not inside. */
static void service(void)
{
    struct process *p = me();
    for (;;) {
        mm_lock(LOCK(number(p)));
        (void)wio_shm_progress(&p->f.base, WIO_PROGRESS_SERVICE);
        bool work = !p->inside && wio_shm_arm(&p->f.base, WIO_PROGRESS_SERVICE) != 0;
        mm_unlock(LOCK(number(p)));
        if (!work)
            mm_sleep("service sleeps", service_woken);
    }
}

static void send_one(struct process *p, int to)
{
    static const uint64_t payload = 7;
    struct wio_tx *tx = &p->tx[p->sent];
    memset(tx, 0, sizeof *tx);
    tx->msg[0] = (uint8_t)p->sent;
    tx->payload = &payload;
    tx->bytes = 8;
    tx->done = done;
    int rc = wio_shm_send(&p->link[to].ep, tx);
    if (rc < 0)
        mm_fail("send fails");
    p->sent++;
    p->queued += rc == WIO_TX_QUEUED;
}
static int receiving; /* process */
static int each;

/* Does not sleep. */
static void polling_receiver(void)
{
    struct process *p = me();
    while (p->got < p->to_get) {
        int n = p->link[0].in_ring ? wio_shm_rx_ring(&p->link[0]) : wio_shm_rx_inbox(&p->f);
        if (n == 0)
            mm_spin(NULL);
    }
}

static void sender(void)
{
    struct process *p = me();
    for (int i = 0; i < each; i++)
        send_one(p, receiving);
    wait_till(p, false, all_gone);
}

/* Two processes: 0 writes, 1 reads. */
static void two(uint32_t ncells, int n, bool m0, bool m1)
{
    begin(ncells);
    process(0, m0);
    process(1, m1);
    link_up(0, 1);
    process_of[1] = 1;
    receiving = 1;
    each = n;
    proc[1].to_get = n;
}

static void setup_wake(void)
{
    two(2, 1, true, true);
}
static void setup_wake_fences(void)
{
    two(2, 1, false, false);
}
static void setup_wake_reader_has_none(void)
{
    two(2, 1, true, false);
}
static void setup_wake_writer_has_none(void)
{
    two(2, 1, false, true);
}
/* The inbox is full, the next message has to wait. */
static void full(bool m0, bool m1)
{
    two(1, 1, m0, m1);
    send_one(&proc[0], 1);
    proc[1].to_get = 2;
}
static void setup_room(void)
{
    full(true, true);
}
static void setup_room_fences(void)
{
    full(false, false);
}
static void setup_room_reader_has_none(void)
{
    full(true, false);
}
static void setup_room_writer_has_none(void)
{
    full(false, true);
}
static void setup_ring(void)
{
    two(2, 1, true, true);
    ring(0, 1);
}
static void setup_ring_fences(void)
{
    two(2, 1, false, false);
    ring(0, 1);
}
static void full_ring(bool m0, bool m1)
{
    two(2, 1, m0, m1);
    ring(0, 1);
    send_one(&proc[0], 1);
    send_one(&proc[0], 1);
    proc[1].to_get = 3;
}
static void setup_ring_room(void)
{
    full_ring(true, true);
}
static void setup_ring_room_fences(void)
{
    full_ring(false, false);
}
static void setup_ring_room_mixed(void)
{
    full_ring(false, true);
}

/* The reader's service thread reads, too (a watched link). */
static void beside_service(bool membarrier)
{
    two(2, 1, membarrier, membarrier);
    process_of[2] = 1;
    proc[1].link[0].watched = true;
    proc[1].f.nwatched = 1;
}
static void setup_service(void)
{
    beside_service(true);
}
static void setup_service_fences(void)
{
    beside_service(false);
}
/* The writer is killed anywhere. */
static void setup_death(void)
{
    two(2, 1, false, false);
}
static void setup_death_ring(void)
{
    two(2, 2, false, false);
    ring(0, 1);
}
/* Everything that was published before the end arrives before the end is told. */
static void all_arrived(void)
{
    if (proc[1].got < proc[0].sent)
        mm_fail("%d messages were sent, %d have arrived", proc[0].sent, proc[1].got);
}

/* Two writers of one inbox: it is full, and somebody's old wish for room stands there. The first
 * fills what gets free, without sleeping; the second has a message to send and goes to sleep. */
static void spinning_writer(void)
{
    struct shm_link *l = &me()->link[1];
    struct shm_cell *c;
    uint32_t pos;
    while ((c = wio_shm_inbox_claim(&l->peer, l->owner_out, &pos)) == NULL)
        mm_spin(NULL);
    uint8_t msg[WIO_MSG_BYTES] = {1};
    c->info = shm_info(SHM_MESSAGE, SHM_INLINE, 8);
    memcpy(c->msg, msg, WIO_MSG_BYTES);
    shm_inbox_publish(c, pos, l->owner_out);
}
static void sleeping_writer(void)
{
    if (wio_shm_arm(&me()->f.base, WIO_PROGRESS_FULL) == 0)
        mm_sleep("sleeps", woken);
}
static void two_wait(bool membarrier)
{
    begin(1);
    for (int i = 0; i < 3; i++)
        process(i, membarrier);
    link_up(0, 1);
    link_up(2, 1);
    process_of[1] = 1;
    process_of[2] = 2;
    send_one(&proc[0], 1);
    send_one(&proc[2], 1); /* queued */
    atomic_init(&proc[1].f.inbox.head->wanted, 1);
    proc[1].to_get = 2;
}
static void setup_two_wait(void)
{
    two_wait(true);
}
static void setup_two_wait_fences(void)
{
    two_wait(false);
}

#define P(title, how, prepare, who)                                                                \
    .name = "bell: " title, .threads = 2, .barriers = how, .setup = prepare, .body = {sender, who}
static const struct mm_program programs[] = {
    {P("inbox", true, setup_wake, receiver)},
    {P("inbox, fences", false, setup_wake_fences, receiver)},
    {P("inbox, reader without membarrier", true, setup_wake_reader_has_none, receiver)},
    {P("inbox, writer without membarrier", true, setup_wake_writer_has_none, receiver)},
    {P("full inbox", true, setup_room, polling_receiver)},
    {P("full inbox, fences", false, setup_room_fences, polling_receiver)},
    {P("full inbox, reader without membarrier", true, setup_room_reader_has_none,
       polling_receiver)},
    {P("full inbox, writer without membarrier", true, setup_room_writer_has_none,
       polling_receiver)},
    {P("full inbox, both sleep", true, setup_room, receiver), .slow = true},
    {P("full inbox, both sleep, fences", false, setup_room_fences, receiver)},
    {P("ring", true, setup_ring, receiver)},
    {P("ring, fences", false, setup_ring_fences, receiver)},
    {P("full ring", true, setup_ring_room, polling_receiver)},
    {P("full ring, fences", false, setup_ring_room_fences, polling_receiver)},
    {P("full ring, writer without membarrier", true, setup_ring_room_mixed, polling_receiver)},
    {P("full ring, both sleep", true, setup_ring_room, receiver), .slow = true},
    {P("full ring, both sleep, fences", false, setup_ring_room_fences, receiver)},
    {.name = "bell: two writers and an old wish",
     .threads = 3,
     .barriers = true,
     .setup = setup_two_wait,
     .body = {spinning_writer, polling_receiver, sleeping_writer},
     .slow = true},
    {.name = "bell: two writers and an old wish, fences",
     .threads = 3,
     .setup = setup_two_wait_fences,
     .body = {spinning_writer, polling_receiver, sleeping_writer}},
    {.name = "bell: application and service sleep",
     .threads = 3,
     .barriers = true,
     .daemons = 4,
     .setup = setup_service,
     .body = {sender, receiver_beside_service, service}},
    {.name = "bell: application and service sleep, fences",
     .threads = 3,
     .daemons = 4,
     .setup = setup_service_fences,
     .body = {sender, receiver_beside_service, service}},
    {.name = "bell: the writer is killed",
     .threads = 2,
     .mortal = 1,
     .setup = setup_death,
     .body = {sender, receiver_of_mortal},
     .finish = all_arrived},
    {.name = "bell: the writer is killed, ring",
     .threads = 2,
     .mortal = 1,
     .setup = setup_death_ring,
     .body = {sender, receiver_of_mortal},
     .finish = all_arrived},
};

/* Harmless here, for these reasons. */
static const char *const needless[] = {
    /* no payloads beside the slots in these programs: model_ring.c */
    "shm_ring_tell: store(&r->ring.ctl->bulk_head = r->bulk_head) without release",
    "shm_ring_tell: store(&r->ring.ctl->mid_head = r->mid_head) without release",
    /* hand nothing on: what they announce is read from other words after a fence */
    "wake_senders: store(&f->inbox.head->wanted = 0) without release",
    "wio_shm_bell: exchange(&l->peer.head->sleeping) without acquire",
    "wio_shm_bell: exchange(&l->peer.head->sleeping) without release",
    /* the end of a process was read from its socket: the system has ordered everything before */
    "wio_shm_link_eof: load(&f->inbox.head->tail) without acquire",
    /* mends what only a hostile sender does: nothing to be mended in these programs */
    "wio_shm_rx_mend: load(&c->word) without acquire",
    "wio_shm_rx_mend: cas(&shm_inbox_cell(b, pos)->word) without acquire",
    "wio_shm_rx_mend: cas(&shm_inbox_cell(b, pos)->word) without release",
    /* only whether, not what: whoever reads then loads it again */
    "wio_shm_rx_inbox_ready: load(&c->word) without acquire", NULL};
/* a word never returns: load and exchange read the same store, either may acquire */
static const char *const either[] = {"wio_shm_inbox_claim: load(&c->word) without acquire",
                                     "wio_shm_inbox_claim: cas(&c->word) without acquire", NULL};

int main(int argc, char **argv)
{
    static const struct mm_suite s = {"bell", programs, sizeof programs / sizeof programs[0],
                                      NULL,   needless, either};
    return mm_main(&s, argc, argv);
}
