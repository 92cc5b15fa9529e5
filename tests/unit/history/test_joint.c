// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_joint.c  What guests need together where their records stand for hours: added up
 * minute by minute from what each record stands for, and the same once minutes are gone. */
#include "base/random.h"
#include "history/event.h"
#include "history/history.h"
#include "history/host_need.h"
#include "history/standing.h"
#include "made_report.h"

/* A record of guest @p g at a time after T0; its need is 1 MiB more. */
static void add(unsigned g, double at_s, uint64_t mib, double period_s)
{
    char uuid[] = UUID_1;

    uuid[0] = (char)('a' + g);

    const struct ages_record record = kept_record(uuid, uuid, T0 + at_s, mib);
    const struct store_entry entry = {.record = &record, .period_s = period_s};

    ck_assert_int_eq(store_add(store, &entry, 1, NULL), 0);
}

static void add_event(unsigned g, double at_s, enum event_kind kind)
{
    struct store_event event = {
        .host = "testhost", .uuid = UUID_1, .kind = kind, .time_s = T0 + at_s};

    event.uuid[0] = (char)('a' + g);
    ck_assert_int_eq(store_add_event(store, &event, NULL), 0);
}

static void make(double from_s, double to_s, uint64_t capacity_mib)
{
    const struct report_options options = {.from_s = T0 + from_s,
                                           .to_s = T0 + to_s,
                                           .window_s = 10,
                                           .risk = 0.01,
                                           .capacity_bytes = capacity_mib * MIB};

    report_free(&report);
    ck_assert_ok(report_make(store, &options, &report, &error));
}

/* Three guests, each measured every four hours, one after the other, and one each minute. */
TEST(cases, records_of_hours_overlap)
{
    for (int minute = 0; minute < 12 * 60; minute++) {
        if (minute % 80 == 0)
            add((unsigned)(minute / 80 % 3), minute * MINUTE + 5, 100, 4 * HOUR);
        add(3, minute * MINUTE + 10, 10, MINUTE);
    }
    make(0, 12 * HOUR, 310);
    ck_assert_double_eq(report.total_p50, 314.0 * MIB);
    ck_assert_double_eq(report.total_p95, 314.0 * MIB);
    ck_assert_double_eq(report.total_p99, 314.0 * MIB);
    ck_assert_double_eq(report.total_max, 314.0 * MIB);
    ck_assert_double_eq(report.short_share, 1);
    ck_assert_double_eq(report.shortage.short_s, 12 * HOUR);
    ck_assert_double_eq(report.shortage.longest_s, 12 * HOUR);
    ck_assert_double_eq(report.known_s, 12 * HOUR);
    forget_minutes();
    make(0, 12 * HOUR, 310);
    ck_assert_uint_eq(report.level_s, 3600);
    ck_assert_double_eq(report.total_p50, 314.0 * MIB);
    ck_assert_double_ge(report.shortage.short_s, 12 * HOUR - MINUTE); /* the last minute goes on */
    ck_assert_double_eq(report.shortage.longest_s, report.shortage.short_s);
}

/* One touched 800 MiB in the four hours before its record, the other 150 in the same ones. */
TEST(cases, a_record_stands_for_the_time_before_it)
{
    for (int minute = 0; minute < 16 * 60; minute++) {
        if (minute % 240 == 0)
            add(0, minute * MINUTE + 5, minute == 480 ? 400 : 50, 4 * HOUR);
        add(1, minute * MINUTE + 10, minute > 240 && minute <= 480 ? 150 : 50, MINUTE);
    }
    make(0, 16 * HOUR, 500);
    ck_assert_double_eq(report.total_max, 552.0 * MIB);
    ck_assert_double_eq(report.shortage.short_s, 4 * HOUR);
    ck_assert_double_eq(report.shortage.longest_s, 4 * HOUR);
    ck_assert_double_eq(report.total_p50, 102.0 * MIB);
    make(5 * HOUR, 7 * HOUR, 500); /* neither its record nor the one before is of that time */
    ck_assert_double_eq(report.shortage.short_s, 2 * HOUR);
}

TEST(cases, not_for_a_time_before_its_guest_began)
{
    add(0, 0, 50, MINUTE);
    for (int minute = 0; minute < 5 * 60; minute++) {
        if (minute == 240)
            add(1, 240 * MINUTE, 400, 4 * HOUR);
        if (minute == 241)
            add_event(1, 230 * MINUTE + 5, EVENT_START);
        add(0, minute * MINUTE, 50, MINUTE);
    }
    add_event(1, 250 * MINUTE + 5, EVENT_END);
    make(0, 5 * HOUR, 300);
    ck_assert_double_eq(report.shortage.short_s, 21 * MINUTE); /* from its start to its end */
}

static void lengthen(unsigned g, int hours)
{
    char sql[192];

    snprintf(sql, sizeof(sql),
             "UPDATE bucket SET period_ms = %d * 3600000 WHERE guest_id = "
             "(SELECT id FROM guest WHERE uuid LIKE '%c%%')",
             hours, 'a' + (int)g);
    free(kept_ask(kept.path, sql));
}

/* However long it is: a guest that was measured three times in two weeks. The writer, which has
 * tests of its own, would add up all of that time. */
TEST(cases, nor_is_there_a_longest_period)
{
    for (int n = 0; n <= 2; n++)
        add(0, n * 100 * HOUR, 400, MINUTE);
    for (int hour = 0; hour <= 200; hour += 25)
        add(1, hour * HOUR + 30, 100, MINUTE);
    lengthen(0, 100);
    lengthen(1, 25);
    make(HOUR, 200 * HOUR, 500);
    ck_assert_double_eq(report.total_p50, 502.0 * MIB);
    ck_assert_double_eq(report.shortage.short_s, report.known_s);
    ck_assert_double_eq(report.known_s, 199 * HOUR);
}

/* Neither more nor less, where records do not follow one after the other. */
TEST(cases, a_record_stands_for_its_own_period)
{
    const struct standing_events none = {0};
    const struct standing hour = {T0, HOUR, HOUR};
    const struct standing minute = {T0, MINUTE, MINUTE};
    const struct standing early = {T0 - 2 * HOUR, HOUR, HOUR};
    const struct standing late = {T0 - 30 * MINUTE, HOUR, HOUR};

    ck_assert_double_eq(standing_from(&hour, NULL, &none), T0 - 59 * MINUTE);
    ck_assert_double_eq(standing_from(&hour, &early, &none), T0 - 59 * MINUTE);
    ck_assert_double_eq(standing_from(&hour, &late, &none), T0 - 29 * MINUTE);
    ck_assert_double_eq(standing_from(&minute, &late, &none), T0);
    ck_assert_double_eq(standing_until(&hour, &none, true), T0 + 66 * MINUTE);
    ck_assert_double_eq(standing_until(&minute, &none, false), T0 + 1.1 * MINUTE);
    ck_assert_double_eq(standing_until(&minute, &none, true), T0 + MINUTE);
}

/* --- minutes short ---------------------------------------------------------------------------- */

/* Each hour from 1,000 to 1,059 MiB, minute by minute: three bins of a sketch. */
static void add_stairs(int hours)
{
    for (int minute = 0; minute < hours * 60; minute++) {
        add(0, minute * MINUTE, 499, MINUTE);
        add(1, minute * MINUTE, (uint64_t)(499 + minute % 60), MINUTE);
    }
    add(0, hours * HOUR, 1, MINUTE);
}

TEST(cases, minutes_of_hours_are_counted_each)
{
    add_stairs(5);
    for (uint64_t capacity = 995; capacity < 1065; capacity += 3) {
        const double above = fmin(fmax(1059 - (double)capacity, 0), 60) * MINUTE;

        make(0, 5 * HOUR - 1, capacity);
        ck_assert_double_eq(report.shortage.short_s, 5 * above);
    }
    forget_minutes();
    for (uint64_t capacity = 995; capacity < 1065; capacity += 3) {
        const double above = fmin(fmax(1059 - (double)capacity, 0), 60) * MINUTE;

        make(0, 5 * HOUR - 1, capacity);
        ck_assert_uint_eq(report.level_s, 3600);
        ck_assert_double_eq(report.shortage.short_s, 5 * above);
        ck_assert_double_eq(report.shortage.longest_s, above < HOUR ? above : 5 * HOUR);
        ck_assert(!report.shortage.rough);
        ck_assert_double_eq(report.shortage.low_s, report.shortage.short_s);
        ck_assert_double_eq(report.shortage.high_s, report.shortage.short_s);
        ck_assert_double_eq_tol(report.short_share, above / HOUR, 1e-9);
    }
    ck_assert_double_eq(report.total_p50, 1029.0 * MIB);
}

/* A file of before: bounds that hold the truth, and nothing that would be taken for exact. */
TEST(cases, what_has_the_distribution_only_is_bounded)
{
    bool wide = false;

    add_stairs(5);
    forget_minutes();
    free(kept_ask(kept.path, "DROP TABLE host_minutes"));
    store_close(store);
    store = kept_open(kept.path);
    for (uint64_t capacity = 970; capacity < 1080; capacity++) {
        const double above = 5 * fmin(fmax(1059 - (double)capacity, 0), 60) * MINUTE;

        make(0, 5 * HOUR - 1, capacity);
        ck_assert(report.shortage.rough);
        ck_assert_double_le(report.shortage.low_s, above);
        ck_assert_double_ge(report.shortage.high_s, above);
        wide |= report.shortage.low_s < report.shortage.high_s;
    }
    ck_assert(wide);
}

/* --- against the records themselves ----------------------------------------------------------- */

#define GUESTS 4
#define SPAN_MINUTES (20 * 60)

/* The need of all guests in each minute, by the records that are drawn. */
static double truth[SPAN_MINUTES];

static struct drawn {
    unsigned g;
    int minute;
    uint64_t mib;
    double period_s;
} drawn[GUESTS * SPAN_MINUTES];
static size_t n_drawn;

static void draw(uint64_t *state)
{
    static const int periods[] = {1, 2, 5, 7, 60, 61, 200, 240};
    int next[GUESTS] = {0};
    int last[GUESTS];
    uint64_t mib[GUESTS] = {0};

    for (unsigned g = 0; g < GUESTS; g++)
        last[g] = -1;
    for (size_t m = 0; m < SPAN_MINUTES; m++)
        truth[m] = 0;
    for (int m = 0; m < SPAN_MINUTES; m++)
        for (unsigned g = 0; g < GUESTS; g++) {
            if (m < next[g])
                continue;
            mib[g] = 1 + random_below(state, 200);
            for (int before = last[g] + 1; before <= m; before++)
                truth[before] += (double)(mib[g] + 1) * MIB;
            drawn[n_drawn++] = (struct drawn){g, m, mib[g], (m - last[g]) * MINUTE};
            last[g] = m;
            next[g] = m + periods[random_below(state, COUNT(periods))];
        }
}

/* Those of @p lump minutes come guest by guest; the writer is begun anew after some. */
static void add_drawn(int lump, int writer)
{
    for (int from = 0; from < SPAN_MINUTES; from += lump)
        for (unsigned g = 0; g < GUESTS; g++)
            for (size_t i = 0; i < n_drawn; i++)
                if (drawn[i].g == g && drawn[i].minute >= from && drawn[i].minute < from + lump) {
                    add(g, drawn[i].minute * MINUTE + 7, drawn[i].mib, drawn[i].period_s);
                    if (i % (size_t)writer == 0) {
                        store_close(store);
                        store = kept_open(kept.path);
                    }
                }
}

static void check_needs(int level_s, int to_minute)
{
    const struct history_query query = {level_s, T0, T0 + SPAN_MINUTES * MINUTE - 1, 10};
    struct host_needs needs;

    ck_assert_int_eq(host_needs_read(store, "testhost", &query, &needs, NULL), 0);
    ck_assert_uint_ge(needs.n, (size_t)to_minute);
    for (int m = 0; m < to_minute; m++) {
        ck_assert_double_eq(needs.all[m].start_s, T0 + m * MINUTE);
        ck_assert_msg(needs.all[m].bytes == truth[m], "minute %d: %.0f, not %.0f", m,
                      needs.all[m].bytes / MIB, truth[m] / MIB);
    }
    host_needs_free(&needs);
}

/* The last record of each is behind the first minutes that are compared. */
TEST_EACH(cases, sums_are_those_of_the_records, 0, 4)
{
    static const int lumps[] = {1, 1, 45, 90};
    static const int writers[] = {10000, 61, 10000, 61};
    uint64_t state = 7 + (uint64_t)_i;

    draw(&state);
    add_drawn(lumps[_i], writers[_i]);
    check_needs(60, SPAN_MINUTES - 241);
    for (int m = 0; m < 240 * 2; m += 10) /* time goes on, so that what is reached is final */
        add(GUESTS, (SPAN_MINUTES + m) * MINUTE, 1, MINUTE);
    check_needs(3600, SPAN_MINUTES - 241);
    forget_minutes();
    check_needs(3600, SPAN_MINUTES - 241);
}

/* --- what is assumed -------------------------------------------------------------------------- */

static void add_unmeasured(unsigned g, double at_s)
{
    char uuid[] = UUID_1;

    uuid[0] = (char)('a' + g);

    struct ages_record record = kept_record(uuid, uuid, T0 + at_s, 100);
    const struct store_entry entry = {.record = &record, .period_s = MINUTE};

    record.sample.n_windows = record.n_bins = 0;
    record.sample.method = SAMPLE_NO_METHOD;
    record.sample.flags = FLAG_NOT_MEASURED;
    ck_assert_int_eq(store_add(store, &entry, 1, NULL), 0);
}

TEST(cases, what_is_assumed_is_said)
{
    char *text;

    for (int minute = 0; minute < 60; minute++) {
        add(0, minute * MINUTE, 100, MINUTE);
        if (minute < 30)
            add_unmeasured(1, minute * MINUTE);
        else
            add(1, minute * MINUTE, 10, MINUTE); /* by then it is measured */
    }
    setenv("COLUMNS", "80", 1);
    make(0, HOUR, 300);
    ck_assert_uint_eq(report.n_assumed, 1);
    ck_assert_double_eq(report.assumed_bytes, 512.0 * MIB);
    ck_assert(!report.guests[1].not_measured);
    ck_assert_double_eq(report.shortage.short_s, 30 * MINUTE);
    text = print_report(SHOW_TABLE);
    ck_assert_ptr_nonnull(strstr(text, "1 guest could not be measured at some time:"));
    ck_assert_ptr_nonnull(strstr(text, "up to 512.0 MiB"));
    free(text);
    text = print_report(SHOW_JSON);
    ck_assert_ptr_nonnull(
        strstr(text, "\"not_measured_guests\":1,\"not_measured_bytes\":536870912"));
    free(text);
    forget_minutes();
    make(0, HOUR, 300);
    ck_assert_uint_eq(report.level_s, 3600);
    ck_assert_uint_eq(report.n_assumed, 1);
    ck_assert_double_gt(report.assumed_bytes, 0);
    free(kept_ask(kept.path, "UPDATE bucket SET flags = 0"));
    make(0, HOUR, 300);
    text = print_report(SHOW_TABLE);
    ck_assert_ptr_null(strstr(text, "Not measured"));
    free(text);
}
