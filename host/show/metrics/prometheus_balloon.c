// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/metrics/prometheus_balloon.h"

#include "base/array.h"
#include "show/metrics/exposition.h"
#include "show/metrics/prometheus_guest_stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DECIDED ACTUATOR_DECIDED

/* --- reading ---------------------------------------------------------------------------------- */

static int see_entry(const struct journal_entry *entry, void *context)
{
    struct balloon_metrics *metrics = context;
    return array_put(&metrics->entries, &metrics->n, entry, sizeof(*metrics->entries));
}

static int see_count(const struct journal_count *count, void *context)
{
    struct balloon_metrics *metrics = context;
    return array_put(&metrics->counts, &metrics->n_counts, count, sizeof(*metrics->counts));
}

int balloon_metrics_read(struct balloon_metrics *metrics, const char *path, double now_s,
                         struct error *error)
{
    struct journal *journal = NULL;
    int rc;

    *metrics = (struct balloon_metrics){0};
    rc = journal_open_read(path, &journal, error);
    if (rc == -ENOENT || rc == -EACCES)
        return 0;
    if (rc == 0)
        rc = journal_latest(journal, see_entry, metrics, error);
    if (rc == 0)
        rc = journal_counts(journal, now_s - BALLOON_COUNTED_S, see_count, metrics, error);
    if (rc == 0)
        rc = journal_host(journal, &metrics->host, error);
    if (fabs(now_s - metrics->host.time_s) > BALLOON_HOST_MAX_S)
        metrics->host.time_s = 0;
    journal_close(journal);
    return rc;
}

void balloon_metrics_free(struct balloon_metrics *metrics)
{
    free(metrics->entries);
    free(metrics->counts);
    *metrics = (struct balloon_metrics){0};
}

/* --- guest ------------------------------------------------------------------------------------ */

static const struct journal_entry *entry_of(const struct balloon_metrics *metrics,
                                            const struct current_guest *guest)
{
    for (size_t i = 0; i < metrics->n; i++)
        if (!strcmp(metrics->entries[i].uuid, guest->kept.record.sample.uuid))
            return &metrics->entries[i];
    return NULL;
}

static void write_field(FILE *out, const struct field *field, const struct balloon_metrics *metrics,
                        const struct current *current)
{
    char labels[LABELS_MAX];
    struct field_value value;

    exposition_family(out, field->metric, field->help);
    for (size_t i = 0; i < current->n; i++) {
        const struct journal_entry *entry = entry_of(metrics, &current->guests[i]);

        if (!entry)
            continue;
        field_get(field, entry, &value);
        prometheus_guest_labels(labels, &current->guests[i]);
        if (value.kind != VALUE_NONE)
            exposition_sample(out, field->metric, labels, field_number(&value));
    }
}

static void write_states(FILE *out, const struct balloon_metrics *metrics,
                         const struct current *current)
{
    const char *name = "vmwss_balloon_state";
    char labels[LABELS_MAX];

    exposition_family(out, name, DECIDED "what it did, and why it was no more. Always 1.");
    for (size_t i = 0; i < current->n; i++) {
        const struct journal_entry *entry = entry_of(metrics, &current->guests[i]);

        if (!entry)
            continue;
        prometheus_guest_labels(labels, &current->guests[i]);
        exposition_label(labels, LABELS_MAX, "action", entry->action);
        exposition_label(labels, LABELS_MAX, "hold", entry->hold);
        exposition_label(labels, LABELS_MAX, "mode", entry->mode);
        exposition_sample(out, name, labels, 1);
    }
}

/* A guest without panics gets 0, so that alerts can use the value. */
static void write_panics(FILE *out, const struct balloon_metrics *metrics,
                         const struct current *current)
{
    const char *name = "vmwss_balloon_panics";
    char labels[LABELS_MAX];

    exposition_family(out, name,
                      "How often within the last hour the guest began to be short of memory, "
                      "whatever vmwss-balloond gave it. Without a minute of calm between them two "
                      "are one.");
    for (size_t i = 0; i < current->n; i++) {
        const struct journal_entry *entry = entry_of(metrics, &current->guests[i]);
        uint64_t n = 0;

        for (size_t c = 0; entry && c < metrics->n_counts; c++)
            if (!strcmp(metrics->counts[c].uuid, entry->uuid))
                n += metrics->counts[c].panics;
        prometheus_guest_labels(labels, &current->guests[i]);
        if (entry)
            exposition_sample(out, name, labels, (double)n);
    }
}

/* --- host ------------------------------------------------------------------------------------- */

static bool same_kind(const struct journal_count *a, const struct journal_count *b)
{
    return !strcmp(a->action, b->action) && !strcmp(a->hold, b->hold);
}

/* Sums all guests' counts with the same action and hold as count @p c; 0 if an earlier count has
 * included them. */
static uint64_t sum_of(const struct balloon_metrics *metrics, size_t c)
{
    uint64_t n = 0;

    for (size_t i = 0; i < metrics->n_counts; i++) {
        if (!same_kind(&metrics->counts[i], &metrics->counts[c]))
            continue;
        if (i < c)
            return 0;
        n += metrics->counts[i].n;
    }
    return n;
}

static void write_counts(FILE *out, const struct balloon_metrics *metrics)
{
    const char *name = "vmwss_balloon_decisions";
    char labels[LABELS_MAX];

    exposition_family(out, name,
                      "Decisions of vmwss-balloond within the last hour that were another than the "
                      "guest's last one, by what was done and why it was no more.");
    for (size_t c = 0; c < metrics->n_counts; c++) {
        uint64_t n = sum_of(metrics, c);

        if (n == 0)
            continue;
        labels[0] = '\0';
        exposition_label(labels, LABELS_MAX, "action", metrics->counts[c].action);
        exposition_label(labels, LABELS_MAX, "hold", metrics->counts[c].hold);
        exposition_sample(out, name, labels, (double)n);
    }
}

static void write_host(FILE *out, const struct journal_host *host)
{
    char labels[LABELS_MAX] = "";

    if (host->time_s == 0)
        return;
    exposition_family(out, "vmwss_balloon_host_level",
                      "How short of memory the host is by vmwss-balloond, if that decided within "
                      "the last three minutes: ample, high, soft, hard or low. Always 1.");
    exposition_label(labels, LABELS_MAX, "level", host->level);
    exposition_sample(out, "vmwss_balloon_host_level", labels, 1);
}

void prometheus_write_balloons(FILE *out, const struct balloon_metrics *metrics,
                               const struct current *current)
{
    struct field fields[JOURNAL_FIELDS];

    write_host(out, &metrics->host);
    if (metrics->n == 0)
        return;
    write_counts(out, metrics);
    journal_decision_fields(fields);
    for (const struct field *field = fields; field->type; field++)
        if (field->metric)
            write_field(out, field, metrics, current);
    write_states(out, metrics, current);
    write_panics(out, metrics, current);
}
