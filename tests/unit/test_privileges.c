// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_privileges.c  What vmwssd gives up is given up. */
#include "daemon/privileges.h"

#include "fixture.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static bool refused(long result)
{
    return result == -1 && errno == EPERM;
}

static bool writes_no_memory(void)
{
    char here = 1;
    char there = 2;
    struct iovec from = {&here, 1};
    struct iovec to = {&there, 1};

    return refused(process_vm_writev(getpid(), &from, 1, &to, 1, 0)) && there == 2;
}

static bool reads_memory(void)
{
    char here = 1;
    char there = 2;
    struct iovec to = {&here, 1};
    struct iovec from = {&there, 1};

    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 && here == 2;
}

static bool runs_no_program(void)
{
    char *const argv[] = {"true", NULL};

    return refused(execv("/bin/true", argv));
}

static bool makes_no_namespace(void)
{
    return refused(unshare(CLONE_NEWUSER));
}

static bool stops_nobody(void)
{
#ifdef __SANITIZE_ADDRESS__ /* which needs it */
    return true;
#else
    return refused(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
#endif
}

static bool talks_to_no_network(void)
{
    static const int families[] = {AF_INET, AF_INET6, AF_PACKET, AF_TIPC, AF_ALG, AF_XDP};

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (!refused(socket(families[i], SOCK_STREAM, 0)))
            return false;
    return true;
}

static bool waits_for_nobody(void)
{
    return refused(listen(socket(AF_UNIX, SOCK_STREAM, 0), 1)) &&
           refused(syscall(SYS_io_uring_setup, 1, NULL));
}

static bool talks_to_this_host(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0) >= 0 && socket(AF_NETLINK, SOCK_RAW, 0) >= 0;
}

/* Whether this kernel has it or not. */
static bool talks_to_guests(void)
{
    return !refused(socket(AF_VSOCK, SOCK_STREAM, 0));
}

static bool gets_nothing_back(void)
{
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2;
}

static bool still_works(void)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork(); /* as a guardian */

    if (child == 0)
        _exit(7);

    int status = 0;

    return memory != MAP_FAILED && child > 0 && waitpid(child, &status, 0) == child &&
           WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

static const struct {
    const char *what;
    bool (*holds)(void);
} promises[] = {
    {"writes no other process's memory", writes_no_memory},
    {"reads memory", reads_memory},
    {"runs no program", runs_no_program},
    {"makes no namespace", makes_no_namespace},
    {"stops nobody", stops_nobody},
    {"talks to no network", talks_to_no_network},
    {"waits for nobody", waits_for_nobody},
    {"talks to this host", talks_to_this_host},
    {"talks to its guests", talks_to_guests},
    {"gets nothing back", gets_nothing_back},
    {"still works", still_works},
};

static bool networks_and_guests_are_out_of_reach(void)
{
    return talks_to_no_network() && !talks_to_guests();
}

/* In a process of its own, which ends before anything of the test's needs what was given up. */
static void expect_after_drop(bool agents, const char *what, bool (*holds)(void))
{
    pid_t child = fork();

    if (child == 0) {
        struct error error = {0};

        _exit(privileges_drop(agents, &error) < 0 ? 2 : !holds());
    }

    int status;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: %d", what, status);
}

START_TEST(what_is_given_up)
{
    expect_after_drop(true, promises[_i].what, promises[_i].holds);
}
END_TEST

START_TEST(without_agents_guests_are_a_network_too)
{
    expect_after_drop(false, "without agents", networks_and_guests_are_out_of_reach);
}
END_TEST

/* Without the filter the same calls do something else: the test can fail. */
START_TEST(they_were_possible_before)
{
    ck_assert(!writes_no_memory());
    ck_assert(!talks_to_no_network());
    ck_assert(!waits_for_nobody());
    ck_assert(!gets_nothing_back());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("privileges");
    TCase *tcase = tcase_create("privileges");

    tcase_add_loop_test(tcase, what_is_given_up, 0, sizeof(promises) / sizeof(promises[0]));
    tcase_add_test(tcase, without_agents_guests_are_a_network_too);
    tcase_add_test(tcase, they_were_possible_before);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
