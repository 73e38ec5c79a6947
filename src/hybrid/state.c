/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this process knows of its MPI: is it the right one, is it running, which threads may call
 * it, and which parts have to go when MPI_Finalize() begins.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hybrid/hybrid.h"

#define LIBRARY "libwaitio_hybrid_" WAITIO_MPI_NAME

static struct {
    pthread_mutex_t lock;                 /* of what follows */
    pthread_mutex_t calling;              /* MPI_THREAD_SERIALIZED */
    pthread_t main;                       /* set with `looked` */
    bool looked;                          /* MPI has been asked; changed atomically */
    bool over;                            /* MPI_Finalize() has begun; changed atomically */
    int level;                            /* MPI_THREAD_* */
    struct wio_hybrid_part *parts, **end; /* oldest first */
    char loaded[96];
} state = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .calling = PTHREAD_MUTEX_INITIALIZER, .end = &state.parts};

const char *wio_hybrid_built(void)
{
    return WAITIO_MPI_KIND " " WAITIO_MPI_RELEASE;
}

const char *wio_hybrid_loaded(void)
{
    return state.loaded[0] != '\0' ? state.loaded : wio_hybrid_built();
}

/* MPIs whose libraries take each other's handles. */
enum family { FAMILY_OTHER, FAMILY_OPENMPI, FAMILY_MPICH };

static enum family family_of(const char *text)
{
    static const struct {
        const char *word;
        enum family family;
    } words[] = {{"Open MPI", FAMILY_OPENMPI},
                 {"MPICH", FAMILY_MPICH}, /* MVAPICH and CRAY MPICH, too */
                 {"Intel(R) MPI", FAMILY_MPICH},
                 {"MVAPICH", FAMILY_MPICH}};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(text, words[i].word) != NULL)
            return words[i].family;
    return FAMILY_OTHER;
}

/* "Open MPI v4.1.4, package: ..." and "MPICH Version:\t4.0.2\n..." become a name and a version. */
static void shorten(const char *text, char *out, size_t room)
{
    static const char noise[] = "Version:";
    size_t n = 0;

    while (*text != '\0' && *text != ',' && *text != '\n' && n + 1 < room) {
        if (strncmp(text, noise, sizeof noise - 1) == 0) {
            text += sizeof noise - 1;
            continue;
        }
        char c = *text == '\t' ? ' ' : *text;
        if (c != ' ' || (n > 0 && out[n - 1] != ' '))
            out[n++] = c;
        text++;
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
}

/* Of two MPIs in one process the linker takes each call from the first: handles of the other one
 * would then be nonsense. */
static int right_mpi(char *name, size_t room, struct wio_hybrid_why *why)
{
    char text[16384] = ""; /* as long as any MPI's limit; this one's may be shorter */
    enum family built = family_of(WAITIO_MPI_KIND), loaded;
    int length = 0;

    if (PMPI_Get_library_version(text, &length) != MPI_SUCCESS)
        return wio_hybrid_fail(why, WAITIO_ERR_SYSTEM,
                               "MPI_Get_library_version() failed: is the MPI of this program "
                               "complete?");
    loaded = family_of(text);
    shorten(text, name, room);
    if (built != FAMILY_OTHER && loaded != FAMILY_OTHER && built != loaded)
        return wio_hybrid_fail(
            why, WAITIO_ERR_VERSION,
            LIBRARY " was built for %s, but this program runs with %s: link the library of that "
                    "MPI, or build one for it with `waitio build-hybrid MPICC`",
            wio_hybrid_built(), name);
    return 0;
}

int wio_hybrid_right_mpi(struct wio_hybrid_why *why)
{
    char name[sizeof state.loaded];

    return right_mpi(name, sizeof name, why);
}

/* MPI calls this first in MPI_Finalize(), while communicators can still be freed. */
static int finalizing(MPI_Comm self, int keyval, void *value, void *extra)
{
    struct wio_hybrid_part *part;

    (void)self, (void)keyval, (void)value, (void)extra;
    pthread_mutex_lock(&state.lock);
    __atomic_store_n(&state.over, true, __ATOMIC_RELEASE);
    part = state.parts;
    state.parts = NULL;
    state.end = &state.parts;
    while (part != NULL) {
        struct wio_hybrid_part *next = part->next;
        part->back = NULL;
        (void)PMPI_Comm_free(&part->comm);
        part->comm = MPI_COMM_NULL;
        part->plain = false;
        if (part->unused)
            free(part);
        part = next;
    }
    pthread_mutex_unlock(&state.lock);
    wio_hybrid_folds_free();
    return MPI_SUCCESS;
}

/* With the lock. */
static int look(struct wio_hybrid_why *why)
{
    int keyval = MPI_KEYVAL_INVALID, is_main = 0, rc;

    rc = PMPI_Query_thread(&state.level);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Is_thread_main(&is_main);
    if (rc == MPI_SUCCESS && !is_main && state.level < MPI_THREAD_SERIALIZED)
        return wio_hybrid_fail(why, WAITIO_ERR_STATE,
                               "this thread may not call %s: it was initialised without "
                               "MPI_THREAD_MULTIPLE by another thread, from which alone hybrid "
                               "communicators can be used",
                               wio_hybrid_loaded());
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalizing, &keyval, NULL);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_free_keyval(&keyval); /* the attribute keeps it */
    if (rc != MPI_SUCCESS)
        return wio_hybrid_mpi_error(why, rc, "looking at the state");
    wio_hybrid_types_look();
    state.main = pthread_self();
    __atomic_store_n(&state.looked, true, __ATOMIC_RELEASE);
    return 0;
}

int wio_hybrid_ready(struct wio_hybrid_why *why)
{
    int begun = 0, ended = 0, rc = 0;

    if (__atomic_load_n(&state.looked, __ATOMIC_ACQUIRE)) {
        if (!__atomic_load_n(&state.over, __ATOMIC_ACQUIRE))
            return 0;
        return wio_hybrid_fail(why, WAITIO_ERR_STATE,
                               "MPI_Finalize() has been called: hybrid communicators end with "
                               "%s; free them before",
                               wio_hybrid_loaded());
    }
    pthread_mutex_lock(&state.lock);
    rc = right_mpi(state.loaded, sizeof state.loaded, why);
    if (rc == 0)
        (void)PMPI_Initialized(&begun);
    if (rc == 0)
        (void)PMPI_Finalized(&ended);
    if (rc == 0 && (!begun || ended))
        rc = wio_hybrid_fail(why, WAITIO_ERR_STATE, "MPI_%s() has %sbeen called: %s",
                             ended ? "Finalize" : "Init", ended ? "" : "not ",
                             ended ? "make hybrid communicators before it" : "call it before");
    if (rc == 0 && !state.looked)
        rc = look(why);
    pthread_mutex_unlock(&state.lock);
    return rc;
}

int wio_hybrid_may_call(struct wio_hybrid_why *why)
{
    if (__atomic_load_n(&state.over, __ATOMIC_ACQUIRE))
        return wio_hybrid_ready(why);
    if (state.level >= MPI_THREAD_SERIALIZED || pthread_equal(pthread_self(), state.main))
        return 0;
    return wio_hybrid_fail(why, WAITIO_ERR_STATE,
                           "this thread may not call %s, which was initialised with %s: call from "
                           "the thread that called MPI_Init(), or initialise with "
                           "MPI_Init_thread(..., MPI_THREAD_MULTIPLE, ...)",
                           wio_hybrid_loaded(),
                           state.level == MPI_THREAD_SINGLE ? "MPI_THREAD_SINGLE"
                                                            : "MPI_THREAD_FUNNELED");
}

bool wio_hybrid_serialized(void)
{
    return state.level == MPI_THREAD_SERIALIZED;
}

void wio_hybrid_lock(void)
{
    if (wio_hybrid_serialized())
        pthread_mutex_lock(&state.calling);
}

void wio_hybrid_unlock(void)
{
    if (wio_hybrid_serialized())
        pthread_mutex_unlock(&state.calling);
}

/* In the order in which all processes made them, for so they are freed by MPI_Finalize(). */
void wio_hybrid_note(struct wio_hybrid_part *part)
{
    pthread_mutex_lock(&state.lock);
    part->next = NULL;
    part->back = state.end;
    *state.end = part;
    state.end = &part->next;
    pthread_mutex_unlock(&state.lock);
}

bool wio_hybrid_forget(struct wio_hybrid_part *part, bool may_call)
{
    bool mine = true;

    pthread_mutex_lock(&state.lock);
    if (part->back != NULL && !may_call) {
        part->unused = true;
        mine = false;
    } else if (part->back != NULL) {
        *part->back = part->next;
        if (part->next != NULL)
            part->next->back = part->back;
        else
            state.end = part->back;
        part->back = NULL;
    }
    pthread_mutex_unlock(&state.lock);
    return mine;
}
