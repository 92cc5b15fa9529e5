// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/exporter/status_json.h"

#include "base/text/json.h"
#include "base/text/units.h"
#include "history/event.h"
#include "history/kept_age.h"
#include "show/metrics/current.h"
#include "show/sample_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct store *store;
    double now_s;
    struct current current;
    struct history_guest *rows; /* all guests of the history, sorted by compare_rows() */
    ssize_t n_rows;
};

/* --- reasons for missing records -------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
    const struct history_guest *of = a;
    const struct history_guest *with = b;
    int rc = strcmp(of->uuid, with->uuid);

    return rc ? rc : strcmp(of->host, with->host);
}

static int64_t find_row(const struct reading *reading, const struct sample_record *sample)
{
    struct history_guest key = {.id = 0};
    const struct history_guest *row;

    if (reading->n_rows == 0)
        return 0;
    snprintf(key.uuid, sizeof(key.uuid), "%s", sample->uuid);
    snprintf(key.host, sizeof(key.host), "%s", sample->host);
    row = bsearch(&key, reading->rows, (size_t)reading->n_rows, sizeof(key), compare_rows);
    return row ? row->id : 0;
}

/* Called only for a guest whose next record is late: a query for each would be most of the cost.
 * Read errors are ignored. */
static bool last_event(const struct reading *reading, const struct kept_sample *kept,
                       enum event_kind *kind, double *since_s)
{
    const double age_s = kept_age_s(kept, reading->now_s);
    struct error ignored = {0};
    int64_t row = age_s > kept->period_s ? find_row(reading, &kept->record.sample) : 0;

    /* A record that came at least a period later shows that it runs again, though no event was
     * noted. */
    return row &&
           history_last_event(reading->store, row, reading->now_s, kind, since_s, &ignored) == 1 &&
           *since_s >= reading->now_s - age_s - kept->period_s;
}

/* Writes "" if it is measured; returns true if it is suspended. */
static bool explain(const struct reading *reading, const struct kept_sample *kept, char *reason,
                    size_t size)
{
    enum event_kind kind = EVENT_START;
    double since_s = 0;

    reason[0] = '\0';
    if (last_event(reading, kept, &kind, &since_s) &&
        (kind == EVENT_SUSPEND || kind == EVENT_UNWATCH)) {
        snprintf(reason, size, "%s for %s", kind == EVENT_SUSPEND ? "suspended" : "not watched",
                 SECONDS_TEXT((double)(long)(reading->now_s - since_s)));
        return kind == EVENT_SUSPEND;
    }
    if (!kept_is_current(kept, reading->now_s))
        snprintf(reason, size, "last measured %s ago, though a record came every %s before",
                 SECONDS_TEXT((double)(long)kept_age_s(kept, reading->now_s)),
                 SECONDS_TEXT(kept->period_s));
    else if (kept->record.sample.n_windows == 0)
        snprintf(reason, size, "no method can follow it: vmwss doctor says why, and what to do");
    return false;
}

/* --- the object ------------------------------------------------------------------------------- */

static json_t *time_json(double unix_s)
{
    return unix_s > 0 ? json_string(TIME_TEXT(unix_s, 3)) : json_null();
}

static json_t *guest_json(const struct reading *reading, const struct kept_sample *kept)
{
    const struct sample_record *sample = &kept->record.sample;
    json_t *object = sample_json(sample);
    char reason[256];
    const bool suspended = explain(reading, kept, reason, sizeof(reason));
    uint64_t bytes;

    json_object_set_new(object, "measured", json_boolean(!*reason));
    json_object_set_new(object, "suspended", json_boolean(suspended));
    json_object_set_new(object, "reason", json_text(reason));
    json_object_set_new(object, "age_seconds",
                        json_real(round(kept_age_s(kept, reading->now_s) * 1000) / 1000));
    json_object_set_new(object, "reclaimable_bytes",
                        !*reason && sample_reclaimable(sample, &bytes) ? json_u64(bytes)
                                                                       : json_null());
    return object;
}

/* Returns the host of the newest record; NULL: there is no record. */
static const char *newest_host(const struct reading *reading)
{
    const struct kept_sample *newest = NULL;

    for (size_t i = 0; i < reading->current.n; i++) {
        const struct kept_sample *kept = &reading->current.guests[i].kept;

        if (!newest || kept_age_s(kept, reading->now_s) < kept_age_s(newest, reading->now_s))
            newest = kept;
    }
    return newest ? newest->record.sample.host : NULL;
}

static char *object_text(const struct reading *reading)
{
    json_t *object = json_object();
    json_t *guests = json_array();
    char *text;

    for (size_t i = 0; i < reading->current.n; i++)
        json_array_append_new(guests, guest_json(reading, &reading->current.guests[i].kept));
    json_object_set_new(object, "schema", json_string("vmwss.current.v1"));
    json_object_set_new(object, "time", time_json(reading->now_s));
    json_object_set_new(object, "host", json_text(newest_host(reading)));
    json_object_set_new(object, "newest", time_json(reading->current.newest_s));
    json_object_set_new(object, "guests", guests);
    text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(object);
    return text;
}

static int read_guests(struct reading *reading, struct error *error)
{
    int rc = current_read(reading->store, reading->now_s, STATUS_STALE_S, &reading->current, error);

    if (rc < 0)
        return rc;
    reading->n_rows = history_guests(reading->store, &reading->rows, error);
    if (reading->n_rows < 0)
        return (int)reading->n_rows;
    if (reading->n_rows > 0)
        qsort(reading->rows, (size_t)reading->n_rows, sizeof(*reading->rows), compare_rows);
    return 0;
}

int status_json_text(const char *database, double now_s, char **text, size_t *size,
                     struct error *error)
{
    struct reading reading = {.now_s = now_s};
    int rc = history_open(database, &reading.store, error);

    if (rc < 0)
        return rc;
    rc = read_guests(&reading, error);
    if (rc == 0) {
        *text = object_text(&reading);
        rc = *text ? 0 : error_set(error, -ENOMEM, "out of memory for the guests");
    }
    if (rc == 0)
        *size = strlen(*text);
    store_close(reading.store);
    current_free(&reading.current);
    free(reading.rows);
    return rc;
}
