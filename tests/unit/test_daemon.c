// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_daemon.c  What vmwssd decides: configuration, budget, who is due, what is logged. No guest, no clock. */
#include "daemon/budget.h"
#include "daemon/config.h"
#include "daemon/due.h"
#include "daemon/log.h"
#include "daemon/options.h"
#include "fixture.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND 1000000000ULL

/* --- configuration ----------------------------------------------------------------------------- */

static char path[64];
static struct config config;
static struct error error;

static void setup(void)
{
    error = (struct error){0};
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
    char message[512];

    error = (struct error){0};
    snprintf(message, sizeof(message), "%s%s", path, expected);
    ck_assert_int_eq(load(text), -EINVAL);
    ck_assert_msg(strstr(error.text, message), "'%s' does not have '%s'", error.text, message);
}

START_TEST(file_is_read)
{
    ck_assert_int_eq(load("# a comment\n[vmwssd]\nconnect = qemu:///session\n"
                          "connect = qemu:///embed?root=/x ; ours\nperiod=5\nwindow = 20,10\n"
                          "samples = 500\nbudget = 2.5%\nguest-budget = 1\nmethod = pageout\n"
                          "database = none\nlog-level = debug\npublish = yes\nkeep-records = 12h\n"
                          "keep-minutes=2w\nkeep-hours = 8640000\n"),
                     0);
    ck_assert_uint_eq(config.n_connections, 2);
    ck_assert_str_eq(config.connect[0], "qemu:///session");
    ck_assert_str_eq(config.connect[1], "qemu:///embed?root=/x");
    ck_assert_str_eq(config.database, "");
    ck_assert(config.period_s == 5 && config.n_windows == 2 && config.window_s[0] == 10);
    ck_assert_uint_eq(config.samples, 500);
    ck_assert_double_eq_tol(config.budget, 0.025, 1e-12);
    ck_assert_double_eq_tol(config.guest_budget, 0.01, 1e-12);
    ck_assert_ptr_eq(config.method, &method_pageout);
    ck_assert_int_eq(config.log_level, LOG_DEBUG);
    ck_assert(config.publish);
    ck_assert(config.retention.raw_s == 43200 && config.retention.minute_s == 14 * 86400 &&
              config.retention.hour_s == 100 * 86400);
}
END_TEST

START_TEST(mistakes_are_named_with_file_and_line)
{
    char longer[400] = "[vmwssd]\nperiod = 5\ndatabase = /";

    refused("[vmwssd]\nperiod = 5\npreiod = 6\n", ":3: unknown key 'preiod'");
    refused("[vmwssd]\n\n\nperiod = soon\n", ":4: period soon: expected a number of seconds");
    refused("period = 5\n", ":1: 'period' in section []");
    refused("[daemon]\nperiod = 5\n", ":2: 'period' in section [daemon]");
    refused("[vmwssd]\nperiod = 5\nwhat is this\n", ":3: neither");
    refused("[vmwssd]\nmethod = damon\n", ":2: method damon: expected auto");
    refused("[vmwssd]\nbudget = 101%\n", ":2: budget 101%: expected a percentage");
    refused("[vmwssd]\npublish = maybe\n", ":2: publish maybe: expected yes or no");
    refused("[vmwssd]\nbudget = 0\n", ":2: budget 0: expected");
    refused("[vmwssd]\nkeep-hours = 2y\n", ":2: keep-hours 2y: expected a time");
    memset(longer + strlen(longer), 'x', 300);
    refused(longer, ":3: the line is too long");
    ck_assert_int_eq(config_load(&config, "/nonexistent/file", &error), -ENOENT);
}
END_TEST

START_TEST(what_is_dumped_can_be_read)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct config before;

    ck_assert_int_eq(load("[vmwssd]\nconnect = a:///b\nconnect = c:///d\nwindow = 1.5,1000000\n"
                          "period = 0.25\nbudget = 0.3%\nsamples = 123\nmethod = zap\n"
                          "keep-records = 100.5m\nkeep-minutes = 5d\n"),
                     0);
    config_dump(&config, out);
    fclose(out);
    before = config;
    config_init(&config);
    ck_assert_int_eq(load(text), 0);
    free(text);
    ck_assert_int_eq(memcmp(&before, &config, sizeof(config)), 0);
}
END_TEST

START_TEST(values_must_go_together)
{
    ck_assert_int_eq(config_check(&config, &error), 0);
    ck_assert(!config.publish);
    config.period_s = 61;
    ck_assert_int_eq(config_check(&config, &error), -EINVAL);
    config.period_s = 0.01;
    ck_assert_int_eq(config_check(&config, &error), -EINVAL);
    config.period_s = 30;
    config.retention.raw_s = 5999;
    ck_assert_int_eq(config_check(&config, &error), -EINVAL);
}
END_TEST

START_TEST(command_line_prevails)
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
END_TEST

/* --- budget ------------------------------------------------------------------------------------ */

static const struct budget_limits limits = {
    .share = 0.01, .guest_share = 0.0015, .period_s = 30, .max_period_s = 3600, .samples = 2000};

/* A guest whose looks cost 100 us and 2 us a page, learnt from a small panel and a large one. */
static struct budget_cost learnt(double fixed_s, double page_s)
{
    struct budget_cost cost = {0};

    budget_learn(&cost, 100, fixed_s + 100 * page_s);
    for (int i = 0; i < 5; i++)
        budget_learn(&cost, 1000, fixed_s + 1000 * page_s);
    return cost;
}

START_TEST(costs_are_learnt)
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
END_TEST

START_TEST(one_guest_has_all_it_wants)
{
    struct budget_cost cost = learnt(100e-6, 2e-6);
    struct budget_plan plan = budget_fit(&limits, &cost, 1);

    ck_assert(plan.period_s == 30);
    ck_assert(budget_samples(&plan, &limits, &cost) == 2000);
}
END_TEST

START_TEST(unknown_guests_begin_small)
{
    struct budget_cost cost = {0};
    struct budget_plan plan = budget_fit(&limits, &cost, 1);

    ck_assert(budget_samples(&plan, &limits, &cost) == BUDGET_MIN_SAMPLES);
    ck_assert(budget_fit(&limits, NULL, 0).period_s == 30);
}
END_TEST

START_TEST(a_guest_keeps_to_its_own_share)
{
    struct budget_cost cost = learnt(0, 100e-6); /* 2000 pages would be 200 ms of the 45 */
    struct budget_plan plan = budget_fit(&limits, &cost, 1);
    double pages = budget_samples(&plan, &limits, &cost);

    ck_assert_double_eq_tol(pages, 450, 2);
}
END_TEST

static double share_used(const struct budget_plan *plan, const struct budget_cost *costs, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += budget_cost_s(&costs[i], budget_samples(plan, &limits, &costs[i]));
    return sum / plan->period_s;
}

START_TEST(many_guests_share)
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
END_TEST

START_TEST(the_period_stretches_when_nothing_else_helps)
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
END_TEST

START_TEST(the_ledger_has_all_wait)
{
    struct ledger ledger = ledger_open(0.01, 0, 5);

    ck_assert(ledger_wait_s(&ledger, 0, 5) == 0);
    ck_assert(ledger_wait_s(&ledger, SECOND, 7.9) == 0); /* 3 s of credit at first */
    ck_assert_double_eq_tol(ledger_wait_s(&ledger, SECOND, 8.1), 9, 0.1);
    ck_assert(ledger_wait_s(&ledger, 11 * SECOND, 8.1) == 0);
    /* A day of rest earns no more than a full ledger. */
    ck_assert(ledger_wait_s(&ledger, 86400 * SECOND, 8.1) == 0);
    ck_assert(ledger_wait_s(&ledger, 86400 * SECOND, 11.2) > 0);
}
END_TEST

/* --- who is due -------------------------------------------------------------------------------- */

START_TEST(the_first_due_comes_first)
{
    struct due_queue queue = {0};
    static struct due all[500];
    uint64_t last = 0;

    memset(all, 0, sizeof(all));
    ck_assert_ptr_null(due_next(&queue));
    for (size_t i = 0; i < 500; i++)
        ck_assert_int_eq(due_put(&queue, &all[i], i * 7919 % 503), 0);
    for (size_t i = 0; i < 500; i += 5)
        ck_assert_int_eq(due_put(&queue, &all[i], i * 104729 % 499), 0); /* moved */
    for (size_t i = 1; i < 500; i += 5)
        due_remove(&queue, &all[i]);
    due_remove(&queue, &all[1]); /* again: nothing */
    ck_assert_uint_eq(queue.n, 400);
    while (queue.n > 0) {
        struct due *next = due_next(&queue);

        ck_assert_uint_ge(next->at_ns, last);
        ck_assert((next - all) % 5 != 1);
        last = next->at_ns;
        due_remove(&queue, next);
        ck_assert_uint_eq(next->place, 0);
    }
    due_queue_free(&queue);
}
END_TEST

/* --- what is logged ---------------------------------------------------------------------------- */

START_TEST(a_flood_is_cut)
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
END_TEST

int main(void)
{
    Suite *suite = suite_create("daemon");
    TCase *files = tcase_create("config");
    TCase *rest = tcase_create("rest");

    tcase_add_checked_fixture(files, setup, teardown);
    tcase_add_test(files, file_is_read);
    tcase_add_test(files, mistakes_are_named_with_file_and_line);
    tcase_add_test(files, what_is_dumped_can_be_read);
    tcase_add_test(files, values_must_go_together);
    tcase_add_test(files, command_line_prevails);
    suite_add_tcase(suite, files);
    tcase_add_test(rest, costs_are_learnt);
    tcase_add_test(rest, one_guest_has_all_it_wants);
    tcase_add_test(rest, unknown_guests_begin_small);
    tcase_add_test(rest, a_guest_keeps_to_its_own_share);
    tcase_add_test(rest, many_guests_share);
    tcase_add_test(rest, the_period_stretches_when_nothing_else_helps);
    tcase_add_test(rest, the_ledger_has_all_wait);
    tcase_add_test(rest, the_first_due_comes_first);
    tcase_add_test(rest, a_flood_is_cut);
    suite_add_tcase(suite, rest);
    return run_suite(suite);
}
