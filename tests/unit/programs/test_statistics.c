// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_statistics.c  Which balloon drivers are asked for statistics, and who stops that. */
#include "guest/domain/domain_mark.h"
#include "kept.h"
#include "programs/balloond/adoption.h"
#include "programs/balloond/statistics.h"

#include <errno.h>
#include <sqlite3.h>

static struct kept_dir dir;
static struct balloond_config config;
static struct journal *journal;
static struct error error;
static struct balloon_guest member;
static struct control_guest guest;
static struct balloond controller;

/* The domain's period, what libvirt answers, and how often it was changed. */
static uint64_t live_s;
static int read_rc, ask_rc;
static unsigned n_changed;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __wrap_domain_balloon_period(struct domain_connection *connection, const char *name,
                                 uint64_t *period_s, struct error *err);
int __wrap_domain_balloon_period(struct domain_connection *connection, const char *name,
                                 uint64_t *period_s, struct error *err)
{
    (void)connection, (void)name;
    *period_s = live_s;
    return read_rc < 0 ? error_set(err, read_rc, "made up") : 0;
}

int __wrap_domain_balloon_ask(struct domain_connection *connection, const char *name,
                              uint64_t from_s, uint64_t to_s, struct error *err);
int __wrap_domain_balloon_ask(struct domain_connection *connection, const char *name,
                              uint64_t from_s, uint64_t to_s, struct error *err)
{
    (void)connection, (void)name;
    /* Before it is changed the journal has the period. */
    if (to_s > 0)
        ck_assert_sql(dir.path, "SELECT max(asked_s) > 0 FROM balloon", "1");
    if (ask_rc < 0)
        return error_set(err, ask_rc, "made up");
    n_changed += live_s == from_s;
    live_s = live_s == from_s ? to_s : live_s;
    return 0;
}

int __wrap_domain_mark_get(struct domain_connection *connection, const char *uuid,
                           struct domain_mark *mark, struct error *err);
int __wrap_domain_mark_get(struct domain_connection *connection, const char *uuid,
                           struct domain_mark *mark, struct error *err)
{
    (void)connection, (void)uuid, (void)mark, (void)err;
    return 0;
}

int __wrap_domain_mark_set(struct domain_connection *connection, const char *uuid,
                           const struct domain_mark *mark, struct error *err);
int __wrap_domain_mark_set(struct domain_connection *connection, const char *uuid,
                           const struct domain_mark *mark, struct error *err)
{
    (void)connection, (void)uuid, (void)mark, (void)err;
    return 0;
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* A daemon that has just started; its guest has that ID. */
static void start(int domain_id)
{
    member = (struct balloon_guest){
        .uuid = UUID_1, .name = "web1", .domain_id = domain_id, .fresh = true};
    member.memory.id = domain_id;
    member.memory.maximum_bytes = member.memory.current_bytes = 4096 * MIB;
    guest = (struct control_guest){
        .input = {.assigned_bytes = 4096 * MIB, .actual_bytes = 4096 * MIB, .up_s = 86400},
        .acts = true};
    controller = (struct balloond){.config = &config,
                                   .journal = journal,
                                   .members = {.members = &member, .guests = &guest, .n = 1}};
    error = (struct error){0};
    ck_assert_int_eq(adoption_run(&controller, &error), 0);
}

static void setup(void)
{
    dir = kept_dir_make();
    balloond_config_init(&config);
    config.policy.decide.needs_statistics = true;
    ck_assert_int_eq(journal_open(dir.path, &journal, &error), 0);
    live_s = 0;
    read_rc = ask_rc = 0;
    n_changed = 0;
    start(7);
}

static void teardown(void)
{
    journal_close(journal);
}

FIXTURE(all, .setup = setup, .teardown = teardown);

#define ROWS "SELECT count(*) || ' ' || total(asked_s) FROM balloon"

TEST(all, an_unasked_driver_is_asked_until_the_end)
{
    statistics_step(&controller);
    ck_assert_uint_eq(live_s, 10);
    ck_assert_sql(dir.path, ROWS, "1 10.0");
    statistics_step(&controller);
    ck_assert_uint_eq(n_changed, 1);
    ck_assert_int_eq(adoption_count(&controller, &error), 1);
    ck_assert_uint_eq(statistics_end(&controller), 0);
    ck_assert_uint_eq(live_s, 0);
    ck_assert_sql(dir.path, ROWS, "0 0.0");
}

/* kill -9 before the domain was changed, or after. */
TEST_EACH(all, the_next_start_takes_the_period_over, 0, 2)
{
    statistics_step(&controller);
    live_s = _i == 0 ? 0 : 10;
    start(7);
    ck_assert_uint_eq(member.report.asking.period_s, 10);
    statistics_step(&controller);
    ck_assert_uint_eq(live_s, 10);
    ck_assert_uint_eq(statistics_end(&controller), 0);
    ck_assert_uint_eq(live_s, 0);
    ck_assert_sql(dir.path, ROWS, "0 0.0");
}

/* A signal ends the next daemon before it decides. */
TEST(all, a_start_that_ends_at_once_restores_it)
{
    statistics_step(&controller);
    start(7);
    ck_assert_uint_eq(statistics_end(&controller), 0);
    ck_assert_uint_eq(live_s, 0);
}

TEST_EACH(all, what_another_program_sets_stays, 0, 3)
{
    const uint64_t others_s[] = {5, 0, 300};

    statistics_step(&controller);
    live_s = others_s[_i];
    statistics_step(&controller);
    if (_i == 2) { /* and kill -9 meanwhile */
        start(7);
        statistics_step(&controller);
        ck_assert_uint_eq(member.report.asking.others_s, 300);
        ck_assert_sql(dir.path, ROWS, "0 0.0");
    }
    ck_assert_uint_eq(statistics_end(&controller), 0);
    ck_assert_uint_eq(live_s, others_s[_i]);
    ck_assert_uint_eq(n_changed, 1);
    ck_assert_sql(dir.path, ROWS, "0 0.0");
}

TEST(all, a_driver_that_another_program_asks_is_left_alone)
{
    live_s = 10; /* its configuration has the same period */
    statistics_step(&controller);
    ck_assert_uint_eq(statistics_end(&controller), 0);
    ck_assert_uint_eq(live_s, 10);
    ck_assert_uint_eq(n_changed, 0);
    ck_assert_sql(dir.path, ROWS, "0 0.0");
}

/* Its next run is another one, with the period of its configuration. */
TEST(all, the_period_ends_with_the_run_but_not_with_a_save)
{
    statistics_step(&controller);
    start(8);
    ck_assert_uint_eq(member.report.asking.period_s, 0);
    ck_assert_sql(dir.path, ROWS, "0 0.0");

    start(7);
    live_s = 0;
    statistics_step(&controller);
    start(9);
    ck_assert_sql(dir.path, ROWS, "0 0.0");
    start(7);
    live_s = 0;
    statistics_step(&controller);
    member.fresh = true;
    member.domain_id = member.memory.id = 9;
    member.memory.saved = true;
    member.report.asking.period_s = 0;
    ck_assert_int_eq(adoption_run(&controller, &error), 0);
    ck_assert_uint_eq(member.report.asking.period_s, 10);
    ck_assert_sql(dir.path, ROWS, "1 10.0");
}

TEST(all, who_may_not_be_asked_is_not)
{
    guest.acts = false;
    statistics_step(&controller);
    guest.acts = true;
    guest.excluded = true;
    statistics_step(&controller);
    guest.excluded = false;
    config.others.statistics_s = 0;
    statistics_step(&controller);
    config.others.statistics_s = 10;
    member.memory.busy = true;
    statistics_step(&controller);
    member.memory.busy = false;
    member.memory.arriving = true;
    statistics_step(&controller);
    ck_assert_uint_eq(n_changed, 0);
    ck_assert_sql(dir.path, ROWS, "0 0.0");
}

/* After a restart with another configuration. */
TEST_EACH(all, a_period_that_is_no_longer_wanted_is_restored, 0, 3)
{
    statistics_step(&controller);
    start(7);
    if (_i == 0)
        config.others.statistics_s = 0;
    else if (_i == 1)
        guest.excluded = true;
    else
        config.others.statistics_s = 5;
    statistics_step(&controller);
    ck_assert_uint_eq(live_s, _i == 2 ? 5 : 0);
    ck_assert_sql(dir.path, ROWS, _i == 2 ? "1 5.0" : "0 0.0");
}

TEST(all, with_hold_it_stays_for_the_next_start)
{
    config.restore = RESTORE_HOLD;
    statistics_step(&controller);
    ck_assert_uint_eq(statistics_end(&controller), 0);
    ck_assert_uint_eq(live_s, 10);
    ck_assert_sql(dir.path, ROWS, "1 10.0");
}

TEST_EACH(all, libvirt_refuses_once, 0, 2)
{
    char text[STATISTICS_TEXT];

    *(_i == 0 ? &ask_rc : &read_rc) = -EOPNOTSUPP;
    statistics_step(&controller);
    ck_assert(member.report.asking.refused);
    ck_assert(member.report.asking.logged);
    ck_assert_sql(dir.path, ROWS, "0 0.0");
    statistics_explain(text, &controller, 0);
    ck_assert_msg(strstr(text, "<memballoon model='virtio'/>"), "%s", text);
    ask_rc = read_rc = 0;
    statistics_step(&controller);
    ck_assert_uint_eq(n_changed, 0);
}

/* libvirtd that ends may have passed it on: the journal knows it, and it is tried again. */
TEST_EACH(all, a_failure_is_tried_again, 0, 2)
{
    const int codes[] = {-EIO, -ENOTCONN};

    ask_rc = codes[_i];
    statistics_step(&controller);
    ck_assert_sql(dir.path, ROWS, "1 10.0");
    live_s = _i == 0 ? 0 : 10;
    ask_rc = 0;
    statistics_step(&controller);
    ck_assert(member.report.asking.done);
    ck_assert_uint_eq(live_s, 10);
    ask_rc = codes[_i];
    ck_assert_uint_eq(statistics_end(&controller), 1);
    ck_assert_sql(dir.path, ROWS, "1 10.0");
}

/* The balloon's own row keeps the period, and its end does not lose it. */
TEST(all, a_balloon_and_its_period_share_a_row)
{
    statistics_step(&controller);
    guest.state.before_bytes = 4096 * MIB;
    guest.state.set_bytes = 3000 * MIB;
    member.owned = true;
    adoption_renew(&controller, 0);
    ck_assert_sql(dir.path, "SELECT asked_s || ' ' || (before_bytes >> 20) FROM balloon",
                  "10 4096");
    guest.state.before_bytes = 0;
    adoption_renew(&controller, 0);
    ck_assert_sql(dir.path, "SELECT asked_s || ' ' || before_bytes FROM balloon", "10 0");
    ck_assert_int_eq(journal_trim(journal, 2e9, &error), 0);
    ck_assert_sql(dir.path, ROWS, "1 10.0");
    guest.state.before_bytes = 4096 * MIB;
    ck_assert_uint_eq(statistics_end(&controller), 0);
    ck_assert_sql(dir.path, "SELECT asked_s || ' ' || (before_bytes >> 20) FROM balloon", "0 4096");
}

/* A driver that has been asked for a minute is missing; one that waits is not yet. */
TEST(all, a_driver_that_does_not_answer_is_reported_with_the_cure)
{
    char text[STATISTICS_TEXT];

    statistics_step(&controller);
    statistics_explain(text, &controller, 0);
    ck_assert_str_eq(text, "");
    member.report.asking.at_s -= STATISTICS_SILENT_S + 1;
    statistics_step(&controller);
    ck_assert(member.report.asking.logged);
    statistics_explain(text, &controller, 0);
    ck_assert_msg(strstr(text, "every 10 s, and has not answered"), "%s", text);
    guest.input.guest.reported = true;
    statistics_explain(text, &controller, 0);
    ck_assert_str_eq(text, "");
}

/* In a dry run: the demand is 1,000 of 4,096 MiB. */
TEST(all, what_asking_would_win_is_said)
{
    char text[STATISTICS_TEXT];

    guest.acts = false;
    guest.decision.measured = true;
    guest.decision.demand_bytes = 1000 * MIB;
    ck_assert_uint_eq(statistics_win(&controller, 0), 3096 * MIB);
    statistics_step(&controller);
    ck_assert_uint_eq(controller.n_unreported, 1);
    statistics_explain(text, &controller, 0);
    ck_assert_str_eq(text, "its balloon driver is not asked in a dry run");
    guest.decision.memory.past_bytes = 3000 * MIB;
    ck_assert_uint_eq(statistics_win(&controller, 0), 1096 * MIB);
    config.others.statistics_s = 0;
    statistics_explain(text, &controller, 0);
    ck_assert_str_eq(text, "its balloon driver is not asked (statistics = keep)");
    guest.decision.vetoes = VETO_YOUNG;
    ck_assert_uint_eq(statistics_win(&controller, 0), DECIDE_UNKNOWN);
    guest.decision.vetoes = 0;
    guest.input.guest.reported = true;
    ck_assert_uint_eq(statistics_win(&controller, 0), DECIDE_UNKNOWN);
}

TEST(all, the_period_is_found_in_the_domains_xml)
{
    static const struct {
        const char *xml;
        int rc;
        uint64_t period_s;
    } cases[] = {
        {"<domain><devices><memballoon model='virtio'/></devices></domain>", 0, 0},
        {"<domain><devices><memballoon model='virtio'><stats period='10'/></memballoon></devices></domain>",
         0, 10},
        {"<domain><devices/></domain>", -EOPNOTSUPP, 0},
        {"<domain><devices><memballoon model='none'/></devices></domain>", -EOPNOTSUPP, 0},
        {"<domain><devices><memballoon><stats period='-1'/></memballoon></devices></domain>",
         -EINVAL, 0},
        {"<domain><devices><memballoon><stats period='99999999999'/></memballoon></devices></domain>",
         -EINVAL, 0},
        {"<domain", -EINVAL, 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t period_s = 1;

        error = (struct error){0};
        ck_assert_int_eq(
            domain_balloon_parse_period(cases[i].xml, strlen(cases[i].xml), &period_s, &error),
            cases[i].rc);
        ck_assert_uint_eq(period_s, cases[i].period_s);
    }
}

/* Only each more of them is logged. */
TEST(all, guests_whose_drivers_nobody_asks_are_counted)
{
    struct balloon_guest all[3] = {{.name = "web1"}, {.name = "db1"}, {.name = "mail1"}};
    struct control_guest guests[3] = {
        {.excluded = true}, {.decision.vetoes = VETO_YOUNG}, {.input.guest.ahead_s = 28800}};
    struct balloond several = {.config = &config,
                               .journal = journal,
                               .members = {.members = all, .guests = guests, .n = 3}};

    statistics_step(&several);
    ck_assert_uint_eq(several.n_unreported, 0);
    guests[1].decision.vetoes = VETO_STATISTICS;
    statistics_step(&several);
    ck_assert_uint_eq(several.n_unreported, 1);
    guests[2].input.guest.ahead_s = 0;
    statistics_step(&several);
    guests[1].input.guest.reported = true;
    statistics_step(&several);
    ck_assert_uint_eq(several.n_unreported, 2);
    config.policy.decide.needs_statistics = false;
    several.n_unreported = 0;
    statistics_step(&several);
    ck_assert_uint_eq(several.n_unreported, 0);
}
