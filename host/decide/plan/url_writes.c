// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file url_writes.c  What guests write, from a Prometheus HTTP API; see url_parts.h. */
#include "base/array.h"
#include "base/cleanup.h"
#include "decide/plan/from_prometheus.h"
#include "decide/plan/url_parts.h"
#include "decide/plan/writes.h"
#include "history/bucket.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Guests' metrics have no label of the host; without that of its instances each query would read
 * those of all hosts. */
static const char instances[] = "max by (instance) (last_over_time(vmwss_guest_info{$of}[$span]))";

/* Metrics of the host's guests whose names, by which the exporter tells guests apart, are of one
 * guest, while @p also holds. The product has no name, so the metric is kept in a label. */
#define OF_GUESTS(by, metrics, also)                                                               \
    "max by (uuid, metric, " by ") (label_replace({__name__=~\"" metrics "\",$instances}, "        \
    "\"metric\", \"${0}\", \"__name__\", \".*\") * on (instance, job, domain) "                    \
    "group_left (uuid, accel) (max by (instance, job, domain, uuid, accel) (vmwss_guest_info{$of}" \
    ") and on (instance, job, domain) (count by (instance, job, domain) (max by (instance, job, "  \
    "domain, uuid) (vmwss_guest_info{$of})) == 1)" also "))"

#define SET "vmwss_write_set_"

/* A curve counts at the end of the hour in which it was measured, and so once. */
static const char *const queries[] = {
    OF_GUESTS("accel", "vmwss_resident_bytes", ""),
    OF_GUESTS("window", SET "bytes|" SET "low_bytes|" SET "high_bytes",
              " and on (instance, job, domain) (" SET
              "timestamp_seconds{$instances} > time() - 3600)"),
};

static void see_value(const struct prom_series *series, double end_s, double value,
                      struct plan_writes *writes)
{
    const char *metric = prom_label(series, "metric");
    const double window_s = strtod(prom_label(series, "window"), NULL);
    struct plan_written *written;

    if (strcmp(metric, "vmwss_resident_bytes") == 0) {
        writes->resident_bytes = (uint64_t)value;
        writes->kvm = strcmp(prom_label(series, "accel"), accel_name(ACCEL_KVM)) == 0;
    } else if ((written = plan_writes_in(writes, end_s - 1, window_s))) {
        if (strcmp(metric, SET "low_bytes") == 0) {
            written->low_bytes = fminf(written->low_bytes, (float)value);
        } else if (strcmp(metric, SET "high_bytes") == 0) {
            written->high_bytes = fmaxf(written->high_bytes, (float)value);
        } else if (strcmp(metric, SET "bytes") == 0) {
            written->est_window_s += (float)window_s;
            written->bytes += (float)value;
            written->n++;
        }
    }
}

static int see_writes(struct prom_series *series, void *context)
{
    const struct url_minutes *minutes = context;
    const struct roster_guest *guest = roster_guest_of(minutes->roster, prom_label(series, "uuid"));
    struct plan_writes **writes;
    double end_s;
    double value;

    if (!guest || guest->number >= minutes->fleet->n_guests)
        return 0;
    writes = &minutes->fleet->writes[guest->number];
    if (!*writes)
        *writes = plan_writes_make();
    if (!*writes)
        return -ENOMEM;
    while (prom_next(series, &end_s, &value))
        see_value(series, end_s, value, *writes);
    return 0;
}

/* Writes the next alternative of a regular expression. */
static int see_instance(struct prom_series *series, void *out)
{
    fputs("|\\\\Q", out);
    prom_write_text(out, prom_label(series, "instance"));
    fputs("\\\\E", out);
    return 0;
}

int url_writes_read(const struct url_minutes *minutes, struct prom_reader *reader)
{
    struct plan_fleet *fleet = minutes->fleet;
    const double first_s = (floor(fleet->from_s / BUCKET_HOUR) + 1) * BUCKET_HOUR;
    const double hours = floor((reader->reading->to_s - first_s) / BUCKET_HOUR) + 1;
    const struct prom_span span = {.from_s = first_s,
                                   .n_times = (size_t)fmax(hours, 0),
                                   .step_s = BUCKET_HOUR,
                                   .n_series = minutes->roster->n_rows};
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int rc = out ? prom_each(reader, NULL, instances, see_instance, out) : -ENOMEM;

    if (out && fclose(out) != 0)
        rc = -ENOMEM;
    reader->instances = text;
    for (size_t q = 0; rc == 0 && *text && q < COUNT(queries); q++)
        rc = prom_each(reader, &span, queries[q], see_writes, (void *)minutes);
    for (size_t g = 0; g < fleet->n_guests; g++)
        if (fleet->writes[g] && fleet->writes[g]->resident_bytes == 0) {
            free(fleet->writes[g]);
            fleet->writes[g] = NULL;
        }
    reader->instances = NULL;
    return rc;
}
