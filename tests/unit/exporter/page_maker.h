// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file page_maker.h  Pages that are made up: each when a test lets it be made. */
#pragma once

#include "base/error.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Makes "page N" when it is let, or fails. */
struct maker {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned begun, let; /* pages */
    int fail;            /* an errno */
};

static struct maker maker = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                             .changed = PTHREAD_COND_INITIALIZER};

static inline bool is_readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, 0) > 0;
}

/* The head is a page's of html_page.h as far as it matters. */
static inline int make(void *context, int ends_fd, char **text, size_t *size, struct error *error)
{
    struct maker *of = context;
    int rc = 0;

    pthread_mutex_lock(&of->mutex);
    of->begun++;
    pthread_cond_broadcast(&of->changed);
    while (of->let < of->begun && !is_readable(ends_fd)) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += until.tv_nsec >= 990000000;
        until.tv_nsec = (until.tv_nsec + 10000000) % 1000000000;
        pthread_cond_timedwait(&of->changed, &of->mutex, &until);
    }
    if (of->let < of->begun)
        rc = error_set(error, -ECANCELED, "given up");
    else if (of->fail)
        rc = error_set(error, of->fail, "history.db: damaged");
    else
        *size = (size_t)asprintf(text,
                                 "<meta http-equiv=\"Content-Security-Policy\" "
                                 "content=\"default-src 'none'; script-src 'nonce-%u'\">page %u",
                                 of->begun, of->begun);
    pthread_mutex_unlock(&of->mutex);
    return rc;
}

static inline void let_one(int fail)
{
    pthread_mutex_lock(&maker.mutex);
    maker.let++;
    maker.fail = fail;
    pthread_cond_broadcast(&maker.changed);
    pthread_mutex_unlock(&maker.mutex);
}

static inline void await_begun(unsigned n)
{
    pthread_mutex_lock(&maker.mutex);
    while (maker.begun < n)
        pthread_cond_wait(&maker.changed, &maker.mutex);
    pthread_mutex_unlock(&maker.mutex);
}

static inline unsigned begun(void)
{
    pthread_mutex_lock(&maker.mutex);
    unsigned n = maker.begun;

    pthread_mutex_unlock(&maker.mutex);
    return n;
}
