// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scanner_process.c  See scanner_process.h. The scanner's own threads: the main thread,
 * which waits for the first channel and for data to fetch, and one thread for each other channel.
 */
#include "programs/vmwssd/scanner/scanner_process.h"

#include "base/clock.h"
#include "base/leaks.h"
#include "base/service/log.h"
#include "base/service/privileges.h"
#include "measure/kernel/idle_bitmap.h"
#include "programs/vmwssd/scanner/clear_keeper.h"
#include "programs/vmwssd/scanner/lock_keeper.h"
#include "programs/vmwssd/scanner/scan_socket.h"
#include "programs/vmwssd/scanner/scan_table.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* maximum number of requesting threads; the fleet's 64, and one for each source */
#define MAX_LANES 256
#define CHECK_MS 1000
#define WAIT_MS 5000
#define TRIM_NS 60000000000ULL

struct lane {
    struct scan_table *table;
    int channel_fd;
    int bell_fd;        /* -1: it was not requested */
    atomic_uint *lanes; /* number of lanes */
};

/* --- channels --------------------------------------------------------------------------------- */

/* Refuses a second bell: repeated requests must not use up the files. */
static int make_bell(struct lane *lane, struct scan_reply *reply)
{
    int fd = -1;

    if (lane->bell_fd >= 0) {
        reply->rc = -EEXIST;
        return -1;
    }
    lane->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (lane->bell_fd >= 0)
        fd = fcntl(lane->bell_fd, F_DUPFD_CLOEXEC, 0);
    reply->rc = fd < 0 ? -errno : 0;
    return fd;
}

/* Returns true if the other half no longer waits for the rest of a batch: it scans the rest through
 * another lane. */
static bool is_cut(const struct lane *lane)
{
    struct pollfd end = {.fd = lane->channel_fd, .events = POLLRDHUP};

    return poll(&end, 1, 0) == 1;
}

static void answer_on_lane(struct lane *lane, const struct scan_request *request,
                           struct scan_reply *reply, int *fd)
{
    scan_reply_begin(reply, request->op);
    if (request->op == SCAN_BELL)
        *fd = make_bell(lane, reply);
    else
        scan_table_answer(lane->table, request, reply, fd);
}

/* Returns false if the other half has closed the channel, or sent an invalid request. */
static bool answer_request(struct lane *lane, struct scan_request *request,
                           struct scan_reply *reply)
{
    ssize_t n = scan_socket_receive(lane->channel_fd, request, sizeof(*request), NULL, 0);
    int fd = -1;

    if (n < 0 || !scan_request_valid(request, (size_t)n) ||
        (request->op == SCAN_SAMPLE && is_cut(lane)))
        return false;
    answer_on_lane(lane, request, reply, &fd);

    int rc = scan_socket_send(lane->channel_fd, reply, scan_reply_size(reply), fd);

    if (fd >= 0)
        close(fd);
    if (rc == 0 && request->op == SCAN_SAMPLE && request->sample.ring && lane->bell_fd >= 0)
        eventfd_write(lane->bell_fd, 1);
    /* A thread that could not drop a capability ends, and the capability with it. */
    return rc == 0 && reply->rc != -ENOTRECOVERABLE;
}

static void *serve_requests(void *context)
{
    struct lane *lane = context;
    struct scan_request *request = malloc(sizeof(*request));
    struct scan_reply *reply = malloc(sizeof(*reply));

    while (request && reply && answer_request(lane, request, reply))
        ;
    close(lane->channel_fd);
    if (lane->bell_fd >= 0)
        close(lane->bell_fd);
    atomic_fetch_sub(lane->lanes, 1);
    free(request);
    free(reply);
    free(lane);
    return NULL;
}

struct first {
    struct scan_table *table;
    int channel_fd;
    int keeper_fd; /* readable once the keeper of locks has ended */
    atomic_uint lanes;
    /* last request of the other half to show that we live; 0: none yet, because it may be busy with
     * a large history for minutes before the first one */
    uint64_t heard_ns;
};

/* Makes the other end of a channel, with its own thread; returns a negative errno on failure. */
static int make_lane(struct first *first)
{
    struct lane *lane = malloc(sizeof(*lane));
    pthread_t thread;
    int fds[2];
    int rc = lane ? scan_socket_pair(fds) : -ENOMEM;

    if (rc < 0) {
        free(lane);
        return rc;
    }
    *lane = (struct lane){
        .table = first->table, .channel_fd = fds[0], .bell_fd = -1, .lanes = &first->lanes};
    atomic_fetch_add(&first->lanes, 1);
    rc = -pthread_create(&thread, NULL, serve_requests, lane);
    if (rc == 0) {
        pthread_detach(thread);
        return fds[1];
    }
    atomic_fetch_sub(&first->lanes, 1);
    close(fds[0]);
    close(fds[1]);
    free(lane);
    return rc;
}

/* --- the first channel ------------------------------------------------------------------------ */

/* Returns false at the end. */
static bool answer_first(struct first *first)
{
    struct scan_request request;
    struct scan_reply reply;
    ssize_t n = scan_socket_receive(first->channel_fd, &request, sizeof(request), NULL, 0);
    int fd = -1;

    if (n < 0 || !scan_request_valid(&request, (size_t)n) ||
        (request.op != SCAN_ALIVE && request.op != SCAN_LANE))
        return false;
    scan_reply_begin(&reply, request.op);
    if (request.op == SCAN_LANE) {
        fd = atomic_load(&first->lanes) < MAX_LANES ? make_lane(first) : -EMFILE;
        reply.rc = fd < 0 ? fd : 0;
    } else {
        first->heard_ns = clock_ns();
    }

    int rc = scan_socket_send(first->channel_fd, &reply, scan_reply_size(&reply), fd);

    if (fd >= 0)
        close(fd);
    return rc == 0;
}

/* @p turn_ns: time of the last call. A process that was itself stopped cannot know what the other
 * half did meanwhile, and waits anew. */
static bool other_hangs(struct first *first, uint64_t *turn_ns, uint64_t patience_ns)
{
    uint64_t now_ns = clock_ns();
    bool stopped = now_ns > *turn_ns + SCANNER_STOPPED_NS;

    *turn_ns = now_ns;
    if (stopped && first->heard_ns)
        first->heard_ns = now_ns;
    return first->heard_ns && now_ns > first->heard_ns + patience_ns;
}

/* Panels become smaller as the number of guests grows, and leave lasting holes all over the heap:
 * with 300 guests 2.4 of 20.7 MiB. */
static void trim_heap(uint64_t *due_ns)
{
    uint64_t now_ns = clock_ns();

    if (now_ns < *due_ns)
        return;
    malloc_trim(0);
    *due_ns = now_ns + TRIM_NS;
}

/* Serves until the other half has ended: returns 0. SCANNER_EXIT_HUNG: it sends no more requests;
 * 1: the keeper of locks has ended. */
static int serve_first(struct first *first, uint64_t patience_ns)
{
    struct pollfd fds[] = {{.fd = first->channel_fd, .events = POLLIN},
                           {.fd = scan_table_fd(first->table), .events = POLLIN},
                           {.fd = first->keeper_fd, .events = POLLRDHUP}};
    uint64_t turn_ns = clock_ns();
    uint64_t trim_ns = 0;

    for (;;) {
        trim_heap(&trim_ns);
        fds[0].revents = fds[1].revents = fds[2].revents = 0;
        if (poll(fds, 3, CHECK_MS) < 0 && errno != EINTR)
            return 0;
        if (fds[1].revents)
            scan_table_fetch(first->table);
        if (fds[0].revents && !answer_first(first))
            return 0;
        if (fds[2].revents) {
            log_line(LOG_CLASS_DAEMON, LOG_ERR,
                     "the keeper of locks has ended: all guests are restored, and the scanner "
                     "ends");
            return 1;
        }
        if (other_hangs(first, &turn_ns, patience_ns)) {
            log_line(LOG_CLASS_DAEMON, LOG_ERR,
                     "the other half of vmwssd hangs: all guests are restored, and the scanner "
                     "ends");
            return SCANNER_EXIT_HUNG;
        }
    }
}

/* --- the process ------------------------------------------------------------------------------ */

/* Ignores the signals with which a service manager or a terminal ends all its processes: the other
 * half decides. */
static void leave_signals_to_the_other(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* @p parent: the other half; it may have ended already. */
static int scanner_process_run(const struct scanner_plan *plan, int channel_fd, pid_t parent)
{
    static struct first first; /* threads may use it until the process ends */
    struct error error = {0};
    int rc;

    prctl(PR_SET_NAME, "vmwssd-scanner");
    log_set_level(plan->log_level);
    leave_signals_to_the_other();
    first.keeper_fd = lock_keeper_start(plan->root, &error);
    idle_bitmap_keep(plan->root);
    if (first.keeper_fd < 0 || (plan->writes && clear_keeper_start(plan->root, &error) < 0) ||
        privileges_drop_scanner(plan->agents, &error) < 0) {
        log_line(LOG_CLASS_DAEMON, LOG_ERR, "%s", error.text);
        return 1;
    }

    struct scan_table *table = scan_table_new(plan->root, parent);

    if (!table)
        return 1;
    first.table = table;
    first.channel_fd = channel_fd;
    rc = serve_first(&first, plan->patience_ns);

    size_t left = scan_table_end(table);

    if (left > 0)
        log_line(LOG_CLASS_DAEMON, LOG_WARNING, "%zu guest%s not restored: scanning hangs", left,
                 left == 1 ? " is" : "s are");
    run_lock_release(plan->lock);
    return rc ? rc : leaks_found();
}

int scanner_start(struct scanner **out, const struct scanner_plan *plan, pid_t *pid,
                  struct error *error)
{
    const pid_t parent = getpid();
    int fds[2];
    int rc = scan_socket_pair(fds);

    if (rc < 0)
        return error_set(error, rc, "the scanner: %s", strerror(-rc));
    *pid = fork();
    if (*pid == 0) {
        close(fds[0]);
        _exit(scanner_process_run(plan, fds[1], parent));
    }
    close(fds[1]);
    rc = *pid < 0 ? -errno : scanner_beyond(out, fds[0], *pid);
    return rc < 0 ? error_set(error, rc, "the scanner: %s", strerror(-rc)) : 0;
}

int scanner_wait(pid_t pid)
{
    for (int ms = 0; ms < WAIT_MS; ms += 5) {
        int status;
        pid_t ended = waitpid(pid, &status, WNOHANG);

        if (ended == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (ended < 0)
            return -1;
        usleep(5000);
    }
    return -1;
}
