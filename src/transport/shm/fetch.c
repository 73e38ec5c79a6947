/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fetch.c
 * Reading a peer's memory: one copy instead of two through a ring, by one processor instead of two.
 * p2p chooses when. The system decides whether it is allowed (Yama's
 * ptrace_scope, containers, emulators). So each side names in its setup the address of a proof
 * word, made of its token, which the address table has, and of the reader's rank. A reader that
 * finds this word reads the right memory of the right process. The word belongs to the link and is
 * wiped when the link ends, before an error is reported: after a failed send its buffer belongs to
 * the program again, and the peer may not know yet that the link has ended.
 */
#include "transport/shm/shm.h"

/* Different for every reader: the next link may have the same address as this one. */
static uint64_t word_for(uint64_t token, uint32_t reader)
{
    return wio_hash64(token, reader) | 1;
}

uint64_t wio_shm_fetch_allow(struct shm_link *l)
{
    atomic_store_explicit(&l->lends, word_for(shm_of(l)->token, l->ep.peer), memory_order_release);
    return (uint64_t)(uintptr_t)&l->lends;
}

void wio_shm_fetch_forbid(struct shm_link *l)
{
    atomic_store_explicit(&l->lends, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); /* before later writes of the program */
}

/* Read the bytes, and after them the proof word: the bytes are valid only if the link still exists.
 * The peer may have ended, and another process may have its process id. So they are only as long as
 * the message's own word says so. @return bytes, -errno */
static ssize_t read_proven(const struct shm_link *l, pid_t pid, const struct wio_lent *from,
                           void *buf, size_t bytes)
{
    uint64_t proof = 0, word = 0;
    struct iovec to[] = {{buf, bytes}, {&proof, sizeof proof}, {&word, sizeof word}};
    struct iovec at[] = {{(void *)(uintptr_t)from->at, bytes},
                         {(void *)(uintptr_t)l->fetch_proof, sizeof proof},
                         {(void *)(uintptr_t)from->word, sizeof word}};
    int parts = from->word != 0 ? 3 : 2;
    ssize_t n = wio_os_read_process(pid, to, at, parts);
    if (n < 0)
        return n;
    if ((size_t)n != bytes + (size_t)(parts - 1) * sizeof word)
        return -EFAULT;
    const struct wio_table *t = shm_of(l)->base.table;
    if (proof != word_for(t->ep[l->ep.peer].token, t->me))
        return -ESRCH;
    return from->word == 0 || word == from->value ? (ssize_t)bytes : -EFAULT;
}

void wio_shm_fetch_try(struct shm_link *l, uint64_t proof)
{
    const struct shm_iface *f = shm_of(l);
    pid_t pid;
    l->fetch_pid = 0;
    l->fetch_proof = proof;
    if (f->base.p.cfg->shm_fetch == WIO_CFG_SHM_FETCH_OFF || wio_os_peer_pid(l->fd, &pid) != 0)
        return;
    const struct wio_lent itself = {.at = proof};
    ssize_t n = read_proven(l, pid, &itself, &(uint64_t){0}, sizeof(uint64_t));
    if (n > 0)
        l->fetch_pid = pid;
    else
        wio_debug(f->base.p.log, WIO_C_SHM, "the memory of process %ld cannot be read: %s",
                  (long)pid, strerror((int)-n));
}

int wio_shm_fetch(struct wio_ep *ep, const struct wio_lent *from, void *buf, size_t bytes)
{
    struct shm_link *l = shm_link_of(ep);
    if (l->fetch_pid == 0 || l->eof)
        return WAITIO_ERR_UNSUPPORTED;
    if (bytes == 0)
        return 0;
    ssize_t n = read_proven(l, l->fetch_pid, from, buf, bytes);
    if (n > 0) {
        shm_of(l)->base.p.counters->fetched_bytes += bytes;
        return 0;
    }
    if (n == -EFAULT)
        return WAITIO_ERR_SYSTEM;
    l->fetch_pid = 0; /* not allowed any more, or the process has ended */
    return WAITIO_ERR_UNSUPPORTED;
}
