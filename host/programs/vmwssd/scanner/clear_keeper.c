// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/scanner/clear_keeper.h"

#include "base/cleanup.h"
#include "base/service/log.h"
#include "base/service/privileges.h"
#include "measure/kernel/clear_refs.h"
#include "programs/vmwssd/scanner/scan_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* --- the keeper ------------------------------------------------------------------------------- */

int clear_keeper_answer(int dir_fd, const void *message, size_t size, int *fd)
{
    char file[32];
    int32_t pid;

    if (size != sizeof(pid))
        return 1;
    memcpy(&pid, message, sizeof(pid));
    if (pid <= 0)
        return 1;
    snprintf(file, sizeof(file), "%d/clear_refs", pid);
    *fd = openat(dir_fd, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    return *fd < 0 ? -errno : 0;
}

/* An invalid request ends it: the scanner sends none. */
static void serve(int channel, int dir_fd)
{
    char request[sizeof(int32_t)];
    int rc = 0;

    while (rc == 0) {
        cleanup_close int fd = -1;
        ssize_t n = scan_socket_receive(channel, request, sizeof(request), NULL, 0);
        int answer = n < 0 ? 1 : clear_keeper_answer(dir_fd, request, (size_t)n, &fd);

        if (answer > 0)
            return;
        rc = scan_socket_send(channel, &answer, sizeof(answer), fd);
    }
}

static int run(int channel, int dir_fd)
{
    struct error error = {0};

    prctl(PR_SET_NAME, "vmwssd-clear");
    if (scan_socket_take((const int[]){channel, dir_fd}, 2) < 0)
        return 1;
    if (privileges_drop_clearer(4, &error) < 0) {
        log_line(LOG_CLASS_DAEMON, LOG_ERR, "the keeper of clear_refs: %s", error.text);
        return 1;
    }
    serve(3, 4);
    return 0;
}

/* --- the scanner ------------------------------------------------------------------------------ */

static int keeper_fd = -1;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static int open_clear_refs(pid_t pid)
{
    const int32_t request = pid;
    int answer = -EPIPE;
    int fd = -1;

    pthread_mutex_lock(&one_at_a_time);
    if (scan_socket_send(keeper_fd, &request, sizeof(request), -1) < 0 ||
        scan_socket_receive(keeper_fd, &answer, sizeof(answer), &fd, 0) != sizeof(answer))
        answer = -EPIPE;
    pthread_mutex_unlock(&one_at_a_time);
    if (answer == 0 && fd < 0)
        return -EMFILE;
    return answer < 0 ? answer : fd;
}

int clear_keeper_start(const struct fsroot *root, struct error *error)
{
    cleanup_close int dir_fd = fsroot_openf(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC, "proc");
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
        return error_set(error, rc, "the keeper of clear_refs: %s", strerror(-rc));
    }
    keeper_fd = fds[1];
    clear_refs_keep(open_clear_refs);
    return 0;
}
