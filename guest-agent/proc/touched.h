// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file touched.h  The memory that a process has touched: anonymous memory, and pages of files
 * and shared memory.
 *
 * Source: Documentation/filesystems/proc.rst, "smaps". "Referenced" counts the pages touched since
 * the referenced bits were last cleared. smaps reports it for each mapping; smaps_rollup has only
 * the sum, without the kinds of memory. So this reads smaps, although it takes longer: besides
 * walking the page tables, the kernel writes text for each mapping.
 */
#pragma once

#include "proc/process_memory.h"

struct touched {
    struct process_memory memory; /* as from process_memory_read() */
    /* The process's share of memory.referenced_bytes, as PSS is its share of RSS: a library that a
     * hundred processes use counts once in their sum. */
    uint64_t anon_bytes, file_bytes;
};

/**
 * Reads any number of mappings, a few at a time. In a private file mapping that was partly written,
 * the touched part is assumed to have the same share of anonymous memory as the whole mapping;
 * these are a library's few pages of data.
 * @return 0, with zeros for a process without memory; -ESRCH if it is gone (or without
 *         CONFIG_PROC_PAGE_MONITOR, but then there is no clear_refs either), -EACCES if it may not
 *         be read, -EBADMSG if its mappings changed meanwhile, -EFBIG above 256 MiB of text, or
 *         another negative errno
 */
int touched_read(const struct fsroot *root, pid_t pid, struct touched *touched);
