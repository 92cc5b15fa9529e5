// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_planning.c  What planners scrape of a host: of which minute and hour it is, and of
 * which guests. */
#include "history/event.h"
#include "show/metrics/planning.h"

#include "fixture.h"
#include "kept.h"

#include <math.h>

#define HOUR_S 3600.0
#define T0 1700002800.0                           /* a whole hour */
#define NEED(mib) ((2 * (mib) + 1) * (double)MIB) /* of a record: the window of 60 s */

static struct store *store;
static struct error error;
static struct planning planning;

static void setup(void)
{
    kept = kept_dir_make();
    store = kept_open(kept.path);
}

static void teardown(void)
{
    planning_free(&planning);
    store_close(store);
}

static void add(const char *name, const char *uuid, double at_s, uint64_t mib)
{
    struct ages_record record = kept_record(name, uuid, at_s, mib);

    ck_assert_msg(kept_add(store, &record, &error) == 0, "%s", error.text);
}

static void add_event(const char *uuid, enum event_kind kind, double at_s)
{
    struct store_event event = {.host = "testhost", .kind = kind, .time_s = at_s};

    snprintf(event.uuid, sizeof(event.uuid), "%s", uuid);
    ck_assert_msg(store_add_event(store, &event, &error) == 0, "%s", error.text);
}

/* Returns the number of guests. */
static size_t read_at(double now_s)
{
    cleanup_store struct store *reader = NULL;

    planning_free(&planning);
    ck_assert_msg(history_open(kept.path, &reader, &error) == 0, "%s", error.text);
    ck_assert_msg(planning_read(reader, now_s, 60, &planning, &error) == 0, "%s", error.text);
    return planning.n;
}

static double need_at(double now_s)
{
    ck_assert_uint_eq(read_at(now_s), 1);
    return planning.guests[0].need_bytes;
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST(cases, a_need_is_of_the_last_whole_minute)
{
    add("web1", UUID_1, T0 + 5, 100);
    add("web1", UUID_1, T0 + 35, 110);
    add("web1", UUID_1, T0 + 65, 50);
    add("web1", UUID_1, T0 + 95, 50);
    ck_assert(isnan(need_at(T0 + 59)));
    /* The mean of the bounds, or the largest WSS. */
    ck_assert_double_eq(need_at(T0 + 60), 220.0 * MIB);
    ck_assert_double_eq(need_at(T0 + 119), 220.0 * MIB);
    ck_assert_double_eq(need_at(T0 + 120), NEED(50));
    ck_assert_double_eq(need_at(T0 + 179.9), NEED(50));
    ck_assert(isnan(need_at(T0 + 180)));
}

/* A record of 600 s, within 11 minutes of its own minute's start. */
TEST(cases, it_stands_until_the_next_record_may_be_due)
{
    struct ages_record record = kept_record("web1", UUID_1, T0 + 5, 100);
    const struct store_entry entry = {.record = &record, .period_s = 600};

    ck_assert_msg(store_add(store, &entry, 1, &error) == 0, "%s", error.text);
    ck_assert_double_eq(need_at(T0 + 60), NEED(100));
    ck_assert_double_eq(need_at(T0 + 719), NEED(100));
    ck_assert(isnan(need_at(T0 + 720)));
}

/* And however long that is: the guest is there, beside one that is measured each minute. */
TEST(cases, also_for_hours)
{
    struct ages_record record = kept_record("seldom", UUID_1, T0 + 5, 100);
    const struct store_entry entry = {.record = &record, .period_s = 4 * HOUR_S};

    ck_assert_msg(store_add(store, &entry, 1, &error) == 0, "%s", error.text);
    add("often", UUID_2, T0 + 3 * HOUR_S + 5, 100);
    ck_assert_uint_eq(read_at(T0 + 3 * HOUR_S + 60), 2);
    ck_assert_double_eq(planning.guests[0].need_bytes, NEED(100));
    add("often", UUID_2, T0 + 5 * HOUR_S + 5, 100);
    ck_assert_uint_eq(read_at(T0 + 5 * HOUR_S + 60), 1);
}

TEST(cases, a_size_is_of_the_last_whole_hour)
{
    add("web1", UUID_1, T0 + 5, 100);
    add("web1", UUID_1, T0 + HOUR_S + 5, 50);
    read_at(T0 + HOUR_S - 1);
    ck_assert(isnan(planning.guests[0].size_bytes));
    read_at(T0 + HOUR_S);
    ck_assert_double_eq(planning.guests[0].size_bytes, NEED(100));
    ck_assert_double_eq(planning.guests[0].size_window_s, 60);
    read_at(T0 + 2 * HOUR_S);
    ck_assert_double_eq(planning.guests[0].size_bytes, NEED(50));
}

TEST(cases, a_suspended_guest_is_there_and_one_that_ended_is_not)
{
    add("web1", UUID_1, T0 + 5, 100);
    add("web2", UUID_2, T0 + 5, 100);
    add_event(UUID_1, EVENT_SUSPEND, T0 + 6);
    ck_assert_uint_eq(read_at(T0 + 60), 2);
    ck_assert_str_eq(planning.host, "testhost");
    ck_assert_str_eq(planning.guests[0].state, "suspended");
    ck_assert_ptr_null(planning.guests[1].state);
    add_event(UUID_1, EVENT_RESUME, T0 + 7);
    read_at(T0 + 60);
    ck_assert_ptr_null(planning.guests[0].state);
    add_event(UUID_2, EVENT_END, T0 + 8);
    ck_assert_uint_eq(read_at(T0 + 60), 1);
    ck_assert_str_eq(planning.guests[0].name, "web1");
    add_event(UUID_1, EVENT_END, T0 + 8);
    ck_assert_uint_eq(read_at(T0 + 60), 0);
    ck_assert_str_eq(planning.host, "testhost");
}

/* vmwssd was not there when it ended. */
TEST(cases, one_without_records_while_others_have_some_is_gone)
{
    add("web1", UUID_1, T0 + 5, 100);
    add("web2", UUID_2, T0 + HOUR_S, 100);
    ck_assert_uint_eq(read_at(T0 + HOUR_S), 2);
    add("web2", UUID_2, T0 + HOUR_S + 60, 100);
    ck_assert_uint_eq(read_at(T0 + HOUR_S + 60), 1);
    ck_assert_str_eq(planning.guests[0].name, "web2");
}

TEST(cases, every_series_has_the_host)
{
    cleanup_free char *text = NULL;
    char *rest = NULL;
    size_t size;
    size_t n = 0;
    FILE *out = open_memstream(&text, &size);

    add("we\"b", UUID_1, T0 + 5, 100);
    add("web2", UUID_2, T0 + 5, 50);
    add_event(UUID_2, EVENT_UNWATCH, T0 + 6);
    read_at(T0 + HOUR_S);
    planning_values(store, T0 + 60, &planning, &error);
    planning_write(out, &planning, 64 * MIB, 0);
    fclose(out);
    ck_assert_ptr_nonnull(
        strstr(text, "\nvmwss_plan_capacity_bytes{host=\"testhost\"} 67108864\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nvmwss_plan_host_need_bytes{host=\"testhost\","
                                       "window=\"60\"} 316669952\n"));
    ck_assert_ptr_nonnull(strstr(text, "{host=\"testhost\",domain=\"we\\\"b\",uuid=\"" UUID_1
                                       "\",window=\"60\"} 210763776\n"));
    ck_assert_ptr_nonnull(strstr(text, ",state=\"unwatched\"} 1\n"));
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (line[0] != '#') {
            ck_assert_ptr_nonnull(strstr(line, "{host=\"testhost\""));
            n++;
        }
    ck_assert_uint_eq(n, 3 + 2 * 2 + 1); /* there is no whole hour yet */
}
