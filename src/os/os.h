/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file os.h
 * The only interface to the operating system. Every system call of the library is in a wio_os_*
 * function, so that porting and fault injection happen in one place.
 *
 * Convention: functions return a value >= 0 on success and -errno on failure (never set errno for
 * the caller to read). None blocks unless its comment says so. EINTR is retried inside, except by
 * the functions that sleep (epoll_wait, poll), which return 0 events instead.
 */
#ifndef WIO_OS_H
#define WIO_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/* ---- fault injection (tests only) ---- */
enum wio_os_call {
    WIO_OS_SOCKET,
    WIO_OS_CONNECT,
    WIO_OS_ACCEPT,
    WIO_OS_SEND,
    WIO_OS_RECV,
    WIO_OS_EPOLL,
    WIO_OS_MEM,
    WIO_OS_FILE,
    WIO_OS_SPACE,  /* what may take space in a folder that is open (folder.c) */
    WIO_OS_EVENTS, /* asking for the events of a folder */
    WIO_OS_PEEK,
    WIO_OS_CALLS
};
/**
 * Hook asked before each call of a kind. Returns 0 (go on), a negative errno (fail with it), or for
 * SEND and RECV a positive byte count (do at most that many bytes). NULL = no hook (one load and a
 * predicted branch on the fast path).
 */
extern int (*wio_os_fault)(enum wio_os_call call, int fd, size_t bytes);

/* ---- time ---- */
int64_t wio_os_now_ns(void);      /* monotonic */
int64_t wio_os_wall_ns(void);     /* since 1970, for log lines only */
void wio_os_sleep_ns(int64_t ns); /* blocks */
/** The processor's own clock, in ticks of a constant but unknown length: a third of the cost of
 * wio_os_now_ns(). Only where wio_os_ticks_steady(). */
static inline int64_t wio_os_ticks(void)
{
#if defined(__x86_64__)
    return (int64_t)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    int64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}
/** Is there such a clock, the same on all processors of this host, and does the system itself go by
 * it? */
bool wio_os_ticks_steady(void);
void wio_os_yield(void);

/* ---- sockets: always non-blocking, close-on-exec ---- */
int wio_os_socket(int family, int type);
int wio_os_socketpair(int fd[2]); /* two ends of a Unix stream. @return 0 or -errno */
int wio_os_bind(int fd, const struct sockaddr *addr, socklen_t len);
int wio_os_listen(int fd, int backlog);
int wio_os_accept(int fd, struct sockaddr_storage *addr,
                  socklen_t *len);                                      /* new fd or -EAGAIN ... */
int wio_os_connect(int fd, const struct sockaddr *addr, socklen_t len); /* 0 or -EINPROGRESS ... */
int wio_os_sockname(int fd, struct sockaddr_storage *addr, socklen_t *len);
int wio_os_peername(int fd, struct sockaddr_storage *addr, socklen_t *len);
int wio_os_so_error(int fd); /* 0 or -errno pending on the socket */
int wio_os_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int wio_os_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
ssize_t wio_os_send(int fd, const void *buf, size_t n);       /* never raises SIGPIPE */
ssize_t wio_os_recv(int fd, void *buf, size_t n);             /* 0 = end of stream */
ssize_t wio_os_sendv(int fd, const struct iovec *iov, int n); /* never raises SIGPIPE */
ssize_t wio_os_recvv(int fd, const struct iovec *iov, int n);
ssize_t wio_os_send_fd(int sock, int fd, const void *buf, size_t n); /* SCM_RIGHTS over AF_UNIX */
ssize_t wio_os_recv_fd(int sock, int *fd, void *buf, size_t n);      /* *fd = -1 when none came */
int wio_os_peer_uid(int sock, uid_t *uid);                           /* SO_PEERCRED */
/** Process on the other end of a Unix socket, as our process namespace numbers it (connected: who
 * listened, accepted: who dialled). @return 0, -ENOTCONN (also of a process outside it) */
int wio_os_peer_pid(int sock, pid_t *pid);
/** May processes of one user read each other's memory here, as far as the system shows it? */
bool wio_os_may_read_processes(void);
/** Read @p nfrom pieces of another process's memory into @p nto pieces of ours, one after the other
 * (process_vm_readv). @return bytes, fewer where its memory ends, or -errno (-EPERM: the system
 * does not allow it, -EFAULT: nothing there) */
ssize_t wio_os_read_process(pid_t pid, const struct iovec *to, int nto, const struct iovec *from,
                            int nfrom);
int wio_os_shutdown_send(int fd);
int wio_os_dup(int fd);    /* close-on-exec */
void wio_os_close(int fd); /* ignores -1 */

/** The kernel's data about the liveness of a TCP connection. */
struct wio_os_tcp_info {
    uint32_t unacked;          /* segments in flight */
    uint32_t notsent;          /* bytes queued, not yet sent */
    int64_t last_ack_ns;       /* time since the last acknowledgement came */
    int64_t last_data_recv_ns; /* time since data came */
    uint32_t rtt_us;
    uint32_t retransmits; /* of the oldest unacknowledged segment */
    uint32_t probes;      /* unanswered window probes */
};
int wio_os_tcp_info(int fd, struct wio_os_tcp_info *info);

/* ---- waiting ---- */
int wio_os_epoll_create(void);
int wio_os_epoll_ctl(int epfd, int op, int fd, uint32_t events, void *ptr);
/** Take a descriptor out of two sets (-1: none) and close it. close() alone does not take it out
 * while a child of the program holds a copy, as one made by posix_spawn() or system() does until it
 * executes: events would come for what is freed. Not in a forked child, whose sets are the
 * parent's. */
void wio_os_epoll_close(int fd, int epfd, int other);
int wio_os_epoll_wait(int epfd, struct epoll_event *ev, int max,
                      int timeout_ms); /* blocks up to timeout; -1 = forever */
int wio_os_eventfd(void);
void wio_os_eventfd_set(int fd);
void wio_os_eventfd_clear(int fd);
/** poll() for input on up to 16 descriptors. @return bitmask of readable/hung-up ones, 0 on
 * timeout/EINTR. Blocks. timeout_ns < 0 = forever (ppoll precision). */
int wio_os_poll_in(const int *fds, int n, int64_t timeout_ns);

/* ---- interfaces and names ---- */
struct wio_os_ifaddr {
    char name[32];
    struct sockaddr_storage addr;
    uint8_t prefix; /* bits of the netmask */
    bool up, loopback;
};
int wio_os_ifaddrs(struct wio_os_ifaddr **list, int *n); /* free with wio_os_free */
/** Resolve; up to @p max results in *out. Blocks on DNS. @return count or -errno; *why = text on
 * failure. */
int wio_os_resolve(const char *host, uint16_t port, struct sockaddr_storage *out, int max,
                   const char **why);
int wio_os_hostname(char *buf, size_t n);
/** @return 0, -errno; ERANGE: longer than the buffer */
int wio_os_working_directory(char *buf, size_t n);
/** Text that is equal for two processes iff they share a host and a network namespace
 *  (boot id, network namespace inode). */
int wio_os_host_identity(char *buf, size_t n);
/** First line of a small file, without its end. @return its length or -errno */
int wio_os_read_line(const char *path, char *buf, size_t n);
/** Whether the system takes @p port for outgoing connections and for listeners that ask for any
 * port; false where it does not tell. */
bool wio_os_port_is_ephemeral(unsigned port);
/** Source address the kernel would use towards @p to (connected UDP socket, nothing is sent). */
int wio_os_route_source(const struct sockaddr *to, socklen_t len, struct sockaddr_storage *src,
                        socklen_t *srclen);

/* ---- memory and files ---- */
/** memcpy() for bulk data: its speed does not depend on the addresses of the buffers (copy.c). The
 * first call with 2 KiB or more measures for about a tenth of a millisecond. */
void wio_os_copy(void *to, const void *from, size_t n);
/** The system copies by the C library's instruction, whatever the addresses. @return 0, or (at most
 * 63) how many bytes behind @p to the bytes at @p from, of this or another process, come quicker */
size_t wio_os_copy_shift(const void *to, uint64_t from);
void *wio_os_alloc(size_t n); /* zeroed; NULL when out of memory */
void *wio_os_realloc(void *p, size_t n);
void wio_os_free(void *p);
/** Memory from wio_os_alloc() that will be used from end to end may have large pages; advice only.
 */
void wio_os_large_pages(void *p, size_t bytes);
/** A page of memory that no core file will hold; wio_os_unmap() with wio_os_page_size(). NULL where
 * the system has no room, or does not know how. */
void *wio_os_hidden_page(void);
/** Shared memory whose first @p given bytes have their pages: what cannot be had is an error now,
 * and no signal later. The rest get theirs by wio_os_give_pages(). @param seal against shrinking
 * @return descriptor, -errno */
int wio_os_memfd(const char *name, size_t bytes, size_t given, bool seal);
/** Can a part of shared memory get its pages later? Else all must be given at once. */
bool wio_os_gives_later(void);
/** Pages for a part of shared memory that was made without. @return 0, -errno: there are none */
int wio_os_give_pages(void *p, size_t bytes);
/** The system gets such pages back; what they held is lost. @return 0, -errno */
int wio_os_take_pages(void *p, size_t bytes);
/** Have the control groups of this process so much memory left, as far as they tell? Beyond it the
 * system kills processes. @param root  "" but in tests: where /proc and /sys lie */
bool wio_os_memory_fits(const char *root, size_t bytes);
/** Is it a memfd of at least so many bytes, sealed against shrinking? */
bool wio_os_memfd_holds(int fd, size_t bytes);
void *wio_os_map(int fd, size_t bytes, bool writable); /* NULL on failure */
/** Enter all pages of a writable mapping into the page table at once, where the system can: else
 * the first access to each costs a fault, which takes longer than to copy the page. */
void wio_os_populate(void *p, size_t bytes);
void wio_os_unmap(void *p, size_t bytes);
size_t wio_os_page_size(void);
int wio_os_open_read(const char *path);
int wio_os_open_create(const char *path, unsigned mode); /* O_CREAT|O_EXCL|O_WRONLY|O_NOFOLLOW */
int wio_os_open_append(const char *path);
ssize_t wio_os_read(int fd, void *buf, size_t n);
ssize_t wio_os_write(int fd, const void *buf, size_t n); /* whole buffer or error */
int wio_os_fsync(int fd);
int wio_os_link(const char *from, const char *to);
int wio_os_rename(const char *from, const char *to);
int wio_os_unlink(const char *path);
int wio_os_mkdir(const char *path, unsigned mode);
struct wio_os_stat {
    uid_t uid;
    unsigned mode;
    int64_t size;
    int64_t mtime_ns;
    uint64_t inode, links;
    bool is_dir, is_file /* a regular one */;
};
int wio_os_stat(const char *path, struct wio_os_stat *st); /* follows links */
int wio_os_fstat(int fd, struct wio_os_stat *st);

/** What holds an open file or folder. */
struct wio_os_volume {
    uint32_t kind;       /* of its file system: the number in statfs(2) */
    uint64_t free;       /* bytes that this user may still write */
    uint64_t free_names; /* files that may still be made; all ones: any number */
};
int wio_os_volume(int fd, struct wio_os_volume *v); /* 0 or -errno */
/** May this process make files in a folder? */
bool wio_os_may_write(const char *folder);

/** Call @p each with every name in a folder, sorted. @return how many, or -errno */
int wio_os_list(const char *folder, void (*each)(void *arg, const char *name), void *arg);

/* ---- files by the descriptor of their folder (folder.c) ----
 * No function follows a symbolic link in the last part of a name, but wio_os_folder_open with
 * follow. */
/** Open a folder. @param at  folder that the name is relative to; -1: the working directory.
 * @return descriptor, -ENOTDIR, -ELOOP ... */
int wio_os_folder_open(int at, const char *name, bool follow);
int wio_os_mkdir_at(int at, const char *name, unsigned mode);
/** @return descriptor; -ENOENT, -ELOOP ... */
int wio_os_open_at(int at, const char *name, bool writable);
/** Make a file that must not exist, for reading and writing. */
int wio_os_create_at(int at, const char *name, unsigned mode);
int wio_os_rename_at(int at, const char *from, const char *to);
int wio_os_unlink_at(int at, const char *name, bool folder);
/** Call @p each with every name in the folder but "." and "..", in no order; it may remove names.
 * @return how many, or -errno */
int wio_os_list_at(int at, void (*each)(void *arg, const char *name), void *arg);
/** Read or write a list of pieces at an offset. @return bytes, perhaps fewer than asked, or -errno
 */
ssize_t wio_os_preadv(int fd, const struct iovec *iov, int n, uint64_t offset);
ssize_t wio_os_pwritev(int fd, const struct iovec *iov, int n, uint64_t offset);
/** Set the size; what is new reads as zeros and takes no space yet. @return 0; -EFBIG: beyond the
 * limit on files (ulimit -f), where the system would end the process by a signal */
int wio_os_resize(int fd, uint64_t bytes);
/** Take the space of the first @p bytes of an open file now, so that writing to a mapping of it
 * cannot fail later (ENOSPC would end the process by a signal). @return 0 or -errno */
int wio_os_reserve(int fd, uint64_t bytes);
/** Give back the space of a piece of a file, which reads as zeros then. @return 0; -EOPNOTSUPP:
 * this file system cannot */
int wio_os_punch(int fd, uint64_t offset, uint64_t bytes);
/** Lock the whole file for this open descriptor: the system gives the lock back when it is closed,
 * however the process ends. @return 0; -ENOLCK, -EOPNOTSUPP ... where files cannot be locked */
int wio_os_lock_file(int fd);
/** Has somebody else locked it? @return 1, 0, or -errno */
int wio_os_file_locked(int fd);
/** Events of folders (inotify), where the system tells of them: those that processes of this
 * system cause. @return descriptor, or -errno */
int wio_os_events_open(void);
#define WIO_OS_EV_NAMES 1u /* names appear */
#define WIO_OS_EV_DATA 2u  /* files are written, or closed by who wrote them */
#define WIO_OS_EV_LOST 4u  /* only read: anything may have happened */
/** Watch an open folder for these (again: instead of the earlier ones). @return 0, -errno */
int wio_os_events_watch(int events, int folder, unsigned what);
/** Read all that are there. @param written  is told the name of each file that was written, perhaps
 * more than once; or NULL. @return the WIO_OS_EV_* among them (WIO_OS_EV_LOST: some were lost), or
 * -errno */
int wio_os_events_read(int events, void (*written)(void *arg, const char *name), void *arg);

/* ---- shared libraries ---- */
/** Load one, its symbols for itself alone; it stays. @return NULL with the loader's text in @p why
 */
void *wio_os_library_open(const char *path, char *why, size_t nwhy);
void *wio_os_library_symbol(void *lib, const char *name); /* NULL: it has none of that name */
/** Does this process have a library of that soname? Loads nothing. */
bool wio_os_library_is_loaded(const char *soname);
/** Folder of the file that holds the code or data @p inside. @return 0, -errno */
int wio_os_library_folder(const void *inside, char *buf, size_t n);

/* ---- barriers between processes (membarrier(2), Linux 4.16) ---- */
/** Register for barriers of other processes, and find out whether this process can issue them.
 * @return 0, or -errno: every process must then use its own fences */
int wio_os_membarrier_register(void);
/** A full memory barrier on every processor that runs a registered process. */
int wio_os_membarrier(void);

/** The same for the threads of this process only, cheaper (Linux 4.14). @return 0, or -errno */
int wio_os_membarrier_private_register(void);
int wio_os_membarrier_private(void);

/* ---- process ---- */
/** The nearest ancestor of this process with a name (15 characters at most, as the kernel keeps
 * it).
 * @param[out] started when, in clock ticks after the start of the system @return false: none */
bool wio_os_ancestor(const char *name, int64_t *pid, uint64_t *started);
/** Number of this process's user namespace; 0 when the system does not tell. */
uint64_t wio_os_user_namespace(void);
const char *wio_os_getenv(const char *name);
char **wio_os_environ(void);
int64_t wio_os_pid(void);
uid_t wio_os_uid(void);
int wio_os_random(void *buf, size_t n);
int wio_os_cpus(void);        /* processors this process may run on */
int wio_os_cpus_online(void); /* processors of the whole system */
/** Bytes of the second-level cache of a processor. @return 0: the system does not tell */
size_t wio_os_cache_bytes(void);
int wio_os_fd_limit(void); /* soft limit, raised to the hard one first */
/** Most bytes of a file that this process may write (ulimit -f): beyond it the system ends the
 * process by a signal. UINT64_MAX: no limit */
uint64_t wio_os_file_limit(void);
int64_t wio_os_involuntary_switches(void); /* of this thread */
bool wio_os_pid_alive(int64_t pid);
int wio_os_daemonize(void); /* fork, setsid, std streams to /dev/null; 0 in child, pid in parent */
/** Start a thread with all signals blocked. Name <= 15 characters. */
int wio_os_thread_start(pthread_t *t, void *(*fn)(void *), void *arg, const char *name);
bool wio_os_thread_is_own(void); /* was this thread started by wio_os_thread_start()? */
int wio_os_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void));
_Noreturn void wio_os_exit_now(int code); /* _exit: no exit handlers */
#endif                                    /* WIO_OS_H */
