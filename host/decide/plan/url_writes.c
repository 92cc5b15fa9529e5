// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file url_writes.c  What guests write, from a Prometheus HTTP API; see url_parts.h. */
#include "base/array.h"
#include "base/cleanup.h"
#include "decide/plan/from_prometheus.h"
#include "decide/plan/url_parts.h"
#include "decide/plan/writes.h"
#include "history/bucket.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
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

static const char *const queries[] = {
    OF_GUESTS("accel", "vmwss_write_set_timestamp_seconds|vmwss_resident_bytes"),
    OF_GUESTS("window",
              "vmwss_write_set_bytes|vmwss_write_set_low_bytes|vmwss_write_set_high_bytes"),
};

static const struct {
    const char *metric;
    size_t offset;
} bounds[] = {
    {"vmwss_write_set_bytes", offsetof(struct write_point, bytes)},
    {"vmwss_write_set_low_bytes", offsetof(struct write_point, low_bytes)},
    {"vmwss_write_set_high_bytes", offsetof(struct write_point, high_bytes)},
};

#define NO_BYTES UINT64_MAX

/* The last curve that was known at the end of one hour. */
struct hour {
    double time_s; /* 0: none */
    struct write_curve curve;
};

struct written {
    uint64_t resident_bytes; /* the latest; 0: not known */
    bool kvm;
    struct hour *hours; /* NULL: nothing was seen */
};

struct curves {
    const struct url_minutes *minutes;
    struct prom_span span;
    struct written *of; /* by the guest's number in the fleet */
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

static void see_value(struct prom_series *series, double value, struct written *written,
                      struct hour *hour)
{
    const char *metric = prom_label(series, "metric");
    const double window_s = strtod(prom_label(series, "window"), NULL);
    struct write_point *point;

    if (strcmp(metric, "vmwss_write_set_timestamp_seconds") == 0)
        hour->time_s = value;
    if (strcmp(metric, "vmwss_resident_bytes") == 0) {
        written->resident_bytes = (uint64_t)value;
        written->kvm = strcmp(prom_label(series, "accel"), accel_name(ACCEL_KVM)) == 0;
    }
    for (size_t i = 0; i < COUNT(bounds); i++)
        if (strcmp(metric, bounds[i].metric) == 0 && (point = point_of(&hour->curve, window_s)))
            *(uint64_t *)((char *)point + bounds[i].offset) = (uint64_t)value;
}

static int see_writes(struct prom_series *series, void *context)
{
    const struct curves *curves = context;
    const struct url_minutes *minutes = curves->minutes;
    const struct roster_guest *guest = roster_guest_of(minutes->roster, prom_label(series, "uuid"));
    struct written *written;
    double end_s;
    double value;

    if (!guest || guest->number >= minutes->fleet->n_guests)
        return 0;
    written = &curves->of[guest->number];
    if (!written->hours)
        written->hours = calloc(curves->span.n_times, sizeof(*written->hours));
    if (!written->hours)
        return -ENOMEM;
    while (prom_next(series, &end_s, &value)) {
        const double hour = round((end_s - curves->span.from_s) / curves->span.step_s);

        if (hour >= 0 && hour < (double)curves->span.n_times)
            see_value(series, value, written, &written->hours[(size_t)hour]);
    }
    return 0;
}

/* A window without a number has no bounds. */
static void drop_bounds(struct write_curve *curve)
{
    size_t n = 0;

    for (size_t i = 0; i < curve->n; i++)
        if (curve->points[i].bytes != NO_BYTES)
            curve->points[n++] = curve->points[i];
    curve->n = n;
}

/* A curve counts in the hour in which it was measured, and once. */
static int add_curves(struct plan_writes **writes, const struct prom_span *span,
                      struct written *written)
{
    for (size_t h = 0; h < span->n_times; h++) {
        struct hour *hour = &written->hours[h];
        const double end_s = span->from_s + (double)h * span->step_s;

        if (hour->time_s <= end_s - span->step_s || hour->time_s > end_s)
            continue;
        if (!*writes && !(*writes = calloc(1, sizeof(**writes))))
            return -ENOMEM;
        (*writes)->resident_bytes = written->resident_bytes;
        (*writes)->kvm = written->kvm;
        drop_bounds(&hour->curve);
        plan_writes_add(*writes, hour->time_s, &hour->curve);
    }
    return 0;
}

/* Writes the next alternative of a regular expression, within a string of PromQL. */
static int see_instance(struct prom_series *series, void *out)
{
    fputc('|', out);
    for (const char *c = prom_label(series, "instance"); *c; c++) {
        if (ispunct((unsigned char)*c))
            fputs("\\\\", out);
        if (*c == '\\' || *c == '"')
            fputc('\\', out);
        fputc(*c, out);
    }
    return 0;
}

static int read_instances(struct prom_reader *reader, char **text)
{
    size_t size;
    FILE *out = open_memstream(text, &size);
    int rc = out ? prom_each(reader, NULL, instances, see_instance, out) : -ENOMEM;

    if (out && fclose(out) != 0)
        rc = -ENOMEM;
    return rc;
}

int url_writes_read(const struct url_minutes *minutes, struct prom_reader *reader)
{
    const struct plan_fleet *fleet = minutes->fleet;
    const double first_s = (floor(fleet->from_s / BUCKET_HOUR) + 1) * BUCKET_HOUR;
    const double hours = floor((reader->reading->to_s - first_s) / BUCKET_HOUR) + 1;
    struct curves curves = {
        .minutes = minutes,
        .span = {first_s, hours > 0 ? (size_t)hours : 0, BUCKET_HOUR, minutes->roster->n_rows},
        .of = calloc(fleet->n_guests + 1, sizeof(struct written))};
    cleanup_free char *of_host = NULL;
    int rc = curves.of ? read_instances(reader, &of_host) : -ENOMEM;
    const bool any = rc == 0 && of_host[0] != '\0' && curves.span.n_times > 0;

    reader->instances = of_host;
    for (size_t q = 0; any && rc == 0 && q < COUNT(queries); q++)
        rc = prom_each(reader, &curves.span, queries[q], see_writes, &curves);
    for (size_t g = 0; curves.of && g < fleet->n_guests; g++) {
        if (rc == 0 && curves.of[g].hours && curves.of[g].resident_bytes > 0)
            rc = add_curves(&fleet->writes[g], &curves.span, &curves.of[g]);
        free(curves.of[g].hours);
    }
    free(curves.of);
    reader->instances = NULL;
    return rc;
}
