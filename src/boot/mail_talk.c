/* SPDX-License-Identifier: BSD-3-Clause */
/** @file mail_talk.c  One conversation: bytes of a socket to letters and back. */
#include "boot/mail_talk.h"

#include <errno.h>

#include "os/os.h"

#define READ_BYTES 65536u

void wio_mail_talk_init(struct mail_talk *t, const struct wio_mail_way *way, uint64_t service,
                        uint64_t caller, bool serving, int sock, uint64_t *ops)
{
    *t = (struct mail_talk){.way = way,
                            .service = service,
                            .caller = caller,
                            .serving = serving,
                            .sock = sock,
                            .ops = ops};
}

void wio_mail_talk_free(struct mail_talk *t)
{
    wio_os_close(t->sock);
    wio_os_free(t->out);
    wio_os_free(t->in);
    t->sock = -1;
    t->out = t->in = NULL;
}

void wio_mail_lost(struct mail_talk *t, const char *why)
{
    if (t->dead)
        return;
    t->dead = true;
    t->in_end = true; /* which our side hears after what has come */
    t->out_len = 0;
    wio_text(t->why, sizeof t->why, "%s", why);
}

/* ---- out ---- */

static bool room_to_hear(struct mail_talk *t)
{
    if (t->out_len + READ_BYTES <= t->out_cap)
        return true;
    size_t cap = t->out_cap == 0 ? READ_BYTES : t->out_cap * 2;
    uint8_t *out = cap <= 2 * WIO_MAIL_CONTENT_MAX ? wio_os_realloc(t->out, cap) : NULL;
    if (out == NULL)
        return false;
    t->out = out;
    t->out_cap = cap;
    return true;
}

void wio_mail_hear(struct mail_talk *t)
{
    while (!t->out_end && t->sock >= 0 && room_to_hear(t)) {
        ssize_t k = wio_os_recv(t->sock, t->out + t->out_len, t->out_cap - t->out_len);
        if (k == -EAGAIN)
            return;
        if (k <= 0)
            t->out_end = true;
        else if (!t->dead)
            t->out_len += (size_t)k;
    }
}

/* @return 0 or -errno */
static int put(struct mail_talk *t, int folder, uint8_t kind, const void *content, size_t n)
{
    struct wio_mail_letter l = {.service = t->service,
                                .caller = t->caller,
                                .number = t->next_out,
                                .from_service = t->serving,
                                .kind = kind};
    uint8_t head[WIO_MAIL_HEAD];
    char name[WIO_MAIL_NAME], temp[WIO_MAIL_NAME + 1];
    if (wio_mail_letter_encode(&l, t->way->secret, content, n, head) != 0)
        return -EIO;
    wio_mail_name(name, t->caller, t->next_out);
    wio_text(temp, sizeof temp, ".%s", name);
    *t->ops += 2;
    int fd = wio_os_create_at(folder, temp, 0600);
    if (fd == -EEXIST) { /* of an attempt that failed */
        (void)wio_os_unlink_at(folder, temp, false);
        fd = wio_os_create_at(folder, temp, 0600);
    }
    if (fd < 0)
        return fd;
    ssize_t rc = wio_os_write(fd, head, sizeof head);
    if (rc >= 0 && n > 0)
        rc = wio_os_write(fd, content, n);
    if (rc >= 0)
        rc = wio_os_fsync(fd); /* else its name may be seen before its bytes */
    wio_os_close(fd);
    if (rc >= 0)
        rc = wio_os_rename_at(folder, temp, name);
    if (rc < 0) {
        (void)wio_os_unlink_at(folder, temp, false);
        return (int)rc;
    }
    t->next_out++;
    t->data_out |= kind != WIO_MAIL_SHAKE;
    return 0;
}

/* @return 0: written (or nothing to be written) */
static int put_next(struct mail_talk *t, int folder)
{
    uint8_t kind = WIO_MAIL_END;
    size_t n = t->out_len > 0 ? wio_mail_cut(t->out, t->out_len, t->data_out, &kind) : 0;
    if (t->out_len > 0 && n == 0) {
        if (!t->out_end)
            return 1;
        n = t->out_len; /* half a message, and no more comes */
        kind = WIO_MAIL_DATA;
    }
    int rc = put(t, folder, kind, t->out, n);
    if (rc != 0)
        return rc;
    t->end_sent = kind == WIO_MAIL_END;
    t->out_len -= n;
    if (t->out_len > 0)
        memmove(t->out, t->out + n, t->out_len);
    return 0;
}

void wio_mail_write(struct mail_talk *t, int folder, int64_t now)
{
    if (t->dead || now < t->retry_ns)
        return;
    while (t->out_len > 0 || (t->out_end && !t->end_sent)) {
        int rc = put_next(t, folder);
        if (rc == 1)
            return;
        if (rc == -ENOENT || rc == -ESTALE || rc == -ENOTDIR) {
            wio_mail_lost(t, "its folder is gone");
            return;
        }
        if (rc != 0) { /* a full disk, a limit: it may pass, and the join has its own time limit */
            if (t->retry_ns == 0)
                wio_warn(t->way->log, WIO_C_BOOT,
                         "cannot write in the directory of the rendezvous: %s; trying again",
                         strerror(-rc));
            t->retry_ns = now + MAIL_RETRY_NS;
            return;
        }
        t->retry_ns = 0;
    }
}

/* ---- in ---- */

bool wio_mail_ready(const struct mail_talk *t)
{
    return !t->in_end && t->in_off == t->in_len;
}

/* @return bytes or -errno; *buf from wio_os_alloc */
static ssize_t slurp(int folder, const char *name, uint8_t **buf)
{
    struct wio_os_stat st;
    int fd = wio_os_open_at(folder, name, false);
    if (fd < 0)
        return fd;
    ssize_t n = wio_os_fstat(fd, &st);
    if (n == 0 && (!st.is_file || st.uid != wio_os_uid() ||
                   st.size > (int64_t)(WIO_MAIL_HEAD + WIO_MAIL_CONTENT_MAX)))
        n = -EPROTO;
    *buf = n == 0 ? wio_os_alloc((size_t)st.size + 1) : NULL;
    if (n == 0 && *buf == NULL)
        n = -ENOMEM;
    for (ssize_t k = 1; n >= 0 && n <= st.size && k > 0; n = k < 0 ? k : n + k)
        k = wio_os_read(fd, *buf + n, (size_t)(st.size + 1 - n));
    wio_os_close(fd);
    return n;
}

/* Is it time to give up a letter that is there but not whole? */
static int not_whole(struct mail_talk *t, int64_t now, int rc)
{
    if (t->bad_ns == 0)
        t->bad_ns = now;
    if (now - t->bad_ns < MAIL_PATIENCE_NS)
        return 0;
    wio_mail_lost(t, rc == -EAGAIN ? "a letter of it stays incomplete" : strerror(-rc));
    return -1;
}

/* Errors that another look may not find. */
static bool may_come(int rc)
{
    static const int passing[] = {ENOENT, EAGAIN, EIO, ESTALE, ENOMEM, EMFILE, ENFILE};
    for (size_t i = 0; i < WIO_ARRAY_LEN(passing); i++)
        if (rc == -passing[i])
            return true;
    return false;
}

/* The letter is none of this conversation. @return -1 */
static int refuse(struct mail_talk *t, int rc, int version)
{
    char text[120];
    if (rc == -EPROTONOSUPPORT)
        wio_text(text, sizeof text, "letters of version %d, ours have version %d", version,
                 WIO_MAIL_VERSION);
    else
        wio_text(text, sizeof text, "%s",
                 rc == -EACCES ? "a letter was written without the secret of this job"
                               : "a letter is none of the rendezvous");
    wio_warn(t->way->log, WIO_C_BOOT, "the rendezvous in the directory: %s", text);
    wio_mail_lost(t, text);
    return -1;
}

int wio_mail_take(struct mail_talk *t, int folder, int64_t now)
{
    struct wio_mail_letter l = {.service = t->service,
                                .caller = t->caller,
                                .number = t->next_in,
                                .from_service = !t->serving};
    char name[WIO_MAIL_NAME];
    uint8_t *file = NULL;
    int version = 0;
    wio_mail_name(name, t->caller, t->next_in);
    ++*t->ops;
    ssize_t n = slurp(folder, name, &file);
    int rc = n < 0 ? (int)n : wio_mail_letter_decode(&l, t->way->secret, file, (size_t)n, &version);
    if (may_come(rc)) {
        wio_os_free(file);
        return rc == -ENOENT ? 0 : not_whole(t, now, rc);
    }
    ++*t->ops;
    (void)wio_os_unlink_at(folder, name, false);
    if (rc >= 0 && l.kind == WIO_MAIL_SHAKE && t->data_in)
        rc = -EPROTO;
    if (rc < 0) {
        wio_os_free(file);
        return refuse(t, rc, version);
    }
    t->bad_ns = 0;
    t->next_in++;
    t->data_in |= l.kind != WIO_MAIL_SHAKE;
    t->in_end = l.kind == WIO_MAIL_END;
    wio_os_free(t->in);
    t->in = file;
    t->in_off = WIO_MAIL_HEAD;
    t->in_len = WIO_MAIL_HEAD + (size_t)rc;
    return 1;
}

void wio_mail_say(struct mail_talk *t)
{
    while (t->sock >= 0 && t->in_off < t->in_len) {
        ssize_t k = wio_os_send(t->sock, t->in + t->in_off, t->in_len - t->in_off);
        if (k == -EAGAIN)
            return;
        if (k <= 0) { /* our side has closed, and wants no more */
            t->in_off = t->in_len;
            t->in_end = true;
            break;
        }
        t->in_off += (size_t)k;
    }
    if (t->in_end && !t->in_shut) {
        t->in_shut = true;
        wio_os_shutdown_send(t->sock);
    }
}

bool wio_mail_over(const struct mail_talk *t)
{
    return t->out_end && (t->dead || t->end_sent);
}
