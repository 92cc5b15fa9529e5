// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file clear_refs.c  Method `clear_refs`: accessed bits in the process's own page tables.
 *
 * Theory of operation. Writing 1 to /proc/PID/clear_refs clears the accessed bit of each mapped
 * page, and the page's own referenced and young flags (fs/proc/task_mmu.c, clear_refs_pte_range());
 * smaps counts a page as "Referenced" if either is set again. So the count is exact for pages that
 * only this process maps; shared pages (libraries) count if any process caused the kernel to mark
 * them as referenced.
 *
 * Side effect: reclaim reads the same bits, so it may evict pages that are in use.
 *
 * Blind spot: an access through a translation that is still in a TLB does not set the accessed
 * bit. Up to Linux 5.5 the write ended with a TLB flush. Since 0758cd830494 ("asm-generic/tlb:
 * avoid potential double flush") it does not, and the repair ("mm: proc: Invalidate TLB after
 * clearing soft-dirty page state", 5.11) only flushes after writing 4, because ageing was thought
 * not to need it. Writing 4 after 1 would flush, but also clears the soft-dirty bits, so that the
 * next incremental checkpoint of the process would miss changes. So watch_mark() evicts TLB entries
 * instead, see tlb_evict.h.
 */
#include "wss/method.h"

#include "base/cleanup.h"
#include "proc/hidden.h"

#include <errno.h>
#include <fcntl.h>

static int check_clear_refs(const struct fsroot *root, struct error *why)
{
    if (fsroot_exists(root, "proc/self/clear_refs"))
        return 0;
    if (proc_file_missing(root))
        return error_set(why, -ENOTSUP, "%s", proc_file_missing(root));
    return error_set(
        why, -ENOTSUP,
        "this kernel has no /proc/PID/clear_refs: it needs CONFIG_PROC_PAGE_MONITOR=y");
}

static int mark_process(const struct wss_subject *subject, void **state)
{
    (void)state;
    char path[PROCESS_PATH];
    cleanup_close int fd = fsroot_openf(
        subject->root, O_WRONLY, "%s",
        process_path(subject->root, subject->pid, "clear_refs", path));

    if (fd < 0)
        return fd == -ENOENT ? -ESRCH : fd;
    return write(fd, "1", 1) == 1 ? 0 : -errno;
}

static int read_referenced(const struct wss_subject *subject, void *state,
                           struct wss_reading *reading)
{
    (void)state;
    reading->unmeasurable_bytes = 0;
    return process_memory_read(subject->root, subject->pid, &reading->memory);
}

const struct wss_method wss_clear_refs = {
    .name = "clear_refs",
    .check = check_clear_refs,
    .mark = mark_process,
    .read = read_referenced,
    .reads_memory = true,
};
