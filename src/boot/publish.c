/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>

#include "boot/publish.h"
#include "os/os.h"

#define PUBLICATION_MAX 1024

static int directory(const struct wio_config *cfg, bool make, char *dir, size_t n)
{
    struct wio_os_stat st;
    const char *home = wio_os_getenv("HOME");
    if (cfg->serv_dir[0] != '\0')
        wio_text(dir, n, "%s", cfg->serv_dir);
    else if (home != NULL && home[0] != '\0')
        wio_text(dir, n, "%s/.waitio", home);
    else
        return wio_fail(
            WAITIO_ERR_CONFIG,
            "HOME is not set: set WAITIO_SERV_DIR to a directory that your hosts share");
    int rc = make ? wio_os_mkdir(dir, 0700) : 0;
    if (rc != 0 && rc != -EEXIST)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc,
                           "cannot make the directory '%s' (WAITIO_SERV_DIR)", dir);
    rc = wio_os_stat(dir, &st);
    if (rc == -ENOENT && !make)
        return 0;
    if (rc != 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "cannot look at '%s' (WAITIO_SERV_DIR)", dir);
    if (!st.is_dir || st.uid != wio_os_uid() || (st.mode & 022) != 0)
        return wio_fail(
            WAITIO_ERR_CONFIG,
            "'%s' (WAITIO_SERV_DIR) must be a directory of yours that others cannot write: "
            "chmod 700 it",
            dir);
    return 0;
}

int wio_publish_path(const struct wio_config *cfg, const char *job_id, bool make, char *path,
                     size_t n)
{
    char dir[600], safe[200];
    size_t k = 0;
    int rc = directory(cfg, make, dir, sizeof dir);
    if (rc != 0)
        return rc;
    /* Map each job id to its own plain file name. */
    for (const char *p = job_id; *p != '\0' && k + 4 < sizeof safe; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || *p == '-';
        k += plain ? wio_text(safe + k, 2, "%c", *p)
                   : wio_text(safe + k, 5, "_%02x", (unsigned)(unsigned char)*p);
    }
    safe[k] = '\0';
    wio_text(path, n, "%s/serv-%s", dir, safe);
    return 0;
}

static bool host_is_sane(const char *host)
{
    if (host[0] == '\0' || host[0] == '-')
        return false;
    for (; *host != '\0'; host++)
        if (*host <= ' ' || *host > '~')
            return false;
    return true;
}

int wio_publish_write(const char *path, const struct wio_publication *p)
{
    char text[PUBLICATION_MAX], temp[900];
    uint32_t dice = 0;
    if (!host_is_sane(p->host))
        return wio_fail(WAITIO_ERR_CONFIG, "'%s' is no host name or address", p->host);
    size_t n =
        wio_text(text, sizeof text,
                 "waitio-serv 1\nhost %s\nport %u\npid %" PRId64 "\nwhere %s\nsince %" PRId64 "\n",
                 p->host, p->port, p->pid, p->where, p->since_ns);
    (void)wio_os_random(&dice, sizeof dice);
    wio_text(temp, sizeof temp, "%s.%" PRId64 ".%08x", path, wio_os_pid(), dice);
    int fd = wio_os_open_create(temp, 0600);
    if (fd < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, fd, "cannot write '%s'", temp);
    ssize_t rc = wio_os_write(fd, text, n);
    if (rc >= 0)
        rc = wio_os_fsync(fd);
    wio_os_close(fd);
    if (rc >= 0)
        rc = wio_os_rename(temp, path);
    if (rc < 0) {
        (void)wio_os_unlink(temp);
        return wio_fail_os(WAITIO_ERR_SYSTEM, (int)rc, "cannot write '%s'", path);
    }
    return 0;
}

static int parse(const char *path, const char *text, struct wio_publication *p)
{
    unsigned port = 0;
    memset(p, 0, sizeof *p);
    int n =
        sscanf(text, "waitio-serv 1 host %255s port %5u pid %" SCNd64 " where %63s since %" SCNd64,
               p->host, &port, &p->pid, p->where, &p->since_ns);
    if (n != 5 || port == 0 || port > 65535 || p->pid < 0 || !host_is_sane(p->host))
        return wio_fail(WAITIO_ERR_PROTOCOL,
                        "'%s' is no publication of waitio-serv: remove it (waitio-serv -k)", path);
    p->port = (uint16_t)port;
    return 1;
}

int wio_publish_read(const char *path, struct wio_publication *p)
{
    char text[PUBLICATION_MAX];
    struct wio_os_stat st;
    size_t have = 0;
    int fd = wio_os_open_read(path);
    if (fd == -ENOENT || fd == -ESTALE)
        return 0;
    if (fd < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, fd, "cannot read '%s'", path);
    int rc = wio_os_fstat(fd, &st);
    if (rc == 0 && (st.uid != wio_os_uid() || (st.mode & 022) != 0)) {
        wio_os_close(fd);
        return wio_fail(WAITIO_ERR_AUTH,
                        "'%s' belongs to another user or can be written by others: remove it",
                        path);
    }
    for (ssize_t k = 1; k > 0 && have<sizeof text - 1; have += k> 0 ? (size_t)k : 0)
        k = wio_os_read(fd, text + have, sizeof text - 1 - have);
    wio_os_close(fd);
    text[have] = '\0';
    return parse(path, text, p);
}

void wio_publish_remove(const char *path, const struct wio_publication *p)
{
    struct wio_publication now;
    if (p == NULL ||
        (wio_publish_read(path, &now) == 1 && now.pid == p->pid && now.since_ns == p->since_ns))
        (void)wio_os_unlink(path);
}
