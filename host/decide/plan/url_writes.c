// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file url_writes.c  What guests write, from a Prometheus HTTP API; see url_parts.h. */
#include "decide/plan/from_prometheus.h"
#include "decide/plan/url_parts.h"
#include "decide/plan/writes.h"
#include "history/bucket.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The host's guests whose names, by which the exporter tells guests apart, are of one guest. */
#define INFO "max by (instance, job, domain, uuid, accel) (vmwss_guest_info{$of})"
#define OF_ITS_GUESTS                                                                         \
    "* on (instance, job, domain) group_left (uuid, accel) (" INFO " and on (instance, job, " \
    "domain) (count by (instance, job, domain) (max by (instance, job, domain, uuid) ("       \
    "vmwss_guest_info{$of})) == 1))"
#define EACH(by, metric) "max by (" by ") (" metric "{$match} " OF_ITS_GUESTS ")"

enum kind { TIME, BYTES, LOW, HIGH, N_KINDS };

static const char *const queries[N_KINDS] = {
    [TIME] = EACH("uuid", "vmwss_write_set_timestamp_seconds"),
    [BYTES] = EACH("uuid, window", "vmwss_write_set_bytes"),
    [LOW] = EACH("uuid, window", "vmwss_write_set_low_bytes"),
    [HIGH] = EACH("uuid, window", "vmwss_write_set_high_bytes"),
};

/* The last curve that was known at the end of one hour. */
struct hour {
    double time_s; /* 0: none */
    struct write_curve curve;
};

/* The curves of all hours of one host's guests. */
struct curves {
    const struct url_minutes *minutes;
    enum kind kind;
    struct prom_span span;
    struct hour **of; /* by the guest's number in the fleet; NULL: nothing was seen of it */
};

static struct hour *hours_of(struct curves *curves, const struct prom_series *series)
{
    const struct url_minutes *minutes = curves->minutes;
    const struct roster_guest *guest = roster_guest_of(minutes->roster, prom_label(series, "uuid"));
    const size_t n = guest ? guest->number : minutes->fleet->n_guests;

    if (n >= minutes->fleet->n_guests)
        return NULL;
    if (!curves->of[n] && curves->kind == TIME)
        curves->of[n] = calloc(curves->span.n_times, sizeof(*curves->of[n]));
    return curves->of[n];
}

/* Returns the point of that window, which is added if there is room; else NULL. */
static struct write_point *point_of(struct write_curve *curve, double window_s)
{
    size_t i = 0;

    while (i < curve->n && !bucket_same_window(curve->points[i].window_s, window_s))
        i++;
    if (i == WRITE_POINTS_MAX)
        return NULL;
    if (i == curve->n)
        curve->points[curve->n++] = (struct write_point){
            .window_s = window_s, .est_window_s = window_s, .high_bytes = UINT64_MAX};
    return &curve->points[i];
}

static void see_value(enum kind kind, double window_s, double value, struct hour *hour)
{
    struct write_point *point;

    if (kind == TIME) {
        hour->time_s = value;
        return;
    }
    /* A window without a number has no bounds. */
    if (kind != BYTES && hour->curve.n == 0)
        return;
    point = point_of(&hour->curve, window_s);
    if (!point)
        return;
    *(kind == BYTES ? &point->bytes
      : kind == LOW ? &point->low_bytes
                    : &point->high_bytes) = (uint64_t)value;
}

static int see_curves(struct prom_series *series, void *context)
{
    struct curves *curves = context;
    const double window_s = strtod(prom_label(series, "window"), NULL);
    struct hour *hours = hours_of(curves, series);
    double end_s;
    double value;

    while (hours && prom_next(series, &end_s, &value)) {
        const double hour = round((end_s - curves->span.from_s) / curves->span.step_s);

        if (hour >= 0 && hour < (double)curves->span.n_times)
            see_value(curves->kind, window_s, value, &hours[(size_t)hour]);
    }
    return 0;
}

/* Guests of which no curve was seen need not be known better. */
static int see_resident(struct prom_series *series, void *context)
{
    struct curves *curves = context;
    const struct roster_guest *guest = roster_guest_of(curves->minutes->roster,
                                                       prom_label(series, "uuid"));
    struct plan_fleet *fleet = curves->minutes->fleet;
    double time_s;
    double bytes;

    if (!guest || guest->number >= fleet->n_guests || !curves->of[guest->number] ||
        !prom_next(series, &time_s, &bytes) || bytes < 1)
        return 0;
    if (!fleet->writes[guest->number])
        fleet->writes[guest->number] = calloc(1, sizeof(*fleet->writes[0]));

    struct plan_writes *writes = fleet->writes[guest->number];

    if (!writes)
        return -ENOMEM;
    writes->resident_bytes = (uint64_t)bytes;
    writes->kvm = strcmp(prom_label(series, "accel"), accel_name(ACCEL_KVM)) == 0;
    return 0;
}

/* A curve counts in the hour in which it was measured, and once. */
static void add_curves(struct curves *curves)
{
    const struct plan_fleet *fleet = curves->minutes->fleet;

    for (size_t g = 0; g < fleet->n_guests; g++)
        for (size_t h = 0; curves->of[g] && fleet->writes[g] && h < curves->span.n_times; h++) {
            const struct hour *hour = &curves->of[g][h];
            const double end_s = curves->span.from_s + (double)h * curves->span.step_s;

            if (hour->time_s > end_s - curves->span.step_s && hour->time_s <= end_s)
                plan_writes_add(fleet->writes[g], hour->time_s, &hour->curve);
        }
}

int url_writes_read(const struct url_minutes *minutes, struct prom_reader *reader)
{
    const double first_s = (floor(minutes->fleet->from_s / BUCKET_HOUR) + 1) * BUCKET_HOUR;
    const double hours = floor((reader->reading->to_s - first_s) / BUCKET_HOUR) + 1;
    struct curves curves = {
        .minutes = minutes,
        .span = {first_s, hours > 0 ? (size_t)hours : 0, BUCKET_HOUR, minutes->roster->n_rows}};
    int rc = 0;

    curves.of = calloc(minutes->fleet->n_guests + 1, sizeof(struct hour *));
    if (!curves.of)
        return error_set(reader->error, -ENOMEM, "%s: out of memory", prom_url(reader->client));
    for (enum kind kind = TIME; rc == 0 && curves.span.n_times > 0 && kind < N_KINDS; kind++) {
        curves.kind = kind;
        rc = prom_each(reader, &curves.span, queries[kind], see_curves, &curves);
    }
    if (rc == 0)
        rc = prom_each(reader, NULL, EACH("uuid, accel", "vmwss_resident_bytes"), see_resident,
                       &curves);
    if (rc == 0)
        add_curves(&curves);
    for (size_t g = 0; g < minutes->fleet->n_guests; g++)
        free(curves.of[g]);
    free(curves.of);
    return rc;
}
