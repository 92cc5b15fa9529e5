// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prometheus.c  See prometheus.h: one table of metrics of a guest, one of those of a
 * window. */
#include "export/prometheus.h"

#include "export/exposition.h"
#include "export/prometheus_word.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- of a guest ------------------------------------------------------------------------------- */

static double resident(const struct kept_sample *kept)
{
    return (double)kept->record.sample.resident_bytes;
}

static double ram(const struct kept_sample *kept)
{
    return (double)kept->record.sample.ram_bytes;
}

static double unmeasurable(const struct kept_sample *kept)
{
    return (double)kept->record.sample.unmeasurable_bytes;
}

static double last_scan(const struct kept_sample *kept)
{
    const struct timespec *time = &kept->record.sample.time;

    return (double)time->tv_sec + (double)time->tv_nsec / 1e9;
}

static double period(const struct kept_sample *kept)
{
    return kept->period_s;
}

static double scan_cpu(const struct kept_sample *kept)
{
    return kept->record.sample.cpu_s;
}

static double sampled_pages(const struct kept_sample *kept)
{
    return (double)kept->record.sample.samples;
}

static double granularity(const struct kept_sample *kept)
{
    return (double)kept->record.sample.granularity_bytes;
}

static double precision(const struct kept_sample *kept)
{
    return kept->precision;
}

static const struct guest_metric {
    const char *name, *help;
    double (*value)(const struct kept_sample *kept);
    bool of_size; /* also of a guest that is not measured */
} guest_metrics[] = {
    {"vmwss_ram_bytes", "RAM of the guest.", ram, true},
    {"vmwss_resident_bytes", "Guest RAM that has a host page behind it.", resident, true},
    {"vmwss_unmeasurable_bytes", "Resident bytes of which no touch could be seen.", unmeasurable,
     true},
    {"vmwss_last_scan_timestamp_seconds", "When the guest was looked at last, Unix time.",
     last_scan, false},
    {"vmwss_scan_period_seconds",
     "The time that the last look stands for: since the one before, if it saw so far back.", period,
     false},
    {"vmwss_scan_cpu_seconds", "CPU time that the last look took.", scan_cpu, false},
    {"vmwss_sampled_pages", "Pages of the panel whose state was known.", sampled_pages, false},
    {"vmwss_granularity_bytes",
     "Bytes that one page of the panel stands for: 4096, or a huge page.", granularity, false},
    {"vmwss_precision_ratio",
     "Half-width of the 95 % interval that the budget paid for, as a share of what is resident.",
     precision, false},
};

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

static void write_guest_metric(FILE *out, const struct guest_metric *metric,
                               const struct current *current)
{
    char labels[LABELS_MAX];

    exposition_family(out, metric->name, metric->help);
    for (size_t i = 0; i < current->n; i++) {
        if (is_unmeasured(&current->guests[i]) && !metric->of_size)
            continue;
        prometheus_guest_labels(labels, &current->guests[i]);
        exposition_sample(out, metric->name, labels, metric->value(&current->guests[i].kept));
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

/* --- of a window ------------------------------------------------------------------------------ */

static double wss(const struct window_record *window)
{
    return (double)window->wss_bytes;
}

static double wss_low(const struct window_record *window)
{
    return (double)window->wss_low_bytes;
}

static double wss_high(const struct window_record *window)
{
    return (double)window->wss_high_bytes;
}

static double unit_low(const struct window_record *window)
{
    return (double)window->unit_low_bytes;
}

static double touched(const struct window_record *window)
{
    return window->touched_fraction;
}

static double est_window(const struct window_record *window)
{
    return window->est_window_s;
}

static const struct window_metric {
    const char *name, *help;
    double (*value)(const struct window_record *window);
} window_metrics[] = {
    {"vmwss_working_set_bytes", "Guest RAM touched in the window.", wss},
    {"vmwss_working_set_low_bytes",
     "Lower bound of the 95 % interval of the working set; of each huge page touched, one base page.",
     wss_low},
    {"vmwss_working_set_high_bytes",
     "Upper bound of the 95 % interval of the working set, and what was unmeasurable.", wss_high},
    {"vmwss_working_set_unit_low_bytes",
     "Lower bound of the 95 % interval of the working set, huge pages touched counted in full.",
     unit_low},
    {"vmwss_touched_ratio", "Share of the measurable resident RAM that was touched in the window.",
     touched},
    {"vmwss_window_measured_seconds", "The window that was really measured.", est_window},
};

static void window_label(char label[32], const struct window_record *window)
{
    snprintf(label, 32, "%.10g", window->window_s);
}

/* Two windows that read the same would be one series twice. They ascend in what vmwssd writes. */
static bool is_repeated(const struct sample_record *sample, size_t w)
{
    char label[32];
    char other[32];

    window_label(label, &sample->windows[w]);
    for (size_t i = 0; i < w; i++) {
        window_label(other, &sample->windows[i]);
        if (strcmp(label, other) == 0)
            return true;
    }
    return false;
}

static void write_windows_of(FILE *out, const struct window_metric *metric,
                             const struct current_guest *guest)
{
    const struct sample_record *sample = &guest->kept.record.sample;
    char labels[LABELS_MAX];
    char window[32];

    for (size_t w = 0; w < sample->n_windows; w++) {
        if (is_repeated(sample, w))
            continue;
        window_label(window, &sample->windows[w]);
        prometheus_guest_labels(labels, guest);
        exposition_label(labels, LABELS_MAX, "window", window);
        exposition_sample(out, metric->name, labels, metric->value(&sample->windows[w]));
    }
}

static void write_window_metric(FILE *out, const struct window_metric *metric,
                                const struct current *current)
{
    exposition_family(out, metric->name, metric->help);
    for (size_t i = 0; i < current->n; i++)
        write_windows_of(out, metric, &current->guests[i]);
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
                  "When any guest was looked at last, Unix time; also when it has ended since.",
                  current->newest_s);
}

void prometheus_write(FILE *out, const struct current *current, uint64_t database_bytes)
{
    write_host(out, current, database_bytes);
    write_info(out, current);
    for (size_t i = 0; i < sizeof(window_metrics) / sizeof(window_metrics[0]); i++)
        write_window_metric(out, &window_metrics[i], current);
    for (size_t i = 0; i < sizeof(guest_metrics) / sizeof(guest_metrics[0]); i++)
        write_guest_metric(out, &guest_metrics[i], current);
    write_flags(out, current);
    prometheus_write_words(out, current);
}

static uint64_t size_of(const char *path, const char *suffix)
{
    char name[4096];
    struct stat st;

    snprintf(name, sizeof(name), "%s%s", path, suffix);
    return stat(name, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static int read_current(const struct prometheus_options *options, struct current *current,
                        struct error *error)
{
    struct store *store;
    int rc = history_open(options->database, &store, error);

    if (rc < 0)
        return rc;
    rc = current_read(store, store_clock_now().wall_s, options->stale_s, current, error);
    store_close(store);
    return rc;
}

/* NULL when out of memory. */
static char *to_memory(const struct current *current, uint64_t database_bytes, size_t *size)
{
    char *memory = NULL;
    FILE *out = open_memstream(&memory, size);

    if (!out)
        return NULL;
    prometheus_write(out, current, database_bytes);
    if (fclose(out) == 0)
        return memory;
    free(memory);
    return NULL;
}

int prometheus_text(const struct prometheus_options *options, char **text, size_t *size,
                    struct error *error)
{
    struct current current = {0};
    int rc = read_current(options, &current, error);

    if (rc < 0)
        return rc;
    *text = to_memory(&current, size_of(options->database, "") + size_of(options->database, "-wal"),
                      size);
    current_free(&current);
    return *text ? 0 : error_set(error, -ENOMEM, "out of memory for the metrics");
}
