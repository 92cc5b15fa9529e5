// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scanner_lanes.c  The channels to the scanner: one for each thread that sends requests. */
#include "programs/vmwssd/scanner/scanner_private.h"

#include "base/clock.h"
#include "programs/vmwssd/scanner/scan_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void scanner_lane_close(void *context)
{
    struct scanner_lane *lane = context;

    close(lane->fd);
    if (lane->bell_fd >= 0)
        close(lane->bell_fd);
    free(lane);
}

int scanner_receive(struct scanner *scanner, unsigned op, int *fd, int flags)
{
    struct scan_reply reply;

    for (;;) {
        ssize_t n = scan_socket_receive(scanner->channel_fd, &reply, sizeof(reply), fd, flags);

        if (n < 0)
            return (int)n;
        if (scan_reply_valid(&reply, (size_t)n, SCAN_ALIVE))
            scanner->asked_ns = 0;
        if (reply.op == op)
            return scan_reply_valid(&reply, (size_t)n, op) ? reply.rc : -EBADMSG;
    }
}

/* Returns the descriptor of a channel, or a negative errno. */
static int ask_for_lane(struct scanner *scanner)
{
    const struct scan_request request = {.op = SCAN_LANE};
    int fd = -1;

    pthread_mutex_lock(&scanner->mutex);

    int rc = scan_socket_send(scanner->channel_fd, &request, scan_request_size(request.op), -1);

    atomic_store(&scanner->lane_ns, clock_ns());
    if (rc == 0)
        rc = scanner_receive(scanner, SCAN_LANE, &fd, 0);
    atomic_store(&scanner->lane_ns, 0);
    pthread_mutex_unlock(&scanner->mutex);
    if (rc < 0)
        return rc;
    return fd >= 0 ? fd : -EBADMSG;
}

/* Returns this thread's lane; NULL and *rc: it could not be opened. */
static struct scanner_lane *lane_of(struct scanner *scanner, int *rc)
{
    struct scanner_lane *lane = pthread_getspecific(scanner->lane);

    if (lane)
        return lane;
    lane = malloc(sizeof(*lane));
    *rc = lane ? ask_for_lane(scanner) : -ENOMEM;
    if (*rc < 0) {
        free(lane);
        return NULL;
    }
    *lane = (struct scanner_lane){.fd = *rc, .bell_fd = -1};
    pthread_setspecific(scanner->lane, lane);
    return lane;
}

struct scanner_lane *scanner_lane_with_bell(struct scanner *scanner, int *rc)
{
    struct scanner_lane *lane = lane_of(scanner, rc);
    struct scan_request request;
    struct scan_reply reply;
    int fd = -1;

    if (!lane || lane->bell_fd >= 0)
        return lane;
    scanner_begin(&request, SCAN_BELL, 0);
    *rc = scanner_exchange(scanner, &request, &reply, &fd);
    if (*rc < 0)
        return NULL;
    if (reply.rc < 0 || fd < 0) {
        *rc = reply.rc < 0 ? reply.rc : -EBADMSG;
        if (fd >= 0)
            close(fd);
        scanner_lane_drop(scanner, lane); /* its bell, if there is one, cannot be requested again */
        return NULL;
    }
    lane->bell_fd = fd;
    return lane;
}

void scanner_lane_drop(struct scanner *scanner, struct scanner_lane *lane)
{
    pthread_setspecific(scanner->lane, NULL);
    scanner_lane_close(lane);
}

int scanner_exchange(struct scanner *scanner, const struct scan_request *request,
                     struct scan_reply *reply, int *fd)
{
    int rc = 0;
    struct scanner_lane *lane = lane_of(scanner, &rc);

    if (!lane)
        return rc;
    rc = scan_socket_send(lane->fd, request, scan_request_size(request->op), -1);

    ssize_t n = rc < 0 ? rc : scan_socket_receive(lane->fd, reply, sizeof(*reply), fd, 0);

    if (n >= 0 && !scan_reply_valid(reply, (size_t)n, request->op))
        n = -EBADMSG;
    if (n < 0)
        scanner_lane_drop(scanner, lane);
    return n < 0 ? (int)n : 0;
}
