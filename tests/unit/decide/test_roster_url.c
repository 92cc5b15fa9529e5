// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_roster_url.c  Which hosts and guests a plan has from a URL, behind which is a made-up
 * server. */
#include "decide/plan/from_history.h"
#include "decide/plan/prom_client.h"
#include "decide/plan/writes.h"

#include "fixture.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ULL << 20)
#define HOUR_S 3600.0
#define NOW_S (472222 * HOUR_S + 1800) /* in the middle of an hour */
#define URL "http://prometheus"

/* --- the server ------------------------------------------------------------------------------- */

/* A series of one value, scraped each minute from @p since_s to @p ago_s before now; after that it
 * is marked as stale. */
struct series {
    const char *metric, *host, *uuid, *domain, *state;
    double value, since_s, ago_s;
};

static struct series series[64];
static size_t n_series;
static unsigned instances;     /* of one host */
static const char *partial_if; /* the answer to a query with this text is partial; NULL: none */
static const char *lost_if;    /* and one lacks host b, unsaid */
static double ahead_s;         /* a negative offset of the query being answered */
static size_t until_short;     /* so many allocations until one fails; 0: none does */
static unsigned n_past;        /* guests that it had three hours ago */
static double most_times;      /* of one answer */
static int step_s;             /* of the fleet */
static double minutes_of_step; /* or of a quarter, in which hosts were scraped; 0: each minute */
static double scraped_span_s;  /* the longest, of the last nine hours, for which scraped needs
                                  were asked for */
static unsigned scraped_sizes; /* queries for scraped sizes */

static bool has_range(const struct series *of, const char *query, double *range_s)
{
    const char *range = strrchr(query, '['); /* of a subquery the outer one */
    char host[64];

    snprintf(host, sizeof(host), "host=\"%s\"", of->host);
    *range_s = range ? strtod(range + 1, NULL) : 0.5;
    return strstr(query, "{}") || strstr(query, host);
}

/* A query for write curves asks for those that were measured within the hour before. */
static bool is_measured(const struct series *of, const char *query, double at_s)
{
    const struct series *time = of;

    while (strstr(query, "> time() - 3600") && time > series &&
           strcmp(time->metric, "vmwss_write_set_timestamp_seconds") != 0)
        time--;
    return time == of || time == series || time->value > at_s - 3600;
}

static bool is_lost(const struct series *of, const char *query)
{
    return lost_if && strstr(query, lost_if) && strcmp(of->host, "b") == 0;
}

/* An aggregation drops the name, unless it is put back. */
static void print_labels(FILE *out, const struct series *of, const char *query)
{
    const bool named = *query == '{' || strncmp(query, "last_over_time(", 15) == 0 ||
                       strstr(query, TEXT_OF(80, "\"__name__\", \"%s\"", of->metric));
    const bool plan = strncmp(of->metric, "vmwss_plan", 10) == 0;

    fprintf(out,
            "{\"metric\":{\"__name__\":\"%s\",\"metric\":\"%s\",\"host\":\"%s\",\"uuid\":\"%s\","
            "\"domain\":\"%s\",\"state\":\"%s\",\"window\":\"60\",\"accel\":\"%s\"},",
            named ? of->metric : "", plan ? "" : of->metric, of->host, of->uuid ? of->uuid : "",
            of->domain ? of->domain : "", of->state ? of->state : "", plan ? "" : "kvm");
}

static double count_scrapes(const struct series *of, const char *query, double at_s)
{
    double range_s;

    at_s += ahead_s;
    has_range(of, query, &range_s);
    if (minutes_of_step > 0)
        return minutes_of_step;
    return ceil((fmin(at_s, NOW_S - of->ago_s) - fmax(at_s - range_s, NOW_S - of->since_s)) / 60);
}

static void print_point(FILE *out, const struct series *of, const char *query, double at_s)
{
    double value = of->value;

    if (strstr(query, "timestamp("))
        value = NOW_S - of->ago_s;
    else if (strstr(query, "count_over_time("))
        value = count_scrapes(of, query, at_s);
    fprintf(out, "[%.3f,\"%.3f\"]", at_s, value);
}

static bool is_asked(const struct series *of, const char *query, double at_s)
{
    double range_s;

    at_s += ahead_s;
    return strstr(query, of->metric) && has_range(of, query, &range_s) && !is_lost(of, query) &&
           is_measured(of, query, at_s) && at_s - range_s < NOW_S - of->ago_s &&
           at_s >= NOW_S - of->since_s;
}

static void print_series(FILE *out, const char *query, double from_s, double to_s, double step_s)
{
    bool any = false;

    for (size_t i = 0; i < n_series; i++) {
        bool more = false;

        for (unsigned k = 0; from_s + k * step_s <= to_s; k++) {
            const double t = from_s + k * step_s;

            if (!is_asked(&series[i], query, t))
                continue;
            if (!more && any)
                fputs(",", out);
            if (!more)
                print_labels(out, &series[i], query);
            fputs(more ? "," : from_s == to_s ? "\"value\":" : "\"values\":[", out);
            print_point(out, &series[i], query, t);
            any = more = true;
        }
        if (more)
            fputs(from_s == to_s ? "}" : "]}", out);
    }
}

/* After the others, at the first time that was asked for within the last three hours. */
static void print_past(FILE *out, const char *query, double from_s, double to_s, double step_s)
{
    const double at_s = from_s + ceil((NOW_S - 3 * HOUR_S - from_s) / step_s) * step_s;

    if (!strstr(query, "(vmwss_plan_need_bytes") || at_s < from_s || at_s > to_s)
        return;
    for (unsigned i = 0; i < n_past; i++)
        fprintf(out,
                ",{\"metric\":{\"uuid\":\"%08x-2222-4222-8222-222222222222\"},"
                "\"values\":[[%.3f,\"1048576\"]]}",
                i, at_s);
}

/* Each instance has a series of its own. */
static void print_instances(FILE *out, const char *query)
{
    if (strstr(query, "last_over_time(vmwss_plan_reserve_bytes"))
        for (unsigned i = 1; i < instances; i++)
            fprintf(
                out,
                ",{\"metric\":{\"__name__\":\"vmwss_plan_reserve_bytes\",\"window\":\"60\",\"host\":\"%s\",\"instance\":\"%u\"},\"value\":[%.3f,\"0\"]}",
                series[0].host, i, NOW_S);
}

/* The guests of the instances differ. */
static void print_doubles(FILE *out)
{
    fprintf(out, "{\"metric\":{\"host\":\"%s\"},\"value\":[%.3f,\"9\"]}", series[0].host, NOW_S);
}

/* Returns the largest value that @p metric has at that time; -1: none. A value of @p counted is the
 * number of scrapes within it. */
static double largest(const char *metric, double at_s, bool counted)
{
    double most = -1;

    for (size_t i = 0; i < n_series; i++)
        if (strcmp(series[i].metric, metric) == 0 &&
            at_s + ahead_s - 900 < NOW_S - series[i].ago_s &&
            at_s + ahead_s >= NOW_S - series[i].since_s)
            most = fmax(most,
                        counted ? count_scrapes(&series[i], "[900s]{}", at_s) : series[i].value);
    return most;
}

/* The quarters of an hour of which all that was scraped is recorded. The tests that ask for them
 * have one host. */
static void print_recorded(FILE *out, double from_s, double to_s)
{
    const char *comma = "{\"metric\":{\"host\":\"a\"},\"values\":[";

    for (unsigned k = 0; from_s + k * 900.0 <= to_s; k++) {
        const double t = from_s + k * 900.0;
        const double scrapes = largest("vmwss_plan_reserve_bytes", t, true);

        if (scrapes <= 0 || scrapes > largest("vmwss:plan_scrapes:count15m", t, false) ||
            largest("vmwss:plan_need_bytes:max15m", t, false) < 0)
            continue;
        fprintf(out, "%s[%.3f,\"%.0f\"]", comma, t, scrapes);
        comma = ",";
    }
    if (*comma == ',')
        fputs("]}", out);
}

/* Prints, for each host that was scraped in the last half hour, that there is no doubt about it. */
static void print_no_doubts(FILE *out, const char *query)
{
    const char *comma = "";

    for (size_t i = 0; i < n_series; i++) {
        double range_s;

        if (strcmp(series[i].metric, "vmwss_plan_reserve_bytes") != 0 || series[i].ago_s >= 1800 ||
            !has_range(&series[i], query, &range_s) || is_lost(&series[i], query))
            continue;
        fprintf(out, "%s{\"metric\":{\"host\":\"%s\"},\"value\":[%.3f,\"0\"]}", comma,
                series[i].host, NOW_S);
        comma = ",";
    }
}

static int answer_to(const char *query, const struct prom_span *times, struct prom_answer *answer,
                     struct error *error)
{
    const double to_s = times->from_s + (double)(times->n_times - 1) * times->step_s;
    const int step_s = times->step_s ? times->step_s : 1;
    static char *text; /* it outlives the answer */
    size_t size;
    FILE *out;

    free(text);
    ahead_s = strstr(query, " offset -1799999ms") ? 59.999
              : strstr(query, " offset -")
                  ? strtod(strstr(query, " offset -") + strlen(" offset -"), NULL) / 1000
                  : 0;
    out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    fprintf(out, "{\"status\":\"success\",\"isPartial\":%s,\"data\":{\"result\":[",
            partial_if && strstr(query, partial_if) ? "true" : "false");
    if (strstr(query, "count by (host, uuid)") && instances > 1)
        print_doubles(out);
    else if (strstr(query, " or on (host) 0 * "))
        print_no_doubts(out, query);
    else if (strstr(query, "plan_scrapes"))
        print_recorded(out, times->from_s, to_s);
    else {
        print_series(out, query, times->from_s, to_s, step_s);
        print_past(out, query, times->from_s, to_s, step_s);
        print_instances(out, query);
    }
    fputs("]}}", out);
    fclose(out);
    return prom_answer_parse(text, size, times, answer, error);
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the names that ld --wrap makes */
int __wrap_prom_open(const char *url, const struct prom_options *options,
                     struct prom_client **client, struct error *error);
int __real_prom_open(const char *url, const struct prom_options *options,
                     struct prom_client **client, struct error *error);
void __wrap_prom_close(struct prom_client *client);
void *__wrap_calloc(size_t n, size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__real_realloc(void *block, size_t size);
int __wrap_prom_query(struct prom_client *client, const char *query, const struct prom_span *times,
                      struct prom_answer *answer, struct error *error);

int __wrap_plan_step_s(double span_s, size_t n_guests);

int __wrap_plan_step_s(double span_s, size_t n_guests)
{
    (void)span_s, (void)n_guests;
    return step_s;
}

int __wrap_prom_open(const char *url, const struct prom_options *options,
                     struct prom_client **client, struct error *error)
{
    (void)url, (void)options, (void)error;
    *client = NULL;
    return 0;
}

static bool is_short(void)
{
    return until_short > 0 && --until_short == 0;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return is_short() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return is_short() ? NULL : __real_realloc(block, size);
}

void __wrap_prom_close(struct prom_client *client)
{
    (void)client;
}

int __wrap_prom_query(struct prom_client *client, const char *query, const struct prom_span *times,
                      struct prom_answer *answer, struct error *error)
{
    const double to_s = times->from_s + (double)(times->n_times - 1) * times->step_s;
    const double span_s = to_s - times->from_s;

    (void)client;
    if (strstr(query, "(vmwss_plan_need_bytes"))
        scraped_span_s = fmax(scraped_span_s, to_s - fmax(times->from_s, NOW_S - 9 * HOUR_S));
    scraped_sizes += strstr(query, " vmwss_plan_size_bytes") != NULL;
    if (times->step_s > 0 && span_s / times->step_s >= most_times)
        return error_set(error, -E2BIG, "too many");
    return answer_to(query, times, answer, error);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* --- what it has ------------------------------------------------------------------------------ */

static struct error error;
static struct plan_fleet fleet;
static char warnings[4096];

static void begin(void)
{
    n_series = 0;
    instances = 1;
    partial_if = lost_if = NULL;
    n_past = 0;
    most_times = HUGE_VAL;
    step_s = 60;
    minutes_of_step = 0;
    scraped_span_s = 0;
    scraped_sizes = 0;
}

static void end(void)
{
    plan_fleet_free(&fleet);
}

static struct series *add(const char *metric, const char *host, double value, double hours,
                          double ago_s)
{
    ck_assert_uint_lt(n_series, COUNT(series));
    series[n_series] = (struct series){
        .metric = metric, .host = host, .value = value, .since_s = hours * HOUR_S, .ago_s = ago_s};
    return &series[n_series++];
}

static void add_host(const char *host, double ago_s)
{
    add("vmwss_plan_reserve_bytes", host, 0, 9, ago_s);
    add("vmwss_plan_capacity_bytes", host, 0x1p30, 9, ago_s);
}

/* Adds a guest's series; @p metric is "ram", "need", "used" or "state". */
static struct series *add_of(const char *metric, const char *host, const char *name, double value,
                             double ago_s)
{
    static char uuids[64][37];
    struct series *of = add(metric, host, value, 5, ago_s);
    char *uuid = uuids[n_series % 64];

    snprintf(uuid, sizeof(uuids[0]), "%08x-1111-4111-8111-111111111111", (unsigned)name[0]);
    of->uuid = uuid;
    of->domain = name;
    return of;
}

static void add_guest(const char *host, const char *name, double ago_s)
{
    add_of("vmwss_plan_ram_bytes", host, name, 100 * MIB, ago_s);
    add_of("vmwss_plan_need_bytes", host, name, 50 * MIB, ago_s);
}

/* Adds a host with one guest. */
static void add_both(const char *host, const char *name, double ago_s)
{
    add_host(host, ago_s);
    add_guest(host, name, ago_s);
}

static void take_warning(const char *text, void *context)
{
    const size_t n = strlen(warnings);

    (void)context;
    snprintf(warnings + n, sizeof(warnings) - n, "%s\n", text);
}

static int read_url(void)
{
    static const struct plan_source source = {URL, NULL};
    const struct plan_reading reading = {.sources = &source,
                                         .n_sources = 1,
                                         .from_s = NOW_S - 24 * HOUR_S,
                                         .to_s = NOW_S,
                                         .window_s = 60,
                                         .writes = true,
                                         .warn = take_warning};

    plan_fleet_free(&fleet);
    error = (struct error){0};
    warnings[0] = '\0';
    return plan_read(&reading, &fleet, &error);
}

/* --- hosts ------------------------------------------------------------------------------------ */

FIXTURE(cases, .setup = begin, .teardown = end, .timeout_s = 60);

/* Its only guest has ended; another host of the URL has one. */
TEST(cases, a_live_host_without_guests_is_a_place)
{
    add_both("a", "web", 0);
    add_host("b", 0);
    add_guest("b", "gone", 3 * HOUR_S);
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_hosts, 2);
    ck_assert_uint_eq(fleet.n_guests, 1);
    ck_assert(!fleet.hosts[0].stale);
    ck_assert(!fleet.hosts[1].stale);
    ck_assert_str_eq(warnings, "");
}

/* The last scrape of the host failed, which marked all its series as stale. */
TEST(cases, one_failed_scrape_does_not_end_what_the_host_has)
{
    add_both("a", "web", 70);
    add_of("vmwss_plan_ram_bytes", "a", "sleeper", 70 * MIB, 70);
    add_of("vmwss_plan_need_bytes", "a", "sleeper", 30 * MIB, 3 * HOUR_S);
    add_of("vmwss_plan_state", "a", "sleeper", 1, 70)->state = "suspended";
    add_guest("a", "gone", 130); /* the scrape before had it not */
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 2);
    ck_assert_str_eq(fleet.guests[0].name, "sleeper");
    ck_assert(fleet.guests[0].suspended);
    ck_assert_str_eq(fleet.guests[1].name, "web");
    ck_assert(!fleet.hosts[0].stale);
    ck_assert_str_eq(warnings, "");
}

/* As it was when it was scraped last. */
TEST(cases, a_host_that_is_not_scraped_any_more_has_what_it_had)
{
    add_host("a", 5 * HOUR_S);
    add_of("vmwss_plan_ram_bytes", "a", "sleeper", 70 * MIB, 5 * HOUR_S);
    add_of("vmwss_plan_need_bytes", "a", "sleeper", 30 * MIB, 8 * HOUR_S)->since_s = 9 * HOUR_S;
    add_of("vmwss_plan_state", "a", "sleeper", 1, 5 * HOUR_S)->state = "suspended";
    for (size_t i = 2; i < n_series; i++)
        series[i].since_s = 9 * HOUR_S;
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 1);
    ck_assert(fleet.guests[0].suspended);
    ck_assert(fleet.hosts[0].stale);
}

/* The needs of that hour begin a minute after it. */
TEST(cases, nor_do_guests_end_whose_host_was_scraped_last_when_an_hour_began)
{
    const double ago_s = 4.5 * HOUR_S - 30;

    add_both("a", "web", 0);
    add_both("b", "db", ago_s);
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_hosts, 2);
    ck_assert_uint_eq(fleet.n_guests, 2);
    ck_assert(fleet.hosts[1].stale);
    ck_assert_str_eq(warnings, "");
}

/* Returns what was needed, in MiB, in the cell that begins @p ago_s before the middle of the last
 * hour. */
static double need_ago(double ago_s)
{
    const size_t cell = (size_t)((NOW_S - ago_s - fleet.from_s) / fleet.step_s);

    ck_assert_uint_lt(cell, fleet.n_times);
    return round(plan_series(&fleet, 0)[cell] * plan_unit(&fleet.guests[0]) / (double)MIB);
}

/* The need of a minute is scraped in the next; of a quarter it is asked for at the end of that. */
#define LATE_S 60

/* The rule of needs records the quarters from so long ago to so long ago, those of guest "web". */
static void add_recorded_needs(double from_ago_s, double to_ago_s)
{
    add_of("vmwss:plan_need_bytes:max15m", "a", "web", 70 * MIB, to_ago_s)->since_s = from_ago_s -
                                                                                      2 * LATE_S;
}

/* And that of scrapes has counted so many in each. */
static void add_counted(double n, double from_ago_s, double to_ago_s)
{
    add("vmwss:plan_scrapes:count15m", "a", n, 0, to_ago_s)->since_s = from_ago_s - 2 * LATE_S;
}

static void add_recorded(double from_ago_s, double to_ago_s)
{
    add_recorded_needs(from_ago_s, to_ago_s);
    add_counted(15, from_ago_s, to_ago_s);
}

static void add_scraped(const char *name, double need_bytes, double from_ago_s, double to_ago_s)
{
    add_of("vmwss_plan_need_bytes", "a", name, need_bytes, to_ago_s - LATE_S)->since_s =
        from_ago_s - LATE_S;
}

/* A host with guest "web", both scraped each minute for nine hours. */
static void add_web(void)
{
    add_host("a", 0);
    add_of("vmwss_plan_ram_bytes", "a", "web", 100 * MIB, 0)->since_s = 9 * HOUR_S;
    add_of("vmwss_plan_need_bytes", "a", "web", 50 * MIB, 0)->since_s = 9 * HOUR_S;
}

/* Nothing was recorded in the last hour, nor before seven hours ago, nor for an hour in between. */
TEST(cases, scraped_needs_are_asked_for_only_where_none_are_recorded)
{
    step_s = 900;
    add_web();
    add_recorded(7 * HOUR_S, 5 * HOUR_S);
    add_recorded(4 * HOUR_S, 1 * HOUR_S);
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 1);
    ck_assert_double_eq(need_ago(8 * HOUR_S), 50);
    ck_assert_double_eq(need_ago(6 * HOUR_S), 70);
    ck_assert_double_eq(need_ago(4.5 * HOUR_S), 50);
    ck_assert_double_eq(need_ago(2 * HOUR_S), 70);
    ck_assert_double_eq(need_ago(900), 50);
    ck_assert_double_lt(scraped_span_s, 3 * HOUR_S);
}

/* Only the first quarter of the hour that has begun is recorded. */
TEST(cases, a_step_is_recorded_only_if_all_of_its_quarters_are)
{
    step_s = 3600;
    add_web();
    add_recorded(9 * HOUR_S, 900);
    add_scraped("web", 90 * MIB, 600, 300);
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_double_eq(need_ago(600), 90);
    ck_assert_double_eq(need_ago(2 * HOUR_S), 70);
    ck_assert_double_le(scraped_span_s, 2 * HOUR_S);
}

/* The third quarter of an hour. */
TEST(cases, a_rule_that_was_not_evaluated_once_loses_no_peak)
{
    const double lost_s = 3 * HOUR_S; /* ago: at half past */

    step_s = 3600;
    add_web();
    add_recorded_needs(9 * HOUR_S, lost_s);
    add_recorded_needs(lost_s - 900, 0);
    add_counted(15, 9 * HOUR_S, 0);
    add_scraped("web", 90 * MIB, lost_s - 300, lost_s - 600);
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_double_eq(need_ago(lost_s), 90);
    ck_assert_double_eq(need_ago(lost_s + HOUR_S), 70);
    ck_assert_double_eq(need_ago(lost_s - HOUR_S), 70);
    ck_assert_double_lt(scraped_span_s, HOUR_S);
}

/* vmagent had to keep them, and delivers them after the rule was evaluated. */
TEST(cases, scrapes_that_arrive_after_their_quarter_was_recorded_count)
{
    const double late_s = 3 * HOUR_S;

    step_s = 900;
    add_web();
    add_recorded_needs(9 * HOUR_S, 0);
    add_counted(15, 9 * HOUR_S, late_s);
    add_counted(7, late_s, late_s - 900);
    add_counted(15, late_s - 900, 0);
    add_scraped("web", 90 * MIB, late_s - 300, late_s - 600);
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_double_eq(need_ago(late_s), 90);
    ck_assert_double_eq(need_ago(late_s + 900), 70);
    ck_assert_double_eq(need_ago(late_s - 900), 70);
    ck_assert_double_lt(scraped_span_s, HOUR_S);
}

/* Its first hour has a few minutes only, but since then each is known. */
TEST(cases, the_hour_in_which_a_guest_begins_has_no_gap)
{
    const double begun_s = 2 * HOUR_S - 600;

    add_host("a", 0);
    add_of("vmwss_plan_ram_bytes", "a", "new", 100 * MIB, 0)->since_s = begun_s;
    add_of("vmwss_plan_need_bytes", "a", "new", 50 * MIB, 0)->since_s = begun_s;
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_str_eq(warnings, "");
}

/* Another guest of its host has a quarter of that hour recorded. */
TEST(cases, a_guest_that_has_just_begun_is_not_mute)
{
    add_web();
    add_recorded(9 * HOUR_S, 900);
    add_of("vmwss_plan_ram_bytes", "a", "new", 100 * MIB, 0)->since_s = 600;
    add_scraped("new", 50 * MIB, 600, 0);
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 2);
    ck_assert_str_eq(warnings, "");
}

/* The size of every second hour is recorded, and three quarters of its needs. */
TEST(cases, what_is_recorded_between_gaps_counts_once)
{
    step_s = 3600;
    minutes_of_step = 10;
    add_web();
    add_of("vmwss_plan_size_bytes", "a", "web", 60 * MIB, 0)->since_s = 9 * HOUR_S;
    for (unsigned ago_h = 2; ago_h < 8; ago_h += 2) { /* at half past */
        const double end_s = (ago_h - 0.5) * HOUR_S;

        add_recorded_needs(end_s + HOUR_S, end_s + 900);
        add_counted(10, end_s + HOUR_S, end_s + 900);
        add_of("vmwss:plan_size_bytes:max", "a", "web", 60 * MIB, end_s + 60)->since_s = end_s +
                                                                                         HOUR_S -
                                                                                         60;
    }
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_double_eq(need_ago(2 * HOUR_S), 70);
    ck_assert_double_eq(need_ago(3 * HOUR_S), 50);
    ck_assert_ptr_nonnull(strstr(warnings, "67 % of its minutes are known"));
    ck_assert_uint_eq(scraped_sizes, 1);
}

TEST(cases, sizes_are_those_that_are_recorded_if_all_of_them_are)
{
    add_web();
    for (size_t i = 0; i < n_series; i++)
        series[i].since_s = 9 * HOUR_S;
    add_of("vmwss_plan_size_bytes", "a", "web", 60 * MIB, 0)->since_s = 9 * HOUR_S;
    add_of("vmwss:plan_size_bytes:max", "a", "web", 65 * MIB, 0)->since_s = 9 * HOUR_S;
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_double_eq(fleet.guests[0].size_bytes, 60 * MIB);
    ck_assert_uint_eq(scraped_sizes, 1);
    add_recorded(9 * HOUR_S, 900);
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_double_eq(fleet.guests[0].size_bytes, 65 * MIB);
    ck_assert_uint_eq(scraped_sizes, 1);
}

/* As long as the steps that may not be recorded yet. No rule is kept. */
TEST(cases, sizes_of_a_young_host_are_those_that_are_scraped)
{
    add_web();
    add_of("vmwss_plan_size_bytes", "a", "web", 60 * MIB, 0);
    for (size_t i = 0; i < n_series; i++)
        series[i].since_s = 1.9 * HOUR_S;
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_double_eq(fleet.guests[0].size_bytes, 60 * MIB);
    ck_assert_str_eq(warnings, "");
}

/* No rule is kept. */
TEST(cases, without_recorded_needs_all_scraped_ones_are_asked_for)
{
    step_s = 900;
    add_both("a", "web", 0);
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_double_eq(need_ago(4 * HOUR_S), 50);
    ck_assert_double_eq(need_ago(900), 50);
}

/* A scrape each five minutes; the maximum of a step is of what there is. */
TEST(cases, minutes_that_were_missed_in_a_long_step_are_counted)
{
    add_both("a", "web", 0);
    step_s = 600;
    minutes_of_step = 3;
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_double_eq_tol(fleet.hosts[0].missed_share, 0.8, 1e-9);
    ck_assert_ptr_nonnull(strstr(warnings, "at least once a minute"));
    minutes_of_step = 20; /* twice a minute */
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_double_eq(fleet.hosts[0].missed_share, 0);
    ck_assert_str_eq(warnings, "");
}

static size_t count_known(size_t guest)
{
    size_t n = 0;

    for (size_t t = 0; t < fleet.n_times; t++)
        n += plan_series(&fleet, guest)[t] != PLAN_CODE_NONE;
    return n;
}

/* It has more guests than when the span began. */
TEST(cases, an_answer_that_is_too_large_is_asked_for_in_pieces)
{
    add_both("a", "web", 0);
    most_times = 50;
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_ge(count_known(0), 298); /* it has been there for five hours */
    most_times = 0;
    ck_assert_int_eq(read_url(), -E2BIG);
    ck_assert_str_eq(error.text, URL ": too many");
}

/* Guest "z" migrated from the first to the second. */
TEST(cases, several_hosts_are_read)
{
    static const char *const hosts[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

    for (size_t h = 0; h < 8; h++) {
        add_host(hosts[h], 0);
        add_of("vmwss_plan_ram_bytes", hosts[h], hosts[h], 100 * MIB, 0);
        add_of("vmwss_plan_need_bytes", hosts[h], hosts[h], (10.0 + (double)h) * MIB, 0);
    }
    add_of("vmwss_plan_need_bytes", "a", "z", 30 * MIB, HOUR_S);
    add_of("vmwss_plan_need_bytes", "b", "z", 70 * MIB, 0)->since_s = HOUR_S + 600;
    add_of("vmwss_plan_ram_bytes", "b", "z", 100 * MIB, 0);
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 9);
    for (size_t g = 0; g < fleet.n_guests; g++) {
        const bool is_z = fleet.guests[g].name[0] == 'z';
        const double bytes = is_z ? 70 * MIB : (10.0 + fleet.guests[g].name[0] - 'a') * MIB;

        ck_assert_double_eq_tol(
            plan_series(&fleet, g)[fleet.n_times - 3] * plan_unit(&fleet.guests[g]), bytes, MIB);
    }
    ck_assert_str_eq(warnings, "");
}

/* --- guests ----------------------------------------------------------------------------------- */

/* A host that runs jobs has few guests at once, and many in a month. */
TEST(cases, guests_that_have_ended_do_not_count_for_the_limit)
{
    add_both("a", "web", 0);
    n_past = 6000;
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 1);
}

/* It served the host, but not the guest, when it was scraped last. */
TEST(cases, the_guests_of_a_host_that_was_emptied_and_switched_off_have_ended)
{
    add_both("a", "web", 0);
    add_host("b", 5 * HOUR_S);
    add_of("vmwss_plan_need_bytes", "b", "ghost", 30 * MIB, 6 * HOUR_S)->since_s = 9 * HOUR_S;
    add_of("vmwss_plan_need_bytes", "b", "web", 90 * MIB, 7 * HOUR_S)->since_s = 9 * HOUR_S;
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 1);
    ck_assert_str_eq(fleet.guests[0].name, "web");
    ck_assert_double_eq(need_ago(7.5 * HOUR_S), 90); /* it came from there */
    ck_assert_uint_eq(fleet.n_hosts, 1);
    ck_assert_ptr_nonnull(strstr(warnings, "host b is left out"));
}

/* Served, but without needs: as from a file it needs all of its RAM. */
TEST(cases, a_guest_without_needs_needs_all_of_its_ram)
{
    add_both("a", "web", 0);
    add_of("vmwss_plan_ram_bytes", "a", "mute", 70 * MIB, 0);
    add_of("vmwss_plan_ram_bytes", "a", "sleeper", 70 * MIB, 0);
    add_of("vmwss_plan_state", "a", "sleeper", 1, 0)->state = "suspended";
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 2);
    ck_assert_str_eq(fleet.guests[0].name, "mute");
    ck_assert_uint_eq(plan_series(&fleet, 0)[fleet.n_times - 1], PLAN_CODE_NONE);
    ck_assert_ptr_nonnull(strstr(warnings, "host a"));
    ck_assert_ptr_nonnull(strstr(warnings, "mute"));
    ck_assert_ptr_null(strstr(warnings, "sleeper"));
}

/* Its needs ended hours ago, and others of the host have some. */
TEST(cases, nor_does_one_whose_needs_have_ended_vanish)
{
    add_both("a", "web", 0);
    add_of("vmwss_plan_ram_bytes", "a", "mute", 70 * MIB, 0);
    add_of("vmwss_plan_need_bytes", "a", "mute", 30 * MIB, 3 * HOUR_S);
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 2);
    ck_assert_ptr_nonnull(strstr(warnings, "mute"));
}

TEST(cases, without_needs_of_any_guest_the_window_is_wrong)
{
    add_host("a", 0);
    add_of("vmwss_plan_ram_bytes", "a", "mute", 70 * MIB, 0);
    ck_assert_int_eq(read_url(), -ENODATA);
    ck_assert_ptr_nonnull(strstr(error.text, "--window"));
}

/* --- the URL ---------------------------------------------------------------------------------- */

static const char *const with_secrets[] = {
    "http://h/?token=s3cret", "http://user:s3/cret@h", "https://user:s3cret@h",
    "http://user:s3?cret@h",  "http://h/#s3cret",      "http://user:s3#cret@h",
};

TEST_EACH(cases, a_url_with_a_secret_is_refused_and_not_printed, 0, COUNT(with_secrets))
{
    const struct prom_options options = {.timeout_s = 1};
    struct prom_client *client = NULL;

    error = (struct error){0};
    ck_assert_int_eq(__real_prom_open(with_secrets[_i], &options, &client, &error), -EINVAL);
    ck_assert_ptr_null(strstr(error.text, "s3"));
    ck_assert_ptr_nonnull(strstr(error.text, "--user-file"));
    ck_assert_ptr_nonnull(strstr(error.text, "--token-file"));
}

/* Everything is asked by the host's name. */
/* Queries are answered as VictoriaMetrics' cluster does it while a storage node is gone. */
static const char *const partial_queries[] = {"vmwss_plan_reserve_bytes", "vmwss_plan_ram_bytes",
                                              "vmwss_plan_need_bytes", "vmwss_plan_size_bytes"};

TEST_EACH(cases, a_partial_answer_fixes_all_hosts, 0, COUNT(partial_queries))
{
    add_both("a", "web", 0);
    add_both("b", "db", 0);
    partial_if = partial_queries[_i];
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert(fleet.hosts[0].partial && fleet.hosts[1].partial);
    ck_assert_ptr_nonnull(strstr(warnings, URL ": its answer is partial: isPartial: true\n"));
    partial_if = NULL;
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert(!fleet.hosts[0].partial && !fleet.hosts[1].partial);
    ck_assert_str_eq(warnings, "");
}

/* Parts of the queries for names, last scrapes, doubts, series of the last scrape, sizes, RAM, and
 * minutes. */
static const char *const lossy[] = {
    "last_over_time(vmwss_plan_reserve_bytes{}[86400s])",
    "max_over_time(timestamp(vmwss_plan_reserve_bytes",
    " or on (host) 0 * ",
    "vmwss_plan_capacity_bytes|",
    "quantile_over_time(",
    "min by (host, uuid)",
    "count_over_time((max by (host)",
};

TEST_EACH(cases, an_answer_that_lacks_a_host_is_said_and_fixes_it, 0, COUNT(lossy))
{
    static const char *const hosts[] = {"a", "b"};

    for (size_t h = 0; h < COUNT(hosts); h++) {
        add_both(hosts[h], hosts[h], 0);
        add_of("vmwss_plan_size_bytes", hosts[h], hosts[h], 60 * MIB, 0);
    }
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_str_eq(warnings, "");
    lost_if = lossy[_i];
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert(fleet.hosts[fleet.n_hosts - 1].partial);
    ck_assert_msg(strstr(warnings, "has left something out, unsaid") != NULL, "%s", warnings);
}

static const double no_amounts[] = {NAN, INFINITY, -INFINITY, -5, 1e30};
#define N_AMOUNTS ((int)COUNT(no_amounts))

/* The value of the series of that metric of host a, which has two guests; host b has one. */
static int read_with(const char *metric, double value)
{
    add_both("a", "web", 0);
    add_guest("a", "db", 0);
    add_of("vmwss_plan_used_bytes", "a", "web", 1 * MIB, 0);
    add_both("b", "x", 0);
    for (size_t i = 0; i < n_series; i++)
        if (strcmp(series[i].metric, metric) == 0) {
            series[i].value = value;
            break;
        }
    return read_url();
}

TEST_EACH(cases, a_guest_whose_ram_cannot_be_read_is_named_and_its_host_partly_known, 0, N_AMOUNTS)
{
    ck_assert_msg(read_with("vmwss_plan_ram_bytes", no_amounts[_i]) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 2);
    ck_assert(fleet.hosts[0].partial && !fleet.hosts[1].partial);
    ck_assert_ptr_nonnull(strstr(warnings, URL ": vmwss_plan_ram_bytes{host=\"a\""));
    ck_assert_ptr_nonnull(strstr(warnings, "host a: guest web is left out"));
}

TEST_EACH(cases, a_need_that_cannot_be_read_is_named_and_not_known, 0, N_AMOUNTS)
{
    ck_assert_msg(read_with("vmwss_plan_need_bytes", no_amounts[_i]) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 3);
    ck_assert_ptr_nonnull(strstr(warnings, URL ": vmwss_plan_need_bytes{host=\"a\""));
    for (size_t g = 0; g < fleet.n_guests; g++)
        if (strcmp(fleet.guests[g].name, "web") == 0)
            ck_assert_uint_eq(plan_series(&fleet, g)[fleet.n_times - 10], PLAN_CODE_NONE);
}

static const char *const other_metrics[] = {"vmwss_plan_reserve_bytes", "vmwss_plan_capacity_bytes",
                                            "vmwss_plan_used_bytes"};

TEST_EACH(cases, another_value_that_cannot_be_read_is_named, 0, 3 * N_AMOUNTS)
{
    ck_assert_msg(read_with(other_metrics[_i % 3], no_amounts[_i / 3]) == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_hosts, 2);
    ck_assert_uint_eq(fleet.n_guests, 3);

    const char *name = TEXT_OF(80, URL ": %s{host=\"a\"", other_metrics[_i % 3]);

    ck_assert_msg(strstr(warnings, name) != NULL, "%s", warnings);
    ck_assert((fleet.hosts[0].reserve_bytes == PLAN_RESERVE_UNKNOWN) == (_i % 3 == 0));
    ck_assert((fleet.hosts[0].capacity_bytes == 0) == (_i % 3 == 1));
}

/* One answer has several metrics. */
TEST(cases, of_each_metric_that_cannot_be_read_a_series_is_named)
{
    add_both("a", "web", 0);
    add_guest("a", "db", 0);
    series[1].value = series[2].value = INFINITY;
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_ptr_nonnull(strstr(warnings, URL ": vmwss_plan_capacity_bytes{host=\"a\""));
    ck_assert_ptr_nonnull(strstr(warnings, URL ": vmwss_plan_ram_bytes{host=\"a\""));
}

/* Long ago, so the answer that has it has RAM and capacities. */
TEST(cases, of_an_answer_by_several_queries_the_right_metric_is_named)
{
    add_both("a", "web", 0);
    add_of("vmwss_plan_ram_bytes", "a", "web", INFINITY, 2 * HOUR_S);
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_msg(strstr(warnings, URL ": vmwss_plan_ram_bytes{host=\"a\",") != NULL, "%s",
                  warnings);
    ck_assert_ptr_null(strstr(warnings, "vmwss_plan_capacity_bytes"));
}

/* By relabelling, the guest's UUID is lost. */
TEST(cases, a_guest_whose_label_is_dropped_is_named)
{
    add_both("a", "web", 0);
    add_guest("a", "db", 0);
    for (size_t i = 0; i < n_series; i++)
        if (series[i].domain && strcmp(series[i].domain, "db") == 0)
            series[i].uuid = NULL;
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 1);
    ck_assert(fleet.hosts[0].partial);
    ck_assert_ptr_nonnull(strstr(warnings, "no valid label uuid"));
    ck_assert_ptr_nonnull(strstr(warnings, "host a: guest db is left out"));
}

/* Only that of its needs. */
TEST(cases, a_guest_whose_needs_lack_a_label_is_not_said_to_be_left_out)
{
    add_both("a", "web", 0);
    add_guest("a", "db", 0);
    series[n_series - 1].uuid = NULL;
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 2);
    ck_assert(fleet.hosts[0].partial);
    ck_assert_msg(strstr(warnings, "host a: guest db has needs that are left out: its "
                                   "vmwss_plan_need_bytes has no valid label uuid") != NULL,
                  "%s", warnings);
    ck_assert_ptr_null(strstr(warnings, "guest db is left out"));
}

/* Its label host was rewritten, or it has come from there. */
TEST(cases, a_guest_whose_needs_are_of_another_host_has_them)
{
    add_both("a", "web", 0);
    add_of("vmwss_plan_ram_bytes", "a", "db", 100 * MIB, 0);
    add_host("b", 0);
    add_of("vmwss_plan_need_bytes", "b", "db", 50 * MIB, 0);
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_uint_eq(fleet.n_guests, 2);
    ck_assert_double_eq(need_ago(HOUR_S), 50);
    ck_assert_msg(strstr(warnings, "planned with what it needed on other hosts, or with all of") !=
                      NULL,
                  "%s", warnings);
}

TEST(cases, two_hosts_of_one_name_are_refused)
{
    add_both("localhost", "web", 0);
    instances = 2;
    ck_assert_int_eq(read_url(), -ENOTUNIQ);
    ck_assert_ptr_nonnull(strstr(error.text, URL));
    ck_assert_ptr_nonnull(strstr(error.text, "host localhost: several hosts have that name, "
                                             "instance=\"\" and instance=\"1\""));
}

/* --- what guests write ------------------------------------------------------------------------ */

/* A curve was measured two hours ago, and is served since. */
static void add_writes(const char *name, double window_bytes)
{
    add_of("vmwss_guest_info", "a", name, 1, 0);
    add_of("vmwss_write_set_timestamp_seconds", "a", name, NOW_S - 2 * HOUR_S, 0)->since_s = 2 *
                                                                                             HOUR_S;
    add_of("vmwss_write_set_bytes", "a", name, window_bytes, 0)->since_s = 2 * HOUR_S;
    add_of("vmwss_write_set_low_bytes", "a", name, window_bytes - MIB, 0)->since_s = 2 * HOUR_S;
    add_of("vmwss_write_set_high_bytes", "a", name, window_bytes + MIB, 0)->since_s = 2 * HOUR_S;
    add_of("vmwss_resident_bytes", "a", name, 80 * MIB, 0);
}

TEST(cases, a_write_curve_counts_once_in_its_hour)
{
    add_both("a", "dark", 0);
    add_guest("a", "web", 0);
    add_writes("web", 8 * MIB);
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_ptr_null(fleet.writes[0]);
    ck_assert_ptr_nonnull(fleet.writes[1]);
    ck_assert_uint_eq(plan_writes_count(fleet.writes[1], PLAN_ANY_HOUR), 1);
    ck_assert_uint_eq(plan_writes_count(fleet.writes[1], plan_week_hour(NOW_S - 2 * HOUR_S)), 1);
    ck_assert_uint_eq(fleet.writes[1]->resident_bytes, 80 * MIB);
    ck_assert(fleet.writes[1]->kvm);

    const struct write_curve curve = plan_writes_at(fleet.writes[1], PLAN_ANY_HOUR);

    ck_assert_uint_eq(curve.n, 1);
    ck_assert_double_eq(curve.points[0].est_window_s, 60);
    ck_assert_uint_eq(curve.points[0].bytes, 8 * MIB);
    ck_assert_uint_eq(curve.points[0].low_bytes, 7 * MIB);
    ck_assert_uint_eq(curve.points[0].high_bytes, 9 * MIB);
    ck_assert_str_eq(warnings, "");
}

/* A guest of which only a part is served has no price. */
TEST(cases, a_guest_of_unknown_size_has_no_writes)
{
    add_both("a", "web", 0);
    add_writes("web", 8 * MIB);
    n_series--; /* its resident memory */
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_ptr_null(fleet.writes[0]);
}

/* The number itself was dropped by relabelling. */
TEST(cases, a_window_without_a_number_has_no_bounds)
{
    add_both("a", "web", 0);
    add_writes("web", 8 * MIB);
    for (size_t i = 0; i < n_series; i++)
        if (strcmp(series[i].metric, "vmwss_write_set_bytes") == 0)
            series[i].metric = "dropped";
    ck_assert_msg(read_url() == 0, "%s", error.text);
    ck_assert_ptr_nonnull(fleet.writes[0]);
    ck_assert_uint_eq(plan_writes_count(fleet.writes[0], PLAN_ANY_HOUR), 0);
}

/* Each allocation of the reading fails once: then there is no plan, rather than one without a guest
 * or a price. */
TEST(cases, without_memory_there_is_no_plan)
{
    size_t n = 0;
    int rc;

    add_both("a", "web", 0);
    add_writes("web", 8 * MIB);
    do {
        until_short = ++n;
        rc = read_url();
        ck_assert_msg(until_short > 0 || rc == -ENOMEM, "allocation %zu: %d", n, rc);
        ck_assert_msg(rc == 0 || strstr(error.text, "memory"), "%s", error.text);
    } while (until_short == 0);
    until_short = 0;
    ck_assert_int_eq(rc, 0);
    ck_assert_uint_gt(n, 20);
    ck_assert_uint_eq(plan_writes_count(fleet.writes[0], PLAN_ANY_HOUR), 1);
}
