// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/folio_strata.h"

#include "base/bytes.h"
#include "base/page_sizes.h"
#include "measure/kernel/large_folios.h"
#include "measure/method/idle_frames.h"

#include <string.h>

#define MAX_ORDER 24

struct folio_counts {
    uint64_t n[MAX_ORDER + 1]; /* number of folios, by order */
    uint64_t head;             /* head of the last folio */
};

/* Pages that are absent, or are being migrated, belong to no folio. */
static void lost(struct page_set *set, uint64_t i, enum page_state state)
{
    (void)set, (void)i, (void)state;
}

/* Frames of one folio are consecutive. Pages in no generation were not counted as touched. */
static void count_frames(const struct frames *frames, struct folio_counts *counts)
{
    for (uint64_t k = 0; k < frames->n_frames; k++) {
        const struct frame *frame = &frames->frame[k];

        if (frame->unlisted)
            continue;
        counts->n[smaller(frame->order, MAX_ORDER)] += frame->order == 0 ||
                                                       frame->pfn != counts->head;
        counts->head = frame->pfn;
    }
}

static int count_batch(struct frames *frames, struct folio_counts *counts)
{
    int rc = frames_read(frames, lost);

    if (rc == 0)
        rc = frames_resolve(frames);
    if (rc == 0)
        count_frames(frames, counts);
    return rc;
}

static int count_folios(const struct target *target, struct page_set *set,
                        struct folio_counts *counts)
{
    struct frames frames = {.flags_fd = -1};
    int rc = frames_open(&frames, target, set, NULL);

    if (rc == 0)
        rc = frames_begin(&frames);
    for (uint64_t i = 0; rc == 0 && i < set->n; i += frames.n) {
        frames.n = smaller(frames.batch, set->n - i);
        for (uint64_t k = 0; k < frames.n; k++)
            frames.index[k] = i + k;
        rc = count_batch(&frames, counts);
    }
    frames_close(&frames);
    return rc;
}

/* A partly mapped folio counts with all of its pages, as it does in its generation. */
static void put_strata(const struct folio_counts *counts, struct tally *tally)
{
    tally->n_strata = 0;
    for (unsigned order = 0; order <= MAX_ORDER; order++) {
        struct stratum *stratum = counts->n[order] > 0
                                      ? tally_stratum(tally, base_page_bytes() << order)
                                      : NULL;

        if (stratum)
            stratum->draws = counts->n[order] << order;
    }
}

void folio_strata(const struct target *target, struct tally *tally)
{
    struct folio_counts counts = {.head = UINT64_MAX};
    struct page_set set;

    /* a file system chooses the size of its folios, and no counter shows it */
    if (!large_folios_exist(target->root) && !guest_ram_on_disk(target->ram))
        return;

    int rc = page_set_census(&set, target->ram);

    if (rc == 0) {
        rc = count_folios(target, &set, &counts);
        page_set_free(&set);
    }
    if (rc < 0) {
        counts = (struct folio_counts){0};
        counts.n[huge_page_order()] = tally->resident_bytes / huge_page_bytes() + 1;
    }
    put_strata(&counts, tally);
}
