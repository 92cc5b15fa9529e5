// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prometheus.c  See prometheus.h: the metrics of the tables of fields, and of the host. */
#include "show/metrics/prometheus.h"

#include "base/array.h"
#include "show/metrics/exposition.h"
#include "show/metrics/planning.h"
#include "show/metrics/prometheus_guest_stats.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The order on the page. Sizes are known even if a guest is not measured. */
static const enum field_group window_groups[] = {GROUP_WSS, GROUP_UNITS, GROUP_TOUCHED, GROUP_RAN,
                                                 GROUP_WINDOW};
static const enum field_group guest_groups[] = {GROUP_SIZE, GROUP_WHEN, GROUP_COST, GROUP_PANEL};

/* --- guest ------------------------------------------------------------------------------------ */

void prometheus_guest_labels(char labels[LABELS_MAX], const struct current_guest *guest)
{
    const struct sample_record *sample = &guest->kept.record.sample;

    labels[0] = '\0';
    exposition_label(labels, LABELS_MAX, "domain", sample->domain);
    if (guest->shares_name)
        exposition_label(labels, LABELS_MAX, "uuid", sample->uuid);
}

static bool is_unmeasured(const struct current_guest *guest)
{
    return guest->kept.record.sample.flags & FLAG_NOT_MEASURED;
}

static void write_guest_metric(FILE *out, const struct field *field, const struct current *current)
{
    char labels[LABELS_MAX];
    struct field_value value;

    exposition_family(out, field->metric, field->help);
    for (size_t i = 0; i < current->n; i++) {
        if (is_unmeasured(&current->guests[i]) && field->group != GROUP_SIZE)
            continue;
        prometheus_guest_labels(labels, &current->guests[i]);
        field_get(field, &current->guests[i].kept, &value);
        if (value.kind != VALUE_NONE)
            exposition_sample(out, field->metric, labels, field_number(&value));
    }
}

static void write_info(FILE *out, const struct current *current)
{
    const char *name = "vmwss_guest_info";
    char labels[LABELS_MAX];

    exposition_family(out, name, "What the guest is, and how it was measured last. Always 1.");
    for (size_t i = 0; i < current->n; i++) {
        const struct sample_record *sample = &current->guests[i].kept.record.sample;

        labels[0] = '\0';
        exposition_label(labels, LABELS_MAX, "domain", sample->domain);
        exposition_label(labels, LABELS_MAX, "uuid", sample->uuid);
        exposition_label(labels, LABELS_MAX, "host", sample->host);
        exposition_label(labels, LABELS_MAX, "manager", sample->owner.manager);
        exposition_label(labels, LABELS_MAX, "owner", sample->owner.name);
        exposition_label(labels, LABELS_MAX, "accel", accel_name(sample->accel));
        exposition_label(labels, LABELS_MAX, "method", sample->method);
        exposition_label(labels, LABELS_MAX, "mode", sample->census ? "census" : "panel");
        exposition_sample(out, name, labels, 1);
    }
}

static void write_flags_of(FILE *out, const char *family, const struct current_guest *guest)
{
    char labels[LABELS_MAX];
    const char *name;

    for (unsigned i = 0; (name = sample_flag_name(i)); i++) {
        if (!(guest->kept.record.sample.flags & (1U << i)))
            continue;
        prometheus_guest_labels(labels, guest);
        exposition_label(labels, LABELS_MAX, "flag", name);
        exposition_sample(out, family, labels, 1);
    }
}

static void write_flags(FILE *out, const struct current *current)
{
    const char *name = "vmwss_flag";

    exposition_family(out, name, "What makes the last number less certain. Always 1.");
    for (size_t i = 0; i < current->n; i++)
        write_flags_of(out, name, &current->guests[i]);
}

/* --- window ----------------------------------------------------------------------------------- */

/* The windows of a record, or of a curve of writes: structs that begin with their length. */
struct windows {
    const void *first;
    size_t n, size;
};

static_assert(offsetof(struct window_record, window_s) == 0, "see struct windows");
static_assert(offsetof(struct write_point, window_s) == 0, "see struct windows");

static const void *window_at(const struct windows *windows, size_t w)
{
    return (const char *)windows->first + w * windows->size;
}

static void window_label(char label[32], const struct windows *windows, size_t w)
{
    const double *window_s = window_at(windows, w);

    snprintf(label, 32, "%.10g", *window_s);
}

/* Detects two windows with the same text, which would be the same series twice. vmwssd writes
 * windows in ascending order. */
static bool is_repeated(const struct windows *windows, size_t w)
{
    char label[32];
    char other[32];

    window_label(label, windows, w);
    for (size_t i = 0; i < w; i++) {
        window_label(other, windows, i);
        if (strcmp(label, other) == 0)
            return true;
    }
    return false;
}

static void write_windows_of(FILE *out, const struct field *field,
                             const struct current_guest *guest, const struct windows *windows)
{
    char labels[LABELS_MAX];
    char window[32];
    struct field_value value;

    for (size_t w = 0; w < windows->n; w++) {
        if (is_repeated(windows, w))
            continue;
        window_label(window, windows, w);
        prometheus_guest_labels(labels, guest);
        exposition_label(labels, LABELS_MAX, "window", window);
        field_get(field, window_at(windows, w), &value);
        if (value.kind != VALUE_NONE)
            exposition_sample(out, field->metric, labels, field_number(&value));
    }
}

static void write_window_metric(FILE *out, const struct field *field, const struct current *current)
{
    exposition_family(out, field->metric, field->help);
    for (size_t i = 0; i < current->n; i++) {
        const struct sample_record *sample = &current->guests[i].kept.record.sample;
        const struct windows windows = {sample->windows, sample->n_windows,
                                        sizeof(sample->windows[0])};

        write_windows_of(out, field, &current->guests[i], &windows);
    }
}

static void write_point_metric(FILE *out, const struct field *field, const struct current *current)
{
    exposition_family(out, field->metric, field->help);
    for (size_t i = 0; i < current->n; i++) {
        const struct write_curve *curve = &current->guests[i].writes.curve;
        const struct windows windows = {curve->points, curve->n, sizeof(curve->points[0])};

        write_windows_of(out, field, &current->guests[i], &windows);
    }
}

static void write_writes_time(FILE *out, const struct current *current)
{
    const char *name = "vmwss_write_set_timestamp_seconds";
    char labels[LABELS_MAX];

    exposition_family(out, name, "When the write set was measured last, Unix time.");
    for (size_t i = 0; i < current->n; i++)
        if (current->guests[i].writes.time_s > 0) {
            prometheus_guest_labels(labels, &current->guests[i]);
            exposition_sample(out, name, labels, current->guests[i].writes.time_s);
        }
}

/* --- all of it -------------------------------------------------------------------------------- */

static void write_one(FILE *out, const char *name, const char *help, double value)
{
    exposition_family(out, name, help);
    exposition_sample(out, name, NULL, value);
}

static size_t count_unmeasured(const struct current *current)
{
    size_t n = 0;

    for (size_t i = 0; i < current->n; i++)
        n += is_unmeasured(&current->guests[i]);
    return n;
}

static void write_host(FILE *out, const struct current *current, uint64_t database_bytes)
{
    exposition_family(out, "vmwss_build_info", "The version of vmwss. Always 1.");
    exposition_sample(out, "vmwss_build_info", "version=\"" VMWSS_VERSION "\"", 1);
    write_one(out, "vmwss_guests", "Guests with a fresh number.",
              (double)(current->n - count_unmeasured(current)));
    write_one(out, "vmwss_guests_not_measured", "Guests that run and that no method can follow.",
              (double)count_unmeasured(current));
    write_one(out, "vmwss_database_bytes", "Size of the history, with its WAL.",
              (double)database_bytes);
    if (current->newest_s > 0)
        write_one(out, "vmwss_newest_record_timestamp_seconds",
                  "When any guest was scanned last, Unix time; also if it has ended since.",
                  current->newest_s);
}

/* Writes the fields that have a metric, group by group. */
void prometheus_write_metrics(FILE *out, const struct field *fields, const enum field_group *groups,
                              size_t n, prometheus_write_field write, const struct current *current)
{
    for (size_t g = 0; g < n; g++)
        for (const struct field *field = field_of_group(fields, groups[g]); field;
             field = field_next_of_group(field))
            if (field->metric)
                write(out, field, current);
}

void prometheus_write(FILE *out, const struct current *current,
                      const struct balloon_metrics *balloons, uint64_t database_bytes)
{
    write_host(out, current, database_bytes);
    write_info(out, current);
    prometheus_write_metrics(out, window_fields(), window_groups, COUNT(window_groups),
                             write_window_metric, current);
    prometheus_write_metrics(out, write_point_fields(), window_groups, COUNT(window_groups),
                             write_point_metric, current);
    write_writes_time(out, current);
    prometheus_write_metrics(out, sample_fields(), guest_groups, COUNT(guest_groups),
                             write_guest_metric, current);
    write_flags(out, current);
    prometheus_write_guest_stats(out, current);
    prometheus_write_balloons(out, balloons, current);
}

static uint64_t size_of(const char *path, const char *suffix)
{
    char name[4096];
    struct stat st;

    snprintf(name, sizeof(name), "%s%s", path, suffix);
    return stat(name, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* The history's data for one page. */
struct page {
    double now_s; /* Unix time */
    struct current current;
    struct planning planning;
    struct balloon_metrics balloons; /* from vmwss-balloond's journal */
};

static int read_page(const struct prometheus_options *options, struct page *page,
                     struct error *error)
{
    const double now_s = store_clock_now().wall_s;
    struct store *store;
    int rc = history_open(options->database, &store, error);

    if (rc < 0)
        return rc;
    page->now_s = now_s;
    rc = current_read(store, now_s, options->stale_s, &page->current, error);
    if (rc == 0)
        rc = planning_read(store, now_s, options->plan_window_s, &page->planning, error);
    store_close(store);
    /* Without a readable journal the page still has all working sets. */
    if (rc == 0 && options->journal &&
        balloon_metrics_read(&page->balloons, options->journal, now_s, NULL) < 0)
        balloon_metrics_free(&page->balloons);
    return rc;
}

static void write_page(FILE *out, const struct prometheus_options *options, const struct page *page)
{
    prometheus_write(out, &page->current, &page->balloons,
                     size_of(options->database, "") + size_of(options->database, "-wal"));
    planning_write(out, &page->planning, options->capacity_bytes, options->reserve_bytes);
    write_one(out, "vmwss_written_timestamp_seconds", "When these numbers were written, Unix time.",
              page->now_s);
}

/* Returns NULL if out of memory. */
static char *to_memory(const struct prometheus_options *options, const struct page *page,
                       size_t *size)
{
    char *memory = NULL;
    FILE *out = open_memstream(&memory, size);

    if (!out)
        return NULL;
    write_page(out, options, page);
    if (fclose(out) == 0)
        return memory;
    free(memory);
    return NULL;
}

int prometheus_text(const struct prometheus_options *options, char **text, size_t *size,
                    struct error *error)
{
    struct page page = {0};
    int rc = read_page(options, &page, error);

    if (rc == 0 && !(*text = to_memory(options, &page, size)))
        rc = error_set(error, -ENOMEM, "out of memory for the metrics");
    current_free(&page.current);
    planning_free(&page.planning);
    balloon_metrics_free(&page.balloons);
    return rc;
}
