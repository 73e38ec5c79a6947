# SPDX-License-Identifier: BSD-3-Clause
# Host memory in which arrays of a device are staged. A few pieces are kept for the next message:
# the pages of fresh ones would have to be made by the kernel each time.

cdef extern from "pthread.h" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    int pthread_mutex_init(pthread_mutex_t *mutex, void *attributes)
    int pthread_mutex_lock(pthread_mutex_t *mutex)
    int pthread_mutex_unlock(pthread_mutex_t *mutex)

cdef extern from "stdlib.h" nogil:
    int posix_memalign(void **memory, size_t alignment, size_t size)
    void free(void *memory)

cdef enum:
    POOL_PIECES = 8
    POOL_BYTES = 1 << 27
    PIECE_LEAST = 1 << 12
    PIECE_STEP = 1 << 20

cdef struct pool_piece:
    char *memory
    size_t room

cdef pool_piece pool[POOL_PIECES]
cdef size_t pooled = 0, pooled_bytes = 0
cdef pthread_mutex_t pool_lock  # also of the two counters
pthread_mutex_init(&pool_lock, NULL)
cdef uint64_t to_host_bytes = 0, to_device_bytes = 0


cdef size_t piece_size(size_t n) noexcept nogil:
    """Powers of two up to PIECE_STEP, then multiples of it: pieces fit other messages too."""
    cdef size_t room = PIECE_LEAST
    if n > PIECE_STEP:
        return (n + PIECE_STEP - 1) // PIECE_STEP * PIECE_STEP
    while room < n:
        room *= 2
    return room


cdef pool_piece take_pooled(size_t i) noexcept nogil:
    global pooled, pooled_bytes
    cdef pool_piece piece = pool[i]
    pooled -= 1
    pooled_bytes -= piece.room
    while i < pooled:
        pool[i] = pool[i + 1]
        i += 1
    return piece


cdef int get_piece(size_t n, pool_piece *piece) except -1:
    """A piece with room for `n` bytes: the smallest that is kept, none four times as large."""
    cdef size_t i, room = piece_size(n)
    cdef size_t best = POOL_PIECES
    cdef void *memory = NULL
    if n > <size_t> 0x7fffffffffffffff - PIECE_STEP:
        raise MemoryError()
    pthread_mutex_lock(&pool_lock)
    for i in range(pooled):
        if room <= pool[i].room <= 4 * room:
            if best == POOL_PIECES or pool[i].room < pool[best].room:
                best = i
    if best < POOL_PIECES:
        piece[0] = take_pooled(best)
    pthread_mutex_unlock(&pool_lock)
    if best < POOL_PIECES:
        return 0
    if posix_memalign(&memory, 4096, room) != 0:
        raise from_code(
            WAITIO_ERR_NOMEM, f"no host memory to stage {n} bytes of an array on a device"
        )
    piece.memory, piece.room = <char *> memory, room
    return 0


cdef void put_piece(pool_piece piece) noexcept nogil:
    """Keep it, in the place of the oldest if there are too many."""
    global pooled, pooled_bytes
    if gone or piece.room > POOL_BYTES:
        free(piece.memory)
        return
    pthread_mutex_lock(&pool_lock)
    while pooled == POOL_PIECES or pooled_bytes + piece.room > POOL_BYTES:
        free(take_pooled(0).memory)
    pool[pooled] = piece
    pooled += 1
    pooled_bytes += piece.room
    pthread_mutex_unlock(&pool_lock)


cdef void empty_pool() noexcept nogil:
    pthread_mutex_lock(&pool_lock)
    while pooled > 0:
        free(take_pooled(0).memory)
    pthread_mutex_unlock(&pool_lock)


cdef void count_copy(bint to_host, size_t n) noexcept nogil:
    global to_host_bytes, to_device_bytes
    pthread_mutex_lock(&pool_lock)
    if to_host:
        to_host_bytes += n
    else:
        to_device_bytes += n
    pthread_mutex_unlock(&pool_lock)


cdef dict staging_counters():
    """Counters that the C library does not have: it sees host memory only."""
    return {"device_to_host_bytes": to_host_bytes, "host_to_device_bytes": to_device_bytes}


def _staging():
    """Return (pieces, bytes) of the host memory that is kept for arrays on a device."""
    return pooled, pooled_bytes
