/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file cgroup.c
 * Free memory of the control group. At its limit the kernel kills a process of the group, even if
 * the request was a system call that could have failed. So check before the request.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/fault.h"

enum { PATH_ROOM = 768, TEXT_ROOM = 8192 };

/** The names of one version of control groups. */
struct names {
    const char *mount, *limit, *used, *cache[2]; /* cache: memory that the kernel reclaims itself */
};
static const struct names version1 = {"/sys/fs/cgroup/memory",
                                      "memory.limit_in_bytes",
                                      "memory.usage_in_bytes",
                                      {"\ntotal_inactive_file ", "\ntotal_active_file "}};
static const struct names version2 = {
    "/sys/fs/cgroup", "memory.max", "memory.current", {"\ninactive_file ", "\nactive_file "}};

/** @return false: there is no such file */
static bool read_text(const char *path, char text[TEXT_ROOM])
{
    int fd = wio_os_open_read(path);
    if (fd < 0)
        return false;
    ssize_t n = wio_os_read(fd, text, TEXT_ROOM - 1);
    wio_os_close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/** Read a file of the group at @p dir. */
static bool read_of(const char *dir, const char *name, char text[TEXT_ROOM])
{
    char path[PATH_ROOM + 32];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return read_text(path, text);
}

static bool group_has(const struct names *n, const char *dir, uint64_t bytes)
{
    char text[TEXT_ROOM];
    if (!read_of(dir, n->limit, text) || text[0] < '0' || text[0] > '9')
        return true; /* "max", or not told here */
    uint64_t limit = strtoull(text, NULL, 10);
    if (!read_of(dir, n->used, text))
        return true;
    uint64_t used = strtoull(text, NULL, 10);
    if (used <= limit && bytes <= limit - used)
        return true;
    if (!read_of(dir, "memory.stat", text))
        return true;
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(text, n->cache[i]);
        uint64_t cache = at != NULL ? strtoull(at + strlen(n->cache[i]), NULL, 10) : 0;
        used -= cache < used ? cache : used;
    }
    return used <= limit && bytes <= limit - used;
}

/** The group of this process: the line of the memory controller, or that of version 2. @return its
 * path inside the mount, NULL: none */
static char *own_group(char *lines, const struct names **names)
{
    char *found = NULL, *rest;
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':');
        char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *path = ','; /* so that each name ends with one */
        bool first =
            strstr(controllers, ":memory,") != NULL || strstr(controllers, ",memory,") != NULL;
        if (!first && (found != NULL || controllers + 1 != path))
            continue;
        *names = first ? &version1 : &version2;
        found = path + 1;
        if (first)
            break;
    }
    return found;
}

bool wio_os_memory_fits(const char *root, size_t bytes)
{
    char path[PATH_ROOM], text[TEXT_ROOM];
    const struct names *names = NULL;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    char *group = read_text(path, text) ? own_group(text, &names) : NULL;
    while (group != NULL) { /* each group up to the root has its own limit */
        size_t n = strlen(group);
        while (n > 0 && group[n - 1] == '/')
            group[--n] = '\0';
        int len = snprintf(path, sizeof path, "%s%s%s", root, names->mount, group);
        if (len < (int)sizeof path && !group_has(names, path, bytes))
            return false;
        char *last = strrchr(group, '/');
        if (last == NULL)
            break; /* that was the mount itself; inside a container it is the container's group */
        *last = '\0';
    }
    return true;
}
