// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_roster.c  Which hosts and guests a plan has, from databases of several hosts. */
#include "decide/plan/from_history.h"
#include "history/event.h"

#include "kept.h"

#include <errno.h>

#define HOUR_S 3600.0
#define NOW_S (1700000000 / 3600 * HOUR_S + 1800) /* in the middle of an hour */
#define AGO(hours) (NOW_S - (hours)*HOUR_S)
#define DAY 24

static struct kept_dir dir;
static struct error error;
static struct plan_fleet fleet;

static void make_dir(void)
{
    dir = kept_dir_make();
}

static void remove_dir(void)
{
    plan_fleet_free(&fleet);
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the names that ld --wrap makes */
static int step_s = 60; /* of the fleet */
int __wrap_plan_step_s(double span_s, size_t n_guests);

int __wrap_plan_step_s(double span_s, size_t n_guests)
{
    (void)span_s, (void)n_guests;
    return step_s;
}
/* NOLINTEND(bugprone-reserved-identifier) */

static const char *path_of(const char *file)
{
    static char paths[4][128];
    static unsigned n;

    snprintf(paths[n % 4], sizeof(paths[0]), "%s/%s.db", dir.dir, file);
    return paths[n++ % 4];
}

/* A guest's stay on a host, with the values that differ from kept_record()'s. */
struct stay {
    const char *host, *name, *uuid;
    double from, to; /* hours ago */
    double window_s; /* of the longer one; 0: 60 */
    uint64_t mib;    /* 0: 50 */
    uint64_t used_mib;
};

/* clang-format off */
#define STAY(at, called, id, since, until, ...) \
    {.host = (at), .name = (called), .uuid = (id), .from = (since), .to = (until), ##__VA_ARGS__}
/* clang-format on */

/* A record each half hour. */
static void add_stay(struct store *store, const struct stay *stay)
{
    for (double ago = stay->from; ago >= stay->to; ago -= 0.5) {
        struct ages_record record = kept_record(stay->name, stay->uuid, AGO(ago),
                                                stay->mib ? stay->mib : 50);
        struct sample_record *sample = &record.sample;

        snprintf(sample->host, sizeof(sample->host), "%s", stay->host);
        if (stay->window_s > 0)
            sample->windows[1].window_s = stay->window_s;
        if (stay->used_mib > 0) {
            sample->guest.source = GUEST_STATS_AGENT;
            sample->guest.used_bytes = stay->used_mib * MIB;
        }
        ck_assert_msg(kept_add(store, &record, &error) == 0, "%s", error.text);
    }
}

static void add_event(struct store *store, const struct stay *stay, enum event_kind kind,
                      double ago)
{
    struct store_event event = {.kind = kind, .time_s = AGO(ago)};

    snprintf(event.host, sizeof(event.host), "%s", stay->host);
    snprintf(event.uuid, sizeof(event.uuid), "%s", stay->uuid);
    ck_assert_msg(store_add_event(store, &event, &error) == 0, "%s", error.text);
}

/* Adds the stay to the file; with @p kind EVENT_START without an event at its end. */
static void write_stay(const char *file, const struct stay *stay, enum event_kind kind)
{
    cleanup_store struct store *store = kept_open(path_of(file));

    add_stay(store, stay);
    if (kind != EVENT_START)
        add_event(store, stay, kind, stay->to);
}

static int read_since(double hours, const struct plan_source *sources, size_t n)
{
    const struct plan_reading reading = {
        .sources = sources, .n_sources = n, .from_s = AGO(hours), .to_s = NOW_S, .window_s = 10};

    plan_fleet_free(&fleet);
    error = (struct error){0};
    return plan_read(&reading, &fleet, &error);
}

/* The files a and b, in both orders if @p swapped. */
static int read_two(bool swapped)
{
    const struct plan_source a = {path_of("a"), NULL};
    const struct plan_source b = {path_of("b"), NULL};
    const struct plan_source sources[] = {swapped ? b : a, swapped ? a : b};

    return read_since(28 * DAY, sources, 2);
}

static const struct plan_host *host_of(size_t guest)
{
    return &fleet.hosts[fleet.guests[guest].host];
}

/* --- guests that were on two hosts ------------------------------------------------------------ */

FIXTURE(cases, .setup = make_dir, .teardown = remove_dir, .timeout_s = 60);

/* Within the hour: both hosts have records of it, and the guest has ended on the one. */
TEST_EACH(cases, a_guest_that_has_just_migrated_is_there, 0, 2)
{
    const struct stay from = STAY("a", "web", UUID_1, 5, 0.3, .mib = 80, .used_mib = 300);
    const struct stay to = STAY("b", "web2", UUID_1, 0.2, 0);

    write_stay("a", &from, EVENT_END);
    write_stay("b", &to, EVENT_START);
    ck_assert_msg(read_two(_i) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 1);
    ck_assert_str_eq(host_of(0)->name, "b");
    ck_assert_str_eq(fleet.guests[0].name, "web2");               /* its name now */
    ck_assert_uint_eq(fleet.guests[0].used_bytes, 0);             /* which b does not know */
    ck_assert_double_ge(fleet.guests[0].size_bytes, 160.0 * MIB); /* the largest */
    ck_assert_uint_eq(fleet.n_hosts, 2);
    ck_assert(!fleet.hosts[0].stale && !fleet.hosts[1].stale);
}

TEST_EACH(cases, two_guests_with_one_uuid_are_refused, 0, 2)
{
    const struct stay one = STAY("a", "web", UUID_1, 5, 0);
    const struct stay other = STAY("b", "copy", UUID_1, 3, 0);

    write_stay("a", &one, EVENT_START);
    write_stay("b", &other, EVENT_START);
    ck_assert_int_eq(read_two(_i), -ENOTUNIQ);
    ck_assert_ptr_nonnull(strstr(error.text, "web on a"));
    ck_assert_ptr_nonnull(strstr(error.text, "copy on b"));
}

/* It migrated there and back, for hours. */
TEST_EACH(cases, nor_is_it_two_where_it_has_ended, 0, 2)
{
    const struct stay one = STAY("a", "web", UUID_1, 5, 0);
    const struct stay other = STAY("b", "web", UUID_1, 3, 1);

    write_stay("a", &one, EVENT_START);
    write_stay("b", &other, EVENT_END);
    ck_assert_msg(read_two(_i) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 1);
    ck_assert_str_eq(host_of(0)->name, "a");
}

/* --- windows ---------------------------------------------------------------------------------- */

/* The newest guest has none but short ones; another had a longer one not from the beginning. */
TEST(cases, a_size_is_from_the_longest_window_of_the_guest)
{
    const struct stay before = STAY("a", "web", UUID_1, 9, 5, .window_s = 60, .mib = 200);
    const struct stay then = STAY("a", "web", UUID_1, 4, 0, .window_s = 600, .mib = 50);
    const struct stay newest = STAY("a", "zip", UUID_2, 2, 0, .window_s = 60, .mib = 70);
    const struct plan_source source = {path_of("a"), NULL};

    write_stay("a", &before, EVENT_START);
    write_stay("a", &then, EVENT_START);
    write_stay("a", &newest, EVENT_START);
    ck_assert_msg(read_since(28 * DAY, &source, 1) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 2);
    ck_assert_double_eq_tol(fleet.guests[0].size_bytes, 101.0 * MIB, 2.0 * MIB);
    ck_assert_double_eq(fleet.guests[0].size_window_s, 600);
    ck_assert_double_eq_tol(fleet.guests[1].size_bytes, 141.0 * MIB, 3.0 * MIB);
    ck_assert_double_eq(fleet.guests[1].size_window_s, 60);
}

TEST_EACH(cases, of_two_files_the_longer_window_counts, 0, 2)
{
    const struct stay from = STAY("a", "web", UUID_1, 9, 5, .window_s = 600, .mib = 50);
    const struct stay to = STAY("b", "web", UUID_1, 4, 0, .window_s = 60, .mib = 200);

    write_stay("a", &from, EVENT_END);
    write_stay("b", &to, EVENT_START);
    ck_assert_msg(read_two(_i) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 1);
    ck_assert_double_eq_tol(fleet.guests[0].size_bytes, 101.0 * MIB, 2.0 * MIB);
    ck_assert_double_eq(fleet.guests[0].size_window_s, 600);
}

/* --- guests without records ------------------------------------------------------------------- */

TEST_EACH(cases, suspended_and_unwatched_guests_stay, 0, 4)
{
    static const enum event_kind kinds[] = {EVENT_SUSPEND, EVENT_UNWATCH, EVENT_RESUME, EVENT_END};
    const struct stay other = STAY("a", "other", UUID_2, 9, 0);
    const struct stay still = STAY("a", "still", UUID_1, 9, 5);
    const struct plan_source source = {path_of("a"), NULL};

    write_stay("a", &other, EVENT_START);
    write_stay("a", &still, kinds[_i]);
    ck_assert_msg(read_since(28 * DAY, &source, 1) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, _i < 2 ? 2 : 1);
    if (_i < 2) {
        ck_assert_int_eq(fleet.guests[1].suspended, kinds[_i] == EVENT_SUSPEND);
        ck_assert_int_eq(fleet.guests[1].unwatched, kinds[_i] == EVENT_UNWATCH);
    }
    ck_assert(!fleet.guests[0].suspended && !fleet.guests[0].unwatched);
}

/* --- hosts ------------------------------------------------------------------------------------ */

/* Renamed long ago, and within the span. */
TEST(cases, a_host_is_there_with_an_hour_in_the_span)
{
    const struct stay before = STAY("old", "web", UUID_1, 40 * DAY, 39 * DAY);
    const struct stay now = STAY("new", "web", UUID_1, 5, 0);
    const struct plan_source sources[] = {{path_of("a"), "name"}, {path_of("a"), NULL}};

    write_stay("a", &before, EVENT_END);
    write_stay("a", &now, EVENT_START);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_msg(read_since(28 * DAY, &sources[i], 1) == 0, "%s", error.text);
        ck_assert_uint_eq(fleet.n_hosts, 1);
        ck_assert_str_eq(fleet.hosts[0].name, i == 0 ? "name" : "new");
    }
    ck_assert_int_eq(read_since(60 * DAY, &sources[0], 1), -ENOTUNIQ);
    ck_assert_msg(read_since(60 * DAY, &sources[1], 1) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_hosts, 1); /* the old name is no host any more */
    ck_assert_str_eq(fleet.hosts[0].name, "new");
}

/* All have ended: in the span, or before. Without their end it is stale, or an error. */
TEST_EACH(cases, a_host_without_guests_is_a_place, 0, 2)
{
    const struct stay gone = STAY("b", "gone", UUID_2, 10 * DAY, 9 * DAY);
    const struct stay web = STAY("a", "web", UUID_1, 5, 0);
    const struct plan_source sources[] = {{path_of("a"), NULL}, {path_of("b"), NULL}};

    write_stay("a", &web, EVENT_START);
    write_stay("b", &gone, _i ? EVENT_END : EVENT_START);
    ck_assert_msg(read_since(28 * DAY, sources, 2) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_hosts, 2);
    ck_assert_uint_eq(fleet.n_guests, _i ? 1 : 2);
    ck_assert_int_eq(fleet.hosts[1].stale, !_i);
    ck_assert_int_eq(read_since(2 * DAY, sources, 2), _i ? 0 : -ENODATA);
    if (_i) {
        ck_assert_uint_eq(fleet.n_hosts, 2);
        ck_assert(!fleet.hosts[1].stale);
        ck_assert_double_eq(fleet.hosts[1].last_s, 0);
    }
}

TEST(cases, nor_need_it_ever_have_had_any)
{
    const struct plan_source named = {path_of("a"), "fresh"};
    const struct plan_source unnamed = {path_of("a"), NULL};

    store_close(kept_open(path_of("a")));
    ck_assert_msg(read_since(28 * DAY, &named, 1) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_hosts, 1);
    ck_assert_str_eq(fleet.hosts[0].name, "fresh");
    ck_assert(!fleet.hosts[0].stale);
    ck_assert_int_eq(read_since(28 * DAY, &unnamed, 1), -ENODATA);
    ck_assert_ptr_nonnull(strstr(error.text, "HOST="));
}

TEST(cases, two_files_are_of_one_host_only_by_name)
{
    const struct stay one = STAY("localhost", "web", UUID_1, 5, 0);
    const struct stay other = STAY("localhost", "db", UUID_2, 5, 0);
    struct plan_source sources[] = {{path_of("a"), NULL}, {path_of("b"), NULL}};

    write_stay("a", &one, EVENT_START);
    write_stay("b", &other, EVENT_START);
    ck_assert_int_eq(read_two(false), -ENOTUNIQ);
    ck_assert_ptr_nonnull(strstr(error.text, "localhost"));
    ck_assert_ptr_nonnull(strstr(error.text, "HOST1="));
    sources[0].host = "localhost";
    ck_assert_int_eq(read_since(28 * DAY, sources, 2), -ENOTUNIQ);
    sources[1].host = "localhost";
    ck_assert_msg(read_since(28 * DAY, sources, 2) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_hosts, 1);
    sources[1].host = "other";
    ck_assert_msg(read_since(28 * DAY, sources, 2) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_hosts, 2);
}

/* A record of a minute each half hour: of an hour two minutes are known. */
TEST(cases, minutes_that_were_missed_in_a_long_step_are_counted)
{
    const struct stay web = STAY("a", "web", UUID_1, 30, 0);
    const struct plan_source source = {path_of("a"), NULL};

    write_stay("a", &web, EVENT_START);
    ck_assert_msg(read_since(DAY, &source, 1) == 0, "%s", error.text);
    ck_assert_double_eq(fleet.hosts[0].missed_share, 0);
    step_s = 3600;
    ck_assert_msg(read_since(DAY, &source, 1) == 0, "%s", error.text);
    step_s = 60;
    ck_assert_double_eq_tol(fleet.hosts[0].missed_share, 58 / 60.0, 0.01);
}

/* A guest that moved has the minutes of both hosts, whichever file comes first. */
TEST(cases, minutes_of_a_guest_that_moved_count_in_any_order)
{
    const struct stay from = STAY("a", "web", UUID_1, 20, 10.5);
    const struct stay to = STAY("b", "web", UUID_1, 10, 0);

    write_stay("a", &from, EVENT_END);
    write_stay("b", &to, EVENT_START);
    step_s = 3600;
    for (int swapped = 0; swapped < 2; swapped++) {
        ck_assert_msg(read_two(swapped) == 0, "%s", error.text);
        ck_assert_uint_eq(fleet.n_guests, 1);
        ck_assert_double_eq_tol(host_of(0)->missed_share, 58 / 60.0, 0.002);
    }
    step_s = 60;
}

/* --- guests that are measured seldom ---------------------------------------------------------- */

static void add_seldom(struct store *store, double ago, uint64_t mib)
{
    const struct ages_record record = kept_record("seldom", UUID_1, AGO(ago), mib);
    const struct store_entry entry = {.record = &record, .period_s = 4 * HOUR_S};

    ck_assert_msg(store_add(store, &entry, 1, &error) == 0, "%s", error.text);
}

/* Its need in the plan so many hours ago, in MiB: a record's is 1 more, in units of 4. */
static double need_at(double ago)
{
    const size_t g = strcmp(fleet.guests[0].uuid, UUID_1) == 0 ? 0 : 1;
    const double step = floor((AGO(ago) - fleet.from_s) / fleet.step_s);
    const uint8_t code = plan_series(&fleet, g)[(size_t)step];

    return code == PLAN_CODE_NONE ? NAN : code * plan_unit(&fleet.guests[g]) / (double)MIB;
}

/* No matter how long that is: until the next record, or until it is late, as an exporter has it. */
TEST(cases, a_need_stands_until_the_next_record)
{
    const struct plan_source source = {path_of("a"), NULL};
    const struct stay other = STAY("testhost", "often", UUID_2, 30, 0, .mib = 1);
    const struct stay seldom = {.host = "testhost", .uuid = UUID_1};
    struct store *store;

    write_stay("a", &other, EVENT_START);
    store = kept_open(path_of("a"));
    add_seldom(store, 25, 300); /* late */
    add_seldom(store, 20, 200);
    add_seldom(store, 16, 100);
    add_event(store, &seldom, EVENT_END, 13.01);
    add_event(store, &seldom, EVENT_START, 9);
    add_seldom(store, 8, 400);
    add_seldom(store, 4, 150);
    store_close(store);
    ck_assert_msg(read_since(28 * DAY, &source, 1) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 2);
    ck_assert(isnan(need_at(25.02)));
    for (double ago = 25; ago > 25 - 4.4 + 0.02; ago -= 0.1)
        ck_assert_double_eq_tol(need_at(ago), 303, 2.1);
    ck_assert(isnan(need_at(20.5)));
    for (double ago = 20; ago > 16.01; ago -= 0.1)
        ck_assert_double_eq_tol(need_at(ago), 203, 2.1);
    for (double ago = 16; ago > 13.01; ago -= 0.1)
        ck_assert_double_eq_tol(need_at(ago), 103, 2.1);
    for (double ago = 12.9; ago > 8.01; ago -= 0.1)
        ck_assert(isnan(need_at(ago)));
    for (double ago = 8; ago > 4.01; ago -= 0.1)
        ck_assert_double_eq_tol(need_at(ago), 403, 2.1);
    for (double ago = 4; ago > 0.05; ago -= 0.1)
        ck_assert_double_eq_tol(need_at(ago), 153, 2.1);
}

/* Its only record in the span, or none: that of before goes on. */
TEST(cases, also_into_the_span)
{
    const struct plan_source source = {path_of("a"), NULL};
    struct store *store = kept_open(path_of("a"));

    add_seldom(store, 5, 300);
    add_seldom(store, 1, 200);
    store_close(store);
    ck_assert_msg(read_since(2, &source, 1) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 1);
    ck_assert(!fleet.hosts[0].stale);
    ck_assert_double_eq_tol(need_at(1.9), 303, 2.1);
    ck_assert_double_eq_tol(need_at(0.9), 203, 2.1);
    ck_assert_double_eq_tol(need_at(0.05), 203, 2.1);
    ck_assert_msg(read_since(0.5, &source, 1) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 1);
    ck_assert_double_eq_tol(need_at(0.4), 203, 2.1);
    ck_assert_double_eq_tol(need_at(0.05), 203, 2.1);
}
