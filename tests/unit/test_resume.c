/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file test_resume.c
 * WAITIO_FILE_RESUME: two processes are killed at calls to the system, one or both, and started
 * again from their checkpoints, until they are through. Every message comes once, in order, with
 * its content. WT_STRIDE: every how many calls (1: at each of them).
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"
#include "waitio.h"

enum { STEPS = 8, PER_STEP = 3, LONGEST = 100000 };
enum { FAILED = 9, PEER_DIED = 10 };
static char scratch[] = "/tmp/wt-resume-XXXXXX";

/* ---- the program ---- */

static _Atomic int calls, die_at; /* 0: nobody dies; the service thread calls, too */
static bool torn;
static int die_in_step; /* 0: nobody dies; what is there then does not depend on the time */
static int count_and_die(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    if ((call != WIO_OS_FILE && call != WIO_OS_SPACE) || die_at == 0 || ++calls < die_at)
        return 0;
    if (torn && calls == die_at && call == WIO_OS_SPACE && bytes > 1)
        return (int)(bytes / 2);
    kill(getpid(), SIGKILL);
    return 0;
}

struct state {
    uint64_t mark, step, sum;
};

static void file_name(char *buf, size_t n, int me, const char *what)
{
    snprintf(buf, n, "%s/%s.%d", scratch, what, me);
}

static void load(int me, struct state *s)
{
    char name[200];
    memset(s, 0, sizeof *s);
    file_name(name, sizeof name, me, "checkpoint");
    FILE *f = fopen(name, "rb");
    if (f != NULL && fread(s, sizeof *s, 1, f) != 1)
        _exit(FAILED);
    if (f != NULL)
        fclose(f);
}

static void save(int me, const struct state *s)
{
    char name[200], made[200];
    file_name(name, sizeof name, me, "checkpoint");
    file_name(made, sizeof made, me, "new");
    FILE *f = fopen(made, "wb");
    if (f == NULL || fwrite(s, sizeof *s, 1, f) != 1 || fclose(f) != 0 || rename(made, name) != 0)
        _exit(FAILED);
}

static void need(int rc)
{
    if (rc == 0)
        return;
    if (rc == WAITIO_ERR_PEER)
        _exit(PEER_DIED);
    fprintf(stderr, "%d: %s\n", rc, waitio_last_error());
    _exit(FAILED);
}

static size_t length(int step, int k)
{
    return k == 2 ? (size_t)(step % 3 + 1) * 30000 : (size_t)(20 + step * 7 + k);
}

static void fill(uint8_t *buf, int from, int step, int k, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf[i] = (uint8_t)(i * 7 + (size_t)(from * 31 + step * 5 + k));
}

static void receive(waitio_group_t g, int me, int step, int k, struct state *s)
{
    static uint8_t got[LONGEST], want[LONGEST];
    waitio_req_t r;
    waitio_status_t st;
    size_t n = length(step, k);
    fill(want, 1 - me, step, k, n);
    need(waitio_irecv(g, 1 - me, got, sizeof got, k, &r));
    need(waitio_wait_status(&r, &st));
    if (st.bytes != n || memcmp(got, want, n) != 0) {
        fprintf(stderr, "rank %d step %d message %d: %zu bytes, wrong\n", me, step, k, st.bytes);
        _exit(FAILED);
    }
    for (size_t i = 0; i < n; i++)
        s->sum = s->sum * 31 + got[i];
}

/* Tags are received in another order than sent; the last one of each step in the next. */
static void one_step(waitio_group_t g, int me, struct state *s)
{
    static uint8_t out[PER_STEP][LONGEST];
    waitio_req_t r[PER_STEP];
    int step = (int)s->step;
    for (int k = 0; k < PER_STEP; k++) {
        fill(out[k], me, step, k, length(step, k));
        need(waitio_isend(g, 1 - me, out[k], length(step, k), k, &r[k]));
    }
    if (die_in_step != 0 && step == die_in_step)
        kill(getpid(), SIGKILL);
    if (step > 0)
        receive(g, me, step - 1, 1, s);
    receive(g, me, step, 2, s);
    receive(g, me, step, 0, s);
    for (int k = 0; k < PER_STEP; k++)
        need(waitio_wait(&r[k]));
    s->step++;
}

static void program(int me, int first_kill)
{
    struct state s;
    waitio_group_t g;
    char name[200];
    waitio_set_errors(WAITIO_ERRORS_RETURN);
    wio_os_fault = count_and_die; /* before there is a service thread */
    need(waitio_init(30));
    die_at = first_kill;
    need(waitio_group_universe(0, &g));
    load(me, &s);
    need(waitio_resume_from(s.mark));
    while (s.step < STEPS) {
        one_step(g, me, &s);
        if (s.step % 3 == 0 && me == 0)
            continue; /* the two mark different states */
        need(waitio_resume_mark(&s.mark));
        save(me, &s);
    }
    receive(g, me, STEPS - 1, 1, &s);
    file_name(name, sizeof name, me, "result");
    FILE *f = fopen(name, "wb");
    fprintf(f, "%llu", (unsigned long long)s.sum);
    fclose(f);
    need(waitio_finalize());
    _exit(0);
}

/* ---- the test ---- */

static void settings(int me)
{
    char rank[8];
    snprintf(rank, sizeof rank, "%d", me);
    setenv("WAITIO_PBID", rank, 1);
    setenv("WAITIO_NPB", "2", 1);
    setenv("WAITIO_RANK", "0", 1);
    setenv("WAITIO_NPROCS", "1", 1);
    setenv("WAITIO_JOB_ID", "resume", 1);
    setenv("WAITIO_COMM_TYPE", "file", 1);
    setenv("WAITIO_SCRATCH_DIR", scratch, 1);
    setenv("WAITIO_FILE_HEARTBEAT", "0.02", 1);
    setenv("WAITIO_FILE_RESUME", "1", 0);
    setenv("WAITIO_LOG", "error", 1);
    unsetenv("WAITIO_MASTER_HOST");
}

/* @return exit status, or minus the signal */
static void life(const int kill_at[2], int status[2])
{
    pid_t pid[2];
    for (int i = 0; i < 2; i++) {
        fflush(NULL);
        pid[i] = fork();
        if (pid[i] == 0) {
            settings(i);
            program(i, kill_at[i]);
        }
    }
    for (int i = 0; i < 2; i++) {
        int st;
        assert_int_equal(waitpid(pid[i], &st, 0), pid[i]);
        status[i] = WIFSIGNALED(st) ? -WTERMSIG(st) : WEXITSTATUS(st);
    }
}

static unsigned long long result(int me)
{
    char name[200];
    unsigned long long sum = 0;
    file_name(name, sizeof name, me, "result");
    FILE *f = fopen(name, "rb");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%llu", &sum), 1);
    fclose(f);
    unlink(name);
    file_name(name, sizeof name, me, "checkpoint");
    unlink(name);
    return sum;
}

static bool run_is_left(const char *below)
{
    char name[200];
    struct stat st;
    snprintf(name, sizeof name, "%s/.waitio-file-resume%s", scratch, below);
    return stat(name, &st) == 0;
}

static bool can_go_on(void)
{
    return run_is_left("/resume");
}

static bool has_result(int me)
{
    char name[200];
    struct stat st;
    file_name(name, sizeof name, me, "result");
    return stat(name, &st) == 0;
}

static int remove_name(const char *name, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    return at->level == 0 ? 0 : remove(name);
}

/* All that is in the scratch directory. */
static void sweep(void)
{
    (void)nftw(scratch, remove_name, 8, FTW_DEPTH | FTW_PHYS);
}

static unsigned long long uninterrupted[2];

/* Both have the numbers of the run that nobody disturbed. */
static void compare(int first, int second)
{
    for (int i = 0; i < 2; i++) {
        unsigned long long sum = result(i);
        if (uninterrupted[i] == 0)
            uninterrupted[i] = sum;
        if (sum != uninterrupted[i])
            fail_msg("kill at %d %d: process %d has another result", first, second, i);
    }
}

static void start_again(int first, int second)
{
    int none[2] = {0, 0}, status[2];
    life(none, status);
    for (int i = 0; i < 2; i++)
        if (status[i] != 0)
            fail_msg("killed at %d %d and started again: process %d ended with %d", first, second,
                     i, status[i]);
}

/* @return whether anybody was killed */
static bool one_kill(int first, int second)
{
    int at[2] = {first, second}, status[2];
    life(at, status);
    for (int i = 0; i < 2; i++)
        if (status[i] != 0 && status[i] != -SIGKILL && status[i] != PEER_DIED)
            fail_msg("kill at %d %d: process %d ended with %d", first, second, i, status[i]);
    /* Killed while it removed what nobody needed any more: nothing is left to go on with. */
    bool over = has_result(0) && has_result(1) && !can_go_on();
    if (!over && (status[0] | status[1]) != 0)
        start_again(first, second);
    compare(first, second);
    if (over)
        sweep();
    if (run_is_left(""))
        fail_msg("kill at %d %d: the run's directory is left", first, second);
    return status[0] == -SIGKILL || status[1] == -SIGKILL;
}

static int stride(void)
{
    const char *text = getenv("WT_STRIDE");
    return text != NULL ? atoi(text) : 41;
}

static void matrix(bool of_first, bool of_second)
{
    int runs = 0, kills = 0;
    for (int at = 1; at < 3000; at += stride(), runs++) {
        torn = runs % 2 != 0;
        if (!one_kill(of_first ? at : 0, of_second ? at + (of_first ? 13 : 0) : 0))
            break;
        kills++;
    }
    print_message("killed %d times\n", kills);
    assert_true(kills > 3);
}

static void test_undisturbed(void **state)
{
    (void)state;
    assert_false(one_kill(0, 0));
}
static void test_first_is_killed(void **state)
{
    (void)state;
    matrix(true, false);
}
static void test_second_is_killed(void **state)
{
    (void)state;
    matrix(false, true);
}
static void test_both_are_killed(void **state)
{
    (void)state;
    matrix(true, true);
}

/* ---- what is refused ---- */

enum wrong { NO_RESUME, ONE_SIDE, OTHER_SIZE, OTHER_SECRET, DAMAGED_MARK, DAMAGED_JOURNAL, LIVES };

static void flip(const char *begins, long at)
{
    char name[600], folder[200];
    snprintf(folder, sizeof folder, "%s/.waitio-file-resume/resume", scratch);
    DIR *dir = opendir(folder);
    int flipped = 0;
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (strncmp(e->d_name, begins, strlen(begins)) != 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        int fd = open(name, O_RDWR);
        char c = 0;
        assert_int_equal(pread(fd, &c, 1, at), 1);
        c ^= 1;
        assert_int_equal(pwrite(fd, &c, 1, at), 1);
        close(fd);
        flipped++;
    }
    closedir(dir);
    assert_true(flipped > 0);
}

/* A process of a run that is to be refused; it says why. */
static void refused(int me, enum wrong what, int say)
{
    settings(me);
    char text[2048];
    setenv("WAITIO_INIT_TIMEOUT", "20", 1);
    if (what == NO_RESUME || (what == ONE_SIDE && me == 0))
        setenv("WAITIO_FILE_RESUME", "0", 1);
    if (what == OTHER_SIZE)
        setenv("WAITIO_NPB", "3", 1);
    if (what == OTHER_SECRET)
        setenv("WAITIO_SECRET", "none", 1);
    waitio_set_errors(WAITIO_ERRORS_RETURN);
    int rc = waitio_init(20);
    int n = snprintf(text, sizeof text, "%d %s\n", rc, rc != 0 ? waitio_last_error() : "");
    if (write(say, text, (size_t)n) != n)
        _exit(FAILED);
    _exit(0);
}

static void expect_refusal(enum wrong what, const char *const words[3])
{
    int tube[2], status;
    pid_t pid[3];
    int n = what == OTHER_SIZE ? 3 : 2;
    char said[8192];
    size_t got = 0;
    assert_int_equal(pipe(tube), 0);
    for (int i = 0; i < n; i++)
        if ((pid[i] = fork()) == 0)
            refused(i, what, tube[1]);
    close(tube[1]);
    for (ssize_t r; (r = read(tube[0], said + got, sizeof said - 1 - got)) > 0;)
        got += (size_t)r;
    said[got] = '\0';
    close(tube[0]);
    for (int i = 0; i < n; i++)
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
    for (int i = 0; i < 3; i++)
        if (strstr(said, words[i]) == NULL)
            fail_msg("case %d: '%s' is not in: %s", what, words[i], said);
}

/* A run that is killed in its middle: marks and messages of both are left. Calls are not counted
 * here: on a busy machine many of them are signs of life, and no mark is written before the last.
 */
static void half_a_run(void)
{
    const int none[2] = {0, 0};
    int status[2];
    die_in_step = STEPS / 2 + 1;
    life(none, status);
    die_in_step = 0;
    assert_true(can_go_on());
}

/* The run is killed in its middle, and what is left is damaged, or asked for in a wrong way. */
static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        enum wrong what;
        const char *words[3];
    } cases[] = {
        {NO_RESUME, {"WAITIO_FILE_RESUME=1", "/resume", "waitio clean --remove --resumable"}},
        {ONE_SIDE,
         {"WAITIO_FILE_RESUME=1 here, and 0 in PB 0 rank 0", "all programs", "wt-resume"}},
        {OTHER_SIZE, {"another number of PBs", "/resume", "waitio clean --remove --resumable"}},
        {OTHER_SECRET, {"another secret", "/resume", "waitio clean --remove --resumable"}},
        {DAMAGED_MARK, {"is damaged", "/resume/m0000000", "waitio clean --remove --resumable"}},
        {DAMAGED_JOURNAL, {"is damaged", "/resume/j0000000", "waitio clean --remove --resumable"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        half_a_run();
        if (cases[i].what == DAMAGED_MARK)
            flip("m", 40);
        if (cases[i].what == DAMAGED_JOURNAL)
            flip("j", 70);
        expect_refusal(cases[i].what, cases[i].words);
        sweep();
    }
}

/* A process of the run before is still there: it holds its lock. */
static void test_a_run_that_lives_is_refused(void **state)
{
    (void)state;
    static const char *const words[3] = {"still lives", "/resume", "WAITIO_FILE_RESUME=1"};
    char name[200];
    half_a_run();
    snprintf(name, sizeof name, "%s/.waitio-file-resume/resume/l00000001", scratch);
    int fd = open(name, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(wio_os_lock_file(fd), 0);
    expect_refusal(LIVES, words);
    close(fd);
    sweep();
}

static int make(void **state)
{
    (void)state;
    return mkdtemp(scratch) != NULL ? 0 : -1;
}
static int drop(void **state)
{
    (void)state;
    sweep();
    return rmdir(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undisturbed),      cmocka_unit_test(test_first_is_killed),
        cmocka_unit_test(test_second_is_killed), cmocka_unit_test(test_both_are_killed),
        cmocka_unit_test(test_refusals),         cmocka_unit_test(test_a_run_that_lives_is_refused),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
