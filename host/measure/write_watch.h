// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file write_watch.h  Which pages are written while the working set is measured: the soft-dirty
 * bit (method/soft_dirty.c) beside the method that sees touches.
 *
 * The soft-dirty bits are cleared before that method marks its pages, and are read after it has
 * read them, so every write within the window is seen. Reading them takes no accessed bit. A method
 * that clears soft-dirty bits itself, or that unmaps pages, cannot run beside it
 * (method_needs.beside_writes).
 */
#pragma once

#include "base/error.h"
#include "guest/ram/target.h"
#include "measure/method.h"

struct write_watch {
    struct page_set set; /* every page */
    struct tally tally;  /* of the last reading */
    void *state;         /* the method's; NULL: not open */
};

/** Checks that writes of this guest can be seen. Returns 0, or -ENOTSUP with the reason. */
int write_watch_check(const struct target *target, struct error *error);

/** Close it in both cases. */
int write_watch_open(struct write_watch *watch, const struct target *target, struct error *error);

/** Begins the window. */
int write_watch_mark(struct write_watch *watch, struct error *error);

/** Call it now and then between the two, and when the descriptor is readable: otherwise bits that
 * another program takes are not missed. */
void write_watch_poll(struct write_watch *watch);
int write_watch_wake_fd(const struct write_watch *watch);

/** Finds the pages written since then. It may be called again: writes add up. */
int write_watch_read(struct write_watch *watch, struct error *error);

void write_watch_close(struct write_watch *watch);

enum write_seen {
    WRITE_NONE,    /* not written within the window */
    WRITE_SEEN,    /* written */
    WRITE_UNKNOWN, /* written or not */
};

/** Whether a page was written before the last reading. One write makes a whole huge page written,
 * so its base pages are WRITE_UNKNOWN. */
enum write_seen write_watch_page(const struct write_watch *watch, uint64_t page);

/** Further bytes that may have been written, of pages without the bit; UINT64_MAX: any number. */
uint64_t write_watch_missed_bytes(const struct write_watch *watch);
