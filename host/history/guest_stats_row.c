// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/guest_stats_row.h"

#include "history/bucket.h"
#include "history/open_store.h"
#include "history/rollup.h"
#include "history/sql.h"

#include <errno.h>
#include <string.h>

/* --- beside a record -------------------------------------------------------------------------- */

/* Replaces a row left over from an earlier sample with the same number. */
static int prepare_add(struct store *store, const char *table, enum field_home home,
                       sqlite3_stmt **statement, struct error *error)
{
    struct sql_text sql = {0};

    sql_append(&sql, "INSERT OR REPLACE INTO ");
    sql_append(&sql, table);
    sql_append(&sql, "(sample_id");
    columns_append(&sql, guest_stats_fields(), home, ", #");
    sql_append(&sql, ") VALUES (?");
    columns_append(&sql, guest_stats_fields(), home, ", ?");
    sql_append(&sql, ")");
    return sql_prepare(store, sql.text, statement, error);
}

static int add_row(const struct guest_stats_adding *adding, sqlite3_stmt *s, enum field_home home,
                   const struct guest_stats_place *place, const struct guest_stats *stats,
                   struct error *error)
{
    sqlite3_bind_int64(s, 1, place->sample_id);
    columns_bind(s, 2, guest_stats_fields(), home, stats);
    return sql_finish(adding->store, s, error);
}

/* --- its minute and its hour ------------------------------------------------------------------ */

/* Merges the old mean and the new value into a mean over the time in which the figure was reported.
 */
static const char mean[] = " # = coalesce((# * #_ms + excluded.# * excluded.#_ms) /"
                           " (#_ms + excluded.#_ms), excluded.#, #),"
                           " #_ms = #_ms + excluded.#_ms,";

/* SQL that merges two rows, by the column's rollup. max() and min() of two values are NULL if
 * either is. */
static const char *const merges[] = {
    [ROLLUP_MEAN] = mean,
    [ROLLUP_MIN] = " # = coalesce(min(#, excluded.#), excluded.#, #),",
    [ROLLUP_MAX] = " # = coalesce(max(#, excluded.#), excluded.#, #),",
    [ROLLUP_LAST] = " # = coalesce(excluded.#, #),",
};

/* Appends one field as if it were a whole table. */
static void append_one(struct sql_text *sql, const struct field *field, const char *pattern)
{
    const struct field alone[] = {*field, {.type = FIELD_END}};

    columns_append(sql, alone, HOME_SUMMARY, pattern);
}

static void append_means(struct sql_text *sql, const char *pattern)
{
    for (const struct field *field = guest_stats_fields(); field->type; field++)
        if (field->rollup == ROLLUP_MEAN)
            append_one(sql, field, pattern);
}

void guest_stats_bucket_columns(struct sql_text *sql)
{
    columns_append(sql, guest_stats_fields(), HOME_SUMMARY, ", # @");
    append_means(sql, ", #_ms INTEGER NOT NULL");
}

static int prepare_add_bucket(struct store *store, sqlite3_stmt **statement, struct error *error)
{
    struct sql_text sql = {0};

    sql_append(&sql, "INSERT INTO word_bucket(level_s, start_s, guest_id, period_ms, source,"
                     " verdict, at_least");
    columns_append(&sql, guest_stats_fields(), HOME_SUMMARY, ", #");
    append_means(&sql, ", #_ms");
    sql_append(&sql, ") VALUES (:level_s, :start_s, :guest_id, :period_ms, :source, :verdict,"
                     " :at_least");
    columns_append(&sql, guest_stats_fields(), HOME_SUMMARY, ", :#");
    append_means(&sql, ", iif(:# IS NULL, 0, :period_ms)");
    sql_append(&sql, ") ON CONFLICT(level_s, start_s, guest_id) DO UPDATE SET");
    for (const struct field *field = guest_stats_fields(); field->type; field++)
        if (field->rollup != ROLLUP_NONE)
            append_one(&sql, field, merges[field->rollup]);
    sql_append(&sql, " source = excluded.source, verdict = max(verdict, excluded.verdict),"
                     " at_least = max(at_least, excluded.at_least),"
                     " period_ms = period_ms + excluded.period_ms");
    return sql_prepare(store, sql.text, statement, error);
}

static int add_to_bucket(const struct guest_stats_adding *adding, int level_s,
                         const struct guest_stats_place *place, const struct guest_stats *stats,
                         struct error *error)
{
    sqlite3_stmt *s = adding->add_bucket;

    sql_bind_all(s, 1, level_s, bucket_start(place->time_s, level_s), place->guest_id,
                 (int64_t)(place->period_s * 1000) + 1);
    sql_bind_text(s, 5, guest_stats_source_name(stats->source));
    sql_bind_all(s, 6, (int)stats->verdict, stats->at_least_allocation);
    columns_bind(s, 8, guest_stats_fields(), HOME_SUMMARY, stats);
    return sql_finish(adding->store, s, error);
}

int guest_stats_bucket_prepare(struct store *store, sqlite3_stmt **statement, struct error *error)
{
    struct sql_text sql = {0};

    sql_append(&sql, "SELECT verdict, at_least, source");
    for (const struct field *field = guest_stats_fields(); field->type; field++)
        append_one(&sql, field, field->type == FIELD_U64 ? ", CAST(# AS INTEGER)" : ", #");
    sql_append(&sql, " FROM word_bucket WHERE level_s = ? AND start_s = ? AND guest_id = ?");
    return sql_prepare(store, sql.text, statement, error);
}

static int read_bucket(sqlite3_stmt *s, struct guest_stats *stats)
{
    uint64_t verdict;
    uint64_t at_least;
    char source[32];

    guest_stats_unavailable(stats, "%s", "");
    if (sql_u64(s, 0, &verdict) < 0 || verdict > VERDICT_ABOVE || sql_u64(s, 1, &at_least) < 0 ||
        sql_text(s, 2, source, sizeof(source)) < 0 ||
        columns_read(s, 3, guest_stats_fields(), HOME_SUMMARY, stats) < 0)
        return -EUCLEAN;
    stats->verdict = (enum guest_stats_verdict)verdict;
    stats->at_least_allocation = at_least != 0;
    stats->source = (enum guest_stats_source)names_parse(&guest_stats_source_names, source, 0);
    return 0;
}

int guest_stats_bucket_read(struct store *store, sqlite3_stmt *s, const struct bucket_key *key,
                            struct guest_stats *stats, struct error *error)
{
    int rc;

    memset(stats, 0, sizeof(*stats));
    sql_bind_all(s, 1, key->level_s, key->start_s, key->guest_id);
    rc = sql_step(store, s, error);
    if (rc == 1)
        rc = read_bucket(s, stats);
    sqlite3_reset(s);
    return rc == -EUCLEAN
               ? error_set(error, rc, "%s: statistics of a guest that vmwss has not written",
                           store->path)
               : rc;
}

/* --- adding ----------------------------------------------------------------------------------- */

int guest_stats_adding_begin(struct guest_stats_adding *adding, struct store *store,
                             struct error *error)
{
    int rc;

    *adding = (struct guest_stats_adding){.store = store};
    rc = prepare_add(store, "word", HOME_GUEST_STATS, &adding->add, error);
    if (rc == 0)
        rc = prepare_add(store, "own_set", HOME_OWN_SET, &adding->add_own, error);
    return rc == 0 ? prepare_add_bucket(store, &adding->add_bucket, error) : rc;
}

void guest_stats_adding_end(struct guest_stats_adding *adding)
{
    sqlite3_finalize(adding->add);
    sqlite3_finalize(adding->add_own);
    sqlite3_finalize(adding->add_bucket);
}

int guest_stats_add(const struct guest_stats_adding *adding, const struct guest_stats_place *place,
                    const struct guest_stats *stats, struct error *error)
{
    int rc;

    if (stats->source == GUEST_STATS_NONE && !*stats->unavailable)
        return 0;
    rc = add_row(adding, adding->add, HOME_GUEST_STATS, place, stats, error);
    if (rc == 0 && stats->own_window_s > 0)
        rc = add_row(adding, adding->add_own, HOME_OWN_SET, place, stats, error);
    if (rc == 0 && stats->source != GUEST_STATS_NONE)
        rc = add_to_bucket(adding, BUCKET_MINUTE, place, stats, error);
    if (rc == 0 && stats->source != GUEST_STATS_NONE)
        rc = add_to_bucket(adding, BUCKET_HOUR, place, stats, error);
    return rc;
}
