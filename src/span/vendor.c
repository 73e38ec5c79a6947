/* SPDX-License-Identifier: BSD-3-Clause */
/* Find the vendor's functions when this library is loaded. */
#include "span/vendor.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct span_vendor span_vendor;

span_function span_vendor_function(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    span_function f;

    memcpy(&f, &found, sizeof f); /* C has no cast from a pointer to data */
    return f;
}

/* Before main(), and before constructors of libraries that come behind us. */
__attribute__((constructor)) static void load(void)
{
    static const char *const prefixes[] = {"PMPI_", "PMPIX_", NULL};
    char name[96];

    for (const struct span_vendor_name *n = span_vendor_names; n->name != NULL; n++)
        for (int i = 0; prefixes[i] != NULL && *n->slot == NULL; i++) {
            (void)snprintf(name, sizeof name, "%s%s", prefixes[i], n->name);
            *n->slot = span_vendor_function(name);
        }
}
