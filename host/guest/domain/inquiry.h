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

struct asking; /* an inquiry that was begun */

/** Asks, without waiting: call inquiry_end(). Returns NULL with the error of making the thread; the
 * context is still the caller's then. */
struct asking *inquiry_begin(const struct inquiry *inquiry, struct error *error);

/**
 * Waits for the answer, until limit_s after inquiry_begin().
 * @return what ask() has returned; -EINTR and -ETIMEDOUT: the thread was left behind, and has the
 * context. @p answered says whether the context is still the caller's.
 */
int inquiry_end(struct asking *asking, bool *answered, struct error *error);

/** Asks, and waits: both of the above. If the thread cannot be made, that counts as answered. */
int inquiry_make(const struct inquiry *inquiry, bool *answered, struct error *error);
