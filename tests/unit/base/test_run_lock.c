// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_run_lock.c  One holder for each guest, however that holder ends. */
#include "base/run_lock.h"

#include "asleep.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/vmwss-lock.XXXXXX";
static struct fsroot root;
static const struct lock_wait at_once = {.pidfd = -1};
static pid_t self;
static int go[2]; /* a pipe, by which who holds the lock hears that he may end */

static void setup(void)
{
    self = getpid();
    ck_assert_int_eq(pipe(go), 0);
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(fsroot_open(&root, dir), 0);
    ck_assert_int_eq(mkdirat(root.dirfd, "run", 0755), 0);
}

static void teardown(void)
{
    unlinkat(root.dirfd, "run/vmwss/guest-7.lock", 0);
    unlinkat(root.dirfd, "run/vmwss", AT_REMOVEDIR);
    unlinkat(root.dirfd, "run", AT_REMOVEDIR);
    fsroot_close(&root);
    ck_assert_int_eq(rmdir(dir), 0); /* nothing is left behind */
}

/* Runs in a child, which holds the lock until its parent waits for it, or has ended. */
static void hold_until_awaited(void)
{
    char word;

    close(go[1]);
    if (read(go[0], &word, 1) == 1)
        await_sleep(self);
}

static void let_go_when_awaited(void)
{
    ck_assert_int_eq(write(go[1], "g", 1), 1);
}

/* A process that holds the lock of guest 7 until it is awaited, or killed. */
static pid_t start_holder(void)
{
    int ends[2];
    char word;

    ck_assert_int_eq(pipe(ends), 0);

    pid_t pid = fork();

    if (pid == 0) {
        struct run_lock lock = RUN_LOCK_NONE;

        if (run_lock_guest(&lock, &root, 7, &at_once, NULL) < 0 || write(ends[1], "h", 1) != 1)
            _exit(1);
        hold_until_awaited();
        run_lock_release(&lock);
        _exit(0);
    }
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &word, 1), 1);
    close(ends[0]);
    return pid;
}

FIXTURE(cases, .setup = setup, .teardown = teardown, .timeout_s = 60);

TEST(cases, names_the_holder)
{
    struct run_lock lock = RUN_LOCK_NONE;
    struct error error = {0};
    pid_t pid = start_holder();
    const char *text = TEXT_OF(32, "process %d", (int)pid);

    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &at_once, &error), -EBUSY);
    ck_assert_ptr_nonnull(strstr(error.text, text));
    ck_assert_ptr_nonnull(strstr(error.text, "--wait"));
    ck_assert_int_eq(lock.file_fd, -1);

    ck_assert_int_eq(run_lock_guest(&lock, &root, 8, &at_once, &error), 0); /* another guest */
    run_lock_release(&lock);
    unit_kill(pid);
}

TEST(cases, kill_releases)
{
    struct run_lock lock = RUN_LOCK_NONE;
    pid_t pid = start_holder();

    unit_kill(pid);
    ck_assert(fsroot_exists(&root, "run/vmwss/guest-7.lock"));
    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &at_once, NULL), 0);
    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &at_once, NULL), 0); /* ours already */
    run_lock_release(&lock);
    run_lock_release(&lock);
    ck_assert(!fsroot_exists(&root, "run/vmwss/guest-7.lock"));
}

TEST(cases, waits_as_told)
{
    cleanup_run_lock struct run_lock lock = RUN_LOCK_NONE;
    pid_t pid = start_holder();
    struct lock_wait wait = {.seconds = 0.05, .pidfd = -1};
    uint64_t began_ns = clock_ns();

    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &wait, NULL), -EBUSY);
    ck_assert_uint_ge(clock_ns() - began_ns, 50000000);
    wait.seconds = 60;
    let_go_when_awaited();
    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &wait, NULL), 0);
    waitpid(pid, NULL, 0);
}

/* Kills a process whose child still has the lock. */
static void leave_a_child(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct run_lock lock = RUN_LOCK_NONE;

        if (run_lock_guest(&lock, &root, 7, &at_once, NULL) < 0)
            _exit(1);
        children_outlive = true;
        if (fork() == 0) {
            hold_until_awaited();
            unlinkat(root.dirfd, "run/vmwss/guest-7.lock", 0);
        }
        _exit(0);
    }

    int status;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

TEST(cases, waits_for_what_restores)
{
    struct run_lock lock = RUN_LOCK_NONE;
    const struct lock_wait wait = {.ended_seconds = 60, .pidfd = -1};

    leave_a_child();
    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &at_once, NULL), -EBUSY);
    let_go_when_awaited();
    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &wait, NULL), 0);
    run_lock_release(&lock);

    /* It has removed its file, or somebody else has not written his pid: nobody's yet. */
    pid_t pid = start_holder();
    cleanup_close int fd = openat(root.dirfd, "run/vmwss/guest-7.lock", O_WRONLY | O_TRUNC);

    let_go_when_awaited();
    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &wait, NULL), 0);
    waitpid(pid, NULL, 0);
    run_lock_release(&lock);
}

TEST(cases, a_holder_that_lives_is_not_waited_for)
{
    struct run_lock lock = RUN_LOCK_NONE;
    const struct lock_wait wait = {.ended_seconds = 600, .pidfd = -1};
    pid_t pid = start_holder();

    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &wait, NULL), -EBUSY);
    unit_kill(pid);
}

TEST(cases, gives_up_when_interrupted)
{
    struct run_lock lock = RUN_LOCK_NONE;
    pid_t pid = start_holder();
    const volatile int interrupted = 1;
    const struct lock_wait wait = {.seconds = 60, .interrupted = &interrupted, .pidfd = -1};

    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &wait, NULL), -EINTR);
    unit_kill(pid);
}

/* A lock file that its last holder removes must not be locked by one process and created again by
 * another. */
TEST(cases, many_in_turn_never_together)
{
    pid_t pids[4];

    for (int i = 0; i < 4; i++) {
        pids[i] = fork();
        if (pids[i])
            continue;
        for (int turn = 0; turn < 50; turn++) {
            struct run_lock lock = RUN_LOCK_NONE;
            const struct lock_wait wait = {.seconds = 60, .pidfd = -1};

            if (run_lock_guest(&lock, &root, 7, &wait, NULL) < 0 ||
                mkdirat(root.dirfd, "run/inside", 0700) < 0) /* fails when somebody is inside */
                _exit(1);
            usleep(200);
            unlinkat(root.dirfd, "run/inside", AT_REMOVEDIR);
            run_lock_release(&lock);
        }
        _exit(0);
    }
    for (int i = 0; i < 4; i++) {
        int status;

        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert_int_eq(status, 0);
    }
}

TEST(cases, host_lock_is_apart)
{
    cleanup_run_lock struct run_lock guest = RUN_LOCK_NONE;
    cleanup_run_lock struct run_lock host = RUN_LOCK_NONE;

    ck_assert_int_eq(run_lock_guest(&guest, &root, 7, &at_once, NULL), 0);
    ck_assert_int_eq(run_lock_host(&host, &root, "damon", &at_once, NULL), 0);
    ck_assert(fsroot_exists(&root, "run/vmwss/damon.lock"));
}

TEST(cases, lent_and_taken_back)
{
    struct run_lock lock = RUN_LOCK_NONE;
    bool others = false;

    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &at_once, NULL), 0);
    run_lock_lend(&lock);
    ck_assert_int_eq(run_lock_retake(&lock, &others), 0);
    ck_assert(!others);

    run_lock_lend(&lock);

    pid_t pid = start_holder(); /* it gets what we lent ... */

    ck_assert_int_eq(run_lock_retake(&lock, &others), -EBUSY);
    unit_kill(pid); /* ... and leaves its file behind */
    others = false;
    ck_assert_int_eq(run_lock_retake(&lock, &others), 0);
    ck_assert(others);

    run_lock_lend(&lock);
    pid = start_holder(); /* or removes it */
    let_go_when_awaited();
    waitpid(pid, NULL, 0);
    others = false;
    ck_assert_int_eq(run_lock_retake(&lock, &others), 0);
    ck_assert(others);

    struct run_lock second = RUN_LOCK_NONE;

    ck_assert_int_eq(run_lock_guest(&second, &root, 7, &at_once, NULL), -EBUSY); /* truly ours */
    run_lock_lend(&lock);
    run_lock_release(&lock);
    ck_assert(!fsroot_exists(&root, "run/vmwss/guest-7.lock"));
}

/* A lent lock that another process holds must not be removed from under it. */
TEST(cases, released_while_another_has_it)
{
    struct run_lock lock = RUN_LOCK_NONE;
    struct run_lock second = RUN_LOCK_NONE;

    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &at_once, NULL), 0);
    run_lock_lend(&lock);

    pid_t pid = start_holder();

    run_lock_release(&lock);
    ck_assert_int_eq(run_lock_guest(&second, &root, 7, &at_once, NULL), -EBUSY);
    unit_kill(pid);
}

/* In a process of its own: locks guest 7, and gives it back. */
static void borrow(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct run_lock lock = RUN_LOCK_NONE;
        int rc = run_lock_guest(&lock, &root, 7, &at_once, NULL);

        run_lock_give_back(&lock);
        _exit(rc < 0 || lock.file_fd >= 0);
    }

    int status;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

/* A holder that changed none of the marks leaves no trace, and does not hide that another one was
 * killed. */
TEST(cases, given_back)
{
    cleanup_run_lock struct run_lock lock = RUN_LOCK_NONE;
    bool others = false;

    borrow(); /* of nobody: released */
    ck_assert(!fsroot_exists(&root, "run/vmwss/guest-7.lock"));

    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &at_once, NULL), 0);
    run_lock_lend(&lock);
    borrow();
    borrow();
    ck_assert_int_eq(run_lock_retake(&lock, &others), 0);
    ck_assert(!others);

    run_lock_lend(&lock);

    pid_t pid = start_holder();

    unit_kill(pid);
    borrow();
    ck_assert_int_eq(run_lock_retake(&lock, &others), 0);
    ck_assert(others);
}

/* The process that lent the lock takes it once more by another struct. */
TEST(cases, given_back_by_the_same_process)
{
    cleanup_run_lock struct run_lock lock = RUN_LOCK_NONE;

    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &at_once, NULL), 0);
    for (int beside = 0; beside < 2; beside++) {
        struct run_lock second = RUN_LOCK_NONE;
        bool others = false;

        second.beside = beside;
        run_lock_lend(&lock);
        ck_assert_int_eq(run_lock_guest(&second, &root, 7, &at_once, NULL), 0);
        run_lock_give_back(&second);
        ck_assert_int_eq(run_lock_retake(&lock, &others), 0);
        ck_assert_int_eq(others, !beside);
    }
}

static void make_file(const char *name)
{
    cleanup_close int fd = openat(root.dirfd, name, O_WRONLY | O_CREAT, 0600);

    ck_assert_int_ge(fd, 0);
}

/* A lock that is lent or held stays, with everything published under it. */
TEST(cases, left_to_a_child)
{
    struct run_lock lock = RUN_LOCK_NONE;
    cleanup_run_lock struct run_lock other = RUN_LOCK_NONE;

    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &at_once, NULL), 0);

    pid_t pid = fork();

    if (pid == 0) {
        pause();
        _exit(0);
    }

    int file_fd = lock.file_fd;
    int dir_fd = lock.dir_fd;

    run_lock_leave(&lock);
    ck_assert_int_lt(fcntl(file_fd, F_GETFD), 0);
    ck_assert_int_lt(fcntl(dir_fd, F_GETFD), 0);
    ck_assert_int_eq(lock.file_fd, -1);
    ck_assert_int_eq(run_lock_guest(&other, &root, 7, &at_once, NULL), -EBUSY);
    unit_kill(pid);
    ck_assert_int_eq(run_lock_guest(&other, &root, 7, &at_once, NULL), 0);
}

TEST(cases, swept)
{
    struct run_lock lock = RUN_LOCK_NONE;
    pid_t dead = start_holder();
    bool others = false;

    unit_kill(dead);
    ck_assert(fsroot_exists(&root, "run/vmwss/guest-7.lock"));
    run_lock_sweep(&root);
    ck_assert(!fsroot_exists(&root, "run/vmwss/guest-7.lock"));

    ck_assert_int_eq(run_lock_guest(&lock, &root, getpid(), &at_once, NULL), 0);

    char panel[48];

    snprintf(panel, sizeof(panel), "run/vmwss/guest-%d.panel", (int)getpid());

    const char *gone = TEXT_OF(48, "run/vmwss/guest-%d.panel", (int)dead);

    make_file(panel);
    make_file(gone);
    run_lock_sweep(&root);
    run_lock_lend(&lock);
    run_lock_sweep(&root);
    ck_assert(fsroot_exists(&root, "%s", panel));
    ck_assert(!fsroot_exists(&root, "%s", gone));
    ck_assert_int_eq(run_lock_retake(&lock, &others), 0);
    ck_assert(!others);
    run_lock_release(&lock);
    run_lock_sweep(&root); /* it was published under that lock */
    ck_assert(!fsroot_exists(&root, "%s", panel));
}

/* A process of the made-up /proc. */
static void make_process(int pid, const char *all_pids, const char *namespace)
{
    ck_assert(mkdirat(root.dirfd, TEXT_OF(32, "proc/%d", pid), 0755) == 0);
    ck_assert(mkdirat(root.dirfd, TEXT_OF(32, "proc/%d/ns", pid), 0755) == 0);

    cleanup_close int fd = openat(root.dirfd, TEXT_OF(32, "proc/%d/status", pid),
                                  O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    ck_assert_int_gt(dprintf(fd, "Name:\tqemu\nNSpid:\t%s\nVmRSS:\t7 kB\n", all_pids), 0);
    ck_assert_int_eq(symlinkat(namespace, root.dirfd, TEXT_OF(32, "proc/%d/ns/pid", pid)), 0);
}

static void remove_process(int pid)
{
    unlinkat(root.dirfd, TEXT_OF(32, "proc/%d/status", pid), 0);
    unlinkat(root.dirfd, TEXT_OF(32, "proc/%d/ns/pid", pid), 0);
    unlinkat(root.dirfd, TEXT_OF(32, "proc/%d/ns", pid), AT_REMOVEDIR);
    unlinkat(root.dirfd, TEXT_OF(32, "proc/%d", pid), AT_REMOVEDIR);
}

/* The host sees the guest as 2272, and its own container as 7; 8 is the 7 of another container. */
TEST(cases, one_lock_for_all_namespaces)
{
    struct run_lock lock = RUN_LOCK_NONE;
    struct run_lock other = RUN_LOCK_NONE;

    ck_assert_int_eq(mkdirat(root.dirfd, "proc", 0755), 0);
    make_process(7, "7", "pid:[4026532500]");
    make_process(2272, "2272\t7", "pid:[4026532500]");
    make_process(8, "8\t7", "pid:[4026532501]");
    make_process(9, "9", "pid:[4026531836]");

    ck_assert_int_eq(run_lock_guest(&lock, &root, 2272, &at_once, NULL), 0);
    ck_assert(fsroot_exists(&root, "run/vmwss/guest-7-4026532500.lock"));
    ck_assert_int_eq(run_lock_guest(&other, &root, 7, &at_once, NULL), -EBUSY);
    ck_assert_int_eq(run_lock_guest(&other, &root, 8, &at_once, NULL), 0);
    run_lock_release(&other);
    ck_assert_int_eq(run_lock_guest(&other, &root, 9, &at_once, NULL), 0);
    ck_assert(fsroot_exists(&root, "run/vmwss/guest-9.lock"));
    run_lock_release(&other);

    make_file("run/vmwss/guest-7-4026532500.panel");
    run_lock_sweep(&root);
    ck_assert(fsroot_exists(&root, "run/vmwss/guest-7-4026532500.panel"));
    run_lock_release(&lock);
    run_lock_sweep(&root);
    ck_assert(!fsroot_exists(&root, "run/vmwss/guest-7-4026532500.panel"));
    for (int pid = 7; pid <= 9; pid++)
        remove_process(pid);
    remove_process(2272);
    unlinkat(root.dirfd, "proc", AT_REMOVEDIR);
}

/* A container has a /run of its own, so it does not see the file. Kernels before 6.9 have no pidfs,
 * and nothing by which the two could know of each other. */
TEST(cases, another_run)
{
    struct run_lock lock = RUN_LOCK_NONE;
    struct run_lock other = RUN_LOCK_NONE;
    cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    cleanup_close int again = (int)syscall(SYS_pidfd_open, getpid(), 0);
    const struct lock_wait wait = {.pidfd = pidfd};
    const struct lock_wait container = {.pidfd = again};
    struct fsroot its = {0};
    struct statfs fs;
    bool others = false;

    ck_assert_int_eq(mkdirat(root.dirfd, "container", 0755), 0);
    ck_assert_int_eq(fsroot_open(&its, TEXT_OF(64, "%s/container", dir)), 0);
    ck_assert_int_eq(mkdirat(its.dirfd, "run", 0755), 0);
    ck_assert_int_eq(fstatfs(pidfd, &fs), 0);

    const int busy = fs.f_type == 0x50494446 ? -EBUSY : 0;

    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &wait, NULL), 0);
    ck_assert_int_eq(run_lock_guest(&other, &its, 7, &container, NULL), busy);
    ck_assert(busy == 0 || !fsroot_exists(&its, "run/vmwss/guest-7.lock"));
    run_lock_release(&other);
    run_lock_lend(&lock);
    ck_assert_int_eq(run_lock_guest(&other, &its, 7, &container, NULL), busy);
    run_lock_release(&other);
    ck_assert_int_eq(run_lock_guest(&other, &root, 7, &container, NULL), 0); /* the same /run */
    run_lock_give_back(&other);
    ck_assert_int_eq(run_lock_retake(&lock, &others), 0);
    run_lock_release(&lock);
    ck_assert_int_eq(run_lock_guest(&other, &its, 7, &container, NULL), 0);
    run_lock_release(&other);

    unlinkat(its.dirfd, "run/vmwss", AT_REMOVEDIR);
    unlinkat(its.dirfd, "run", AT_REMOVEDIR);
    fsroot_close(&its);
    unlinkat(root.dirfd, "container", AT_REMOVEDIR);
}

/* Each measurement sweeps when it ends. Who just then takes a lock of the living must get it. */
TEST(cases, sweeping_takes_no_lock_of_the_living)
{
    cleanup_run_lock struct run_lock lock = RUN_LOCK_NONE;
    bool others = false;

    ck_assert_int_eq(run_lock_guest(&lock, &root, 7, &at_once, NULL), 0);

    pid_t sweeper = fork();

    for (; sweeper == 0;)
        run_lock_sweep(&root);
    for (int i = 0; i < 100000; i++) {
        run_lock_lend(&lock);
        ck_assert_int_eq(run_lock_retake(&lock, &others), 0);
    }
    unit_kill(sweeper);
    ck_assert(!others);
}
