// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_daemon.c  What vmwssd decides: configuration, the plan, who is due, what is logged.
 * No guest, no clock. */
#include "base/service/log.h"
#include "fixture.h"
#include "programs/vmwssd/agents/polling.h"
#include "programs/vmwssd/config/config.h"
#include "programs/vmwssd/config/options.h"
#include "programs/vmwssd/scan/deadline.h"
#include "programs/vmwssd/scanner/budget.h"
#include "programs/vmwssd/scanner/guest_epoll.h"
#include "programs/vmwssd/scanner/guest_scan.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND 1000000000ULL

/* --- configuration ---------------------------------------------------------------------------- */

static char path[64];
static struct config config;
static struct error error;

static void setup(void)
{
    config_init(&config);
    strcpy(path, "/tmp/vmwss-config.XXXXXX");
    close(mkstemp(path));
}

static void teardown(void)
{
    unlink(path);
}

static int load(const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    return config_load(&config, path, &error);
}

static void refused(const char *text, const char *expected)
{
    error = (struct error){0};

    const char *message = TEXT_OF(512, "%s%s", path, expected);

    ck_assert_int_eq(load(text), -EINVAL);
    ck_assert_msg(strstr(error.text, message), "'%s' does not have '%s'", error.text, message);
}

FIXTURE(files, .setup = setup, .teardown = teardown);

TEST(files, file_is_read)
{
    ck_assert_int_eq(load("# a comment\n[vmwssd]\nconnect = qemu:///session\n"
                          "connect = qemu:///embed?root=/x ; ours\nperiod=5\nwindow = 20,10\n"
                          "max-period = 7.5\n"
                          "samples = 500\nbudget = 2.5%\nguest-budget = 1\nmethod = pageout\n"
                          "database = none\nlog-level = debug\npublish = yes\nkeep-records = 12h\n"
                          "keep-minutes=2w\nkeep-hours = 8640000\nmax-size = 1.5G\n"),
                     0);
    ck_assert_uint_eq(config.n_connections, 2);
    ck_assert_str_eq(config.connect[0], "qemu:///session");
    ck_assert_str_eq(config.connect[1], "qemu:///embed?root=/x");
    ck_assert_str_eq(config.database, "");
    ck_assert(config.period_s == 5 && config.n_windows == 2 && config.window_s[0] == 10);
    ck_assert(config.max_period_s == 7.5 && config_max_period_s(&config) == 7.5);
    ck_assert_uint_eq(config.samples, 500);
    ck_assert_double_eq_tol(config.budget, 0.025, 1e-12);
    ck_assert_double_eq_tol(config.guest_budget, 0.01, 1e-12);
    ck_assert_ptr_eq(config.method, &method_pageout);
    ck_assert_int_eq(config.log_level, LOG_DEBUG);
    ck_assert(config.publish);
    ck_assert(config.retention.raw_s == 43200 && config.retention.minute_s == 14 * 86400 &&
              config.retention.hour_s == 100 * 86400);
    ck_assert_uint_eq(config.retention.max_bytes, 1536ULL << 20);
}

TEST(files, mistakes_are_named_with_file_and_line)
{
    char longer[400] = "[vmwssd]\nperiod = 5\ndatabase = /";

    refused("[vmwssd]\nperiod = 5\npreiod = 6\n", ":3: unknown key 'preiod'");
    refused("[vmwssd]\n\n\nperiod = soon\n",
            ":4: period = soon: expected a time from 1ms to 1000000s");
    refused("period = 5\n", ":1: 'period' in section []");
    refused("[daemon]\nperiod = 5\n", ":2: 'period' in section [daemon]");
    refused("[vmwssd]\nperiod = 5\nwhat is this\n", ":3: neither");
    refused("[vmwssd]\nmax-period = never\n",
            ":2: max-period = never: expected a time from 1ms to 1000000s");
    refused("[vmwssd]\nmethod = damon\n", ":2: method = damon: expected auto");
    refused("[vmwssd]\nbudget = 101%\n", ":2: budget = 101%: expected a percentage");
    refused("[vmwssd]\npublish = maybe\n", ":2: publish = maybe: expected yes or no");
    refused("[vmwssd]\nbudget = 0\n", ":2: budget = 0: expected");
    refused("[vmwssd]\nkeep-hours = 2y\n", ":2: keep-hours = 2y: expected a time");
    refused("[vmwssd]\nmax-size = big\n", ":2: max-size = big: expected a number of bytes");
    memset(longer + strlen(longer), 'x', 300);
    refused(longer, ":3: the line is too long");
    ck_assert_int_eq(config_load(&config, "/nonexistent/file", &error), -ENOENT);
}

TEST(files, what_is_dumped_can_be_read)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct config before;

    ck_assert_int_eq(
        load("[vmwssd]\nconnect = a:///b\nconnect = c:///d\nwindow = 1.5,1000000\n"
             "period = 0.25\nmax-period = none\nbudget = 0.3%\nsamples = 123\nmethod = zap\n"
             "keep-records = 100.5m\nkeep-minutes = 5d\nmax-size = 123456789\n"),
        0);
    config_dump(&config, out);
    fclose(out);
    before = config;
    config_init(&config);
    ck_assert_int_eq(load(text), 0);
    free(text);
    ck_assert_int_eq(memcmp(&before, &config, sizeof(config)), 0);
}

TEST(files, agents_are_those_of_libvirt)
{
    ck_assert(config_asks_agents(&config));
    ck_assert_int_eq(option_set(config_keys, &config, "agents", "no", &error), 0);
    ck_assert(!config_asks_agents(&config));
    ck_assert_int_eq(option_set(config_keys, &config, "agents", "yes", &error), 0);
    config_next_source(&config);
    ck_assert_int_eq(option_set(config_keys, &config, "connect", "processes", &error), 0);
    ck_assert(!config_asks_agents(&config));
    ck_assert_int_eq(option_set(config_keys, &config, "connect", "qemu:///session", &error), 0);
    ck_assert(config_asks_agents(&config));
}

TEST(files, values_must_go_together)
{
    ck_assert_int_eq(config_check(&config, &error), 0);
    ck_assert(!config.publish);
    config.period_s = 61;
    ck_assert_int_eq(config_check(&config, &error), -EINVAL);
    config.period_s = 0.01;
    ck_assert_int_eq(config_check(&config, &error), -EINVAL);
    config.period_s = 40; /* 40 is too short for 60, and 80 too long */
    ck_assert_error(config_check(&config, &error), -EINVAL,
                    "window 60 cannot be answered by scans every 40 s");
    config.period_s = 30;
    ck_assert(config_max_period_s(&config) == 60); /* auto */
    config.max_period_s = CONFIG_MAX_PERIOD_NONE;
    ck_assert_int_eq(config_check(&config, &error), 0);
    ck_assert(config_max_period_s(&config) == 30);
    config.max_period_s = 61;
    ck_assert_int_eq(config_check(&config, &error), -EINVAL);
    config.max_period_s = 29;
    ck_assert_int_eq(config_check(&config, &error), -EINVAL);
    config.max_period_s = 45;
    ck_assert_int_eq(config_check(&config, &error), 0);
    config.retention.raw_s = 5999;
    ck_assert_int_eq(config_check(&config, &error), -EINVAL);
}

/* Its larger half may not reach into pods. */
TEST(files, pods_are_found_by_their_processes)
{
    ck_assert_int_eq(load("[vmwssd]\nconnect = pods\n"), 0);
    ck_assert_error(config_check(&config, &error), -EINVAL, "connect = processes");
    config_init(&config);
    ck_assert_int_eq(load("[vmwssd]\nconnect = processes\n"), 0);
    ck_assert_int_eq(config_check(&config, &error), 0);
}

TEST(files, command_line_prevails)
{
    struct options options;
    char *argv[] = {"vmwssd", "--config", path, "--connect", "x:///y", "--period=7", NULL};

    ck_assert_int_eq(load("[vmwssd]\nconnect = a:///b\nperiod = 5\nsamples = 99\n"), 0);
    optind = 0;
    ck_assert_int_eq(options_parse(&options, 6, argv), 0);
    ck_assert_int_eq(options_config(&options, &config, &error), 0);
    ck_assert_uint_eq(config.n_connections, 1);
    ck_assert_str_eq(config.connect[0], "x:///y");
    ck_assert(config.period_s == 7);
    ck_assert_uint_eq(config.samples, 99);
}

/* --- budget ----------------------------------------------------------------------------------- */

static const struct budget_limits limits = {
    .share = 0.01, .guest_share = 0.0015, .period_s = 30, .max_period_s = 3600, .samples = 2000};

/* A guest whose scans cost 100 us and 2 us a page, learnt from a small panel and a large one. */
static struct budget_cost learnt(double fixed_s, double page_s)
{
    struct budget_cost cost = {0};

    budget_learn(&cost, 100, fixed_s + 100 * page_s);
    for (int i = 0; i < 5; i++)
        budget_learn(&cost, 1000, fixed_s + 1000 * page_s);
    return cost;
}

TEST(plain, costs_are_learnt)
{
    struct budget_cost cost = {0};

    budget_learn(&cost, 100, 0.001); /* one size tells only the sum */
    ck_assert_double_eq_tol(budget_cost_s(&cost, 100), 0.001, 1e-12);
    ck_assert(cost.fixed_s > 0 && cost.page_s > 0);
    cost = learnt(100e-6, 2e-6);
    ck_assert_double_eq_tol(cost.page_s, 2e-6, 1e-9);
    ck_assert_double_eq_tol(cost.fixed_s, 100e-6, 1e-6);
    for (int i = 0; i < 200; i++) /* it became dearer, at one size */
        budget_learn(&cost, 1000, 0.004);
    ck_assert_double_eq_tol(budget_cost_s(&cost, 1000), 0.004, 1e-5);
    for (int i = 0; i < 200; i++)
        budget_learn(&cost, 1000, 0); /* below what the clock tells */
    ck_assert(cost.page_s >= 0 && budget_cost_s(&cost, 5000) >= 0);
}

TEST(plain, one_guest_has_all_it_wants)
{
    struct budget_cost cost = learnt(100e-6, 2e-6);
    struct budget_plan plan = budget_fit(&limits, &cost, 1);

    ck_assert(plan.period_s == 30);
    ck_assert(budget_samples(&plan, &limits, &cost) == 2000);
}

TEST(plain, unknown_guests_begin_small)
{
    struct budget_cost cost = {0};
    struct budget_plan plan = budget_fit(&limits, &cost, 1);

    ck_assert(budget_samples(&plan, &limits, &cost) == BUDGET_MIN_SAMPLES);
    ck_assert(budget_fit(&limits, NULL, 0).period_s == 30);
}

TEST(plain, a_guest_keeps_to_its_own_share)
{
    struct budget_cost cost = learnt(0, 100e-6); /* 2000 pages would be 200 ms of the 45 */
    struct budget_plan plan = budget_fit(&limits, &cost, 1);
    double pages = budget_samples(&plan, &limits, &cost);

    ck_assert_double_eq_tol(pages, 450, 2);
}

/* Its smallest panel takes 160 ms, of which 30 s pay for 45. */
TEST(plain, a_guest_whose_smallest_panel_is_too_dear_is_scanned_less_often)
{
    struct budget_cost cost = learnt(60e-3, 1e-3);
    struct budget_plan plan = budget_fit(&limits, &cost, 1);
    struct budget_limits some = limits;

    ck_assert_double_eq(plan.period_s, 30);
    ck_assert(budget_samples(&plan, &limits, &cost) == BUDGET_MIN_SAMPLES);
    ck_assert_double_eq_tol(budget_period_s(&plan, &limits, &cost), 0.160 / limits.guest_share, 1);
    some.max_period_s = 60;
    ck_assert_double_eq(budget_period_s(&plan, &some, &cost), 60);
    some.max_period_s = 10; /* shorter than what the plan asks for */
    ck_assert_double_eq(budget_period_s(&plan, &some, &cost), 30);
    cost = learnt(100e-6, 2e-6);
    ck_assert_double_eq(budget_period_s(&plan, &limits, &cost), 30);
    cost = (struct budget_cost){0};
    ck_assert_double_eq(budget_period_s(&plan, &limits, &cost), 30);
}

static double share_used(const struct budget_plan *plan, const struct budget_cost *costs, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += budget_cost_s(&costs[i], budget_samples(plan, &limits, &costs[i]));
    return sum / plan->period_s;
}

TEST(plain, many_guests_share)
{
    static struct budget_cost costs[1000];

    for (size_t i = 0; i < 1000; i++)
        costs[i] = learnt(50e-6, i < 500 ? 1e-6 : 4e-6);

    struct budget_plan plan = budget_fit(&limits, costs, 100);

    ck_assert(plan.period_s == 30);
    ck_assert_double_le(share_used(&plan, costs, 100), limits.share);

    plan = budget_fit(&limits, costs, 1000);
    ck_assert_double_le(share_used(&plan, costs, 1000), limits.share);
    ck_assert_double_ge(share_used(&plan, costs, 1000), 0.8 * limits.share); /* and is not wasted */
    ck_assert(budget_samples(&plan, &limits, &costs[0]) <
              budget_samples(&(struct budget_plan){30, 1}, &limits, &costs[0]));
}

TEST(plain, the_period_stretches_when_nothing_else_helps)
{
    static struct budget_cost costs[1000];

    for (size_t i = 0; i < 1000; i++)
        costs[i] = learnt(1e-3, 1e-6); /* 1.1 s for the smallest panels of all */

    struct budget_plan plan = budget_fit(&limits, costs, 1000);

    ck_assert_double_eq_tol(plan.period_s, 1.1 / (0.01 * 0.9), 1);
    ck_assert(budget_samples(&plan, &limits, &costs[0]) <= BUDGET_MIN_SAMPLES + 1);
    ck_assert_double_le(share_used(&plan, costs, 1000), limits.share);

    struct budget_limits busy = limits; /* everything else takes more than there is */

    busy.overhead = 1;
    plan = budget_fit(&busy, costs, 1000);
    ck_assert_double_eq_tol(plan.period_s, 1.1 / 0.001, 10);
    plan = budget_fit(&busy, learnt(1e3, 1).weight > 0 ? costs : NULL, 1000);
    ck_assert_double_le(plan.period_s, limits.max_period_s);
}

TEST(plain, who_waits_is_planned_for)
{
    static struct budget_cost costs[1000];

    budget_guess(costs, 1000);
    ck_assert(costs[0].fixed_s == 0);
    costs[3] = learnt(1e-3, 1e-6);
    costs[5] = learnt(3e-3, 3e-6);
    budget_guess(costs, 1000);
    ck_assert_double_eq_tol(costs[999].fixed_s, 2e-3, 1e-9);
    ck_assert_double_eq_tol(costs[999].page_s, 2e-6, 1e-9);
    ck_assert(costs[999].weight == 0); /* it is no knowledge */
    ck_assert_double_eq_tol(budget_fit(&limits, costs, 1000).period_s, 2.2 / (0.01 * 0.9), 1);
}

/* Asking a thousand agents: the period pays for a round as well, and one guest's looks for it
 * within a period. */
TEST(plain, a_round_of_questions_is_paid_for)
{
    struct budget_limits asking = limits;
    struct budget_cost costs[] = {learnt(0.001, 1e-6)};
    double alone_s = budget_fit(&limits, costs, 1).period_s;

    asking.polling_s = 0.9;
    struct budget_plan plan = budget_fit(&asking, costs, 1);

    ck_assert_double_eq(alone_s, 30);
    ck_assert_double_eq_tol(plan.period_s, (0.9 + 0.0011) / 0.009, 1e-6);
    asking.polling_s = 0.2; /* of 0.27 in 30 s */
    asking.guest_share = 1;
    asking.samples = 1e9;
    plan = budget_fit(&asking, costs, 1);
    ck_assert_double_eq(plan.period_s, 30);
    ck_assert_double_eq_tol(plan.scan_s, 0.07, 1e-6);
}

#define SECOND 1000000000ULL

TEST(plain, rounds_of_questions_give_way)
{
    struct polling polling = {.wanted_s = 30};

    ck_assert_uint_eq(polling_due_ns(&polling), 0); /* at once */
    polling_begin(&polling, 100 * SECOND, 1);
    ck_assert_double_eq(polling.cost_s, 0); /* not known yet */
    ck_assert_uint_eq(polling_due_ns(&polling), 130 * SECOND);
    polling.planned_s = 90;
    ck_assert_uint_eq(polling_due_ns(&polling), 190 * SECOND);
    polling.planned_s = 10; /* never more often than wanted */
    ck_assert_uint_eq(polling_due_ns(&polling), 130 * SECOND);
    polling.held_until_ns = 140 * SECOND;
    ck_assert_uint_eq(polling_due_ns(&polling), 140 * SECOND);
    polling.held_until_ns = 500 * SECOND; /* but for a period more at most */
    ck_assert_uint_eq(polling_due_ns(&polling), 160 * SECOND);
    ck_assert(polling_held(&polling, 500 * SECOND - 1));
    ck_assert(!polling_held(&polling, 500 * SECOND));
    polling_begin(&polling, 500 * SECOND, 1.5);
    ck_assert_double_eq(polling.cost_s, 0.5);
    polling_begin(&polling, 600 * SECOND, 2.5);
    ck_assert_double_eq(polling.cost_s, 0.75); /* lately */
}

/* A thousand guests, every other of which has a channel, from the first round on. */
TEST(plain, xml_is_read_in_turns)
{
    static struct xml_turn turns[1000];
    static unsigned reads[1000];
    unsigned again = 0;

    memset(turns, 0, sizeof(turns));
    memset(reads, 0, sizeof(reads));
    for (unsigned round = 0; round < 100; round++) {
        size_t left = polling_xml_most(1000);

        for (unsigned i = 0; i < 1000; i++)
            reads[i] += polling_xml_due(&turns[i], i % 2 && reads[i] > 0, &left);
        ck_assert_uint_le(left, polling_xml_most(1000));
        if (round == 7)
            for (unsigned i = 0; i < 1000; i++)
                ck_assert_uint_eq(reads[i], 1); /* all, and none twice */
    }
    for (unsigned i = 0; i < 1000; i++)
        ck_assert_uint_eq(reads[i], 1);
    for (unsigned round = 0; round < 8; round++) {
        size_t left = polling_xml_most(1000);
        unsigned before = again;

        for (unsigned i = 0; i < 1000; i++)
            again += polling_xml_due(&turns[i], i % 2, &left);
        ck_assert_uint_le(again - before, 132);
    }
    ck_assert_uint_eq(again, 500); /* those without */
}

TEST(plain, what_was_plugged_is_read)
{
    struct xml_turn turn = {.polls = 50, .plugged = true};
    size_t left = 0;

    ck_assert(!polling_xml_due(&turn, true, &left)); /* others were first */
    left = 1;
    ck_assert(polling_xml_due(&turn, true, &left));
    ck_assert_uint_eq(left, 0);
    left = 1;
    ck_assert(!polling_xml_due(&turn, true, &left));
    ck_assert_uint_eq(left, 1);
}

TEST(plain, a_panel_is_not_thrown_away_for_nothing)
{
    ck_assert(budget_panel_fits(1000, 1000, 1333, true));
    ck_assert(budget_panel_fits(1500, 1000, 1333, true));
    ck_assert(!budget_panel_fits(1501, 1000, 1333, true));
    ck_assert(budget_panel_fits(1501, 1000, 1333, false)); /* grows as its cohorts are replaced */
    ck_assert(budget_panel_fits(500, 1000, 1333, false));
    ck_assert(!budget_panel_fits(499, 1000, 1333, false));
    /* A small guest: 100 pages were wanted, and 256 drawn, some of them absent. */
    ck_assert(!budget_panel_fits(2000, 100, 256, true));
    /* It had no more than 256: what is paid for may be anything from then on, but a lot less than
     * those. */
    ck_assert(budget_panel_fits(8000, 2000, 256, true));
    ck_assert(budget_panel_fits(300, 2000, 256, true));
    ck_assert(budget_panel_fits(128, 2000, 256, true));
    ck_assert(!budget_panel_fits(127, 2000, 256, true));
}

TEST(plain, a_panel_is_young_until_its_cost_is_known)
{
    ck_assert(budget_panel_young(10, 359, 3600));
    ck_assert(!budget_panel_young(10, 360, 3600));
    /* Read at 5 s and at 10 s of a longest window of a minute: only the second could know what a
     * page costs. */
    ck_assert(budget_panel_young(2, 10, 60));
    ck_assert(!budget_panel_young(3, 15, 60));
}

/* --- who is due ------------------------------------------------------------------------------- */

TEST(plain, the_first_due_comes_first)
{
    struct deadline_queue queue = {0};
    static struct deadline all[500];
    uint64_t last = 0;

    memset(all, 0, sizeof(all));
    ck_assert_ptr_null(deadline_next(&queue));
    for (size_t i = 0; i < 500; i++)
        ck_assert_int_eq(deadline_put(&queue, &all[i], i * 7919 % 503), 0);
    for (size_t i = 0; i < 500; i += 5)
        ck_assert_int_eq(deadline_put(&queue, &all[i], i * 104729 % 499), 0); /* moved */
    for (size_t i = 1; i < 500; i += 5)
        deadline_remove(&queue, &all[i]);
    deadline_remove(&queue, &all[1]); /* again: nothing */
    ck_assert_uint_eq(queue.n, 400);
    while (queue.n > 0) {
        struct deadline *next = deadline_next(&queue);

        ck_assert_uint_ge(next->at_ns, last);
        ck_assert((next - all) % 5 != 1);
        last = next->at_ns;
        deadline_remove(&queue, next);
        ck_assert_uint_eq(next->place, 0);
    }
    deadline_queue_free(&queue);
}

/* --- who has something to say ----------------------------------------------------------------- */

static struct guest_event only_one(int fd)
{
    struct guest_event event[4];

    ck_assert_uint_eq(guest_epoll_take(fd, event, 4), 1);
    return event[0];
}

TEST(plain, a_guest_is_heard_once_for_each_time_it_is_asked)
{
    struct guest_event event;
    int fd = guest_epoll_open();
    int process[2];
    int method[2];

    ck_assert_int_eq(pipe(process) + pipe(method), 0);
    ck_assert_int_eq(guest_epoll_watch(fd, process[0], 7, GUEST_EVENT_ENDED), 0);
    ck_assert_int_eq(guest_epoll_watch(fd, method[0], 7, GUEST_EVENT_FETCH), 0);
    ck_assert_uint_eq(guest_epoll_take(fd, &event, 1), 0);
    ck_assert_int_eq(write(method[1], "x", 1), 1);
    event = only_one(fd);
    ck_assert(event.serial == 7 && event.what == GUEST_EVENT_FETCH);
    ck_assert_uint_eq(guest_epoll_take(fd, &event, 1), 0); /* until it was fetched: */
    ck_assert_int_eq(guest_epoll_watch(fd, method[0], 7, GUEST_EVENT_FETCH), 0);
    only_one(fd); /* for it was not */
    close(process[1]);
    event = only_one(fd);
    ck_assert(event.serial == 7 && event.what == GUEST_EVENT_ENDED);
    close(fd);
    close(process[0]);
    close(method[0]);
    close(method[1]);
}

/* A panel that begins anew closes its descriptor, and the next may get the same number. */
TEST(plain, another_panel_is_another_descriptor)
{
    struct guest_event event;
    int fd = guest_epoll_open();
    int first[2];
    int second[2];

    ck_assert_int_eq(pipe(first), 0);
    ck_assert_int_eq(guest_epoll_watch(fd, first[0], 3, GUEST_EVENT_FETCH), 0);
    ck_assert_int_eq(write(first[1], "x", 1), 1);
    close(first[0]);
    close(first[1]);
    ck_assert_uint_eq(guest_epoll_take(fd, &event, 1), 0);
    ck_assert_int_eq(pipe(second), 0);
    ck_assert_int_eq(second[0], first[0]);
    ck_assert_int_eq(guest_epoll_watch(fd, second[0], 4, GUEST_EVENT_FETCH), 0);
    ck_assert_int_eq(write(second[1], "x", 1), 1);
    ck_assert_uint_eq(only_one(fd).serial, 4);
    close(fd);
    close(second[0]);
    close(second[1]);
}

/* --- what a guest's RAM is made of ------------------------------------------------------------ */

static struct ram_config two_backends(const char *dimm, uint64_t dimm_bytes)
{
    const struct ram_backend base = {
        .id = "pc.ram", .size_bytes = 1ULL << 30, .source = RAM_SOURCE_MEMFD};
    struct ram_backend plugged = {
        .size_bytes = dimm_bytes, .source = RAM_SOURCE_MEMFD, .dimm = true};
    struct ram_config ram = {0};

    strcpy(plugged.id, dimm);
    ck_assert_int_eq(ram_config_add(&ram, &base), 0);
    ck_assert_int_eq(ram_config_add(&ram, &plugged), 0);
    return ram;
}

TEST(plain, a_swapped_dimm_is_noticed)
{
    const struct fsroot root = {.dirfd = -1};
    struct guest guest = {.process = {.pidfd = -1}, .ram = two_backends("memdimm0", 1 << 28)};
    struct guest_scan *scan = guest_scan_new(&guest, &root);
    cleanup_ram_config struct ram_config same = two_backends("memdimm0", 1 << 28);
    cleanup_ram_config struct ram_config swapped = two_backends("memdimm1",
                                                                1 << 28); /* of the same size */
    cleanup_ram_config struct ram_config larger = two_backends("memdimm0", 1 << 29);

    ck_assert_uint_eq(same.total_bytes, swapped.total_bytes);
    ck_assert(guest_scan_has_ram(scan, &same));
    ck_assert(!guest_scan_has_ram(scan, &swapped));
    ck_assert(!guest_scan_has_ram(scan, &larger));
    guest_scan_free(scan);
}

/* --- what is logged --------------------------------------------------------------------------- */

TEST(plain, a_flood_is_cut)
{
    struct log_rate rate = {0};
    unsigned admitted = 0;

    for (int i = 0; i < 1000; i++)
        admitted += log_rate_admit(&rate, SECOND);
    ck_assert_uint_eq(admitted, LOG_BURST);
    ck_assert_uint_eq(rate.left_out, 1000 - LOG_BURST);
    ck_assert(!log_rate_admit(&rate, SECOND + SECOND / 2));
    ck_assert(log_rate_admit(&rate, 3 * SECOND));
    for (int i = 4; i < 1000; i++)
        ck_assert(log_rate_admit(&rate, (uint64_t)i * SECOND)); /* one a second is let through */
}

/* Copies to @p text what logging @p message writes to standard error. */
static void log_to(char *text, size_t size, const char *message)
{
    cleanup_file FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);

    ck_assert_ptr_nonnull(file);
    dup2(fileno(file), STDERR_FILENO);
    log_line(LOG_CLASS_GUEST, LOG_WARNING, "process 7: %s", message);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
}

TEST(plain, a_name_is_no_other_message)
{
    char text[256];

    log_to(text, sizeof(text), "/tmp/\x1b[2J\n<0>forged");
    ck_assert_str_eq(text, "<4>process 7: /tmp/?[2J?<0>forged\n");
}
