/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration in YAML as an editor's accident may leave it: read, or refused with a reason.
 * What is read is written again, and that says the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/conf.h"
#include "waitio_errors.h"

static void must(int ok)
{
    if (!ok)
        abort();
}

static void write_text(const struct wio_cpl_conf *conf, struct wio_cpl_list *text)
{
    *text = (struct wio_cpl_list){NULL, 0, 0};
    must(wio_cpl_conf_write(conf, text) == 0);
}

static void round_trip(const struct wio_cpl_conf *conf)
{
    struct wio_cpl_list first, second;
    struct wio_cpl_conf again;

    write_text(conf, &first);
    must(wio_cpl_conf_yaml(first.at, first.n, "again", &again) == 0);
    must(again.links.n == conf->links.n && again.parts.n == conf->parts.n);
    write_text(&again, &second);
    must(first.n == second.n && memcmp(first.at, second.at, first.n) == 0);
    for (size_t i = 0; i < conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);

        must(wio_cpl_conf_hash(conf, l->comp_put, l->comp_get) ==
             wio_cpl_conf_hash(&again, l->comp_put, l->comp_get));
    }
    wio_cpl_list_free(&first);
    wio_cpl_list_free(&second);
    wio_cpl_conf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wio_cpl_conf conf;
    int rc = wio_cpl_conf_yaml((const char *)data, size, "fuzz", &conf);

    if (rc == 0) {
        round_trip(&conf);
        rc = wio_cpl_conf_check(&conf);
    }
    must(rc == 0 || wio_cpl_why()[0] != '\0');
    must(rc == 0 || rc == WAITIO_ERR_UNSUPPORTED || conf.faults.n > 0);
    wio_cpl_conf_free(&conf);
    return 0;
}
