// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file test_fields.c  The tables of fields: a new column is one line, and comes out everywhere.
 *
 * Here the tables have columns that the program's have not: the linker wraps their accessors. An
 * output that knows its columns by name and does not walk the table lacks them.
 */
#include "kept.h"

#include "history/history.h"
#include "measure/record/field.h"
#include "programs/vmwssd/scanner/scan_message.h"
#include "show/history.h"
#include "show/metrics/prometheus.h"
#include "show/sample_json.h"

#include "caught.h"
#include "fixture.h"

#define T0 1700002800.0
#define FIELDS_MAX 64

/* --- the tables, with a new column each ------------------------------------------------------- */

const struct field *__real_sample_fields(void);
const struct field *__real_window_fields(void);
const struct field *__real_guest_stats_fields(void);
const struct field *__real_write_point_fields(void);
const struct field *__wrap_sample_fields(void);
const struct field *__wrap_window_fields(void);
const struct field *__wrap_guest_stats_fields(void);
const struct field *__wrap_write_point_fields(void);

/* A copy of the table in which the field with that name in JSON is another one. */
static const struct field *replace(struct field copy[FIELDS_MAX], const struct field *table,
                                   const char *json, const struct field *by)
{
    size_t n = 0;

    for (; table[n].type; n++)
        copy[n] = table[n].json && !strcmp(table[n].json, json) ? *by : table[n];
    ck_assert_uint_lt(n, FIELDS_MAX);
    return copy;
}

/* Replaces a member of the summary by one that no table has. */
const struct field *__wrap_sample_fields(void)
{
    static const struct field extra = {
        .type = FIELD_U64,
        .group = GROUP_COST,
        .offset = offsetof(struct kept_sample, record.sample.fine.granularity_bytes),
        .home = HOME_SAMPLE,
        .column = "extra_column",
        .json = "extra_json",
        .csv = "extra_csv",
        .rollup = ROLLUP_SUM,
        .rolled = offsetof(struct record_summary, paused_s),
        .metric = "vmwss_extra_bytes",
        .help = "New.",
    };
    static struct field copy[FIELDS_MAX];

    return replace(copy, __real_sample_fields(), "pause_seconds", &extra);
}

const struct field *__wrap_window_fields(void)
{
    static const struct field extra = {
        .type = FIELD_U64,
        .group = GROUP_UNITS,
        .offset = offsetof(struct window_record, unmeasurable_bytes),
        .home = HOME_WINDOW,
        .column = "extra",
        .json = "extra_json",
        .metric = "vmwss_extra_window_bytes",
        .help = "New.",
    };
    static struct field copy[FIELDS_MAX];

    return replace(copy, __real_window_fields(), "gone_bytes", &extra);
}

const struct field *__wrap_guest_stats_fields(void)
{
    static const struct field extra = {
        .type = FIELD_REAL,
        .group = GROUP_RATES,
        .offset = offsetof(struct guest_stats, interval_s),
        .may_lack = true,
        .home = HOME_GUEST_STATS,
        .column = "extra_column",
        .json = "extra_json",
        .csv = "guest_extra_csv",
        .rollup = ROLLUP_MEAN,
        .metric = "vmwss_guest_extra",
        .help = "New.",
    };
    static struct field copy[FIELDS_MAX];

    return replace(copy, __real_guest_stats_fields(), "interval_s", &extra);
}

/* The same member under other names. */
const struct field *__wrap_write_point_fields(void)
{
    static const struct field extra = {
        .type = FIELD_U64,
        .group = GROUP_WSS,
        .offset = offsetof(struct write_point, low_bytes),
        .home = HOME_WINDOW,
        .column = "extra",
        .json = "extra_json",
        .metric = "vmwss_extra_point_bytes",
        .help = "New.",
    };
    static struct field copy[FIELDS_MAX];

    return replace(copy, __real_write_point_fields(), "write_set_low_bytes", &extra);
}

/* --- what comes out --------------------------------------------------------------------------- */

static struct ages_record record;

static void setup(void)
{
    cleanup_store struct store *store;
    struct guest_stats *stats = &record.sample.guest;

    kept = kept_dir_make();
    record = kept_record("web1", UUID_1, T0, 64);
    guest_stats_unavailable(stats, "%s", "");
    stats->source = GUEST_STATS_AGENT;
    stats->verdict = VERDICT_NEAR;
    stats->interval_s = 0.375;
    record.sample.writes = (struct write_curve){
        .method = "soft-dirty", .n = 1, .points = {{1, 1, 8192, 4096, 12288}}};
    for (size_t w = 0; w < record.sample.n_windows; w++)
        record.sample.windows[w].unmeasurable_bytes = 4096 * (w + 1);
    store = kept_open(kept.path);
    for (int i = 0; i < 2; i++) {
        record.sample.fine.granularity_bytes = 1000 + 7 * (uint64_t)i;
        ck_assert_int_eq(kept_add(store, &record, NULL), 0);
    }
}

static int see(const struct kept_sample *sample, void *context)
{
    *(struct kept_sample *)context = *sample;
    return 0;
}

FIXTURE(cases, .setup = setup);

TEST(cases, the_history_has_it)
{
    static struct kept_sample latest;
    cleanup_store struct store *store = kept_read();

    ck_assert_sql(kept.path, "SELECT sum(extra_column) FROM sample", "2007");
    ck_assert_sql(kept.path, "SELECT extra_column FROM bucket WHERE level_s = 60", "2007");
    ck_assert_sql(kept.path, "SELECT max(extra_column) FROM word", "0.375");
    ck_assert_sql(kept.path, "SELECT extra_column FROM word_bucket WHERE level_s = 60", "0.375");
    ck_assert_int_eq(history_latest(store, see, &latest, NULL), 0);
    ck_assert_uint_eq(latest.record.sample.fine.granularity_bytes, 1007);
    ck_assert_uint_eq(latest.record.sample.windows[1].unmeasurable_bytes, 8192);
    ck_assert_double_eq(latest.record.sample.guest.interval_s, 0.375);
}

TEST(cases, the_json_of_a_record_has_it)
{
    const char *text;

    catch_output();
    ck_assert_int_eq(sample_json_print(&record.sample), 0);
    text = caught_output();
    ck_assert_has(text, "\"extra_json\":1007,\"flags\":[");
    ck_assert_has(text, "\"touched_fraction\":0.125,\"extra_json\":4096}");
    ck_assert_has(text, "\"guest\":{\"source\":\"agent\",\"extra_json\":0.375,");
    ck_assert_has(text, "\"write_set_bytes\":8192,\"extra_json\":4096,");
}

static int print_point(const struct history_point *point, void *context)
{
    history_output_point(context, point);
    return 0;
}

/* As `vmwss history` prints it. */
static const char *history_text(enum show_format format, int level_s)
{
    const struct history_query query = {level_s, 0, 1e10, 10};
    struct store *store = kept_read();
    struct history_guest guest;
    struct history_output *output;

    ck_assert_int_eq(history_find(store, UUID_1, &guest, NULL), 0);
    catch_output();
    output = history_output_new(format, &guest, &query);
    ck_assert_int_eq(history_points(store, &guest, &query, print_point, output, NULL), 0);
    ck_assert_int_eq(history_output_end(output), 0);
    store_close(store);
    return caught_output();
}

TEST(cases, the_csv_of_the_history_has_it)
{
    static const struct {
        int level_s;
        const char *value;
    } levels[] = {{0, ",1007,idle,"}, {BUCKET_MINUTE, ",2007,idle,"}, {BUCKET_HOUR, ",2007,idle,"}};

    for (size_t i = 0; i < COUNT(levels); i++) {
        const char *text = history_text(SHOW_CSV, levels[i].level_s);

        ck_assert_has(text, ",cpu_seconds,extra_csv,method,");
        ck_assert_has(text, levels[i].value);
        ck_assert_has(text, ",guest_available_bytes,guest_extra_csv,");
        ck_assert_has(text, ",agent,,,0.375,");
    }
}

TEST(cases, the_json_of_the_history_has_it)
{
    const char *text = history_text(SHOW_JSON, BUCKET_MINUTE);

    ck_assert_has(text, ",\"extra_csv\":2007,\"method\":");
    ck_assert_has(text, "\"extra_json\":0.375");
}

TEST(cases, the_page_of_the_exporter_has_it)
{
    struct store *store = kept_read();
    struct current current;
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    ck_assert_int_eq(current_read(store, T0 + 1, 300, &current, NULL), 0);
    prometheus_write(out, &current, &(struct balloon_metrics){0}, 0);
    current_free(&current);
    store_close(store);
    fclose(out);
    ck_assert_has(text, "# HELP vmwss_extra_bytes New.\n# TYPE vmwss_extra_bytes gauge\n"
                        "vmwss_extra_bytes{domain=\"web1\"} 1007\n");
    ck_assert_has(text, "vmwss_extra_window_bytes{domain=\"web1\",window=\"60\"} 8192\n");
    ck_assert_has(text, "vmwss_guest_extra{domain=\"web1\"} 0.375\n");
    ck_assert_has(text, "vmwss_extra_point_bytes{domain=\"web1\",window=\"1\"} 4096\n");
}

TEST(cases, the_message_between_the_processes_of_vmwssd_has_it)
{
    static struct scan_sampled sampled;
    static struct scan_written written;
    struct write_curve curve;
    struct ages_record back;

    scan_record_put(&sampled, &record);
    scan_record_take(&sampled, &back);
    scan_curve_put(&written, &record.sample.writes);
    scan_curve_take(&written, &curve);
    ck_assert_uint_eq(curve.points[0].low_bytes, 4096);
    ck_assert_uint_eq(back.sample.fine.granularity_bytes, 1007);
    ck_assert_uint_eq(back.sample.windows[1].unmeasurable_bytes, 8192);
}

/* --- the tables as they are ------------------------------------------------------------------- */

static void check_table(const struct field *fields)
{
    for (const struct field *field = fields; field->type; field++) {
        ck_assert(!field->metric == !field->help);
        ck_assert((field->home == HOME_NONE) == !field->column);
        ck_assert((field->type == FIELD_NAME || field->type == FIELD_SET) ==
                  (field->names != NULL));
        ck_assert((field->type == FIELD_TEXT || field->type == FIELD_NAME) == (field->size > 0));
        /* Fields without any output only cross between the processes of vmwssd. */
        ck_assert(field->json || field->column || !(field->csv || field->metric));
        for (const struct field *other = fields; other < field; other++) {
            ck_assert(!field->json || !other->json || strcmp(field->json, other->json) != 0);
            ck_assert(!field->csv || !other->csv || strcmp(field->csv, other->csv) != 0);
            ck_assert(!field->metric || !other->metric ||
                      strcmp(field->metric, other->metric) != 0);
        }
    }
}

/* Else it would be printed, in minutes and hours, as the column whose place it has. */
TEST(cases, each_rollup_has_a_place_of_its_own)
{
    const struct field *fields = __real_sample_fields();

    for (const struct field *field = fields; field->type; field++) {
        ck_assert_msg(!field->csv || field->rollup, "%s has no rollup", field->csv);
        for (const struct field *other = fields; other < field; other++)
            ck_assert_msg(!field->rollup || !other->rollup || field->rolled != other->rolled,
                          "%s has the place of %s", field->column, other->column);
    }
}

TEST(cases, a_line_without_rollup_has_no_value_in_a_summary)
{
    static const struct field forgotten = {.type = FIELD_U64, .csv = "forgotten"};
    const struct record_summary summary = {.ram_bytes = 1 << 30};
    struct field_value value;

    field_get_summary(&forgotten, &summary, &value);
    ck_assert_int_eq(value.kind, VALUE_NONE);
}

TEST(cases, a_line_is_complete_and_its_names_are_its_own)
{
    check_table(__real_sample_fields());
    check_table(__real_window_fields());
    check_table(__real_guest_stats_fields());
    check_table(write_fields());
    check_table(__real_write_point_fields());
}
