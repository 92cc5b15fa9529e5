// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file cold.c  Method `cold`: process_madvise(MADV_COLD), wait, smaps Referenced. TCG guests only.
 *
 * Theory of operation: MADV_COLD clears accessed bits and page flags like clear_refs = 1, but ends
 * in a TLB flush, so that no cached translation hides a hot page. Whole RAM blocks are advised,
 * hence a transparent huge page is never split (mm/madvise.c splits only when the range covers part
 * of one).
 *
 * It also moves the pages to the inactive list: under memory pressure on the host, those not
 * touched again go first. The measured number says the same about them; no call undoes it. Locked
 * memory cannot be advised (-EINVAL). Pages that another process maps too (virtiofsd, vhost-user)
 * are skipped by the kernel and keep their bits: they are unmeasurable, not hot.
 */
#include "base/bytes.h"
#include "base/cleanup.h"
#include "measure/kernel/advise.h"
#include "measure/kernel/pagemap.h"
#include "measure/method/referenced_count.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int advise_block(const struct target *target, const struct ram_block *block)
{
    struct iovec range = {
        .iov_base = (void *)(uintptr_t)block->hva,
        .iov_len = block->bytes,
    };

    if (block->backing == RAM_BACKING_HUGETLB)
        return 0; /* counted as unmeasurable */
    return process_advise(target->process->pidfd, ADVISE_COLD, &range, 1);
}

static int explain_advice(int rc, struct error *error)
{
    switch (rc) {
    case -EPERM:
        return error_set(error, rc,
                         "process_madvise: not permitted; it needs CAP_SYS_NICE and "
                         "CAP_SYS_PTRACE: run as root");
    case -ENOSYS:
        return error_set(error, rc, "process_madvise: not in this kernel; it needs Linux 5.10");
    case -EINVAL:
        return error_set(error, rc,
                         "process_madvise: refused for this memory (locked guest RAM "
                         "cannot be advised)");
    default:
        return error_set(error, rc, "process_madvise: %s", strerror(-rc));
    }
}

static int cold_host(const struct fsroot *root, struct error *why)
{
    cleanup_close int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    int rc = referenced_count_host(root, why);

    if (rc == 0)
        rc = advise_permitted(why);
    if (rc < 0)
        return rc;
    /* A call for an empty range is checked for permission and changes nothing. */
    rc = self < 0 ? -errno : process_advise(self, ADVISE_COLD, &(struct iovec){0}, 1);
    return rc < 0 ? explain_advice(rc, why) : 0;
}

static bool is_in_large_folio(const struct ram_frames *frames, const struct ram_frame *drawn,
                              const struct folio *folio)
{
    const struct ram_block *block = guest_ram_block(frames->target->ram, drawn->page);
    struct page_mapping mapping = {.huge = false};

    if (folio->order == 0 || !ram_block_is_file(block))
        return false;
    /* before Linux 6.7 the kernel does not tell how a page is mapped */
    if (pagemap_mapping(frames->pagemap_fd, guest_ram_hva(frames->target->ram, drawn->page),
                        &mapping) < 0)
        mapping.huge = block->huge_bytes > 0;
    return !mapping.huge;
}

struct folio_search {
    struct ram_frames frames;
    bool found;
};

static bool find_large_folio(void *context, const struct ram_frame *drawn,
                             const struct folio *folio)
{
    struct folio_search *search = context;

    search->found = is_in_large_folio(&search->frames, drawn, folio);
    return search->found;
}

/* Checks for folios of a file that are mapped page by page: the kernel splits those that it sees in
 * part, such as folios across two page tables, and a split unmaps them; dirty ones of ext4 and xfs
 * it cannot split, and skips (mm/madvise.c, madvise_cold_or_pageout_pte_range()). 193.1 instead of
 * 8.0 MiB read touched, or 193 resident MiB became 33. */
static int check_folios(const struct target *target, struct error *why)
{
    struct folio_search search = {.found = false};

    if (ram_frames_open(&search.frames, target))
        ram_frames_draw(&search.frames, find_large_folio, &search);
    ram_frames_close(&search.frames);
    return search.found ? error_set(why, -ENOTSUP,
                                    "marks do not take: guest RAM is in large folios of a file, "
                                    "which MADV_COLD skips, or splits and unmaps")
                        : 0;
}

/* Checks the permission for each block, without advising anything. */
static int cold_probe(const struct target *target, struct error *why)
{
    int rc = referenced_count_probe(target, why);

    for (size_t i = 0; rc == 0 && i < target->ram->n_blocks; i++) {
        const struct ram_block *block = &target->ram->blocks[i];

        if (block->locked)
            return error_set(why, -EINVAL,
                             "guest RAM is locked (mlock): the kernel does not age it");
        if (advice_splits(target->root, block))
            return error_set(why, -ENOTSUP,
                             "guest RAM may have shared huge pages across page tables, "
                             "which MADV_COLD would split");
        rc = process_advise(target->process->pidfd, ADVISE_COLD,
                            &(struct iovec){.iov_base = (void *)(uintptr_t)block->hva}, 1);
        if (rc < 0)
            explain_advice(rc, why);
    }
    return rc < 0 ? rc : check_folios(target, why);
}

static int cold_open(const struct target *target, struct page_set *set, void **state,
                     struct error *error)
{
    (void)set;
    return referenced_count_open(target, state, error);
}

static int cold_mark(void *state, struct error *error)
{
    struct referenced_count *count = state;
    const struct target *target = count->target;

    int rc = referenced_count_begin(count, error);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < target->ram->n_blocks; i++) {
        rc = advise_block(target, &target->ram->blocks[i]);
        if (rc < 0)
            return explain_advice(rc, error);
    }
    referenced_count_marked(count);
    return 0;
}

static int cold_collect(void *state, struct tally *tally, struct error *error)
{
    const struct referenced_count *count = state;
    int rc = referenced_count_tally(state, tally, error);

    if (rc < 0)
        return rc;
    /* pages that others map are skipped by the marking; those that they map later are marked, and
     * those that they no longer map when pages are counted are not: the number of either kind among
     * the referenced pages is not known: the bounds hold either way; KSM maps a page that it merges
     * with an accessed bit */
    tally->touched_bytes = less(tally->touched_bytes, count->shared_bytes);
    tally->surplus_bytes = smaller(tally->surplus_bytes +
                                       less(tally->shared_bytes, count->shared_bytes),
                                   tally->touched_bytes);
    tally->unmeasurable_bytes += smaller(count->shared_bytes,
                                         less(tally->resident_bytes, tally->unmeasurable_bytes));
    return 0;
}

const struct method method_cold = {
    .name = "cold",
    .summary =
        "accessed bits cleared with a TLB flush by MADV_COLD, then smaps Referenced (TCG only)",
    .signal = SIGNAL_REFERENCED,
    .census = true,
    .rank = {[ORDER_TCG] = 2, [ORDER_TCG_AGEING] = 3},
    .sees_qemu = true,
    .host = cold_host,
    .probe = cold_probe,
    .open = cold_open,
    .mark = cold_mark,
    .collect = cold_collect,
    .wake = {.between = referenced_count_between},
    .close = referenced_count_close,
};
