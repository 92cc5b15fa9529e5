// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_clear_keeper.c  What the process that opens clear_refs for the scanner may, and what
 * it does not take. */
#include "base/service/privileges.h"
#include "programs/vmwssd/scanner/clear_keeper.h"

#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define USER 65533

FIXTURE(cases, .timeout_s = 30);

static int open_proc(void)
{
    return open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

TEST(cases, it_takes_the_number_of_a_process_only)
{
    const int dir_fd = open_proc();
    const int32_t own = getpid(), none = 0x7ffffff0, negative = -1;
    int fd = -1;

    ck_assert_int_eq(clear_keeper_answer(dir_fd, &own, sizeof(own), &fd), 0);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(clear_keeper_answer(dir_fd, &none, sizeof(none), &fd), -ENOENT);
    ck_assert_int_eq(clear_keeper_answer(dir_fd, &negative, sizeof(negative), &fd), 1);
    ck_assert_int_eq(clear_keeper_answer(dir_fd, &own, sizeof(own) - 1, &fd), 1);
    ck_assert_int_eq(clear_keeper_answer(dir_fd, "1/../self", 9, &fd), 1);
    close(dir_fd);
}

/* A process of another user that sleeps; its files in /proc are that user's, as those of a QEMU. */
static pid_t sleeper(void)
{
    int ready[2];
    char byte;
    pid_t pid;

    ck_assert_int_eq(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (setresuid(USER, USER, USER) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0 ||
            prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

/* Returns bits: 1: clear_refs could be opened, 2: the memory could; 4: rights were not dropped. */
static int opened_after(int (*drop)(int dir_fd, struct error *error), int32_t pid)
{
    const int dir_fd = open_proc();
    struct error error = {0};
    char mem[32];
    int fd = -1;

    snprintf(mem, sizeof(mem), "/proc/%d/mem", pid);
    if (drop(dir_fd, &error) < 0)
        return 4;
    return (clear_keeper_answer(dir_fd, &pid, sizeof(pid), &fd) == 0) |
           (open(mem, O_RDWR | O_CLOEXEC) >= 0) << 1;
}

static int in_child(int (*drop)(int dir_fd, struct error *error), int32_t pid)
{
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(opened_after(drop, pid));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(cases, it_opens_the_file_of_another_user_and_not_the_memory)
{
    pid_t pid;

    if (geteuid() != 0)
        return; /* then there is no other user */
    pid = sleeper();
    ck_assert_int_eq(in_child(privileges_drop_clearer, pid), 1);
    ck_assert_int_eq(in_child(privileges_drop_keeper, pid), 0); /* for which it has a process */
    unit_kill(pid);
}
