// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/scanner/lock_keeper.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/run_dir.h"
#include "base/service/log.h"
#include "base/service/privileges.h"
#include "measure/kernel/trace_event.h"
#include "programs/vmwssd/scanner/scan_socket.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* --- requests --------------------------------------------------------------------------------- */

/* Returns true if a name is exactly what run_dir_guest_file() produces: "guest-42.lock" is, and
 * "guest-042.lock", "guest-42.lock/../x" are not. */
static bool is_served(const char *file)
{
    static const char *const suffixes[] = {RUN_DIR_LOCK, RUN_DIR_PANEL};
    char again[RUN_DIR_NAME_MAX];
    unsigned number = 0;
    int pid = 0;

    if (sscanf(file, "guest-%9d-%10u", &pid, &number) >= 1 && pid > 0)
        for (size_t i = 0; i < COUNT(suffixes); i++) {
            if (number > 0)
                snprintf(again, sizeof(again), "guest-%d-%u%s", pid, number, suffixes[i]);
            else
                snprintf(again, sizeof(again), "guest-%d%s", pid, suffixes[i]);
            if (!strcmp(file, again))
                return true;
        }
    return !strcmp(file, "vmwssd.lock");
}

bool lock_keeper_valid(const struct lock_keeper_request *request, size_t size)
{
    if (size != sizeof(*request) || !memchr(request->file, '\0', sizeof(request->file)))
        return false;
    if (request->op == LOCK_KEEPER_TRACE)
        return request->tid > 0; /* 0 is the keeper itself, and -1 every thread of a CPU */
    return (request->op == LOCK_KEEPER_CREATE || request->op == LOCK_KEEPER_REMOVE) &&
           is_served(request->file);
}

/* --- the keeper ------------------------------------------------------------------------------- */

/* Its descriptors, besides standard error. */
enum { CHANNEL = 3, LOCKS, ROOT, ENDS };

/* Returns a descriptor, 0 for a file that was removed, or a negative errno. */
static int answer_to(const struct lock_keeper_request *request)
{
    const struct fsroot root = {.dirfd = ROOT};

    if (request->op == LOCK_KEEPER_CREATE)
        return run_dir_create(LOCKS, request->file);
    if (request->op == LOCK_KEEPER_REMOVE)
        return run_dir_remove(LOCKS, request->file);
    return trace_event_is_recorded(&root, request->event)
               ? trace_event_open(request->event, request->tid, request->wake_bytes)
               : -EACCES;
}

/* An invalid request ends it: the scanner sends none. */
static void serve(void)
{
    struct lock_keeper_request request;
    int rc = 0;

    while (rc == 0) {
        ssize_t n = scan_socket_receive(CHANNEL, &request, sizeof(request), NULL, 0);

        if (n < 0 || !lock_keeper_valid(&request, (size_t)n))
            return;

        int answer = answer_to(&request);
        cleanup_close int fd = request.op == LOCK_KEEPER_REMOVE ? -1 : answer;

        answer = answer < 0 ? answer : 0;
        rc = scan_socket_send(CHANNEL, &answer, sizeof(answer), fd);
    }
}

static int run(const int fds[ENDS - CHANNEL])
{
    struct error error = {0};

    prctl(PR_SET_NAME, "vmwssd-keeper");
    if (scan_socket_take(fds, ENDS - CHANNEL) < 0)
        return 1;
    if (privileges_drop_keeper(LOCKS, &error) < 0) {
        log_line(LOG_CLASS_DAEMON, LOG_ERR, "the keeper of locks: %s", error.text);
        return 1;
    }
    serve();
    return 0;
}

/* --- the scanner ------------------------------------------------------------------------------ */

static int keeper_fd = -1;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* Returns the answer: 0 with the descriptor, if there is one, or a negative errno. */
static int ask(const struct lock_keeper_request *request, int *fd)
{
    int answer = -EPIPE;

    pthread_mutex_lock(&one_at_a_time);
    if (scan_socket_send(keeper_fd, request, sizeof(*request), -1) < 0 ||
        scan_socket_receive(keeper_fd, &answer, sizeof(answer), fd, 0) != sizeof(answer))
        answer = -EPIPE;
    pthread_mutex_unlock(&one_at_a_time);
    return answer;
}

static int ask_for_fd(const struct lock_keeper_request *request)
{
    int fd = -1;
    int rc = ask(request, &fd);

    if (rc == 0 && fd < 0)
        return -EMFILE;
    return rc < 0 ? rc : fd;
}

static struct lock_keeper_request about(enum lock_keeper_op op, const char *file)
{
    struct lock_keeper_request request = {.op = (int)op};

    snprintf(request.file, sizeof(request.file), "%s", file);
    return request;
}

static int create(const char *file)
{
    const struct lock_keeper_request request = about(LOCK_KEEPER_CREATE, file);

    return ask_for_fd(&request);
}

static int remove_file(const char *file)
{
    const struct lock_keeper_request request = about(LOCK_KEEPER_REMOVE, file);

    return ask(&request, NULL);
}

static int open_event(uint64_t id, pid_t tid, uint32_t wake_bytes)
{
    const struct lock_keeper_request request = {
        .op = LOCK_KEEPER_TRACE, .tid = tid, .wake_bytes = wake_bytes, .event = id};

    return ask_for_fd(&request);
}

int lock_keeper_start(const struct fsroot *root, struct error *error)
{
    static const struct run_dir_keeper keeper = {create, remove_file};
    cleanup_close int dir_fd = run_dir_open(root);
    int fds[2] = {-1, -1};
    int rc = dir_fd < 0 ? dir_fd : scan_socket_pair(fds);
    pid_t pid = rc < 0 ? -1 : fork();

    if (pid == 0)
        _exit(run((const int[]){fds[0], dir_fd, root->dirfd}));
    if (rc == 0 && pid < 0)
        rc = -errno;
    cleanup_close_at(&fds[0]);
    if (rc < 0) {
        cleanup_close_at(&fds[1]);
        return error_set(error, rc, "the keeper of locks: %s", strerror(-rc));
    }
    keeper_fd = fds[1];
    run_dir_keep(&keeper);
    trace_event_keep(open_event);
    return keeper_fd;
}
