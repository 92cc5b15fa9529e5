// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/scanner/keeper.h"

#include "base/cleanup.h"
#include "base/cond.h"
#include "base/service/log.h"
#include "programs/vmwssd/scanner/scan_socket.h"

#include <errno.h>
#include <stdalign.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* --- the child -------------------------------------------------------------------------------- */

static void serve(const struct keeper *keeper)
{
    alignas(max_align_t) char request[KEEPER_MAX_REQUEST];
    int rc = 0;

    while (rc == 0) {
        cleanup_close int fd = -1;
        ssize_t n = scan_socket_receive(KEEPER_CHANNEL, request, sizeof(request), NULL, 0);
        int answer = n < 0 ? 1 : keeper->answer(request, (size_t)n, &fd);

        if (answer > 0)
            return;
        rc = scan_socket_send(KEEPER_CHANNEL, &answer, sizeof(answer), fd);
    }
}

static int run(const struct keeper *keeper, const int *fds, int n)
{
    struct error error = {0};

    prctl(PR_SET_NAME, keeper->process);
    if (scan_socket_take(fds, n) < 0)
        return 1;
    if (keeper->drop(KEEPER_DIRECTORY, &error) < 0) {
        log_line(LOG_CLASS_DAEMON, LOG_ERR, "%s: %s", keeper->name, error.text);
        return 1;
    }
    serve(keeper);
    return 0;
}

/* --- the scanner ------------------------------------------------------------------------------ */

int keeper_start(struct keeper *keeper, int dir_fd, int root_fd, struct error *error)
{
    int fds[2] = {-1, -1};
    int rc = dir_fd < 0 ? dir_fd : scan_socket_pair(fds);
    pid_t pid = rc < 0 ? -1 : fork();

    if (pid == 0)
        _exit(run(keeper, (const int[]){fds[0], dir_fd, root_fd}, root_fd < 0 ? 2 : 3));
    if (rc == 0 && pid < 0)
        rc = -errno;
    cleanup_close_at(&fds[0]);
    if (rc < 0) {
        cleanup_close_at(&fds[1]);
        return error_set(error, rc, "%s: %s", keeper->name, strerror(-rc));
    }
    keeper->fd = fds[1];
    return 0;
}

int keeper_ask(struct keeper *keeper, const void *request, size_t size, int *fd)
{
    int answer;

    HOLD(&keeper->one_at_a_time);
    if (scan_socket_send(keeper->fd, request, size, -1) < 0 ||
        scan_socket_receive(keeper->fd, &answer, sizeof(answer), fd, 0) != sizeof(answer))
        return -EPIPE;
    return answer;
}

int keeper_ask_fd(struct keeper *keeper, const void *request, size_t size)
{
    int fd = -1;
    int rc = keeper_ask(keeper, request, size, &fd);

    if (rc == 0 && fd < 0)
        return -EMFILE;
    return rc < 0 ? rc : fd;
}
