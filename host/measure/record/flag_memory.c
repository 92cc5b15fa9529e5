// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/record/flag_memory.h"

#include "base/bytes.h"
#include "measure/method.h"

#define READS_ALL (FLAG_MIGRATING | FLAG_DUMP)
#define REMEMBERED                                                                         \
    (READS_ALL | FLAG_DIRTY_RATE | FLAG_NESTED | FLAG_NUMA_BALANCING | FLAG_DAMON_ACTIVE | \
     FLAG_SWAP | FLAG_KSM)

/* Allowance for the time between a scan and its record, and for the rounding of clocks. */
#define SLACK_S 0.5

void flag_memory_note(struct flag_memory *memory, unsigned flags, double now_s)
{
    flags &= REMEMBERED;
    memory->known |= flags;
    for (unsigned bit = 0; bit < FLAG_MEMORY_BITS; bit++)
        if (flags & (1U << bit))
            memory->last_s[bit] = now_s;
}

void flag_memory_scan(struct flag_memory *memory, unsigned flags, double now_s)
{
    flag_memory_note(memory, flags | memory->lasting, now_s);
    memory->lasting = flags & REMEMBERED;
}

static const struct method *method_of(const struct sample_record *record)
{
    return record->method ? method_by_name(record->method) : NULL;
}

/* DAMON sets the idle flag of a page whose accessed bit it takes (mm/damon/ops-common.c,
 * damon_ptep_mkold()): a method that relies on that flag misses the touch, and so does MGLRU, which
 * reads the page tables only. Other methods are not affected: DAMON keeps the bits as PG_young,
 * which smaps counts as referenced. */
static bool hides(const struct sample_record *record, unsigned flags)
{
    const struct method *method = method_of(record);

    return (flags & FLAG_DAMON_ACTIVE) && method &&
           (method->signal == SIGNAL_IDLE_FLAG || method->signal == SIGNAL_GENERATIONS);
}

static bool is_told_of_all(const struct sample_record *record)
{
    bool all = true;

    for (size_t w = 0; w < record->n_windows; w++)
        all &= record->windows[w].damon_told;
    return all;
}

/* Returns true if QEMU, or a process that copies its memory, touched pages that the guest did not.
 * A dirty-rate calculation reads sampled pages: by default 512 of each GiB, and so most huge pages.
 * It misleads the methods that see QEMU's own touches. */
static bool reads(const struct sample_record *record, unsigned flags)
{
    const struct method *method = method_of(record);

    return (flags & READS_ALL) || ((flags & FLAG_DIRTY_RATE) && method && method->sees_qemu);
}

static bool is_witnessed(const struct sample_record *record)
{
    return record->n_windows > 0 && record->windows[record->n_windows - 1].dispute.n > 0;
}

static unsigned flags_within(const struct flag_memory *memory, double since_s)
{
    unsigned flags = 0;

    for (unsigned bit = 0; bit < FLAG_MEMORY_BITS; bit++)
        if ((memory->known & (1U << bit)) && memory->last_s[bit] >= since_s)
            flags |= 1U << bit;
    return flags;
}

/* Upper bound of the touched memory if bits were taken: all of it, unless a witness limits it. */
static uint64_t hidden_high(const struct sample_record *record, size_t w)
{
    const struct window_record *window = &record->windows[w];
    const uint64_t most = window_resident_high_bytes(record, w);

    if (window->dispute.n <= 0)
        return most;
    return smaller(most, window->wss_high_bytes +
                             (uint64_t)(dispute_missed_high(&window->dispute) * (double)most));
}

/* Lower bound of the touched memory if QEMU read memory; the witness may have seen no touch. */
static uint64_t read_low(const struct sample_record *record, size_t w)
{
    const struct window_record *window = &record->windows[w];
    const uint64_t all = record->resident_bytes;
    const uint64_t unwatched = dispute_unwatched_bytes(&window->dispute, all);
    const uint64_t read = unwatched + (uint64_t)(dispute_others_high(&window->dispute) *
                                                 (double)(all - unwatched));
    const uint64_t least = dispute_least_bytes(&window->dispute, all);

    return larger(less(window->wss_low_bytes, read), smaller(window->wss_low_bytes, least));
}

/* If the pages from which DAMON took bits are known, the bounds already include them
 * (measure/damon_taken.h), and no flag is needed: on many hosts DAMON is always on. A dirty-rate
 * calculation needs no flag either, unless the method sees QEMU's touches. */
static unsigned flags_of_window(const struct flag_memory *memory,
                                const struct sample_record *record, size_t w, double now_s)
{
    const struct window_record *window = &record->windows[w];
    const struct method *method = method_of(record);
    unsigned flags = flags_within(memory, now_s - window->est_window_s - SLACK_S);

    if (window->damon_told)
        flags &= ~(unsigned)FLAG_DAMON_ACTIVE;
    if (method && !method->sees_qemu)
        flags &= ~(unsigned)FLAG_DIRTY_RATE;
    return flags;
}

void flag_memory_apply(const struct flag_memory *memory, struct sample_record *record, double now_s)
{
    uint64_t low_bytes = 0; /* lower bound of the longest window so far in which RAM was not read */

    if (is_told_of_all(record))
        record->flags &= ~(unsigned)FLAG_DAMON_ACTIVE;
    for (size_t w = 0; w < record->n_windows; w++) {
        struct window_record *window = &record->windows[w];
        const unsigned flags = flags_of_window(memory, record, w, now_s);

        record->flags |= flags;
        if (hides(record, flags))
            window->wss_high_bytes = larger(window->wss_high_bytes, hidden_high(record, w));
        if (reads(record, flags) && window->dispute.n > 0)
            window->wss_low_bytes = read_low(record, w);
        if (!reads(record, flags) || window->dispute.n > 0)
            low_bytes = window->wss_low_bytes > low_bytes ? window->wss_low_bytes : low_bytes;
        else if (window->wss_low_bytes > low_bytes)
            window->wss_low_bytes = low_bytes;
    }
}

/* Writes by a QEMU job cannot be told apart from the guest's. */
static void apply_to_writes(const struct flag_memory *memory, struct write_curve *curve,
                            double now_s)
{
    uint64_t low_bytes = 0;

    for (size_t i = 0; i < curve->n; i++) {
        struct write_point *point = &curve->points[i];
        const unsigned flags = flags_within(memory, now_s - point->est_window_s - SLACK_S);

        curve->flags |= flags & (READS_ALL | FLAG_NESTED | FLAG_SWAP);
        if (flags & READS_ALL)
            point->low_bytes = smaller(point->low_bytes, low_bytes);
        low_bytes = point->low_bytes;
    }
}

void flag_memory_apply_ages(const struct flag_memory *memory, struct ages_record *record,
                            double now_s)
{
    flag_memory_apply(memory, &record->sample, now_s);
    apply_to_writes(memory, &record->sample.writes, now_s);
    for (size_t b = 0; b < record->n_bins; b++) {
        struct age_bin *bin = &record->bins[b];
        unsigned flags = flags_within(memory, now_s - bin->to_s - SLACK_S);
        bool read = reads(&record->sample, flags) && !is_witnessed(&record->sample);

        if (!read && (!hides(&record->sample, flags) || is_told_of_all(&record->sample)))
            continue;
        /* touches seen in the youngest bin are certain, even if others were missed */
        if (read || bin->from_s > 0)
            bin->low_bytes = 0;
        bin->high_bytes = larger(bin->high_bytes, record->sample.resident_bytes);
    }
}

void flag_memory_apply_own(struct sample_record *record)
{
    struct flag_memory memory = {0};

    flag_memory_note(&memory, record->flags, 0);
    flag_memory_apply(&memory, record, 0);
}
