// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file referenced.c  Method `referenced`: clear_refs = 1, wait, smaps Referenced. TCG guests only.
 *
 * Theory of operation: writing 1 to clear_refs clears the accessed bit of every PTE and the referenced
 * and young flags of the pages; smaps then counts what was accessed again. It is the one method that any
 * kernel has. Two limits: a KVM guest's accesses set other bits, so it sees nothing of them; and the
 * kernel does not flush the TLB, so a translation that stays cached hides its page. With 4 KiB pages the
 * hot set outruns the TLB; with huge pages it does not, and `cold`, which flushes, is the better choice
 * (a 64 MiB loop on THP read 104, 40, 108, 41 MiB by this method and 100 MiB four times by `cold`).
 *
 * Nothing to restore: accessed bits come back with the next access. Until then reclaim on the host takes
 * pages that were not touched since for colder than they are.
 */
#include "sample/kernel/clear_refs.h"
#include "sample/method/referenced_count.h"

static int referenced_open(const struct target *target, struct page_set *set, void **state,
                           struct error *error)
{
    (void)set;
    (void)error;
    *state = (void *)target;
    return 0;
}

static int referenced_mark(void *state, struct error *error)
{
    return clear_refs(state, CLEAR_REFS_REFERENCED, error);
}

static int referenced_collect(void *state, struct tally *tally, struct error *error)
{
    return referenced_count_tally(state, tally, error);
}

static void referenced_close(void *state)
{
    (void)state;
}

const struct method method_referenced = {
    .name = "referenced",
    .summary = "accessed bits of QEMU's page tables: clear_refs and smaps Referenced (TCG only)",
    .census = true,
    .host = referenced_count_host,
    .probe = referenced_count_probe,
    .open = referenced_open,
    .mark = referenced_mark,
    .collect = referenced_collect,
    .close = referenced_close,
};
