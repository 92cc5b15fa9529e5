// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_exporter.c  The text that Prometheus reads: escaping, names and windows that are not
 * unique, what is stale; and
 *  the exporter's file, address and options. */
#include "kept.h"

#include "base/utf8.h"
#include "history/event.h"
#include "programs/exporter/listen.h"
#include "programs/exporter/options.h"
#include "programs/exporter/textfile.h"
#include "show/metrics/exposition.h"
#include "show/metrics/prometheus.h"

#include "fixture.h"

#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define T0 1700002800.0
#define UUID_3 "33333333-3333-4333-8333-333333333333"

static struct store *store;
static char journal_path[112]; /* there is none, but where a test makes one */

static void setup(void)
{
    kept = kept_dir_make();
    store = kept_open(kept.path);
    snprintf(journal_path, sizeof(journal_path), "%s/journal.db", kept.dir);
}

static void teardown(void)
{
    store_close(store);
}

static void add(const char *name, const char *uuid, double at_s, uint64_t mib)
{
    struct ages_record record = kept_record(name, uuid, at_s, mib);

    record.sample.owner = (struct guest_owner){"kubevirt", "shop/web"};
    ck_assert_ok(kept_add(store, &record, &error));
}

/* --- reading what is written ------------------------------------------------------------------ */

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Prometheus refuses a scrape that has a series twice, or a family in two pieces. */
static void check_text(const char *text)
{
    static char copy[1 << 20];
    char *series[4096];
    char *families[128];
    size_t n = 0;
    size_t n_families = 0;
    char *rest = NULL;

    ck_assert_uint_lt(strlen(text), sizeof(copy));
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "# TYPE ", 7) == 0)
            families[n_families++] = line + 7;
        if (line[0] == '#')
            continue;
        char *value = strrchr(line, ' ');
        char *family = families[n_families - 1];

        ck_assert_ptr_nonnull(value);
        ck_assert_int_eq(strncmp(line, family, strcspn(family, " ")), 0);
        *value = '\0';
        series[n++] = line;
    }
    qsort(series, n, sizeof(series[0]), compare_text);
    for (size_t i = 1; i < n; i++)
        ck_assert_str_ne(series[i], series[i - 1]);
    qsort(families, n_families, sizeof(families[0]), compare_text);
    for (size_t i = 1; i < n_families; i++)
        ck_assert_str_ne(families[i], families[i - 1]);
}

/* The text at a given time; freed by the caller. */
static char *text_at(double now_s)
{
    struct store *reader = NULL;
    struct current current;
    struct balloon_metrics balloons;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    ck_assert_ok(history_open(kept.path, &reader, &error));
    ck_assert_ok(current_read(reader, now_s, PROMETHEUS_STALE_S, &current, &error));
    ck_assert_ok(balloon_metrics_read(&balloons, journal_path, now_s, &error));
    prometheus_write(out, &current, &balloons, 4096);
    balloon_metrics_free(&balloons);
    current_free(&current);
    store_close(reader);
    fclose(out);
    check_text(text);
    return text;
}

static bool has_line(const char *text, const char *line)
{
    const char *wanted = TEXT_OF(1024, "\n%s\n", line);

    return strstr(text, wanted) != NULL;
}

#define ck_assert_line(text, line) ck_assert_msg(has_line(text, line), "no %s in\n%s", line, text)
#define ck_assert_no_line(text, line) ck_assert_msg(!has_line(text, line), "%s in\n%s", line, text)

/* --- the text --------------------------------------------------------------------------------- */

FIXTURE(text_tests, .setup = setup, .teardown = teardown, .timeout_s = 120);

TEST(text_tests, a_record_is_shown_as_it_is_kept)
{
    cleanup_free char *text;

    add("web1", UUID_1, T0 + 0.25, 64);
    text = text_at(T0 + 10);
    ck_assert_line(text, "vmwss_guests 1");
    ck_assert_line(text, "vmwss_database_bytes 4096");
    ck_assert_line(text, "vmwss_newest_record_timestamp_seconds 1700002800.25");
    ck_assert_line(text, "# TYPE vmwss_working_set_bytes gauge");
    ck_assert_line(text, "vmwss_working_set_bytes{domain=\"web1\",window=\"10\"} 67108864");
    ck_assert_line(text, "vmwss_working_set_bytes{domain=\"web1\",window=\"60\"} 134217728");
    ck_assert_line(text, "vmwss_working_set_low_bytes{domain=\"web1\",window=\"10\"} 66584576");
    ck_assert_line(text, "vmwss_working_set_high_bytes{domain=\"web1\",window=\"10\"} 68157440");
    ck_assert_line(text, "vmwss_touched_ratio{domain=\"web1\",window=\"10\"} 0.125");
    ck_assert_line(text, "vmwss_window_measured_seconds{domain=\"web1\",window=\"60\"} 60.01");
    ck_assert_line(text, "vmwss_ram_bytes{domain=\"web1\"} 1073741824");
    ck_assert_line(text, "vmwss_resident_bytes{domain=\"web1\"} 536870912");
    ck_assert_line(text, "vmwss_unmeasurable_bytes{domain=\"web1\"} 2097152");
    ck_assert_line(text, "vmwss_last_scan_timestamp_seconds{domain=\"web1\"} 1700002800.25");
    ck_assert_line(text, "vmwss_scan_period_seconds{domain=\"web1\"} 30");
    ck_assert_line(text, "vmwss_scan_cpu_seconds{domain=\"web1\"} 0.25");
    ck_assert_line(text, "vmwss_sampled_pages{domain=\"web1\"} 2000");
    ck_assert_line(text, "vmwss_granularity_bytes{domain=\"web1\"} 4096");
    ck_assert_line(text, "vmwss_precision_ratio{domain=\"web1\"} 0.022");
    ck_assert_line(text, "vmwss_flag{domain=\"web1\",flag=\"thp\"} 1");
    ck_assert_line(text, "vmwss_flag{domain=\"web1\",flag=\"partial\"} 1");
    ck_assert_no_line(text, "vmwss_flag{domain=\"web1\",flag=\"swap\"} 1");
    ck_assert_line(
        text,
        "vmwss_guest_info{domain=\"web1\",uuid=\"" UUID_1 "\",host=\"testhost\","
        "manager=\"kubevirt\",owner=\"shop/web\",accel=\"kvm\",method=\"idle\",mode=\"panel\"} 1");
}

static void add_stats(const struct guest_stats *stats)
{
    struct ages_record record = kept_record("web1", UUID_1, T0, 64);
    cleanup_store struct store *store = kept_open(kept.path);

    record.sample.guest = *stats;
    ck_assert_int_eq(kept_add(store, &record, NULL), 0);
}

TEST(text_tests, what_is_not_measured_has_its_size)
{
    struct ages_record record = kept_record("web1", UUID_1, T0, 64);
    struct store *store = kept_open(kept.path);

    record.sample.n_windows = record.n_bins = 0;
    record.sample.method = SAMPLE_NO_METHOD;
    record.sample.flags = FLAG_NOT_MEASURED;
    ck_assert_int_eq(kept_add(store, &record, NULL), 0);
    store_close(store);

    cleanup_free char *text = text_at(T0 + 10);

    ck_assert_line(text, "vmwss_guests 0");
    ck_assert_line(text, "vmwss_guests_not_measured 1");
    ck_assert_line(text, "vmwss_resident_bytes{domain=\"web1\"} 536870912");
    ck_assert_line(text, "vmwss_flag{domain=\"web1\",flag=\"not-measured\"} 1");
    ck_assert_ptr_null(strstr(text, "vmwss_working_set_bytes{"));
    ck_assert_ptr_null(strstr(text, "vmwss_last_scan_timestamp_seconds{"));
}

/* Only what it told, and marked as told. */
TEST(text_tests, the_guests_word_is_marked_as_such)
{
    struct guest_stats stats;
    char *text;

    guest_stats_unavailable(&stats, "no port");
    add_stats(&stats);
    text = text_at(T0 + 10);
    ck_assert_line(text,
                   "vmwss_guest_verdict{domain=\"web1\",verdict=\"unknown\",source=\"none\"} 1");
    ck_assert_ptr_null(strstr(text, "vmwss_guest_memory"));
    free(text);
    stats.source = GUEST_STATS_AGENT;
    stats.available_bytes = 64 * MIB;
    stats.psi_some = 0.25;
    stats.verdict = VERDICT_ABOVE;
    stats.consistency = 0.5;
    add_stats(&stats);
    text = text_at(T0 + 10);
    ck_assert_ptr_nonnull(
        strstr(text, "# HELP vmwss_guest_memory_available_bytes The guest's word"));
    ck_assert_line(text, "vmwss_guest_memory_available_bytes{domain=\"web1\"} 67108864");
    ck_assert_line(text, "vmwss_guest_pressure_some_ratio{domain=\"web1\"} 0.25");
    ck_assert_line(text, "vmwss_guest_agreement_ratio{domain=\"web1\"} 0.5");
    ck_assert_line(text,
                   "vmwss_guest_verdict{domain=\"web1\",verdict=\"above\",source=\"agent\"} 1");
    ck_assert_ptr_null(strstr(text, "vmwss_guest_pressure_full_ratio"));
    free(text);
}

TEST(text_tests, an_empty_history_has_no_guests)
{
    cleanup_free char *text = text_at(T0);

    ck_assert_line(text, "vmwss_guests 0");
    ck_assert_ptr_null(strstr(text, "domain="));
    ck_assert_ptr_null(strstr(text, "vmwss_newest_record_timestamp_seconds"));
}

TEST(text_tests, guests_of_one_name_are_told_apart)
{
    char *text;

    add("web1", UUID_1, T0, 1);
    add("web1", UUID_2, T0 + 100, 2);
    add("web2", UUID_3, T0, 3);
    text = text_at(T0 + 200);
    ck_assert_line(text, "vmwss_ram_bytes{domain=\"web1\",uuid=\"" UUID_1 "\"} 1073741824");
    ck_assert_line(text, "vmwss_ram_bytes{domain=\"web1\",uuid=\"" UUID_2 "\"} 1073741824");
    ck_assert_line(text, "vmwss_ram_bytes{domain=\"web2\"} 1073741824");
    ck_assert_line(text, "vmwss_working_set_bytes{domain=\"web1\",uuid=\"" UUID_2
                         "\",window=\"10\"} 2097152");
    free(text);

    /* The first has ended: the name is the other's alone. */
    text = text_at(T0 + 350);
    ck_assert_line(text, "vmwss_guests 1");
    ck_assert_line(text, "vmwss_working_set_bytes{domain=\"web1\",window=\"10\"} 2097152");
    free(text);
}

TEST(text_tests, of_one_uuid_the_newer_record_counts)
{
    struct ages_record record = kept_record("web1", UUID_1, T0 + 100, 2);
    cleanup_free char *text;

    add("web1", UUID_1, T0, 1);
    snprintf(record.sample.host, sizeof(record.sample.host), "renamed");
    ck_assert_int_eq(kept_add(store, &record, NULL), 0);
    text = text_at(T0 + 200);
    ck_assert_line(text, "vmwss_guests 1");
    ck_assert_line(text, "vmwss_working_set_bytes{domain=\"web1\",window=\"10\"} 2097152");
    ck_assert_ptr_nonnull(strstr(text, "host=\"renamed\""));
    ck_assert_ptr_null(strstr(text, "testhost"));
}

TEST(text_tests, a_guest_without_new_records_is_left_out)
{
    struct ages_record slow = kept_record("slow", UUID_2, T0, 1);
    const struct store_entry entry = {.record = &slow, .period_s = 100, .precision = 0.022};
    char *text;

    add("web1", UUID_1, T0, 1);
    ck_assert_int_eq(store_add(store, &entry, 1, NULL), 0);
    text = text_at(T0 + 299);
    ck_assert_line(text, "vmwss_guests 2");
    free(text);
    text = text_at(T0 + 301); /* one that is looked at every 100 s has five of these */
    ck_assert_line(text, "vmwss_guests 1");
    ck_assert_line(text, "vmwss_ram_bytes{domain=\"slow\"} 1073741824");
    free(text);
    text = text_at(T0 + 501);
    ck_assert_line(text, "vmwss_guests 0");
    ck_assert_line(text, "vmwss_newest_record_timestamp_seconds 1700002800");
    free(text);
}

static void add_event(const char *uuid, double at_s, enum event_kind kind)
{
    struct store_event event = {.host = "testhost", .kind = kind, .time_s = at_s};
    struct error error = {0};

    snprintf(event.uuid, sizeof(event.uuid), "%s", uuid);
    ck_assert_msg(store_add_event(store, &event, &error) >= 0, "%s", error.text);
}

TEST(text_tests, a_guest_that_has_ended_is_left_out)
{
    char *text;

    add("web1", UUID_1, T0, 1);
    add("web2", UUID_2, T0, 1);
    add_event(UUID_2, T0 + 1, EVENT_SUSPEND);
    add_event(UUID_1, T0 + 1, EVENT_END);
    add_event(UUID_3, T0 + 1, EVENT_END); /* of which there is no record */
    text = text_at(T0 + 2);
    ck_assert_line(text, "vmwss_guests 1");
    ck_assert_line(text, "vmwss_ram_bytes{domain=\"web2\"} 1073741824");
    ck_assert_line(text, "vmwss_newest_record_timestamp_seconds 1700002800");
    free(text);
    add_event(UUID_1, T0 + 3, EVENT_START); /* its last number is of the run before */
    text = text_at(T0 + 4);
    ck_assert_line(text, "vmwss_guests 1");
    free(text);
    add("web1", UUID_1, T0 + 5, 1);
    text = text_at(T0 + 6);
    ck_assert_line(text, "vmwss_guests 2");
    free(text);
    ck_assert_sql(kept.path, "SELECT count(*) FROM event", "3");
}

static void decide_about(struct journal *journal, const char *uuid, double at_s, const char *action,
                         const char *hold, const char *level)
{
    struct journal_entry entry = {.time_s = at_s,
                                  .panic = !strcmp(action, "full") || !strcmp(hold, "room"),
                                  .name = "web1",
                                  .mode = "lazy",
                                  .target_bytes = 700 * MIB,
                                  .wish_bytes = 600 * MIB,
                                  .assigned_bytes = 1024 * MIB,
                                  .actual_bytes = 800 * MIB,
                                  .resident_bytes = 500 * MIB,
                                  .wss_high_bytes = DECIDE_UNKNOWN,
                                  .floor_bytes = DECIDE_UNKNOWN};

    snprintf(entry.uuid, sizeof(entry.uuid), "%s", uuid);
    snprintf(entry.action, sizeof(entry.action), "%s", action);
    snprintf(entry.hold, sizeof(entry.hold), "%s", hold);
    snprintf(entry.level, sizeof(entry.level), "%s", level);
    ck_assert_int_eq(journal_add(journal, &entry, NULL), 0);
}

TEST(text_tests, balloons_of_guests_that_are_measured)
{
    const struct journal_host hard = {.time_s = T0 - 30, .level = "hard"};
    struct journal *journal;
    char *text;

    add("web1", UUID_1, T0, 1);
    add("web2", UUID_2, T0, 1);
    text = text_at(T0 + 1);
    ck_assert_ptr_null(strstr(text, "vmwss_balloon"));
    free(text);
    ck_assert_int_eq(journal_open(journal_path, &journal, NULL), 0);
    decide_about(journal, UUID_1, T0 - 3700, "full", "none", "ample");
    decide_about(journal, UUID_1, T0 - 60, "full", "none", "ample");
    decide_about(journal, UUID_3, T0 - 50, "full", "none", "soft"); /* of which no record is kept */
    decide_about(journal, UUID_1, T0 - 45, "none", "room", "hard"); /* which got nothing */
    decide_about(journal, UUID_1, T0 - 40, "none", "pause", "hard");
    ck_assert_int_eq(journal_note_host(journal, &hard, NULL), 0);
    text = text_at(T0 + 1);
    ck_assert_line(text, "vmwss_balloon_target_bytes{domain=\"web1\"} 734003200");
    ck_assert_line(text, "vmwss_balloon_actual_bytes{domain=\"web1\"} 838860800");
    ck_assert_line(text, "vmwss_balloon_state{domain=\"web1\",action=\"none\",hold=\"pause\","
                         "mode=\"lazy\"} 1");
    ck_assert_line(text, "vmwss_balloon_panics{domain=\"web1\"} 2");
    ck_assert_line(text, "vmwss_balloon_decisions{action=\"full\",hold=\"none\"} 2");
    ck_assert_line(text, "vmwss_balloon_decisions{action=\"none\",hold=\"pause\"} 1");
    ck_assert_line(text, "vmwss_balloon_host_level{level=\"hard\"} 1");
    ck_assert_ptr_null(strstr(text, "vmwss_balloon_floor_bytes{")); /* it was not known */
    ck_assert_ptr_null(strstr(text, "balloon_panics{domain=\"web2\""));
    free(text);
    journal_close(journal);
}

/* The last decision about a guest, which has gone since, was made on a host that was short. */
TEST(text_tests, the_level_of_a_host_is_not_its_last_guests)
{
    struct journal_host host = {.time_s = T0, .level = "ample"};
    struct journal *journal;
    char *text;

    ck_assert_int_eq(journal_open(journal_path, &journal, NULL), 0);
    decide_about(journal, UUID_1, T0 - 60, "none", "room", "low");
    text = text_at(T0 + 1);
    ck_assert_ptr_null(strstr(text, "vmwss_balloon_host_level{"));
    free(text);
    ck_assert_int_eq(journal_note_host(journal, &host, NULL), 0);
    text = text_at(T0 + 100);
    ck_assert_line(text, "vmwss_balloon_host_level{level=\"ample\"} 1");
    free(text);
    text = text_at(T0 + 200); /* vmwss-balloond does not run */
    ck_assert_ptr_null(strstr(text, "vmwss_balloon_host_level{"));
    free(text);
    journal_close(journal);
}

TEST(text_tests, a_clock_that_was_ahead_hides_nothing)
{
    double now_s = store_clock_now().wall_s;
    cleanup_free char *text;

    add("web1", UUID_1, now_s + 86400, 1);
    add("web1", UUID_1, now_s - 10, 2);
    text = text_at(now_s);
    ck_assert_line(text, "vmwss_working_set_bytes{domain=\"web1\",window=\"10\"} 2097152");
}

TEST(text_tests, names_are_escaped)
{
    cleanup_free char *text;

    add("a\"b\\c\nd} 1 {", UUID_1, T0, 1);
    add("Gast für \xe2\x82\xac", UUID_2, T0, 1);
    text = text_at(T0);
    ck_assert_line(text, "vmwss_ram_bytes{domain=\"a\\\"b\\\\c\\nd} 1 {\"} 1073741824");
    ck_assert_line(text, "vmwss_ram_bytes{domain=\"Gast für \xe2\x82\xac\"} 1073741824");
}

/* Replacing bytes makes the names equal; both come from a file that anyone may have written. */
TEST(text_tests, names_that_are_not_utf8_are_replaced_and_told_apart)
{
    cleanup_free char *text;

    add("x\xff", UUID_1, T0, 1);
    add("x\xfe", UUID_2, T0, 1);
    text = text_at(T0);
    ck_assert_line(text, "vmwss_ram_bytes{domain=\"x?\",uuid=\"" UUID_1 "\"} 1073741824");
    ck_assert_line(text, "vmwss_ram_bytes{domain=\"x?\",uuid=\"" UUID_2 "\"} 1073741824");
}

TEST(text_tests, a_long_name_fits)
{
    char name[256];
    char wanted[600] = "vmwss_ram_bytes{domain=\"";
    cleanup_free char *text;

    memset(name, '\\', 255);
    name[255] = '\0';
    memset(wanted + strlen(wanted), '\\', 510);
    add(name, UUID_1, T0, 1);
    add(name, UUID_2, T0, 1);
    text = text_at(T0);
    snprintf(wanted + strlen(wanted), sizeof(wanted) - strlen(wanted),
             "\",uuid=\"" UUID_1 "\"} 1073741824");
    ck_assert_line(text, wanted);
}

TEST(text_tests, a_window_twice_is_shown_once)
{
    cleanup_free char *text;

    add("web1", UUID_1, T0, 1);
    free(
        kept_ask(kept.path,
                 "UPDATE sample SET windows = '[[10,10,1,1,1,0.5],[10.0000000001,10,2,2,2,0.5]]'"));
    text = text_at(T0);
    ck_assert_line(text, "vmwss_working_set_bytes{domain=\"web1\",window=\"10\"} 1");
}

static const struct {
    const char *value, *cleaned;
} utf8[] = {
    {"", ""},
    {"plain", "plain"},
    {"\xc3\xa9", "\xc3\xa9"},
    {"\xf0\x9f\x90\xa7", "\xf0\x9f\x90\xa7"},
    {"\xc0\x80", "??"},           /* overlong */
    {"\xe0\x80\x80", "???"},      /* likewise */
    {"\xed\xa0\x80", "???"},      /* a surrogate */
    {"\xf4\x90\x80\x80", "????"}, /* above U+10FFFF */
    {"a\xe2\x82", "a??"},         /* cut off */
    {"\x80z\xc3", "?z?"},
    {"\xe2\x82+\xc3\xa9", "??+\xc3\xa9"},
};

TEST_EACH(plain, what_is_not_utf8_is_replaced, 0, COUNT(utf8))
{
    char value[32];

    snprintf(value, sizeof(value), "%s", utf8[_i].value);
    utf8_clean(value);
    ck_assert_str_eq(value, utf8[_i].cleaned);
}

static const struct {
    const char *value, *printable;
} unprintable[] = {
    {"plain \xc3\xa9 \xc2\xa0 \xe2\x80\x93 \xe2\x82\xac",
     "plain \xc3\xa9 \xc2\xa0 \xe2\x80\x93 \xe2\x82\xac"},
    {"a\n<0>b\r\t\x1b[31mc\x7f", "a?<0>b???[31mc?"},
    {"\xc2\x9b"
     "31m\x9b",
     "??31m?"},                                                           /* CSI of C1 */
    {"\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8e", "????????????"}, /* lines and directions */
};

TEST_EACH(plain, what_is_not_printable_is_replaced, 0, COUNT(unprintable))
{
    char value[64];

    snprintf(value, sizeof(value), "%s", unprintable[_i].value);
    utf8_printable(value);
    ck_assert_str_eq(value, unprintable[_i].printable);
}

TEST(plain, a_label_that_does_not_fit_is_left_out_whole)
{
    char labels[16] = "";

    exposition_label(labels, sizeof(labels), "a", "12345678901"); /* a="12345678901" has 15 */
    ck_assert_str_eq(labels, "a=\"12345678901\"");
    exposition_label(labels, sizeof(labels), "b", "");
    ck_assert_str_eq(labels, "a=\"12345678901\"");
    labels[0] = '\0';
    exposition_label(labels, sizeof(labels), "a", "123456789012");
    ck_assert_str_eq(labels, "");
}

TEST(text_tests, a_history_that_cannot_be_read_is_an_error)
{
    struct prometheus_options options = {.database = "/nonexistent/history.db", .stale_s = 300};
    char *text = NULL;
    size_t size;

    ck_assert_error(prometheus_text(&options, &text, &size, &error), -ENOENT,
                    "/nonexistent/history.db");
    options.database = kept.path;
    free(kept_ask(kept.path, "PRAGMA user_version = 99"));
    ck_assert_error(prometheus_text(&options, &text, &size, &error), -EINVAL, "schema version 99");
}

/* --- the file --------------------------------------------------------------------------------- */

static void read_file(const char *path, char *text, size_t size)
{
    cleanup_file FILE *file = fopen(path, "re");

    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, size - 1, file)] = '\0';
}

TEST(text_tests, the_file_is_replaced_and_removed)
{
    char other[128];
    char text[64];
    struct stat st;
    const char *path = TEXT_OF(128, "%s/vmwss.prom", kept.dir);
    const char *temporary = TEXT_OF(140, "%s.tmp", path);

    snprintf(other, sizeof(other), "%s/other", kept.dir);
    ck_assert_int_eq(textfile_write(path, "one\n", 4, NULL), 0);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0644);
    /* Neither what a predecessor left nor a link that waits there is written through. */
    ck_assert_int_eq(textfile_write(other, "other\n", 6, NULL), 0);
    ck_assert_int_eq(symlink(other, temporary), 0);
    ck_assert_int_eq(textfile_write(path, "two\n", 4, NULL), 0);
    read_file(path, text, sizeof(text));
    ck_assert_str_eq(text, "two\n");
    read_file(other, text, sizeof(text));
    ck_assert_str_eq(text, "other\n");
    ck_assert_int_lt(lstat(temporary, &st), 0);
    textfile_remove(path);
    ck_assert_int_lt(stat(path, &st), 0);
}

TEST(plain, a_file_that_cannot_be_written_is_said)
{
    struct error error = {0};

    ck_assert_int_eq(textfile_write("/nonexistent/vmwss.prom", "", 0, &error), -ENOENT);
    ck_assert_str_eq(error.text, "/nonexistent/vmwss.prom: No such file or directory");
}

/* --- address and options ---------------------------------------------------------------------- */

TEST(plain, addresses_are_numbers)
{
    const char *const bad[] = {"",       "127.0.0.1", "127.0.0.1:", "localhost:0",  "::1:0",
                               "[::1:0", "[]:0",      "1.2.3.4:x",  "1.2.3.4:99999"};
    struct error error = {0};
    int fd = listen_on("127.0.0.1:0", &error);
    int listening = 0;
    socklen_t size = sizeof(listening);

    ck_assert_msg(fd >= 0, "%s", error.text);
    ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size), 0);
    ck_assert_int_eq(listening, 1);
    close(fd);
    for (size_t i = 0; i < COUNT(bad); i++) {
        error = (struct error){0};
        ck_assert_msg(listen_on(bad[i], &error) == -EINVAL, "%s", bad[i]);
        ck_assert_ptr_nonnull(strstr(error.text, "expected ADDRESS:PORT"));
    }
}

TEST(plain, a_port_that_is_taken_is_said)
{
    struct sockaddr_in at;
    socklen_t size = sizeof(at);
    cleanup_close int fd = listen_on("127.0.0.1:0", NULL);

    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &size), 0);

    const char *address = TEXT_OF(32, "127.0.0.1:%u", ntohs(at.sin_port));

    ck_assert_error(listen_on(address, &error), -EADDRINUSE, address);
}

/* The options point into what was given, so that stays. */
static int parse(struct exporter_options *options, const char *first, const char *second)
{
    static char words[3][64] = {"vmwss-exporter"};
    char *argv[] = {words[0], words[1], words[2], NULL};

    snprintf(words[1], sizeof(words[1]), "%s", first ? first : "");
    snprintf(words[2], sizeof(words[2]), "%s", second ? second : "");
    optind = 0; /* begin anew */
    return exporter_options_parse(options, first ? second ? 3 : 2 : 1, argv);
}

TEST(plain, options_are_understood_or_refused)
{
    struct exporter_options options;

    ck_assert_int_eq(parse(&options, NULL, NULL), 0);
    ck_assert_int_eq(options.mode, EXPORTER_HTTP);
    ck_assert_str_eq(options.listen, EXPORTER_LISTEN);
    ck_assert_double_eq(options.metrics.stale_s, 300);
    ck_assert_int_eq(parse(&options, "--textfile=/x/a.prom", "--interval=2"), 0);
    ck_assert_int_eq(options.mode, EXPORTER_TEXTFILE);
    ck_assert_str_eq(options.textfile, "/x/a.prom");
    ck_assert_double_eq(options.interval_s, 2);
    ck_assert_int_eq(parse(&options, "--textfile=/x/a.txt", NULL), -EINVAL);
    ck_assert_int_eq(parse(&options, "--textfile=/x/.prom", NULL), -EINVAL);
    ck_assert_int_eq(parse(&options, "--textfile=.prom", NULL), -EINVAL);
    ck_assert_int_eq(parse(&options, "--print", "--textfile=a.prom"), -EINVAL);
    ck_assert_int_eq(parse(&options, "--stale=0", NULL), -EINVAL);
    ck_assert_int_eq(parse(&options, "more", NULL), -EINVAL);
}

TEST(plain, options_of_pages)
{
    struct exporter_options options;

    ck_assert_int_eq(parse(&options, NULL, NULL), 0);
    ck_assert(!options.web);
    ck_assert_double_eq(options.web_since_s, 86400);
    ck_assert_int_eq(parse(&options, "--web", "--web-since=2h"), 0);
    ck_assert(options.web);
    ck_assert_int_eq(options.mode, EXPORTER_HTTP);
    ck_assert_double_eq(options.web_since_s, 7200);
    ck_assert_int_eq(parse(&options, "--web", "--database=/x"), 0);
    ck_assert_str_eq(options.pages.database, "/x");
    ck_assert_int_eq(parse(&options, "--web", "--web-host=b.example"), 0);
    ck_assert_uint_eq(options.names.n_more, 1);
    ck_assert_str_eq(options.names.more[0], "b.example");
    ck_assert_int_eq(parse(&options, "--web-host=a", NULL), 0);
    ck_assert_int_eq(parse(&options, "--web-since=2h", NULL), -EINVAL);
    ck_assert_int_eq(parse(&options, "--page-to-stdout", "--web-since=2h"), 0);
    /* As it was before there was --web. */
    ck_assert_int_eq(parse(&options, "--pri", NULL), 0);
    ck_assert_int_eq(options.mode, EXPORTER_PRINT);
    /* As the server calls itself. */
    ck_assert_int_eq(parse(&options, "--page-to-stdout", "--web"), 0);
    ck_assert_int_eq(options.mode, EXPORTER_PAGE);
    ck_assert_int_eq(parse(&options, "--web", "--print"), -EINVAL);
    ck_assert_int_eq(parse(&options, "--web", "--textfile=a.prom"), -EINVAL);
    ck_assert_int_eq(parse(&options, "--print", "--page-to-stdout"), -EINVAL);
    ck_assert_int_eq(parse(&options, "--web-since=0", NULL), -EINVAL);
    ck_assert_int_eq(parse(&options, "--web-host=", NULL), -EINVAL);
    ck_assert_int_eq(parse(&options, "--web-host=a:80", NULL), -EINVAL);
    ck_assert_int_eq(parse(&options, "--web-host=a b", NULL), -EINVAL);
}

TEST(plain, so_many_names_and_no_more)
{
    struct exporter_options options;
    char name[] = "--web-host=a";
    char program[] = "vmwss-exporter";
    char web_too[] = "--web";
    char *argv[REQUEST_HOST_MORE + 4] = {program, web_too};

    for (int i = 2; i <= REQUEST_HOST_MORE + 2; i++)
        argv[i] = name;
    optind = 0;
    ck_assert_int_eq(exporter_options_parse(&options, REQUEST_HOST_MORE + 2, argv), 0);
    optind = 0;
    ck_assert_int_eq(exporter_options_parse(&options, REQUEST_HOST_MORE + 3, argv), -EINVAL);
}
