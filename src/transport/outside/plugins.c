/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file plugins.c
 * Libraries that bring transports. Which one to load is decided by a note in its file, because
 * loading brings in the network's own library, and two MPIs in one process do not get along.
 */
#include <stdlib.h>

#include "os/os.h"
#include "transport/outside/outside.h"

#define NOTE_WORD "WAITIO-PLUGIN "
enum { BLOCK = 65536, NOTE_MAX = 1024 };
/* From the folder of a program that holds libwaitio to that of our libraries. */
#ifndef WIO_LIBRARIES
#define WIO_LIBRARIES "lib"
#endif

/* ---- notes ---- */

/* The value of a part "key=value;". @return false: there is none */
static bool part(const char *note, const char *key, char *buf, size_t n)
{
    size_t len = strlen(key);
    for (const char *at = note; at != NULL && *at != '\0'; at = strchr(at, ';'), at += at != NULL) {
        if (strncmp(at, key, len) != 0 || at[len] != '=')
            continue;
        size_t got = strcspn(at + len + 1, ";");
        wio_text(buf, n, "%.*s", (int)got, at + len + 1);
        return true;
    }
    buf[0] = '\0';
    return false;
}

static int parse_note(const char *text, struct wio_outside_note *note)
{
    char version[16];
    if (!part(text, "version", version, sizeof version) ||
        !part(text, "transport", note->transport, sizeof note->transport))
        return wio_fail(WAITIO_ERR_CONFIG, "the note in %s is malformed", note->path);
    note->version = (int)strtol(version, NULL, 10);
    (void)part(text, "for", note->about, sizeof note->about);
    (void)part(text, "library", note->library, sizeof note->library);
    (void)part(text, "when", note->when, sizeof note->when);
    (void)part(text, "rivals", note->rivals, sizeof note->rivals);
    return 0;
}

/* The note in a block of a file: behind the word stands "version=". NULL: none that begins here. */
static const char *note_in(const char *block, size_t n)
{
    /* In two parts, so that this file itself has no note. */
    static const char word[] = NOTE_WORD, key[] = "version=";
    enum { WORD = sizeof word - 1, KEY = sizeof key - 1 };
    const char *at = block, *end = block + n;
    while (at + WORD + KEY <= end) {
        at = memchr(at, word[0], (size_t)(end - at) - (WORD + KEY - 1));
        if (at == NULL)
            return NULL;
        if (memcmp(at, word, WORD) == 0 && memcmp(at + WORD, key, KEY) == 0)
            return at + WORD;
        at++;
    }
    return NULL;
}

/* Blocks overlap by what a note may have. */
static int find_note(int fd, char *block, struct wio_outside_note *note)
{
    size_t have = 0;
    for (;;) {
        ssize_t got = wio_os_read(fd, block + have, BLOCK - have);
        if (got < 0)
            return wio_fail_os(WAITIO_ERR_SYSTEM, (int)got, "cannot read %s", note->path);
        have += (size_t)got;
        const char *text = note_in(block, have);
        bool whole = text != NULL && (got == 0 || (size_t)(text - block) + NOTE_MAX < have);
        if (whole) {
            block[have] = '\0';
            return parse_note(text, note);
        }
        if (got == 0)
            return wio_fail(WAITIO_ERR_CONFIG,
                            "%s is no library with a transport: it has no note of "
                            "WAITIO_PLUGIN_NOTE (waitio_transport.h)",
                            note->path);
        if (have == BLOCK) {
            memmove(block, block + have - 2 * NOTE_MAX, 2 * NOTE_MAX);
            have = 2 * NOTE_MAX;
        }
    }
}

int wio_outside_read_note(const char *path, struct wio_outside_note *note)
{
    *note = (struct wio_outside_note){0};
    wio_text(note->path, sizeof note->path, "%s", path);
    int fd = wio_os_open_read(path);
    if (fd < 0)
        return wio_fail_os(WAITIO_ERR_CONFIG, fd, "cannot open %s", path);
    char *block = wio_os_alloc(BLOCK + 1);
    int rc = block == NULL ? wio_fail(WAITIO_ERR_NOMEM, "no memory to read %s", path)
                           : find_note(fd, block, note);
    wio_os_free(block);
    wio_os_close(fd);
    return rc;
}

/* ---- where they lie ---- */

struct listing {
    const char *folder;
    void (*each)(void *arg, const struct wio_outside_note *note);
    void *arg;
};

static void look_at(void *arg, const char *name)
{
    struct listing *l = arg;
    struct wio_outside_note note;
    char path[512];
    size_t n = strlen(name);
    if (strncmp(name, "libwaitio_", 10) != 0 || n < 3 || strcmp(name + n - 3, ".so") != 0)
        return;
    wio_text(path, sizeof path, "%s/%s", l->folder, name);
    if (wio_outside_read_note(path, &note) == 0)
        l->each(l->arg, &note);
}

static bool here(char *folder, size_t n)
{
    return wio_os_library_folder((const void *)&wio_outside_host, folder, n) == 0;
}

void wio_outside_each(void (*each)(void *arg, const struct wio_outside_note *note), void *arg)
{
    /* The last two are for a program that contains libwaitio.a: built, and installed. */
    static const char *const places[] = {".", "../lib", ("../" WIO_LIBRARIES)};
    uint64_t seen[WIO_ARRAY_LEN(places)] = {0};
    char mine[400], folder[512];
    if (!here(mine, sizeof mine))
        return;
    for (size_t i = 0; i < WIO_ARRAY_LEN(places); i++) {
        struct wio_os_stat st;
        wio_text(folder, sizeof folder, "%s%s%s", mine, i > 0 ? "/" : "", i > 0 ? places[i] : "");
        bool again = wio_os_stat(folder, &st) != 0;
        for (size_t k = 0; k < i; k++)
            again = again || seen[k] == st.inode;
        if (again)
            continue;
        seen[i] = st.inode;
        struct listing l = {.folder = folder, .each = each, .arg = arg};
        (void)wio_os_list(folder, look_at, &l);
    }
}

/* ---- loading ---- */

/* Call @p is with each word of a comma list. @return the first for which it is true, in @p word */
static bool any(const char *list, bool (*is)(const char *), char *word, size_t n)
{
    for (const char *at = list; *at != '\0';) {
        size_t len = strcspn(at, ",");
        wio_text(word, n, "%.*s", (int)len, at);
        if (is(word))
            return true;
        at += len + (at[len] == ',');
    }
    return false;
}

static bool is_set(const char *variable)
{
    return wio_os_getenv(variable) != NULL;
}

/* Two libraries with the same functions in one process end in a crash. */
static int check_rivals(const struct wio_outside_note *note)
{
    char other[96];
    if (wio_os_library_is_loaded(note->library) ||
        !any(note->rivals, wio_os_library_is_loaded, other, sizeof other))
        return 0;
    return wio_fail(WAITIO_ERR_UNSUPPORTED,
                    "%s was built for %s (%s), but the program runs with %s: name the library for "
                    "that one in WAITIO_PLUGINS (waitio info lists them), or build it (cmake "
                    "-DWAITIO_MPI=<the mpicc that the program was built with>)",
                    note->path, note->about, note->library, other);
}

static int load(const struct wio_outside_note *note, struct wio_log *lg)
{
    char why[512];
    int rc = check_rivals(note);
    if (rc != 0)
        return rc;
    if (note->version != WAITIO_TRANSPORT_VERSION)
        return wio_fail(WAITIO_ERR_VERSION,
                        "%s was built for version %d of waitio_transport.h, this libwaitio has "
                        "version %d: install the one that belongs to this libwaitio",
                        note->path, note->version, WAITIO_TRANSPORT_VERSION);
    void *lib = wio_os_library_open(note->path, why, sizeof why);
    if (lib == NULL)
        return wio_fail(WAITIO_ERR_CONFIG, "cannot load %s: %s", note->path, why);
    void *entry = wio_os_library_symbol(lib, "waitio_plugin");
    if (entry == NULL)
        return wio_fail(WAITIO_ERR_CONFIG, "%s does not export waitio_plugin()", note->path);
    const struct waitio_transport *(*plugin)(const struct waitio_host *);
    memcpy(&plugin, &entry, sizeof plugin);
    const struct waitio_transport *t = plugin(&wio_outside_host);
    if (t == NULL) {
        wio_text(why, sizeof why, "%s", wio_last_detail());
        return wio_fail(WAITIO_ERR_UNSUPPORTED, "%s: %s", note->path, why);
    }
    rc = wio_outside_register(t);
    if (rc == 0)
        wio_info(lg, WIO_C_CONFIG, "transport %s from %s (%s)", t->name, note->path,
                 t->about != NULL ? t->about : "");
    return rc;
}

struct wanted {
    const char *name;
    size_t len;
    struct wio_outside_note note;
    bool found;
};

/* "emulator_openmpi" and "libwaitio_emulator_openmpi.so" name the same file. */
static void is_it(void *arg, const struct wio_outside_note *note)
{
    struct wanted *w = arg;
    const char *slash = strrchr(note->path, '/'), *name = slash != NULL ? slash + 1 : note->path;
    char full[600];
    wio_text(full, sizeof full, "libwaitio_%.*s.so", (int)w->len, w->name);
    bool same = strlen(name) == w->len && strncmp(name, w->name, w->len) == 0;
    if (!w->found && (same || strcmp(name, full) == 0)) {
        w->note = *note;
        w->found = true;
    }
}

/* One entry of WAITIO_PLUGINS. */
static int load_named(const char *name, size_t len, struct wio_log *lg)
{
    struct wanted w = {.name = name, .len = len};
    char path[512];
    wio_text(path, sizeof path, "%.*s", (int)len, name);
    if (memchr(name, '/', len) != NULL) {
        int rc = wio_outside_read_note(path, &w.note);
        return rc != 0 ? rc : load(&w.note, lg);
    }
    wio_outside_each(is_it, &w);
    if (w.found)
        return load(&w.note, lg);
    char folder[400] = "?";
    (void)here(folder, sizeof folder);
    return wio_fail(WAITIO_ERR_CONFIG,
                    "WAITIO_PLUGINS: there is no library %s beside libwaitio (%s); waitio info "
                    "lists those there are, a path with a / names any other",
                    path, folder);
}

/* ---- choosing the one for WAITIO_COMM_TYPE and WAITIO_INSIDE ---- */

struct choice {
    const char *transport;
    int best, ties, seen;
    struct wio_outside_note note;
    char names[512];
};

/* The network's library in this process counts more than the launcher's variables. */
static void weigh(void *arg, const struct wio_outside_note *note)
{
    struct choice *c = arg;
    char word[96];
    if (strcmp(note->transport, c->transport) != 0)
        return;
    int score = note->library[0] != '\0' && wio_os_library_is_loaded(note->library) ? 2
                : any(note->when, is_set, word, sizeof word)                        ? 1
                                                                                    : 0;
    size_t at = strlen(c->names);
    const char *slash = strrchr(note->path, '/');
    wio_text(c->names + at, sizeof c->names - at, "%s%s", at > 0 ? ", " : "",
             slash != NULL ? slash + 1 : note->path);
    c->seen++;
    if (score > c->best) {
        c->best = score;
        c->ties = 0;
        c->note = *note;
    }
    c->ties += score == c->best;
}

static int none_here(const char *setting)
{
    char folder[400] = "?";
    (void)here(folder, sizeof folder);
    return wio_fail(WAITIO_ERR_CONFIG,
                    "%s needs a library libwaitio_emulator_<mpi>.so, and there is none beside "
                    "libwaitio (%s): build WaitIO where the MPI's mpicc is found (cmake "
                    "-DWAITIO_MPI=mpicc), or name the file in WAITIO_PLUGINS",
                    setting, folder);
}

/* One for the whole universe: a process that nothing started starts a job of its own. */
static int load_for_all(const struct choice *c, struct wio_log *lg)
{
    static const char setting[] = "WAITIO_COMM_TYPE=mpi";
    if (c->seen == 0)
        return none_here(setting);
    if (c->ties == 1)
        return load(&c->note, lg);
    return wio_fail(WAITIO_ERR_CONFIG,
                    "%s: %s would do, and nothing in this process shows which one is meant: name "
                    "it in WAITIO_PLUGINS",
                    setting, c->names);
}

/* One for the MPI job that this process belongs to. */
static int load_for_inside(const struct choice *c, const struct wio_config *cfg, struct wio_log *lg)
{
    bool must = cfg->inside == WIO_CFG_INSIDE_MPI;
    int rc = 0;
    if (c->seen == 0)
        rc = none_here(must ? "WAITIO_INSIDE=mpi" : "WAITIO_INSIDE=auto");
    else if (c->best <= (must ? 0 : 1)) /* auto: the program itself uses the MPI, or nobody does */
        rc = wio_fail(WAITIO_ERR_CONFIG,
                      "WAITIO_INSIDE: this process %s, so there is no MPI for the messages inside "
                      "(there are libraries for others: %s)%s",
                      must ? "was not started by an MPI, and uses none"
                           : "uses no MPI that WaitIO "
                             "has a library for",
                      c->names,
                      must ? ": start it by mpiexec, or take WAITIO_INSIDE=auto, which uses an MPI "
                             "where there is one"
                           : "");
    else if (c->ties > 1)
        rc = wio_fail(WAITIO_ERR_CONFIG,
                      "WAITIO_INSIDE: of %s more than one would do: name the one that is meant in "
                      "WAITIO_PLUGINS",
                      c->names);
    else
        rc = load(&c->note, lg);
    if (rc == 0 || must)
        return rc;
    wio_info(lg, WIO_C_CONFIG, "no messages by MPI: %s", wio_last_detail());
    return 0;
}

static int load_mpi(const struct wio_config *cfg, struct wio_log *lg)
{
    struct choice c = {.transport = "mpi", .best = -1};
    bool all = cfg->comm_type == WIO_CFG_COMM_TYPE_MPI;
    if ((!all && cfg->inside == WIO_CFG_INSIDE_OFF) || wio_outside_at(WAITIO_PLACE_MPI) != NULL)
        return 0;
    wio_outside_each(weigh, &c);
    return all ? load_for_all(&c, lg) : load_for_inside(&c, cfg, lg);
}

int wio_outside_load(const struct wio_config *cfg, struct wio_log *lg)
{
    int rc = 0;
    for (const char *at = cfg->plugins; rc == 0 && *at != '\0';) {
        size_t n = strcspn(at, ":");
        if (n > 0)
            rc = load_named(at, n, lg);
        at += n + (at[n] == ':');
    }
    return rc != 0 ? rc : load_mpi(cfg, lg);
}
