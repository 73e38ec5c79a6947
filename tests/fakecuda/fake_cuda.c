/* SPDX-License-Identifier: BSD-3-Clause
 * The part of CUDA's driver that the Python package and its tests call, without a device.
 *
 * Memory "on the device" is mapped twice: where the caller sees it nobody may read or write, so
 * that a pointer taken for one of the host ends the program; the second place is known here only.
 * Work on a stream waits until somebody synchronises with that stream: copies from pageable host
 * memory too, which the true driver may return from before they are over. What a real driver lets
 * pass by luck is an error here: a context of another device, or none.
 *
 * FAKE_CUDA_FAIL=cuMemcpyDtoH_v2=700@2   the second call of that function returns 700
 * FAKE_CUDA_DEVICES=2                    number of devices
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    ILLEGAL_ADDRESS = 700,
    UNKNOWN = 999
};

enum { DEVICES = 4, BLOCKS = 256, JOBS = 256, STREAMS = 64, DEPTH = 8, NAMES = 32 };
enum { CONTEXT_OF_POINTER = 1, DEVICE_OF_POINTER = 9 };
static const uintptr_t legacy = 1, per_thread = 2, first_stream = 0x1000;

struct context {
    int device, retained;
};

struct block {
    uintptr_t at; /* as the caller sees it; 0: free */
    size_t size;
    char *alias; /* the same memory, for us */
    struct context *context;
    bool unnamed; /* asking for its context gives none, and this result */
    int result;
};

struct job {
    uintptr_t stream;
    char *to, *data;
    size_t n;
};

struct calls {
    const char *name;
    long n;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context primary[DEVICES];
static struct block blocks[BLOCKS];
static struct job jobs[JOBS];
static size_t njobs, nstreams;
static struct calls calls[NAMES];
static bool ready;
static _Thread_local struct context *stack[DEPTH];
static _Thread_local size_t depth;

API const char *fake_cuda(void);
API long fake_calls(const char *name);
API size_t fake_depth(void);
API int fake_retained(int device);
API int fake_peek(void *to, uintptr_t at, size_t n);
API int fake_hide_context(uintptr_t at, int result);
API void fake_let_go(void *capsule);
API int cuInit(unsigned int flags);
API int cuGetErrorName(int code, const char **name);
API int cuDeviceGet(int *device, int ordinal);
API int cuDevicePrimaryCtxRetain(struct context **context, int device);
API int cuDevicePrimaryCtxRelease_v2(int device);
API int cuCtxPushCurrent_v2(struct context *context);
API int cuCtxPopCurrent_v2(struct context **context);
API int cuPointerGetAttribute(void *value, int attribute, uintptr_t at);
API int cuMemAlloc_v2(uintptr_t *at, size_t size);
API int cuMemFree_v2(uintptr_t at);
API int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t n);
API int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t n);
API int cuMemsetD8Async(uintptr_t at, unsigned char value, size_t n, uintptr_t stream);
API int cuStreamCreate(uintptr_t *stream, unsigned int flags);
API int cuStreamSynchronize(uintptr_t stream);

/* Counts the call and returns what it has to fail with, or 0; called and left with the lock held.
 */
static int enter(const char *name)
{
    const char *fail = getenv("FAKE_CUDA_FAIL");
    size_t i = 0, length = strlen(name);
    long nth = 0;
    int code = 0;

    pthread_mutex_lock(&lock);
    while (i < NAMES - 1 && calls[i].name != NULL && strcmp(calls[i].name, name) != 0)
        i++;
    calls[i].name = name;
    calls[i].n++;
    if (fail != NULL && strncmp(fail, name, length) == 0 && fail[length] == '=') {
        char *end;

        code = (int)strtol(fail + length + 1, &end, 10);
        nth = *end == '@' ? strtol(end + 1, NULL, 10) : calls[i].n;
        if (nth != calls[i].n)
            code = 0;
    }
    if (code == 0 && !ready && strcmp(name, "cuInit") != 0)
        code = NOT_INITIALIZED;
    return code;
}

static int leave(int code)
{
    pthread_mutex_unlock(&lock);
    return code;
}

static int devices(void)
{
    const char *given = getenv("FAKE_CUDA_DEVICES");
    long n = given == NULL ? 2 : strtol(given, NULL, 10);

    return n < 0 || n > DEVICES ? DEVICES : (int)n;
}

static struct block *find(uintptr_t at)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        if (blocks[i].at != 0 && at >= blocks[i].at && at < blocks[i].at + blocks[i].size)
            return &blocks[i];
    }
    return NULL;
}

/* Our view of device memory that a call of this thread may use now. */
static int reach(uintptr_t at, size_t n, char **alias)
{
    struct block *b = find(at);

    if (depth == 0)
        return INVALID_CONTEXT;
    if (b == NULL || n > b->size - (at - b->at))
        return INVALID_VALUE;
    if (b->context->device != stack[depth - 1]->device)
        return INVALID_CONTEXT;
    *alias = b->alias + (at - b->at);
    return SUCCESS;
}

static int add_job(uintptr_t stream, char *to, const void *from, int value, size_t n)
{
    struct job *j = &jobs[njobs];

    if (njobs == JOBS)
        return OUT_OF_MEMORY;
    *j = (struct job){stream, to, malloc(n > 0 ? n : 1), n};
    if (j->data == NULL)
        return OUT_OF_MEMORY;
    if (from != NULL)
        memcpy(j->data, from, n);
    else
        memset(j->data, value, n);
    njobs++;
    return SUCCESS;
}

static void run_jobs(uintptr_t stream)
{
    size_t kept = 0;

    for (size_t i = 0; i < njobs; i++) {
        if (jobs[i].stream != stream) {
            jobs[kept++] = jobs[i];
            continue;
        }
        memcpy(jobs[i].to, jobs[i].data, jobs[i].n);
        free(jobs[i].data);
    }
    njobs = kept;
}

/* ---- what tests ask ---- */

/* Tells this library from the true one. */
API const char *fake_cuda(void)
{
    return "fake";
}

API long fake_calls(const char *name)
{
    long n = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < NAMES && calls[i].name != NULL; i++) {
        if (strcmp(calls[i].name, name) == 0)
            n = calls[i].n;
    }
    pthread_mutex_unlock(&lock);
    return n;
}

/* Contexts that this thread has pushed. */
API size_t fake_depth(void)
{
    return depth;
}

API int fake_retained(int device)
{
    return primary[device].retained;
}

/* Reads device memory as it is: work that waits stays undone. */
API int fake_peek(void *to, uintptr_t at, size_t n)
{
    struct block *b;
    int code = SUCCESS;

    pthread_mutex_lock(&lock);
    b = find(at);
    if (b == NULL || n > b->size - (at - b->at))
        code = INVALID_VALUE;
    else
        memcpy(to, b->alias + (at - b->at), n);
    return leave(code);
}

/* Destructor of capsules, for tests that count them. */
API void fake_let_go(void *capsule)
{
    (void)capsule;
    (void)enter("fake_let_go");
    (void)leave(SUCCESS);
}

/* From now on asking for the context of this memory returns `result` and gives none: as for memory
   of cuMemAllocAsync, or such that was mapped by hand. */
API int fake_hide_context(uintptr_t at, int result)
{
    struct block *b;

    pthread_mutex_lock(&lock);
    b = find(at);
    if (b != NULL) {
        b->unnamed = true;
        b->result = result;
    }
    return leave(b == NULL ? INVALID_VALUE : SUCCESS);
}

/* ---- the driver ---- */

API int cuInit(unsigned int flags)
{
    int code = enter("cuInit");

    if (code == SUCCESS)
        code = flags != 0 ? INVALID_VALUE : devices() == 0 ? NO_DEVICE : SUCCESS;
    ready = ready || code == SUCCESS;
    return leave(code);
}

API int cuGetErrorName(int code, const char **name)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {
        {SUCCESS, "CUDA_SUCCESS"},
        {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
        {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
        {NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
        {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
        {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
        {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
        {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
        {UNKNOWN, "CUDA_ERROR_UNKNOWN"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].code == code) {
            *name = names[i].name;
            return SUCCESS;
        }
    }
    *name = NULL;
    return INVALID_VALUE;
}

API int cuDeviceGet(int *device, int ordinal)
{
    int code = enter("cuDeviceGet");

    if (code == SUCCESS && (ordinal < 0 || ordinal >= devices()))
        code = INVALID_DEVICE;
    *device = ordinal;
    return leave(code);
}

API int cuDevicePrimaryCtxRetain(struct context **context, int device)
{
    int code = enter("cuDevicePrimaryCtxRetain");

    if (code == SUCCESS && (device < 0 || device >= devices()))
        code = INVALID_DEVICE;
    if (code == SUCCESS) {
        primary[device].device = device;
        primary[device].retained++;
        *context = &primary[device];
    }
    return leave(code);
}

API int cuDevicePrimaryCtxRelease_v2(int device)
{
    int code = enter("cuDevicePrimaryCtxRelease_v2");

    if (code == SUCCESS && (device < 0 || device >= devices()))
        code = INVALID_DEVICE;
    if (code == SUCCESS && primary[device].retained-- <= 0)
        code = INVALID_CONTEXT;
    return leave(code);
}

API int cuCtxPushCurrent_v2(struct context *context)
{
    int code = enter("cuCtxPushCurrent_v2");

    if (code == SUCCESS && (context == NULL || context->retained == 0 || depth == DEPTH))
        code = INVALID_CONTEXT;
    if (code == SUCCESS)
        stack[depth++] = context;
    return leave(code);
}

API int cuCtxPopCurrent_v2(struct context **context)
{
    int code = enter("cuCtxPopCurrent_v2");

    if (code == SUCCESS && depth == 0)
        code = INVALID_CONTEXT;
    if (code == SUCCESS)
        *context = stack[--depth];
    return leave(code);
}

API int cuPointerGetAttribute(void *value, int attribute, uintptr_t at)
{
    int code = enter("cuPointerGetAttribute");
    struct block *b = find(at);

    if (code == SUCCESS && b == NULL)
        code = INVALID_VALUE;
    if (code != SUCCESS)
        return leave(code);
    if (attribute == CONTEXT_OF_POINTER) {
        *(struct context **)value = b->unnamed ? NULL : b->context;
        return leave(b->result);
    }
    if (attribute != DEVICE_OF_POINTER)
        return leave(INVALID_VALUE);
    *(int *)value = b->context->device;
    return leave(SUCCESS);
}

/* Maps memory twice: closed at the first place, open at the second. */
static int map_twice(struct block *b, size_t size)
{
    int fd = memfd_create("fake_cuda", MFD_CLOEXEC);
    void *closed, *open;

    if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
        return OUT_OF_MEMORY;
    closed = mmap(NULL, size, PROT_NONE, MAP_SHARED, fd, 0);
    open = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (closed == MAP_FAILED || open == MAP_FAILED)
        return OUT_OF_MEMORY;
    *b = (struct block){(uintptr_t)closed, size, open, stack[depth - 1], false, 0};
    return SUCCESS;
}

API int cuMemAlloc_v2(uintptr_t *at, size_t size)
{
    int code = enter("cuMemAlloc_v2");
    size_t i = 0;

    while (i < BLOCKS && blocks[i].at != 0)
        i++;
    if (code == SUCCESS && depth == 0)
        code = INVALID_CONTEXT;
    if (code == SUCCESS)
        code = size == 0     ? INVALID_VALUE
               : i == BLOCKS ? OUT_OF_MEMORY
                             : map_twice(&blocks[i], size);
    if (code == SUCCESS)
        *at = blocks[i].at;
    return leave(code);
}

API int cuMemFree_v2(uintptr_t at)
{
    int code = enter("cuMemFree_v2");
    struct block *b = find(at);

    if (code == SUCCESS && (b == NULL || b->at != at))
        code = INVALID_VALUE;
    if (code == SUCCESS) {
        while (njobs > 0)
            run_jobs(jobs[0].stream);
        munmap((void *)b->at, b->size);
        munmap(b->alias, b->size);
        b->at = 0;
    }
    return leave(code);
}

API int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t n)
{
    int code = enter("cuMemcpyDtoH_v2");
    char *alias = NULL;

    if (code == SUCCESS)
        code = reach(from, n, &alias);
    if (code == SUCCESS) {
        run_jobs(legacy);
        memcpy(to, alias, n);
    }
    return leave(code);
}

API int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t n)
{
    int code = enter("cuMemcpyHtoD_v2");
    char *alias = NULL;

    if (code == SUCCESS)
        code = reach(to, n, &alias);
    if (code == SUCCESS)
        code = add_job(legacy, alias, from, 0, n);
    return leave(code);
}

API int cuMemsetD8Async(uintptr_t at, unsigned char value, size_t n, uintptr_t stream)
{
    int code = enter("cuMemsetD8Async");
    char *alias = NULL;

    if (code == SUCCESS)
        code = reach(at, n, &alias);
    if (code == SUCCESS)
        code = add_job(stream, alias, NULL, value, n);
    return leave(code);
}

API int cuStreamCreate(uintptr_t *stream, unsigned int flags)
{
    int code = enter("cuStreamCreate");

    if (code == SUCCESS && (flags > 1 || nstreams == STREAMS))
        code = INVALID_VALUE;
    if (code == SUCCESS)
        *stream = first_stream + nstreams++;
    return leave(code);
}

API int cuStreamSynchronize(uintptr_t stream)
{
    int code = enter("cuStreamSynchronize");
    uintptr_t which = stream == 0 ? legacy : stream;

    if (code == SUCCESS && depth == 0)
        code = INVALID_CONTEXT;
    if (code == SUCCESS && which != legacy && which != per_thread &&
        (which < first_stream || which >= first_stream + nstreams))
        code = INVALID_HANDLE;
    if (code == SUCCESS)
        run_jobs(which);
    return leave(code);
}
