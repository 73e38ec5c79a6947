/* SPDX-License-Identifier: BSD-3-Clause */
/** @file files.c  Where messages through files would go, and what stands in their way. */
#include <errno.h>
#include <stdio.h>

#include "base/fskind.h"
#include "base/rundir.h"
#include "info.h"
#include "os/os.h"

/* A stream of a process needs at least this (docs/design/file.md). */
#define LEAST_BYTES (UINT64_C(64) << 10)

static bool used(const struct wio_config *cfg)
{
    return cfg->comm_type == WIO_CFG_COMM_TYPE_FILE || cfg->comm_type == WIO_CFG_COMM_TYPE_HYBRID;
}

static void problem(const char *text)
{
    printf("  problem         %s\n", text);
}

static void amount(uint64_t n, char *text, size_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double v = (double)n;
    size_t k = 0;
    for (; v >= 1024 && k + 1 < WIO_ARRAY_LEN(units); k++)
        v /= 1024;
    wio_text(text, size, k == 0 ? "%.0f %s" : "%.1f %s", v, units[k]);
}

static void meeting(const struct wio_config *cfg)
{
    if (cfg->comm_type == WIO_CFG_COMM_TYPE_FILE && cfg->master_host[0] == '\0')
        printf("  joining         in the directory: no connection is needed\n");
    else
        printf("  joining         at %s port %lld: a connection is needed%s\n",
               cfg->master_host[0] != '\0' ? cfg->master_host : "127.0.0.1",
               (long long)cfg->master_port,
               cfg->comm_type == WIO_CFG_COMM_TYPE_FILE ? " (WAITIO_MASTER_HOST is set)" : "");
}

static void space(const struct wio_config *cfg, int dir)
{
    struct wio_os_volume v;
    char have[32], most[32], text[200];
    const char *kind;
    bool weak = wio_fs_is_weak(cfg, dir, &kind);
    int rc = wio_os_volume(dir, &v);
    if (rc < 0) {
        wio_text(text, sizeof text, "its file system does not say what it is: %s", strerror(-rc));
        problem(text);
        return;
    }
    amount(v.free, have, sizeof have);
    amount(cfg->maxfile_size, most, sizeof most);
    printf("  file system     %s, %s free; each process writes at most %s\n", kind, have, most);
    printf("  consistency     %s (WAITIO_FILE_SYSTEM)\n",
           weak ? "close-to-open: files are synced and opened again, which is slower"
                : "POSIX's rules are relied on");
    if (v.free < LEAST_BYTES || v.free_names < 2)
        problem("it is full: senders would wait for WAITIO_FILE_FULL_WAIT, then fail");
    else if (v.free < cfg->maxfile_size)
        problem("less is free than one process may write (WAITIO_MAXFILE_SIZE_PER_PROC): senders "
                "may have to wait");
}

/* Who may do what in the directory that all runs share. */
static void rights(const char *path, int dir)
{
    struct wio_os_stat st;
    char text[200];
    if (wio_os_fstat(dir, &st) < 0)
        return;
    if (!wio_os_may_write(path)) {
        wio_text(text, sizeof text,
                 "user %d may not make files in it (it belongs to %d, mode %03o)",
                 (int)wio_os_uid(), (int)st.uid, st.mode & 07777);
        problem(text);
    }
    if ((st.mode & 022) != 0 && (st.mode & 01000) == 0) {
        wio_text(text, sizeof text,
                 "mode %03o: others may remove or rename what runs have in it; chmod o-w,g-w, or "
                 "+t (the sticky bit)",
                 st.mode & 07777);
        problem(text);
    }
}

/* The directory that this job id would use; it may be there from another run. */
static void run_directory(const struct wio_config *cfg)
{
    char path[640];
    int run = wio_rundir_open(cfg->scratch_dir, cfg->job_id, false, path, sizeof path);
    const char *said = run < 0 ? wio_last_detail() : "";
    if (run == WAITIO_ERR_PEER)
        printf("  run             %s (not made yet)\n", path);
    else
        printf("  run             %s%s\n", path, run >= 0 ? " (there)" : "");
    if (run < 0 && run != WAITIO_ERR_PEER)
        problem(said);
    wio_os_close(run >= 0 ? run : -1);
}

void info_files(const struct wio_config *cfg)
{
    const char *path = cfg->scratch_dir[0] != '\0' ? cfg->scratch_dir : ".";
    char text[700];
    printf("\nMessages through files (%s)\n",
           used(cfg) ? "used" : "WAITIO_COMM_TYPE=file or hybrid would use them");
    printf("  directory       %s%s\n", path,
           cfg->scratch_dir[0] == '\0' || strcmp(path, ".") == 0
               ? ", where each program was started (WAITIO_SCRATCH_DIR)"
               : "");
    int dir = wio_os_folder_open(-1, path, true);
    if (dir < 0) {
        wio_text(text, sizeof text, "it cannot be used: %s; set WAITIO_SCRATCH_DIR",
                 strerror(-dir));
        problem(text);
    } else {
        space(cfg, dir);
        rights(path, dir);
        run_directory(cfg);
    }
    wio_os_close(dir);
    if (cfg->comm_type == WIO_CFG_COMM_TYPE_HYBRID)
        printf("  large messages  of more than %llu bytes (WAITIO_HYBRID_THRESHOULD)\n",
               (unsigned long long)cfg->hybrid_threshold);
    if (used(cfg))
        meeting(cfg);
    printf("  signs of life   each %g s; where files cannot be locked, silence of %g s is death\n",
           cfg->file_heartbeat, cfg->file_silence);
}
