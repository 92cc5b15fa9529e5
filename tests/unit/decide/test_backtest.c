// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_backtest.c  A history of square waves, whose exceedances, changes and savings are
 * known, replayed from the database. */
#include "decide/advice/backtest.h"
#include "decide/advice/from_history.h"
#include "kept.h"

#define T0 1767222000 /* when an hour begins */
#define MINUTE 60
#define HOUR 3600

static struct store *store;
static struct decide_day *day;
static const struct decide_windows *const windows = &decide_windows_default;

static void setup(void)
{
    kept = kept_dir_make();
    store = kept_open(kept.path);
    day = malloc(sizeof(*day));
    ck_assert_ptr_nonnull(day);
    decide_day_clear(day);
}

static void teardown(void)
{
    free(day);
    store_close(store);
}

/* 4 GiB, of which @p resident are, and windows of 60, 600 and 3600 s; bounds are exact. */
static struct ages_record record_of(int64_t at_s, uint64_t resident, const uint64_t mib[3])
{
    static const double window_s[] = {60, 600, 3600};
    struct ages_record record = kept_record("web1", UUID_1, (double)at_s, 1);
    struct sample_record *sample = &record.sample;

    record.n_bins = 0;
    sample->flags = 0;
    sample->ram_bytes = 4096 * MIB;
    sample->resident_bytes = resident * MIB;
    sample->unmeasurable_bytes = 0;
    sample->n_windows = 0;
    for (size_t w = 0; w < 3 && mib[w]; w++, sample->n_windows++)
        sample->windows[w] = (struct window_record){
            .window_s = window_s[w],
            .est_window_s = window_s[w],
            .wss_bytes = mib[w] * MIB,
            .wss_low_bytes = mib[w] * MIB,
            .wss_high_bytes = mib[w] * MIB,
            .unit_low_bytes = mib[w] * MIB,
        };
    /* Its balloon driver says that 3796 MiB are available, so 300 are used: the floor is 505. */
    sample->guest = (struct guest_stats){
        .source = GUEST_STATS_BALLOON,
        .total_bytes = 4000 * MIB,
        .used_bytes = 204 * MIB,
        .available_bytes = 3796 * MIB,
        .cache_warm_bytes = AGENT_UNKNOWN,
        .cache_cold_bytes = AGENT_UNKNOWN,
        .interval_s = 60,
        .psi_some = NAN,
        .psi_full = NAN,
        .swap_in_bytes_s = 0,
        .swap_out_bytes_s = 0,
        .refault_bytes_s = NAN,
        .scan_bytes_s = NAN,
        .major_faults_s = 0,
        .window_s = 60,
        .wss_cache_low_bytes = AGENT_UNKNOWN,
        .wss_cache_high_bytes = AGENT_UNKNOWN,
        .wss_anon_low_bytes = AGENT_UNKNOWN,
        .wss_anon_high_bytes = AGENT_UNKNOWN,
        .own_window_s = NAN,
        .own_age_s = NAN,
        .own_anon_bytes = AGENT_UNKNOWN,
        .own_file_bytes = AGENT_UNKNOWN,
        .verdict = VERDICT_BELOW,
        .consistency = 1,
    };
    return record;
}

static void add(const struct ages_record *records, size_t n)
{
    cleanup_free struct store_entry *entries = calloc(n, sizeof(*entries));

    for (size_t i = 0; i < n; i++)
        entries[i] = (struct store_entry){.record = &records[i], .period_s = MINUTE};
    ck_assert_ok(store_add(store, entries, n, &error));
}

/* Returns the peak over the @p back minutes that end with minute @p m; @p now_mib gives each
 * minute's bytes touched. */
static uint64_t peak(uint64_t (*mib)(int m), int m, int back)
{
    uint64_t most = 0;

    for (int i = m - back + 1; i <= m; i++)
        if (i >= 0 && mib(i) > most)
            most = mib(i);
    return most;
}

/* A record each minute, for @p minutes; a window is answered once the guest has been watched for so
 * long. */
static void add_minutes(uint64_t (*mib)(int m), int minutes)
{
    cleanup_free struct ages_record *records = calloc((size_t)minutes, sizeof(*records));

    ck_assert_ptr_nonnull(records);
    for (int m = 0; m < minutes; m++) {
        const uint64_t wss[3] = {mib(m), m >= 9 ? peak(mib, m, 10) : 0,
                                 m >= 59 ? peak(mib, m, 60) : 0};

        records[m] = record_of(T0 + (int64_t)m * MINUTE + 30, 4000, wss);
    }
    add(records, (size_t)minutes);
}

struct replay {
    struct backtest backtest;
    int64_t first_s;
};

static int see(const struct history_moment *moment, void *context)
{
    struct replay *replay = context;
    struct decide_input input;

    if (!replay->first_s)
        replay->first_s = moment->start_s;
    decide_day_from_moment(day, windows, moment);
    decide_from_moment(&input, windows, moment, day,
                       (double)(moment->start_s + MINUTE - replay->first_s));
    backtest_see(&replay->backtest, moment->start_s, &input, decide_reached(windows, moment));
    return 0;
}

static struct backtest_result replay_all(void)
{
    struct backtest_pending pending[61];
    struct replay replay = {0};
    struct history_guest guest;
    const struct history_query query = {.level_s = BUCKET_MINUTE, .to_s = T0 + 30.0 * 86400};

    ck_assert_uint_eq(backtest_room(3600, MINUTE), 61);
    backtest_begin(&replay.backtest, &decide_policy_default, 3600, MINUTE, pending);
    ck_assert_ok(history_find(store, "web1", &guest, &error));
    ck_assert_ok(history_moments(store, &guest, &query, see, &replay, &error));
    return replay.backtest.result;
}

/* --- waves ------------------------------------------------------------------------------------ */

static uint64_t flat(int m)
{
    (void)m;
    return 400;
}

/* D = max(1.25, 1.15, 1.10) x 400 = 500, F = 300 + 204.8, so T = 505 MiB. From the first minute
 * that all windows are answered (59) and ten minutes later it loses 5 % of what it has each minute,
 * until it is within the band, 2 % of 4096. */
static double next_size(int m, double size)
{
    return m >= 69 && size - 505 > 0.02 * 4096 ? fmax(size - fmin(size * 0.05, 256), 505) : size;
}

FIXTURE(waves, .setup = setup, .teardown = teardown, .timeout_s = 120);

TEST(waves, a_flat_line_is_never_exceeded)
{
    add_minutes(flat, 600);

    struct backtest_result result = replay_all();
    double size = 4096;
    double saved = 0;
    unsigned shrinks = 0;

    for (int m = 0; m < 600; m++) {
        shrinks += next_size(m, size) < size;
        size = next_size(m, size);
        saved += fmax(4000 - size, 0) * 60;
    }
    ck_assert_uint_eq(result.decisions, 600);
    ck_assert_uint_eq(result.vetoed, 59); /* until the hour is answered */
    ck_assert_uint_eq(result.scored, 540);
    ck_assert_uint_eq(result.exceeded, 0);
    ck_assert_uint_eq(result.worst_bytes, 0);
    ck_assert_uint_eq(result.grows, 0);
    ck_assert_uint_eq(result.reversals, 0);
    ck_assert_uint_eq(result.changes, shrinks);
    ck_assert_double_eq(result.replayed_s, 36000);
    /* Sizes are whole bytes, not MiB with fractions. */
    ck_assert_double_eq_tol(result.saved_byte_s / (double)MIB, saved, 600 * 60 * 1e-3);
}

/* Four hours of 400 MiB, then two of 1000, again and again: the day's maximum knows no hour of 1000
 * before the first. */
static uint64_t wave(int m)
{
    return m % 360 < 240 ? 400 : 1000;
}

/* All 60 decisions of the hour before the first wave are exceeded: the guest has long had what the
 * flat line needed. Of the next waves the maximum of the day has the first one in it. */
TEST(waves, the_first_wave_is_exceeded_and_no_later_one)
{
    add_minutes(wave, 3 * 360);

    struct backtest_result result = replay_all();
    double size = 4096;

    for (int m = 0; m < 240; m++)
        size = next_size(m, size);
    ck_assert_uint_eq(result.scored, 3 * 360 - 60);
    ck_assert_uint_eq(result.exceeded, 60);
    ck_assert_double_eq_tol((double)result.worst_bytes, (1000 - size) * (double)MIB, 100);
    ck_assert_uint_eq(result.size_exceeded, 60);
    ck_assert_uint_eq(result.grows,
                      3); /* to 1.25 x 1000, and in between no lower than the day's maximum */
    /* The second wave is no panic, for what the first one needed is learned: so the third one's
     * pause is a short one, and something is taken within it. */
    ck_assert_uint_eq(result.reversals, 6);
}

/* Within an hour: the long window has all of it. */
static uint64_t quick(int m)
{
    return m % 20 < 10 ? 300 : 900;
}

TEST(waves, waves_within_an_hour_are_not_followed)
{
    add_minutes(quick, 600);

    struct backtest_result result = replay_all();

    /* 1.25 x 900 = 1125 of a minute, else 1.15 x 900 of ten; 990 of an hour: never less than 1035,
     * never more than 1125. */
    ck_assert_uint_eq(result.exceeded, 0);
    ck_assert_uint_le(result.grows, 600 / 20);
    ck_assert_uint_le(result.worst_bytes, 0);
    ck_assert_double_lt(result.saved_byte_s / (double)MIB, (4000 - 1035) * 36000.0);
    ck_assert_double_gt(result.saved_byte_s / (double)MIB, (4000 - 1125) * 36000.0 * 0.75);
}

/* An hour without an answer is not scored, and a gap is no hour. */
TEST(waves, a_gap_is_not_scored)
{
    add_minutes(flat, 120);

    struct ages_record late = record_of(T0 + 200 * MINUTE + 30, 4000, (uint64_t[]){400, 400, 3000});

    add(&late, 1);

    struct backtest_result result = replay_all();

    ck_assert_uint_eq(result.decisions, 121);
    ck_assert_uint_eq(result.scored, 60);
    ck_assert_uint_eq(result.exceeded, 0);
}

/* --- the input -------------------------------------------------------------------------------- */

FIXTURE(inputs, .setup = setup, .teardown = teardown);

TEST(inputs, a_longer_window_stands_for_one_that_is_missing)
{
    static const double kept_s[] = {10, 600, 1800};

    ck_assert_int_eq(decide_pick_window(kept_s, 3, 10), 0);
    ck_assert_int_eq(decide_pick_window(kept_s, 3, 60), 1);
    ck_assert_int_eq(decide_pick_window(kept_s, 3, 3600), 2); /* there is no longer one */
    ck_assert_int_eq(decide_pick_window(kept_s, 0, 60), -1);
}

static struct decide_input from_record(const struct ages_record *record,
                                       const struct agent_last_report *last_report, double age_s)
{
    const double at_s = (double)record->sample.time.tv_sec;
    const struct kept_sample sample = {.record = *record, .period_s = 10};
    struct decide_input input;

    decide_from_record(&input, windows, &sample, day, at_s + age_s, last_report, at_s, at_s - 7200);
    return input;
}

TEST(inputs, a_record_is_an_input)
{
    struct ages_record record = record_of(T0, 2000, (uint64_t[]){100, 200, 300});
    cleanup_free struct agent_last_report *last_report = calloc(1, sizeof(*last_report));
    struct decide_input input = from_record(&record, NULL, 5);

    ck_assert_uint_eq(input.assigned_bytes, 4096 * MIB);
    ck_assert_uint_eq(input.actual_bytes, DECIDE_UNKNOWN);
    ck_assert_uint_eq(input.resident_bytes, 2000 * MIB);
    ck_assert_uint_eq(input.short_wss.high_bytes, 100 * MIB);
    ck_assert_uint_eq(input.mid_wss.high_bytes, 200 * MIB);
    ck_assert_uint_eq(input.long_wss.high_bytes, 300 * MIB);
    ck_assert_uint_eq(input.vetoes, 0);
    ck_assert_uint_eq(input.unsure, 0);
    ck_assert_double_eq(input.age_s, 5);
    ck_assert_double_eq(input.period_s,
                        60); /* a guest that does not change is measured so seldom */
    ck_assert_double_eq(input.up_s, 7200);
    ck_assert_double_eq(input.day_s, 0);
    ck_assert_uint_eq(input.guest.available_bytes, 3796 * MIB);
    ck_assert_uint_eq(input.guest.swap_total_bytes, DECIDE_UNKNOWN);

    last_report->report.uptime_s = 100; /* it was rebooted in its process */
    last_report->report.memory.swap_total_bytes = 512 * MIB;
    last_report->report.memory.swap_free_bytes = 256 * MIB;
    last_report->report.memory.inactive_anon_bytes = 64 * MIB;
    input = from_record(&record, last_report, 5);
    ck_assert_double_eq(input.up_s, 105);
    ck_assert_uint_eq(input.guest.swap_free_bytes, 256 * MIB);
    ck_assert_uint_eq(input.guest.cold_anon_bytes, 64 * MIB);
    input = from_record(&record, last_report, 181); /* too old */
    ck_assert_uint_eq(input.guest.swap_free_bytes, DECIDE_UNKNOWN);
}

TEST(inputs, windows_that_are_not_answered_yet)
{
    struct ages_record record = record_of(T0, 2000, (uint64_t[]){100, 200, 0});
    struct decide_input input = from_record(&record, NULL, 5);
    struct decide_decision decision;

    ck_assert_uint_eq(input.vetoes, VETO_WINDOW);
    ck_assert_uint_eq(input.long_wss.high_bytes, 200 * MIB);
    record.sample.n_windows = 0;
    input = from_record(&record, NULL, 5);
    decide(&decide_policy_default, &input, &decision);
    ck_assert_uint_eq(decision.vetoes, VETO_NOT_MEASURED);
    record = record_of(T0, 2000, (uint64_t[]){100, 200, 300});
    record.sample.windows[0].window_s = 5;
    input = from_record(&record, NULL, 5);
    ck_assert(input.unsure & UNSURE_WINDOW);
    ck_assert_uint_eq(input.short_wss.high_bytes, 200 * MIB);
    ck_assert_uint_eq(input.vetoes, 0);
}

TEST(inputs, flags_are_vetoes)
{
    static const struct {
        unsigned flag, veto;
    } all[] = {
        {FLAG_NOT_MEASURED, VETO_NOT_MEASURED},
        {FLAG_PAUSED, VETO_PAUSED},
        {FLAG_MIGRATING, VETO_MIGRATING},
        {FLAG_DUMP, VETO_DUMP},
        {FLAG_VFIO, VETO_VFIO},
        {FLAG_HUGETLB, VETO_HUGETLB},
        {FLAG_THP, 0},
    };

    for (size_t i = 0; i < COUNT(all); i++) {
        struct ages_record record = record_of(T0, 2000, (uint64_t[]){100, 200, 300});

        record.sample.flags = all[i].flag;
        ck_assert_uint_eq(from_record(&record, NULL, 5).vetoes, all[i].veto);
    }

    struct ages_record record = record_of(T0, 2000, (uint64_t[]){100, 200, 300});

    record.sample.flags = FLAG_RESIDENT_UNSURE;
    ck_assert(from_record(&record, NULL, 5).unsure & UNSURE_FLAGS);
}

/* --- a day ------------------------------------------------------------------------------------ */

static void add_to_day(int64_t start_s, uint64_t mib, uint64_t weight_s, double above_mib)
{
    cleanup_free struct sketch *sketch = malloc(sizeof(*sketch));

    sketch_clear(sketch);
    sketch_add(sketch, mib * MIB, weight_s * 1000);
    decide_day_add(day, start_s, sketch, above_mib * (double)MIB);
}

static void day_is(double now_s, double mib, double on_s)
{
    uint64_t bytes;

    ck_assert_double_eq(decide_day_max(day, now_s, &bytes), on_s);
    ck_assert_double_eq_tol((double)bytes, mib * (double)MIB, 0.01 * mib * (double)MIB + 1);
}

TEST(inputs, what_is_older_than_a_day_is_forgotten)
{
    day_is(T0, 0, 0);
    add_to_day(T0, 1000, 3600, 10);
    day_is(T0 + 10, 1010, 3600);
    for (int h = 1; h <= 25; h++) {
        add_to_day(T0 + (int64_t)h * HOUR, 100, 3600, 10);
        day_is(T0 + h * (double)HOUR + 30, h < 25 ? 1010 : 110, fmin(h + 1, 25) * 3600);
    }
    add_to_day(T0 + 25 * (int64_t)HOUR + 60, 500, 1800, 10);
    day_is(T0 + 25 * (double)HOUR + 120, 510, 25 * 3600 + 1800);
    day_is(T0 + 60 * (double)HOUR, 0, 0);
}

/* A job of a few minutes a night: less than one minute in a hundred. */
TEST(inputs, a_minute_counts_all_day)
{
    for (int m = 0; m < 60; m++)
        add_to_day(T0 + (int64_t)m * 60, 100, 99, 0);
    day_is(T0 + 3599, 100, 60 * 99);
    add_to_day(T0, 900, 6, 0);
    day_is(T0 + 3599, 900, 60 * 99 + 6);
    day_is(T0 + 24 * (double)HOUR, 900, 60 * 99 + 6);
    day_is(T0 + 25 * (double)HOUR, 0, 0);
}

/* On the first Monday of the month, after summer time has ended. */
TEST(inputs, a_job_once_in_five_weeks_is_known)
{
    const int64_t next_s = T0 + (35 * 24 + 1) * (int64_t)HOUR;
    struct decide_past past = {0};

    for (int64_t s = T0; s < next_s; s += HOUR) {
        add_to_day(s, s == T0 ? 3000 : 100, 3600, 0);
        decide_day_add_used(day, s, (s == T0 ? 2000 : 200) * MIB);
    }
    decide_day_past(day, (double)next_s, &past);
    ck_assert_uint_eq(past.touched_bytes, 3000 * MIB);
    ck_assert_uint_eq(past.used_bytes, 2000 * MIB);
}

TEST(inputs, since_when_a_process_runs)
{
    struct ages_record record = record_of(T0, 2000, (uint64_t[]){100, 200, 300});
    double time_s = 0;

    add(&record, 1);
    record.sample.time.tv_sec += 100;
    record.sample.pid = 7;
    add(&record, 1);
    record.sample.time.tv_sec += 100;
    add(&record, 1);
    ck_assert_int_eq(history_first_of_process(store, 1, 7, &time_s, NULL), 1);
    ck_assert_double_eq(time_s, T0 + 100);
    ck_assert_int_eq(history_first_of_process(store, 1, 8, &time_s, NULL), 0);
}
