// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file lock_keeper.c  See lock_keeper.h. */
#include "programs/vmwssd/scanner/lock_keeper.h"

#include "base/cleanup.h"
#include "base/run_dir.h"
#include "base/service/log.h"
#include "base/service/privileges.h"
#include "programs/vmwssd/scanner/scan_socket.h"

#include <errno.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct request {
    int op;
    char file[RUN_DIR_NAME_MAX];
};

/* --- requests --------------------------------------------------------------------------------- */

/* Returns true if a name is exactly what these formats produce: "guest-42.lock" is, and
 * "guest-042.lock", "guest-42.lock/../x" are not. */
static bool is_served(const char *file)
{
    static const char *const formats[] = {"guest-%d.lock", "guest-%d" RUN_DIR_PANEL};
    char again[RUN_DIR_NAME_MAX];
    int pid = 0;

    if (sscanf(file, "guest-%9d", &pid) == 1 && pid > 0)
        for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
            snprintf(again, sizeof(again), formats[i], pid);
            if (!strcmp(file, again))
                return true;
        }
    return !strcmp(file, "vmwssd.lock");
}

bool lock_keeper_parse(const void *message, size_t size, enum lock_keeper_op *op, const char **file)
{
    const struct request *request = message;

    if (size != sizeof(*request) || !memchr(request->file, '\0', sizeof(request->file)) ||
        (request->op != LOCK_KEEPER_CREATE && request->op != LOCK_KEEPER_REMOVE))
        return false;
    *op = (enum lock_keeper_op)request->op;
    *file = request->file;
    return is_served(request->file);
}

/* --- the keeper ------------------------------------------------------------------------------- */

/* An invalid request ends it: the scanner sends none. */
static void serve(int channel, int dir_fd)
{
    struct request request;
    enum lock_keeper_op op;
    const char *file;
    int rc = 0;

    while (rc == 0) {
        cleanup_close int fd = -1;
        ssize_t n = scan_socket_receive(channel, &request, sizeof(request), NULL, 0);
        int answer;

        if (n < 0 || !lock_keeper_parse(&request, (size_t)n, &op, &file))
            return;
        if (op == LOCK_KEEPER_CREATE)
            answer = fd = run_dir_create(dir_fd, file);
        else
            answer = run_dir_remove(dir_fd, file);
        answer = answer < 0 ? answer : 0;
        rc = scan_socket_send(channel, &answer, sizeof(answer), fd);
    }
}

/* Closes all but the two descriptors and standard error: among the others is vmwssd's lock. */
static int run(int channel, int dir_fd)
{
    struct error error = {0};

    prctl(PR_SET_NAME, "vmwssd-keeper");
    if (dup2(channel, 3) < 0 || dup2(dir_fd, 4) < 0 || syscall(SYS_close_range, 5, ~0U, 0) < 0)
        return 1;
    if (privileges_drop_keeper(4, &error) < 0) {
        log_line(LOG_CLASS_DAEMON, LOG_ERR, "the keeper of locks: %s", error.text);
        return 1;
    }
    serve(3, 4);
    return 0;
}

/* --- the scanner ------------------------------------------------------------------------------ */

static int keeper_fd = -1;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* Returns the answer: 0 with the descriptor, if there is one, or a negative errno. */
static int ask(int op, const char *file, int *fd)
{
    struct request request = {.op = op};
    int answer = -EPIPE;

    snprintf(request.file, sizeof(request.file), "%s", file);
    pthread_mutex_lock(&one_at_a_time);
    if (scan_socket_send(keeper_fd, &request, sizeof(request), -1) < 0 ||
        scan_socket_receive(keeper_fd, &answer, sizeof(answer), fd, 0) != sizeof(answer))
        answer = -EPIPE;
    pthread_mutex_unlock(&one_at_a_time);
    return answer;
}

static int create(const char *file)
{
    int fd = -1;
    int rc = ask(LOCK_KEEPER_CREATE, file, &fd);

    if (rc == 0 && fd < 0)
        return -EMFILE;
    return rc < 0 ? rc : fd;
}

static int remove_file(const char *file)
{
    return ask(LOCK_KEEPER_REMOVE, file, NULL);
}

int lock_keeper_start(const struct fsroot *root, struct error *error)
{
    static const struct run_dir_keeper keeper = {create, remove_file};
    cleanup_close int dir_fd = run_dir_open(root);
    int fds[2] = {-1, -1};
    int rc = dir_fd < 0 ? dir_fd : scan_socket_pair(fds);
    pid_t pid = rc < 0 ? -1 : fork();

    if (pid == 0)
        _exit(run(fds[0], dir_fd));
    if (rc == 0 && pid < 0)
        rc = -errno;
    cleanup_close_at(&fds[0]);
    if (rc < 0) {
        cleanup_close_at(&fds[1]);
        return error_set(error, rc, "the keeper of locks: %s", strerror(-rc));
    }
    keeper_fd = fds[1];
    run_dir_keep(&keeper);
    return keeper_fd;
}
