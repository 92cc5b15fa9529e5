// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file method.h  Methods to find which memory a process touches, each one file and one table. */
#pragma once

#include "base/error.h"
#include "proc/process_memory.h"
#include "wss/subject.h"

#include <stdbool.h>

/** The memory touched since the mark. */
struct wss_reading {
    struct process_memory memory; /* referenced_bytes is the touched memory */
    /* resident memory that may or may not have been touched; in no other member */
    uint64_t unmeasurable_bytes;
};

struct wss_method {
    const char *name;

    /** Checks that this kernel supports the method. 0, or a negative errno with the reason. */
    int (*check)(const struct fsroot *root, struct error *why);

    /** Marks all memory of the process as untouched. @p state (NULL at first, and kept between
     * marks) is freed by forget(). 0; -ESRCH if the process is gone, -EACCES or -EPERM if not
     * permitted, -EINTR if interrupted, or another negative errno. */
    int (*mark)(const struct wss_subject *subject, void **state);

    /** Reads which memory was touched since the mark; may be called repeatedly. Errors as above. */
    int (*read)(const struct wss_subject *subject, void *state, struct wss_reading *reading);

    /** read() fills in all members of memory; false: only referenced_bytes */
    bool reads_memory;

    void (*forget)(void *state); /* may be NULL */
};

extern const struct wss_method wss_clear_refs;
extern const struct wss_method wss_page_idle;

/** Finds the method with that name; for "auto", the first that this kernel supports: page_idle,
 * clear_refs. NULL with the reason. */
const struct wss_method *wss_method_find(const struct fsroot *root, const char *name,
                                         struct error *why);
