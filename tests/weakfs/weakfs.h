/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file weakfs.h
 * A file system for tests that is as weak as a network file system may be. It passes through to a
 * directory; two mounts of one directory are two clients, who share nothing else. What one client
 * does is seen by its own processes as POSIX says, by those of the other late, in parts and in
 * another order. Only what closes or syncs a file before the other opens it is sure to be read
 * there (close-to-open). Each weakness is an option, drawn from a seed: README.md.
 *
 * One thread; one request after another.
 */
#ifndef WEAKFS_H
#define WEAKFS_H

#define FUSE_USE_VERSION 35

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define PAGE 4096u
#define NEVER INT64_MAX
#define BUCKETS 1024u
#define RULES 16

enum locks { LOCKS_LOCAL, LOCKS_NONE, LOCKS_ERROR };

/** Times are upper limits in milliseconds, 0: none, -1: until the file is opened or closed. */
struct options {
    char *back; /* the directory */
    uint64_t seed;
    int entry_ms; /* another client's new, removed and renamed entries */
    int attr_ms;  /* sizes and other attributes */
    int page_ms;  /* data that was read once */
    int write_ms; /* data that was written */
    int early;    /* per cent of written pages that go at once when the others wait */
    int snapshot; /* an open takes the whole file */
    int estale;   /* what another client removed fails by ESTALE */
    int shorts;   /* per cent of writes that take a part only */
    enum locks locks;
};

/** How often each weakness came to bear: user.weakfs of any file says. */
struct counts {
    uint64_t hidden;      /* lookups that missed what is there */
    uint64_t ghosts;      /* lookups that gave what is gone */
    uint64_t unlisted;    /* entries that a listing missed */
    uint64_t overlisted;  /* entries that a listing gave though they were gone */
    uint64_t stale_sizes; /* sizes that were not those of the file */
    uint64_t stale_pages; /* pages that were read before the file changed */
    uint64_t held;        /* pages whose writing waited */
    uint64_t reordered;   /* pages that went before one that was written before */
    uint64_t stale_files; /* ESTALE */
    uint64_t shorts;      /* writes that took a part */
    uint64_t faults;      /* errors made */
};

/** What this client takes a name for: by number of the file, 0: none. Lookups and listings know
 * different things. */
enum { LOOK, LIST, SIDES };
struct entry {
    struct entry *next;
    uint64_t real; /* in the directory */
    uint64_t shown[SIDES];
    int64_t due[SIDES]; /* when real is shown */
    unsigned type, scan;
    char name[];
};

struct view {
    struct entry *bucket[BUCKETS];
    int64_t mtime, scanned; /* of the directory when it was scanned; when that was */
    unsigned scan;
};

struct page {
    int64_t loaded, expires; /* clean */
    int64_t due;             /* dirty: when it is written */
    uint64_t order;          /* which write made it dirty */
    unsigned lo, hi;         /* dirty bytes */
    uint8_t data[PAGE];
};

struct inode {
    struct inode *next; /* in the table */
    dev_t dev;
    ino_t ino;
    mode_t mode;
    int fd;    /* O_PATH: keeps the number from being used again */
    int io;    /* for data, while open; -1 */
    bool rw;   /* io writes, too */
    int opens; /* handles */
    uint64_t nlookup;
    bool removed_here, gone; /* by this client; by another, and an open has seen it */
    struct view *view;       /* of a directory */
    struct stat st;          /* as this client knows it */
    int64_t st_due;
    uint64_t size; /* with what is not written yet */
    struct page **pages;
    size_t npages, ndirty;
    int64_t next_due; /* of the dirty pages */
    int err;          /* of a page that was written late */
    struct inode *dirty_next, **dirty_prev;
};

extern struct options opt;
extern struct counts counts;
extern struct inode root;

/* ---- options.c ---- */
/** @return 0, -1: said on stderr what is wrong */
int options_parse(int argc, char **argv, struct fuse_args *fuse);
/** Wall clock, as files have it, ns. */
int64_t now_ns(void);
/** One of 0 .. n - 1. */
uint64_t draw(uint64_t n);
/** @return @p from and a delay of at most @p ms; NEVER for -1 */
int64_t later(int64_t from, int ms);
bool percent(int p);
/** A rule for errors: ERROR\@CALL:N (the N-th from now), :N+ (and all after), :%P (so many per
 * cent); several with / between; "none" ends all. @return 0, EINVAL */
int faults_set(const char *text);
/** @return 0, or the error that this call has to fail with */
int fault(const char *call);

/* ---- view.c ---- */
/** A name, after a look at the directory; NULL: never heard of. */
struct entry *view_find(struct inode *dir, const char *name);
/** All that a listing shows. @return 0, an error of @p each */
int view_list(struct inode *dir, int (*each)(void *user, const struct entry *e), void *user);
/** This client has changed it itself. */
void view_own(struct inode *dir, const char *name, uint64_t ino);
void view_free(struct view *v);

/* ---- inode.c ---- */
struct inode *inode_at(fuse_ino_t ino);
/** @return the file behind an O_PATH descriptor, which it takes; NULL: errno */
struct inode *inode_of(int fd);
struct inode *inode_known(dev_t dev, ino_t ino);
/** Gives references of the kernel back. */
void inode_forget(struct inode *i, uint64_t n);
/** A name that works for calls that take none of O_PATH's descriptors. */
const char *inode_proc(const struct inode *i);
/** Looks at the file itself. @return 0, an error */
int inode_refresh(struct inode *i);
/** Attributes as this client knows them. @return 0, an error */
int inode_stat(struct inode *i, struct stat *st);
/** Was it removed by another client, in a file system that then forgets it? */
bool inode_is_stale(const struct inode *i);

/* ---- pages.c ---- */
/** @return bytes, or a negative error */
ssize_t pages_read(struct inode *i, uint8_t *to, size_t n, uint64_t at);
ssize_t pages_write(struct inode *i, const uint8_t *from, size_t n, uint64_t at);
/** Everything that waits. @return 0, or an error since the last time */
int pages_flush(struct inode *i);
/** Forgets what was read. */
void pages_drop(struct inode *i);
/** The file has a new size, by this client. */
void pages_resize(struct inode *i, uint64_t size);
void pages_snapshot(struct inode *i);
void pages_free(struct inode *i);
/** Writes what is due. @return milliseconds until the next, at most 1000 */
int pages_tick(void);

/* ---- names.c, files.c ---- */
void names_ops(struct fuse_lowlevel_ops *ops);
void files_ops(struct fuse_lowlevel_ops *ops);
/** Looks a name up for the kernel. @return 0, an error */
int names_entry(struct inode *dir, const char *name, struct fuse_entry_param *e);
/** A file that this client has made: its owner, its name, its first reference. */
int names_made(fuse_req_t req, struct inode *dir, const char *name, struct fuse_entry_param *e);
/** This client was told that a name exists, and looks again. */
void names_exists(struct inode *dir, const char *name);

#endif
