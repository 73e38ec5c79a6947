/* SPDX-License-Identifier: BSD-3-Clause */
/** @file main.c  weakfs MOUNTPOINT -o back=DIRECTORY[,option...]: stays in the foreground, says
 * "mounted", unmounts on SIGTERM and when its parent dies. */
#include "weakfs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static int open_root(void)
{
    struct stat st;
    root.fd = open(opt.back, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root.fd < 0 || fstat(root.fd, &st) != 0) {
        fprintf(stderr, "weakfs: %s: %s\n", opt.back, strerror(errno));
        return -1;
    }
    root.dev = st.st_dev;
    root.ino = st.st_ino;
    root.mode = st.st_mode;
    root.io = -1;
    root.next_due = NEVER;
    root.nlookup = 1;
    return 0;
}

static void many_files(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

static int serve(struct fuse_session *se)
{
    struct fuse_buf buf = {0};
    while (!fuse_session_exited(se)) {
        struct pollfd fd = {fuse_session_fd(se), POLLIN, 0};
        if (poll(&fd, 1, pages_tick()) <= 0)
            continue;
        int n = fuse_session_receive_buf(se, &buf);
        if (n == -EINTR || n == -EAGAIN)
            continue;
        if (n <= 0)
            break;
        fuse_session_process_buf(se, &buf);
    }
    free(buf.mem);
    return 0;
}

static int run(struct fuse_args *args, const char *mountpoint)
{
    struct fuse_lowlevel_ops ops = {0};
    names_ops(&ops);
    files_ops(&ops);
    struct fuse_session *se = fuse_session_new(args, &ops, sizeof ops, NULL);
    if (se == NULL)
        return 1;
    int rc = 1;
    if (fuse_set_signal_handlers(se) == 0 && fuse_session_mount(se, mountpoint) == 0) {
        printf("mounted\n");
        fflush(stdout);
        rc = serve(se);
        fuse_session_unmount(se);
    }
    fuse_remove_signal_handlers(se);
    fuse_session_destroy(se);
    return rc;
}

int main(int argc, char **argv)
{
    struct fuse_args args;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (argc < 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: weakfs MOUNTPOINT -o back=DIRECTORY[,option...]\n");
        return 2;
    }
    const char *mountpoint = argv[1];
    argv[1] = argv[0];
    if (options_parse(argc - 1, argv + 1, &args) != 0 || open_root() != 0)
        return 2;
    fuse_opt_add_arg(&args, geteuid() == 0 ? "-odefault_permissions,allow_other,fsname=weakfs"
                                           : "-odefault_permissions,fsname=weakfs");
    many_files();
    umask(0);
    int rc = run(&args, mountpoint);
    fuse_opt_free_args(&args);
    return rc;
}
