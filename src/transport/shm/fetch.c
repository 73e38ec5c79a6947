/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fetch.c
 * Reading a peer's memory: one copy instead of two through a ring, by one processor instead of two.
 * p2p chooses when. The system decides whether it is allowed (Yama's
 * ptrace_scope, containers, emulators). So each side names in its setup the address of a proof
 * word, made of its token, which the address table has, and of the reader's rank. A reader that
 * finds this word reads the right memory of the right process. The link's word is wiped when the
 * link ends. Each message has such a word, too, which p2p wipes before the program has its buffer
 * back: the peer may not know yet that the link has ended, or that the send is complete.
 */
#include "transport/shm/aim.h"
#include "transport/shm/shm.h"

/* Nobody gets a process number again that soon: the system gives out all others before. */
#define PROVEN_NS 20000000

/* The link's word is that of a message with number 0. Different for every reader: the next link may
 * have the same address as this one. */
static uint64_t word_for(uint64_t token, uint32_t reader)
{
    return wio_lent_word(token, reader, 0);
}

uint64_t wio_shm_fetch_allow(struct shm_link *l)
{
    atomic_store_explicit(&l->lends, word_for(shm_of(l)->token, l->ep.peer), memory_order_release);
    return (uint64_t)(uintptr_t)&l->lends;
}

uint32_t wio_shm_recalls(struct wio_ep *ep, uint32_t more)
{
    struct shm_link *l = shm_link_of(ep);
    if (l->peer.head == NULL)
        return 0; /* the link has ended, which counted */
    _Atomic uint32_t *recalls = &l->peer.head->recalls;
    if (more == 0) /* no write: the line stays in both caches */
        return atomic_load_explicit(recalls, memory_order_relaxed);
    uint32_t was = atomic_fetch_add_explicit(recalls, more, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst); /* before later writes of the program */
    return was + more;
}

void wio_shm_fetch_forbid(struct shm_link *l)
{
    atomic_store_explicit(&l->lends, 0, memory_order_relaxed);
    (void)wio_shm_recalls(&l->ep, 1);
    atomic_thread_fence(memory_order_seq_cst); /* also where the peer's inbox is not there yet */
}

static int aim(struct shm_aim *a, const struct wio_lent *from, void *buf, size_t bytes,
               struct iovec *to)
{
    size_t shift = bytes < SHM_AIM_FROM ? 0 : wio_os_copy_shift(buf, from->at);
    return wio_shm_aim(a, buf, bytes, shift, to);
}

/* Read the bytes, and after them a word that proves that they are valid: the message's own, or (of
 * none) the link's. @return bytes, -errno: -EFAULT when only this message cannot be read */
static ssize_t read_proven(struct shm_link *l, pid_t pid, const struct wio_lent *from, void *buf,
                           size_t bytes)
{
    bool own = from->word != 0;
    const struct wio_table *t = shm_of(l)->base.table;
    int64_t now = wio_os_now_ns();
    uint64_t word = 0;
    struct shm_aim a;
    struct iovec to[3];
    struct iovec at[] = {{(void *)(uintptr_t)from->at, bytes},
                         {(void *)(uintptr_t)(own ? from->word : l->fetch_proof), sizeof word}};
    int nto = aim(&a, from, buf, bytes, to);
    to[nto++] = (struct iovec){&word, sizeof word};
    ssize_t n = wio_os_read_process(pid, to, nto, at, 2);
    if (n < 0)
        return n;
    if ((size_t)n != bytes + sizeof word)
        return -EFAULT;
    if (word != wio_lent_word(t->ep[l->ep.peer].token, t->me, own ? from->id : 0))
        return own ? -EFAULT : -ESRCH;
    l->proved_ns = now;
    wio_shm_aim_settle(&a);
    return (ssize_t)bytes;
}

/* A word costs as much as 6 KiB of data. It is not needed where the process was the peer's a moment
 * ago and nothing was taken back since. @return as read_proven(); 0: it is needed */
static ssize_t read_again(const struct shm_link *l, const struct wio_lent *from, void *buf,
                          size_t bytes)
{
    const _Atomic uint32_t *recalls = &shm_of(l)->inbox.head->recalls;
    struct shm_aim a;
    struct iovec to[2], at = {(void *)(uintptr_t)from->at, bytes};
    if (from->word == 0 || wio_os_now_ns() - l->proved_ns > PROVEN_NS ||
        atomic_load_explicit(recalls, memory_order_relaxed) != from->recalls)
        return 0;
    int nto = aim(&a, from, buf, bytes, to);
    ssize_t n = wio_os_read_process(l->fetch_pid, to, nto, &at, 1);
    if (n < 0)
        return n;
    atomic_thread_fence(memory_order_seq_cst); /* after the data */
    bool lent = atomic_load_explicit(recalls, memory_order_relaxed) == from->recalls;
    if (!lent || (size_t)n != bytes)
        return 0;
    wio_shm_aim_settle(&a);
    return n;
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
    ssize_t n = read_again(l, from, buf, bytes);
    if (n == 0)
        n = read_proven(l, l->fetch_pid, from, buf, bytes);
    if (n > 0) {
        shm_of(l)->base.p.counters->fetched_bytes += bytes;
        return 0;
    }
    if (n == -EFAULT)
        return WAITIO_ERR_SYSTEM;
    l->fetch_pid = 0; /* not allowed any more, or the process has ended */
    return WAITIO_ERR_UNSUPPORTED;
}
