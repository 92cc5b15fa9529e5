// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file wait.h  Waits within a window: for the method, the progress, a signal, or the end of the
 * guest. */
#pragma once

#include "guest/ram/target.h"
#include "measure/read_all.h"

struct wait {
    /* the wait ends when this is not 0; may be NULL */
    const volatile int *interrupted;
    int (*poll)(void *state, struct error *error); /* may be NULL */
    void (*between)(void *state);                  /* called twice a second; may be NULL */
    void *state;
    int wake_fd; /* readable when poll must be called; unused without poll */
    void (*progress)(double elapsed_s, double total_s, void *context); /* may be NULL */
    void *progress_context;
    uint64_t began_ns; /* for the progress */
    double total_s;
    struct own_time *own; /* sampled together with the jobs; may be NULL */
    unsigned *jobs; /* receives QEMU's jobs seen meanwhile (enum qemu_job, or-ed); may be NULL */
};

/** Sleeps until @p until_ns (clock_ns()). 0; -EINTR interrupted; -ESRCH the guest ended; or poll's
 * error. */
int wait_until(const struct target *target, const struct wait *wait, uint64_t until_ns,
               struct error *error);
