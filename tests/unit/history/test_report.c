// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_report.c  Which guests a report takes for running, between their records and after
 * the last. */
#include "history/event.h"
#include "made_report.h"
#include "show/html_report.h"

#include <errno.h>

#define DAY (24 * HOUR)

/* Records of 100 MiB from T0 to @p last_s after it, each of which stands for @p period_s. */
static void add(const char *uuid, double every_s, double last_s, double period_s)
{
    for (double at_s = 0; at_s <= last_s; at_s += every_s) {
        const struct ages_record record = kept_record(uuid, uuid, T0 + at_s, 100);
        const struct store_entry entry = {.record = &record, .period_s = period_s};

        ck_assert_int_eq(store_add(store, &entry, 1, NULL), 0);
    }
}

static void make_within(uint64_t capacity_bytes, double to_s)
{
    const struct report_options options = {.from_s = T0,
                                           .to_s = T0 + to_s,
                                           .window_s = 10,
                                           .risk = 0.01,
                                           .capacity_bytes = capacity_bytes};

    report_free(&report);
    ck_assert_ok(report_make(store, &options, &report, &error));
    ck_assert_uint_eq(report.n_guests, 2);
}

static void make(double to_s)
{
    make_within(0, to_s);
}

static bool runs(const char *uuid)
{
    for (size_t g = 0; g < report.n_guests; g++)
        if (strcmp(report.guests[g].guest.uuid, uuid) == 0)
            return report.guests[g].running;
    ck_abort_msg("no guest %s", uuid);
    return false;
}

TEST(cases, between_two_records_a_guest_is_there)
{
    add(UUID_1, MINUTE, HOUR, MINUTE);
    add(UUID_2, 5 * MINUTE, HOUR - 5 * MINUTE, 5 * MINUTE);
    make(HOUR + 1);
    ck_assert_double_eq_tol(report.total_p50, 202.0 * MIB, 1.0); /* of upper bounds */
    ck_assert(runs(UUID_2));                                     /* its next is yet to come */
}

TEST(cases, a_guest_that_has_ended_is_not_there_for_an_hour_more)
{
    add(UUID_1, HOUR, 2 * DAY, 30);
    add(UUID_2, HOUR, 2 * DAY - HOUR, 30);
    forget_minutes();
    make(2 * DAY + HOUR / 2);
    ck_assert(runs(UUID_1));
    ck_assert(!runs(UUID_2));
    ck_assert_uint_eq(report.ram_bytes, 1024 * MIB);
}

static void add_event(const char *uuid, double at_s, enum event_kind kind)
{
    struct store_event event = {.host = "testhost", .kind = kind, .time_s = T0 + at_s};

    snprintf(event.uuid, sizeof(event.uuid), "%s", uuid);
    ck_assert_int_eq(store_add_event(store, &event, NULL), 0);
}

TEST(cases, one_that_was_ended_does_not_run)
{
    add(UUID_1, MINUTE, HOUR, MINUTE);
    add(UUID_2, MINUTE, HOUR, MINUTE);
    add_event(UUID_2, HOUR + 5, EVENT_END);
    make(HOUR + 10);
    ck_assert(runs(UUID_1) && !runs(UUID_2));
    ck_assert_uint_eq(report.ram_bytes, 1024 * MIB);
    make(HOUR + 4); /* as it was then */
    ck_assert(runs(UUID_2));
    add_event(UUID_2, HOUR + 11, EVENT_START);
    add_event(UUID_1, HOUR + 11, EVENT_SUSPEND);
    make(HOUR + 12);
    ck_assert(runs(UUID_1) && runs(UUID_2));
}

/* UUID_2 had one minute, and the others of two days are UUID_1's alone. */
TEST(cases, nor_is_it_in_any_sum)
{
    add(UUID_1, HOUR, 2 * DAY, 30);
    add(UUID_2, HOUR, 0, 30);
    forget_minutes();
    make(2 * DAY);
    ck_assert_double_eq_tol(report.total_max, 202.0 * MIB, 1.0);
    ck_assert_double_eq_tol(report.total_p95, 101.0 * MIB, MIB);
    make(DAY + HOUR);
    ck_assert_uint_eq(report.level_s, 3600);
    ck_assert_double_eq_tol(report.total_p95, 101.0 * MIB, MIB); /* one hour of 25, not two */
}

TEST(cases, who_is_measured_every_minute_runs_on_when_an_hour_begins)
{
    add(UUID_1, HOUR, 2 * DAY, 30);
    add(UUID_2, HOUR, 2 * DAY - HOUR, 60);
    forget_minutes();
    make(2 * DAY + 10);
    ck_assert(runs(UUID_2));
    make(2 * DAY + 2 * MINUTE);
    ck_assert(!runs(UUID_2));
}

/* From @p from_s to @p to_s: it runs, 512 MiB of it are resident, and more is not known. */
static void add_unmeasured(const char *uuid, double from_s, double to_s)
{
    for (double at_s = from_s; at_s <= to_s; at_s += 5 * MINUTE) {
        struct ages_record record = kept_record(uuid, uuid, T0 + at_s, 100);
        const struct store_entry entry = {.record = &record, .period_s = 5 * MINUTE};

        record.sample.n_windows = record.n_bins = 0;
        record.sample.method = SAMPLE_NO_METHOD;
        ck_assert_int_eq(store_add(store, &entry, 1, NULL), -EINVAL);
        record.sample.flags = FLAG_NOT_MEASURED;
        ck_assert_int_eq(store_add(store, &entry, 1, NULL), 0);
    }
}

/* Else its RAM would be missing in what all need, and more guests would seem to fit. */
TEST(cases, what_is_not_measured_counts_as_resident)
{
    add(UUID_1, MINUTE, HOUR, MINUTE);
    add_unmeasured(UUID_2, 0, HOUR);
    make(HOUR + 1);
    ck_assert_double_eq_tol(report.total_p50, 612.0 * MIB, 6.0 * MIB);
    ck_assert_uint_eq(report.ram_bytes, 2048 * MIB);
    ck_assert_uint_eq(report.resident_bytes, 1024 * MIB);
    ck_assert_double_eq_tol((double)report.reclaimable_bytes, 412.0 * MIB, 6.0 * MIB);
    ck_assert(runs(UUID_2));
    ck_assert(report.guests[1].not_measured && report.guests[1].records == 0);
    ck_assert(!report.guests[0].not_measured);
}

TEST(cases, one_that_was_measured_before)
{
    add(UUID_1, MINUTE, HOUR, MINUTE);
    add(UUID_2, MINUTE, HOUR / 2, MINUTE);
    add_unmeasured(UUID_2, HOUR / 2 + MINUTE, HOUR);
    make(HOUR + 1);
    ck_assert(report.guests[1].not_measured && report.guests[1].records > 0);
    ck_assert_double_eq_tol(report.guests[1].wss_p50, 100.0 * MIB, 2.0 * MIB);
    ck_assert_uint_eq(report.guests[1].reclaimable_bytes, 0);
    ck_assert_double_eq_tol(report.total_max, 612.0 * MIB, 6.0 * MIB);
}

/* Both guests have 100 MiB, but 500 in the first three minutes of each hour, as by cron. */
static void add_cron(double last_s)
{
    for (double at_s = 0; at_s < last_s; at_s += MINUTE) {
        const uint64_t mib = fmod(at_s, HOUR) < 3 * MINUTE ? 500 : 100;
        const struct ages_record records[] = {kept_record(UUID_1, UUID_1, T0 + at_s, mib),
                                              kept_record(UUID_2, UUID_2, T0 + at_s, mib)};
        const struct store_entry entries[] = {{.record = &records[0], .period_s = MINUTE},
                                              {.record = &records[1], .period_s = MINUTE}};

        ck_assert_int_eq(store_add(store, entries, 2, NULL), 0);
    }
}

/* Each hour is high for a twentieth of it: if each guest's hour were drawn on its own, both would
 * be in a four hundredth of the time, and p99 600 MiB. */
TEST(cases, what_peaks_in_the_same_minutes_is_added_up)
{
    add_cron(5 * HOUR);
    make(5 * HOUR);
    ck_assert_uint_eq(report.level_s, 60);
    ck_assert_uint_eq(report.n_times, 5 * 60);
    ck_assert_double_eq_tol(report.total_p99, 1002.0 * MIB, 1.0);
    ck_assert_double_eq_tol(report.total_p50, 202.0 * MIB, 1.0);
    forget_minutes();
    make(5 * HOUR);
    ck_assert_uint_eq(report.level_s, 3600);
    ck_assert_double_eq_tol(report.total_p99, 1000.0 * MIB, 12.0 * MIB);
    ck_assert_double_eq_tol(report.total_p50, 200.0 * MIB, 4.0 * MIB);
    ck_assert_double_eq_tol(report.total_max, 1002.0 * MIB, 1.0);
}

#define CRON_GUESTS 20
static void add_many(double last_s)
{
    static struct ages_record records[CRON_GUESTS];
    struct store_entry entries[CRON_GUESTS];

    for (double at_s = 0; at_s < last_s; at_s += MINUTE) {
        for (unsigned g = 0; g < CRON_GUESTS; g++) {
            char uuid[] = UUID_1;

            uuid[0] = (char)('a' + g % 6);
            uuid[1] = (char)('0' + g / 6);
            records[g] = kept_record(uuid, uuid, T0 + at_s,
                                     fmod(at_s, HOUR) < 3 * MINUTE ? 400 : 100);
            entries[g] = (struct store_entry){.record = &records[g], .period_s = MINUTE};
        }
        ck_assert_int_eq(store_add(store, entries, CRON_GUESTS, NULL), 0);
    }
}

/* Twenty guests that cron starts together, of which minutes are not kept any more. */
TEST(cases, many_that_peak_together_are_added_up_after_a_month)
{
    const struct report_options options = {.from_s = T0,
                                           .to_s = T0 + 3 * HOUR,
                                           .window_s = 10,
                                           .risk = 0.01,
                                           .capacity_bytes = 6000 * MIB};

    add_many(3 * HOUR);
    forget_minutes();
    ck_assert_int_eq(report_make(store, &options, &report, NULL), 0);
    ck_assert_uint_eq(report.n_guests, CRON_GUESTS);
    ck_assert_double_eq_tol(report.total_p99, 8020.0 * MIB, 80.0 * MIB);
    ck_assert_double_eq_tol(report.total_p50, 2020.0 * MIB, 20.0 * MIB);
    ck_assert_double_eq_tol(report.short_share, 0.05, 0.01);
    ck_assert_double_eq(report.shortage.short_s, 3 * 3 * MINUTE);
}

/* --- the sums of each minute ------------------------------------------------------------------ */

/* The sum in a minute or an hour after T0, in the first window, MiB; NULL: there is none. */
static void check_need(int level_s, double after_s, const char *mib)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "SELECT (windows ->> '$[0][7]') / 1048576 FROM host_need WHERE level_s = %d AND "
             "start_s = %.0f",
             level_s, T0 + after_s);
    ck_assert_sql(kept.path, sql, mib);
}

TEST(cases, a_minute_is_the_sum_of_upper_bounds)
{
    add(UUID_1, MINUTE, 10 * MINUTE, MINUTE);
    check_need(60, 9 * MINUTE, "101");
    check_need(60, 10 * MINUTE, NULL); /* it goes on */
    check_need(3600, 0, "101");
    add(UUID_2, MINUTE, 10 * MINUTE, MINUTE); /* these come late */
    check_need(60, 0, "202");
    check_need(60, 9 * MINUTE, "202");
    check_need(3600, 0, "202");
    ck_assert_sql(kept.path, "SELECT min(guests) || max(guests) FROM host_need", "22");
    ck_assert_sql(kept.path, "SELECT minutes FROM host_need WHERE level_s = 3600", "10");
}

TEST(cases, who_is_measured_less_often_stands_until_the_next)
{
    add(UUID_2, 5 * MINUTE, 10 * MINUTE, 5 * MINUTE);
    add(UUID_1, MINUTE, 20 * MINUTE, MINUTE);
    check_need(60, 4 * MINUTE, "202");
    check_need(60, 15 * MINUTE, "202"); /* its next is not late yet */
    check_need(60, 16 * MINUTE, "101");
}

TEST(cases, but_not_after_its_end)
{
    add(UUID_2, 5 * MINUTE, 10 * MINUTE, 5 * MINUTE);
    add_event(UUID_2, 12 * MINUTE + 1, EVENT_END);
    add(UUID_1, MINUTE, 20 * MINUTE, MINUTE);
    check_need(60, 12 * MINUTE, "202");
    check_need(60, 13 * MINUTE, "101");
}

static void add_at(const char *uuid, double at_s, double period_s)
{
    const struct ages_record record = kept_record(uuid, uuid, T0 + at_s, 100);
    const struct store_entry entry = {.record = &record, .period_s = period_s};

    ck_assert_int_eq(store_add(store, &entry, 1, NULL), 0);
}

TEST(cases, nor_by_a_record_before_its_last)
{
    add_at(UUID_2, 0, 10 * MINUTE);
    add_at(UUID_2, MINUTE, 30);
    add(UUID_1, MINUTE, 10 * MINUTE, MINUTE);
    check_need(60, MINUTE, "202");
    check_need(60, 5 * MINUTE, "101");
}

/* It ended and began again within the minute of its last record. */
TEST(cases, who_begins_again_stands)
{
    add_at(UUID_2, 0, 10 * MINUTE);
    add_event(UUID_2, 10, EVENT_END);
    add_event(UUID_2, 20, EVENT_START);
    add_at(UUID_2, 40, 10 * MINUTE);
    add(UUID_1, MINUTE, 10 * MINUTE, MINUTE);
    check_need(60, 5 * MINUTE, "202");
}

/* Sparse measurements from before vmwssd restarted still stand. */
TEST(cases, a_new_writer_knows_who_stands)
{
    add_at(UUID_2, 0, 10 * MINUTE);
    add(UUID_1, MINUTE, MINUTE, MINUTE);
    store_close(store);
    store = kept_open(kept.path);
    for (int minute = 2; minute <= 15; minute++)
        add_at(UUID_1, minute * MINUTE, MINUTE);
    check_need(60, MINUTE, "202");
    check_need(60, 5 * MINUTE, "202");
    check_need(60, 11 * MINUTE, "101");
}

/* Also where records are from a clock that was years ahead. */
TEST(cases, a_new_writer_knows_who_stands_now)
{
    add_at(UUID_1, 3650 * DAY, MINUTE);
    add_at(UUID_1, 3650 * DAY + MINUTE, MINUTE);
    add_at(UUID_2, 0, 10 * MINUTE);
    store_close(store);
    store = kept_open(kept.path);
    for (int minute = 2; minute <= 6; minute++)
        add_at(UUID_1, minute * MINUTE, MINUTE);
    check_need(60, 5 * MINUTE, "202");
}

static void add_one(double at_s)
{
    const struct ages_record record = kept_record(UUID_1, UUID_1, T0 + at_s, 100);
    const struct store_entry entry = {.record = &record, .period_s = MINUTE};

    ck_assert_int_eq(store_add(store, &entry, 1, NULL), 0);
}

/* The last minute before a stop is added up when it goes on; those between are a gap. */
TEST(cases, a_stop_is_a_gap)
{
    add(UUID_1, MINUTE, 10 * MINUTE, MINUTE);
    store_close(store);
    store = kept_open(kept.path);
    add_one(HOUR + 30 * MINUTE);
    add_one(HOUR + 31 * MINUTE);
    check_need(60, 10 * MINUTE, "101");
    check_need(60, 11 * MINUTE, NULL);
    check_need(60, HOUR + 29 * MINUTE, NULL);
    check_need(60, HOUR + 30 * MINUTE, "101");
    check_need(3600, HOUR, "101");
}

/* For a moment the clock was years ahead. */
TEST(cases, a_clock_that_was_ahead_stops_nothing)
{
    add_one(0);
    add_one(3650 * DAY);
    add_one(MINUTE);
    add_one(2 * MINUTE);
    add_one(3 * MINUTE);
    check_need(60, MINUTE, "101");
    check_need(60, 2 * MINUTE, "101");
    check_need(60, 3 * MINUTE, NULL);
}

/* Retention has taken minutes of it. */
TEST(cases, a_late_record_does_not_make_an_hour_smaller)
{
    add(UUID_1, MINUTE, HOUR, MINUTE);
    forget_minutes();
    add_one(5 * MINUTE);
    add_one(6 * MINUTE);
    ck_assert_sql(kept.path, "SELECT max(minutes) FROM host_need WHERE level_s = 3600", "60");
}

TEST(cases, a_gap_is_told_from_the_time_that_is_known)
{
    add(UUID_1, MINUTE, 10 * MINUTE - 1, MINUTE);
    add(UUID_2, MINUTE, 10 * MINUTE - 1, MINUTE);
    add_one(30 * MINUTE);
    add_one(39 * MINUTE);
    make(HOUR);
    ck_assert_double_eq(report.known_s, 12 * MINUTE);
    ck_assert_double_eq(report.to_s - report.from_s, 40 * MINUTE);
}

TEST(cases, minutes_that_are_short_are_counted)
{
    add_cron(5 * HOUR);
    make_within(800 * MIB, 5 * HOUR);
    ck_assert_double_eq(report.shortage.short_s, 5 * 3 * MINUTE);
    ck_assert_double_eq(report.shortage.longest_s, 3 * MINUTE);
    make_within(1100 * MIB, 5 * HOUR);
    ck_assert_double_eq(report.shortage.short_s, 0);
    make_within(150 * MIB, 5 * HOUR);
    ck_assert_double_eq(report.shortage.longest_s, 5 * HOUR);
}

/* Ten minutes of an hour have the window of 60 s, and five of them were short. */
TEST(cases, minutes_without_the_window_are_not_known)
{
    const struct report_options options = {.from_s = T0,
                                           .to_s = T0 + 3 * HOUR,
                                           .window_s = 60,
                                           .risk = 0.01,
                                           .capacity_bytes = 800 * MIB};

    for (int minute = 0; minute < 60; minute++) {
        struct ages_record record = kept_record(UUID_1, UUID_1, T0 + minute * MINUTE,
                                                minute < 5 ? 450 : 100);
        const struct store_entry entry = {.record = &record, .period_s = MINUTE};

        record.sample.n_windows = minute < 10 ? 2 : 1;
        ck_assert_int_eq(store_add(store, &entry, 1, NULL), 0);
    }
    forget_minutes();
    ck_assert_int_eq(report_make(store, &options, &report, NULL), 0);
    ck_assert_uint_eq(report.level_s, 3600);
    ck_assert_double_eq(report.known_s, 10 * MINUTE);
    ck_assert_double_eq(report.shortage.short_s, 5 * MINUTE);
}

/* It was begun before sums were kept. */
TEST(cases, an_older_history_is_read_and_goes_on)
{
    const struct report_options options = {.from_s = T0,
                                           .to_s = T0 + 3 * HOUR,
                                           .window_s = 10,
                                           .risk = 0.01,
                                           .capacity_bytes = 150 * MIB};
    struct store *reader;

    add(UUID_1, MINUTE, 2 * HOUR - 1, MINUTE);
    add(UUID_2, MINUTE, 2 * HOUR - 1, MINUTE);
    forget_minutes();
    store_close(store);
    free(kept_ask(kept.path, "DROP TABLE host_need"));
    ck_assert_int_eq(history_open(kept.path, &reader, NULL), 0);
    ck_assert_int_eq(report_make(reader, &options, &report, NULL), 0);
    store_close(reader);
    ck_assert_double_eq_tol(report.total_p50, 200.0 * MIB, 4.0 * MIB);
    ck_assert_double_eq(report.known_s, 2 * HOUR);
    ck_assert_double_eq(report.shortage.short_s, 2 * HOUR);
    store = kept_open(kept.path);
    ck_assert_str_eq(store_notice(store), "");
    add_at(UUID_1, 2 * HOUR, MINUTE);
    add_at(UUID_1, 2 * HOUR + MINUTE, MINUTE);
    check_need(60, 2 * HOUR, "101");
}

/* Minutes without a record are not said to have been short, and end an episode. */
TEST(cases, a_gap_is_no_shortage)
{
    add(UUID_1, MINUTE, 10 * MINUTE - 1, MINUTE);
    add(UUID_2, MINUTE, 10 * MINUTE - 1, MINUTE);
    for (double at_s = 30 * MINUTE; at_s < 35 * MINUTE; at_s += MINUTE) {
        const struct ages_record record = kept_record(UUID_1, UUID_1, T0 + at_s, 100);
        const struct store_entry entry = {.record = &record, .period_s = MINUTE};

        ck_assert_int_eq(store_add(store, &entry, 1, NULL), 0);
    }
    make_within(50 * MIB, HOUR);
    ck_assert_double_eq(report.shortage.short_s, 15 * MINUTE);
    ck_assert_double_eq(report.shortage.longest_s, 10 * MINUTE);
}

/* The page of the report, without any picture of a guest. */
static char *page_of_report(void)
{
    const struct timeline_span span = {.cell_s = HOUR, .begin_s = T0, .n_cells = 1};
    struct timeline_cell *cells = calloc(report.n_guests, sizeof(*cells));
    const struct html_report page = {.report = &report, .span = &span, .cells = cells, .now_s = T0};
    char *text = NULL;
    size_t size = 0;
    FILE *file;
    const char *path = TEXT_OF(128, "%s/page.html", kept.dir);

    ck_assert_int_eq(html_report_write(&page, path, NULL), 0);
    free(cells);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_gt(getdelim(&text, &size, '\0', file), 0);
    fclose(file);
    return text;
}

TEST(cases, a_page_has_the_doubts_of_the_table)
{
    cleanup_free char *page;

    add(UUID_1, MINUTE, 10 * MINUTE - 1, MINUTE);
    add(UUID_2, MINUTE, 10 * MINUTE - 1, MINUTE);
    add_one(30 * MINUTE);
    add_one(39 * MINUTE);
    make_within(1024 * MIB, HOUR);
    page = page_of_report();
    ck_assert_ptr_nonnull(strstr(page, "For 70.0 % of that time there is no record"));
    ck_assert_ptr_nonnull(strstr(page, "from 12 minutes: too few to know"));
}

/* The sums of an hour are of its minutes: what peaks together is in them. */
TEST(cases, a_page_from_hours_does_not_doubt_its_sums)
{
    cleanup_free char *page;

    add_cron(5 * HOUR);
    forget_minutes();
    make_within(1024 * MIB, 5 * HOUR);
    ck_assert_uint_eq(report.level_s, 3600);
    page = page_of_report();
    ck_assert_ptr_null(strstr(page, "busy in the same minutes"));
}

/* Upper bounds of 300 MiB where 100 are touched: of new guests they count as well. */
TEST(cases, new_guests_need_their_upper_bounds)
{
    const struct report_options options = {.from_s = T0,
                                           .to_s = T0 + 3 * HOUR,
                                           .window_s = 10,
                                           .risk = 0.01,
                                           .capacity_bytes = 1250 * MIB,
                                           .guest_bytes = 1024 * MIB};

    for (int minute = 0; minute < 120; minute++) {
        struct ages_record records[] = {kept_record(UUID_1, UUID_1, T0 + minute * MINUTE, 100),
                                        kept_record(UUID_2, UUID_2, T0 + minute * MINUTE, 100)};
        const struct store_entry entries[] = {{.record = &records[0], .period_s = MINUTE},
                                              {.record = &records[1], .period_s = MINUTE}};

        records[0].sample.windows[0].wss_high_bytes = 300 * MIB;
        records[1].sample.windows[0].wss_high_bytes = 300 * MIB;
        ck_assert_int_eq(store_add(store, entries, 2, NULL), 0);
    }
    ck_assert_int_eq(report_make(store, &options, &report, NULL), 0);
    ck_assert_double_eq(report.fit, 2);
    report_free(&report);
    forget_minutes();
    ck_assert_int_eq(report_make(store, &options, &report, NULL), 0);
    ck_assert_uint_eq(report.level_s, 3600);
    ck_assert_double_eq(report.fit, 2);
}

/* U+202E would show "1.gpj" for "1.jpg", a terminal obeys ESC, and 0xff is no UTF-8. */
TEST(cases, names_are_fit_to_print)
{
    const struct ages_record turned = kept_record("a\u202e\033[2J", UUID_1, T0, 100);
    const struct ages_record broken = kept_record("b\xff", UUID_2, T0, 100);
    char *text;

    ck_assert_int_eq(kept_add(store, &turned, NULL), 0);
    ck_assert_int_eq(kept_add(store, &broken, NULL), 0);
    make(HOUR);
    text = print_report(SHOW_TABLE);
    ck_assert_ptr_nonnull(strstr(text, "a????[2J"));
    ck_assert_ptr_nonnull(strstr(text, "b?"));
    ck_assert_ptr_null(strstr(text, "\u202e"));
    free(text);
    text = print_report(SHOW_JSON);
    ck_assert_ptr_nonnull(strstr(text, "\"domain\":\"b?\""));
    free(text);
}

static void add_writes(const char *uuid, double at_s, double window_s, uint64_t mib)
{
    struct ages_record record = kept_record(uuid, uuid, T0 + at_s, 100);

    record.sample.writes = (struct write_curve){
        .method = "soft-dirty",
        .granularity_bytes = 4096,
        .n = 1,
        .points = {{window_s, window_s, mib * MIB, mib * MIB, (mib + 1) * MIB}}};

    const struct store_entry entry = {.record = &record, .period_s = MINUTE};

    ck_assert_int_eq(store_add(store, &entry, 1, NULL), 0);
}

/* The median working set, 100 MiB within 10 s, without what was written in that time. */
TEST(cases, the_read_mostly_part_holds_for_every_write_curve)
{
    add(UUID_1, MINUTE, HOUR, MINUTE);
    add(UUID_2, MINUTE, HOUR, MINUTE);
    add_writes(UUID_1, HOUR + 1, 10, 8);
    add_writes(UUID_1, HOUR + 2, 10, 20);
    make(HOUR + 3);
    for (size_t g = 0; g < report.n_guests; g++) {
        const struct report_guest *guest = &report.guests[g];
        const bool first = strcmp(guest->guest.uuid, UUID_1) == 0;

        /* not known is not 0 */
        ck_assert_int_eq(isnan(guest->read_mostly_low), !first);
        ck_assert_int_eq(isnan(guest->read_mostly_high), !first);
        if (!first)
            continue;
        ck_assert_double_eq_tol(guest->read_mostly_low, guest->wss_p50 - 21.0 * MIB, 1);
        ck_assert_double_eq_tol(guest->read_mostly_high, guest->wss_p50 - 8.0 * MIB, 1);
    }

    /* Within 5 s 40 MiB were written, so within 10 s up to twice as much. */
    add_writes(UUID_2, HOUR + 1, 5, 40);
    make(HOUR + 3);
    for (size_t g = 0; g < report.n_guests; g++) {
        const struct report_guest *guest = &report.guests[g];

        if (strcmp(guest->guest.uuid, UUID_2) != 0)
            continue;
        ck_assert_double_eq_tol(guest->read_mostly_low, guest->wss_p50 - 82.0 * MIB, 1);
        ck_assert_double_eq_tol(guest->read_mostly_high, guest->wss_p50 - 40.0 * MIB, 1);
    }
}

TEST(cases, the_report_shows_the_read_mostly_part)
{
    char *text;

    add(UUID_1, MINUTE, HOUR, MINUTE);
    add(UUID_2, MINUTE, HOUR, MINUTE);
    add_writes(UUID_1, HOUR + 1, 10, 8);
    make(HOUR + 3);
    text = print_report(SHOW_JSON);
    ck_assert_ptr_nonnull(strstr(text, "\"read_mostly_low_bytes\":null"));
    ck_assert_ptr_nonnull(strstr(text, "\"read_mostly_high_bytes\":9"));
    free(text);
}
