// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/guardian.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct guardian {
    pid_t pid;
    int alive_fd; /* our end of the socket; the kernel closes it when this process dies */
    void *shared;
    size_t shared_bytes;
};

static void ignore_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};
    const struct sigaction ignore = {.sa_handler = SIG_IGN};

    for (size_t i = 0; i < COUNT(numbers); i++)
        sigaction(numbers[i], &ignore, NULL);
}

/* A reader of our output, through a pipe, must not wait for the guardian. The guardian of a process
 * that may open nothing for writing cannot do so either; it prints nothing. */
static void let_go_of_terminal(void)
{
    cleanup_close int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    setsid();
    for (int fd = 0; null_fd >= 0 && fd <= 2; fd++)
        dup2(null_fd, fd);
}

/* The child's task. */
struct duty {
    void (*undo)(void *shared, void *context);
    /* if not NULL, called instead of undo */
    void (*serve)(int socket, void *shared, void *context);
    void *context;
};

/* A byte means dismissal; end of file without a byte means that the parent died. */
static void wait_for_death(int watch_fd, const struct guardian *guardian, const struct duty *duty)
{
    char word;
    ssize_t n;

    do
        n = read(watch_fd, &word, 1);
    while (n < 0 && errno == EINTR);
    if (n <= 0 && duty->undo)
        duty->undo(guardian->shared, duty->context);
}

static _Noreturn void stand_guard(const struct guardian *guardian, int watch_fd,
                                  const struct duty *duty)
{
    ignore_signals();
    let_go_of_terminal();
    prctl(PR_SET_PDEATHSIG, SIGCONT); /* wakes it if it is stopped when its parent dies */
    prctl(PR_SET_NAME, "vmwss-guardian");
    close(guardian->alive_fd);
    if (duty->serve)
        duty->serve(watch_fd, guardian->shared, duty->context);
    else
        wait_for_death(watch_fd, guardian, duty);
    _exit(0); /* does not run the parent's atexit handlers, nor flush its buffers */
}

static void discard(struct guardian *guardian)
{
    cleanup_close_at(&guardian->alive_fd);
    if (guardian->shared)
        munmap(guardian->shared, guardian->shared_bytes);
    free(guardian);
}

static int start(struct guardian *guardian, const struct duty *duty)
{
    int ends[2];

    guardian->shared = mmap(NULL, guardian->shared_bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (guardian->shared == MAP_FAILED) {
        guardian->shared = NULL;
        return -errno;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    guardian->alive_fd = ends[1];

    cleanup_close int watch_fd = ends[0];

    guardian->pid = fork();
    if (guardian->pid == 0)
        stand_guard(guardian, watch_fd, duty);
    return guardian->pid < 0 ? -errno : 0;
}

static int post(struct guardian **out, size_t shared_bytes, const struct duty *duty,
                struct error *error)
{
    struct guardian *guardian = calloc(1, sizeof(*guardian));
    int rc = -ENOMEM;

    if (guardian) {
        guardian->alive_fd = -1;
        guardian->shared_bytes = shared_bytes ? shared_bytes : 1;
        rc = start(guardian, duty);
    }
    if (rc < 0) {
        if (guardian)
            discard(guardian);
        return error_set(error, rc,
                         "cannot start a process that restores things if this one dies: %s",
                         strerror(-rc));
    }
    *out = guardian;
    return 0;
}

int guardian_post(struct guardian **out, size_t shared_bytes,
                  void (*undo)(void *shared, void *context), void *context, struct error *error)
{
    const struct duty duty = {.undo = undo, .context = context};

    return post(out, shared_bytes, &duty, error);
}

int guardian_employ(struct guardian **out, size_t shared_bytes,
                    void (*serve)(int socket, void *shared, void *context), void *context,
                    struct error *error)
{
    const struct duty duty = {.serve = serve, .context = context};

    return post(out, shared_bytes, &duty, error);
}

int guardian_socket(const struct guardian *guardian)
{
    return guardian->alive_fd;
}

pid_t guardian_pid(const struct guardian *guardian)
{
    return guardian->pid;
}

void *guardian_shared(struct guardian *guardian)
{
    return guardian->shared;
}

void guardian_wake(const struct guardian *guardian)
{
    kill(guardian->pid, SIGCONT);
}

void guardian_dismiss(struct guardian *guardian)
{
    if (!guardian)
        return;
    /* the child may be gone already */
    send(guardian->alive_fd, "d", 1, MSG_NOSIGNAL);
    shutdown(guardian->alive_fd, SHUT_RDWR); /* ends an employed child: its next read is empty */
    guardian_wake(guardian);
    while (waitpid(guardian->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    discard(guardian);
}
