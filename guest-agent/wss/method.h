// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file method.h  Ways to see what a process touches: one file and one table each. */
#pragma once

#include "base/error.h"
#include "proc/process_memory.h"
#include "wss/subject.h"

#include <stdbool.h>

/** The memory touched since the mark. */
struct wss_reading {
    struct process_memory memory; /* referenced_bytes is the answer */
    uint64_t unmeasurable_bytes;  /* resident, and it cannot be seen whether touched; in no other
                                     number */
};

struct wss_method {
    const char *name;

    /** Can this kernel? 0, or a negative errno with the reason. */
    int (*check)(const struct fsroot *root, struct error *why);

    /** Marks all memory of the process as untouched. @p state (NULL before the first time, and kept
     * between marks) is given to forget(). 0; -ESRCH when the process is gone, -EACCES or -EPERM
     * when we may not, -EINTR when interrupted, another negative errno. */
    int (*mark)(const struct wss_subject *subject, void **state);

    /** Looks what was touched; may be repeated, and counts from the mark each time. Errors as
     * above. */
    int (*read)(const struct wss_subject *subject, void *state, struct wss_reading *reading);

    /** true: read() fills in all of memory; false: only referenced_bytes. */
    bool reads_memory;

    void (*forget)(void *state); /* may be NULL */
};

extern const struct wss_method wss_clear_refs;
extern const struct wss_method wss_page_idle;

/** The method of that name, or for "auto" the first that this kernel has: page_idle, clear_refs.
 * NULL with the reason. */
const struct wss_method *wss_method_find(const struct fsroot *root, const char *name,
                                         struct error *why);
