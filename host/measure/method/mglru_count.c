// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/mglru_count.h"

#include "base/bytes.h"

#include <errno.h>
#include <string.h>

/* --- the generations -------------------------------------------------------------------------- */

static void add_generation(const struct lru_generation *generation, uint64_t first, uint64_t last,
                           struct mglru_figure *out)
{
    out->listed_pages += generation->anon_pages;
    if (generation->number < first || generation->number == last)
        return;
    out->touched_pages += generation->anon_pages;
    if (generation->number + LRU_GEN_KEPT <= last + 1)
        out->merged_pages += generation->anon_pages;
}

/* If anonymous memory cannot be swapped, an ageing by others leaves the oldest pages in their
 * place, which becomes that of the youngest generation (mm/vmscan.c, inc_min_seq()): they may be in
 * the window's generations. */
static uint64_t folded_pages(const struct lru_gen_node *marked,
                             const struct lru_generation *generation)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < marked->n; i++)
        if (marked->generations[i].number + LRU_GEN_KEPT <= generation->number)
            sum += marked->generations[i].anon_pages;
    return smaller(sum, generation->anon_pages);
}

static int add_node(const struct lru_gen_node *marked, const struct lru_gen_node *now,
                    unsigned aged, struct mglru_figure *out)
{
    uint64_t first = lru_gen_youngest(marked)->number;
    uint64_t last = lru_gen_youngest(now)->number;

    if (marked->id != now->id || last < first + aged)
        return -ESTALE;
    out->foreign += last - first - aged;
    for (unsigned i = 0; i < now->n; i++)
        add_generation(&now->generations[i], first, last, out);
    for (unsigned i = 0; last - first > aged && i < now->n; i++)
        if (now->generations[i].number >= first && now->generations[i].number != last)
            out->merged_pages += folded_pages(marked, &now->generations[i]);
    return 0;
}

int mglru_figure(const struct lru_gen *marked, const struct lru_gen *now, const unsigned *aged,
                 struct mglru_figure *out)
{
    int rc = marked->memcg_id == now->memcg_id && marked->n_nodes == now->n_nodes ? 0 : -ESTALE;

    *out = (struct mglru_figure){0};
    for (unsigned i = 0; rc == 0 && i < now->n_nodes; i++)
        rc = add_node(&marked->nodes[i], &now->nodes[i], aged[i], out);
    return rc;
}

/* --- the tally -------------------------------------------------------------------------------- */

/* The least part of the listed memory that is guest RAM. */
static uint64_t listed_ram_bytes(const struct mglru_figure *figure, const struct ram_smaps *sums,
                                 const struct mglru_beside *beside)
{
    uint64_t listed = figure->listed_pages * base_page_bytes();

    return listed -
           smaller(listed, sums->own_bytes + beside->others_bytes + beside->unmapped_bytes);
}

/* Reclaim puts pages back into the last but one generation, which is older than the window unless
 * others have begun one since. Migrated pages go to the youngest if they were young before. */
static uint64_t surplus_bytes(const struct mglru_figure *figure, const struct ram_smaps *sums,
                              const struct mglru_beside *beside)
{
    uint64_t scanned = beside->scans_unknown ? figure->touched_pages : beside->scanned_pages;
    uint64_t pages = figure->merged_pages + beside->moved_pages +
                     (figure->foreign > 0 ? scanned : 0);

    return pages * base_page_bytes() + beside->collapses * huge_page_bytes() +
           beside->others_bytes + sums->own_mapped_bytes + sums->own_doubtful_bytes +
           smaller(sums->own_referenced_bytes, beside->own_before_bytes);
}

/* The generations do not tell which of the touched pages are huge: least.c assumes as many huge
 * ones as exist. */
static void add_stratum(struct tally *tally, uint64_t granularity_bytes, uint64_t bytes)
{
    struct stratum *stratum = bytes > 0 ? tally_stratum(tally, granularity_bytes) : NULL;

    if (stratum)
        stratum->draws = base_pages(bytes);
}

void mglru_tally(const struct mglru_figure *figure, const struct ram_smaps *sums,
                 const struct mglru_beside *beside, struct tally *tally)
{
    uint64_t touched = figure->touched_pages * base_page_bytes();
    uint64_t listed = smaller(listed_ram_bytes(figure, sums, beside), sums->resident_bytes);
    uint64_t own = smaller(touched, less(sums->own_referenced_bytes, beside->own_before_bytes));
    uint64_t huge = smaller(sums->huge_bytes, sums->resident_bytes);

    memset(tally, 0, sizeof(*tally));
    tally->census = true;
    tally->resident_bytes = sums->resident_bytes + sums->hugetlb_bytes;
    tally->unmeasurable_bytes = sums->resident_bytes - listed + sums->hugetlb_bytes;
    tally->touched_bytes = smaller(touched - own, tally->resident_bytes);
    tally->missed_bytes = own;
    tally->surplus_bytes = surplus_bytes(figure, sums, beside);
    tally->swapped_pages = base_pages(sums->swapped_bytes);
    add_stratum(tally, base_page_bytes(), sums->resident_bytes - huge);
    add_stratum(tally, huge_page_bytes(), huge);
    if (figure->merged_pages > 0 ||
        (figure->foreign > 0 && (beside->scanned_pages > 0 || beside->scans_unknown)))
        tally_doubt(tally, DOUBT_AGEING, 0);
}
