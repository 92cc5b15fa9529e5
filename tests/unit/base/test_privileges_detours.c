// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_privileges_detours.c  Promises of privileges.h, tried by a detour: each call is one
 * that the process needs, used for something else. */
#include "base/service/privileges.h"

#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int drop_scanner(struct error *error)
{
    return privileges_drop_scanner(false, error);
}

static int drop_scanner_with_agents(struct error *error)
{
    return privileges_drop_scanner(true, error);
}

/* As vmwssd --user root. */
static int drop_rest_of_root(struct error *error)
{
    const struct account account = {.name = "root"};

    return privileges_drop_rest(&account, error);
}

static int drop_keeper(struct error *error)
{
    return privileges_drop_keeper(open("/tmp", O_RDONLY | O_DIRECTORY), error);
}

static int drop_clearer(struct error *error)
{
    return privileges_drop_clearer(open("/proc", O_RDONLY | O_DIRECTORY), error);
}

static int drop_nothing(struct error *error)
{
    (void)error;
    return 0;
}

/* Processes of user 0; the first has sockets, and the last gives nothing up. */
static int (*const drops[])(struct error *error) = {
    drop_rest_of_root,         drop_scanner, drop_scanner_with_agents, drop_keeper, drop_clearer,
    privileges_drop_reclaimer, drop_nothing,
};
enum { REST = 0, NOTHING = COUNT(drops) - 1 };

static int exit_status(pid_t child)
{
    int status;

    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* --- datagrams -------------------------------------------------------------------------------- */

/* A datagram goes to any socket that has a path, even from one of a connected pair: time servers,
 * for example, take commands of user 0 so. */
static void send_by_each_type(const struct sockaddr_un *address)
{
    static const int types[] = {SOCK_DGRAM, SOCK_RAW, SOCK_STREAM, SOCK_SEQPACKET};
    const struct sockaddr *to = (const struct sockaddr *)address;

    for (size_t i = 0; i < COUNT(types); i++) {
        int fds[2];

        if (socketpair(AF_UNIX, types[i], 0, fds) == 0)
            sendto(fds[0], "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL, to, sizeof(*address));
        fds[0] = socket(AF_UNIX, types[i], 0);
        sendto(fds[0], "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL, to, sizeof(*address));
    }
}

TEST_EACH(plain, no_datagram_is_sent_to_a_path, REST + 1, COUNT(drops))
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    char datagram[2];
    pid_t child;

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", unit_dir());
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    child = fork();
    if (child == 0) {
        struct error error = {0};

        if (drops[_i](&error) < 0)
            _exit(1);
        send_by_each_type(&address);
        _exit(0);
    }
    ck_assert_int_eq(exit_status(child), 0);
    const bool was_sent = recv(fd, datagram, sizeof(datagram), 0) > 0;

    ck_assert_int_eq(was_sent, _i == NOTHING);
    close(fd);
}

/* --- a number that is another process's ------------------------------------------------------- */

#ifndef __SANITIZE_ADDRESS__ /* which makes processes of its own, so they are allowed */
enum { BEGIN, OVER, END };

/* Waits until the other end of a pipe is closed. */
static void await_end(int fd)
{
    char byte;

    while (read(fd, &byte, 1) > 0)
        ;
}

/* The child of a process that ends has the same filter, and lives until the number that its parent
 * had is another process's. */
static void signal_successor(pid_t number, int begin_fd)
{
    await_end(begin_fd);
    syscall(SYS_kill, number, SIGTERM);
    syscall(SYS_tgkill, number, number, SIGTERM);
    _exit(0);
}

static pid_t start_first(int (*drop)(struct error *error), int pipes[3][2])
{
    pid_t child = fork();

    if (child == 0) {
        struct error error = {0};
        const pid_t number = getpid();

        close(pipes[BEGIN][1]);
        if (drop(&error) < 0)
            _exit(1);
        /* not fork(), whose child would end with its parent (unit.c) */
        if (syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) == 0)
            signal_successor(number, pipes[BEGIN][0]);
        _exit(0);
    }
    return child;
}

/* A process with this number, which ends with the pipe, with status 1 if it was sent SIGTERM. */
static pid_t start_successor(pid_t number, int pipes[3][2])
{
    struct clone_args arguments = {
        .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&number, .set_tid_size = 1};
    pid_t child = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
    sigset_t pending;

    if (child == 0) {
        close(pipes[BEGIN][1]);
        close(pipes[END][1]);
        await_end(pipes[END][0]);
        _exit(sigpending(&pending) < 0 || sigismember(&pending, SIGTERM));
    }
    return child;
}

TEST_EACH(plain, no_process_is_signalled_by_the_number_of_one_that_ended, 0, COUNT(drops))
{
    int pipes[3][2];
    sigset_t blocked;
    pid_t first;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    for (size_t i = 0; i < COUNT(pipes); i++)
        ck_assert_int_eq(pipe(pipes[i]), 0);
    first = start_first(drops[_i], pipes);
    ck_assert_int_eq(exit_status(first), 0);
    close(pipes[OVER][1]);
    ck_assert_int_eq(start_successor(first, pipes), first);
    close(pipes[BEGIN][1]);
    await_end(pipes[OVER][0]);
    close(pipes[END][1]);
    ck_assert_int_eq(exit_status(first), _i == NOTHING);
    close(pipes[BEGIN][0]);
    close(pipes[OVER][0]);
    close(pipes[END][0]);
}

#endif

int unit_begin(void)
{
    return geteuid() == 0 ? 0 : 77;
}
