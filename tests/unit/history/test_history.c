// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_history.c  Down-sampling, retention, and reading what is kept, also of a
 * hostile file. */
#include "kept.h"

#include "history/event.h"
#include "history/history.h"
#include "history/row.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define T0 1700002800.0 /* a full hour */

/* Records of one guest, one every @p period_s: up to a hundred in a transaction, as of a daemon
 * that had to wait. */
static void add_all(struct store *store, const uint64_t *mib, size_t n, double period_s)
{
    static struct ages_record records[100];
    static struct store_entry entries[COUNT(records)];

    for (size_t i = 0, k = 0; i < n; i++) {
        records[k] = kept_record("web1", UUID_1, T0 + period_s * (double)i, mib[i]);
        entries[k] = (struct store_entry){&records[k], .period_s = period_s, .precision = 0.022};
        if (++k < COUNT(records) && i + 1 < n)
            continue;
        ck_assert_ok(store_add(store, entries, k, &error));
        k = 0;
    }
}

/* --- locks ------------------------------------------------------------------------------------ */

/* Not by fork(2) alone: SQLite would believe to hold what this process holds. */
static void ask_in_another_process(void)
{
    unit_shell("sqlite3 '%s' 'SELECT count(*) FROM sample' >/dev/null", kept.path);
}

FIXTURE(cases, .setup = kept_begin, .timeout_s = 120);

/* close(2) of any descriptor of the file drops the locks of the process; who comes then takes the
 * WAL for left over. */
TEST(cases, a_reader_beside_the_writer_costs_it_no_lock)
{
    struct store *writer = kept_open(kept.path);
    struct store *reader = NULL;
    char wal[128];

    kept_add_of(writer, UUID_1, T0, 100, 30);
    ck_assert_int_eq(history_open_beside(kept.path, &reader, NULL), 0);
    store_close(reader);
    ask_in_another_process();
    snprintf(wal, sizeof(wal), "%s-wal", kept.path);
    ck_assert_int_eq(access(wal, F_OK), 0);
    kept_add_of(writer, UUID_1, T0 + 30, 100, 30);
    store_close(writer);
    ck_assert_sql(kept.path, "SELECT count(*) FROM sample", "2");
}

/* --- links ------------------------------------------------------------------------------------ */

/* A history elsewhere that ended as it should, and at kept.path a link to it. */
static struct kept_dir make_linked(void)
{
    struct kept_dir target = kept_dir_make();
    char beside[128];

    store_close(kept_open(target.path));
    ck_assert_int_eq(symlink(target.path, kept.path), 0);
    snprintf(beside, sizeof(beside), "%s-wal", target.path);
    unlink(beside);
    snprintf(beside, sizeof(beside), "%s-shm", target.path);
    unlink(beside);
    return target;
}

static void check_alone(const struct kept_dir *target)
{
    char beside[128];

    snprintf(beside, sizeof(beside), "%s-wal", target->path);
    ck_assert_int_lt(access(beside, F_OK), 0);
    snprintf(beside, sizeof(beside), "%s-shm", target->path);
    ck_assert_int_lt(access(beside, F_OK), 0);
}

static void check_refused(int rc, const struct error *error)
{
    ck_assert_int_eq(rc, -ELOOP);
    ck_assert_msg(strstr(error->text, kept.path) && strstr(error->text, "name the file itself"),
                  "%s", error->text);
}

/* SQLite would make its files beside the target, which may be in any directory of root's. */
TEST(cases, root_follows_no_link)
{
    struct kept_dir target = make_linked();
    struct store *store = NULL;
    struct error error = {0};

    if (geteuid() == 0) {
        check_refused(history_open(kept.path, &store, &error), &error);
        check_refused(history_open_beside(kept.path, &store, &error), &error);
        check_refused(store_open(kept.path, &store, &error), &error);
        check_alone(&target);
        ck_assert_int_eq(history_open(target.path, &store, &error), 0); /* the file itself */
        store_close(store);
    }
}

/* The administrator's link is followed, unlike one in the directory, which the service owns. */
TEST(cases, root_follows_a_link_to_the_directory)
{
    char link[96];
    struct store *store = NULL;

    store_close(kept_open(kept.path));
    snprintf(link, sizeof(link), "%s.link", kept.dir);

    const char *path = TEXT_OF(128, "%s/history.db", link);

    ck_assert_int_eq(symlink(kept.dir, link), 0);
    ck_assert_ok(history_open(path, &store, &error));
    store_close(store);
    ck_assert_int_eq(chdir(kept.dir), 0);
    ck_assert_ok(history_open("history.db", &store, &error));
    store_close(store);
    unlink(link);
}

TEST(cases, users_follow_links)
{
    const uid_t nobody = 65534;
    struct kept_dir target = make_linked();
    struct store *store = NULL;
    struct error error = {0};
    int rc;

    ck_assert_int_eq(chmod(kept.dir, 0755), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(target.dir, nobody, (gid_t)-1), 0);
        ck_assert_int_eq(chown(target.path, nobody, (gid_t)-1), 0);
        ck_assert_int_eq(seteuid(nobody), 0);
    }
    rc = history_open(kept.path, &store, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    store_close(store);
    ck_assert_int_eq(seteuid(getuid()), 0);
}

/* --- points ----------------------------------------------------------------------------------- */

struct points {
    size_t n;
    struct history_point at[512];
};

static int see(const struct history_point *point, void *context)
{
    struct points *points = context;

    ck_assert_uint_lt(points->n, 512);
    points->at[points->n++] = *point;
    return 0;
}

/* Returns their number. */
static size_t read_points(struct points *points, int level_s, double window_s)
{
    cleanup_store struct store *store = kept_read();
    struct history_guest guest;
    const struct history_query query = {level_s, 0, 1e10, window_s};

    points->n = 0;
    ck_assert_ok(history_find(store, UUID_1, &guest, &error));
    ck_assert_ok(history_points(store, &guest, &query, see, points, &error));
    return points->n;
}

/* 100 MiB for 10 s, 200 MiB for 30 s, then 400 MiB for 20 s in the next minute. */
TEST(cases, minutes_and_hours_hold_what_they_must)
{
    static struct points points;
    struct store *store = kept_open(kept.path);

    kept_add_of(store, UUID_1, T0 + 10, 100, 10);
    kept_add_of(store, UUID_1, T0 + 40, 200, 30);
    kept_add_of(store, UUID_1, T0 + 60, 400, 20);
    kept_add_of(store, UUID_2, T0 + 60, 999, 20); /* another guest's */
    store_close(store);

    ck_assert_uint_eq(read_points(&points, 0, 10), 3);
    ck_assert_double_eq_tol(points.at[1].time_s, T0 + 40, 1e-6);
    ck_assert_uint_eq(points.at[1].wss_bytes, 200 * MIB);
    ck_assert_uint_eq(points.at[1].wss_high_bytes, 201 * MIB);

    ck_assert_uint_eq(read_points(&points, BUCKET_MINUTE, 10), 2);
    ck_assert_uint_eq(points.at[0].wss_bytes, 175 * MIB); /* (100 * 10 + 200 * 30) / 40 */
    ck_assert_uint_eq(points.at[0].wss_low_bytes, 175 * MIB - MIB / 2);
    ck_assert_uint_eq(points.at[0].wss_high_bytes, 176 * MIB);
    ck_assert_uint_eq(points.at[0].wss_min_bytes, 100 * MIB);
    ck_assert_uint_eq(points.at[0].wss_max_bytes, 200 * MIB);
    ck_assert_uint_eq(points.at[0].records, 2);
    ck_assert_double_eq_tol(points.at[0].period_s, 40, 1e-9);
    ck_assert_double_eq_tol(points.at[0].summary.cpu_s, 0.5, 1e-9);
    ck_assert_uint_eq(points.at[1].wss_bytes, 400 * MIB);

    ck_assert_uint_eq(read_points(&points, BUCKET_HOUR, 60), 1);
    ck_assert_uint_eq(points.at[0].wss_bytes,
                      500 * MIB); /* (200 * 10 + 400 * 30 + 800 * 20) / 60 */
    ck_assert_uint_eq(points.at[0].wss_min_bytes, 200 * MIB);
    ck_assert_uint_eq(points.at[0].wss_max_bytes, 800 * MIB);
    ck_assert_double_eq_tol(points.at[0].time_s, T0, 1e-6);
    ck_assert_double_eq_tol(points.at[0].est_window_s, 60.01, 1e-9);
    ck_assert_uint_eq(points.at[0].summary.flags, FLAG_THP | FLAG_PARTIAL);
}

TEST(cases, a_window_that_is_not_kept_has_no_points)
{
    static struct points points;
    double window_s[RUN_MAX_WINDOWS];
    cleanup_store struct store *store = kept_open(kept.path);

    kept_add_of(store, UUID_1, T0, 100, 10);
    ck_assert_uint_eq(read_points(&points, 0, 30), 0);
    ck_assert_uint_eq(read_points(&points, BUCKET_HOUR, 30), 0);
    ck_assert_int_eq(history_windows(store, 0, window_s, NULL), 2);
    ck_assert_double_eq(window_s[0], 10);
    ck_assert_double_eq(window_s[1], 60);
}

/* --- quantiles -------------------------------------------------------------------------------- */

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void quantiles_of(uint64_t (*value)(unsigned i))
{
    static struct sketch sketch;
    static const double qs[] = {0, 0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1};
    uint64_t exact[5000];

    sketch_clear(&sketch);
    for (unsigned i = 0; i < 5000; i++) {
        exact[i] = value(i);
        sketch_add(&sketch, exact[i], 30000);
    }
    qsort(exact, 5000, sizeof(exact[0]), compare_u64);
    for (size_t i = 0; i < COUNT(qs); i++) {
        size_t rank = (size_t)ceil(qs[i] * 5000);
        double truth = (double)exact[rank > 0 ? rank - 1 : 0];

        ck_assert_double_le(fabs(sketch_quantile(&sketch, qs[i]) - truth),
                            SKETCH_ERROR * truth * (1 + 1e-9));
    }
    ck_assert_double_eq(sketch_quantile(&sketch, 1), (double)exact[4999]);
}

static uint64_t constant(unsigned i)
{
    (void)i;
    return 123456789;
}

static uint64_t ramp(unsigned i)
{
    return (uint64_t)i * 7919 % 5000 * MIB; /* with nothing at all among them */
}

static uint64_t heavy_tailed(unsigned i)
{
    return (uint64_t)exp((double)((uint64_t)i * 7919 % 5000) / 5000 * 42);
}

TEST(cases, quantiles_are_within_their_error)
{
    quantiles_of(constant);
    quantiles_of(ramp);
    quantiles_of(heavy_tailed);
}

TEST(cases, quantiles_weigh_by_time)
{
    static struct sketch sketch;

    sketch_clear(&sketch);
    sketch_add(&sketch, 100, 1000);
    sketch_add(&sketch, 200, 9000);
    ck_assert_double_eq_tol(sketch_quantile(&sketch, 0.10), 100, 1);
    ck_assert_double_eq_tol(sketch_quantile(&sketch, 0.11), 200, 2);
    sketch_clear(&sketch);
    ck_assert_double_eq(sketch_quantile(&sketch, 0.5), 0);
}

static int add_up(int64_t guest_id, int64_t start_s, const struct bucket *bucket, void *context)
{
    (void)guest_id, (void)start_s;
    sketch_merge(context, &bucket->windows[0].sketch);
    return 0;
}

/* A day of records; both levels are merged to the same quantiles, and these are the exact ones
 * within 1 %. */
TEST(cases, merged_buckets_have_the_quantiles_of_the_records)
{
    static struct sketch merged[2];
    static uint64_t exact[2880];
    cleanup_store struct store *store = kept_open(kept.path);

    for (unsigned i = 0; i < 2880; i++)
        exact[i] = 50 + (uint64_t)i * 7919 % 2880 / 10;
    add_all(store, exact, 2880, 30);
    qsort(exact, 2880, sizeof(exact[0]), compare_u64);
    for (int level = 0; level < 2; level++) {
        const struct history_query query = {level == 0 ? BUCKET_MINUTE : BUCKET_HOUR, T0, 1e10, 10};

        sketch_clear(&merged[level]);
        ck_assert_int_eq(history_buckets(store, &query, add_up, &merged[level], NULL), 0);
        ck_assert_uint_eq(merged[level].total, 2880 * 30000);
    }
    ck_assert_mem_eq(&merged[0], &merged[1], sizeof(merged[0]));
    for (int percent = 1; percent <= 100; percent++) {
        double truth = (double)(exact[(2880 * percent + 99) / 100 - 1] * MIB);

        ck_assert_double_le(fabs(sketch_quantile(&merged[1], percent / 100.0) - truth),
                            SKETCH_ERROR * truth);
    }
}

/* --- retention -------------------------------------------------------------------------------- */

static const struct store_retention short_retention = {6000, 360000, 720000, 0};

static void maintain(struct store *store, double wall_s, double steady_s)
{
    const struct store_clock clock = {wall_s, steady_s};

    ck_assert_ok(store_maintain(store, &short_retention, &clock, &error));
}

/* Records every ten minutes for ten days; what is left of each level afterwards, to the row. */
TEST(cases, each_level_is_kept_for_its_time)
{
    const double end = T0 + 10 * 86400;
    cleanup_store struct store *store = kept_open(kept.path);
    static uint64_t mib[10 * 144];
    char expected[64];

    for (size_t i = 0; i < COUNT(mib); i++)
        mib[i] = 100;
    add_all(store, mib, COUNT(mib), 600);
    kept_add_of(store, UUID_2, T0, 100, 600); /* of which nothing stays */
    maintain(store, end - 3599, 0);
    maintain(store, end - 1, 3598);
    ck_assert_sql(kept.path, "SELECT count(*) FROM sample", "1441"); /* not in the first hour */
    for (int i = 0; i < 10; i++)                                     /* each does a bounded part */
        maintain(store, end, 3600);
    /* records from end - 6000 on: ten of them */
    ck_assert_sql(kept.path, "SELECT count(*) FROM sample", "10");
    snprintf(expected, sizeof(expected), "%.0f", (end - 6000) * 1000);
    ck_assert_sql(kept.path, "SELECT min(time_ms) FROM sample", expected);
    /* minutes from end - 360000 on, one in ten: 600; a minute that ends at the very limit has
     * gone */
    ck_assert_sql(kept.path, "SELECT count(*) FROM bucket WHERE level_s = 60", "600");
    snprintf(expected, sizeof(expected), "%.0f", end - 360000);
    ck_assert_sql(kept.path, "SELECT min(start_s) FROM bucket WHERE level_s = 60", expected);
    ck_assert_sql(kept.path, "SELECT count(*) FROM bucket WHERE level_s = 3600", "200");
    ck_assert_sql(kept.path, "SELECT group_concat(uuid) FROM guest", UUID_1);
}

TEST(cases, a_clock_that_jumps_deletes_nothing)
{
    cleanup_store struct store *store = kept_open(kept.path);

    kept_add_of(store, UUID_1, T0 + 9000, 100, 600);
    maintain(store, T0, 0);
    maintain(store, T0 + 3600, 3600);
    maintain(store, T0 + 1e9, 3660); /* thirty years ahead */
    maintain(store, T0 + 1e9 + 1800, 3660 + 1800);
    maintain(store, T0 + 7200, 7200); /* and back */
    maintain(store, T0 + 10800, 10800);
    ck_assert_sql(kept.path, "SELECT count(*) FROM sample", "1");
    ck_assert_sql(kept.path, "SELECT count(*) FROM bucket", "2");
}

TEST(cases, retention_that_reports_could_not_live_with_is_refused)
{
    struct store_retention retention = store_retention_default;
    struct error error = {0};

    ck_assert_int_eq(store_retention_check(&retention, &error), 0);
    ck_assert_int_eq(store_retention_check(&short_retention, &error), 0);
    retention.raw_s = 5999;
    ck_assert_int_eq(store_retention_check(&retention, &error), -EINVAL);
    retention = store_retention_default;
    retention.hour_s = NAN;
    ck_assert_int_eq(store_retention_check(&retention, &error), -EINVAL);
    retention.hour_s = retention.minute_s - 1;
    ck_assert_int_eq(store_retention_check(&retention, &error), -EINVAL);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int see_latest(const struct kept_sample *sample, void *context)
{
    struct kept_sample *latest = context;

    *latest = *sample;
    return 0;
}

TEST(cases, a_record_comes_back_as_it_was)
{
    static struct kept_sample latest;
    struct store *store = kept_open(kept.path);
    struct ages_record was = kept_record("web1", UUID_1, T0 + 0.25, 64);
    struct store *reader;

    /* Huge pages: what is certain is less than the interval of the units. */
    was.sample.windows[1].unit_low_bytes += 4096;
    ck_assert_int_eq(kept_add(store, &was, NULL), 0);
    reader = kept_read();
    ck_assert_int_eq(history_latest(reader, see_latest, &latest, NULL), 0);
    ck_assert_str_eq(latest.record.sample.method, "idle");
    latest.record.sample.method = was.sample.method;
    for (size_t w = 0; w < was.sample.n_windows; w++)
        was.sample.windows[w].gone_bytes = GONE_NOT_KEPT;
    ck_assert_mem_eq(&latest.record, &was, sizeof(was));
    ck_assert_double_eq(latest.period_s, 30);
    ck_assert_double_eq(latest.precision, 0.022);

    /* A reader sees one state, and the next when it asks for it. */
    was.sample.time.tv_sec += 30;
    ck_assert_int_eq(kept_add(store, &was, NULL), 0);
    ck_assert_int_eq(history_latest(reader, see_latest, &latest, NULL), 0);
    ck_assert_int_eq(latest.record.sample.time.tv_sec, (time_t)T0);
    ck_assert_int_eq(history_refresh(reader, NULL), 0);
    ck_assert_int_eq(history_latest(reader, see_latest, &latest, NULL), 0);
    ck_assert_int_eq(latest.record.sample.time.tv_sec, (time_t)T0 + 30);
    store_close(reader);
    store_close(store);
}

/* Without the vCPU time of each window, and without the bound of units where it is the other one.
 */
TEST(cases, windows_of_an_older_file)
{
    struct sample_record sample;

    ck_assert_int_eq(
        row_parse(FIELD_WINDOWS, "[[1,1.5,30,20,40,0.5],[2,2,60,20,80,0.5,50]]", &sample), 0);
    ck_assert_uint_eq(sample.windows[0].unit_low_bytes, 20);
    ck_assert_uint_eq(sample.windows[1].unit_low_bytes, 50);
    for (size_t w = 0; w < 2; w++)
        ck_assert_double_nan(sample.windows[w].vcpu_s);
    ck_assert_int_eq(row_parse(FIELD_WINDOWS, "[[1,1.5,30,20,40,0.5,0,0.75]]", &sample), 0);
    ck_assert_uint_eq(sample.windows[0].unit_low_bytes, 20);
    ck_assert_double_eq(sample.windows[0].vcpu_s, 0.75);
    ck_assert_int_eq(row_parse(FIELD_WINDOWS, "[[1,1.5,30,20,40,0.5,0,0.75,1]]", &sample),
                     -EUCLEAN);
}

TEST(cases, guests_are_found_by_name_and_uuid)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct history_guest guest;
    struct error error = {0};

    kept_add_of(store, UUID_1, T0, 1, 30);
    ck_assert_int_eq(history_find(store, "web1", &guest, &error), 0);
    ck_assert_str_eq(guest.uuid, UUID_1);
    ck_assert_int_eq(history_find(store, "' OR 1 --", &guest, &error), -ENOENT);
    kept_add_of(store, UUID_2, T0, 1, 30);
    ck_assert_int_eq(history_find(store, "web1", &guest, &error), -ENOTUNIQ);
    ck_assert_int_eq(history_find(store, UUID_2, &guest, &error), 0);
    ck_assert_str_eq(guest.uuid, UUID_2);
}

TEST(cases, a_reader_makes_nothing_and_says_what_is_missing)
{
    struct store *store;

    ck_assert_error(history_open(kept.path, &store, &error), -ENOENT, "--database");
    ck_assert_int_lt(access(kept.path, F_OK), 0);
}

/* --- hostile files ---------------------------------------------------------------------------- */

static int count(const struct history_point *point, void *context)
{
    (void)point;
    ++*(size_t *)context;
    return 0;
}

/* Returns what the readers answer after @p sql has changed the file. */
static int read_after(const char *sql, int level_s, struct error *error)
{
    struct store *store = kept_open(kept.path);
    struct history_guest guest;
    const struct history_query query = {level_s, 0, 1e10, 10};
    size_t n = 0;
    int rc;

    kept_add_of(store, UUID_1, T0, 1, 30);
    store_close(store);
    free(kept_ask(kept.path, sql));
    rc = history_open(kept.path, &store, error);
    if (rc < 0)
        return rc;
    rc = history_find(store, UUID_1, &guest, error);
    if (rc == 0)
        rc = history_points(store, &guest, &query, count, &n, error);
    store_close(store);
    return rc;
}

static const struct {
    const char *sql;
    int level_s;
} hostile[] = {
    {"UPDATE sample SET windows = '[[10,10,1e999,1,1,0]]'", 0},
    {"UPDATE sample SET windows = '[[10,10,-1,1,1,0]]'", 0},
    {"UPDATE sample SET windows = '[[10,10,1,2,3,0]]'", 0},
    {"UPDATE sample SET windows = '[[10,10,3,1,2,0]]'", 0},
    {"UPDATE sample SET windows = '[[10,10,1,1,1]]'", 0},
    {"UPDATE sample SET ages = '[[0,10,1,2,3]]'", 0},
    {"UPDATE sample SET windows = printf('[%.*c]', 500000, '[')", 0},
    {"UPDATE sample SET windows = '[' || replace(printf('%.*c', 65, 'x'), 'x', '[1,1,1,1,1,1],')"
     " || '[1,1,1,1,1,1]]'",
     0},
    {"UPDATE sample SET windows = 'null'", 0},
    {"UPDATE sample SET ages = '[[0,\"x\",1,1,1]]'", 0},
    {"UPDATE sample SET method = printf('%.*c', 100, 'x')", 0},
    {"UPDATE sample SET mode = 'x' || char(0) || 'y'", 0},
    {"UPDATE sample SET period_s = 1e300", 0},
    {"UPDATE sample SET period_s = 9e999", 0},
    {"UPDATE sample SET ram_bytes = -1", 0},
    {"UPDATE sample SET pid = 99999999999", 0},
    {"UPDATE bucket SET windows = '[[10,10,1,1,1,1,1,1,[2200,1]]]'", BUCKET_HOUR},
    {"UPDATE bucket SET windows = '[[10,10,1,1,1,1,1,1,[-1,1]]]'", BUCKET_HOUR},
    {"UPDATE bucket SET windows = '[[10,10,1,1,1,1,1,1,[1]]]'", BUCKET_HOUR},
    {"UPDATE bucket SET windows = '[[10,10,1,1,1,1,1,1,[1,9223372036854775807]]]'", BUCKET_HOUR},
    {"UPDATE bucket SET windows = '[[10,10,1,1,1,1,9,1,[1,1]]]'", BUCKET_HOUR},
    {"UPDATE bucket SET windows = '[[10,10,1,1,1,1,1,1,[1,1]],[10,10,1,1,1,1,1,1,[1,1]]]'",
     BUCKET_HOUR},
    {"UPDATE bucket SET period_ms = 0", BUCKET_HOUR},
    {"UPDATE bucket SET resident_bytes = 1e300", BUCKET_HOUR},
    {"UPDATE guest SET name = printf('%.*c', 256, 'x')", 0},
    {"UPDATE guest SET uuid = printf('%.*c', 37, 'x')", 0},
};

TEST_EACH(cases, a_hostile_row_is_an_error, 0, COUNT(hostile))
{
    struct error error = {0};

    ck_assert_int_eq(read_after(hostile[_i].sql, hostile[_i].level_s, &error), -EUCLEAN);
    ck_assert_ptr_nonnull(strstr(error.text, kept.path));
    ck_assert_ptr_nonnull(strstr(error.text, "vmwss has not written"));
}

static int see_kind(enum event_kind kind, double time_s, void *context)
{
    enum event_kind *seen = context;

    (void)time_s;
    *seen = kind;
    return 0;
}

/* An event kind of a later version is no damage, and says nothing about whether the guest runs. */
TEST(cases, an_event_of_another_kind_is_shown_as_such)
{
    struct store *store = kept_open(kept.path);
    enum event_kind kind = EVENT_START;
    double time_s = 0;

    kept_add_of(store, UUID_1, T0, 1, 30);
    store_close(store);
    free(kept_ask(kept.path, "INSERT INTO event(guest_id, time_ms, kind)"
                             " VALUES (1, 5000, 'end'), (1, 6000, 'teleport')"));
    store = kept_open(kept.path);
    ck_assert_zero(
        history_events(store, 1, &(struct history_query){.to_s = 10}, see_kind, &kind, NULL));
    ck_assert_int_eq(kind, EVENT_OTHER);
    ck_assert_str_eq(event_kind_name(kind), "other");
    ck_assert_int_eq(history_last_event(store, 1, 10, &kind, &time_s, NULL), 1);
    ck_assert_int_eq(kind, EVENT_END);
    store_close(store);
}

/* As long as a later version likes. */
TEST(cases, an_event_of_a_kind_with_a_long_name_is_no_damage)
{
    struct store *store = kept_open(kept.path);
    enum event_kind kind = EVENT_START;

    kept_add_of(store, UUID_1, T0, 1, 30);
    store_close(store);
    free(kept_ask(kept.path, "INSERT INTO event(guest_id, time_ms, kind)"
                             " VALUES (1, 6000, 'migrate-out-post-copy-recovered-anew')"));
    store = kept_open(kept.path);
    ck_assert_zero(
        history_events(store, 1, &(struct history_query){.to_s = 10}, see_kind, &kind, NULL));
    ck_assert_int_eq(kind, EVENT_OTHER);
    store_close(store);
}

TEST(cases, a_view_in_place_of_a_table_is_not_run)
{
    struct store *store = kept_open(kept.path);

    store_close(store);
    free(kept_ask(kept.path, "DROP VIEW wss"));
    free(kept_ask(kept.path, "DROP TABLE guest"));
    free(kept_ask(kept.path, "CREATE VIEW guest AS WITH RECURSIVE r(id, host, name, uuid) AS"
                             " (SELECT 1, 'h', 'n', 'u' UNION ALL SELECT id + 1, host, name, uuid"
                             " FROM r) SELECT * FROM r"));
    ck_assert_error(history_open(kept.path, &store, &error), -EUCLEAN, "table guest");
}

/* The writer gets over a bucket that it cannot read. */
TEST(cases, a_bucket_that_cannot_be_read_is_begun_anew)
{
    static struct points points;
    struct store *store = kept_open(kept.path);

    kept_add_of(store, UUID_1, T0, 1, 30);
    free(kept_ask(kept.path, "UPDATE bucket SET windows = 'x'"));
    kept_add_of(store, UUID_1, T0 + 30, 2, 30);
    store_close(store);
    ck_assert_uint_eq(read_points(&points, BUCKET_HOUR, 10), 1);
    ck_assert_uint_eq(points.at[0].wss_bytes, 2 * MIB);
}
