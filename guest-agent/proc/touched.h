// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file touched.h  The memory that a process has touched: anonymous memory, and pages of files
 * and shared memory.
 *
 * Source: Documentation/filesystems/proc.rst, "smaps". "Referenced" is what was touched since
 * that mark was last cleared. smaps says it of each mapping, its whole sum, smaps_rollup, not
 * of which kind; so this is smaps, which takes longer: the text of each mapping beside the walk of
 * its page tables.
 */
#pragma once

#include "proc/process_memory.h"

struct touched {
    struct process_memory memory; /* as process_memory_read() has it */
    /* The process's share of memory.referenced_bytes, as PSS is its share of RSS: a library that a
     * hundred processes use counts once in their sum. */
    uint64_t anon_bytes, file_bytes;
};

/**
 * Reads it, a few mappings at a time, however many there are. In a private mapping of a file that
 * was partly written the touched part is taken to be as anonymous as the whole; that is a library's
 * few pages of data.
 * @return 0, all 0 for one without memory; -ESRCH when it is gone (or without
 *         CONFIG_PROC_PAGE_MONITOR, but then there is no clear_refs either), -EACCES when we may
 *         not look, -EBADMSG when its mappings changed meanwhile, -EFBIG above 256 MiB of text, or
 *         another negative errno
 */
int touched_read(const struct fsroot *root, pid_t pid, struct touched *touched);
