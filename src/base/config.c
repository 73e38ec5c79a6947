/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings: defaults, the environment, limits that fit together. */
#include "base/base.h"
#include "base/config_text.h"
#include "os/os.h"

/* Programs of ours that read names of their own. */
static const char *const foreign_prefixes[] = {"WAITIO_LIB_", "WAITIO_TEST_", "WAITIO_BENCH_",
                                               "WAITIO_RUN_"};

static bool is_alias(int i, const char *name)
{
    const char *const *alias = wio_config_defs[i].alias;
    for (; alias != NULL && *alias != NULL; alias++)
        if (strcmp(*alias, name) == 0)
            return true;
    return false;
}

/** Index of a variable by its name or an alias, -1 when there is none. */
static int find(const char *name)
{
    for (int i = 0; i < WIO_CFG_VARS; i++)
        if (strcmp(wio_config_row(i)->name, name) == 0 || is_alias(i, name))
            return i;
    return -1;
}

static const char *nearest_name(const char *name)
{
    const char *names[WIO_CFG_VARS];
    for (int i = 0; i < WIO_CFG_VARS; i++)
        names[i] = wio_config_row(i)->name;
    return wio_nearest(name, names, WIO_CFG_VARS);
}

static int use_default(struct wio_config *cfg, int i)
{
    cfg->source[i] = WIO_SRC_DEFAULT;
    return wio_config_parse(cfg, i, wio_config_row(i)->name, wio_config_row(i)->def, false);
}

void wio_config_defaults(struct wio_config *cfg)
{
    memset(cfg, 0, sizeof *cfg);
    for (int i = 0; i < WIO_CFG_VARS; i++)
        (void)use_default(cfg, i); /* the table's own texts: checked by a unit test */
}

/** Set a variable under the name that the user wrote. Empty text means not set, as in a shell. */
static int set(struct wio_config *cfg, int i, const char *name, const char *text)
{
    if (text[0] == '\0')
        return use_default(cfg, i);
    int r = wio_config_parse(cfg, i, name, text, true);
    if (r == 0)
        cfg->source[i] = WIO_SRC_ENV;
    return r;
}

int wio_config_set(struct wio_config *cfg, const char *name, const char *text)
{
    int i = find(name);
    if (i >= 0)
        return set(cfg, i, name, text);
    const char *near = nearest_name(name);
    if (near == NULL)
        return wio_fail(WAITIO_ERR_CONFIG, "there is no setting '%.80s'", name);
    return wio_fail(WAITIO_ERR_CONFIG, "there is no setting '%.80s', did you mean %s?", name, near);
}

/** Take the main name, else the first alias that is set. */
static int load_one(struct wio_config *cfg, struct wio_log *lg, int i)
{
    const char *name = wio_config_row(i)->name;
    const char *text = wio_os_getenv(name);
    const char *const *alias = wio_config_defs[i].alias;
    for (; alias != NULL && *alias != NULL; alias++) {
        const char *other = wio_os_getenv(*alias);
        if (other == NULL || other[0] == '\0')
            continue;
        if (text == NULL || text[0] == '\0') {
            name = *alias;
            text = other;
        } else if (strcmp(text, other) != 0) {
            wio_warn(lg, WIO_C_CONFIG, "%s=%.80s differs from %s=%.80s, which wins", *alias, other,
                     name, text);
        }
    }
    return text != NULL ? set(cfg, i, name, text) : 0;
}

static bool is_foreign(const char *name)
{
    for (size_t i = 0; i < WIO_ARRAY_LEN(foreign_prefixes); i++)
        if (strncmp(name, foreign_prefixes[i], strlen(foreign_prefixes[i])) == 0)
            return true;
    return false;
}

/** Warn of misspelt variables: the library does not read them. */
static void warn_unknown(struct wio_log *lg)
{
    for (char **env = wio_os_environ(); env != NULL && *env != NULL; env++) {
        char name[128];
        size_t n = strcspn(*env, "=");
        if (strncmp(*env, "WAITIO_", 7) != 0 || n >= sizeof name)
            continue;
        memcpy(name, *env, n);
        name[n] = '\0';
        if (is_foreign(name) || find(name) >= 0)
            continue;
        const char *near = nearest_name(name);
        if (near != NULL)
            wio_warn(lg, WIO_C_CONFIG, "%s is set but means nothing; did you mean %s?", name, near);
        else
            wio_warn(lg, WIO_C_CONFIG, "%s is set but means nothing", name);
    }
}

static uint64_t share(uint64_t part, uint64_t sum, uint64_t budget)
{
    return (uint64_t)((double)part / (double)sum * (double)budget);
}

/** Scale the limits of the big consumers so that their sum is within the budget. */
static int fit_memory(struct wio_config *cfg)
{
    const uint64_t budget = cfg->memory_max;
    const uint64_t low = wio_config_defs[WIO_VAR_SEND_BUFFER_MAX].umin;
    if (budget == 0 ||
        (cfg->send_buffer_max <= budget && cfg->unexpected_max <= budget - cfg->send_buffer_max))
        return 0;
    if (budget < 2 * low)
        return wio_fail(WAITIO_ERR_CONFIG,
                        "WAITIO_MEMORY_MAX=%llu: must be 0 (no limit) or at least %llu bytes",
                        (unsigned long long)budget, (unsigned long long)(2 * low));
    /* as one number that cannot wrap: both limits may be as large as 2^64 - 1 */
    uint64_t sum = cfg->send_buffer_max / 2 + cfg->unexpected_max / 2;
    uint64_t send = share(cfg->send_buffer_max / 2, sum, budget);
    send = send < low ? low : send > budget - low ? budget - low : send;
    cfg->send_buffer_max = send;
    cfg->unexpected_max = budget - send;
    return 0;
}

int wio_config_load(struct wio_config *cfg, struct wio_log *lg)
{
    wio_config_defaults(cfg);
    for (int i = 0; i < WIO_CFG_VARS; i++) {
        int r = load_one(cfg, lg, i);
        if (r != 0)
            return r;
    }
    warn_unknown(lg);
    return fit_memory(cfg);
}
