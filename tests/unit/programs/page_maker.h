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
#include <unistd.h>

/* Makes "page N" when it is let, or fails. */
struct maker {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned begun; /* pages */
    int let[2];     /* a pipe with an errno, or 0, for each page that may be made */
};

static struct maker maker = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                             .changed = PTHREAD_COND_INITIALIZER};

/* Before each test. */
static inline void maker_begin(void)
{
    ck_assert_int_eq(pipe(maker.let), 0);
}

/* The head is a page's of html_page.h as far as it matters. */
static inline int make(void *context, int ends_fd, char **text, size_t *size, struct error *error)
{
    struct maker *of = context;
    struct pollfd fds[] = {{.fd = of->let[0], .events = POLLIN}, {.fd = ends_fd, .events = POLLIN}};
    int fail;
    unsigned n;

    pthread_mutex_lock(&of->mutex);
    n = ++of->begun;
    pthread_cond_broadcast(&of->changed);
    pthread_mutex_unlock(&of->mutex);
    ck_assert_int_gt(poll(fds, 2, -1), 0);
    if (!fds[0].revents)
        return error_set(error, -ECANCELED, "given up");
    ck_assert_int_eq(read(of->let[0], &fail, sizeof(fail)), sizeof(fail));
    if (fail)
        return error_set(error, fail, "history.db: damaged");
    *size = (size_t)asprintf(text,
                             "<meta http-equiv=\"Content-Security-Policy\" "
                             "content=\"default-src 'none'; script-src 'nonce-%u'\">page %u",
                             n, n);
    return 0;
}

static inline void let_one(int fail)
{
    ck_assert_int_eq(write(maker.let[1], &fail, sizeof(fail)), sizeof(fail));
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
