/* SPDX-License-Identifier: BSD-3-Clause */
#include "h3ou/port.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LOWEST = 1024, HIGHEST = 65535, ENOUGH = 500, MOST = 12000, TRIES = 50 };

/* @param port 0: any @return one that nobody listens at now; 0: it is taken */
static int look(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), found = 0;

    if (fd < 0)
        return 0;
    if (bind(fd, (const struct sockaddr *)&at, sizeof at) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &length) == 0)
        found = ntohs(at.sin_port);
    (void)close(fd);
    return found;
}

/* Ports that the system does not give to outgoing connections: those it may give away between our
 * look and the use. @return how many, from *first on; 0: hardly any */
static int window(int *first)
{
    FILE *range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "r");
    int low = 0, high = 0, n = range != NULL ? fscanf(range, "%d %d", &low, &high) : 0;

    if (range != NULL)
        (void)fclose(range);
    if (n != 2 || low < 1 || high < low || high > HIGHEST) { /* what Linux has by itself */
        low = 32768;
        high = 60999;
    }
    n = low - LOWEST < MOST ? low - LOWEST : MOST;
    *first = low - n;
    if (n < ENOUGH) {
        n = HIGHEST - high < MOST ? HIGHEST - high : MOST;
        *first = high + 1;
    }
    return n < ENOUGH ? 0 : n;
}

int wio_h3ou_free_port(void)
{
    struct timespec t;
    unsigned seed;
    int first = 0, n = window(&first), found = 0;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    seed = (unsigned)getpid() * 2654435761u ^ (unsigned)t.tv_nsec;
    for (int i = 0; n > 0 && found == 0 && i < TRIES; i++)
        found = look(first + rand_r(&seed) % n);
    return found != 0 ? found : look(0);
}
