/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for as many numbers as a grid has cells. */
#include "coupler/weights/grid.h"
#include "os/os.h"

enum { LARGE = 4 << 20 };

void *wio_weights_alloc(size_t bytes)
{
    void *p = wio_os_alloc(bytes);
    if (p != NULL && bytes >= LARGE)
        wio_os_large_pages(p, bytes);
    return p;
}
