/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waitio-info: what this installation is, what it sees of the system, what each variable resolves
 * to, and (--peers) who would be reached how. Exit status 0, or 1 with the reason on stderr.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "boot/boot.h"
#include "info.h"
#include "os/os.h"
#include "p2p/p2p.h"
#include "transport/outside/outside.h"
#include "transport/transport.h"
#include "waitio.h"

static int fail(void)
{
    fprintf(stderr, "waitio-info: %s\n", wio_last_error());
    return 1;
}

static void print_version(void)
{
    printf("WaitIO %s\n", WAITIO_VERSION_STRING);
    printf("  wire protocol   %d\n", WIO_WIRE_VERSION);
#ifdef __VERSION__
    printf("  compiler        %s\n", __VERSION__);
#endif
    printf("  byte order      %s\n",
           __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "little endian" : "big endian");
    printf("  request handle  %zu bytes\n", sizeof(waitio_req_t));
}

static void print_transports(const struct wio_config *cfg)
{
    printf("\nTransports\n");
    for (int t = 0; t < WIO_TR_COUNT; t++) {
        static const char *const names[WIO_TR_COUNT] = {"self", "tcp", "shm", "file"};
        const struct wio_transport *tr = wio_transport_get((enum wio_transport_id)t);
        struct wio_tr_attr a = {0};
        if (tr == NULL && names[t] == NULL) /* a place for a library outside */
            continue;
        if (tr == NULL)
            printf("  %-15s not built in this version\n", names[t]);
        else if (tr->query(cfg, &a) != 0)
            printf("  %-15s unusable: %s\n", tr->name, wio_last_error());
        else
            printf("  %-15s latency about %.1f us, %.1f GB/s\n", tr->name, a.latency_s * 1e6,
                   a.bandwidth * 1e-9);
    }
}

/* Which way a message takes, by size and distance. */
static void print_protocols(const struct wio_config *cfg)
{
    printf("Protocols\n  %-12s %-5s %8s %8s %12s %12s %12s\n", "distance", "by", "us", "GB/s",
           "local up to", "eager up to", "piece");
    for (int d = 0; d < WIO_DISTANCES; d++)
        for (int t = 0; t < WIO_TR_COUNT; t++) {
            const struct wio_transport *tr = wio_transport_get((enum wio_transport_id)t);
            char row[128] = "";
            if (tr != NULL)
                wio_protocol_text(cfg, tr, (enum wio_distance)d, row, sizeof row);
            if (row[0] != '\0')
                printf("  %-12s %-5s %s\n", wio_distance_name((enum wio_distance)d), tr->name, row);
        }
    char ring[64] = "two second-level caches, 512 KiB to 2 MiB";
    if (cfg->shm_ring > 0)
        snprintf(ring, sizeof ring, "%llu bytes", (unsigned long long)cfg->shm_ring);
    printf(
        "\n"
        "  Of the transports that both sides allow (WAITIO_COMM_TYPE) the one with the least\n"
        "  latency is taken. Costs are the library's rough idea of them.\n"
        "  local   the send is complete at once, even while the peer computes\n"
        "          (WAITIO_LOCAL_COMPLETE_MAX, as long as WAITIO_SEND_BUFFER_MAX has room)\n"
        "  eager   sent without asking, as far as the receiver's credit goes (WAITIO_EAGER_MAX,\n"
        "          WAITIO_EAGER_MAX_FAR, WAITIO_SHM_EAGER_MAX; credit: WAITIO_UNEXPECTED_MAX);\n"
        "          larger ones ask first and go straight into the receive buffer\n"
        "  piece   larger ones go in pieces of so much (WAITIO_CHUNK)\n"
        "  shm     a peer gets a private ring after %lld messages (WAITIO_SHM_PROMOTE),\n"
        "          the first %lld of them (WAITIO_SHM_RINGS); its size: %s\n"
        "          (WAITIO_SHM_RING); all others share the inbox of %llu bytes "
        "(WAITIO_SHM_INBOX)\n",
        (long long)cfg->shm_promote, (long long)cfg->shm_rings, ring,
        (unsigned long long)cfg->shm_inbox);
    static const char *const when[] = {[WIO_CFG_SHM_FETCH_AUTO] =
                                           "where there are more processes than processors",
                                       [WIO_CFG_SHM_FETCH_ON] = "always",
                                       [WIO_CFG_SHM_FETCH_OFF] = "never"};
    printf("  fetch   what is not eager and has %llu bytes (WAITIO_SHM_FETCH_MIN) the receiver "
           "copies\n"
           "          from the sender's memory %s\n"
           "          (WAITIO_SHM_FETCH); this system %s it (/proc/sys/kernel/yama/ptrace_scope)\n",
           (unsigned long long)cfg->shm_fetch_min, when[cfg->shm_fetch],
           wio_os_may_read_processes() ? "allows" : "forbids");
}

static void print_library(void *arg, const struct wio_outside_note *note)
{
    int *n = arg;
    const char *slash = strrchr(note->path, '/');
    if ((*n)++ == 0)
        printf("  beside libwaitio, loaded on demand:\n");
    printf("    %s: transport %s%s%s%s\n", slash != NULL ? slash + 1 : note->path, note->transport,
           note->about[0] != '\0' ? " for " : "", note->about,
           note->version == WAITIO_TRANSPORT_VERSION ? ""
                                                     : " (of another version: will be refused)");
}

/* Those that WAITIO_PLUGINS loads are in the list already. */
static void print_libraries(const struct wio_config *cfg)
{
    int n = 0;
    wio_outside_each(print_library, &n);
    if (cfg->plugins[0] != '\0')
        printf("  WAITIO_PLUGINS: %s\n", cfg->plugins);
}

static void print_limits(void)
{
    printf("\nLimits\n");
    printf("  processors      %d\n", wio_os_cpus());
    printf("  descriptors     %d\n", wio_os_fd_limit());
    printf("  page size       %zu bytes\n", wio_os_page_size());
}

static const char *addr_text(const struct sockaddr_storage *a, char *buf, socklen_t n)
{
    if (a->ss_family == AF_INET)
        return inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)a)->sin_addr, buf, n);
    if (a->ss_family == AF_INET6)
        return inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, buf,
                         n);
    return NULL;
}

static void print_devices(void)
{
    struct wio_os_ifaddr *list = NULL;
    int n = 0;
    printf("\nNetwork devices (WAITIO_NETDEV takes a name, an address or a subnet)\n");
    if (wio_os_ifaddrs(&list, &n) < 0)
        return;
    for (int i = 0; i < n; i++) {
        char text[64];
        if (addr_text(&list[i].addr, text, sizeof text) != NULL)
            printf("  %-15s %s/%u%s%s\n", list[i].name, text, list[i].prefix,
                   list[i].up ? "" : " (down)", list[i].loopback ? " (this host only)" : "");
    }
    wio_os_free(list);
}

static void print_variables(const struct wio_config *cfg, bool docs)
{
    printf("\nVariables (*: set in the environment%s)\n", docs ? "" : "; --doc explains them");
    for (int i = 0; i < WIO_CFG_VARS; i++) {
        const struct wio_config_row *row = wio_config_row(i);
        char value[640];
        wio_config_value(cfg, i, value, sizeof value);
        bool set = cfg->source[i] != WIO_SRC_DEFAULT;
        printf("%c %-28s %-16s", set ? '*' : ' ', row->name, value[0] != '\0' ? value : "(unset)");
        if (set)
            printf(" (default: %s)", row->def[0] != '\0' ? row->def : "unset");
        printf("\n");
        if (docs)
            printf("      %s [%s, default \"%s\"%s%s]\n", row->doc, row->type, row->def,
                   row->range[0] != '\0' ? ", " : "", row->range);
    }
}

static void print_identity(const struct wio_config *cfg)
{
    struct wio_whoami me;
    printf("\nThis process\n");
    if (wio_whoami(&me, cfg, wio_os_getenv) != 0) {
        printf("  cannot join: %s\n", wio_last_error());
        return;
    }
    printf("  PB %d of %d, rank %d of %d (from: %s), job id %s\n", me.pbid, me.npb, me.rank,
           me.nprocs, me.launcher, me.job_id);
}

/* Join as the program would, and say how everybody would be reached. */
static int print_peers(double timeout)
{
    struct wio_universe *u = NULL;
    if (wio_universe_join(timeout, &u) != 0)
        return fail();
    const struct wio_table *t = wio_universe_table(u);
    char name[64], why[320];
    printf("%s: universe of %u processes in %u PBs on %u hosts\n",
           wio_universe_name(u, t->me, name, sizeof name), t->size, t->npb, t->nhosts);
    for (uint32_t r = 0; r < t->size; r++) {
        const char *tr = wio_universe_route(u, r, why, sizeof why);
        printf("  %-20s %-6s %-12s %s\n", wio_universe_name(u, r, name, sizeof name),
               tr != NULL ? tr : "NONE", wio_universe_distance(u, r), why);
    }
    fflush(stdout);
    return wio_universe_leave(u, false, NULL) == 0 ? 0 : fail();
}

static int usage(int status)
{
    fprintf(
        status == 0 ? stdout : stderr,
        "usage: waitio-info [--version] [--doc] [--protocols] [--peers [--timeout SECONDS]]\n"
        "  (nothing)   version, transports, limits, devices, scratch directory, identity, "
        "variables\n"
        "  --version   only the version\n"
        "  --doc       with the meaning of every variable\n"
        "  --protocols which way messages take by size and distance, and what sets the limits\n"
        "  --peers     join the universe as the program would (start it in every block) and print\n"
        "              how each process would be reached and why\n");
    return status;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"version", no_argument, NULL, 'v'},
                                            {"doc", no_argument, NULL, 'd'},
                                            {"protocols", no_argument, NULL, 'P'},
                                            {"peers", no_argument, NULL, 'p'},
                                            {"timeout", required_argument, NULL, 't'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    bool docs = false, peers = false, protocols = false;
    double timeout = 60;
    for (int c; (c = getopt_long(argc, argv, "vdpPt:h", options, NULL)) != -1;) {
        switch (c) {
        case 'v':
            printf("WaitIO %s\n", WAITIO_VERSION_STRING);
            return 0;
        case 'd':
            docs = true;
            break;
        case 'p':
            peers = true;
            break;
        case 'P':
            protocols = true;
            break;
        case 't':
            timeout = strtod(optarg, NULL);
            break;
        default:
            return usage(c == 'h' ? 0 : 2);
        }
    }
    if (peers)
        return print_peers(timeout);
    struct wio_config cfg;
    struct wio_log log;
    if (wio_log_init(&log, "warn", "") != 0)
        return fail();
    if (!protocols)
        print_version();
    if (wio_config_load(&cfg, &log) != 0) {
        printf("\n");
        return fail();
    }
    if (protocols) {
        print_protocols(&cfg);
        wio_log_close(&log);
        return 0;
    }
    struct wio_config named = cfg; /* what is named is loaded; what would be chosen is not */
    named.comm_type = WIO_CFG_COMM_TYPE_AUTO;
    if (wio_outside_load(&named, &log) != 0)
        printf("\n  WAITIO_PLUGINS: %s\n", wio_last_error());
    print_transports(&cfg);
    print_libraries(&cfg);
    print_limits();
    print_devices();
    info_relays(&cfg);
    info_files(&cfg);
    print_identity(&cfg);
    print_variables(&cfg, docs);
    wio_log_close(&log);
    return 0;
}
