/* SPDX-License-Identifier: BSD-3-Clause */
/* One line per event, written by one system call, so lines of threads and processes stay whole.
 */
#include <time.h>

#include "base/base.h"
#include "os/os.h"

enum { LINE = 2048, WORD = 64 };

static const char *const level_names[] = {"error", "warn", "info", "debug", "trace"};
static const char *const comp_names[WIO_C_COUNT] = {
    [WIO_C_CONFIG] = "config", [WIO_C_BOOT] = "boot", [WIO_C_AUTH] = "auth", [WIO_C_TCP] = "tcp",
    [WIO_C_P2P] = "p2p",       [WIO_C_API] = "api",   [WIO_C_SERV] = "serv", [WIO_C_SHM] = "shm",
    [WIO_C_FILE] = "file",     [WIO_C_MPI] = "mpi"};

static int find(const char *word, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(word, names[i]) == 0)
            return i;
    return -1;
}

static int unknown_word(const char *what, const char *word, const char *const *names, int n)
{
    struct wio_strbuf list = {0};
    for (int i = 0; i < n; i++)
        wio_strbuf_add(&list, "%s%s", i > 0 ? " " : "", names[i]);
    const char *near = wio_nearest(word, names, n);
    wio_fail(WAITIO_ERR_CONFIG, "WAITIO_LOG: '%s' is no %s%s%s%s (there are: %s)", word, what,
             near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
             near != NULL ? "'" : "", list.text != NULL ? list.text : "");
    wio_strbuf_free(&list);
    return WAITIO_ERR_CONFIG;
}

/** Apply one item, "level" or "component:level", when its kind is the one asked for. */
static int apply(struct wio_log *lg, char *item, bool bare)
{
    char *colon = strchr(item, ':');
    if ((colon == NULL) != bare)
        return 0;
    const char *level_word = bare ? item : colon + 1;
    int comp = -1;
    if (!bare) {
        *colon = '\0';
        comp = find(item, comp_names, WIO_C_COUNT);
        if (comp < 0)
            return unknown_word("component of the log", item, comp_names, WIO_C_COUNT);
    }
    int level = find(level_word, level_names, WIO_ARRAY_LEN(level_names));
    if (level < 0)
        return unknown_word("log level", level_word, level_names, WIO_ARRAY_LEN(level_names));
    for (int c = 0; c < WIO_C_COUNT; c++)
        if (bare || c == comp)
            lg->level[c] = (uint8_t)level;
    return 0;
}

/** Go through the comma list. Blanks are skipped, case is not: every word is ASCII lower case. */
static int parse(struct wio_log *lg, const char *spec, bool bare)
{
    char item[WORD];
    size_t n = 0;
    for (const char *p = spec;; p++) {
        if (*p != ',' && *p != '\0') {
            bool blank = *p == ' ' || *p == '\t';
            if (!blank && n + 1 >= sizeof item)
                return wio_fail(WAITIO_ERR_CONFIG, "WAITIO_LOG: '%.*s...' is too long for a word",
                                (int)n, item);
            if (!blank)
                item[n++] = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
            continue;
        }
        item[n] = '\0';
        int r = n > 0 ? apply(lg, item, bare) : 0;
        if (r != 0 || *p == '\0')
            return r;
        n = 0;
    }
}

/** Whether the file's name waits for the universe rank. */
static bool wants_rank(const char *file)
{
    for (const char *p = strchr(file, '%'); p != NULL && p[1] != '\0'; p = strchr(p + 2, '%'))
        if (p[1] == 'r')
            return true;
    return false;
}

int wio_log_file_name(struct wio_strbuf *out, const char *file, int rank)
{
    for (const char *p = file; *p != '\0'; p++) {
        if (p[0] != '%' || p[1] == '\0')
            wio_strbuf_add(out, "%c", *p);
        else if (*++p == 'r')
            wio_strbuf_add(out, "%d", rank);
        else if (*p == 'p')
            wio_strbuf_add(out, "%lld", (long long)wio_os_pid());
        else
            wio_strbuf_add(out, *p == '%' ? "%%" : "%%%c", *p);
    }
    return out->failed || out->text == NULL ? WAITIO_ERR_NOMEM : 0;
}

int wio_log_open(struct wio_log *lg, const char *file, int universe_rank)
{
    if (file == NULL || file[0] == '\0')
        return 0;
    struct wio_strbuf name = {0};
    if (wio_log_file_name(&name, file, universe_rank) != 0) {
        wio_strbuf_free(&name);
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the name of the log file");
    }
    int fd = wio_os_open_append(name.text);
    FILE *out = fd >= 0 ? fdopen(fd, "a") : NULL;
    int r = 0;
    if (fd < 0)
        r = wio_fail_os(WAITIO_ERR_CONFIG, fd, "WAITIO_LOG_FILE: cannot open '%s'", name.text);
    else if (out == NULL)
        r = wio_fail(WAITIO_ERR_NOMEM, "no memory for the log file '%s'", name.text);
    if (r != 0) {
        wio_os_close(fd);
    } else {
        wio_log_close(lg);
        lg->out = out;
    }
    wio_strbuf_free(&name);
    return r;
}

int wio_log_init(struct wio_log *lg, const char *spec, const char *file)
{
    *lg = (struct wio_log){.out = stderr, .pbid = -1, .pb_rank = -1};
    memset(lg->level, WIO_LOG_WARN, sizeof lg->level);
    int r = 0;
    if (spec != NULL) {
        r = parse(lg, spec, true); /* the bare level is for all, at any place */
        if (r == 0)
            r = parse(lg, spec, false);
    }
    if (r == 0 && file != NULL && !wants_rank(file))
        r = wio_log_open(lg, file, -1);
    return r;
}

void wio_log_close(struct wio_log *lg)
{
    if (lg->out != NULL && lg->out != stderr)
        fclose(lg->out);
    lg->out = stderr;
}

/** Time and identity of this process. @return bytes */
static size_t stamp(const struct wio_log *lg, char *buf, size_t n)
{
    int64_t wall = wio_os_wall_ns();
    time_t seconds = (time_t)(wall / 1000000000);
    struct tm tm;
    memset(&tm, 0, sizeof tm);
    localtime_r(&seconds, &tm);
    char host[65];
    if (wio_os_hostname(host, sizeof host) < 0)
        host[0] = '\0';
    host[strcspn(host, ".")] = '\0';
    size_t used = wio_text(buf, n, "%02d:%02d:%02d.%06d [%s ", tm.tm_hour, tm.tm_min, tm.tm_sec,
                           (int)(wall % 1000000000 / 1000), host);
    if (lg->pbid >= 0)
        used += wio_text(buf + used, n - used, "%d.%d] ", lg->pbid, lg->pb_rank);
    else
        used += wio_text(buf + used, n - used, "pid %lld] ", (long long)wio_os_pid());
    return used;
}

/** Texts quote bytes from strangers: these must not forge a line or control a terminal. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '\n' || c == '\t')
            *text = ' ';
        else if (c < 0x20 || c == 0x7f)
            *text = '?';
    }
}

static void write_line(FILE *out, const char *line, size_t n)
{
    int fd = fileno(out);
    if (fd >= 0) {
        (void)wio_os_write(fd, line, n); /* a failure of the log cannot be reported */
        return;
    }
    fwrite(line, 1, n, out); /* a stream in memory */
    fflush(out);
}

void wio_log_emit(struct wio_log *lg, enum wio_log_comp c, enum wio_log_level l, const char *fmt,
                  ...)
{
    char line[LINE];
    size_t used = lg->out != NULL ? stamp(lg, line, sizeof line) : 0;
    used += wio_text(line + used, sizeof line - used, "%s %s: ", comp_names[c], level_names[l]);
    char *text = line + used;
    size_t room = sizeof line - used - 1; /* one byte stays for the end of the line */
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, room, fmt, ap);
    va_end(ap);
    if (n < 0)
        text[0] = '\0';
    else if ((size_t)n >= room)
        memcpy(text + room - 4, "...", 4);
    make_printable(text);
    if (lg->hook != NULL)
        lg->hook(lg->hook_arg, c, l, text);
    if (lg->out == NULL)
        return;
    used += strlen(text);
    line[used++] = '\n';
    write_line(lg->out, line, used);
}

bool wio_log_gate(struct wio_log_gate *g, int64_t now_ns, char *note, size_t n)
{
    const int64_t minute = INT64_C(60000000000);
    note[0] = '\0';
    if (g->passed == 0 || now_ns - g->since_ns >= minute) {
        g->since_ns = now_ns;
        g->passed = 0;
    }
    if (g->passed >= WIO_GATE_LINES) {
        g->held++;
        return false;
    }
    g->passed++;
    if (g->held > 0)
        wio_text(note, n, " (%llu more like this since the last such line)",
                 (unsigned long long)g->held);
    else if (g->passed == WIO_GATE_LINES)
        wio_text(note, n, " (more of them in this minute are only counted)");
    g->held = 0;
    return true;
}

void wio_log_gate_end(struct wio_log_gate *g, struct wio_log *lg, enum wio_log_comp c,
                      const char *what)
{
    if (g->held > 0)
        wio_warn(lg, c, "%s: %llu more that were not written", what, (unsigned long long)g->held);
    g->held = 0;
}
