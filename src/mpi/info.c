/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints: lists of keys and values. The library keeps them for the program and uses none. */
#include <pthread.h>

#include "mpi/mpi.h"
#include "mpi/names.h"
#include "os/os.h"

struct entry {
    struct entry *next;
    char key[WAITIO_MPI_MAX_INFO_KEY], value[WAITIO_MPI_MAX_INFO_VAL];
};

struct info {
    struct entry *first; /* in the order in which they were set */
    int number;
};

static struct wio_names names = WIO_NAMES_INIT;

/* What is known about this process: made when it is first asked for, never freed. */
static struct {
    pthread_mutex_t lock;
    WAITIO_MPI_Info number;
} env = {.lock = PTHREAD_MUTEX_INITIALIZER};

static WAITIO_MPI_Info number_of_env(void)
{
    WAITIO_MPI_Info number;

    pthread_mutex_lock(&env.lock);
    if (env.number == WAITIO_MPI_INFO_NULL)
        (void)WAITIO_MPI_Info_create_env(0, NULL, &env.number);
    number = env.number;
    pthread_mutex_unlock(&env.lock);
    return number;
}

static struct info *info_of(WAITIO_MPI_Info info)
{
    struct info *i = wio_names_find(&names, info == WAITIO_MPI_INFO_ENV ? number_of_env() : info);

    if (i == NULL && info == WAITIO_MPI_INFO_NULL)
        wio_fail(WAITIO_ERR_ARG, "the info object is WAITIO_MPI_INFO_NULL");
    else if (i == NULL)
        wio_fail(WAITIO_ERR_ARG, "%d is not an info object, or was freed", info);
    return i;
}

/* The object of a call that changes it. */
static struct info *own_info(WAITIO_MPI_Info info)
{
    if (info != WAITIO_MPI_INFO_ENV)
        return info_of(info);
    wio_fail(WAITIO_ERR_ARG, "WAITIO_MPI_INFO_ENV cannot be changed or freed: change a duplicate");
    return NULL;
}

/* The object of a call, which must name a key. */
static struct info *info_with(WAITIO_MPI_Info info, const char *key)
{
    return wio_mpi_need("key", key) != 0 ? NULL : info_of(info);
}

/* Check the pointer that a call on @p i reads or writes. @return @p i or NULL */
static struct info *given(struct info *i, const char *what, const void *a, const char *also,
                          const void *b)
{
    return i == NULL || wio_mpi_need_both(what, a, also, b) != 0 ? NULL : i;
}

/* The link that points to a key, or the last one. */
static struct entry **place_of(struct info *i, const char *key)
{
    struct entry **at = &i->first;

    while (*at != NULL && strcmp((*at)->key, key) != 0)
        at = &(*at)->next;
    return at;
}

static void drop(struct entry **at)
{
    struct entry *e = *at;

    *at = e->next;
    wio_os_free(e);
}

int WAITIO_MPI_Info_create(WAITIO_MPI_Info *info)
{
    struct info *i = wio_mpi_need("info", info) != 0 ? NULL : wio_os_alloc(sizeof *i);
    int rc = info == NULL ? WAITIO_ERR_ARG
             : i == NULL  ? wio_fail(WAITIO_ERR_NOMEM, "no memory for an info object")
                          : wio_names_add(&names, i, "info object", &i->number);

    if (rc == 0)
        *info = i->number;
    else
        wio_os_free(i);
    return wio_mpi_result("WAITIO_MPI_Info_create", rc);
}

int WAITIO_MPI_Info_free(WAITIO_MPI_Info *info)
{
    struct info *i = wio_mpi_need("info", info) != 0 ? NULL : own_info(*info);

    if (i == NULL)
        return wio_mpi_result("WAITIO_MPI_Info_free", WAITIO_ERR_ARG);
    wio_names_drop(&names, *info);
    while (i->first != NULL)
        drop(&i->first);
    wio_os_free(i);
    *info = WAITIO_MPI_INFO_NULL;
    return 0;
}

static int set(struct info *i, const char *key, const char *value)
{
    struct entry **at = place_of(i, key);

    if (strlen(key) >= sizeof(*at)->key || strlen(value) >= sizeof(*at)->value)
        return wio_fail(WAITIO_ERR_ARG, "info key of %zu or value of %zu characters: too long",
                        strlen(key), strlen(value));
    if (*at == NULL) {
        *at = wio_os_alloc(sizeof **at);
        if (*at == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for an info key");
        wio_text((*at)->key, sizeof(*at)->key, "%s", key);
    }
    wio_text((*at)->value, sizeof(*at)->value, "%s", value);
    return 0;
}

int WAITIO_MPI_Info_set(WAITIO_MPI_Info info, const char *key, const char *value)
{
    struct info *i = given(own_info(info), "key", key, "value", value);

    return wio_mpi_result("WAITIO_MPI_Info_set", i == NULL ? WAITIO_ERR_ARG : set(i, key, value));
}

int WAITIO_MPI_Info_delete(WAITIO_MPI_Info info, const char *key)
{
    struct info *i = wio_mpi_need("key", key) != 0 ? NULL : own_info(info);
    struct entry **at = i == NULL ? NULL : place_of(i, key);
    int rc = at == NULL    ? WAITIO_ERR_ARG
             : *at == NULL ? wio_fail(WAITIO_ERR_ARG, "the info object has no key '%s'", key)
                           : 0;

    if (rc == 0)
        drop(at);
    return wio_mpi_result("WAITIO_MPI_Info_delete", rc);
}

int WAITIO_MPI_Info_dup(WAITIO_MPI_Info info, WAITIO_MPI_Info *out)
{
    struct info *i = info_of(info);
    int rc = i == NULL ? WAITIO_ERR_ARG : WAITIO_MPI_Info_create(out);

    for (const struct entry *e = rc == 0 ? i->first : NULL; rc == 0 && e != NULL; e = e->next)
        rc = set(info_of(*out), e->key, e->value);
    return wio_mpi_result("WAITIO_MPI_Info_dup", rc);
}

/* A hint that this process knows, cut at the longest value; none if it is empty. */
static int know(WAITIO_MPI_Info info, const char *key, const char *value)
{
    char text[WAITIO_MPI_MAX_INFO_VAL];

    wio_text(text, sizeof text, "%s", value);
    return text[0] == '\0' ? 0 : WAITIO_MPI_Info_set(info, key, text);
}

/* The arguments with blanks in between. */
static void join_arguments(int argc, char *argv[], char *out, size_t room)
{
    size_t at = 0;

    out[0] = '\0';
    for (int k = 1; k < argc && argv[k] != NULL && at < room - 1; k++) {
        wio_text(out + at, room - at, at > 0 ? " %s" : "%s", argv[k]);
        at += strlen(out + at);
    }
}

int WAITIO_MPI_Info_create_env(int argc, char *argv[], WAITIO_MPI_Info *info)
{
    char arguments[WAITIO_MPI_MAX_INFO_VAL], host[256] = "", folder[WAITIO_MPI_MAX_INFO_VAL] = "";
    bool named = argv != NULL && argc > 0 && argv[0] != NULL;
    int rc = WAITIO_MPI_Info_create(info);

    if (rc != 0)
        return rc;
    join_arguments(named ? argc : 0, argv, arguments, sizeof arguments);
    (void)wio_os_hostname(host, sizeof host);
    (void)wio_os_working_directory(folder, sizeof folder);
    if (know(*info, "command", named ? argv[0] : "") != 0 || know(*info, "argv", arguments) != 0 ||
        know(*info, "host", host) != 0 || know(*info, "wdir", folder) != 0 ||
        know(*info, "thread_level", "MPI_THREAD_MULTIPLE") != 0) {
        (void)WAITIO_MPI_Info_free(info);
        return wio_mpi_result("WAITIO_MPI_Info_create_env", WAITIO_ERR_NOMEM);
    }
    return 0;
}

int WAITIO_MPI_Info_get(WAITIO_MPI_Info info, const char *key, int room, char *value, int *flag)
{
    struct info *i = given(info_with(info, key), "value", value, "flag", flag);
    const struct entry *e = i == NULL ? NULL : *place_of(i, key);

    if (i != NULL)
        *flag = e != NULL;
    if (e != NULL) /* room does not count the end of the text */
        wio_text(value, room < 0 ? 1 : (size_t)room + 1, "%s", e->value);
    return wio_mpi_result("WAITIO_MPI_Info_get", i == NULL ? WAITIO_ERR_ARG : 0);
}

int WAITIO_MPI_Info_get_string(WAITIO_MPI_Info info, const char *key, int *room, char *value,
                               int *flag)
{
    struct info *i = given(info_with(info, key), "room", room, "flag", flag);
    const struct entry *e = i == NULL ? NULL : *place_of(i, key);
    int rc = i == NULL ? WAITIO_ERR_ARG : 0;

    if (rc == 0 && *room > 0 && value == NULL)
        rc = wio_fail(WAITIO_ERR_ARG, "room for %d characters, but value is NULL", *room);
    if (rc == 0)
        *flag = e != NULL;
    if (rc == 0 && e != NULL) {
        if (*room > 0)
            wio_text(value, (size_t)*room, "%s", e->value);
        *room = (int)strlen(e->value) + 1;
    }
    return wio_mpi_result("WAITIO_MPI_Info_get_string", rc);
}

int WAITIO_MPI_Info_get_valuelen(WAITIO_MPI_Info info, const char *key, int *length, int *flag)
{
    struct info *i = given(info_with(info, key), "length", length, "flag", flag);
    const struct entry *e = i == NULL ? NULL : *place_of(i, key);

    if (i != NULL)
        *flag = e != NULL;
    if (e != NULL)
        *length = (int)strlen(e->value);
    return wio_mpi_result("WAITIO_MPI_Info_get_valuelen", i == NULL ? WAITIO_ERR_ARG : 0);
}

int WAITIO_MPI_Info_get_nkeys(WAITIO_MPI_Info info, int *n)
{
    const struct info *i = given(info_of(info), "count", n, "count", n);

    if (i != NULL)
        *n = 0;
    for (const struct entry *e = i == NULL ? NULL : i->first; e != NULL; e = e->next)
        ++*n;
    return wio_mpi_result("WAITIO_MPI_Info_get_nkeys", i == NULL ? WAITIO_ERR_ARG : 0);
}

int WAITIO_MPI_Info_get_nthkey(WAITIO_MPI_Info info, int n, char *key)
{
    const struct info *i = info_with(info, key);
    const struct entry *e = i == NULL ? NULL : i->first;
    int rc = i == NULL ? WAITIO_ERR_ARG : 0;

    for (int k = 0; e != NULL && k < n; k++)
        e = e->next;
    if (rc == 0 && (e == NULL || n < 0))
        rc = wio_fail(WAITIO_ERR_ARG, "the info object has no key number %d", n);
    if (rc == 0)
        wio_text(key, WAITIO_MPI_MAX_INFO_KEY, "%s", e->key);
    return wio_mpi_result("WAITIO_MPI_Info_get_nthkey", rc);
}
