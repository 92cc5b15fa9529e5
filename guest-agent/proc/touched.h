// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file touched.h  The memory that a process has touched: anonymous memory, and pages of files
 * and shared memory.
 *
 * Source: Documentation/filesystems/proc.rst, "smaps". "Referenced" counts the pages touched
 * since the referenced bits were last cleared. smaps reports it for each mapping; smaps_rollup has
 * only the sum, without the kinds of memory. So smaps is read, though it takes longer: the kernel
 * writes text for each mapping, besides walking its page tables.
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
