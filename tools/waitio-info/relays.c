/* SPDX-License-Identifier: BSD-3-Clause */
/** @file relays.c  The relays of WAITIO_RELAY: do they answer, and how are they? */
#include <errno.h>

#include "boot/detour.h"
#include "info.h"
#include "os/os.h"

#define ANSWER_NS INT64_C(3000000000)

static int wait_connected(int fd, int64_t deadline)
{
    struct sockaddr_storage ss;
    for (;;) {
        socklen_t len = sizeof ss;
        int rc = wio_os_so_error(fd);
        if (rc < 0 || wio_os_peername(fd, &ss, &len) == 0)
            return rc;
        if (wio_os_now_ns() > deadline)
            return -ETIMEDOUT;
        wio_os_sleep_ns(2000000);
    }
}

/* @return its state, or why it does not tell, in d->answer.text or d->text */
static const char *ask(struct wio_detour *d, const struct wio_secret *secret,
                       const struct wio_relay_at *at)
{
    int64_t deadline = wio_os_now_ns() + ANSWER_NS;
    enum wio_detour_state s = WIO_DETOUR_RUNNING;
    int fd = wio_os_socket(at->addr.ss_family, SOCK_STREAM);
    int rc = fd < 0 ? fd : wio_os_connect(fd, (const struct sockaddr *)&at->addr, at->len);
    if (rc == -EINPROGRESS)
        rc = 0;
    if (rc == 0)
        rc = wait_connected(fd, deadline);
    if (rc == 0 && wio_detour_start(d, secret, WIO_DETOUR_STATUS, NULL, 0) != 0)
        rc = -EIO;
    while (rc == 0 && s == WIO_DETOUR_RUNNING) {
        s = wio_detour_drive(d, fd);
        if (s != WIO_DETOUR_RUNNING)
            break;
        if (wio_os_now_ns() > deadline)
            rc = -ETIMEDOUT;
        (void)wio_os_poll_in(&fd, 1, 20000000);
    }
    wio_os_close(fd);
    if (rc < 0)
        wio_text(d->text, sizeof d->text, "%s", strerror(-rc));
    return s == WIO_DETOUR_DONE ? d->answer.text : d->text;
}

void info_relays(struct wio_config *cfg)
{
    struct wio_relays relays;
    struct wio_secret secret;
    if (cfg->relay[0] == '\0')
        return;
    printf("\nRelays (WAITIO_RELAY)\n");
    if (wio_secret_load(&secret, cfg, NULL) != 0 || wio_relays_read(cfg, &secret, &relays) != 0) {
        printf("  unusable: %s\n", wio_last_error());
        return;
    }
    for (int i = 0; i < relays.n; i++) {
        struct wio_detour *d = wio_os_alloc(sizeof *d);
        if (d != NULL)
            printf("  %-15s %s\n", relays.at[i].name, ask(d, &secret, &relays.at[i]));
        wio_os_free(d);
    }
    wio_secret_wipe(&secret);
}
