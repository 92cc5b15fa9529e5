// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file add.c  Adds all records of a call in one transaction. */
#include "base/clock.h"
#include "guest/domain/ram_config.h"
#include "history/columns.h"
#include "history/guest_stats_row.h"
#include "history/host_need.h"
#include "history/open_store.h"
#include "history/rollup.h"
#include "history/sql.h"
#include "history/store.h"
#include "history/wal.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIND_GUEST, ADD_GUEST, RENAME_GUEST, SET_OWNER, ADD_LAST_REPORT, N_STATEMENTS };
static const char *const statements[N_STATEMENTS] = {
    [FIND_GUEST] =
        ("SELECT g.id, g.name, coalesce(o.manager, ''), coalesce(o.owner, '') FROM guest g"
         " LEFT JOIN owner o ON o.guest_id = g.id WHERE host = ? AND uuid = ?"),
    [ADD_GUEST] = "INSERT INTO guest(host, uuid, name) VALUES (?, ?, ?)",
    [RENAME_GUEST] = "UPDATE guest SET name = ? WHERE id = ?",
    [SET_OWNER] = "INSERT OR REPLACE INTO owner(guest_id, manager, owner) VALUES (?, ?, ?)",
    [ADD_LAST_REPORT] =
        "INSERT OR REPLACE INTO last_report(guest_id, time_ms, lines) VALUES (?, ?, ?)",
};

struct adding {
    struct store *store;
    sqlite3_stmt *sql[N_STATEMENTS];
    sqlite3_stmt *add_sample, *add_writes;
    struct rollup rollup;
    struct guest_stats_adding stats;
    struct kept_sample *kept; /* the sample being added */
};

/* --- checks of entries ------------------------------------------------------------------------ */

static bool is_amount(double value)
{
    return isfinite(value) && value >= 0;
}

static bool has_numbers(const struct ages_record *record)
{
    const struct sample_record *sample = &record->sample;

    for (size_t w = 0; w < sample->n_windows; w++)
        if (!is_amount(sample->windows[w].window_s) ||
            !is_amount(sample->windows[w].est_window_s) || sample->windows[w].vcpu_s < 0 ||
            !is_amount(sample->windows[w].touched_fraction))
            return false;
    for (size_t b = 0; b < record->n_bins; b++)
        if (!is_amount(record->bins[b].from_s) || isnan(record->bins[b].to_s))
            return false;
    return is_amount(sample->vcpu_s) && is_amount(sample->cpu_s) && is_amount(sample->paused_s);
}

static bool is_estimate(uint64_t low_bytes, uint64_t bytes, uint64_t high_bytes)
{
    return low_bytes <= bytes && bytes <= high_bytes && high_bytes <= RAM_CONFIG_MAX_BYTES;
}

/* Returns true if row_parse() would accept the curve. */
static bool has_curve(const struct write_curve *curve)
{
    double before_s = 0;

    if (curve->n == 0 || curve->n > WRITE_POINTS_MAX)
        return false;
    for (size_t i = 0; i < curve->n; i++) {
        const struct write_point *point = &curve->points[i];

        if (!(point->window_s > 0) || !(point->est_window_s > before_s) ||
            !isfinite(point->est_window_s) ||
            !is_estimate(point->low_bytes, point->bytes, point->high_bytes))
            return false;
        before_s = point->est_window_s;
    }
    return true;
}

/* Readers would refuse other sizes, and thus the guest's whole history. */
static bool has_sizes(const struct ages_record *record)
{
    const struct sample_record *sample = &record->sample;

    for (size_t w = 0; w < sample->n_windows; w++)
        if (!is_estimate(sample->windows[w].wss_low_bytes, sample->windows[w].wss_bytes,
                         sample->windows[w].wss_high_bytes) ||
            sample->windows[w].unit_low_bytes > sample->windows[w].wss_bytes)
            return false;
    for (size_t b = 0; b < record->n_bins; b++)
        if (!is_estimate(record->bins[b].low_bytes, record->bins[b].bytes,
                         record->bins[b].high_bytes))
            return false;
    return sample->ram_bytes <= RAM_CONFIG_MAX_BYTES &&
           sample->resident_bytes <= RAM_CONFIG_MAX_BYTES &&
           sample->unmeasurable_bytes <= RAM_CONFIG_MAX_BYTES;
}

static int check(const struct store *store, const struct store_entry *entry, struct error *error)
{
    const struct sample_record *sample = &entry->record->sample;
    const char *why = NULL;

    if (strlen(sample->uuid) != sizeof(sample->uuid) - 1)
        why = "a guest without a UUID is not kept";
    else if ((sample->n_windows == 0) != !!(sample->flags & FLAG_NOT_MEASURED) ||
             sample->n_windows > RUN_MAX_WINDOWS || entry->record->n_bins > RUN_MAX_WINDOWS + 1)
        why = "it has no windows, or too many";
    else if (!(entry->period_s > 0 && entry->period_s <= STORE_PERIOD_MAX_S))
        why = "its period is not valid";
    else if (!is_amount(entry->precision) || !has_numbers(entry->record))
        why = "a number is not finite, or below 0";
    else if (!has_sizes(entry->record))
        why = "a working set is not within its bounds";
    else if (sample->writes.method && !has_curve(&sample->writes))
        why = "its write working set is not valid";
    return why ? error_set(error, -EINVAL, "%s: domain %s: %s", store->path, sample->domain, why)
               : 0;
}

/* --- the transaction -------------------------------------------------------------------------- */

static int insert_guest(const struct adding *adding, const struct sample_record *sample,
                        int64_t *id, struct error *error)
{
    sql_bind_text(adding->sql[ADD_GUEST], 1, sample->host);
    sql_bind_text(adding->sql[ADD_GUEST], 2, sample->uuid);
    sql_bind_text(adding->sql[ADD_GUEST], 3, sample->domain);

    int rc = sql_finish(adding->store, adding->sql[ADD_GUEST], error);

    *id = sqlite3_last_insert_rowid(adding->store->db);
    return rc;
}

/* The row of the guest, as it is known so far. */
struct known_guest {
    int64_t id;
    char name[sizeof(((struct sample_record *)NULL)->domain)];
    struct guest_owner owner;
};

/* Returns 1; 0: there is no row. */
static int find_guest(const struct adding *adding, const struct sample_record *sample,
                      struct known_guest *known, struct error *error)
{
    sqlite3_stmt *find = adding->sql[FIND_GUEST];

    sql_bind_text(find, 1, sample->host);
    sql_bind_text(find, 2, sample->uuid);

    int rc = sql_step(adding->store, find, error);

    *known = (struct known_guest){0};
    if (rc == 1)
        known->id = sqlite3_column_int64(find, 0);
    if (rc == 1 && (sql_text(find, 1, known->name, sizeof(known->name)) < 0 ||
                    sql_text(find, 2, known->owner.manager, sizeof(known->owner.manager)) < 0 ||
                    sql_text(find, 3, known->owner.name, sizeof(known->owner.name)) < 0))
        known->name[0] = known->owner.name[0] = '\0'; /* written again */
    sqlite3_reset(find);
    return rc;
}

/* Keeps the last known owner: while its manager ends, a guest may have none. */
static int set_owner(const struct adding *adding, const struct known_guest *known,
                     const struct guest_owner *owner, struct error *error)
{
    if (!*owner->manager ||
        (!strcmp(known->owner.manager, owner->manager) && !strcmp(known->owner.name, owner->name)))
        return 0;
    sqlite3_bind_int64(adding->sql[SET_OWNER], 1, known->id);
    sql_bind_text(adding->sql[SET_OWNER], 2, owner->manager);
    sql_bind_text(adding->sql[SET_OWNER], 3, owner->name);
    return sql_finish(adding->store, adding->sql[SET_OWNER], error);
}

/* Returns the row of the guest, updated to its current name and owner. */
static int guest_id(const struct adding *adding, const struct sample_record *sample, int64_t *id,
                    struct error *error)
{
    struct known_guest known;
    int rc = find_guest(adding, sample, &known, error);

    if (rc == 0) {
        rc = insert_guest(adding, sample, &known.id, error);
    } else if (rc == 1 && strcmp(known.name, sample->domain) != 0) {
        sql_bind_text(adding->sql[RENAME_GUEST], 1, sample->domain);
        sqlite3_bind_int64(adding->sql[RENAME_GUEST], 2, known.id);
        rc = sql_finish(adding->store, adding->sql[RENAME_GUEST], error);
    }
    *id = known.id;
    return rc < 0 ? rc : set_owner(adding, &known, &sample->owner, error);
}

static int prepare_sample(struct adding *adding, struct error *error)
{
    struct sql_text sql = {0};

    sql_append(&sql, "INSERT INTO sample(guest_id");
    columns_append(&sql, sample_fields(), HOME_SAMPLE, ", #");
    sql_append(&sql, ") VALUES (?");
    columns_append(&sql, sample_fields(), HOME_SAMPLE, ", ?");
    sql_append(&sql, ")");
    return sql_prepare(adding->store, sql.text, &adding->add_sample, error);
}

static int prepare_writes(struct adding *adding, struct error *error)
{
    struct sql_text sql = {0};

    sql_append(&sql, "INSERT OR REPLACE INTO write_set(guest_id, time_ms");
    columns_append(&sql, write_fields(), HOME_WRITE_SET, ", #");
    sql_append(&sql, ") VALUES (?, ?");
    columns_append(&sql, write_fields(), HOME_WRITE_SET, ", ?");
    sql_append(&sql, ")");
    return sql_prepare(adding->store, sql.text, &adding->add_writes, error);
}

static int insert_sample(const struct adding *adding, int64_t guest, struct error *error)
{
    sqlite3_bind_int64(adding->add_sample, 1, guest);
    if (columns_bind(adding->add_sample, 2, sample_fields(), HOME_SAMPLE, adding->kept) < 0)
        return sql_no_memory(adding->store, error);
    return sql_finish(adding->store, adding->add_sample, error);
}

/* Inserts the statistics of the sample that was just inserted. */
static int insert_guest_stats(const struct adding *adding, const struct store_entry *entry,
                              int64_t guest, struct error *error)
{
    const struct sample_record *sample = &entry->record->sample;
    const struct guest_stats_place place = {
        .sample_id = sqlite3_last_insert_rowid(adding->store->db),
        .guest_id = guest,
        .time_s = sample->time.tv_sec,
        .period_s = entry->period_s,
    };

    return guest_stats_add(&adding->stats, &place, &sample->guest, error);
}

static int insert_writes(const struct adding *adding, const struct sample_record *sample,
                         int64_t guest, struct error *error)
{
    if (!sample->writes.method)
        return 0;
    sql_bind_all(adding->add_writes, 1, guest, timespec_ms(&sample->time));
    if (columns_bind(adding->add_writes, 3, write_fields(), HOME_WRITE_SET, &sample->writes) < 0)
        return sql_no_memory(adding->store, error);
    return sql_finish(adding->store, adding->add_writes, error);
}

static int insert_last_report(const struct adding *adding, const struct store_entry *entry,
                              int64_t guest, struct error *error)
{
    if (!entry->last_report)
        return 0;
    sql_bind_all(adding->sql[ADD_LAST_REPORT], 1, guest, timespec_ms(&entry->record->sample.time));
    sql_bind_text(adding->sql[ADD_LAST_REPORT], 3, entry->last_report);
    return sql_finish(adding->store, adding->sql[ADD_LAST_REPORT], error);
}

static int add_entry(struct adding *adding, const struct store_entry *entry, struct error *error)
{
    int64_t guest = 0;

    *adding->kept = (struct kept_sample){
        .record = *entry->record, .period_s = entry->period_s, .precision = entry->precision};

    int rc = guest_id(adding, &entry->record->sample, &guest, error);

    if (rc == 0)
        rc = insert_sample(adding, guest, error);
    if (rc == 0)
        rc = insert_guest_stats(adding, entry, guest, error);
    if (rc == 0)
        rc = insert_writes(adding, &entry->record->sample, guest, error);
    if (rc == 0)
        rc = insert_last_report(adding, entry, guest, error);
    return rc == 0 ? rollup_add(&adding->rollup, guest, adding->kept, error) : rc;
}

static int prepare(struct adding *adding, struct error *error)
{
    struct store *store = adding->store;
    int rc;

    adding->kept = malloc(sizeof(*adding->kept));
    if (!adding->kept)
        return sql_no_memory(store, error);
    rc = sql_prepare_all(store, statements, adding->sql, N_STATEMENTS, error);
    if (rc == 0)
        rc = prepare_sample(adding, error);
    if (rc == 0)
        rc = prepare_writes(adding, error);
    if (rc == 0)
        rc = guest_stats_adding_begin(&adding->stats, store, error);
    if (rc == 0)
        rc = rollup_begin(&adding->rollup, store, error);
    return rc;
}

void adding_free(struct adding *adding)
{
    if (!adding)
        return;
    sql_finalize_all(adding->sql, N_STATEMENTS);
    sqlite3_finalize(adding->add_sample);
    sqlite3_finalize(adding->add_writes);
    guest_stats_adding_end(&adding->stats);
    rollup_end(&adding->rollup);
    free(adding->kept);
    free(adding);
}

/* Keeps prepared statements, because preparing them takes as long as adding ten records. */
static int get_prepared(struct store *store, struct error *error)
{
    struct adding *adding;
    int rc;

    if (store->adding)
        return 0;
    adding = calloc(1, sizeof(*adding));
    if (!adding)
        return sql_no_memory(store, error);
    adding->store = store;
    rc = prepare(adding, error);
    if (rc == 0)
        store->adding = adding;
    else
        adding_free(adding);
    return rc;
}

/* Adds up the minutes of the host's sums that are complete with these records. */
static int sum_minutes(struct store *store, const struct store_entry *entries, size_t n,
                       struct error *error)
{
    int64_t first_s = INT64_MAX;
    int64_t last_s = INT64_MIN;
    double period_s = 0;

    for (size_t i = 0; i < n; i++) {
        const int64_t start_s = bucket_start(entries[i].record->sample.time.tv_sec, BUCKET_MINUTE);

        first_s = start_s < first_s ? start_s : first_s;
        last_s = start_s > last_s ? start_s : last_s;
        period_s = fmax(period_s, entries[i].period_s);
    }
    return host_need_sum(store, first_s, last_s, period_s, error);
}

static int add_all(struct store *store, const struct store_entry *entries, size_t n,
                   struct error *error)
{
    int rc = get_prepared(store, error);

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_entry(store->adding, &entries[i], error);
    /* a failed statement may still be running, and would prevent the rollback */
    if (rc < 0) {
        adding_free(store->adding);
        store->adding = NULL;
    }
    return rc == 0 && n > 0 ? sum_minutes(store, entries, n, error) : rc;
}

int store_add(struct store *store, const struct store_entry *entries, size_t n, struct error *error)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = check(store, &entries[i], error);
    if (rc == 0)
        rc = wal_check(store, error);
    if (rc == 0)
        rc = sql_run(store, "BEGIN IMMEDIATE", error);
    if (rc < 0)
        return rc;
    rc = sql_commit(store, add_all(store, entries, n, error), error);
    if (rc < 0)
        store->summed_s = 0; /* the rollback has undone the sums as well */
    return rc;
}
