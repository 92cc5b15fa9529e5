// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/sentinels.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/kernel_version.h"
#include "base/page_sizes.h"
#include "measure/kernel/lru_batches.h"
#include "measure/kernel/lru_gen.h"
#include "measure/kernel/pagemap.h"
#include "measure/kernel/touch_pages.h"

#include <string.h>

/* Number of sentinels whose flag cannot be cleared again. */
#define SENTINELS_KEPT 16
/* The place of each pair is checked once in so many renewals. */
#define SENTINEL_TURNS 8
#define PAGES_AT_ONCE 4096ULL

void sentinels_open(const struct target *target, struct sentinels *sentinels)
{
    *sentinels = (struct sentinels){.target = target};
    sentinels->works = ram_frames_open(&sentinels->frames, target);
}

void sentinels_none(struct sentinels *sentinels)
{
    *sentinels = (struct sentinels){.frames = {.pagemap_fd = -1, .flags_fd = -1}};
}

static bool is_mglru(const struct sentinels *sentinels)
{
    return lru_gen_enabled(sentinels->target->root) & LRU_GEN_ON;
}

/* --- planting --------------------------------------------------------------------------------- */

struct planting {
    struct sentinels *sentinels;
    bool kept; /* accepts base pages whose flag a second read does not clear */
};

static bool is_suitable(const struct planting *planting, const struct ram_frame *drawn,
                        const struct folio *folio)
{
    const struct sentinels *sentinels = planting->sentinels;

    /* a read of a page mapped by a PMD sets the accessed bit instead (mm/huge_memory.c,
     * touch_pmd()) */
    if (!(folio->flags & KPF_LRU) || folio->order >= huge_page_order() ||
        (folio->flags & (KPF_REFERENCED | KPF_HUGE)) ||
        (planting->kept ? folio->order > 0 : drawn->active || (folio->flags & KPF_UNEVICTABLE)))
        return false;
    for (size_t i = 0; i < sentinels->n; i++)
        if (sentinels->at[i].head == drawn->head)
            return false;
    return true;
}

/* Finds the other page of an aligned pair; false if no suitable page exists. */
static bool find_neighbour(const struct planting *planting, const struct ram_frame *drawn,
                           struct ram_frame *neighbour)
{
    const struct guest_ram *ram = planting->sentinels->target->ram;
    const struct ram_block *block = guest_ram_block(ram, drawn->page);
    const bool odd = base_pages(guest_ram_hva(ram, drawn->page)) % 2;
    const uint64_t page = odd ? drawn->page - 1 : drawn->page + 1;
    struct folio folio;

    return (odd ? drawn->page > block->first_page
                : page < block->first_page + base_pages(block->bytes)) &&
           ram_frames_look(&planting->sentinels->frames, page, neighbour, &folio) &&
           neighbour->head != drawn->head && is_suitable(planting, neighbour, &folio);
}

static size_t most_of(const struct planting *planting)
{
    if (planting->sentinels->pairs > 0)
        return 2 * planting->sentinels->pairs;
    return planting->kept ? SENTINELS_KEPT : SENTINELS;
}

static bool add_sentinel(void *context, const struct ram_frame *drawn, const struct folio *folio)
{
    struct planting *planting = context;
    struct sentinels *sentinels = planting->sentinels;
    struct ram_frame neighbour;

    if (!is_suitable(planting, drawn, folio) ||
        (sentinels->pairs > 0 && !find_neighbour(planting, drawn, &neighbour)))
        return false;
    sentinels->at[sentinels->n++] = *drawn;
    sentinels->large |= folio->order > 0;
    if (sentinels->pairs)
        sentinels->at[sentinels->n++] = neighbour;
    return sentinels->n >= most_of(planting);
}

/* Reads a sentinel if its folio is the one in which it was planted; otherwise it says nothing: a
 * migrated page keeps its flag, but a page that was joined, or swapped in again, does not. */
static bool read_sentinel(const struct sentinels *sentinels, const struct ram_frame *sentinel,
                          struct folio *folio)
{
    return ram_frames_of_page(&sentinels->frames, sentinel->page) == sentinel->pfn &&
           ram_frames_folio(&sentinels->frames, sentinel->pfn, folio) == 0 &&
           folio->head == sentinel->head;
}

static bool has_flag(const struct sentinels *sentinels, size_t i)
{
    struct folio folio;

    return read_sentinel(sentinels, &sentinels->at[i], &folio) && (folio.flags & KPF_REFERENCED);
}

static bool is_flagged_frame(const struct sentinels *sentinels, const struct ram_frame *sentinel,
                             struct folio *folio)
{
    return ram_frames_folio(&sentinels->frames, sentinel->pfn, folio) == 0 &&
           (folio->flags & KPF_REFERENCED);
}

/* The place is read last, because nearly all sentinels have the flag. */
static bool has_lost_flag(const struct sentinels *sentinels, size_t i, struct folio *folio)
{
    const struct ram_frame *sentinel = &sentinels->at[i];

    return !is_flagged_frame(sentinels, sentinel, folio) &&
           read_sentinel(sentinels, sentinel, folio) && !(folio->flags & KPF_REFERENCED);
}

/* A frame loses the flag when the page leaves it, so the place of a sentinel that has the flag is
 * checked only in turn: else each scan would read 128 entries of the pagemap, one by one. */
static bool is_in_place(struct sentinels *sentinels, size_t i)
{
    struct ram_frame *sentinel = &sentinels->at[i];
    struct folio folio;

    sentinel->flagged = is_flagged_frame(sentinels, sentinel, &folio);
    return (sentinel->flagged && i / 2 % SENTINEL_TURNS != sentinels->turn) ||
           read_sentinel(sentinels, sentinel, &folio);
}

static bool is_noted(struct sentinels *sentinels, size_t i)
{
    return sentinels->at[i].flagged;
}

static void note_flags(struct sentinels *sentinels)
{
    for (size_t i = 0; i < sentinels->n; i++)
        sentinels->at[i].flagged = has_flag(sentinels, i);
}

/* Reads the sentinels whose flag was noted, or the others. */
static void touch_those(const struct sentinels *sentinels, bool flagged)
{
    struct iovec there[SENTINELS_MOST];
    size_t n = 0;

    for (size_t i = 0; i < sentinels->n; i++)
        if (sentinels->at[i].flagged == flagged)
            there[n++] = (struct iovec){.iov_base = (void *)(uintptr_t)guest_ram_hva(
                                            sentinels->target->ram, sentinels->at[i].page),
                                        .iov_len = 1};
    touch_pages(sentinels->target->process->pid, there, n);
}

/* Drops sentinels for which @p wanted returns false; of a pair, both. */
static void keep_those(struct sentinels *sentinels,
                       bool (*wanted)(struct sentinels *sentinels, size_t i))
{
    const size_t step = sentinels->pairs > 0 ? 2 : 1;
    size_t kept = 0;

    for (size_t i = 0; i < sentinels->n; i += step) {
        const bool first = wanted(sentinels, i);

        if ((step == 1 || wanted(sentinels, i + 1)) && first) {
            memmove(&sentinels->at[kept], &sentinels->at[i], step * sizeof(sentinels->at[0]));
            kept += step;
        }
    }
    sentinels->n = kept;
}

static void draw_sentinels(struct planting *planting)
{
    if (planting->sentinels->n < most_of(planting))
        ram_frames_draw(&planting->sentinels->frames, add_sentinel, planting);
}

/* Draws more, and reads those whose flag was not noted. */
static void plant_more(struct sentinels *sentinels)
{
    struct planting planting = {.sentinels = sentinels};

    /* pairs stay where they are, so any pages will do; preferring inactive ones would leave out
     * those that another process unmapped, because these are active when they come back */
    if (!is_mglru(sentinels) && sentinels->pairs == 0)
        draw_sentinels(&planting);
    planting.kept = true;
    draw_sentinels(&planting);
    touch_those(sentinels, false);
    for (size_t i = 0; i < sentinels->n; i++)
        if (!sentinels->at[i].flagged)
            sentinels->at[i].flagged = has_flag(sentinels, i);
    keep_those(sentinels, is_noted);
}

void sentinels_plant(struct sentinels *sentinels)
{
    if (!sentinels->works)
        return;
    note_flags(sentinels);
    plant_more(sentinels);
}

void sentinels_begin(struct sentinels *sentinels)
{
    sentinels->n = 0;
    sentinels_plant(sentinels);
}

void sentinels_renew(struct sentinels *sentinels)
{
    if (!sentinels->works)
        return;
    sentinels->turn = (sentinels->turn + 1) % SENTINEL_TURNS;
    keep_those(sentinels, is_in_place);
    plant_more(sentinels);
}

/* --- taking them back ------------------------------------------------------------------------- */

/* Before Linux 6.9 MADV_PAGEOUT takes accessed bits (mm/madvise.c), and leaves a page that cannot
 * be swapped out active, as another read would. */
static bool activating_takes(const struct fsroot *root)
{
    const unsigned version = kernel_version_of(root);

    return version > 0 && version < KERNEL(6, 9);
}

/* Counts sentinels without their flag, by whether they have become active. */
static size_t count_lost(const struct sentinels *sentinels, bool activated)
{
    struct folio folio;
    size_t n = 0;

    for (size_t i = 0; i < sentinels->n; i++)
        n += has_lost_flag(sentinels, i, &folio) &&
             (!sentinels->at[i].active && (folio.flags & KPF_ACTIVE)) == activated;
    return n;
}

/* Another read activates a page; that shows only after the page has left the batch of its CPU. */
static void see_lost(const struct sentinels *sentinels, struct sentinels_seen *seen)
{
    bool lost = count_lost(sentinels, false) > 0 && lru_batches_drain();
    size_t activated;

    seen->taken = lost && count_lost(sentinels, false) > 0;
    activated = count_lost(sentinels, true);
    seen->taken |= activated > 0 && activating_takes(sentinels->target->root);
    seen->activated = sentinels->n > 0 ? (double)activated / (double)sentinels->n : 0;
}

uint64_t sentinels_bytes(const struct sentinels *sentinels)
{
    struct folio folio;
    uint64_t bytes = 0;

    for (size_t i = 0; i < sentinels->n; i++)
        if (read_sentinel(sentinels, &sentinels->at[i], &folio))
            bytes += base_page_bytes() << folio.order;
    return bytes;
}

void sentinels_take(struct sentinels *sentinels, struct sentinels_seen *seen)
{
    *seen = (struct sentinels_seen){.taken = false};
    if (!sentinels->works)
        return;
    see_lost(sentinels, seen);
    note_flags(sentinels);
    keep_those(sentinels, is_noted);
    touch_those(sentinels, true);
    note_flags(sentinels);
    keep_those(sentinels, is_noted);
    seen->kept_bytes = sentinels_bytes(sentinels);
}

void sentinels_end(struct sentinels *sentinels)
{
    struct sentinels_seen seen;

    sentinels_take(sentinels, &seen);
    sentinels->n = 0;
}

void sentinels_close(struct sentinels *sentinels)
{
    sentinels_end(sentinels);
    ram_frames_close(&sentinels->frames);
}

double sentinels_lost(const struct sentinels *sentinels, bool activated)
{
    return sentinels->n == 0 ? 0 : (double)count_lost(sentinels, activated) / (double)sentinels->n;
}

/* A page that cannot be swapped out becomes active when it is unmapped. Kernels that use
 * generations do not show it. */
static bool came_off(const struct sentinels *sentinels, size_t i, bool by_generations)
{
    struct folio folio;

    return has_lost_flag(sentinels, i, &folio) && (by_generations || (folio.flags & KPF_ACTIVE));
}

bool sentinels_lost_pair(const struct sentinels *sentinels)
{
    const bool by_generations = sentinels->n > 0 && is_mglru(sentinels);

    for (size_t i = 0; i + 1 < sentinels->n; i += 2)
        if (came_off(sentinels, i, by_generations) && came_off(sentinels, i + 1, by_generations))
            return true;
    return false;
}

bool sentinels_hold(const struct sentinels *sentinels, uint64_t page)
{
    for (size_t i = 0; i < sentinels->n; i++)
        if (sentinels->at[i].page == page)
            return true;
    return false;
}

/* --- other readers ---------------------------------------------------------------------------- */

struct flagging {
    const struct sentinels *sentinels;
    bool (*counts)(const void *context, uint64_t page, bool anonymous);
    const void *context;
    bool any;
};

/* A read of a page that was never written maps the host's shared zero page: its flag says nothing
 * about this guest, no marking clears it, and smaps does not count it. */
static bool was_read(const struct folio *folio)
{
    return (folio->flags & (KPF_REFERENCED | KPF_ZERO_PAGE)) == KPF_REFERENCED;
}

static bool is_flagged(void *context, const struct ram_frame *drawn, const struct folio *folio)
{
    struct flagging *flagging = context;

    flagging->any = was_read(folio) &&
                    flagging->counts(flagging->context, drawn->page, folio->flags & KPF_ANON);
    return flagging->any;
}

/* The pages of a folio are mostly consecutive: its head is read once. */
static uint64_t flagged_of(const struct sentinels *sentinels, const uint64_t *pfn, uint64_t n,
                           const uint64_t *flags)
{
    struct folio folio = {.head = UINT64_MAX};
    uint64_t flagged = 0;

    for (uint64_t k = 0; k < n; k++) {
        if (!(flags[k] & KPF_COMPOUND_TAIL))
            folio = (struct folio){.head = pfn[k], .flags = flags[k]};
        else if (k == 0 || pfn[k] != pfn[k - 1] + 1)
            folio.flags = ram_frames_folio(&sentinels->frames, pfn[k], &folio) == 0 ? folio.flags
                                                                                    : 0;
        flagged += was_read(&folio);
    }
    return flagged;
}

static uint64_t count_flagged(const struct flagging *flagging)
{
    const struct sentinels *sentinels = flagging->sentinels;
    const struct guest_ram *ram = sentinels->target->ram;
    cleanup_free uint64_t *entry = calloc(2 * PAGES_AT_ONCE, sizeof(*entry));
    uint64_t flagged = 0;

    for (uint64_t page = 0; entry && page < ram->n_pages; page += PAGES_AT_ONCE) {
        const uint64_t n = smaller(PAGES_AT_ONCE, ram->n_pages - page);
        uint64_t present = 0;

        if (pagemap_read_range(sentinels->frames.pagemap_fd, ram, page, n, entry) < 0)
            break;
        for (uint64_t k = 0; k < n; k++)
            if ((entry[k] & PAGEMAP_PRESENT) &&
                flagging->counts(flagging->context, page + k, !(entry[k] & PAGEMAP_OF_FILE)))
                entry[present++] = PAGEMAP_PFN(entry[k]);
        if (kpageflags_read(sentinels->frames.flags_fd, entry, present, entry + PAGES_AT_ONCE) == 0)
            flagged += flagged_of(sentinels, entry, present, entry + PAGES_AT_ONCE);
    }
    return flagged * base_page_bytes();
}

uint64_t sentinels_flagged_bytes(const struct sentinels *sentinels,
                                 bool (*counts)(const void *context, uint64_t page, bool anonymous),
                                 const void *context)
{
    struct flagging flagging = {.sentinels = sentinels, .counts = counts, .context = context};

    if (!sentinels->works)
        return 0;
    ram_frames_draw(&sentinels->frames, is_flagged, &flagging);
    return flagging.any ? count_flagged(&flagging) : 0;
}
