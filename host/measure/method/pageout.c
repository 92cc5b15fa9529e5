// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file pageout.c  Method `pageout`: MMU invalidation by process_madvise(MADV_PAGEOUT). KVM and
 * TCG.
 *
 * Theory of operation. Guest RAM that is a memfd or a tmpfs file lives in the page cache. If there
 * is no swap to put it into, MADV_PAGEOUT unmaps a page from QEMU's page table, and KVM's through
 * the MMU notifier, and then finds nowhere to write it: the data stays where it is. If the page is
 * mapped again later, the guest (or QEMU for it) touched it.
 *
 * These conditions are checked; without them this would be a real eviction:
 *   - shared memory on shmem; private RAM would have to be swapped, a disk file would be written;
 *   - no active swap;
 *   - no huge pages in the file: advice for a part of one splits it.
 * The kernel reports success for skipped pages, too. A page that is mapped after the call was
 * either skipped (another process maps it too, or it is on no LRU list: unmeasurable) or touched
 * since, as hot pages are within microseconds; /proc/kpagecount and kpageflags tell which. It is
 * not advised again: that would undo the touch, and begin its window anew at the end of the
 * marking, which may take seconds. A guest that was suspended at that moment read 0.00 instead of
 * 8.02 MiB.
 *
 * A page of the file that was read but never written (QEMU's dump reads every hole) is clean: the
 * kernel drops it instead, and the next access makes it anew, again with zeros. So such pages leave
 * a panel, but not the rest of RAM: the panel's share of present pages then contradicts the size of
 * the file, and the estimate is flagged unsettled (measure/estimate/wss.h).
 *
 * Before Linux 6.9 the call honours KVM's accessed bits: a page with its bit set keeps its mapping
 * and only loses the bit. Therefore pages that are still mapped are advised once more there. Then
 * the page is unmapped, or it was touched between the two calls, which counts as a touch. The bits
 * of QEMU's own page table do not keep a page mapped: the call takes them before it checks
 * (mm/madvise.c). So a TCG guest's pages are unmapped by the first call on every kernel, and get no
 * second one.
 *
 * A read fault maps up to 16 neighbours as well (fault_around_bytes), so the panel has at most one
 * page in an aligned 64 KiB, and the others there are mapped first if they are not mapped: in a
 * guest whose file was full and not mapped (a template, a live update, an MADV_PAGEOUT by others)
 * 252 instead of 16.0 MiB read touched. A page that is already unmapped when the window begins is
 * resident and idle: the file shows it, the pagemap does not.
 *
 * To restore, pages still unmapped at the end are mapped again by reading one byte of each through
 * process_vm_readv(2). After kill -9 they are mapped again by the guest's next access, at the price
 * of a minor fault each.
 */
#include "base/bytes.h"
#include "base/cleanup.h"
#include "measure/kernel/advise.h"
#include "measure/kernel/backing_file.h"
#include "measure/kernel/kpage_shared.h"
#include "measure/kernel/pagemap.h"
#include "measure/kernel/touch_pages.h"
#include "measure/method.h"
#include "measure/method/pageout_around.h"
#include "measure/method/pageout_calls.h"
#include "measure/method/pageout_mark.h"
#include "measure/method/pageout_others.h"
#include "measure/method/trial.h"

#include <errno.h>
#include <string.h>

/* --- collecting ------------------------------------------------------------------------------- */

/* An idle page is unmapped; only the file shows whether it still exists. A balloon or a hole in the
 * file removes just the pages that are idle. If a page was absent and is now in the file, but not
 * mapped, another process put it there. */
static void see_page(struct pageout *pageout, uint64_t i, bool mapped, struct ram_walk *walk)
{
    struct page_set *set = pageout->set;
    enum page_state state = (enum page_state)set->state[i];

    if (mapped) {
        pageout->came[i] |= state == PAGE_ABSENT;
        if (state != PAGE_UNMEASURABLE)
            set->state[i] = PAGE_TOUCHED;
    } else if (!pageout_in_file(walk, page_set_page(set, i))) {
        set->state[i] = (uint8_t)page_lost(state, PAGE_ABSENT);
    } else if (state == PAGE_ABSENT) {
        set->state[i] = PAGE_UNMEASURABLE;
    }
}

static int read_merged(void *const *states, const struct page_merge *merge)
{
    const struct pageout *first = states[0];
    struct ram_walk walk = {.by = first};
    cleanup_free bool *mapped = calloc(merge->n + 1, sizeof(*mapped));
    int rc = mapped ? pagemap_present(first->pagemap_fd, first->target->ram, merge->page, merge->n,
                                      mapped)
                    : -ENOMEM;

    for (uint64_t k = 0; rc == 0 && k < merge->n; k++)
        see_page(states[merge->place[k].set], merge->place[k].i, mapped[k], &walk);
    return rc;
}

static int pageout_collect_many(void *const *states, size_t n, const struct page_merge *merge,
                                struct tally *tallies, struct error *error)
{
    const struct pageout *first = states[0];
    int rc = read_merged(states, merge);

    if (rc < 0)
        return error_set(error, rc, "/proc/%d/pagemap: %s", first->target->process->pid,
                         strerror(-rc));
    pageout_count(states, n, tallies);
    return 0;
}

static int pageout_collect(void *state, struct tally *tally, struct error *error)
{
    const struct page_set *set = ((const struct pageout *)state)->set;
    struct page_merge merge;
    int rc = page_merge_make(&merge, &set, 1);

    rc = rc < 0 ? error_set(error, rc, "pageout: out of memory")
                : pageout_collect_many(&state, 1, &merge, tally, error);
    page_merge_free(&merge);
    return rc;
}

/* --- restoring -------------------------------------------------------------------------------- */

/* Maps only pages that this process unmapped: pages that were unmapped before stay as they were,
 * and so does a hole that the balloon has punched meanwhile. */
static void map_again(struct pageout *pageout)
{
    const struct page_set *set = pageout->set;
    pid_t pid = pageout->target->process->pid;
    struct iovec there[TOUCH_AT_ONCE];
    struct ram_walk walk = {.by = pageout};
    size_t n = 0;
    bool alive = true;

    for (uint64_t i = 0; alive && i < set->n; i++) {
        if (set->state[i] != PAGE_IDLE || pageout->was_unmapped[i] ||
            !pageout_in_file(&walk, page_set_page(set, i)))
            continue;
        there[n++] = (struct iovec){.iov_base = (void *)(uintptr_t)page_set_hva(set, i),
                                    .iov_len = 1};
        if (n < TOUCH_AT_ONCE)
            continue;
        alive = touch_pages(pid, there, n);
        n = 0;
    }
    if (alive)
        touch_pages(pid, there, n);
}

static void pageout_close(void *state)
{
    struct pageout *pageout = state;

    /* if another address space is mapped there now, it must not be touched */
    if (pageout->entry && pageout->was_unmapped &&
        qemu_process_verify(pageout->target->root, pageout->target->process, NULL) != -ESTALE)
        map_again(pageout);
    for (size_t b = 0; pageout->file_fds && b < pageout->target->ram->n_blocks; b++)
        cleanup_close_at(&pageout->file_fds[b]);
    sentinels_close(&pageout->sentinels);
    cleanup_close_at(&pageout->pagemap_fd);
    kpage_release(&pageout->flags_fd);
    kpage_release(&pageout->count_fd);
    free(pageout->file_fds);
    free(pageout->advised);
    free(pageout->entry);
    free(pageout->neighbours);
    free(pageout->was_unmapped);
    free(pageout->was_read);
    free(pageout->came);
    free(pageout);
}

/* --- opening ---------------------------------------------------------------------------------- */

static int open_files(struct pageout *pageout, struct error *error)
{
    const struct guest_ram *ram = pageout->target->ram;

    pageout->file_fds = calloc(ram->n_blocks + 1, sizeof(*pageout->file_fds));
    if (!pageout->file_fds)
        return error_set(error, -ENOMEM, "pageout: out of memory");
    for (size_t b = 0; b < ram->n_blocks; b++)
        pageout->file_fds[b] = -1;
    for (size_t b = 0; b < ram->n_blocks; b++) {
        pageout->file_fds[b] = backing_file_open(pageout->target, &ram->blocks[b], error);
        if (pageout->file_fds[b] < 0)
            return pageout->file_fds[b];
    }
    return 0;
}

static int open_kernel_files(struct pageout *pageout, struct error *error)
{
    pageout->pagemap_fd = pagemap_open(pageout->target, error);
    if (pageout->pagemap_fd < 0)
        return pageout->pagemap_fd;
    pageout->flags_fd = kpageflags_share(pageout->target->root, error);
    if (pageout->flags_fd < 0)
        return pageout->flags_fd;
    pageout->count_fd = kpagecount_share(pageout->target->root, error);
    return pageout->count_fd < 0 ? pageout->count_fd : 0;
}

/* The number of calls that unmap a page that the guest touched; see the head of this file for
 * TCG. */
static int calls_for(const struct target *target, struct error *error)
{
    int calls = pageout_calls(error);

    return calls > 0 && target->process->accel == ACCEL_TCG ? 1 : calls;
}

/* Each scan reads the flags of all sentinels: there are no more of them than measured pages, or
 * those of the smallest panels would cost most of the scan. */
static size_t pairs_for(const struct page_set *set)
{
    return smaller(larger(set->n, SENTINELS_FEWEST), SENTINELS_MOST) / 2;
}

static int acquire(struct pageout *pageout, struct error *error)
{
    uint64_t n = pageout->set->n ? pageout->set->n : 1;
    int rc = pageout_check_swap(pageout->target->root, error);

    if (rc < 0)
        return rc;
    pageout->calls = calls_for(pageout->target, error);
    if (pageout->calls < 0)
        return pageout->calls;
    rc = open_files(pageout, error);
    if (rc == 0)
        rc = open_kernel_files(pageout, error);
    if (rc < 0)
        return rc;
    pageout->advised = calloc(n, sizeof(*pageout->advised));
    pageout->entry = calloc(n, sizeof(*pageout->entry));
    pageout->neighbours = calloc(n, sizeof(*pageout->neighbours));
    pageout->was_unmapped = calloc(n, sizeof(*pageout->was_unmapped));
    pageout->was_read = calloc(n, sizeof(*pageout->was_read));
    pageout->came = calloc(n, sizeof(*pageout->came));
    if (!pageout->advised || !pageout->entry || !pageout->neighbours || !pageout->was_unmapped ||
        !pageout->was_read || !pageout->came)
        return error_set(error, -ENOMEM, "pageout: out of memory");
    if (pageout_tells_readers(pageout->target))
        sentinels_open(pageout->target, &pageout->sentinels);
    pageout_thin_out(pageout->set);
    pageout->sentinels.pairs = pairs_for(pageout->set);
    return 0;
}

static int pageout_open(const struct target *target, struct page_set *set, void **state,
                        struct error *error)
{
    struct pageout *pageout = calloc(1, sizeof(*pageout));

    if (!pageout)
        return error_set(error, -ENOMEM, "pageout: out of memory");
    pageout->target = target;
    pageout->set = set;
    pageout->pagemap_fd = pageout->flags_fd = pageout->count_fd = -1;
    sentinels_none(&pageout->sentinels);

    int rc = acquire(pageout, error);

    if (rc < 0)
        pageout_close(pageout);
    else
        *state = pageout;
    return rc;
}

/* --- requirements ----------------------------------------------------------------------------- */

static int check_block(const struct ram_block *block, struct error *why)
{
    if (block->backing == RAM_BACKING_FILE)
        return error_set(why, -ENOTSUP,
                         "guest RAM is a file on disk: MADV_PAGEOUT would do disk I/O");
    if (block->backing != RAM_BACKING_SHMEM || !block->shared)
        return error_set(why, -ENOTSUP,
                         "needs shared memfd or tmpfs RAM (this is %s): private memory "
                         "would have to be swapped out",
                         ram_backing_name(block->backing));
    if (block->locked)
        return error_set(why, -ENOTSUP, "guest RAM is locked (mlock) and cannot be unmapped");
    if (block->huge_bytes > 0)
        return error_set(why, -ENOTSUP,
                         "guest RAM has transparent huge pages, which MADV_PAGEOUT of one "
                         "page would split");
    return 0;
}

static uint64_t unmapped(const struct trial *trial)
{
    return trial->pages[PAGE_IDLE] + trial->pages[PAGE_TOUCHED];
}

/* One page that is unmapped is proof; in most guests nearly every page is: a few pages are tried
 * before many. */
static int try_to_unmap(const struct target *target, struct error *why)
{
    struct trial trial;
    int rc = trial_mark(&method_pageout, target, 16, &trial, why);

    if (rc == 0 && unmapped(&trial) == 0)
        rc = trial_mark(&method_pageout, target, 256, &trial, why);
    if (rc == 0 && unmapped(&trial) == 0 && trial.pages[PAGE_UNMEASURABLE] > 0)
        rc = error_set(why, -ENOTSUP,
                       "the kernel unmaps none of its pages; another process "
                       "(vhost-user, a dump) may map the same memory");
    return rc;
}

static int pageout_host(const struct fsroot *root, struct error *why)
{
    int rc = pageout_check_swap(root, why);

    if (rc == 0)
        rc = advise_permitted(why);
    if (rc == 0)
        rc = pageout_calls(why);
    return rc < 0 ? rc : 0;
}

static int pageout_probe(const struct target *target, struct error *why)
{
    for (size_t b = 0; b < target->ram->n_blocks; b++) {
        int rc = check_block(&target->ram->blocks[b], why);

        if (rc < 0)
            return rc;
    }

    int rc = pageout_check_swap(target->root, why);

    return rc < 0 ? rc : try_to_unmap(target, why);
}

const struct method method_pageout = {
    .name = "pageout",
    .summary =
        "MMU invalidation of shared RAM by MADV_PAGEOUT where there is no swap (KVM and TCG)",
    .panel = true,
    .needs_pages = true,
    .sees_qemu = true,
    .sees_unmapped = true,
    .rank = {[ORDER_KVM] = 4,
             [ORDER_KVM_AGEING] = 2,
             [ORDER_TCG] = 3,
             [ORDER_TCG_AGEING] = 1,
             [ORDER_DAEMON] = 2,
             [ORDER_DAEMON_AGEING] = 1},
    .verified_page_sizes = BASE_ALL,
    .host = pageout_host,
    .probe = pageout_probe,
    .open = pageout_open,
    .mark = pageout_mark,
    .collect = pageout_collect,
    .many = {.collect = pageout_collect_many, .rearm = pageout_rearm_many},
    .rearm = pageout_rearm,
    .reach_bytes = FAULT_AROUND_BYTES,
    .close = pageout_close,
};
