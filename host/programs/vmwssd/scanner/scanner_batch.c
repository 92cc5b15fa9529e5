// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scanner_batch.c  Scans several guests with one wake-up of each half: see scanner.h. */
#include "programs/vmwssd/scanner/scanner_private.h"

#include "programs/vmwssd/scanner/scan_socket.h"
#include "programs/vmwssd/scanner/scan_table.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static void fill_request(const struct scanner_batch *batch, size_t i, struct scan_request *request)
{
    scanner_begin(request, SCAN_SAMPLE, batch->of[i].guest);
    request->sample = batch->of[i].sample;
    request->sample.ring = i + 1 == batch->n;
}

static void fail(struct scanner *scanner, struct scanner_batch *batch, int rc)
{
    batch->failed = rc;
    if (batch->lane)
        scanner_lane_drop(scanner, batch->lane);
    batch->lane = NULL;
}

void scanner_batch_send(struct scanner *scanner, struct scanner_batch *batch)
{
    int rc = 0;

    batch->answered = 0;
    batch->failed = 0;
    batch->cut = false;
    batch->lane = NULL;
    if (scanner->table)
        return;
    batch->lane = scanner_lane_with_bell(scanner, &rc);
    for (size_t i = 0; rc >= 0 && batch->lane && i < batch->n; i++) {
        struct scan_request request;

        fill_request(batch, i, &request);
        rc = scan_request_valid(&request, scan_request_size(request.op)) ? 0 : -EINVAL;
        if (rc == 0)
            rc = scan_socket_send(batch->lane->fd, &request, scan_request_size(request.op), -1);
    }
    if (rc < 0)
        fail(scanner, batch, rc);
}

/* Waits until the bell rings, or the scanner has closed the lane. It does not poll the lane for
 * messages: each answer would wake this thread. Returns false after a timeout. */
static bool wait_for_bell(const struct scanner_lane *lane, int wait_ms)
{
    struct pollfd fds[] = {{.fd = lane->bell_fd, .events = POLLIN}, {.fd = lane->fd}};
    int n = poll(fds, 2, wait_ms);
    eventfd_t rung;

    if (n > 0 && fds[0].revents)
        eventfd_read(lane->bell_fd, &rung);
    return n > 0 || (n < 0 && errno == EINTR);
}

/* The bell may have been rung for a batch whose answers had come before anyone waited. */
static ssize_t receive(const struct scanner_lane *lane, int wait_ms, struct scan_reply *reply)
{
    bool woken = true;

    for (;;) {
        ssize_t n = scan_socket_receive(lane->fd, reply, sizeof(*reply), NULL, MSG_DONTWAIT);

        if (n != -EAGAIN || !woken)
            return n;
        woken = wait_for_bell(lane, wait_ms);
    }
}

/* Returns 0, or why there is no reply. */
static int next_reply(struct scanner *scanner, struct scanner_batch *batch, int wait_ms,
                      struct scan_reply *reply)
{
    ssize_t n = batch->failed < 0 ? batch->failed : receive(batch->lane, wait_ms, reply);

    if (n >= 0 && !scan_reply_valid(reply, (size_t)n, SCAN_SAMPLE))
        n = -EBADMSG;
    if (n == -EAGAIN)
        return -ETIME;
    if (n < 0)
        fail(scanner, batch, (int)n);
    return n < 0 ? (int)n : 0;
}

static void answer_here(struct scanner *scanner, const struct scanner_batch *batch,
                        struct scan_reply *reply)
{
    struct scan_request request;
    int fd;

    fill_request(batch, batch->answered, &request);
    scan_reply_begin(reply, SCAN_SAMPLE);
    if (batch->cut)
        reply->rc = -ESHUTDOWN;
    else if (scan_request_valid(&request, scan_request_size(request.op)))
        scan_table_answer(scanner->table, &request, reply, &fd);
    else
        reply->rc = -EINVAL;
}

int scanner_batch_receive(struct scanner *scanner, struct scanner_batch *batch, int wait_ms,
                          struct scan_sampled *out, struct error *error)
{
    struct scan_reply reply;
    int rc = 0;

    reply.rc = 0;
    reply.error[0] = '\0';
    memset(&reply.sampled, 0, offsetof(struct scan_sampled, record));
    if (scanner->table)
        answer_here(scanner, batch, &reply);
    else
        rc = next_reply(scanner, batch, wait_ms, &reply);
    if (rc == -ETIME)
        return rc;
    if (rc < 0) /* no valid answer came */
        memset(&reply.sampled, 0, offsetof(struct scan_sampled, record));
    batch->answered++;
    rc = scanner_result(scanner, rc, &reply, error);
    memcpy(out, &reply.sampled, scan_sampled_size(&reply.sampled));
    if (rc == 0 && !out->has_record)
        return error_set(error, -EBADMSG, "the scanner has no record");
    return rc == -ETIME ? -EIO : rc; /* the caller would take -ETIME for a missing answer */
}

void scanner_batch_cut(struct scanner_batch *batch)
{
    if (batch->lane)
        shutdown(batch->lane->fd, SHUT_WR);
    batch->cut = true;
}

void scanner_batch_end(struct scanner *scanner, struct scanner_batch *batch)
{
    if (batch->lane && (batch->cut || batch->answered < batch->n))
        scanner_lane_drop(scanner, batch->lane);
    batch->lane = NULL;
}
