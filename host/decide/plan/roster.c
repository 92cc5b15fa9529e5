// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file roster.c  See roster.h: merges the rows of several files. */
#include "decide/plan/roster.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/text/units.h"
#include "decide/plan/prom_client.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A guest that migrates is on both hosts in one hour; with this many common hours, there are two
 * guests. */
#define HOURS_OF_TWO 2
#define HOURS_OF_STAYS 4
/* A size that differs by less has not changed. */
#define SAME_SIZE 0.01

static int no_memory(const struct plan_reading *reading, size_t source, struct error *error)
{
    return error_set(error, -ENOMEM, "%s: out of memory", reading->sources[source].path);
}

/* --- hosts ------------------------------------------------------------------------------------ */

/* Two files with one host name belong to one host only if the caller gave the names. */
static int check_host(const struct plan_reading *reading, const struct roster_host *host,
                      size_t source, struct error *error)
{
    const struct plan_source *a = &reading->sources[host->source];
    const struct plan_source *b = &reading->sources[source];

    if (host->source == source || (a->host && b->host))
        return 0;
    if (prom_is_url(a->path) && prom_is_url(b->path))
        return error_set(error, -ENOTUNIQ,
                         "host %s: %s and %s both have it: if they scrape the same host, give one "
                         "of them, or a URL that asks both; if there are two hosts, give each a "
                         "name of its own, or leave one out with --match",
                         host->host.name, a->path, b->path);
    return error_set(error, -ENOTUNIQ,
                     "host %s: %s and %s are both its history: name two hosts apart, as in "
                     "HOST1=%s HOST2=%s, or give both files the one name",
                     host->host.name, a->path, b->path, a->path, b->path);
}

ssize_t roster_host(struct roster *roster, const struct plan_reading *reading, size_t source,
                    const char *name, struct error *error)
{
    struct roster_host *host;

    for (size_t h = 0; h < roster->n_hosts; h++)
        if (strcmp(roster->hosts[h].host.name, name) == 0) {
            int rc = check_host(reading, &roster->hosts[h], source, error);

            return rc < 0 ? rc : (ssize_t)h;
        }
    host = array_grow(roster->hosts, roster->n_hosts, sizeof(*host));
    if (!host)
        return no_memory(reading, source, error);
    roster->hosts = host;
    host += roster->n_hosts++;
    *host = (struct roster_host){.source = source, .silent = true};
    snprintf(host->host.name, sizeof(host->host.name), "%s", name);
    return (ssize_t)(roster->n_hosts - 1);
}

/* --- hours ------------------------------------------------------------------------------------ */

static double hours_ago(double time_s, double to_s)
{
    return floor((to_s - floor(time_s / BUCKET_HOUR) * BUCKET_HOUR) / BUCKET_HOUR);
}

void roster_mark_hour(struct roster_row *row, double start_s, double to_s)
{
    const double ago = hours_ago(start_s, to_s);

    if (row->first_s == 0 || start_s < row->first_s)
        row->first_s = start_s;
    row->last_s = fmax(row->last_s, start_s);
    if (ago >= 0 && ago < ROSTER_HOURS)
        row->hours[(size_t)ago / 64] |= 1ULL << (size_t)ago % 64;
}

unsigned roster_count_hours(const struct roster_row *row)
{
    unsigned n = 0;

    for (size_t h = 0; h < COUNT(row->hours); h++)
        n += (unsigned)__builtin_popcountll(row->hours[h]);
    return n;
}

/* --- guests ----------------------------------------------------------------------------------- */

struct roster_guest *roster_guest_of(const struct roster *roster, const char *uuid)
{
    for (size_t g = 0; g < roster->n_guests; g++)
        if (strcmp(roster->guests[g].uuid, uuid) == 0)
            return &roster->guests[g];
    return NULL;
}

static ssize_t guest_index(struct roster *roster, const char *uuid)
{
    struct roster_guest *guest = roster_guest_of(roster, uuid);

    if (guest)
        return guest - roster->guests;
    guest = array_grow(roster->guests, roster->n_guests, sizeof(*guest));
    if (!guest)
        return -ENOMEM;
    roster->guests = guest;
    guest += roster->n_guests++;
    *guest = (struct roster_guest){.first = PLAN_NOT_THERE, .latest = PLAN_NOT_THERE, .cpus = NAN};
    snprintf(guest->uuid, sizeof(guest->uuid), "%s", uuid);
    return (ssize_t)(roster->n_guests - 1);
}

static bool has_ended(const struct roster_row *row)
{
    return row->has_event && row->event == EVENT_END;
}

/* Returns true if the guest's last event is of that kind and it has no records since. */
static bool is_event(const struct roster_row *row, enum event_kind kind)
{
    return row->has_event && row->event == kind && row->event_s >= row->last_s;
}

/* Returns true if two rows of one UUID are of two guests. If one host is dead, the guest may have
 * moved often before: then each stay has at most its first and its last hour in common. */
static bool are_two(const struct roster_row *a, const struct roster_row *b)
{
    const bool dead = fabs(a->last_s - b->last_s) > PLAN_RECENT_S;
    unsigned n = 0;

    for (size_t h = 0; h < ROSTER_HOURS; h++) {
        const bool both = (a->hours[h / 64] & b->hours[h / 64]) >> h % 64 & 1;

        n = both ? n + 1 : dead ? 0 : n;
        if (n >= (dead ? HOURS_OF_STAYS : HOURS_OF_TWO))
            return true;
    }
    return false;
}

/* Checks that the guest of the row is not on another host at the same time. */
static int check_guest(const struct roster *roster, const struct roster_row *row, const char *uuid,
                       struct error *error)
{
    const struct roster_row *other;

    for (size_t r = roster->guests[row->guest].first; r != PLAN_NOT_THERE; r = other->next) {
        other = &roster->rows[r];
        if (other->host == row->host || has_ended(other) || has_ended(row) || !are_two(other, row))
            continue;
        return error_set(error, -ENOTUNIQ,
                         "UUID %s: two guests have it at once, %s on %s and %s on %s: give one of "
                         "them a UUID of its own (<uuid> of its domain, -uuid of QEMU), or leave "
                         "out the file of one host",
                         uuid, other->name, roster->hosts[other->host].host.name, row->name,
                         roster->hosts[row->host].host.name);
    }
    return 0;
}

/* Returns true if @p a, of two rows of one guest, shows where the guest is now. */
static bool is_later(const struct roster *roster, const struct roster_row *a,
                     const struct roster_row *b)
{
    if (a->last_s != b->last_s)
        return a->last_s > b->last_s;
    if (has_ended(a) != has_ended(b))
        return has_ended(b);
    if (a->event_s != b->event_s)
        return a->event_s > b->event_s;
    if (a->first_s != b->first_s)
        return a->first_s > b->first_s;
    if (a->ram_bytes != b->ram_bytes)
        return a->ram_bytes > b->ram_bytes;
    return strcmp(roster->hosts[a->host].host.name, roster->hosts[b->host].host.name) < 0;
}

/* The largest size at the longest window counts. */
static void merge_size(struct roster_guest *guest, const struct roster_row *row)
{
    if (row->size_window_s < guest->size_window_s)
        return;
    if (row->size_window_s > guest->size_window_s)
        guest->size_bytes = 0;
    guest->size_window_s = row->size_window_s;
    guest->size_bytes = fmax(guest->size_bytes, row->size_bytes);
}

/* All hosts of a URL have the same source. */
static void merge_host(struct roster *roster, const struct plan_reading *reading, size_t r)
{
    const struct roster_row *row = &roster->rows[r];
    struct roster_host *host = &roster->hosts[row->host];

    host->n_rows++;
    host->host.last_s = fmax(host->host.last_s, row->last_s);
    if (!has_ended(row))
        host->due_s = fmax(host->due_s, row->last_s + row->lasts_s);
    host->silent &= has_ended(row) || is_event(row, EVENT_SUSPEND);
    if (r > 0 && row[-1].source == row->source && row[-1].host != row->host &&
        !prom_is_url(reading->sources[row->source].path))
        host->among = roster->hosts[row[-1].host].among = true;
    if (roster->first_s == 0 || row->first_s < roster->first_s)
        roster->first_s = row->first_s;
}

bool roster_has_changed(const struct roster_range *range, char text[ROSTER_RANGE_MAX])
{
    snprintf(text, ROSTER_RANGE_MAX, "%s to %s", BYTES_TEXT(range->least_bytes),
             BYTES_TEXT(range->most_bytes));
    return (double)(range->most_bytes - range->least_bytes) > SAME_SIZE * (double)range->most_bytes;
}

struct roster_range roster_range_with(struct roster_range range, uint64_t bytes)
{
    return (struct roster_range){range.most_bytes ? smaller(range.least_bytes, bytes) : bytes,
                                 larger(range.most_bytes, bytes)};
}

/* Needs of a smaller RAM were limited by it. */
static void warn_of_ram(const struct roster *roster, const struct plan_reading *reading,
                        const struct roster_row *row)
{
    char range[ROSTER_RANGE_MAX];
    char now[32];

    if (roster_has_changed(&row->ram, range))
        plan_warn(reading,
                  "host %s: guest %s had %s of RAM in this time: its needs count as they were, up "
                  "to the %s that it has now",
                  roster->hosts[row->host].host.name, row->name, range,
                  show_bytes(now, sizeof(now), row->ram_bytes));
}

int roster_add(struct roster *roster, const struct plan_reading *reading,
               const struct roster_row *from, const char *uuid, struct error *error)
{
    const ssize_t g = guest_index(roster, uuid);
    struct roster_row *rows = array_grow(roster->rows, roster->n_rows, sizeof(*rows));
    struct roster_guest *guest;
    struct roster_row *row;
    int rc;

    if (rows)
        roster->rows = rows;
    if (g < 0 || !rows)
        return no_memory(reading, from->source, error);
    guest = &roster->guests[g];
    row = &rows[roster->n_rows];
    *row = *from;
    row->guest = (size_t)g;
    row->next = guest->first;
    rc = check_guest(roster, row, uuid, error);
    if (rc < 0)
        return rc;
    guest->first = roster->n_rows++;
    if (guest->latest == PLAN_NOT_THERE || is_later(roster, row, &rows[guest->latest]))
        guest->latest = guest->first;
    merge_size(guest, row);
    merge_host(roster, reading, guest->first);
    if (!has_ended(row))
        warn_of_ram(roster, reading, row);
    return 0;
}

/* --- guests in the plan ----------------------------------------------------------------------- */

/* A guest whose last record no longer holds, while other guests of its host have newer records, is
 * gone, unless it is suspended or no longer watched. */
static bool is_there(const struct roster *roster, const struct roster_row *row, double from_s)
{
    if (has_ended(row))
        return false;
    if (row->last_s + PLAN_RECENT_S + row->lasts_s >= roster->hosts[row->host].host.last_s)
        return true;
    return row->event_s >= from_s && (is_event(row, EVENT_SUSPEND) || is_event(row, EVENT_UNWATCH));
}

size_t roster_number(struct roster *roster, const struct plan_reading *reading)
{
    size_t n = 0;

    for (size_t g = 0; g < roster->n_guests; g++) {
        struct roster_guest *guest = &roster->guests[g];

        guest->number = PLAN_NOT_THERE;
        if (guest->latest != PLAN_NOT_THERE &&
            is_there(roster, &roster->rows[guest->latest], reading->from_s))
            guest->number = n++;
    }
    roster->n_there = n;
    for (size_t g = 0; g < roster->n_guests; g++)
        if (roster->guests[g].number == PLAN_NOT_THERE &&
            roster->guests[g].latest != PLAN_NOT_THERE)
            roster->guests[g].number = n++;
    roster->n_ended = n - roster->n_there;
    for (size_t h = 0; h < roster->n_hosts; h++) {
        struct roster_host *host = &roster->hosts[h];

        host->host.stale = fmax(host->host.last_s + BUCKET_HOUR, host->due_s) + PLAN_RECENT_S <
                               reading->to_s &&
                           !(host->silent && !host->among);
        /* not before: guests were compared with the host's last hour */
        if (host->scraped_s > 0 && host->scraped_s + PLAN_SCRAPED_S < reading->to_s) {
            host->host.stale = true;
            host->host.last_s = host->scraped_s;
        }
    }
    return roster->n_there;
}

struct plan_guest roster_plan_guest(const struct roster *roster, const struct roster_guest *guest)
{
    const struct roster_row *row = &roster->rows[guest->latest];
    struct plan_guest plan = {
        .host = row->host,
        .ram_bytes = row->ram_bytes,
        .used_bytes = row->used_bytes,
        .cpus = guest->cpus,
        .size_window_s = guest->size_window_s,
        .size_bytes = guest->size_bytes,
        .unmeasured = row->unmeasured,
        .suspended = is_event(row, EVENT_SUSPEND),
        .unwatched = is_event(row, EVENT_UNWATCH),
    };

    snprintf(plan.name, sizeof(plan.name), "%s", row->name);
    snprintf(plan.uuid, sizeof(plan.uuid), "%s", guest->uuid);
    return plan;
}

struct plan_before *roster_before(const struct roster *roster, const struct roster_guest *guest,
                                  struct plan_fleet *fleet)
{
    return guest->number < roster->n_there ? &fleet->guests[guest->number].before
                                           : &fleet->past[roster->rows[guest->latest].host].before;
}

struct row_key {
    int64_t id;
    size_t source;
};

static int compare_key(const void *a, const void *b)
{
    const struct row_key *key = a;
    const struct roster_row *row = b;

    if (key->source != row->source)
        return key->source < row->source ? -1 : 1;
    return (key->id > row->id) - (key->id < row->id);
}

struct roster_guest *roster_find(const struct roster *roster, size_t source, int64_t id)
{
    const struct row_key key = {id, source};
    const struct roster_row *row = NULL;

    if (roster->n_rows > 0)
        row = bsearch(&key, roster->rows, roster->n_rows, sizeof(*row), compare_key);
    return row ? &roster->guests[row->guest] : NULL;
}

void roster_free(struct roster *roster)
{
    free(roster->hosts);
    free(roster->guests);
    free(roster->rows);
    *roster = (struct roster){0};
}
