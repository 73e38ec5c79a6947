/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file waitio-serv.c
 * The rendezvous as a program: publish where it is, serve it in the background, find it from
 * elsewhere. See docs/man/waitio-serv.1.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "boot/boot.h"
#include "boot/publish.h"
#include "os/os.h"
#include "serving.h"

#define NS_PER_S INT64_C(1000000000)
#define GRACE_NS (5 * NS_PER_S) /* in the foreground: a complete universe answers so long */
#define ENDING_NS                                                                                  \
    (5 * NS_PER_S) /* a daemon whose universe is just ending is waited for, not refused */
#define WAIT_DEFAULT_S 600.0
#define STATE_S 3.0

enum action { ACT_NONE, ACT_PUBLISH, ACT_DAEMON, ACT_CHECK, ACT_FOREGROUND, ACT_KILL, ACT_STATE };

struct serv {
    enum action action;
    const char *host;
    double timeout_s;
    bool print_port, with_stdin, quiet;
    long port; /* -1 = as configured */
    struct wio_config cfg;
    struct wio_log log;
    struct wio_secret secret;
    char path[1024];
    struct wio_publication pub;
};

/* ---- arguments ---- */

static void usage(FILE *to)
{
    fputs("usage: waitio-serv -d -m HOST        publish HOST and serve the rendezvous in the "
          "background\n"
          "       waitio-serv -m HOST           publish HOST only\n"
          "       waitio-serv -c [--timeout S]  wait for the publication and print the host\n"
          "       waitio-serv -k                end the daemon of this job and remove its "
          "publication\n"
          "       waitio-serv --foreground [-m HOST] [-p PORT] [--print-port] [--with-stdin]\n"
          "                                     serve until one universe has formed (port 0: any "
          "free "
          "one)\n"
          "       waitio-serv --state           say whether the universe forms or has formed, and "
          "who is\n"
          "                                     missing\n"
          "       waitio-serv --help | --version\n"
          "WAITIO_JOB_ID (or COUPLER_JOB_ID) tells jobs apart; WAITIO_MASTER_PORT is the port to "
          "serve.\n",
          to);
}

static bool to_double(const char *text, double *v)
{
    char *end = NULL;
    *v = strtod(text, &end);
    return end != text && *end == '\0' && *v >= 0 && *v < 1e9;
}

static bool to_port(const char *text, long *v)
{
    char *end = NULL;
    *v = strtol(text, &end, 10);
    return end != text && *end == '\0' && *v >= 0 && *v <= 65535;
}

/* @return true when the option is known and its value (if any) is right */
static bool flag(struct serv *s, const char *a)
{
    if (strcmp(a, "-d") == 0 || strcmp(a, "--daemon") == 0)
        s->action = ACT_DAEMON;
    else if (strcmp(a, "-c") == 0 || strcmp(a, "--check") == 0)
        s->action = ACT_CHECK;
    else if (strcmp(a, "-k") == 0 || strcmp(a, "--kill") == 0)
        s->action = ACT_KILL;
    else if (strcmp(a, "--foreground") == 0)
        s->action = ACT_FOREGROUND;
    else if (strcmp(a, "--state") == 0)
        s->action = ACT_STATE;
    else if (strcmp(a, "--print-port") == 0)
        s->print_port = true;
    else if (strcmp(a, "--with-stdin") == 0)
        s->with_stdin = true;
    else
        return false;
    return true;
}

static bool option(struct serv *s, const char *a, const char *value)
{
    if (value == NULL)
        return false;
    if (strcmp(a, "-m") == 0 || strcmp(a, "--master") == 0) {
        s->host = value;
        return true;
    }
    if (strcmp(a, "-p") == 0 || strcmp(a, "--port") == 0)
        return to_port(value, &s->port);
    return strcmp(a, "--timeout") == 0 && to_double(value, &s->timeout_s);
}

/* @return 0 go on, else the exit status + 1 */
static int parse_args(struct serv *s, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
            usage(stdout);
            return 1;
        }
        if (strcmp(a, "--version") == 0) {
            puts("waitio-serv, rendezvous of WaitIO");
            return 1;
        }
        if (flag(s, a))
            continue;
        if (!option(s, a, i + 1 < argc ? argv[i + 1] : NULL)) {
            fprintf(stderr, "waitio-serv: '%s' is unknown or has no proper value\n", a);
            usage(stderr);
            return 3;
        }
        i++;
    }
    if (s->action == ACT_NONE && s->host != NULL)
        s->action = ACT_PUBLISH;
    if (s->action == ACT_NONE || (s->action == ACT_DAEMON && s->host == NULL)) {
        fprintf(stderr, "waitio-serv: %s\n",
                s->action == ACT_DAEMON ? "-d needs -m HOST" : "nothing to do");
        usage(stderr);
        return 3;
    }
    return 0;
}

static int complain(void)
{
    fprintf(stderr, "waitio-serv: %s\n", wio_last_error());
    return 1;
}

/* ---- publications ---- */

static uint16_t port_of(const struct serv *s)
{
    return s->port >= 0 ? (uint16_t)s->port : (uint16_t)s->cfg.master_port;
}

static void fill_publication(struct serv *s, uint16_t port, int64_t pid)
{
    memset(&s->pub, 0, sizeof s->pub);
    wio_text(s->pub.host, sizeof s->pub.host, "%s", s->host);
    if (wio_os_hostname(s->pub.where, sizeof s->pub.where) < 0 || s->pub.where[0] == '\0')
        wio_text(s->pub.where, sizeof s->pub.where, "?");
    s->pub.port = port;
    s->pub.pid = pid;
    s->pub.since_ns = wio_os_wall_ns();
}

/* Does the daemon behind a publication answer? */
static enum wio_service_found ask(const struct serv *s, const struct wio_publication *p,
                                  double timeout_s, char *text, size_t n)
{
    return wio_service_probe(p->host, p->port, &s->secret, s->cfg.job_id, timeout_s, text, n);
}

/* @return 0: the job id is free; JOIN naming who holds it */
static int check_free(struct serv *s)
{
    struct wio_publication old;
    char text[300];
    int rc = wio_publish_read(s->path, &old);
    if (rc <= 0)
        return rc == WAITIO_ERR_PROTOCOL ? 0 : rc;
    if (old.pid == 0)
        return 0;
    enum wio_service_found f = ask(s, &old, 3, text, sizeof text);
    for (int64_t end = wio_os_now_ns() + ENDING_NS;
         f == WIO_FOUND_COMPLETE && wio_os_now_ns() < end;) {
        wio_os_sleep_ns(NS_PER_S / 20);
        f = ask(s, &old, 3, text, sizeof text);
    }
    if (f != WIO_FOUND_FORMING && f != WIO_FOUND_COMPLETE)
        return 0;
    return wio_fail(
        WAITIO_ERR_JOIN,
        "job id '%s' is held by a live waitio-serv on host %s (pid %" PRId64 ", port %u, "
        "published as %s), %s: end it with waitio-serv -k, or give this run another WAITIO_JOB_ID",
        s->cfg.job_id, old.where, old.pid, old.port, old.host,
        f == WIO_FOUND_COMPLETE ? "whose programs still run" : "which waits for its programs");
}

static int publish_only(struct serv *s)
{
    int rc = check_free(s);
    if (rc != 0)
        return rc;
    fill_publication(s, port_of(s), 0);
    return wio_publish_write(s->path, &s->pub);
}

static int print_host(const struct wio_publication *p)
{
    printf("%s\n", p->host);
    if (fflush(stdout) != 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, -errno, "cannot print the host");
    return 0;
}

static int check(struct serv *s)
{
    int64_t deadline = wio_os_now_ns() + (int64_t)(s->timeout_s * 1e9);
    char why[400];
    wio_text(why, sizeof why, "nothing was published");
    for (int64_t pause = 20000000;; pause = pause < NS_PER_S ? pause * 2 : pause) {
        struct wio_publication p;
        char text[300];
        int rc = wio_publish_read(s->path, &p);
        if (rc < 0)
            return rc;
        if (rc == 1 && p.pid == 0)
            return print_host(&p);
        if (rc == 1) {
            enum wio_service_found f = ask(s, &p, 3, text, sizeof text);
            if (f == WIO_FOUND_FORMING)
                return print_host(&p);
            if (f == WIO_FOUND_OTHER_SECRET)
                return wio_fail(WAITIO_ERR_AUTH, "waitio-serv on %s port %u: %s", p.host, p.port,
                                text);
            wio_text(why, sizeof why,
                     "the last one names %s port %u (pid %" PRId64
                     " on %s), where no rendezvous of this "
                     "job waits: %.150s",
                     p.host, p.port, p.pid, p.where, text);
        }
        int64_t left = deadline - wio_os_now_ns();
        if (left <= 0)
            return wio_fail(
                WAITIO_ERR_TIMEOUT,
                "no publication for job id '%s' in '%s' within %.0f s: %s (is waitio-serv -d "
                "-m HOST started on the master, with this WAITIO_JOB_ID and WAITIO_SERV_DIR?)",
                s->cfg.job_id, s->path, s->timeout_s, why);
        wio_os_sleep_ns(pause < left ? pause : left);
    }
}

/* One word for programs, then the text for people. */
static int print_state(struct serv *s)
{
    char text[1100];
    uint32_t joined = 0;
    enum wio_service_found f = wio_service_count(&s->cfg, port_of(s), &s->secret, &s->log, STATE_S,
                                                 &joined, text, sizeof text);
    if (f == WIO_FOUND_FORMING)
        printf("forming %u: %s\n", joined, text);
    else if (f == WIO_FOUND_COMPLETE)
        printf("complete: %s\n", text);
    else if (f == WIO_FOUND_NOBODY)
        printf("nobody: %s\n", text);
    else
        printf("other: %s\n", text);
    return fflush(stdout) == 0 ? 0 : wio_fail_os(WAITIO_ERR_SYSTEM, -errno, "cannot print");
}

static int kill_old(struct serv *s)
{
    struct wio_publication p;
    char here[64] = "", text[300];
    int rc = wio_publish_read(s->path, &p);
    if (rc == 1 && p.pid != 0) {
        bool local = wio_os_hostname(here, sizeof here) >= 0 && strcmp(here, p.where) == 0;
        enum wio_service_found f = ask(s, &p, 3, text, sizeof text);
        bool alive = f == WIO_FOUND_FORMING ||
                     f == WIO_FOUND_COMPLETE; /* so that the pid is not a stranger's by now */
        if (alive && !local)
            return wio_fail(WAITIO_ERR_UNSUPPORTED,
                            "the daemon runs on host %s (pid %" PRId64
                            "): call waitio-serv -k there",
                            p.where, p.pid);
        if (alive && kill((pid_t)p.pid, SIGTERM) != 0)
            return wio_fail_os(WAITIO_ERR_SYSTEM, -errno, "cannot end the daemon, pid %" PRId64,
                               p.pid);
    }
    wio_publish_remove(s->path, NULL);
    return 0;
}

/* ---- serving ---- */

/* The port may still be held for a moment by the daemon of this job's last run, which is about to
 * end. */
static int start_service(struct serv *s, uint16_t port, const char *bind_host, int stop_fd,
                         struct wio_service **out)
{
    struct wio_service_params p = {.cfg = &s->cfg,
                                   .secret = &s->secret,
                                   .log = &s->log,
                                   .bind_host = bind_host,
                                   .port = port,
                                   .npb = s->cfg.npb > 0 ? (int)s->cfg.npb : 0,
                                   .stop_fd = stop_fd,
                                   .stay = s->action == ACT_DAEMON};
    char text[300];
    wio_text(p.job_id, sizeof p.job_id, "%s", s->cfg.job_id);
    for (int64_t end = wio_os_now_ns() + GRACE_NS + 2 * NS_PER_S;;) {
        int rc = wio_service_start(&p, out);
        if (rc != WAITIO_ERR_JOIN)
            return rc;
        enum wio_service_found f =
            wio_service_probe("127.0.0.1", port, &s->secret, s->cfg.job_id, 3, text, sizeof text);
        if ((f != WIO_FOUND_COMPLETE && f != WIO_FOUND_NOBODY) || wio_os_now_ns() > end)
            return wio_fail(
                WAITIO_ERR_JOIN,
                "port %u is taken: %s; choose another WAITIO_MASTER_PORT for all programs of the "
                "run",
                port, text);
        wio_os_sleep_ns(NS_PER_S / 5);
    }
}

/* Serve until the universe has formed; then, as a daemon, until its last process has gone, else
 * for a while, since latecomers are to be told. @return 0 formed, else error */
static int serve_one(struct serv *s, struct wio_service *service, bool daemon)
{
    int64_t idle = (int64_t)(s->cfg.serv_idle * 1e9);
    uint64_t seen = 0;
    for (;;) {
        struct wio_service_stats st;
        int rc = wio_service_run(service, idle);
        if (rc == 1)
            break;
        if (rc < 0 && rc != WAITIO_ERR_PEER)
            return rc;
        wio_service_stats(service, &st);
        if (rc == 0 && st.messages == seen)
            return wio_fail(WAITIO_ERR_TIMEOUT, "nobody came for %.0f s (WAITIO_SERV_IDLE)",
                            s->cfg.serv_idle);
        if (rc < 0 && !daemon)
            fprintf(stderr, "waitio-serv: %s\n", wio_last_detail());
        seen = st.messages;
    }
    int rc = wio_service_run(service, daemon ? -1 : GRACE_NS);
    return daemon && rc < 0 ? rc : 0;
}

static int run_daemon(struct serv *s)
{
    struct wio_service *service = NULL;
    int stop_fd = -1, rc = check_free(s);
    if (rc == 0)
        rc = serving_watch_signals(&stop_fd);
    if (rc == 0)
        rc = start_service(s, port_of(s), NULL, stop_fd, &service);
    if (rc != 0)
        return rc;
    fflush(NULL);
    fill_publication(s, wio_service_port(service), 0);
    int pid = wio_os_daemonize();
    if (pid < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, pid, "cannot start the daemon");
    s->pub.pid = pid > 0 ? pid : wio_os_pid();
    if (pid > 0) { /* the daemon listens already: it has our sockets */
        rc = wio_publish_write(s->path, &s->pub);
        if (rc != 0)
            kill(pid, SIGKILL);
        return rc;
    }
    rc = serve_one(s, service, true);
    if (rc != 0)
        wio_warn(&s->log, WIO_C_SERV, "%s", wio_last_error());
    wio_publish_remove(s->path, &s->pub);
    wio_service_stop(service);
    _exit(0);
}

static int run_foreground(struct serv *s)
{
    struct wio_service *service = NULL;
    bool loopback =
        s->host != NULL && (strcmp(s->host, "localhost") == 0 || strncmp(s->host, "127.", 4) == 0);
    int stop_fd = -1, rc = 0;
    if (s->with_stdin) { /* signals end us as they end any program; the other end of stdin ends us
                            in order */
        stop_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        if (stop_fd < 0)
            rc = wio_fail_os(WAITIO_ERR_SYSTEM, -errno, "--with-stdin");
    } else {
        rc = serving_watch_signals(&stop_fd);
    }
    if (rc == 0)
        rc = start_service(s, port_of(s), loopback ? s->host : NULL, stop_fd, &service);
    if (rc != 0)
        return rc;
    if (s->print_port) {
        printf("%u\n", wio_service_port(service));
        fflush(stdout);
    }
    rc = serve_one(s, service, false);
    wio_service_stop(service);
    return rc == WAITIO_ERR_CANCELLED ? 0 : rc;
}

/* ---- main ---- */

static int prepare(struct serv *s)
{
    int rc = serving_load(&s->cfg, &s->log);
    if (rc == 0 && strlen(s->cfg.job_id) > 63)
        rc = wio_fail(WAITIO_ERR_CONFIG, "WAITIO_JOB_ID='%.80s' is longer than 63 characters",
                      s->cfg.job_id);
    if (rc == 0)
        rc = wio_secret_load(&s->secret, &s->cfg, &s->log);
    if (rc == 0 && s->action != ACT_FOREGROUND && s->action != ACT_STATE)
        rc = wio_publish_path(&s->cfg, s->cfg.job_id,
                              s->action == ACT_DAEMON || s->action == ACT_PUBLISH, s->path,
                              sizeof s->path);
    return rc;
}

int main(int argc, char **argv)
{
    struct serv *s = calloc(1, sizeof *s);
    if (s == NULL)
        return 1;
    s->timeout_s = WAIT_DEFAULT_S;
    s->port = -1;
    int rc = parse_args(s, argc, argv);
    if (rc != 0) {
        free(s);
        return rc - 1;
    }
    rc = prepare(s);
    if (rc == 0) {
        switch (s->action) {
        case ACT_PUBLISH:
            rc = publish_only(s);
            break;
        case ACT_DAEMON:
            rc = run_daemon(s);
            break;
        case ACT_CHECK:
            rc = check(s);
            break;
        case ACT_KILL:
            rc = kill_old(s);
            break;
        case ACT_STATE:
            rc = print_state(s);
            break;
        default:
            rc = run_foreground(s);
        }
    }
    rc = rc != 0 ? complain() : 0;
    free(s);
    return rc;
}
