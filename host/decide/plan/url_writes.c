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
 * guest. The product has no name, so the metric is kept in a label. */
#define OF_GUESTS(by, metrics)                                                                     \
    "max by (uuid, metric, " by ") (label_replace({__name__=~\"" metrics                           \
    "\",instance=~\"$instances\",$match}, "                                                        \
    "\"metric\", \"${0}\", \"__name__\", \".*\") * on (instance, job, domain) "                    \
    "group_left (uuid, accel) (max by (instance, job, domain, uuid, accel) (vmwss_guest_info{$of}" \
    ") and on (instance, job, domain) (count by (instance, job, domain) (max by (instance, job, "  \
    "domain, uuid) (vmwss_guest_info{$of})) == 1)))"

#define SET "vmwss_write_set_"

static const char *const queries[] = {
    OF_GUESTS("accel", SET "timestamp_seconds|vmwss_resident_bytes"),
    OF_GUESTS("window", SET "bytes|" SET "low_bytes|" SET "high_bytes"),
};

#define NO_BYTES UINT64_MAX

/* The last curve that was known at the end of one hour. */
struct hour {
    double time_s; /* 0: none */
    struct write_curve curve;
};

struct curves {
    const struct url_minutes *minutes;
    struct prom_span span;
    struct hour **hours; /* by the guest's number in the fleet; NULL: nothing was seen */
};

/* Returns the point of that window, which is added if there is room; else NULL. */
static struct write_point *point_of(struct write_curve *curve, double window_s)
{
    size_t i = 0;

    while (i < curve->n && !bucket_same_window(curve->points[i].window_s, window_s))
        i++;
    if (i == WRITE_POINTS_MAX)
        return NULL;
    if (i == curve->n)
        curve->points[curve->n++] = (struct write_point){.window_s = window_s,
                                                         .est_window_s = window_s,
                                                         .bytes = NO_BYTES,
                                                         .high_bytes = UINT64_MAX};
    return &curve->points[i];
}

static void see_value(const struct prom_series *series, double value, struct plan_writes *writes,
                      struct hour *hour)
{
    const char *metric = prom_label(series, "metric");
    const double window_s = strtod(prom_label(series, "window"), NULL);
    const char *bound = strncmp(metric, SET, strlen(SET)) == 0 ? metric + strlen(SET) : "";
    struct write_point *point;

    if (strcmp(metric, "vmwss_resident_bytes") == 0) {
        writes->resident_bytes = (uint64_t)value;
        writes->kvm = strcmp(prom_label(series, "accel"), accel_name(ACCEL_KVM)) == 0;
    } else if (*bound == 't') {
        hour->time_s = value;
    } else if (*bound && (point = point_of(&hour->curve, window_s))) {
        *(*bound == 'l'   ? &point->low_bytes
          : *bound == 'h' ? &point->high_bytes
                          : &point->bytes) = (uint64_t)value;
    }
}

static int see_writes(struct prom_series *series, void *context)
{
    const struct curves *curves = context;
    struct plan_fleet *fleet = curves->minutes->fleet;
    const struct roster_guest *guest = roster_guest_of(curves->minutes->roster,
                                                       prom_label(series, "uuid"));
    struct plan_writes **writes;
    struct hour **hours;
    double end_s;
    double value;

    if (!guest || guest->number >= fleet->n_guests)
        return 0;
    writes = &fleet->writes[guest->number];
    hours = &curves->hours[guest->number];
    if (!*writes)
        *writes = calloc(1, sizeof(**writes));
    if (!*hours)
        *hours = calloc(curves->span.n_times, sizeof(**hours));
    if (!*writes || !*hours)
        return -ENOMEM;
    while (prom_next(series, &end_s, &value))
        see_value(series, value, *writes,
                  *hours + lround((end_s - curves->span.from_s) / curves->span.step_s));
    return 0;
}

/* A curve counts in the hour in which it was measured, and once; a window without a number has no
 * bounds. */
static void add_curves(struct plan_writes *writes, const struct prom_span *span, struct hour *hours)
{
    for (size_t h = 0; h < span->n_times; h++) {
        struct write_curve *curve = &hours[h].curve;
        const double end_s = span->from_s + (double)h * span->step_s;
        size_t n = 0;

        for (size_t i = 0; i < curve->n; i++)
            if (curve->points[i].bytes != NO_BYTES)
                curve->points[n++] = curve->points[i];
        curve->n = n;
        if (hours[h].time_s > end_s - span->step_s && hours[h].time_s <= end_s)
            plan_writes_add(writes, hours[h].time_s, curve);
    }
}

/* Adds what was seen of a guest to the fleet, if its resident memory is known. */
static void add_guest(struct plan_writes **writes, const struct prom_span *span, struct hour *hours)
{
    if (hours && *writes && (*writes)->resident_bytes > 0) {
        add_curves(*writes, span, hours);
    } else if (hours) {
        free(*writes);
        *writes = NULL;
    }
    free(hours);
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
    cleanup_free struct hour **of = calloc(fleet->n_guests + 1, sizeof(struct hour *));
    struct curves curves = {.minutes = minutes,
                            .span = {.from_s = first_s,
                                     .n_times = (size_t)fmax(hours, 0),
                                     .step_s = BUCKET_HOUR,
                                     .n_series = minutes->roster->n_rows},
                            .hours = of};
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out = of ? open_memstream(&text, &size) : NULL;
    int rc = out ? prom_each(reader, NULL, instances, see_instance, out) : -ENOMEM;

    if (out && fclose(out) != 0)
        rc = -ENOMEM;
    reader->instances = text;
    for (size_t q = 0; rc == 0 && *text && q < COUNT(queries); q++)
        rc = prom_each(reader, &curves.span, queries[q], see_writes, &curves);
    for (size_t g = 0; of && g < fleet->n_guests; g++)
        add_guest(&fleet->writes[g], &curves.span, of[g]);
    reader->instances = NULL;
    return rc;
}
