// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_advising.c  A replay goes through all the time that records stand for, however seldom
 * a guest was measured. */
#include "decide/advice/advising.h"
#include "history/history.h"
#include "kept.h"

#define MINUTE 60.0
#define HOUR 3600.0
#define T0 1767222000.0 /* when an hour begins */

static struct store *store;
static struct error error;

static void setup(void)
{
    kept = kept_dir_make();
    store = kept_open(kept.path);
}

static void teardown(void)
{
    store_close(store);
}

/* For nine hours a record each @p every_s, without those of @p gap_s from the fourth hour on. */
static void add(double every_s, double gap_s)
{
    for (double at_s = 0; at_s < 9 * HOUR; at_s += every_s) {
        const struct ages_record record = kept_record("web1", UUID_1, T0 + at_s, 100);
        const struct store_entry entry = {.record = &record, .period_s = every_s};

        if (at_s < 4 * HOUR || at_s >= 4 * HOUR + gap_s)
            ck_assert_msg(store_add(store, &entry, 1, &error) == 0, "%s", error.text);
    }
}

/* Up to the end of the records. */
static struct replayed replay(void)
{
    struct advising advising = {.windows = {10, 60, 60}};
    struct replayed out;
    struct history_guest guest;

    ck_assert_int_eq(advising_begin(&advising, NULL, &error), 0);
    advising.now_s = T0 + 9 * HOUR;
    ck_assert_int_eq(history_find(store, "web1", &guest, &error), 0);
    ck_assert_msg(advising_replay(&advising, store, &guest, 24 * HOUR, &out, &error) == 0, "%s",
                  error.text);
    advising_end(&advising);
    return out;
}

FIXTURE(cases, .setup = setup, .teardown = teardown, .timeout_s = 60);

TEST_EACH(cases, each_minute_is_replayed, 0, 4)
{
    static const double every_s[] = {MINUTE, 5 * MINUTE, HOUR, 4 * HOUR};
    const struct replayed out = (add(every_s[_i], 0), replay());

    ck_assert_double_eq(out.result.replayed_s, 9 * HOUR);
    ck_assert_double_eq(out.from_s, T0);
    ck_assert_double_eq(out.to_s, T0 + 9 * HOUR);
}

TEST(cases, but_not_a_gap)
{
    const struct replayed out = (add(5 * MINUTE, 4 * HOUR), replay());

    ck_assert_double_eq(out.result.replayed_s, 5 * HOUR + MINUTE); /* the next is late by then */
}
