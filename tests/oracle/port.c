// SPDX-License-Identifier: LGPL-2.1-or-later
#include "port.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OPEN_TRIES 600 /* a minute */
#define TIME_TRIES 8
#define ANSWER_BYTES 8192

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

int oracle_port_open(const char *path, struct error *error)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    for (int i = 0; fd < 0 && errno == EBUSY && i < OPEN_TRIES; i++) {
        nap();
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    return fd < 0 ? error_set(error, -errno, "%s: %s", path, strerror(errno)) : fd;
}

static int send(int port, const void *bytes, size_t n, struct error *error)
{
    const char *from = bytes;

    while (n > 0) {
        ssize_t written = write(port, from, n);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return error_set(error, -EIO, "the oracle's port: %s", strerror(errno));
        from += written;
        n -= (size_t)written;
    }
    return 0;
}

static int receive(int port, json_t **out, struct error *error)
{
    char answer[ANSWER_BYTES];
    size_t n = 0;

    while (n == 0 || answer[n - 1] != '\n') {
        ssize_t got = n < sizeof(answer) ? read(port, answer + n, sizeof(answer) - n) : 0;

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_set(error, -EIO, "the oracle's port: it has no answer");
        n += (size_t)got;
    }
    *out = json_loadb(answer, n, 0, NULL);
    if (!*out)
        return error_set(error, -EPROTO, "the oracle's port: the answer is not JSON");

    const char *wrong = json_string_value(json_object_get(*out, "error"));

    if (!wrong)
        return 0;
    error_set(error, -EREMOTEIO, "the oracle: %s", wrong);
    json_decref(*out);
    *out = NULL;
    return -EREMOTEIO;
}

static uint64_t realtime_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static int ask_time(int port, struct oracle_moment *out, struct error *error)
{
    json_t *answer = NULL;
    uint64_t before = realtime_ns(), after;
    int rc = send(port, "time\n", 5, error);

    if (!rc)
        rc = receive(port, &answer, error);
    if (rc < 0)
        return rc;
    after = realtime_ns();
    out->lab_ns = before + (after - before) / 2;
    out->error_ns = (after - before) / 2;
    out->outside_ns = (uint64_t)json_integer_value(json_object_get(answer, "time_ns"));
    json_decref(answer);
    return 0;
}

int oracle_port_begin(int port, struct error *error)
{
    json_t *answer = NULL;
    int rc = send(port, "begin\n", 6, error);

    if (!rc)
        rc = receive(port, &answer, error);
    json_decref(answer);
    return rc;
}

int oracle_port_moment(int port, struct oracle_moment *out, struct error *error)
{
    out->error_ns = UINT64_MAX;
    for (int i = 0; i < TIME_TRIES; i++) {
        struct oracle_moment one;
        int rc = ask_time(port, &one, error);

        if (rc < 0)
            return rc;
        if (one.error_ns < out->error_ns)
            *out = one;
    }
    return 0;
}

int oracle_port_count(int port, const struct oracle_window *window,
                      const struct oracle_frames *frames, json_t **out, struct error *error)
{
    char line[128];
    int rc;

    snprintf(line, sizeof(line),
             "count %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", window->from_ns,
             window->marked_ns, window->read_ns, window->to_ns, frames->n);
    rc = send(port, line, strlen(line), error);
    if (!rc)
        rc = send(port, frames->frame, frames->n * sizeof(*frames->frame), error);
    return rc < 0 ? rc : receive(port, out, error);
}
