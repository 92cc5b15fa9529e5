// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/metrics/prometheus_guest_stats.h"

#include "base/array.h"
#include "show/metrics/exposition.h"

#include <stdbool.h>

#define GUEST_REPORTED "The guest's word, which nothing on the host vouches for: "

static const enum field_group groups[] = {GROUP_MEMORY, GROUP_CACHE, GROUP_OWN, GROUP_RATES,
                                          GROUP_VERDICT};

static void write_metric(FILE *out, const struct field *field, const struct current *current)
{
    char labels[LABELS_MAX];
    bool begun = false;

    for (size_t i = 0; i < current->n; i++) {
        const struct guest_stats *stats = &current->guests[i].kept.record.sample.guest;
        struct field_value value;

        field_get(field, stats, &value);
        if (stats->source == GUEST_STATS_NONE || value.kind == VALUE_NONE)
            continue;
        if (!begun)
            exposition_family(out, field->metric, field->help);
        begun = true;
        prometheus_guest_labels(labels, &current->guests[i]);
        exposition_sample(out, field->metric, labels, field_number(&value));
    }
}

/* Writes two samples for each queried guest: the source, which may be "none", and the verdict. */
static void write_verdicts(FILE *out, const struct current *current)
{
    const char *name = "vmwss_guest_verdict";
    char labels[LABELS_MAX];
    bool begun = false;

    for (size_t i = 0; i < current->n; i++) {
        const struct guest_stats *stats = &current->guests[i].kept.record.sample.guest;

        if (stats->source == GUEST_STATS_NONE && !*stats->unavailable)
            continue;
        if (!begun)
            exposition_family(out, name,
                              GUEST_REPORTED
                              "whether its working set is below, near or above its memory, "
                              "and its source (none: not reported). Always 1.");
        begun = true;
        prometheus_guest_labels(labels, &current->guests[i]);
        exposition_label(labels, LABELS_MAX, "verdict", guest_stats_verdict_name(stats->verdict));
        exposition_label(labels, LABELS_MAX, "source", guest_stats_source_name(stats->source));
        exposition_sample(out, name, labels, 1);
    }
}

void prometheus_write_guest_stats(FILE *out, const struct current *current)
{
    prometheus_write_metrics(out, guest_stats_fields(), groups, COUNT(groups), write_metric,
                             current);
    write_verdicts(out, current);
}
