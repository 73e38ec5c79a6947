/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared libraries: loading them, and which there are. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/fault.h"

void *wio_os_library_open(const char *path, char *why, size_t nwhy)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL) {
        const char *text = dlerror();
        snprintf(why, nwhy, "%s", text != NULL ? text : "unknown reason");
    }
    return lib;
}

void *wio_os_library_symbol(void *lib, const char *name)
{
    return dlsym(lib, name);
}

bool wio_os_library_is_loaded(const char *soname)
{
    void *lib = dlopen(soname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (lib != NULL)
        dlclose(lib); /* the program's own reference stays */
    return lib != NULL;
}

int wio_os_library_folder(const void *inside, char *buf, size_t n)
{
    Dl_info info;
    if (dladdr(inside, &info) == 0 || info.dli_fname == NULL)
        return -ENOENT;
    const char *slash = strrchr(info.dli_fname, '/');
    size_t len = slash == NULL ? 1 : (size_t)(slash - info.dli_fname);
    if (len >= n)
        return -ENAMETOOLONG;
    memcpy(buf, slash == NULL ? "." : info.dli_fname, len);
    buf[len] = '\0';
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int wio_os_list(const char *folder, void (*each)(void *arg, const char *name), void *arg)
{
    struct dirent **names = NULL;
    int n = scandir(folder, &names, NULL, by_name);
    if (n < 0)
        return -errno;
    for (int i = 0; i < n; i++) {
        each(arg, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return n;
}
