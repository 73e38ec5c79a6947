/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file meet.c
 * How two processes find each other in the folders, and the handshake. The process of the lower
 * universe rank always begins, so both never do. The other one asks it to, by a knock.
 */
#include "transport/file/file.h"

/* ---- the handshake ---- */

static void shake_failed(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    struct wio_auth *a = &l->shake->auth;
    char text[480], name[64], note[96];
    int err = a->error;
    wio_text(text, sizeof text, "%s", a->text);
    wio_file_peer_name(f, l->ep.peer, name, sizeof name);
    if (err == WAITIO_ERR_AUTH || err == WAITIO_ERR_VERSION) {
        f->base.p.counters->auth_failures++;
        if (wio_log_gate(&f->refused, wio_os_now_ns(), note, sizeof note))
            wio_warn(f->base.p.log, WIO_C_FILE, "link to %s through %s refused: %s%s", name,
                     f->path, text, note);
    }
    wio_file_link_over(l, err, "cannot connect to %s through files: %s", name, text);
}

static void shake_done(struct file_link *l)
{
    wio_os_free(l->shake);
    l->shake = NULL;
    wio_file_set_state(l, FILE_READY);
    if (l->bye_wanted) { /* close() came meanwhile */
        wio_file_set_state(l, FILE_DRAIN);
        wio_file_tell_leaving(l);
    }
    wio_file_tx_wake(l);
}

/* Write what the handshake has to say. The stream has room for all of it. */
static void shake_drive(struct file_link *l)
{
    struct wio_auth *a = &l->shake->auth;
    const void *out;
    size_t n;
    while ((n = wio_auth_output(a, &out)) > 0) {
        if (!wio_file_tx_control(l, FILE_K_SHAKE, 0, out, (uint32_t)n)) {
            wio_file_link_over(l, WAITIO_ERR_NOMEM, "no memory for the handshake");
            return;
        }
        if (l->state == FILE_OVER)
            return; /* it could not be written */
        wio_auth_sent(a, n);
    }
    if (a->state == WIO_AUTH_FAILED)
        shake_failed(l);
    else if (a->state == WIO_AUTH_DONE)
        shake_done(l);
}

void wio_file_shake_input(struct file_link *l, const uint8_t *data, uint32_t n)
{
    struct wio_auth *a = &l->shake->auth;
    while (n > 0) {
        size_t want = wio_auth_want(a);
        if (a->state != WIO_AUTH_RUNNING || want == 0)
            break;
        if (want > n)
            want = n;
        (void)wio_auth_input(a, data, want);
        data += want;
        n -= (uint32_t)want;
    }
    if (n > 0)
        wio_file_violation(l, WAITIO_ERR_PROTOCOL, "its handshake is longer than one");
    else
        shake_drive(l);
}

static int admit(void *arg, const struct wio_auth_id *peer, bool proven, char *why, size_t nwhy)
{
    const struct file_link *l = arg;
    if (!proven || peer->rank == l->ep.peer)
        return 0;
    wio_text(why, nwhy, "universe rank %u wrote the file of rank %u", peer->rank, l->ep.peer);
    return WAITIO_ERR_RANK;
}

/* Our stream lies in the peer's folder: speak through it. */
static void shake_begin(struct file_link *l, enum wio_auth_role role)
{
    const struct wio_table *t = file_of(l)->base.table;
    struct wio_auth_id me = {.rank = t->me}, peer = {.rank = l->ep.peer};
    memcpy(me.universe, t->universe, WIO_UNIVERSE_ID);
    memcpy(peer.universe, t->universe, WIO_UNIVERSE_ID);
    l->shake = wio_os_alloc(sizeof *l->shake);
    bool dials = role == WIO_AUTH_DIAL;
    int rc = l->shake == NULL
                 ? wio_fail(WAITIO_ERR_NOMEM, "no memory for the handshake")
                 : wio_auth_start(&l->shake->auth, role, WIO_AUTH_FILE, file_of(l)->base.p.secret,
                                  &me, dials ? &peer : NULL, dials ? NULL : admit, l);
    if (rc < 0) {
        wio_file_link_over(l, rc, "%s", wio_last_detail());
        return;
    }
    wio_file_set_state(l, FILE_SHAKE);
    shake_drive(l);
}

/* ---- beginning ---- */

void wio_file_later(struct file_link *l, int64_t ns)
{
    if (l->state != FILE_WAIT)
        wio_file_set_state(l, FILE_WAIT);
    l->timer = wio_os_now_ns() + ns;
    file_timer(file_of(l), l->timer);
}

static bool older_lives(const struct file_link *l)
{
    for (const struct file_link *o = l->hash_next; o != NULL; o = o->hash_next)
        if (o->ep.peer == l->ep.peer && o->state != FILE_OVER)
            return true;
    return false;
}

/* @return whether the peer's folder is open now; if not, the link waits or is over */
static bool open_folder(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    char name[64];
    if (l->folder >= 0)
        return true;
    int fd = wio_file_place_open(f, l->token);
    if (fd >= 0) {
        l->folder = fd;
        l->check_ns = wio_os_now_ns(); /* at once: it may have ended long ago */
        file_timer(f, l->check_ns);
        return true;
    }
    /* On another host the name may appear later than it was made. */
    int64_t patience = l->remote ? (int64_t)(f->base.p.cfg->connect_timeout * 1e9) : 0;
    bool missing = fd == -ENOENT || fd == -ESTALE;
    if (missing && (f->in_connect || wio_os_now_ns() - l->begun_ns < patience))
        wio_file_later(l, f->in_connect ? 0 : 10 * FILE_RETRY_NS);
    else if (missing)
        wio_file_link_over(l, WAITIO_ERR_PEER,
                           "%s has no folder in %s: it has ended or left the universe, or its "
                           "WAITIO_SCRATCH_DIR or WAITIO_JOB_ID is another one",
                           wio_file_peer_name(f, l->ep.peer, name, sizeof name), f->path);
    else
        wio_file_link_over(l, WAITIO_ERR_SYSTEM, "cannot open the folder of %s in %s: %s",
                           wio_file_peer_name(f, l->ep.peer, name, sizeof name), f->path,
                           strerror(-fd));
    return false;
}

/* @return whether our stream lies there; if not, the link waits or is over */
static bool lay_stream(struct file_link *l)
{
    int rc = wio_file_seg_make(l);
    if (rc == 0)
        return true;
    if (rc == WAITIO_ERR_BUSY) /* the file system is full */
        wio_file_later(l, FILE_FULL_NS);
    else
        wio_file_link_over(l, rc, "%s", wio_last_detail());
    return false;
}

static uint64_t random_number(const struct file_iface *f)
{
    uint64_t n = 0;
    while (n == 0)
        if (wio_os_random(&n, sizeof n) < 0)
            n = wio_mix64((uint64_t)wio_os_now_ns() ^ f->token);
    return n;
}

void wio_file_unknock(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    char name[FILE_NAME_BYTES];
    if (l->knock == 0 || l->folder < 0)
        return;
    wio_file_name_knock(name, sizeof name, f->base.table->me, f->token, l->knock);
    f->base.p.counters->file_looks++;
    (void)wio_os_unlink_at(l->folder, name, false);
    l->knock = 0;
}

/* Each one has a name of its own: a client may go on to see one that was removed. */
static void knock(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    char name[FILE_NAME_BYTES], who[64];
    wio_file_unknock(l);
    l->knock = random_number(f);
    wio_file_name_knock(name, sizeof name, f->base.table->me, f->token, l->knock);
    f->base.p.counters->file_looks++;
    int fd = wio_os_create_at(l->folder, name, 0600);
    wio_os_close(fd);
    if (fd >= 0 || fd == -EEXIST)
        wio_file_set_state(l, FILE_ASK);
    else if (file_is_full(fd) && wio_file_full(l, fd, 0))
        wio_file_later(l, FILE_FULL_NS);
    else /* perhaps it is over */
        wio_file_link_over(l, fd == -ENOENT || fd == -ESTALE ? WAITIO_ERR_PEER : WAITIO_ERR_SYSTEM,
                           "cannot make a file in the folder of %s in %s: %s",
                           wio_file_peer_name(f, l->ep.peer, who, sizeof who), f->path,
                           strerror(-fd));
}

void wio_file_begin(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    l->timer = INT64_MAX;
    if (older_lives(l)) {
        wio_file_later(l, FILE_RETRY_NS);
        return;
    }
    if (!open_folder(l))
        return;
    f->scan_gap = FILE_RETRY_NS;
    f->scan_due = true;
    if (f->base.table->me > l->ep.peer) {
        knock(l);
        return;
    }
    l->nonce = random_number(f);
    if (lay_stream(l))
        shake_begin(l, WIO_AUTH_DIAL);
}

/* ---- names in our folder ---- */

static void stranger(struct file_iface *f, const char *name)
{
    f->base.p.counters->strangers++;
    wio_debug(f->base.p.log, WIO_C_FILE, "%s: removing the file %s: it is of no member", f->path,
              name);
    (void)wio_os_unlink_at(f->folder, name, false);
}

void wio_file_tell_leaving(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    char name[FILE_NAME_BYTES];
    if (l->bye_heard)
        return; /* it waits for ours */
    wio_file_name_leave(name, sizeof name, f->base.table->me, f->token, l->nonce);
    f->base.p.counters->file_looks++;
    int fd = wio_os_create_at(l->folder, name, 0600);
    l->leave_made = fd >= 0 || fd == -EEXIST;
    l->leave_due = fd < 0 && fd != -EEXIST && fd != -ENOENT &&
                   fd != -ESTALE; /* once more with the next sign of life */
    wio_os_close(fd);
}

void wio_file_unanswered(struct file_link *l, int64_t now)
{
    struct file_iface *f = file_of(l);
    const struct wio_config *cfg = f->base.p.cfg;
    char name[FILE_NAME_BYTES], who[64];
    if (l->state != FILE_ASK ||
        (double)(now - l->begun_ns) < (cfg->connect_timeout + cfg->file_full_wait) * 1e9)
        return;
    wio_file_name_knock(name, sizeof name, f->base.table->me, f->token, l->knock);
    f->base.p.counters->file_looks++;
    int fd = wio_os_open_at(l->folder, name, false);
    wio_os_close(fd);
    if (fd == -ENOENT || fd == -ESTALE)
        wio_file_link_over(l, WAITIO_ERR_PEER,
                           "%s was asked for a link through %s, and could not make a file for it: "
                           "its own messages say why",
                           wio_file_peer_name(f, l->ep.peer, who, sizeof who), f->path);
}

/* Was this knock answered before? Our removal of it may show late, even to us. */
static bool taken_before(struct file_iface *f, uint64_t number)
{
    for (uint32_t i = 0; i < FILE_TAKEN; i++)
        if (f->taken[i] == number)
            return true;
    f->taken[f->ntaken++ % FILE_TAKEN] = number;
    return false;
}

/* The peer asks for a link, which we begin. */
static void knocked(struct file_iface *f, const struct file_name *n, const char *name)
{
    struct file_link *l = wio_file_link_find(f, n->rank);
    if (n->rank < f->base.table->me) {
        stranger(f, name);
        return;
    }
    if (l != NULL && l->state == FILE_READY)
        return; /* its goodbye for this one will be read first */
    (void)wio_os_unlink_at(f->folder, name, false);
    if (taken_before(f, n->nonce) || (l != NULL && l->ep.state < WIO_EP_CLOSING))
        return; /* under way */
    l = wio_file_link_new(f, n->rank);
    if (l != NULL)
        wio_file_begin(l);
}

/* A link of this peer with this stream, or any that is not over (nonce 0). */
static struct file_link *link_with(struct file_iface *f, uint32_t peer, uint64_t nonce)
{
    struct file_link *l = f->hash[peer % FILE_HASH];
    while (l != NULL && (l->ep.peer != peer || l->state == FILE_OVER || l->state < FILE_SHAKE ||
                         (nonce != 0 && l->nonce != nonce)))
        l = l->hash_next;
    return l;
}

/* The peer closes a link: its goodbye is behind what it has sent. */
static void left(struct file_iface *f, const struct file_name *n, const char *name)
{
    struct file_link *l = link_with(f, n->rank, n->nonce);
    (void)wio_os_unlink_at(f->folder, name, false);
    if (l != NULL && l->state == FILE_READY)
        wio_file_serve(l, l->watched, true);
}

/* A name is of no use yet: look again soon, but not for ever. */
static void soon(struct file_iface *f)
{
    int64_t now = wio_os_now_ns();
    if (f->late_ns == 0)
        f->late_ns = now;
    f->late = true;
    if (now - f->late_ns < FILE_LATE_NS)
        f->scan_gap = (f->weak ? 5 : 1) * FILE_RETRY_NS;
}

/* The stream cannot be opened yet: its name or its head comes late. */
static bool comes_later(int rc)
{
    return rc == -EAGAIN || rc == -ENOENT || rc == -ESTALE;
}

/* Its head is not there, or none of ours. */
static void not_opened(struct file_link *l, int rc)
{
    struct file_iface *f = file_of(l);
    int64_t now = wio_os_now_ns();
    if (comes_later(rc))
        soon(f);
    if (rc == -EAGAIN && l->bad_ns == 0)
        l->bad_ns = now;
    if (rc == -EPROTO ||
        (rc == -EAGAIN && (double)(now - l->bad_ns) > f->base.p.cfg->connect_timeout * 1e9))
        wio_file_violation(l, WAITIO_ERR_PROTOCOL, "its file is none of ours");
}

/* The answer to our stream, or what is left of an older one. */
static void answered(struct file_iface *f, const struct file_name *n, const char *name)
{
    struct file_link *l = link_with(f, n->rank, n->nonce);
    if (l == NULL) {
        stranger(f, name);
        return;
    }
    if (l->in.fd >= 0)
        return;
    int rc = wio_file_seg_open(l);
    if (rc < 0)
        not_opened(l, rc);
    else
        l->bad_ns = 0;
}

/* The peer begins a link. */
static void called(struct file_iface *f, const struct file_name *n, const char *name)
{
    if (link_with(f, n->rank, n->nonce) != NULL)
        return; /* it is in use */
    struct file_link *other = link_with(f, n->rank, 0);
    if (other != NULL) { /* which ends soon, or its peer is another process */
        wio_file_check(other, wio_os_now_ns());
        soon(f);
        return;
    }
    struct file_link *l = wio_file_link_find(f, n->rank);
    if (l == NULL || l->state == FILE_OVER)
        l = wio_file_link_new(f, n->rank);
    if (l == NULL || !open_folder(l))
        return;
    l->nonce = n->nonce;
    int rc = wio_file_seg_open(l);
    if (rc == -EPROTO || rc == -ELOOP) /* none of ours, or a symbolic link */
        stranger(f, name);
    if (comes_later(rc))
        soon(f);
    if (rc != 0) { /* also when it went away just now */
        l->nonce = 0;
        if (!l->known)
            wio_file_link_over(l, 0, "dial given up by the peer");
        return;
    }
    if (!lay_stream(l)) {
        wio_os_close(l->in.fd);
        l->in.fd = -1;
        return;
    }
    wio_file_unknock(l);
    l->timer = INT64_MAX;
    shake_begin(l, WIO_AUTH_ACCEPT);
}

static void look_at_name(void *arg, const char *name)
{
    struct file_iface *f = arg;
    const struct wio_table *t = f->base.table;
    struct file_name n;
    enum file_name_kind kind = wio_file_name_parse(name, &n);
    if (kind == FILE_N_OTHER)
        return;
    if (n.rank >= t->size || n.rank == t->me || n.token != t->ep[n.rank].token)
        stranger(f, name);
    else if (kind == FILE_N_KNOCK)
        knocked(f, &n, name);
    else if (kind == FILE_N_LEAVE)
        left(f, &n, name);
    else if (n.rank > t->me)
        answered(f, &n, name);
    else
        called(f, &n, name);
}

int wio_file_scan(struct file_iface *f)
{
    uint64_t opens = f->base.p.counters->link_opens;
    f->scan_due = f->late = false;
    f->base.p.counters->file_looks++;
    (void)wio_os_list_at(f->folder, look_at_name, f);
    if (!f->late)
        f->late_ns = 0;
    bool told = f->events >= 0 && !f->weak && f->nremote == 0;
    int64_t most = told ? FILE_SCAN_TOLD_NS : FILE_SCAN_MAX_NS;
    f->scan_gap = f->scan_gap * 2 < most ? f->scan_gap * 2 : most;
    f->scan_at = wio_os_now_ns() + f->scan_gap;
    file_timer(f, f->scan_at);
    return f->base.p.counters->link_opens != opens;
}
