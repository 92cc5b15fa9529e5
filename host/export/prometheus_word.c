// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prometheus_word.c  See prometheus_word.h. */
#include "export/prometheus_word.h"

#include "export/exposition.h"

#include <math.h>
#include <stdbool.h>

#define SAID "The guest's word, which nothing on the host vouches for: "

static double bytes(uint64_t value)
{
    return value == AGENT_UNKNOWN ? NAN : (double)value;
}

static double total(const struct guest_word *word)
{
    return bytes(word->total_bytes);
}

static double used(const struct guest_word *word)
{
    return bytes(word->used_bytes);
}

static double available(const struct guest_word *word)
{
    return bytes(word->available_bytes);
}

static double cache_warm(const struct guest_word *word)
{
    return bytes(word->cache_warm_bytes);
}

static double cache_cold(const struct guest_word *word)
{
    return bytes(word->cache_cold_bytes);
}

static double own_window(const struct guest_word *word)
{
    return word->own_window_s;
}

static double own_anon(const struct guest_word *word)
{
    return bytes(word->own_anon_bytes);
}

static double own_file(const struct guest_word *word)
{
    return bytes(word->own_file_bytes);
}

static double psi_some(const struct guest_word *word)
{
    return word->psi_some;
}

static double psi_full(const struct guest_word *word)
{
    return word->psi_full;
}

static double swap_in(const struct guest_word *word)
{
    return word->swap_in_bytes_s;
}

static double swap_out(const struct guest_word *word)
{
    return word->swap_out_bytes_s;
}

static double refault(const struct guest_word *word)
{
    return word->refault_bytes_s;
}

static double scan(const struct guest_word *word)
{
    return word->scan_bytes_s;
}

static double at_least(const struct guest_word *word)
{
    return word->at_least_allocation;
}

static double agreement(const struct guest_word *word)
{
    return word->agreement;
}

static const struct word_metric {
    const char *name, *help;
    double (*value)(const struct guest_word *word); /* NAN: not told */
} metrics[] = {
    {"vmwss_guest_memory_total_bytes", SAID "memory that it has.", total},
    {"vmwss_guest_memory_used_bytes", SAID "memory that it could not have without swapping.", used},
    {"vmwss_guest_memory_available_bytes", SAID "memory that it could have without swapping.",
     available},
    {"vmwss_guest_cache_warm_bytes", SAID "page cache on its active list.", cache_warm},
    {"vmwss_guest_cache_cold_bytes", SAID "page cache on its inactive list.", cache_cold},
    {"vmwss_guest_own_window_seconds", SAID "the window of its own working set.", own_window},
    {"vmwss_guest_own_anon_bytes",
     SAID "memory of processes in its own working set, by referenced bits.", own_anon},
    {"vmwss_guest_own_file_bytes",
     SAID "page cache in its own working set that processes have mapped, by referenced bits.",
     own_file},
    {"vmwss_guest_pressure_some_ratio",
     SAID "share of the time in which something waited for memory (PSI), since its last report.",
     psi_some},
    {"vmwss_guest_pressure_full_ratio",
     SAID "share of the time in which all waited for memory (PSI), since its last report.",
     psi_full},
    {"vmwss_guest_swap_in_bytes_per_second", SAID "swapped in, since its last report.", swap_in},
    {"vmwss_guest_swap_out_bytes_per_second", SAID "swapped out, since its last report.", swap_out},
    {"vmwss_guest_refault_bytes_per_second",
     SAID "read again soon after it was dropped, since its last report.", refault},
    {"vmwss_guest_scan_bytes_per_second", SAID "looked at to find some to drop.", scan},
    {"vmwss_guest_at_least_allocation",
     SAID "1 if it pages while the host sees nearly all of its memory touched.", at_least},
    {"vmwss_guest_agreement_ratio",
     "How far the guest's word and the host's numbers can both be right, lately; 1: all of it.",
     agreement},
};

static void write_metric(FILE *out, const struct word_metric *metric, const struct current *current)
{
    char labels[LABELS_MAX];
    bool begun = false;

    for (size_t i = 0; i < current->n; i++) {
        const struct guest_word *word = &current->guests[i].kept.record.sample.guest;
        double value = word->source == WORD_NONE ? NAN : metric->value(word);

        if (!isfinite(value))
            continue;
        if (!begun)
            exposition_family(out, metric->name, metric->help);
        begun = true;
        prometheus_guest_labels(labels, &current->guests[i]);
        exposition_sample(out, metric->name, labels, value);
    }
}

/* Each guest that was asked has one: who told, and the verdict, or "none". */
static void write_verdicts(FILE *out, const struct current *current)
{
    const char *name = "vmwss_guest_verdict";
    char labels[LABELS_MAX];
    bool begun = false;

    for (size_t i = 0; i < current->n; i++) {
        const struct guest_word *word = &current->guests[i].kept.record.sample.guest;

        if (word->source == WORD_NONE && !*word->missing)
            continue;
        if (!begun)
            exposition_family(out, name,
                              SAID "whether its working set is below, near or above its memory, "
                                   "and who told (none: nobody). Always 1.");
        begun = true;
        prometheus_guest_labels(labels, &current->guests[i]);
        exposition_label(labels, LABELS_MAX, "verdict", word_verdict_name(word->verdict));
        exposition_label(labels, LABELS_MAX, "source", word_source_name(word->source));
        exposition_sample(out, name, labels, 1);
    }
}

void prometheus_write_words(FILE *out, const struct current *current)
{
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
        write_metric(out, &metrics[i], current);
    write_verdicts(out, current);
}
