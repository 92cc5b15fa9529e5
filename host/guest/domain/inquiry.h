// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file inquiry.h  A question to a libvirt, asked in a thread of its own: libvirt's calls may wait
 * for ever, and cannot be cancelled. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct inquiry {
    int (*ask)(void *context, struct error *error);
    /* Frees the context of an inquiry that was left behind. @p rc: what ask() has returned */
    void (*discard)(void *context, int rc);
    void *context;
    double limit_s;                  /* the thread is left behind after this time; 0: never */
    const volatile int *interrupted; /* or when this is not 0; NULL: never */
};

/**
 * Asks, and waits for the answer.
 * @return what ask() has returned; -EINTR and -ETIMEDOUT: the thread was left behind, and has the
 * context; the errno of making the thread. @p answered says whether the context is still the
 * caller's.
 */
int inquiry_make(const struct inquiry *inquiry, bool *answered, struct error *error);
