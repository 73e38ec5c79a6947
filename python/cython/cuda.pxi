# SPDX-License-Identifier: BSD-3-Clause
# The part of CUDA's driver that copies between host and device. It is looked for when the first
# array in device memory is passed: no program needs it to build, and none loads it that has no such
# array.

cdef extern from "dlfcn.h" nogil:
    enum:
        RTLD_NOW
        RTLD_LOCAL
    void *dlopen(const char *name, int flags)
    void *dlsym(void *handle, const char *name)
    const char *dlerror()

# Numbers of cuda.h, which are part of its binary interface.
cdef enum:
    CUDA_CONTEXT_OF_POINTER = 1
    CUDA_DEVICE_OF_POINTER = 9
cdef void *CUDA_LEGACY_STREAM = <void *> 1

ctypedef int (*cuda_init_t)(unsigned int) noexcept nogil
ctypedef int (*cuda_error_name_t)(int, const char **) noexcept nogil
ctypedef int (*cuda_attribute_t)(void *, int, uintptr_t) noexcept nogil
ctypedef int (*cuda_retain_t)(void **, int) noexcept nogil
ctypedef int (*cuda_release_t)(int) noexcept nogil
ctypedef int (*cuda_push_t)(void *) noexcept nogil
ctypedef int (*cuda_pop_t)(void **) noexcept nogil
ctypedef int (*cuda_to_host_t)(void *, uintptr_t, size_t) noexcept nogil
ctypedef int (*cuda_to_device_t)(uintptr_t, const void *, size_t) noexcept nogil
ctypedef int (*cuda_sync_t)(void *) noexcept nogil

cdef struct cuda_driver:
    cuda_init_t init
    cuda_error_name_t error_name
    cuda_attribute_t attribute
    cuda_retain_t retain
    cuda_release_t release
    cuda_push_t push
    cuda_pop_t pop
    cuda_to_host_t to_host
    cuda_to_device_t to_device
    cuda_sync_t sync

cdef cuda_driver cuda
cdef bint cuda_ready = False
cdef object cuda_lock = threading.Lock()


cdef int cuda_symbol(void *handle, const char *name, void **function) except -1:
    function[0] = dlsym(handle, name)
    if function[0] == NULL:
        raise LookupError(f"libcuda.so.1 lacks {name.decode()}")
    return 0


cdef object cuda_says(const char *call, int code):
    """A result of the driver, by name and number."""
    cdef const char *name = NULL
    if cuda.error_name == NULL or cuda.error_name(code, &name) != 0 or name == NULL:
        return f"{call.decode()} returns {code}"
    return f"{call.decode()} returns {name.decode()} ({code})"


cdef int load_cuda() except -1:
    """Make the driver usable, or raise LookupError with the reason why it is not."""
    global cuda_ready
    cdef void *handle
    cdef int code
    if cuda_ready:
        return 0
    with cuda_lock:
        handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)
        if handle == NULL:
            raise LookupError(dlerror().decode("utf-8", "replace"))
        cuda_symbol(handle, "cuInit", <void **> &cuda.init)
        cuda_symbol(handle, "cuGetErrorName", <void **> &cuda.error_name)
        cuda_symbol(handle, "cuPointerGetAttribute", <void **> &cuda.attribute)
        cuda_symbol(handle, "cuDevicePrimaryCtxRetain", <void **> &cuda.retain)
        cuda_symbol(handle, "cuDevicePrimaryCtxRelease_v2", <void **> &cuda.release)
        cuda_symbol(handle, "cuCtxPushCurrent_v2", <void **> &cuda.push)
        cuda_symbol(handle, "cuCtxPopCurrent_v2", <void **> &cuda.pop)
        cuda_symbol(handle, "cuMemcpyDtoH_v2", <void **> &cuda.to_host)
        cuda_symbol(handle, "cuMemcpyHtoD_v2", <void **> &cuda.to_device)
        cuda_symbol(handle, "cuStreamSynchronize", <void **> &cuda.sync)
        code = cuda.init(0)
        if code:
            raise LookupError(cuda_says("cuInit", code))
        cuda_ready = True
    return 0


cdef int cuda_copy(void *context, bint to_host, uintptr_t device, char *host, size_t n,
                   const char **call) noexcept nogil:
    """Copy `n` bytes; `call` is the one whose result is returned.

    A copy from pageable memory to the device may return before it is over: its stream is waited
    for, so that what the user starts on any stream afterwards finds the data.
    """
    cdef int code, popped
    cdef void *before = NULL
    call[0] = "cuCtxPushCurrent"
    code = cuda.push(context)
    if code:
        return code
    if to_host:
        call[0] = "cuMemcpyDtoH"
        code = cuda.to_host(host, device, n)
    else:
        call[0] = "cuMemcpyHtoD"
        code = cuda.to_device(device, host, n)
        if code == 0:
            call[0] = "cuStreamSynchronize"
            code = cuda.sync(CUDA_LEGACY_STREAM)
    popped = cuda.pop(&before)
    if popped and not code:
        call[0] = "cuCtxPopCurrent"
        code = popped
    return code


cdef int cuda_wait(void *context, void *stream, const char **call) noexcept nogil:
    """Wait until the work given to a stream so far is over."""
    cdef int code
    cdef void *before = NULL
    call[0] = "cuCtxPushCurrent"
    code = cuda.push(context)
    if code:
        return code
    call[0] = "cuStreamSynchronize"
    code = cuda.sync(stream)
    cuda.pop(&before)
    return code
