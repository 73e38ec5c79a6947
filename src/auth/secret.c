/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file secret.c
 * The source of the job secret: a named file, or the user's cookie, made on first use. Homes are
 * network file systems, and a job starts a thousand processes at once. So each writes the cookie
 * under another name, links it to the right one (one link wins), and then all read it.
 */
#include <errno.h>
#include <openssl/crypto.h>

#include "auth/tls.h"
#include "os/os.h"

#define SECRET_MIN 16
#define COOKIE_RANDOM 32
#define PATH_BYTES 1024
#define TRIES 100
#define TRY_PAUSE_NS 10000000 /* a second in all: caches of network file systems */

/* ---- reading ---- */

static int check_owner_and_mode(const char *path, const struct wio_os_stat *st)
{
    if (!st->is_file)
        return wio_fail(WAITIO_ERR_AUTH,
                        "secret file %s is not a regular file; name one in WAITIO_SECRET_FILE",
                        path);
    if (st->uid != wio_os_uid())
        return wio_fail(
            WAITIO_ERR_AUTH,
            "secret file %s belongs to user %ld, not to you (user %ld); use your own copy", path,
            (long)st->uid, (long)wio_os_uid());
    if ((st->mode & 077) != 0)
        return wio_fail(
            WAITIO_ERR_AUTH,
            "secret file %s has mode %04o: others may use it; chmod 600 %s, and make a new "
            "one if others may have read it",
            path, st->mode, path);
    return 0;
}

/* All of a small file. @return bytes (at most n) or -errno */
static ssize_t read_all(int fd, uint8_t *buf, size_t n)
{
    size_t have = 0;
    while (have < n) {
        ssize_t got = wio_os_read(fd, buf + have, n - have);
        if (got < 0)
            return got;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

/* Open and check. @return descriptor, or a WAITIO_ERR_* with *oserr (0: not the system's fault) */
static int open_checked(const char *path, int *oserr)
{
    struct wio_os_stat st;
    /* Not by opening: a named pipe would block there. What counts is fstat, below. */
    int rc = wio_os_stat(path, &st);
    if (rc == 0 && !st.is_file)
        return check_owner_and_mode(path, &st);
    int fd = rc < 0 ? rc : wio_os_open_read(path);
    if (fd < 0) {
        *oserr = fd;
        return wio_fail_os(WAITIO_ERR_CONFIG, fd, "secret file %s cannot be read", path);
    }
    rc = wio_os_fstat(fd, &st);
    if (rc < 0) {
        *oserr = rc;
        rc = wio_fail_os(WAITIO_ERR_SYSTEM, rc, "secret file %s: fstat", path);
    } else {
        rc = check_owner_and_mode(path, &st);
    }
    if (rc == 0)
        return fd;
    wio_os_close(fd);
    return rc;
}

/* Extract the key from the file's bytes. @return 0 or CONFIG */
static int take_key(struct wio_secret *s, const char *path, const uint8_t *buf, size_t n)
{
    size_t len = n;
    if (len > 0 && buf[len - 1] == '\n')
        len--;
    if (len > 0 && buf[len - 1] == '\r')
        len--;
    if (len < SECRET_MIN || len > WIO_SECRET_MAX)
        return wio_fail(WAITIO_ERR_CONFIG,
                        "secret file %s holds %s%zu bytes; a secret has %d to %d (a new one: head "
                        "-c 32 /dev/urandom | od -An -tx1 | tr -d ' \\n' > FILE)",
                        path, len > WIO_SECRET_MAX ? "at least " : "", len, SECRET_MIN,
                        WIO_SECRET_MAX);
    if (s->hidden == NULL)
        s->hidden = wio_os_hidden_page();
    memcpy(s->hidden != NULL ? s->hidden : s->key, buf, len);
    s->len = len;
    return 0;
}

/* @return 0, or an error with text; *oserr tells the caller why the system refused, else 0 */
static int read_key(struct wio_secret *s, const char *path, int *oserr)
{
    uint8_t buf[WIO_SECRET_MAX + 3]; /* a line end, and one byte to notice what is too long */
    *oserr = 0;
    int rc, fd = open_checked(path, oserr);
    if (fd < 0)
        return fd;
    ssize_t n = read_all(fd, buf, sizeof buf);
    wio_os_close(fd);
    if (n < 0) {
        *oserr = (int)n;
        rc = wio_fail_os(WAITIO_ERR_SYSTEM, (int)n, "secret file %s: read", path);
    } else {
        rc = take_key(s, path, buf, (size_t)n);
    }
    OPENSSL_cleanse(buf, sizeof buf);
    return rc;
}

/* ---- the cookie ---- */

static int check_folder(const char *folder)
{
    struct wio_os_stat st;
    int rc = wio_os_mkdir(folder, 0700);
    if (rc < 0 && rc != -EEXIST)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc,
                           "cannot make %s for the cookie; make it, or use WAITIO_SECRET_FILE",
                           folder);
    rc = wio_os_stat(folder, &st);
    if (rc < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "%s", folder);
    if (!st.is_dir)
        return wio_fail(WAITIO_ERR_AUTH, "%s is not a folder; remove it, or use WAITIO_SECRET_FILE",
                        folder);
    if (st.uid != wio_os_uid())
        return wio_fail(
            WAITIO_ERR_AUTH,
            "%s belongs to user %ld, not to you (user %ld); is HOME right? Otherwise use "
            "WAITIO_SECRET_FILE",
            folder, (long)st.uid, (long)wio_os_uid());
    if ((st.mode & 022) != 0)
        return wio_fail(WAITIO_ERR_AUTH, "%s has mode %04o: others may write there; chmod 700 %s",
                        folder, st.mode, folder);
    return 0;
}

static void to_hex(const uint8_t *raw, size_t n, char *hex)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = digits[raw[i] >> 4];
        hex[2 * i + 1] = digits[raw[i] & 15];
    }
}

/* A new cookie under @p path, which must not exist. @return 0 or -errno */
static int write_new(const char *path, const char *text, size_t n)
{
    int fd = wio_os_open_create(path, 0600);
    if (fd < 0)
        return fd;
    ssize_t put = wio_os_write(fd, text, n);
    int rc = put < 0 ? (int)put : wio_os_fsync(fd);
    wio_os_close(fd);
    if (rc < 0)
        wio_os_unlink(path);
    return rc < 0 ? rc : 0;
}

static bool no_hard_links(int oserr)
{
    return oserr == -EPERM || oserr == -EOPNOTSUPP || oserr == -ENOSYS || oserr == -EMLINK;
}

/* Write under a name of our own, then link. That another process won the race is success. */
static int publish(const char *path, const char *text, size_t n, const uint8_t unique[8])
{
    char own[PATH_BYTES + 40], suffix[17];
    to_hex(unique, 8, suffix);
    suffix[16] = '\0';
    wio_text(own, sizeof own, "%s.new.%s", path, suffix);
    int rc = write_new(own, text, n);
    if (rc < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc,
                           "cannot write %s; free space there, or use WAITIO_SECRET_FILE", own);
    rc = wio_os_link(own, path);
    wio_os_unlink(own);
    if (rc < 0 && no_hard_links(rc))
        rc = write_new(path, text, n); /* readers wait until it is whole */
    if (rc < 0 && rc != -EEXIST)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "cannot make the cookie %s", path);
    return 0;
}

static int make_cookie(const char *path, struct wio_log *lg)
{
    uint8_t raw[COOKIE_RANDOM + 8];
    char text[2 * COOKIE_RANDOM + 1];
    int rc = wio_os_random(raw, sizeof raw);
    if (rc < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "no random bytes for the cookie");
    to_hex(raw, COOKIE_RANDOM, text);
    text[sizeof text - 1] = '\n';
    rc = publish(path, text, sizeof text, raw + COOKIE_RANDOM);
    OPENSSL_cleanse(raw, sizeof raw);
    OPENSSL_cleanse(text, sizeof text);
    if (rc == 0)
        wio_info(lg, WIO_C_AUTH, "made the cookie %s (or found it just made)", path);
    return rc;
}

/* A cookie that is not there yet, or not whole yet on a file system without hard links. */
static bool worth_waiting(int rc, int oserr)
{
    return oserr == -ENOENT || oserr == -ESTALE || (oserr == 0 && rc == WAITIO_ERR_CONFIG);
}

static int load_cookie(struct wio_secret *s, struct wio_log *lg)
{
    char folder[PATH_BYTES - 16], path[PATH_BYTES];
    int oserr;
    const char *home = wio_os_getenv("HOME");
    if (home == NULL || home[0] != '/')
        return wio_fail(WAITIO_ERR_CONFIG,
                        "HOME is \"%s\", not a folder to keep the cookie in; set HOME or "
                        "WAITIO_SECRET_FILE",
                        home == NULL ? "" : home);
    if (strlen(home) + sizeof "/.waitio" > sizeof folder)
        return wio_fail(WAITIO_ERR_CONFIG, "HOME is too long (%zu bytes); set WAITIO_SECRET_FILE",
                        strlen(home));
    wio_text(folder, sizeof folder, "%s/.waitio", home);
    wio_text(path, sizeof path, "%s/cookie", folder);
    wio_text(s->origin, sizeof s->origin, "cookie %s", path);
    int rc = check_folder(folder);
    if (rc != 0)
        return rc;
    rc = read_key(s, path, &oserr);
    if (rc != 0 && oserr == -ENOENT) {
        rc = make_cookie(path, lg);
        if (rc != 0)
            return rc;
        rc = read_key(s, path, &oserr);
        if (rc == 0)
            wio_clear_error(); /* that there was none yet is no error */
    }
    for (int i = 0; i < TRIES && rc != 0 && worth_waiting(rc, oserr); i++) {
        wio_os_sleep_ns(TRY_PAUSE_NS);
        rc = read_key(s, path, &oserr);
    }
    return rc;
}

int wio_secret_load(struct wio_secret *s, const struct wio_config *cfg, struct wio_log *lg)
{
    int rc, oserr;
    memset(s, 0, sizeof *s);
    if (cfg->tls && cfg->secret == WIO_CFG_SECRET_NONE)
        return wio_fail(WAITIO_ERR_CONFIG,
                        "WAITIO_TLS=1 makes its keys of the job secret, and WAITIO_SECRET=none: "
                        "unset one of them");
    if (cfg->secret == WIO_CFG_SECRET_NONE) {
        wio_text(s->origin, sizeof s->origin, "WAITIO_SECRET=none");
        wio_warn(lg, WIO_C_AUTH,
                 "WAITIO_SECRET=none: anybody who can connect can take part in this run%s",
                 cfg->secret_file[0] != '\0' ? "; WAITIO_SECRET_FILE is ignored" : "");
        return 0;
    }
    if (cfg->secret_file[0] != '\0') {
        wio_text(s->origin, sizeof s->origin, "file %s", cfg->secret_file);
        rc = read_key(s, cfg->secret_file, &oserr);
    } else {
        rc = load_cookie(s, lg);
    }
    if (rc == 0 && cfg->tls)
        rc = wio_tls_load(&s->tls, NULL, WIO_TLS_REKEY_RECORDS);
    if (rc == 0)
        wio_info(lg, WIO_C_AUTH, "job secret: %s%s", s->origin,
                 cfg->tls ? "; connections over TCP are encrypted" : "");
    else
        wio_secret_wipe(s);
    return rc;
}
