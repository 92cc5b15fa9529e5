// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_guest_stats_row.c  The guest's statistics in the history: kept, summed up, deleted,
 * and in databases that had none. */
#include "kept.h"

#include "history/history.h"
#include "history/quarantine.h"
#include "history/stream.h"

#include <errno.h>
#include <math.h>

#define T0 1700002800.0 /* a full hour */

static struct ages_record reported(double at_s, uint64_t available_mib, double psi_some)
{
    struct ages_record record = kept_record("web1", UUID_1, at_s, 100);
    struct guest_stats *stats = &record.sample.guest;

    guest_stats_unavailable(stats, "%s", "");
    stats->source = GUEST_STATS_AGENT;
    stats->total_bytes = 470 * MIB;
    stats->available_bytes = available_mib * MIB;
    stats->used_bytes = (470 - available_mib) * MIB;
    stats->cache_warm_bytes = 20 * MIB;
    stats->cache_cold_bytes = available_mib * MIB / 2;
    stats->interval_s = 30;
    stats->psi_some = psi_some;
    stats->swap_in_bytes_s = 4096;
    stats->window_s = 10;
    stats->wss_cache_low_bytes = 1;
    stats->wss_cache_high_bytes = 2;
    stats->wss_anon_low_bytes = 3;
    stats->wss_anon_high_bytes = 4;
    stats->verdict = VERDICT_BELOW;
    stats->consistency = 0.875;
    return record;
}

static void add(const struct ages_record *record, double period_s)
{
    cleanup_store struct store *store = kept_open(kept.path);
    const struct store_entry entry = {.record = record, .period_s = period_s, .precision = 0.022};

    ck_assert_ok(store_add(store, &entry, 1, &error));
}

static int see_latest(const struct kept_sample *sample, void *context)
{
    *(struct guest_stats *)context = sample->record.sample.guest;
    return 0;
}

static struct guest_stats latest(void)
{
    struct guest_stats stats;
    struct store *store = NULL;

    ck_assert_ok(history_open(kept.path, &store, &error));
    ck_assert_ok(history_latest(store, see_latest, &stats, &error));
    store_close(store);
    return stats;
}

static int see_point(const struct history_point *point, void *context)
{
    *(struct history_point *)context = *point;
    return 0;
}

static struct guest_stats bucket(int level_s)
{
    struct history_point point = {0};
    struct history_guest guest;
    struct store *store = NULL;
    const struct history_query query = {level_s, 0, 1e10, 10};

    ck_assert_ok(history_open(kept.path, &store, &error));
    ck_assert_ok(history_find(store, UUID_1, &guest, &error));
    ck_assert_ok(history_points(store, &guest, &query, see_point, &point, &error));
    store_close(store);
    return point.guest;
}

/* --- as it was -------------------------------------------------------------------------------- */

FIXTURE(cases, .setup = kept_begin);

TEST(cases, a_word_comes_back_as_it_was)
{
    struct ages_record record = reported(T0, 300, 0.25);
    struct guest_stats *was = &record.sample.guest;

    was->verdict = VERDICT_ABOVE;
    was->reasons = REASON_SWAP_IN | REASON_TOUCHED;
    was->at_least_allocation = true;
    was->inconsistencies = INCONSISTENT_USED | INCONSISTENT_TIME;
    add(&record, 30);

    struct guest_stats is = latest();

    ck_assert_int_eq(is.source, GUEST_STATS_AGENT);
    ck_assert_uint_eq(is.total_bytes, 470 * MIB);
    ck_assert_uint_eq(is.used_bytes, 170 * MIB);
    ck_assert_uint_eq(is.available_bytes, 300 * MIB);
    ck_assert_uint_eq(is.cache_warm_bytes, 20 * MIB);
    ck_assert_uint_eq(is.cache_cold_bytes, 150 * MIB);
    ck_assert_double_eq(is.interval_s, 30);
    ck_assert_double_eq(is.psi_some, 0.25);
    ck_assert(isnan(is.psi_full) && isnan(is.refault_bytes_s) && isnan(is.major_faults_s));
    ck_assert_double_eq(is.swap_in_bytes_s, 4096);
    ck_assert_uint_eq(is.wss_cache_low_bytes, 1);
    ck_assert_uint_eq(is.wss_cache_high_bytes, 2);
    ck_assert_uint_eq(is.wss_anon_low_bytes, 3);
    ck_assert_uint_eq(is.wss_anon_high_bytes, 4);
    ck_assert_int_eq(is.verdict, VERDICT_ABOVE);
    ck_assert_uint_eq(is.reasons, was->reasons);
    ck_assert_uint_eq(is.inconsistencies, was->inconsistencies);
    ck_assert(is.at_least_allocation);
    ck_assert_double_eq(is.consistency, 0.875);
}

TEST(cases, why_there_is_none_comes_back)
{
    struct ages_record record = kept_record("web1", UUID_1, T0, 100);

    guest_stats_unavailable(&record.sample.guest, "no port %s", "for it");
    add(&record, 30);

    struct guest_stats is = latest();

    ck_assert_int_eq(is.source, GUEST_STATS_NONE);
    ck_assert_str_eq(is.unavailable, "no port for it");
    ck_assert_uint_eq(is.used_bytes, AGENT_UNKNOWN);
    ck_assert_sql(kept.path, "SELECT count(*) FROM word_bucket", "0");
    ck_assert_int_eq(bucket(BUCKET_MINUTE).source, GUEST_STATS_NONE);
}

TEST(cases, who_was_not_asked_has_no_row)
{
    struct ages_record record = kept_record("web1", UUID_1, T0, 100);

    add(&record, 30);
    ck_assert_sql(kept.path, "SELECT count(*) FROM word", "0");
    ck_assert_int_eq(latest().source, GUEST_STATS_NONE);
    ck_assert_str_eq(latest().unavailable, "");
}

TEST(cases, the_stream_has_it)
{
    struct ages_record record = kept_record("web1", UUID_1, T0, 100);
    struct guest_stats stats = {0};
    struct stream *stream = NULL;

    add(&record, 30);
    ck_assert_ok(stream_open(kept.path, &stream, &error));
    record = reported(T0 + 30, 300, 0.5);
    add(&record, 30);
    ck_assert_ok(stream_next(stream, see_latest, &stats, &error));
    ck_assert_double_eq(stats.psi_some, 0.5);
    stream_close(stream);
}

static void run_sql(const char *sql)
{
    sqlite3 *db;

    ck_assert_int_eq(sqlite3_open(kept.path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* When all samples had grown old their numbers begin at one again. */
TEST(cases, the_stream_goes_on_after_the_table_was_emptied)
{
    struct ages_record record = reported(T0, 300, 0.1);
    struct guest_stats stats = {0};
    struct stream *stream = NULL;

    for (int i = 0; i < 3; i++)
        add(&record, 30);
    ck_assert_ok(stream_open(kept.path, &stream, &error));
    run_sql("DELETE FROM word; DELETE FROM sample");
    record = reported(T0 + 86400, 300, 0.5);
    add(&record, 30);
    ck_assert_sql(kept.path, "SELECT id FROM sample", "1");
    ck_assert_ok(stream_next(stream, see_latest, &stats, &error));
    ck_assert_double_eq(stats.psi_some, 0.5);
    stream_close(stream);
}

/* The daemon sets a file aside and begins another: that one is marked as ours before it has
 * tables. */
TEST(cases, the_stream_waits_for_a_file_that_is_being_made)
{
    struct ages_record record = reported(T0, 300, 0.1);
    struct guest_stats stats = {0};
    struct stream *stream = NULL;
    struct store *store;
    struct error error = {0};
    char aside[256];

    add(&record, 30);
    ck_assert_int_eq(stream_open(kept.path, &stream, &error), 0);
    ck_assert_int_eq(file_quarantine(kept.path, aside, sizeof(aside), &error), 0);
    run_sql("PRAGMA application_id = 0x766d7773; PRAGMA journal_mode = WAL");
    ck_assert_msg(stream_next(stream, see_latest, &stats, &error) == 0, "%s", error.text);
    ck_assert_int_eq(history_open(kept.path, &store, &error), -EBUSY);
    ck_assert_ptr_nonnull(strstr(error.text, "nothing is in it yet"));
    record = reported(T0 + 30, 300, 0.5);
    add(&record, 30);
    ck_assert_msg(stream_next(stream, see_latest, &stats, &error) == 0, "%s", error.text);
    ck_assert_double_eq(stats.psi_some, 0.5);
    stream_close(stream);
}

/* --- minutes and hours ------------------------------------------------------------------------ */

/* 10 s at 0.1, 30 s at 0.5: 0.4; the least available, the most used, the worst verdict, the lowest
 * consistency score. */
TEST(cases, a_minute_sums_up)
{
    struct ages_record first = reported(T0 + 10, 300, 0.1);
    struct ages_record second = reported(T0 + 40, 100, 0.5);

    first.sample.guest.verdict = VERDICT_NEAR;
    first.sample.guest.consistency = 0.5;
    first.sample.guest.at_least_allocation = true;
    add(&first, 10);
    add(&second, 30);
    for (int level_s = BUCKET_MINUTE; level_s;
         level_s = level_s == BUCKET_MINUTE ? BUCKET_HOUR : 0) {
        struct guest_stats stats = bucket(level_s);

        ck_assert_int_eq(stats.source, GUEST_STATS_AGENT);
        ck_assert_double_eq_tol(stats.psi_some, 0.4, 1e-4);
        ck_assert_uint_eq(stats.available_bytes, 100 * MIB);
        ck_assert_uint_eq(stats.used_bytes, 370 * MIB);
        ck_assert_int_le(llabs((long long)stats.cache_cold_bytes - (long long)(75 * MIB)), 8192);
        ck_assert_int_eq(stats.verdict, VERDICT_NEAR);
        ck_assert(stats.at_least_allocation);
        ck_assert_double_eq(stats.consistency, 0.5);
        ck_assert(isnan(stats.psi_full));
    }
}

/* The first report after a boot has no rates: it does not count among them. */
TEST(cases, what_is_unknown_does_not_count)
{
    struct ages_record first = reported(T0 + 10, 300, NAN);
    struct ages_record second = reported(T0 + 20, 200, 0.5);
    struct ages_record third = reported(T0 + 30, 250, NAN);

    first.sample.guest.consistency = NAN;
    third.sample.guest.available_bytes = AGENT_UNKNOWN;
    add(&first, 10);
    add(&second, 10);
    add(&third, 10);

    struct guest_stats stats = bucket(BUCKET_MINUTE);

    ck_assert_double_eq_tol(stats.psi_some, 0.5, 1e-9);
    ck_assert_uint_eq(stats.available_bytes, 200 * MIB);
    ck_assert_double_eq(stats.consistency, 0.875);
}

/* --- retention -------------------------------------------------------------------------------- */

TEST(cases, it_goes_with_its_record)
{
    const struct store_retention retention = {6000, 360000, 720000, 0};
    struct ages_record record = reported(T0, 300, 0.1);
    cleanup_store struct store *store;

    add(&record, 30);
    record = reported(T0 + 7000, 300, 0.1);
    add(&record, 30);
    store = kept_open(kept.path);
    for (int i = 0; i < 3; i++) {
        const struct store_clock clock = {T0 + 6500 + 1800.0 * i, 1800.0 * i};

        ck_assert_int_eq(store_maintain(store, &retention, &clock, NULL), 0);
    }
    ck_assert_sql(kept.path, "SELECT count(*) FROM word", "1");
    ck_assert_sql(kept.path, "SELECT sample_id FROM word", "2");
    ck_assert_sql(kept.path, "SELECT count(*) FROM word_bucket", "4");
    for (int i = 0; i < 3; i++) {
        const struct store_clock clock = {T0 + 1e6 + 3600.0 * i, 1e6 + 3600.0 * i};

        ck_assert_int_eq(store_maintain(store, &retention, &clock, NULL), 0);
    }
    ck_assert_sql(kept.path, "SELECT count(*) FROM word", "0");
    ck_assert_sql(kept.path, "SELECT count(*) FROM word_bucket", "0");
}

/* 10 s at 0.1, 20 s in which no PSI was told, 30 s at 0.5: 0.4. */
TEST(cases, means_weigh_only_what_was_told)
{
    struct ages_record records[] = {reported(T0 + 10, 300, 0.1), reported(T0 + 20, 300, NAN),
                                    reported(T0 + 50, 300, 0.5)};
    const double periods_s[] = {10, 20, 30};

    records[1].sample.guest.cache_cold_bytes = AGENT_UNKNOWN;
    records[0].sample.guest.swap_in_bytes_s = NAN;
    for (int i = 0; i < 3; i++)
        add(&records[i], periods_s[i]);

    struct guest_stats stats = bucket(BUCKET_MINUTE);

    ck_assert_double_eq_tol(stats.psi_some, 0.4, 1e-4);
    ck_assert_uint_eq(stats.cache_cold_bytes, records[0].sample.guest.cache_cold_bytes);
    ck_assert_double_eq_tol(stats.swap_in_bytes_s, records[1].sample.guest.swap_in_bytes_s, 1e-6);
    ck_assert_sql(kept.path, "SELECT psi_some_ms / 1000 FROM word_bucket WHERE level_s = 60", "40");
}

/* --- what few tell ---------------------------------------------------------------------------- */

TEST(cases, its_own_working_set_comes_back)
{
    struct ages_record record = reported(T0, 300, 0.1);
    struct guest_stats *was = &record.sample.guest;

    add(&record, 30);
    ck_assert_sql(kept.path, "SELECT count(*) FROM own_set", "0");
    ck_assert(isnan(latest().own_window_s));
    ck_assert_uint_eq(latest().own_anon_bytes, AGENT_UNKNOWN);
    record.sample.time.tv_sec += 30;
    was->own_window_s = 3.25;
    was->own_age_s = 1.5;
    was->own_anon_bytes = 33 * MIB;
    was->own_file_bytes = 2 * MIB;
    add(&record, 30);

    struct guest_stats is = latest();

    ck_assert_double_eq(is.own_window_s, 3.25);
    ck_assert_double_eq(is.own_age_s, 1.5);
    ck_assert_uint_eq(is.own_anon_bytes, 33 * MIB);
    ck_assert_uint_eq(is.own_file_bytes, 2 * MIB);
}

static void add_last_report(const struct ages_record *record, const char *lines)
{
    cleanup_store struct store *store = kept_open(kept.path);
    const struct store_entry entry = {
        .record = record, .period_s = 30, .precision = 0.022, .last_report = lines};

    ck_assert_ok(store_add(store, &entry, 1, &error));
}

/* Returns 1, with its text and its time; 0: there is none. */
static int last_report(char lines[AGENT_LAST_REPORT_MAX], double *time_s)
{
    struct history_guest guest;
    struct store *store = NULL;
    struct error error = {0};

    ck_assert_msg(history_open(kept.path, &store, &error) == 0, "%s", error.text);
    ck_assert_int_eq(history_find(store, UUID_1, &guest, &error), 0);

    int rc = history_last_report(store, guest.id, lines, time_s, &error);

    store_close(store);
    return rc;
}

TEST(cases, the_last_report_of_its_agent_is_kept)
{
    static char lines[AGENT_LAST_REPORT_MAX];
    struct ages_record record = reported(T0, 300, 0.1);
    double time_s = 0;

    add(&record, 30);
    ck_assert_int_eq(last_report(lines, &time_s), 0);
    add_last_report(&record, "first\nof them");
    record.sample.time.tv_sec += 60;
    add_last_report(&record, "last\nof them");
    record.sample.time.tv_sec += 30;
    add(&record, 30);
    ck_assert_int_eq(last_report(lines, &time_s), 1);
    ck_assert_str_eq(lines, "last\nof them");
    ck_assert_double_eq_tol(time_s, T0 + 60, 1);
    ck_assert_sql(kept.path, "SELECT count(*) FROM last_report", "1");
    free(kept_ask(kept.path, "UPDATE last_report SET lines = CAST(zeroblob(40000) AS TEXT)"));
    ck_assert_int_eq(last_report(lines, &time_s), -EUCLEAN);
}

/* The same file, as a vmwss of schema version 1 wrote it. */
static const char as_version_1[] =
    "CREATE TABLE told(guest_id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, "
    "lines TEXT NOT NULL) STRICT;"
    "INSERT INTO told SELECT * FROM last_report; DROP TABLE last_report;"
    "PRAGMA user_version = 1";

TEST(cases, a_file_of_version_1_is_read_and_the_next_writer_converts_it)
{
    static char lines[AGENT_LAST_REPORT_MAX];
    struct ages_record record = reported(T0, 300, 0.1);
    double time_s = 0;
    sqlite3 *db;

    add_last_report(&record, "kept\nof version 1");
    ck_assert_int_eq(sqlite3_open(kept.path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, as_version_1, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    ck_assert_int_eq(last_report(lines, &time_s), 1);
    ck_assert_str_eq(lines, "kept\nof version 1");
    ck_assert_sql(kept.path, "PRAGMA user_version", "1");

    store_close(kept_open(kept.path));
    ck_assert_sql(kept.path, "PRAGMA user_version", "2");
    ck_assert_sql(kept.path, "SELECT count(*) FROM sqlite_schema WHERE name = 'told'", "0");
    *lines = '\0';
    ck_assert_int_eq(last_report(lines, &time_s), 1);
    ck_assert_str_eq(lines, "kept\nof version 1");
    ck_assert_double_eq_tol(time_s, T0, 1);
    store_close(kept_open(kept.path)); /* once more: nothing is left to convert */
    ck_assert_sql(kept.path, "SELECT count(*) FROM sample", "1");
}

/* Another program's table of that name is not converted. */
TEST(cases, a_table_of_another_form_is_refused)
{
    struct store *store = NULL;

    store_close(kept_open(kept.path));
    free(kept_ask(kept.path, "CREATE TABLE told(guest_id, time_ms, lines)"));
    ck_assert_error(history_open(kept.path, &store, &error), -EUCLEAN,
                    "its table told is not as vmwss makes it");
}

static const char strange_stats[] =
    "INSERT INTO word(sample_id, source, missing, window_s, verdict, reasons, at_least, doubts)"
    " VALUES (1, 'agent', '', 10, 'near', '', 0, '')";

/* A guest's report must not make the host's record beside it unreadable: a rate that is not a
 * finite number is unknown. */
TEST(cases, a_figure_that_is_none_is_unknown)
{
    static const char *const strange[] = {
        "UPDATE word SET psi_some = -1, agreement = 9e999, swap_in_bytes_s = 9e999",
        "UPDATE word SET psi_some = -9e999, agreement = -1, swap_in_bytes_s = -5",
    };
    struct ages_record record = reported(T0, 300, 0.1);

    add(&record, 30);
    for (size_t i = 0; i < COUNT(strange); i++) {
        free(kept_ask(kept.path, "DELETE FROM word"));
        free(kept_ask(kept.path, strange_stats));
        free(kept_ask(kept.path, strange[i]));
        ck_assert_int_eq(latest().source, GUEST_STATS_AGENT);
        ck_assert(isnan(latest().psi_some));
        ck_assert(isnan(latest().consistency));
        ck_assert(isnan(latest().swap_in_bytes_s));
    }
}

/* And an infinite one is not even kept. */
TEST(cases, an_infinite_rate_is_not_kept)
{
    struct ages_record record = reported(T0, 300, 0.1);

    record.sample.guest.swap_in_bytes_s = INFINITY;
    add(&record, 30);
    ck_assert(isnan(latest().swap_in_bytes_s));
    ck_assert(isnan(bucket(BUCKET_MINUTE).swap_in_bytes_s));
}

/* Invalid rows, whoever wrote them into the file, are refused. */
TEST(cases, a_strange_row_is_refused)
{
    static const char *const strange[] = {
        "UPDATE word SET total_bytes = -1",
        "UPDATE word SET missing = hex(zeroblob(1000))",
    };
    struct ages_record record = reported(T0, 300, 0.1);
    struct guest_stats stats;

    add(&record, 30);
    for (size_t i = 0; i < COUNT(strange); i++) {
        struct store *store = NULL;
        struct error error = {0};

        free(kept_ask(kept.path, "DELETE FROM word"));
        free(kept_ask(kept.path, strange_stats));
        free(kept_ask(kept.path, strange[i]));
        ck_assert_int_eq(history_open(kept.path, &store, &error), 0);
        ck_assert_int_eq(history_latest(store, see_latest, &stats, &error), -EUCLEAN);
        store_close(store);
    }
}
