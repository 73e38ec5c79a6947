/* SPDX-License-Identifier: BSD-3-Clause */
/** @file embed.c  The rendezvous service inside rank 0 of PB 0, on a thread of its own while it
 * joins. */
#include "boot/join.h"
#include "os/os.h"

static void *serve(void *arg)
{
    struct wio_joiner *j = arg;
    int rc;
    do
        rc = wio_service_run(j->service, -1);
    while (rc == WAITIO_ERR_PEER || rc == 0);
    if (rc < 0 && rc != WAITIO_ERR_CANCELLED)
        wio_error(j->log, WIO_C_SERV, "the rendezvous failed: %s", wio_last_error());
    return NULL;
}

/* The port is in use: find out by what. Fatal only when waiting cannot help. */
static int look_who(struct wio_joiner *j)
{
    char text[300];
    if (j->probed)
        return 0;
    enum wio_service_found f = wio_service_probe(j->master, j->port, j->p->secret, j->p->me->job_id,
                                                 3.0, text, sizeof text);
    if (f == WIO_FOUND_STRANGER)
        return wio_fail(
            WAITIO_ERR_JOIN,
            "port %u of %s is taken by a stranger (%s): choose another WAITIO_MASTER_PORT for "
            "all programs of the run%s",
            j->port, j->master, text, wio_join_which_port(j));
    if (f == WIO_FOUND_OTHER_SECRET)
        return wio_fail(
            WAITIO_ERR_AUTH,
            "port %u of %s is taken by a rendezvous with another secret (%s); if it is another "
            "user's, choose another WAITIO_MASTER_PORT for all programs of the run",
            j->port, j->master, text);
    j->probed = f != WIO_FOUND_NOBODY;
    if (!j->taken || j->probed)
        wio_info(j->log, WIO_C_BOOT, "port %u is taken (%s): %s", j->port, text,
                 j->probed ? "joining as its client" : "trying to serve there again and again");
    j->taken = !j->probed;
    return 0;
}

/* The directory has a service already: as its client we hear what is to be said. */
static int be_client(struct wio_joiner *j)
{
    if (!j->probed)
        wio_info(j->log, WIO_C_BOOT, "%s: joining as its client", wio_last_detail());
    j->probed = true;
    return 0;
}

static int start_thread(struct wio_joiner *j)
{
    int rc = wio_os_thread_start(&j->thread, serve, j, "waitio-join");
    if (rc == 0)
        return 0;
    wio_service_stop(j->service);
    j->service = NULL;
    return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "cannot start the thread of the rendezvous");
}

int wio_join_embed(struct wio_joiner *j)
{
    int64_t now = wio_os_now_ns();
    if (!j->want_service || j->service != NULL || now < j->next_try_ns)
        return 0;
    j->next_try_ns = now + 250 * (int64_t)WIO_NS_PER_MS;
    if (j->stop_fd < 0 && (j->stop_fd = wio_os_eventfd()) < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, j->stop_fd, "eventfd");
    struct wio_service_params sp = {.cfg = j->p->cfg,
                                    .secret = j->p->secret,
                                    .log = j->log,
                                    .bind_host = j->master_loopback ? j->master : NULL,
                                    .port = j->port,
                                    .in_folder = j->in_folder,
                                    .npb = j->p->me->npb,
                                    .stop_fd = j->stop_fd};
    wio_text(sp.job_id, sizeof sp.job_id, "%s", j->p->me->job_id);
    int rc = wio_service_start(&sp, &j->service);
    if (rc == WAITIO_ERR_JOIN)
        return j->in_folder ? be_client(j) : look_who(j);
    j->taken = false;
    return rc != 0 ? rc : start_thread(j);
}

void wio_join_unembed(struct wio_joiner *j, int code, const char *text)
{
    if (j->service != NULL) {
        if (code != 0)
            wio_os_eventfd_set(j->stop_fd);
        pthread_join(j->thread, NULL);
        if (code != 0) {
            char why[WIO_BOOT_TEXT];
            wio_text(why, sizeof why, "PB 0 rank 0, which serves the rendezvous, gave up: %s",
                     text);
            wio_service_refuse(j->service, code == WAITIO_ERR_TIMEOUT ? code : WAITIO_ERR_PEER,
                               why);
        }
        wio_service_stop(j->service);
        j->service = NULL;
    }
    if (j->stop_fd >= 0)
        wio_os_close(j->stop_fd);
    j->stop_fd = -1;
}
