// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_writes.c  What guests write, in the history and on the exporter's page. */
#include "kept.h"

#include "history/writes.h"
#include "show/history.h"
#include "show/metrics/prometheus.h"

#include "caught.h"
#include "fixture.h"

#include <errno.h>

FIXTURE(cases, .setup = kept_begin, .timeout_s = 60);

static void run_sql(const char *sql)
{
    sqlite3 *db;

    ck_assert_int_eq(sqlite3_open(kept.path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static struct ages_record writing_record(const char *name, const char *uuid, double at_s)
{
    struct ages_record record = kept_record(name, uuid, at_s, 64);

    record.sample.writes = (struct write_curve){
        .method = "soft-dirty",
        .flags = FLAG_THP,
        .granularity_bytes = 4096,
        .sparse_end_bytes = 512 * MIB,
        .n = 2,
        .points = {{0.1, 0.104, 2 * MIB, MIB, 3 * MIB}, {10, 10.02, 8 * MIB, 8 * MIB, 9 * MIB}}};
    return record;
}

static int count_writes(const struct kept_writes *writes, void *context)
{
    *(double *)context += writes->time_s;
    return 0;
}

TEST(cases, what_a_guest_writes_is_kept_beside_its_records)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct ages_record writing = writing_record("web1", UUID_1, 1000.25);
    struct ages_record other = kept_record("web1", UUID_1, 1030, 64);
    struct kept_writes writes;
    struct history_query query = {.from_s = 0, .to_s = 2000};
    double times_s = 0;

    ck_assert_int_eq(kept_add(store, &writing, NULL), 0);
    ck_assert_int_eq(kept_add(store, &other, NULL), 0);
    writing = writing_record("web1", UUID_1, 1060);
    writing.sample.writes.points[1].bytes = writing.sample.writes.points[1].high_bytes;
    ck_assert_int_eq(kept_add(store, &writing, NULL), 0);
    /* a record without writes has no row, and so no 0 */
    ck_assert_sql(kept.path, "SELECT count(*) FROM sample", "3");
    ck_assert_sql(kept.path,
                  "SELECT group_concat(time_ms || ' ' || method || ' ' || flags || ' ' ||"
                  " granularity_bytes || ' ' || sparse_end_bytes) FROM write_set",
                  "1000250 soft-dirty thp 4096 536870912,1060000 soft-dirty thp 4096 536870912");
    ck_assert_sql(kept.path, "SELECT windows FROM write_set WHERE time_ms = 1000250",
                  "[[0.1,0.104,2097152,1048576,3145728],[10.0,10.02,8388608,8388608,9437184]]");

    cleanup_store struct store *reader = kept_read();

    ck_assert_int_eq(history_latest_writes(reader, "testhost", UUID_1, 0, &writes, NULL), 1);
    ck_assert_double_eq(writes.time_s, 1060);
    ck_assert_str_eq(writes.curve.method, "soft-dirty");
    ck_assert_uint_eq(writes.curve.flags, FLAG_THP);
    ck_assert_uint_eq(writes.curve.n, 2);
    ck_assert_double_eq(writes.curve.points[1].est_window_s, 10.02);
    ck_assert_uint_eq(writes.curve.points[1].bytes, 9 * MIB);
    ck_assert_int_eq(history_latest_writes(reader, "testhost", UUID_1, 1061, &writes, NULL), 0);
    ck_assert_double_eq(writes.time_s, 0);
    ck_assert_int_eq(history_latest_writes(reader, "testhost", UUID_2, 0, &writes, NULL), 0);
    ck_assert_int_eq(history_writes(reader, 1, &query, count_writes, &times_s, NULL), 0);
    ck_assert_double_eq(times_s, 2060.25);
}

/* As a reader would refuse it. */
TEST(cases, an_impossible_curve_is_refused)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct ages_record record = writing_record("web1", UUID_1, 1000);
    struct write_curve *curve = &record.sample.writes;
    const struct write_curve good = *curve;

    curve->n = 0;
    ck_assert_int_eq(kept_add(store, &record, NULL), -EINVAL);
    *curve = good;
    curve->points[1].est_window_s = curve->points[0].est_window_s;
    ck_assert_int_eq(kept_add(store, &record, NULL), -EINVAL);
    *curve = good;
    curve->points[0].low_bytes = curve->points[0].bytes + 1;
    ck_assert_int_eq(kept_add(store, &record, NULL), -EINVAL);
    *curve = good;
    ck_assert_int_eq(kept_add(store, &record, NULL), 0);
}

TEST(cases, a_made_up_curve_is_named)
{
    static const char *const windows[] = {"", "[]", "[[1,1,3,2]]", "[[1,1,3,4,5]]",
                                          "[[1,1,3,2,5],[2,1,3,2,5]]"};
    struct kept_writes writes;
    struct error error = {0};

    for (size_t i = 0; i < COUNT(windows); i++) {
        struct ages_record record = writing_record("web1", UUID_1, 1000);
        struct store *store = kept_open(kept.path);
        char sql[128];

        ck_assert_int_eq(kept_add(store, &record, NULL), 0);
        store_close(store);
        snprintf(sql, sizeof(sql), "UPDATE write_set SET windows = '%s'", windows[i]);
        run_sql(sql);
        store = kept_read();
        ck_assert_int_eq(history_latest_writes(store, "testhost", UUID_1, 0, &writes, &error),
                         -EUCLEAN);
        ck_assert_has(error.text, "a write working set that vmwss has not written");
        store_close(store);
    }
}

TEST(cases, an_older_file_has_no_writes)
{
    struct store *store = kept_open(kept.path);
    struct ages_record record = writing_record("web1", UUID_1, 1000);
    struct history_query query = {.from_s = 0, .to_s = 2000};
    struct kept_writes writes;
    double times_s = 0;

    ck_assert_int_eq(kept_add(store, &record, NULL), 0);
    store_close(store);
    run_sql("DROP TABLE write_set");
    store = kept_read();
    ck_assert_int_eq(history_latest_writes(store, "testhost", UUID_1, 0, &writes, NULL), 0);
    ck_assert_int_eq(history_writes(store, 1, &query, count_writes, &times_s, NULL), 0);
    ck_assert_double_eq(times_s, 0);
    store_close(store);
    store = kept_open(kept.path); /* a writer makes it */
    ck_assert_int_eq(kept_add(store, &record, NULL), 0);
    store_close(store);
    ck_assert_sql(kept.path, "SELECT count(*) FROM write_set", "1");
}

/* They are kept as long as minutes, and their guest as long as they are. */
TEST(cases, old_writes_are_deleted)
{
    cleanup_store struct store *store = kept_open(kept.path);
    const struct store_retention retention = store_retention_default;
    const double day_s = 86400, now_s = 40 * day_s;
    struct store_clock clock = {.wall_s = now_s, .steady_s = 0};

    for (int i = 0; i < 40; i++) {
        struct ages_record record = writing_record("web1", UUID_1, i * day_s + 1000);

        ck_assert_int_eq(kept_add(store, &record, NULL), 0);
    }
    ck_assert_int_eq(store_maintain(store, &retention, &clock, NULL), 0);
    ck_assert_sql(kept.path, "SELECT count(*) FROM write_set", "40");
    clock.steady_s += 3600, clock.wall_s += 3600; /* now the clock is believed */
    ck_assert_int_eq(store_maintain(store, &retention, &clock, NULL), 0);
    ck_assert_sql(kept.path, "SELECT count(*) || ' ' || min(time_ms) FROM write_set",
                  "30 865000000");
    clock.steady_s += 1000 * day_s, clock.wall_s += 1000 * day_s;
    ck_assert_int_eq(store_maintain(store, &retention, &clock, NULL), 0);
    ck_assert_sql(kept.path, "SELECT count(*) FROM write_set", "0");
    ck_assert_sql(kept.path, "SELECT count(*) FROM guest", "0");
}

/* --- shown ------------------------------------------------------------------------------------ */

static const char *page_at(double now_s)
{
    static char text[1 << 16];
    cleanup_store struct store *store = kept_read();
    struct current current;
    FILE *out = fmemopen(text, sizeof(text), "w");

    ck_assert_int_eq(current_read(store, now_s, 1e9, &current, NULL), 0);
    prometheus_write(out, &current, &(struct balloon_metrics){0}, 0);
    current_free(&current);
    fclose(out);
    return text;
}

/* Records come every half minute, writes every half hour: the page has the last ones for a day. */
TEST(cases, the_page_has_the_last_writes)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct ages_record writing = writing_record("web1", UUID_1, 1000);
    struct ages_record later = kept_record("web1", UUID_1, 1030, 64);
    struct ages_record other = kept_record("web2", UUID_2, 1030, 64);
    const char *text;

    ck_assert_int_eq(kept_add(store, &writing, NULL), 0);
    ck_assert_int_eq(kept_add(store, &later, NULL), 0);
    ck_assert_int_eq(kept_add(store, &other, NULL), 0);
    text = page_at(1031);
    ck_assert_has(text, "\nvmwss_write_set_bytes{domain=\"web1\",window=\"0.1\"} 2097152\n"
                        "vmwss_write_set_bytes{domain=\"web1\",window=\"10\"} 8388608\n");
    ck_assert_has(text, "\nvmwss_write_set_high_bytes{domain=\"web1\",window=\"10\"} 9437184\n");
    ck_assert_has(text, "\nvmwss_write_set_timestamp_seconds{domain=\"web1\"} 1000\n");
    /* not known is no 0 */
    ck_assert_ptr_null(strstr(text, "vmwss_write_set_bytes{domain=\"web2\""));
    ck_assert_ptr_null(strstr(text, "vmwss_write_set_timestamp_seconds{domain=\"web2\""));
    ck_assert_ptr_null(strstr(page_at(1000 + 86401), "vmwss_write_set_bytes{"));
}

static const char *printed(enum show_format format, double window_s)
{
    cleanup_store struct store *store = kept_read();
    struct history_guest guest;
    struct kept_writes writes;

    ck_assert_int_eq(history_find(store, UUID_1, &guest, NULL), 0);
    ck_assert_int_eq(history_latest_writes(store, "testhost", UUID_1, 0, &writes, NULL), 1);
    catch_output();
    ck_assert_int_eq(history_writes_print(format, &guest, &writes, 1, window_s), 0);
    return caught_output();
}

TEST(cases, the_history_shows_writes)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct ages_record writing = writing_record("web1", UUID_1, 1000.25);
    const char *text;

    ck_assert_int_eq(kept_add(store, &writing, NULL), 0);
    text = printed(SHOW_CSV, 0);
    ck_assert_str_eq(
        text,
        "time,host,domain,uuid,method,granularity_bytes,sparse_end_bytes,flags,window_s,"
        "est_window_s,write_set_bytes,write_set_low_bytes,write_set_high_bytes\r\n"
        "1970-01-01T00:16:40.250Z,testhost,web1," UUID_1 ",soft-dirty,4096,536870912,thp,0.1,0.104,"
        "2097152,1048576,3145728\r\n"
        "1970-01-01T00:16:40.250Z,testhost,web1," UUID_1 ",soft-dirty,4096,536870912,thp,10,10.02,"
        "8388608,8388608,9437184\r\n");
    text = printed(SHOW_JSON, 10);
    ck_assert_has(text, "{\"schema\":\"vmwss.write_set.v1\",\"time\":\"1970-01-01T00:16:40.250Z\","
                        "\"host\":\"testhost\",\"domain\":\"web1\",\"uuid\":\"" UUID_1
                        "\",\"method\":\"soft-dirty\",\"granularity_bytes\":4096,"
                        "\"sparse_end_bytes\":536870912,\"flags\":[\"thp\"],\"window_s\":10.0");
    ck_assert_ptr_null(strstr(text, "\"window_s\":0.1"));
    text = printed(SHOW_TABLE, 10);
    ck_assert_has(text, "8.0 MiB");
}
