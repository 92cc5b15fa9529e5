// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file roster_read_url.c  See from_prometheus.h: reads hosts and guests. */
#include "base/array.h"
#include "base/utf8.h"
#include "decide/plan/from_prometheus.h"
#include "decide/plan/prom_doubt.h"
#include "decide/plan/url_guests.h"
#include "decide/plan/url_hosts.h"
#include "decide/plan/url_needs.h"
#include "history/bucket.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Upper limit of guests on a host at one time. */
#define GUESTS_MAX 5000
/* Windows that differ by less are equal; as in history/bucket.c. */
#define SAME_S 0.0005

struct url_reading {
    struct roster *roster;
    const struct plan_reading *reading;
    size_t source;
    struct prom_client *client;
    struct error *error;
    struct url_hosts hosts;
    /* The host being read: */
    const struct url_host *host;
    char of[PROM_SELECT_MAX]; /* its selector */
    struct url_guests guests; /* all guests that it has had */
    size_t n_there;
    bool host_partial; /* some of its guests cannot be read */
    int64_t next_id;
};

static const char *url_of(const struct url_reading *from)
{
    return from->reading->sources[from->source].path;
}

static int no_memory(const struct url_reading *from)
{
    return error_set(from->error, -ENOMEM, "%s: out of memory", url_of(from));
}

/* --- guests of a host ------------------------------------------------------------------------- */

static void set_ram(struct url_guest *guest, const struct prom_answer *answer, size_t series,
                    double bytes)
{
    guest->row.ram_bytes = (uint64_t)bytes;
    utf8_printable_copy(guest->row.name, sizeof(guest->row.name),
                        prom_label(answer, series, "domain"));
}

static bool ram_of(const struct prom_answer *answer, size_t series, double *bytes)
{
    double time_s;

    return prom_amount(answer, series, 0, &time_s, bytes) && *bytes >= 1;
}

/* A guest without a valid UUID or RAM: prom_doubt() names the series. */
static int leave_out(struct url_reading *from, const struct prom_answer *answer, size_t series)
{
    char name[256];
    char text[640];

    utf8_printable_copy(name, sizeof(name), prom_label(answer, series, "domain"));
    snprintf(text, sizeof(text),
             "host %s: guest %s is left out: its vmwss_plan_ram_bytes has no valid %s",
             from->host->name, name,
             prom_is_uuid(prom_label(answer, series, "uuid")) ? "value" : "label uuid");
    plan_warn(from->reading, text);
    from->host_partial = true;
    return 0;
}

/* Sees the last RAM size of a guest; a renamed guest has a series for each name. Used for a host
 * that had no guests at its last scrape, and is not live any more. */
static int see_ram(const struct prom_answer *answer, size_t series, void *context)
{
    struct url_reading *from = context;
    const char *uuid = prom_label(answer, series, "uuid");
    struct url_guest *guest;
    double bytes;

    if (!prom_is_uuid(uuid) || !ram_of(answer, series, &bytes))
        return leave_out(from, answer, series);
    guest = url_guests_add(&from->guests, from->source, uuid);
    if (!guest)
        return no_memory(from);
    set_ram(guest, answer, series, bytes);
    return 0;
}

static int see_there(const struct prom_answer *answer, size_t series, void *context)
{
    struct url_reading *from = context;
    const char *uuid = prom_label(answer, series, "uuid");
    struct url_guest *guest;
    double bytes;

    if (!prom_is_uuid(uuid) || !ram_of(answer, series, &bytes))
        return leave_out(from, answer, series);
    guest = url_guests_find(&from->guests, uuid);
    if (!guest && !(guest = url_guests_add(&from->guests, from->source, uuid)))
        return no_memory(from);
    if (!guest->there && from->n_there++ == GUESTS_MAX)
        return error_set(from->error, -E2BIG, "%s: host %s: more than %d guests at once",
                         url_of(from), from->host->name, GUESTS_MAX);
    guest->there = true;
    set_ram(guest, answer, series, bytes);
    return 0;
}

static int see_used(const struct prom_answer *answer, size_t series, void *context)
{
    const struct url_reading *from = context;
    struct url_guest *guest = url_guests_find(&from->guests, prom_label(answer, series, "uuid"));
    double time_s;
    double bytes;

    if (guest && prom_amount(answer, series, 0, &time_s, &bytes))
        guest->row.used_bytes = (uint64_t)fmin(bytes, (double)guest->row.ram_bytes);
    return 0;
}

static int see_state(const struct prom_answer *answer, size_t series, void *context)
{
    const struct url_reading *from = context;
    struct url_guest *guest = url_guests_find(&from->guests, prom_label(answer, series, "uuid"));
    const char *state = prom_label(answer, series, "state");

    if (!guest)
        return 0;
    guest->row.unmeasured |= strcmp(state, "unmeasured") == 0;
    if (strcmp(state, "suspended") == 0 || strcmp(state, "unwatched") == 0) {
        guest->row.has_event = true;
        guest->row.event = *state == 's' ? EVENT_SUSPEND : EVENT_UNWATCH;
        guest->row.event_s = from->host->scraped_s;
    }
    return 0;
}

/* --- their hours ------------------------------------------------------------------------------ */

static void mark_hour(struct roster_row *row, double start_s, double to_s)
{
    const double ago = floor((to_s - start_s) / BUCKET_HOUR);

    if (row->first_s == 0 || start_s < row->first_s)
        row->first_s = start_s;
    row->last_s = fmax(row->last_s, start_s);
    if (ago >= 0 && ago < ROSTER_HOURS)
        row->hours[(size_t)ago / 64] |= 1ULL << (size_t)ago % 64;
}

/* Up to this many guests are searched linearly. */
#define UNSORTED_MAX 256

/* The hour's needs are scraped until a minute after its end. Guests that have left are known only
 * from these needs: no other query covers them. */
static int see_hours(const struct prom_answer *answer, size_t series, void *context)
{
    struct url_reading *from = context;
    const char *uuid = prom_label(answer, series, "uuid");
    struct url_guest *guest = url_guests_find(&from->guests, uuid);
    double end_s;
    double bytes;

    if (!prom_is_uuid(uuid)) {
        from->host_partial = true;
        return 0;
    }
    if (!guest && from->guests.n - from->guests.n_sorted == UNSORTED_MAX)
        url_guests_sort(&from->guests);
    if (!guest && !(guest = url_guests_add(&from->guests, from->source, uuid)))
        return no_memory(from);
    for (size_t p = 0; p < prom_n_points(answer, series); p++)
        if (prom_amount(answer, series, p, &end_s, &bytes))
            mark_hour(&guest->row,
                      (round((end_s - PROM_MINUTE_LATE_S) / BUCKET_HOUR) - 1) * BUCKET_HOUR,
                      from->reading->to_s);
    return 0;
}

static int add_size(struct url_guest *guest, double bytes)
{
    float *sizes = array_grow(guest->sizes, guest->n_sizes, sizeof(*sizes));

    if (!sizes)
        return -ENOMEM;
    guest->sizes = sizes;
    sizes[guest->n_sizes++] = (float)bytes;
    return 0;
}

/* Sizes at shorter windows are dropped when there is a longer one. */
static int see_sizes(const struct prom_answer *answer, size_t series, void *context)
{
    const struct url_reading *from = context;
    struct url_guest *guest = url_guests_find(&from->guests, prom_label(answer, series, "uuid"));
    const double window_s = strtod(prom_label(answer, series, "window"), NULL);
    double end_s;
    double bytes;

    if (!guest || !(window_s > 0 && window_s <= BUCKET_HOUR + SAME_S) ||
        window_s < guest->row.size_window_s - SAME_S)
        return 0;
    if (window_s > guest->row.size_window_s + SAME_S) {
        guest->n_sizes = 0;
        guest->row.size_window_s = window_s;
    }
    for (size_t p = 0; p < prom_n_points(answer, series); p++)
        if (prom_amount(answer, series, p, &end_s, &bytes) && add_size(guest, bytes) < 0)
            return no_memory(from);
    return 0;
}

static int read_hours(struct url_reading *from)
{
    const struct plan_reading *reading = from->reading;
    const double first_s = floor(reading->from_s / BUCKET_HOUR) * BUCKET_HOUR;
    struct url_needs hours = {
        .client = from->client,
        .reading = reading,
        .host = from->host->name,
        .of = from->of,
        .span = {.from_s = first_s + BUCKET_HOUR + PROM_MINUTE_LATE_S,
                 .n_times = (size_t)ceil((reading->to_s - first_s) / BUCKET_HOUR),
                 .step_s = BUCKET_HOUR,
                 .n_series = from->n_there},
        .see = see_hours,
        .context = from,
    };
    int rc = url_needs_read(&hours, from->error);

    if (rc < 0)
        return rc;
    url_guests_sort(&from->guests);
    hours.span.from_s = first_s + 2 * BUCKET_HOUR - 0.001;
    hours.see = see_sizes;
    return url_sizes_read(&hours, from->error);
}

/* --- into the roster -------------------------------------------------------------------------- */

/* A renamed guest has a series for each name. */
static void drop_doubles(struct url_reading *from)
{
    size_t kept = 0;

    for (size_t g = 0; g < from->guests.n; g++)
        if (kept == 0 || strcmp(from->guests.all[kept - 1].uuid, from->guests.all[g].uuid) != 0)
            from->guests.all[kept++] = from->guests.all[g];
    from->guests.n = from->guests.n_sorted = kept;
}

static int read_ram(struct url_reading *from)
{
    const struct plan_reading *reading = from->reading;
    char query[PROM_QUERY_MAX];
    int rc;

    prom_host_query(query, "domain,uuid", "vmwss_plan_ram_bytes", from->of, "last_over_time",
                    reading->to_s - reading->from_s);
    rc = prom_each(from->client, reading, query, reading->to_s, see_ram, from, from->error);
    url_guests_sort(&from->guests);
    drop_doubles(from);
    return rc;
}

/* Reads the state at the last successful scrape. */
static int read_now(struct url_reading *from)
{
    static const struct {
        const char *by, *metric;
        int (*see)(const struct prom_answer *answer, size_t series, void *context);
    } now[] = {
        {"domain,uuid", "vmwss_plan_ram_bytes", see_there},
        {"uuid", "vmwss_plan_used_bytes", see_used},
        {"uuid,state", "vmwss_plan_state", see_state},
    };
    const struct plan_reading *reading = from->reading;
    char query[PROM_QUERY_MAX];
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(now) / sizeof(now[0]); i++) {
        prom_host_query(query, now[i].by, now[i].metric, from->of, NULL, 0);
        rc = prom_each(from->client, reading, query, from->host->scraped_s, now[i].see, from,
                       from->error);
        url_guests_sort(&from->guests);
    }
    return rc == 0 && from->guests.n == 0 && !from->host->live ? read_ram(from) : rc;
}

static ssize_t add_host(struct url_reading *from)
{
    ssize_t index = roster_host(from->roster, from->reading, from->source, from->host->name,
                                from->error);

    if (index >= 0) {
        struct plan_host *host = &from->roster->hosts[index].host;

        host->capacity_bytes = (uint64_t)from->host->capacity_bytes;
        host->reserve_bytes = from->host->reserve_bytes < 0 ? PLAN_RESERVE_UNKNOWN
                                                            : (uint64_t)from->host->reserve_bytes;
        host->partial = from->host_partial;
        if (!from->host->live) /* suspended guests do not explain why a host is not live */
            from->roster->hosts[index].silent = false;
    }
    return index;
}

/* A guest that the exporter did not serve in the last scrape has ended. */
static bool has_ended(const struct url_reading *from, const struct url_guest *guest)
{
    return !guest->there && (from->host->live || from->n_there > 0);
}

/* Returns true if the host is not live, and its server has lost all other data of the guest. */
static bool is_unknown(const struct url_reading *from, const struct url_guest *guest)
{
    return guest->row.ram_bytes == 0 && !has_ended(from, guest);
}

static int add_row(struct url_reading *from, struct url_guest *guest, size_t host)
{
    struct roster_row *row = &guest->row;

    row->id = from->next_id++;
    row->host = host;
    row->size_p99_bytes = url_guest_size_p99(guest);
    if (has_ended(from, guest)) {
        row->has_event = true;
        row->event = EVENT_END;
        row->event_s = row->last_s + BUCKET_HOUR;
    }
    return roster_add(from->roster, from->reading, row, guest->uuid, from->error);
}

/* A guest that is served without a recent need has no hour, or none that counts. As with a file, it
 * is present, and needs all of its RAM, or what it needed before. */
static void mark_mute(const struct url_reading *from, struct url_guest *guest)
{
    const double now_s = floor(from->host->scraped_s / BUCKET_HOUR) * BUCKET_HOUR;
    struct roster_row *row = &guest->row;
    char text[768];

    if (!guest->there || row->has_event || row->last_s + PLAN_RECENT_S >= now_s)
        return;
    snprintf(text, sizeof(text),
             "host %s: guest %s has no vmwss_plan_need_bytes of late with a window of %g s: %s",
             from->host->name, row->name, from->reading->window_s,
             row->last_s > 0 ? "it is planned with what it needed before"
                             : "it is planned with all of its RAM");
    plan_warn(from->reading, text);
    mark_hour(row, now_s, from->reading->to_s);
}

static bool any_hours(const struct url_reading *from)
{
    for (size_t g = 0; g < from->guests.n; g++)
        if (from->guests.all[g].row.last_s > 0)
            return true;
    return false;
}

static int add_rows(struct url_reading *from, size_t *added)
{
    ssize_t host = -1;
    int rc = 0;

    *added = 0;
    if (!any_hours(from))
        return 0;
    for (size_t g = 0; rc == 0 && g < from->guests.n; g++) {
        mark_mute(from, &from->guests.all[g]);
        if (from->guests.all[g].row.last_s == 0 || is_unknown(from, &from->guests.all[g]))
            continue;
        if (host < 0 && (host = add_host(from)) < 0)
            return (int)host;
        rc = add_row(from, &from->guests.all[g], (size_t)host);
        ++*added;
    }
    return rc;
}

/* Handles guests without needs; and a host without guests, which may receive some. */
static int no_rows(struct url_reading *from)
{
    char text[512];

    for (size_t g = 0; g < from->guests.n; g++)
        if (from->guests.all[g].there)
            return error_set(from->error, -ENODATA,
                             "%s: host %s has guests, but no vmwss_plan_need_bytes of that time "
                             "with a window of %g s: choose with --window, or have the exporter "
                             "serve it (--plan-window)",
                             url_of(from), from->host->name, from->reading->window_s);
    if (from->host->live)
        return add_host(from) < 0 ? from->error->code : 0;
    snprintf(text, sizeof(text),
             "host %s is left out: it is not scraped any more, and has no needs in that time",
             from->host->name);
    plan_warn(from->reading, text);
    return 0;
}

static int by_name_and_uuid(const void *a, const void *b)
{
    const struct url_guest *x = a;
    const struct url_guest *y = b;
    const int order = strcmp(x->row.name, y->row.name);

    return order ? order : strcmp(x->uuid, y->uuid);
}

/* Engines return their series in different orders. */
static int read_host(struct url_reading *from)
{
    size_t added = 0;
    int rc = read_now(from);

    if (rc == 0)
        rc = read_hours(from);
    if (rc == 0 && from->guests.n > 0)
        qsort(from->guests.all, from->guests.n, sizeof(*from->guests.all), by_name_and_uuid);
    if (rc == 0)
        rc = add_rows(from, &added);
    return rc == 0 && added == 0 ? no_rows(from) : rc;
}

static void drop_guests(struct url_reading *from)
{
    for (size_t g = 0; g < from->guests.n; g++)
        free(from->guests.all[g].sizes);
    from->guests.n = from->n_there = from->guests.n_sorted = 0;
    from->host_partial = false;
}

static void mark_partial(const struct url_reading *from)
{
    for (size_t h = 0; h < from->roster->n_hosts; h++)
        if (from->roster->hosts[h].source == from->source)
            from->roster->hosts[h].host.partial = true;
}

static int read_all(struct url_reading *from)
{
    int rc = url_hosts_read(from->client, from->reading, &from->hosts, from->error);

    for (size_t h = 0; rc == 0 && h < from->hosts.n; h++) {
        from->host = &from->hosts.hosts[h];
        prom_select(from->of, from->reading, from->host->name);
        rc = read_host(from);
        drop_guests(from);
    }
    return rc;
}

int roster_read_url(struct roster *roster, const struct plan_reading *reading, size_t source,
                    struct error *error)
{
    bool partial = false;
    struct plan_reading own = *reading;
    struct url_reading from = {.roster = roster, .reading = &own, .source = source, .error = error};
    int rc = prom_open(reading->sources[source].path, reading->prometheus, &from.client, error);

    if (rc < 0)
        return rc;
    own.partial = &partial;
    rc = read_all(&from);
    if (partial)
        mark_partial(&from);
    prom_close(from.client);
    url_hosts_free(&from.hosts);
    free(from.guests.all);
    return rc;
}
