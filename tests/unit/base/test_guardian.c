// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_guardian.c  The guardian undoes when we are killed, and only then. */
#include "base/guardian.h"
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(void *shared, void *context)
{
    const int *fd = context;
    ssize_t n = write(*fd, shared, strlen(shared));

    (void)n;
}

/* Stops it once it stands guard. */
static void stop(pid_t pid)
{
    const struct fsroot root = {.dirfd = AT_FDCWD};
    char name[32] = "";

    while (strncmp(name, "vmwss-guardian", 14) != 0)
        if (fsroot_read(&root, name, sizeof(name), "/proc/%d/comm", (int)pid) < 0)
            return;
    kill(pid, SIGSTOP);
    waitpid(pid, NULL, WUNTRACED);
}

/* A process that posts a guardian, if @p stopped stops it, and then ends by @p signal, or dismisses
 * it when that is 0. Returns what the guardian wrote; the pipe ends only when the guardian has
 * ended too. */
static ssize_t output_after(int signal, bool stopped, char *output, size_t size)
{
    int ends[2];

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);

    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct guardian *guardian;

        /* Not the test runner's handlers, and not its process group. */
        sigaction(SIGTERM, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        sigaction(SIGINT, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        setpgid(0, 0);
        children_outlive = true;
        if (guardian_post(&guardian, 64, tell, &ends[1], NULL) < 0)
            _exit(1);
        strcpy(guardian_shared(guardian), "restored"); /* after the fork: it must see this */
        if (stopped)
            stop(guardian_pid(guardian));
        if (signal)
            kill(getpid(), signal);
        guardian_dismiss(guardian);
        _exit(waitpid(-1, NULL, 0) < 0 && errno == ECHILD ? 0 : 1);
    }
    close(ends[1]);

    int status;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (signal)
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    else
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);

    ssize_t n = read(ends[0], output, size - 1);

    close(ends[0]);
    output[n > 0 ? n : 0] = '\0';
    return n;
}

TEST_EACH(plain, undoes_after_kill, 0, 6)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGINT};
    char output[64];

    ck_assert_int_gt(output_after(signals[_i % 3], _i >= 3, output, sizeof(output)), 0);
    ck_assert_str_eq(output, "restored");
}

TEST_EACH(plain, does_nothing_when_dismissed, 0, 2)
{
    char output[64];

    ck_assert_int_eq(output_after(0, _i, output, sizeof(output)), 0);
    guardian_dismiss(NULL);
}

/* Says what it is told twice; and at the end, that it was the end. */
static void echo(int socket, void *shared, void *context)
{
    char word[16];
    ssize_t n;

    while ((n = recv(socket, word, sizeof(word), 0)) > 0 && word[0] != 'd')
        send(socket, word, (size_t)n, MSG_NOSIGNAL);
    strcpy(shared, "ended");
    (void)context;
}

TEST(plain, employed_child_serves)
{
    struct guardian *guardian;
    char word[16] = {0};

    ck_assert_int_eq(guardian_employ(&guardian, 16, echo, NULL, NULL), 0);
    ck_assert_int_gt(guardian_pid(guardian), 0);
    ck_assert_int_eq(send(guardian_socket(guardian), "hello", 6, MSG_NOSIGNAL), 6);
    ck_assert_int_eq(recv(guardian_socket(guardian), word, sizeof(word), 0), 6);
    ck_assert_str_eq(word, "hello");
    guardian_dismiss(guardian);
    ck_assert_int_eq(waitpid(-1, NULL, 0), -1);
}
