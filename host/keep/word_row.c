// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file word_row.c  See word_row.h. */
#include "keep/word_row.h"

#include "keep/bucket.h"
#include "keep/rollup.h"
#include "keep/sql.h"
#include "keep/store_private.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* A figure of struct guest_word, in the order of the columns of both tables. */
#define U64(name)                               \
    {                                           \
        offsetof(struct guest_word, name), true \
    }
#define REAL(name)                               \
    {                                            \
        offsetof(struct guest_word, name), false \
    }
struct figure {
    size_t offset;
    bool is_u64;
};

static const struct figure figures[] = {
    U64(total_bytes),         U64(used_bytes),
    U64(available_bytes),     U64(cache_warm_bytes),
    U64(cache_cold_bytes),    REAL(interval_s),
    REAL(psi_some),           REAL(psi_full),
    REAL(swap_in_bytes_s),    REAL(swap_out_bytes_s),
    REAL(refault_bytes_s),    REAL(scan_bytes_s),
    REAL(major_faults_s),     REAL(window_s),
    U64(wss_cache_low_bytes), U64(wss_cache_high_bytes),
    U64(wss_anon_low_bytes),  U64(wss_anon_high_bytes),
};

static const struct figure bucket_figures[] = {
    U64(total_bytes),      U64(used_bytes),       U64(available_bytes),
    U64(cache_warm_bytes), U64(cache_cold_bytes), REAL(psi_some),
    REAL(psi_full),        REAL(swap_in_bytes_s), REAL(refault_bytes_s),
};
static const struct figure own_figures[] = {
    REAL(own_window_s),
    REAL(own_age_s),
    U64(own_anon_bytes),
    U64(own_file_bytes),
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- one figure ------------------------------------------------------------------------------- */

static void bind_u64(sqlite3_stmt *s, int parameter, uint64_t value)
{
    if (value == AGENT_UNKNOWN)
        sqlite3_bind_null(s, parameter);
    else
        sql_bind_u64(s, parameter, value);
}

/* Of a double that is none SQLite makes NULL; of an infinite one it would not. */
static void bind_double(sqlite3_stmt *s, int parameter, double value)
{
    sqlite3_bind_double(s, parameter, isfinite(value) ? value : NAN);
}

static void bind(sqlite3_stmt *s, int first, const struct guest_word *word,
                 const struct figure *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const void *at = (const char *)word + list[i].offset;

        if (list[i].is_u64)
            bind_u64(s, first + (int)i, *(const uint64_t *)at);
        else
            bind_double(s, first + (int)i, *(const double *)at);
    }
}

/* What a guest said must never make the host's record beside it unreadable: a figure that is none
 * is not known. */
static void read_double(sqlite3_stmt *s, int column, double *value)
{
    if (sqlite3_column_type(s, column) == SQLITE_NULL || sql_double(s, column, value) < 0 ||
        *value < 0)
        *value = NAN;
}

static int read_u64(sqlite3_stmt *s, int column, uint64_t *value)
{
    *value = AGENT_UNKNOWN;
    return sqlite3_column_type(s, column) == SQLITE_NULL ? 0 : sql_u64(s, column, value);
}

static int read_figures(sqlite3_stmt *s, int first, struct guest_word *word,
                        const struct figure *list, size_t n)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        void *at = (char *)word + list[i].offset;

        if (list[i].is_u64)
            rc = read_u64(s, first + (int)i, at);
        else
            read_double(s, first + (int)i, at);
    }
    return rc;
}

/* --- the tables word and own_set -------------------------------------------------------------- */

#define AFTER_FIGURES (2 + (int)COUNT(figures))

static int read_names(sqlite3_stmt *s, int first, struct guest_word *word)
{
    char text[256];

    if (sql_text(s, first, text, sizeof(text)) < 0)
        return -EUCLEAN;
    word->source = word_source_parse(text);
    if (sql_text(s, first + 1, word->missing, sizeof(word->missing)) < 0 ||
        sql_text(s, first + AFTER_FIGURES, text, sizeof(text)) < 0)
        return -EUCLEAN;
    word->verdict = word_verdict_parse(text);
    if (sql_text(s, first + AFTER_FIGURES + 1, text, sizeof(text)) < 0)
        return -EUCLEAN;
    word->reasons = word_reasons_parse(text);
    if (sql_text(s, first + AFTER_FIGURES + 4, text, sizeof(text)) < 0)
        return -EUCLEAN;
    word->doubts = word_doubts_parse(text);
    return 0;
}

int word_row_read(sqlite3_stmt *s, int first, struct guest_word *word)
{
    uint64_t at_least;

    memset(word, 0, sizeof(*word));
    if (sqlite3_column_type(s, first) == SQLITE_NULL)
        return 0;
    if (read_names(s, first, word) < 0 ||
        read_figures(s, first + 2, word, figures, COUNT(figures)) < 0 ||
        sql_u64(s, first + AFTER_FIGURES + 2, &at_least) < 0 ||
        read_figures(s, first + AFTER_FIGURES + 5, word, own_figures, COUNT(own_figures)) < 0)
        return -EUCLEAN;
    word->at_least_allocation = at_least != 0;
    read_double(s, first + AFTER_FIGURES + 3, &word->agreement);
    return 0;
}

/* One may have been left behind by a sample that had the number before. */
static const char add_sql[] =
    "INSERT OR REPLACE INTO word(sample_id, source, missing, total_bytes, used_bytes, available_bytes,"
    " cache_warm_bytes, cache_cold_bytes, interval_s, psi_some, psi_full, swap_in_bytes_s,"
    " swap_out_bytes_s, refault_bytes_s, scan_bytes_s, major_faults_s, window_s,"
    " wss_cache_low_bytes, wss_cache_high_bytes, wss_anon_low_bytes, wss_anon_high_bytes,"
    " verdict, reasons, at_least, agreement, doubts)"
    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

static int add_row(const struct word_adding *adding, const struct word_place *place,
                   const struct guest_word *word, struct error *error)
{
    sqlite3_stmt *s = adding->add;
    char reasons[256];
    char doubts[256];

    word_reasons_text(reasons, sizeof(reasons), word->reasons);
    word_doubts_text(doubts, sizeof(doubts), word->doubts);
    sqlite3_bind_int64(s, 1, place->sample_id);
    sql_bind_text(s, 2, word_source_name(word->source));
    sql_bind_text(s, 3, word->missing);
    bind(s, 4, word, figures, COUNT(figures));
    sql_bind_text(s, 2 + AFTER_FIGURES, word_verdict_name(word->verdict));
    sql_bind_text(s, 3 + AFTER_FIGURES, reasons);
    sqlite3_bind_int(s, 4 + AFTER_FIGURES, word->at_least_allocation);
    sqlite3_bind_double(s, 5 + AFTER_FIGURES, word->agreement);
    sql_bind_text(s, 6 + AFTER_FIGURES, doubts);
    return sql_finish(adding->store, s, error);
}

static const char add_own_sql[] =
    "INSERT OR REPLACE INTO own_set(sample_id, window_s, age_s, anon_bytes, file_bytes)"
    " VALUES (?,?,?,?,?)";

static int add_own(const struct word_adding *adding, const struct word_place *place,
                   const struct guest_word *word, struct error *error)
{
    sqlite3_bind_int64(adding->add_own, 1, place->sample_id);
    bind(adding->add_own, 2, word, own_figures, COUNT(own_figures));
    return sql_finish(adding->store, adding->add_own, error);
}

/* --- its minute and its hour ------------------------------------------------------------------ */

/* A mean over the time in which it was told, of what was there before and what comes. */
#define MEAN(column)                                                                              \
    " " column " = coalesce((" column " * " column "_ms + excluded." column " * excluded." column \
    "_ms) / (" column "_ms + excluded." column "_ms), excluded." column ", " column ")," column   \
    "_ms = " column "_ms + excluded." column "_ms,"
/* The aggregates max() and min() of two values are NULL when one is. */
#define EXTREME(which, column)                                            \
    " " column " = coalesce(" which "(" column ", excluded." column "), " \
    "excluded." column ", " column "),"

static const char add_bucket_sql[] =
    "INSERT INTO word_bucket(level_s, start_s, guest_id, period_ms, source, verdict, at_least,"
    " agreement, total_bytes, used_bytes, available_bytes, cache_warm_bytes, cache_cold_bytes,"
    " psi_some, psi_full, swap_in_bytes_s, refault_bytes_s, cache_warm_bytes_ms,"
    " cache_cold_bytes_ms, psi_some_ms, psi_full_ms, swap_in_bytes_s_ms, refault_bytes_s_ms)"
    " VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,"
    " iif(?12 IS NULL, 0, ?4), iif(?13 IS NULL, 0, ?4), iif(?14 IS NULL, 0, ?4),"
    " iif(?15 IS NULL, 0, ?4), iif(?16 IS NULL, 0, ?4), iif(?17 IS NULL, 0, ?4))"
    " ON CONFLICT(level_s, start_s, guest_id) DO UPDATE SET source = excluded.source,"
    " total_bytes = coalesce(excluded.total_bytes, total_bytes)," EXTREME(
        "max",
        "used_bytes") EXTREME("min",
                              "available_bytes") EXTREME("min",
                                                         "agreement") MEAN("cache_warm_bytes")
        MEAN("cache_cold_bytes") MEAN("psi_some") MEAN("psi_full") MEAN("swap_in_bytes_s") MEAN(
            "refault_bytes_s") " verdict = max(verdict, excluded.verdict), at_least = max(at_least, excluded.at_least),"
                               " period_ms = period_ms + excluded.period_ms";

static int add_to_bucket(const struct word_adding *adding, int level_s,
                         const struct word_place *place, const struct guest_word *word,
                         struct error *error)
{
    sqlite3_stmt *s = adding->add_bucket;

    sqlite3_bind_int(s, 1, level_s);
    sqlite3_bind_int64(s, 2, bucket_start(place->time_s, level_s));
    sqlite3_bind_int64(s, 3, place->guest_id);
    sqlite3_bind_int64(s, 4, (int64_t)(place->period_s * 1000) + 1);
    sql_bind_text(s, 5, word_source_name(word->source));
    sqlite3_bind_int(s, 6, (int)word->verdict);
    sqlite3_bind_int(s, 7, word->at_least_allocation);
    sqlite3_bind_double(s, 8, word->agreement);
    bind(s, 9, word, bucket_figures, COUNT(bucket_figures));
    return sql_finish(adding->store, s, error);
}

int word_bucket_prepare(struct store *store, sqlite3_stmt **statement, struct error *error)
{
    return sql_prepare(store,
                       "SELECT total_bytes, used_bytes, available_bytes,"
                       " CAST(cache_warm_bytes AS INTEGER), CAST(cache_cold_bytes AS INTEGER),"
                       " psi_some, psi_full, swap_in_bytes_s, refault_bytes_s, verdict, at_least,"
                       " agreement, source FROM word_bucket"
                       " WHERE level_s = ? AND start_s = ? AND guest_id = ?",
                       statement, error);
}

static int read_bucket(sqlite3_stmt *s, struct guest_word *word)
{
    const int after = (int)COUNT(bucket_figures);
    uint64_t verdict;
    uint64_t at_least;
    char source[32];

    guest_word_none(word, "%s", "");
    if (read_figures(s, 0, word, bucket_figures, COUNT(bucket_figures)) < 0 ||
        sql_u64(s, after, &verdict) < 0 || verdict > VERDICT_ABOVE ||
        sql_u64(s, after + 1, &at_least) < 0 || sql_text(s, after + 3, source, sizeof(source)) < 0)
        return -EUCLEAN;
    read_double(s, after + 2, &word->agreement);
    word->verdict = (enum word_verdict)verdict;
    word->at_least_allocation = at_least != 0;
    word->source = word_source_parse(source);
    return 0;
}

int word_bucket_read(struct store *store, sqlite3_stmt *s, int level_s, int64_t start_s,
                     int64_t guest_id, struct guest_word *word, struct error *error)
{
    int rc;

    memset(word, 0, sizeof(*word));
    sqlite3_bind_int(s, 1, level_s);
    sqlite3_bind_int64(s, 2, start_s);
    sqlite3_bind_int64(s, 3, guest_id);
    rc = sql_step(store, s, error);
    if (rc == 1)
        rc = read_bucket(s, word);
    sqlite3_reset(s);
    return rc == -EUCLEAN
               ? error_set(error, rc, "%s: a guest's word that vmwss has not written", store->path)
               : rc;
}

/* --- adding ----------------------------------------------------------------------------------- */

int word_adding_begin(struct word_adding *adding, struct store *store, struct error *error)
{
    int rc;

    *adding = (struct word_adding){.store = store};
    rc = sql_prepare(store, add_sql, &adding->add, error);
    if (rc == 0)
        rc = sql_prepare(store, add_own_sql, &adding->add_own, error);
    return rc == 0 ? sql_prepare(store, add_bucket_sql, &adding->add_bucket, error) : rc;
}

void word_adding_end(struct word_adding *adding)
{
    sqlite3_finalize(adding->add);
    sqlite3_finalize(adding->add_own);
    sqlite3_finalize(adding->add_bucket);
}

int word_add(const struct word_adding *adding, const struct word_place *place,
             const struct guest_word *word, struct error *error)
{
    int rc;

    if (word->source == WORD_NONE && !*word->missing)
        return 0;
    rc = add_row(adding, place, word, error);
    if (rc == 0 && word->own_window_s > 0)
        rc = add_own(adding, place, word, error);
    if (rc == 0 && word->source != WORD_NONE)
        rc = add_to_bucket(adding, BUCKET_MINUTE, place, word, error);
    if (rc == 0 && word->source != WORD_NONE)
        rc = add_to_bucket(adding, BUCKET_HOUR, place, word, error);
    return rc;
}
