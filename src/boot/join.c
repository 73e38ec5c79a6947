/* SPDX-License-Identifier: BSD-3-Clause */
/** @file join.c  wio_join: the address of the rendezvous, the leader of this host, and the error
 * texts. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "base/rundir.h"
#include "boot/addresses.h"
#include "boot/join.h"
#include "os/os.h"

#define RESOLVE_TRIES_NS INT64_C(10000000000)
#define SAY_FIRST_S 10.0
#define SAY_EVERY_S 30.0
#define PATIENT_NS INT64_C(100000000) /* a leader that waits this long had accepted us */

/* ---- messages ---- */

/* A port that the system may give to any program is a bad choice. */
const char *wio_join_which_port(const struct wio_joiner *j)
{
    return wio_os_port_is_ephemeral(j->port)
               ? ", one outside the range that the system takes for outgoing connections "
                 "(/proc/sys/net/ipv4/ip_local_port_range)"
               : "";
}

/* What keeps us waiting. */
static void describe(const struct wio_joiner *j, char *text, size_t n)
{
    const char *unset = !j->in_folder && j->p->cfg->master_host[0] == '\0'
                            ? " (WAITIO_MASTER_HOST is not set: it was looked for on this host)"
                            : "";
    if (j->have_progress)
        wio_text(text, n, "%u process%s came; missing: %s%s%s", j->progress.joined,
                 j->progress.joined == 1 ? "" : "es",
                 j->progress.missing[0] != '\0' ? j->progress.missing : "none",
                 j->note[0] != '\0' ? "; " : "", j->note);
    else if (j->taken)
        wio_text(text, n,
                 "port %u of %s, where PB 0 rank 0 serves the rendezvous, is taken by a program "
                 "that does not listen there: choose another WAITIO_MASTER_PORT for all programs "
                 "of the run%s",
                 (unsigned)j->port, j->master, wio_join_which_port(j));
    else if (j->note[0] != '\0')
        wio_text(text, n, "%s%s", j->note, unset);
    else
        wio_text(text, n, "no answer from the rendezvous at %s%s", j->where, unset);
}

int wio_join_timeout(struct wio_joiner *j)
{
    char text[WIO_BOOT_TEXT + sizeof j->note];
    describe(j, text, sizeof text);
    return wio_fail(WAITIO_ERR_TIMEOUT, "joining timed out after %.1f s: %s%s%s",
                    (double)(wio_os_now_ns() - j->start_ns) / 1e9, text,
                    j->refused[0] != '\0' ? "; " : "", j->refused);
}

/* The variables that are needed to start the missing block by hand. */
static void say_variables(const struct wio_joiner *j, char *text, size_t n)
{
    const struct wio_config *cfg = j->p->cfg;
    unsigned pb;
    char pbid[24] = "<its block>";
    if (j->have_progress && sscanf(j->progress.missing, "PB %u:", &pb) == 1)
        wio_text(pbid, sizeof pbid, "%u", pb);
    else if (!j->have_progress)
        wio_text(pbid, sizeof pbid, "0");
    size_t used =
        j->in_folder
            ? wio_text(text, n, "WAITIO_COMM_TYPE=file WAITIO_SCRATCH_DIR=%.200s", cfg->scratch_dir)
            : wio_text(text, n, "WAITIO_MASTER_HOST=%s WAITIO_MASTER_PORT=%u", j->master,
                       (unsigned)j->port);
    used += wio_text(text + used, n - used, " WAITIO_NPB=%d WAITIO_PBID=%s WAITIO_JOB_ID=%s",
                     j->p->me->npb, pbid, j->p->me->job_id);
    if (used < n && cfg->secret_file[0] != '\0')
        wio_text(text + used, n - used, " WAITIO_SECRET_FILE=%s", cfg->secret_file);
}

/* One report per block is enough; the rank 0 of a single block may itself be missing.
 */
static bool speaks(const struct wio_whoami *me)
{
    return me->rank == 0 || (me->npb == 1 && me->rank == 1);
}

void wio_join_say(struct wio_joiner *j, int64_t now)
{
    char text[WIO_BOOT_TEXT + sizeof j->note], variables[512], limit[40] = "";
    if (now < j->say_ns)
        return;
    double every = j->p->say_every_s > 0 ? j->p->say_every_s : SAY_EVERY_S;
    j->say_ns = now + (int64_t)(every * 1e9);
    if (!speaks(j->p->me))
        return;
    describe(j, text, sizeof text);
    say_variables(j, variables, sizeof variables);
    if (j->deadline_ns != INT64_MAX)
        wio_text(limit, sizeof limit, " of at most %.0f s",
                 (double)(j->deadline_ns - j->start_ns) / 1e9);
    wio_warn(j->log, WIO_C_BOOT,
             "joining: waiting for %.0f s%s: %.900s. Started by hand, what is missing needs %s",
             (double)(now - j->start_ns) / 1e9, limit, text, variables);
}

void wio_join_note(struct wio_joiner *j, const char *fmt, ...)
{
    char text[sizeof j->note];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (strcmp(text, j->note) != 0 && text[0] != '\0')
        wio_info(j->log, WIO_C_BOOT, "%s; trying again", text);
    memcpy(j->note, text, sizeof text);
}

int wio_join_sleep(const int64_t *times, int n)
{
    int64_t next = INT64_MAX, now = wio_os_now_ns();
    for (int i = 0; i < n; i++)
        if (times[i] < next)
            next = times[i];
    if (next == INT64_MAX)
        return -1;
    int64_t ms = next <= now ? 0 : (next - now) / WIO_NS_PER_MS + 1;
    return ms > 60000 ? 60000 : (int)ms;
}

void wio_join_unhold(struct wio_joiner *j)
{
    if (j->hold_fd > 0)
        wio_os_close(j->hold_fd);
    j->hold_fd = 0;
}

/* ---- where to go ---- */

static bool is_loopback_name(const char *host)
{
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0;
}

static bool all_loopback(const struct wio_joiner *j)
{
    for (int i = 0; i < j->naddr; i++)
        if (!wio_addr_is_loopback((const struct sockaddr *)&j->addr[i]))
            return false;
    return true;
}

/* Nothing has to be resolved; the rule of who serves is the same. */
static void find_folder(struct wio_joiner *j)
{
    j->in_folder = true;
    wio_rundir_path(j->p->cfg->scratch_dir, j->p->me->job_id, j->where, sizeof j->where);
    wio_text(j->master, sizeof j->master, "%s", j->p->cfg->scratch_dir);
    j->naddr = 1;
    j->want_service = j->p->me->pbid == 0 && j->p->me->rank == 0;
}

static int resolve_master(struct wio_joiner *j)
{
    const char *why = NULL;
    int64_t give_up = j->start_ns + RESOLVE_TRIES_NS;
    while ((j->naddr = wio_os_resolve(j->master, j->port, j->addr, WIO_JOIN_ADDRS, &why)) <= 0) {
        int64_t now = wio_os_now_ns();
        if (j->relays.n > 0) { /* known on the other side of the relay only */
            j->naddr = 0;
            break;
        }
        if (now > give_up || now > j->deadline_ns)
            return wio_fail(WAITIO_ERR_CONFIG, "cannot resolve WAITIO_MASTER_HOST='%s': %s",
                            j->master, why != NULL ? why : "no address");
        wio_join_note(j, "cannot resolve WAITIO_MASTER_HOST='%s': %s", j->master,
                      why != NULL ? why : "no address");
        wio_join_say(j, now);
        wio_os_sleep_ns(250 * (int64_t)WIO_NS_PER_MS);
    }
    return 0;
}

static int find_master(struct wio_joiner *j)
{
    if (wio_mail_wanted(j->p->cfg, j->p->me->solo)) {
        find_folder(j);
        return 0;
    }
    const struct wio_config *cfg = j->p->cfg;
    wio_text(j->master, sizeof j->master, "%s",
             cfg->master_host[0] != '\0' ? cfg->master_host : "127.0.0.1");
    j->port = j->p->me->solo ? j->p->me->port : (uint16_t)cfg->master_port;
    j->master_loopback = is_loopback_name(j->master);
    wio_text(j->where, sizeof j->where, "%s port %u", j->master, (unsigned)j->port);
    int rc = wio_relays_read(cfg, j->p->secret, &j->relays);
    if (rc != 0)
        return rc;
    rc = resolve_master(j);
    if (rc != 0)
        return rc;
    j->note[0] = '\0';
    if (j->p->secret->len == 0 && !cfg->secret_none_remote && !all_loopback(j))
        return wio_fail(
            WAITIO_ERR_CONFIG,
            "WAITIO_SECRET=none joins over loopback only, and WAITIO_MASTER_HOST='%s' is "
            "elsewhere: set WAITIO_SECRET_NONE_REMOTE=1 or use a secret",
            j->master);
    j->want_service =
        j->p->me->pbid == 0 && j->p->me->rank == 0 && wio_addr_any_local(j->addr, j->naddr);
    return 0;
}

/* ---- leader of this host ---- */

/* All processes of one user, job and rendezvous on this host and network namespace compute the same
 * name, unless they have another byte order (emulation): followers map the leader's image of the
 * table, which is in native order. */
static socklen_t leader_name(const struct wio_joiner *j, struct sockaddr_un *un)
{
    uint64_t h = wio_hash_bytes((uint64_t)wio_os_uid(), j->p->me->job_id, strlen(j->p->me->job_id));
    h = wio_hash_bytes(wio_hash64(h, j->port), j->where, strlen(j->where));
    h = wio_hash64(h, j->host.identity);
    h = wio_hash64(h, wio_number_formats() & WIO_EP_BIG_ENDIAN);
    memset(un, 0, sizeof *un);
    un->sun_family = AF_UNIX;
    int n = snprintf(un->sun_path + 1, sizeof un->sun_path - 1, "waitio-join-%016llx",
                     (unsigned long long)h);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* @return 1 leader (*fd listens), 0 follower (*fd connected), -1 no leader yet, try again, -2
 * without leader
 */
static int elect(struct wio_joiner *j, int *fd)
{
    struct sockaddr_un un;
    socklen_t len = leader_name(j, &un);
    uid_t uid;
    int s = wio_os_socket(AF_UNIX, SOCK_STREAM);
    if (s < 0)
        return -2;
    int rc = wio_os_bind(s, (struct sockaddr *)&un, len);
    if (rc == 0 && wio_os_listen(s, SOMAXCONN) == 0) {
        *fd = s;
        return 1;
    }
    if (rc == -EADDRINUSE && (rc = wio_os_connect(s, (struct sockaddr *)&un, len)) == 0) {
        if (wio_os_peer_uid(s, &uid) == 0 && uid == wio_os_uid()) {
            *fd = s;
            return 0;
        }
        wio_warn(j->log, WIO_C_BOOT,
                 "another user holds the name of this host's leader: going alone");
        rc = -EPERM;
    }
    wio_os_close(s);
    return rc == -ECONNREFUSED || rc == -EAGAIN || rc == -EINPROGRESS ? -1 : -2;
}

static int64_t longer(int64_t pause)
{
    return pause * 2 > 50 * WIO_NS_PER_MS ? 50 * WIO_NS_PER_MS : pause * 2;
}

static int meet(struct wio_joiner *j)
{
    int64_t pause = WIO_NS_PER_MS;
    for (;;) {
        int fd = -1, role = elect(j, &fd);
        if (role == -1) {
            if (wio_os_now_ns() > j->deadline_ns)
                return wio_join_timeout(j);
            wio_os_sleep_ns(pause);
            pause = longer(pause);
            continue;
        }
        wio_debug(j->log, WIO_C_BOOT, "%s",
                  role == 1   ? "leading this host"
                  : role == 0 ? "following this host's leader"
                              : "talking for myself");
        int64_t begun = wio_os_now_ns();
        int rc = role == 0 ? wio_join_follow(j, fd) : wio_join_lead(j, fd);
        if (rc != 1)
            return rc;
        wio_debug(j->log, WIO_C_BOOT, "the leader of this host is gone: electing another");
        /* Or it has no slot for us, and says so as long as it runs. */
        if (wio_os_now_ns() - begun > PATIENT_NS)
            pause = WIO_NS_PER_MS;
        wio_os_sleep_ns(pause);
        pause = longer(pause);
    }
}

/* ---- entry ---- */

static int prepare(struct wio_joiner *j)
{
    const struct wio_whoami *me = j->p->me;
    int rc = wio_os_hostname(j->name, sizeof j->name);
    if (rc < 0)
        wio_text(j->name, sizeof j->name, "?");
    j->reg = (struct wio_boot_reg){.pbid = (uint32_t)me->pbid,
                                   .npb = (uint32_t)me->npb,
                                   .nprocs = (uint32_t)me->nprocs,
                                   .rank = (uint32_t)me->rank,
                                   .pid = (uint32_t)wio_os_pid(),
                                   .port = j->p->offer.ep.port,
                                   .caps = j->p->offer.ep.caps,
                                   .token = j->p->offer.ep.token};
    rc = wio_os_random(&j->reg.incarnation, sizeof j->reg.incarnation);
    if (rc < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "random number");
    j->host = j->p->offer.host;
    if (j->host.identity == 0)
        j->host.identity = wio_host_identity();
    return 0;
}

static int join_others(struct wio_joiner *j)
{
    int rc = find_master(j);
    if (rc == 0)
        rc = wio_join_embed(j);
    if (rc == 0)
        rc = meet(j);
    char text[WIO_BOOT_TEXT] = "";
    if (rc != 0)
        wio_text(text, sizeof text, "%s", wio_last_detail());
    wio_join_unembed(j, rc, text);
    return rc != 0 ? wio_fail(rc, "%s", text) : 0;
}

static void drop_map(struct wio_joiner *j)
{
    if (j->map_shared && j->map != NULL)
        wio_os_unmap(j->map, j->map_bytes);
    else
        wio_os_free(j->map);
}

int wio_join(const struct wio_join_params *p, struct wio_table **table)
{
    struct wio_joiner *j = wio_os_alloc(sizeof *j);
    if (j == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "joining");
    j->p = p;
    j->log = p->log;
    j->stop_fd = -1;
    j->start_ns = wio_os_now_ns();
    double limit = p->timeout_s > 0 ? p->timeout_s : 0;
    j->say_ns = j->start_ns + (int64_t)((p->say_first_s > 0 ? p->say_first_s : SAY_FIRST_S) * 1e9);
    j->deadline_ns = limit > 1e9 ? INT64_MAX : j->start_ns + (int64_t)(limit * 1e9);
    int rc = prepare(j);
    if (rc == 0 && p->me->npb == 1 && p->me->nprocs == 1) {
        struct wio_boot_offer offer = {.host = j->host, .ep = p->offer.ep};
        rc = wio_table_alone(&offer, table);
    } else if (rc == 0) {
        rc = join_others(j);
        if (rc == 0)
            rc = wio_table_open(j->map, j->map_bytes, j->map_shared, j->reg.pbid, j->reg.rank,
                                table);
        if (rc == 0)
            (*table)->hold_fd = j->hold_fd;
        else
            wio_join_unhold(j);
        if (rc != 0)
            drop_map(j);
    }
    if (rc == 0)
        wio_info(p->log, WIO_C_BOOT,
                 "joined as %u of %u in %u blocks on %u address lists after %.3f s (rank from %s)",
                 (*table)->me, (*table)->size, (*table)->npb, (*table)->nhosts,
                 (double)(wio_os_now_ns() - j->start_ns) / 1e9, p->me->launcher);
    wio_os_free(j);
    return rc;
}
