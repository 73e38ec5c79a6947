/* SPDX-License-Identifier: BSD-3-Clause */
/* Interpolation tables: each process gives a share of the entries, in any split. */
#include <stdlib.h>

#include "files.h"
#include "ocean.h"

void table_read(const struct sea *sea, const char *path, struct waitio_cpl_entries *entries)
{
    int file = file_open(path);
    size_t links = file_length(file, path, "num_links"), p = (size_t)sea->processes;
    size_t first = links * (size_t)sea->rank / p, n = links * ((size_t)sea->rank + 1) / p - first;

    *entries = (struct waitio_cpl_entries){
        .n = n,
        .send_index = file_ints(file, path, "src_address", first, n, 1),
        .recv_index = file_ints(file, path, "dst_address", first, n, 1),
        .coef = file_doubles(file, path, "remap_matrix", first, n, 1),
    };
    file_close(file);
}

void table_free(struct waitio_cpl_entries *entries)
{
    free((void *)entries->recv_index);
    free((void *)entries->send_index);
    free((void *)entries->coef);
}
