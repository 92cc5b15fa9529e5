// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_store.c  The history's database: what is in it, whose it is, and what becomes of a
 * damaged one. */
#include "kept.h"

#include "history/history.h"

#include "fixture.h"
#include "history/open_store.h"
#include "history/size.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

FIXTURE(cases, .setup = kept_begin, .timeout_s = 60);

TEST(cases, a_record_is_one_row)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct ages_record record = kept_record("web1", UUID_1, 1000.25, 64);

    ck_assert_int_eq(kept_add(store, &record, NULL), 0);
    ck_assert_str_eq(store_notice(store), "");
    ck_assert_sql(kept.path, "SELECT host || ' ' || uuid || ' ' || name FROM guest",
                  "testhost " UUID_1 " web1");
    ck_assert_sql(kept.path, "SELECT time_ms || ' ' || period_s || ' ' || precision FROM sample",
                  "1000250 30.0 0.022");
    ck_assert_sql(kept.path, "SELECT windows FROM sample",
                  "[[10.0,10.04,67108864,66584576,68157440,0.125,0,0.25],"
                  "[60.0,60.01,134217728,133693440,135266304,0.25,0,1.5]]");
    ck_assert_sql(kept.path, "SELECT ages FROM sample",
                  "[[0.0,10.0,1,0,2],[10.0,60.0,3,2,4],[60.0,null,5,4,6]]");
    ck_assert_sql(kept.path, "SELECT flags || ' ' || method || ' ' || mode FROM sample",
                  "thp,partial idle panel");
    ck_assert_sql(kept.path,
                  "SELECT domain || ' ' || wss_bytes || ' ' || time FROM wss WHERE window_s = 60",
                  "web1 134217728 1970-01-01T00:16:40.250Z");
}

/* Windows of 10 s and 60 s. */
TEST(cases, a_record_stands_for_no_more_than_was_seen)
{
    struct ages_record record = kept_record("web1", UUID_1, 1e9, 100);
    struct sample_record *sample = &record.sample;

    ck_assert_double_eq(sample_period_s(sample, 30, 30), 30);
    ck_assert_double_eq(sample_period_s(sample, 45, 30), 45); /* late */
    ck_assert_double_eq(sample_period_s(sample, 28800, 30), sample->windows[1].est_window_s);
    ck_assert_double_eq(sample_period_s(sample, 28800, 90), 90);
    sample->n_windows = 1;
    ck_assert_double_eq(sample_period_s(sample, 45, 5), sample->windows[0].est_window_s);
    sample->n_windows = 0;
    ck_assert_double_eq(sample_period_s(sample, 45, 30), 30);
}

TEST(cases, a_guest_is_its_uuid_and_goes_by_its_last_name)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct ages_record records[] = {
        kept_record("old", UUID_1, 1000, 64),
        kept_record("new", UUID_1, 1030, 64),
        kept_record("other", UUID_2, 1030, 64),
    };

    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(kept_add(store, &records[i], NULL), 0);
    ck_assert_sql(kept.path, "SELECT group_concat(name) FROM guest", "new,other");
    ck_assert_sql(kept.path, "SELECT count(*) FROM sample WHERE guest_id = 1", "2");
}

TEST(cases, names_are_data)
{
    static const char name[] = "x'); DROP TABLE sample; --\"\n\x1b[31m";
    cleanup_store struct store *store = kept_open(kept.path);
    struct ages_record record = kept_record(name, UUID_1, 1000, 64);

    ck_assert_int_eq(kept_add(store, &record, NULL), 0);
    ck_assert_int_eq(kept_add(store, &record, NULL), 0);
    ck_assert_sql(kept.path, "SELECT name FROM guest", name);
    ck_assert_sql(kept.path, "SELECT count(*) FROM sample", "2");
}

TEST(cases, all_of_a_call_or_nothing)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct ages_record good = kept_record("web1", UUID_1, 1000, 64);
    struct ages_record bad = kept_record("web2", "", 1000, 64);
    struct store_entry entries[] = {{.record = &good, .period_s = 30},
                                    {.record = &bad, .period_s = 30}};
    struct error error = {0};

    ck_assert_error(store_add(store, entries, 2, &error), -EINVAL,
                    "domain web2: a guest without a UUID");
    ck_assert_sql(kept.path, "SELECT count(*) FROM sample", "0");
    entries[1] = (struct store_entry){.record = &good, .period_s = NAN};
    ck_assert_int_eq(store_add(store, entries, 2, &error), -EINVAL);
    good.sample.cpu_s = HUGE_VAL;
    ck_assert_int_eq(store_add(store, entries, 1, &error), -EINVAL);
    good.sample.cpu_s = 0;
    ck_assert_int_eq(store_add(store, entries, 1, &error), 0);
}

/* A reader would refuse this record, and with it all of the guest's history. */
TEST(cases, a_working_set_that_cannot_be_is_not_kept)
{
    cleanup_store struct store *store = kept_open(kept.path);
    const struct ages_record good = kept_record("web1", UUID_1, 1000, 64);
    struct ages_record bad[5];
    struct error error = {0};

    for (size_t i = 0; i < 5; i++)
        bad[i] = good;
    bad[0].sample.windows[1].wss_bytes = bad[0].sample.windows[1].wss_high_bytes = 1ULL << 63;
    bad[1].sample.windows[0].wss_low_bytes = good.sample.windows[0].wss_bytes + 1;
    bad[2].sample.windows[0].wss_high_bytes = good.sample.windows[0].wss_bytes - 1;
    bad[3].bins[1].high_bytes = 1ULL << 57;
    bad[4].sample.resident_bytes = UINT64_MAX;
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(kept_add(store, &bad[i], &error), -EINVAL);
        ck_assert_str_eq(strrchr(error.text, ':'), ": a working set is not within its bounds");
    }
    ck_assert_int_eq(kept_add(store, &good, &error), 0);
    ck_assert_sql(kept.path, "SELECT count(*) FROM sample", "1");
}

TEST(cases, it_is_found_again)
{
    struct ages_record record = kept_record("web1", UUID_1, 1000, 64);

    for (int i = 0; i < 3; i++) {
        struct store *store = kept_open(kept.path);

        ck_assert_int_eq(kept_add(store, &record, NULL), 0);
        store_close(store);
    }
    ck_assert_sql(kept.path, "SELECT count(*) FROM sample", "3");
    ck_assert_sql(kept.path, "PRAGMA journal_mode", "wal");
    ck_assert_sql(kept.path, "PRAGMA application_id", "1986885491");
}

TEST(cases, nothing_is_written_while_somebody_holds_it)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct ages_record record = kept_record("web1", UUID_1, 1000, 64);
    struct error error = {0};
    sqlite3 *db;

    ck_assert_int_eq(sqlite3_open(kept.path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_error(kept_add(store, &record, &error), -EBUSY, kept.path);
    sqlite3_close(db);
    ck_assert_int_eq(kept_add(store, &record, &error), 0);
    ck_assert_sql(kept.path, "SELECT count(*) FROM sample", "1");
}

/* --- whose file it is ------------------------------------------------------------------------- */

static void refused(const char *path, int code, const char *message)
{
    struct store *store;
    struct error error = {0};

    ck_assert_int_eq(store_open(path, &store, &error), code);
    ck_assert_msg(strstr(error.text, message) && strstr(error.text, path), "%s", error.text);
}

static void write_file(const char *path, const char *text)
{
    cleanup_file FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
}

TEST(cases, other_files_are_refused_and_left_alone)
{
    sqlite3 *db;
    const char *path = TEXT_OF(128, "%s/disk.img", kept.dir);

    write_file(path, "not a database");
    refused(path, -EINVAL, "is not a history");
    ck_assert_int_eq(access(path, F_OK), 0);

    ck_assert_int_eq(sqlite3_open(kept.path, &db), SQLITE_OK);
    sqlite3_exec(db, "CREATE TABLE mine(x)", NULL, NULL, NULL);
    sqlite3_close(db);
    refused(kept.path, -EINVAL, "is not a history");
    ck_assert_sql(kept.path, "SELECT count(*) FROM mine", "0");

    refused(kept.dir, -EISDIR, "is no file");
    refused("/nonexistent/history.db", -ENOENT, "No such file");
}

/* Also by a reader: nothing of it is changed, nor is it set aside. */
TEST(cases, another_version_is_refused_and_left_alone)
{
    static const char *const versions[] = {"99", "6", "3", "-1"};
    struct store *reader;

    store_close(kept_open(kept.path));
    for (size_t i = 0; i < COUNT(versions); i++) {
        char sql[64];
        char message[64];

        snprintf(sql, sizeof(sql), "PRAGMA user_version = %s", versions[i]);
        snprintf(message, sizeof(message), "schema version %s, ", versions[i]);
        free(kept_ask(kept.path, sql));
        refused(kept.path, -EINVAL, message);
        refused(kept.path, -EINVAL, ": use the vmwss that wrote it, or move it away");
        ck_assert_error(history_open(kept.path, &reader, &error), -EINVAL, message);
        ck_assert_sql(kept.path, "PRAGMA user_version", versions[i]);
    }
    ck_assert_sql(kept.path, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'", "12");
}

/* --- damage ----------------------------------------------------------------------------------- */

static void fill(unsigned n)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct ages_record record = kept_record("web1", UUID_1, 1000, 64);

    for (unsigned i = 0; i < n; i++)
        ck_assert_int_eq(kept_add(store, &record, NULL), 0);
}

static void overwrite(off_t at, size_t n)
{
    cleanup_free char *junk = malloc(n);
    cleanup_close int fd = open(kept.path, O_WRONLY);

    memset(junk, 0x5a, n);
    ck_assert_int_eq(pwrite(fd, junk, n, at), (int)n);
}

/* The damaged file is still there under the name that the notice says, and recording goes on. */
static void set_aside_and_begun_anew(void)
{
    struct store *store = kept_open(kept.path);
    struct ages_record record = kept_record("web1", UUID_1, 1000, 64);
    const char *name = strstr(store_notice(store), "set aside as ");
    char path[256];

    ck_assert_ptr_nonnull(name);
    ck_assert_int_eq(sscanf(name, "set aside as %255[^,],", path), 1);
    ck_assert_int_eq(access(path, F_OK), 0);
    ck_assert_int_eq(kept_add(store, &record, NULL), 0);
    store_close(store);
    ck_assert_sql(kept.path, "SELECT count(*) FROM sample", "1");
}

TEST(cases, damaged_pages_are_set_aside)
{
    fill(200);
    overwrite(2 * 4096, 8 * 4096);
    set_aside_and_begun_anew();
    /* and twice within a second */
    overwrite(2 * 4096, 2 * 4096);
    set_aside_and_begun_anew();
}

TEST(cases, a_lost_first_page_is_set_aside)
{
    fill(20);
    overwrite(0, 4096);
    set_aside_and_begun_anew();
}

TEST(cases, a_cut_file_is_set_aside)
{
    fill(200);
    ck_assert_int_eq(truncate(kept.path, 3 * 4096 + 77), 0);
    set_aside_and_begun_anew();
}

TEST(cases, other_tables_are_set_aside)
{
    store_close(kept_open(kept.path));
    free(kept_ask(kept.path, "DROP VIEW wss"));
    free(kept_ask(kept.path,
                  "ALTER TABLE sample ADD COLUMN evil INTEGER AS (abs(-9223372036854775808))"));
    set_aside_and_begun_anew();
}

/* Without them a reader of many guests does not end. */
TEST(cases, other_indexes_are_set_aside)
{
    store_close(kept_open(kept.path));
    free(kept_ask(kept.path, "DROP INDEX sample_by_guest"));
    set_aside_and_begun_anew();
    free(kept_ask(kept.path, "DROP INDEX event_by_guest"));
    free(kept_ask(kept.path, "CREATE INDEX event_by_guest ON event(guest_id, time_ms) WHERE 0"));
    set_aside_and_begun_anew();
}

TEST(cases, an_empty_file_is_new)
{
    write_file(kept.path, "");
    store_close(kept_open(kept.path));
    ck_assert_sql(kept.path, "SELECT count(*) FROM sample", "0");
}

TEST(cases, others_may_not_read_it)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct ages_record record = kept_record("web1", UUID_1, 1000, 64);
    const char *const suffixes[] = {"", "-wal", "-shm"};

    ck_assert_int_eq(kept_add(store, &record, NULL), 0);
    for (size_t i = 0; i < 3; i++) {
        char path[128];
        struct stat st;

        snprintf(path, sizeof(path), "%s%s", kept.path, suffixes[i]);
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_int_eq(st.st_mode & 0777, 0640);
    }
}

/* A reader in the middle of a query, as one whose output is not read. */
static sqlite3_stmt *begin_reading(sqlite3 **db)
{
    sqlite3_stmt *statement;

    ck_assert_int_eq(sqlite3_open_v2(kept.path, db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(*db, "SELECT * FROM sample", -1, &statement, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    return statement;
}

TEST(cases, a_reader_that_does_not_finish_has_a_bound)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct ages_record record = kept_record("web1", UUID_1, 1000, 64);
    struct error error = {0};
    sqlite3 *db;
    unsigned added = 0;

    ck_assert_int_eq(kept_add(store, &record, NULL), 0);

    sqlite3_stmt *reader = begin_reading(&db);

    store->wal_max_bytes = 8 << 20;
    while (added < 10000 && kept_add(store, &record, &error) == 0) {
        record.sample.time.tv_sec += 30;
        added++;
    }
    ck_assert_int_eq(error.code, -EBUSY);
    ck_assert_ptr_nonnull(strstr(error.text, "WAL has grown to 8 MiB, as a reader"));
    ck_assert_uint_ge(store_wal_held_bytes(store), 8 << 20);
    ck_assert_uint_lt(store_wal_held_bytes(store), 13 << 20);
    sqlite3_finalize(reader);
    sqlite3_close(db);
    ck_assert_int_eq(kept_add(store, &record, NULL), 0);
    ck_assert_uint_eq(store_wal_held_bytes(store), 0);
}

static int64_t number(const char *sql)
{
    char *text = kept_ask(kept.path, sql);
    int64_t value = text ? strtoll(text, NULL, 10) : 0;

    free(text);
    return value;
}

static int64_t file_bytes(void)
{
    return number("PRAGMA page_count") * 4096;
}

TEST(cases, the_oldest_goes_when_it_is_too_large)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct ages_record record = kept_record("web1", UUID_1, 1000, 64);
    struct store_entry entries[100];
    struct ages_record records[100];

    for (int i = 0; i < 120; i++) {
        for (int j = 0; j < 100; j++) {
            records[j] = record;
            entries[j] = (struct store_entry){.record = &records[j], .period_s = 30};
            record.sample.time.tv_sec += 30;
        }
        ck_assert_int_eq(store_add(store, entries, 100, NULL), 0);
    }

    int64_t whole = file_bytes();

    ck_assert_int_eq(size_fit(store, (uint64_t)whole, NULL), 0);
    ck_assert_int_eq(number("SELECT count(*) FROM sample"), 12000);
    ck_assert_int_eq(size_fit(store, (uint64_t)(whole * 7 / 10), NULL), 0);
    ck_assert_int_le(file_bytes(), whole * 7 / 10);
    ck_assert_int_eq(number("SELECT max(id) FROM sample"), 12000);
    ck_assert_int_gt(number("SELECT min(id) FROM sample"), 5000);
    ck_assert_int_eq(number("SELECT sum(records) FROM bucket WHERE level_s = 60"), 12000);
    ck_assert_int_eq(size_fit(store, (uint64_t)(whole / 10), NULL), 0);
    ck_assert_int_le(file_bytes(), whole / 10);
    ck_assert_int_eq(number("SELECT sum(records) FROM bucket WHERE level_s = 3600"), 12000);
    ck_assert_sql(kept.path, "PRAGMA integrity_check", "ok");
}
