/* SPDX-License-Identifier: BSD-3-Clause */
/* coupling.conf as an editor's accident may leave it: read, or refused with a reason; never more.
 */
#include <stdint.h>
#include <stdlib.h>

#include "coupler/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wio_cpl_conf conf;
    int rc = wio_cpl_conf_namelist((const char *)data, size, "fuzz", &conf);

    if (rc == 0)
        rc = wio_cpl_conf_check(&conf);
    if (rc != 0 && wio_cpl_why()[0] == '\0')
        abort();
    wio_cpl_conf_free(&conf);
    return 0;
}
