// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_balloond.c  The configuration of vmwss-balloond, and its journal: also one that is
 * full. */
#include "balloond/config.h"
#include "balloond/journal.h"
#include "kept.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

static struct kept_dir dir;
static struct balloond_config config;
static struct journal *journal;
static struct error error;

static void setup(void)
{
    dir = kept_dir_make();
    error = (struct error){0};
    balloond_config_init(&config);
    ck_assert_int_eq(journal_open(dir.path, &journal, &error), 0);
}

static void teardown(void)
{
    journal_close(journal);
    kept_dir_remove(&dir);
}

/* --- configuration ---------------------------------------------------------------------------- */

static int load(const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/conf", dir.dir);
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    error = (struct error){0};
    balloond_config_init(&config);
    return balloond_config_load(&config, path, &error);
}

START_TEST(by_default_it_is_a_lazy_dry_run)
{
    ck_assert_int_eq(load(""), 0);
    ck_assert(!config.act);
    ck_assert(!config.policy.proactive);
    ck_assert(config.policy.decide.needs_statistics);
    ck_assert_int_eq(config.restore, RESTORE_BEFORE);
    ck_assert_double_eq(config.policy.decide.down_after_s, 600);
}
END_TEST

START_TEST(every_key_is_taken)
{
    ck_assert_int_eq(load("[vmwss-balloond]\nact = yes\nmode = proactive\nrestore = hold\n"
                          "connect = test:///default\ndatabase = /a\njournal = /b\nwindow = 1,2\n"
                          "interval = 2\nshrink-after = 3\nmin-uptime = 4\n"
                          "prove-after = 5\nshrink-without-statistics = yes\n"
                          "[guest db1]\nreservation = 2G\nshares = 500\n"
                          "[guest " UUID_1 "]\nexclude = yes\n"),
                     0);
    ck_assert(config.act && config.policy.proactive);
    ck_assert_int_eq(config.restore, RESTORE_HOLD);
    ck_assert_str_eq(config.connect, "test:///default");
    ck_assert_str_eq(config.database, "/a");
    ck_assert_str_eq(config.journal, "/b");
    ck_assert_double_eq(config.windows.mid_s, 2);
    ck_assert_double_eq(config.windows.long_s, 2);
    ck_assert_double_eq(config.interval_s, 2);
    ck_assert_double_eq(config.policy.decide.down_after_s, 3);
    ck_assert_double_eq(config.policy.decide.young_s, 4);
    ck_assert_double_eq(config.policy.balloon.return_s, 5);
    ck_assert(!config.policy.decide.needs_statistics);

    const struct balloond_guest_config *db = balloond_config_guest(&config, "db1", UUID_2);

    ck_assert_ptr_nonnull(db);
    ck_assert_uint_eq(db->reserved_bytes, 2048 * MIB);
    ck_assert_double_eq(db->shares, 500);
    ck_assert(balloond_config_guest(&config, "any", UUID_1)->excluded);
    ck_assert_ptr_null(balloond_config_guest(&config, "any", UUID_2));
}
END_TEST

static void is_refused(const char *text, const char *why)
{
    ck_assert_int_eq(load(text), -EINVAL);
    ck_assert_msg(strstr(error.text, why), "%s", error.text);
}

START_TEST(what_is_wrong_is_named)
{
    is_refused("[vmwss-balloond]\nact = perhaps\n", ":2: act = perhaps: expected yes or no");
    is_refused("[vmwss-balloond]\n\nmode = greedy\n", ":3: mode = greedy: expected lazy or");
    is_refused("[vmwss-balloond]\nnosuch = 1\n", ":2: nosuch: there is no such key");
    is_refused("[vmwssd]\nact = yes\n", ":2: section [vmwssd]: there are [vmwss-balloond] and");
    is_refused("[guest a]\nshares = none\n", ":2: shares = none: expected a number");
    is_refused("[guest a]\nceiling = 1G\n", ":2: ceiling: a guest has reservation, shares");
    is_refused("[vmwss-balloond]\nact yes\n", ":2: neither [section] nor key = value");
}
END_TEST

/* --- the journal ------------------------------------------------------------------------------ */

static struct journal_entry entry_of(const char *name, const char *uuid, double time_s)
{
    struct journal_entry entry = {.time_s = time_s,
                                  .mode = "lazy",
                                  .acted = true,
                                  .level = "high",
                                  .action = "shrink",
                                  .hold = "none",
                                  .target_bytes = 900 * MIB,
                                  .actual_bytes = 1000 * MIB,
                                  .wss_high_bytes = DECIDE_UNKNOWN,
                                  .why = "because"};

    snprintf(entry.name, sizeof(entry.name), "%s", name);
    snprintf(entry.uuid, sizeof(entry.uuid), "%s", uuid);
    return entry;
}

static void add(const char *name, const char *uuid, double time_s)
{
    struct journal_entry entry = entry_of(name, uuid, time_s);

    ck_assert_int_eq(journal_add(journal, &entry, &error), 0);
    ck_assert_int_gt(entry.id, 0);
}

static struct journal_entry seen[16];
static unsigned n_seen;

static int see(const struct journal_entry *entry, void *context)
{
    (void)context;
    seen[n_seen++ % 16] = *entry;
    return 0;
}

START_TEST(decisions_are_read_as_they_were_added)
{
    add("web1", UUID_1, 1000);
    add("db1", UUID_2, 1001);
    add("web1", UUID_1, 1002);
    ck_assert_int_eq(journal_after(journal, 3, 1, 950 * MIB, 940 * MIB, &error), 0);
    n_seen = 0;
    ck_assert_int_eq(journal_entries(journal, "web1", 10, see, NULL, &error), 0);
    ck_assert_uint_eq(n_seen, 2);
    ck_assert_double_eq(seen[0].time_s, 1000);
    ck_assert_str_eq(seen[1].why, "because");
    ck_assert_uint_eq(seen[1].target_bytes, 900 * MIB);
    ck_assert_uint_eq(seen[1].wss_high_bytes, DECIDE_UNKNOWN);
    ck_assert_uint_eq(seen[1].after_actual_bytes[0], DECIDE_UNKNOWN);
    ck_assert_uint_eq(seen[1].after_actual_bytes[1], 950 * MIB);
    ck_assert_uint_eq(seen[1].after_resident_bytes[1], 940 * MIB);
    n_seen = 0;
    ck_assert_int_eq(journal_latest(journal, see, NULL, &error), 0);
    ck_assert_uint_eq(n_seen, 2);
    ck_assert_str_eq(seen[0].name, "db1");
    ck_assert_double_eq(seen[1].time_s, 1002);
    ck_assert_int_eq(journal_trim(journal, 1001.5 + JOURNAL_KEEP_S, &error), 0);
    n_seen = 0;
    ck_assert_int_eq(journal_entries(journal, NULL, 10, see, NULL, &error), 0);
    ck_assert_uint_eq(n_seen, 1);
}
END_TEST

static const struct journal_balloon balloon = {.uuid = UUID_1,
                                               .name = "web1",
                                               .domain_id = 7,
                                               .before_bytes = 4096 * MIB,
                                               .set_bytes = 900 * MIB,
                                               .panic_bytes = 800 * MIB,
                                               .panic_s = 999,
                                               .trouble = TROUBLE_NO_RETURN};

static int see_balloon(const struct journal_balloon *found, void *context)
{
    *(unsigned *)context += 1;
    ck_assert_str_eq(found->uuid, balloon.uuid);
    ck_assert_str_eq(found->name, balloon.name);
    ck_assert_int_eq(found->domain_id, 7);
    ck_assert_uint_eq(found->before_bytes, balloon.before_bytes);
    ck_assert_uint_eq(found->set_bytes, balloon.set_bytes);
    ck_assert_uint_eq(found->panic_bytes, balloon.panic_bytes);
    ck_assert_double_eq(found->panic_s, balloon.panic_s);
    ck_assert_int_eq(found->trouble, TROUBLE_NO_RETURN);
    return 0;
}

static unsigned count_balloons(void)
{
    unsigned n = 0;

    ck_assert_int_eq(journal_balloons(journal, see_balloon, &n, &error), 0);
    return n;
}

START_TEST(a_balloon_is_known_until_it_is_disowned)
{
    ck_assert_uint_eq(count_balloons(), 0);
    ck_assert_int_eq(journal_own(journal, &balloon, &error), 0);
    ck_assert_int_eq(journal_own(journal, &balloon, &error), 0);
    journal_close(journal);
    ck_assert_int_eq(journal_open(dir.path, &journal, &error), 0);
    ck_assert_uint_eq(count_balloons(), 1);
    ck_assert_int_eq(journal_disown(journal, UUID_1, &error), 0);
    ck_assert_uint_eq(count_balloons(), 0);
}
END_TEST

/* As with a full disk: nothing can be added, what is there stays, and later it goes on. */
START_TEST(a_full_journal_is_an_error_and_no_more)
{
    struct rlimit had, none = {0};
    struct journal_entry entry = entry_of("web1", UUID_1, 1000);

    ck_assert_int_eq(journal_own(journal, &balloon, &error), 0);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &had);
    none.rlim_max = had.rlim_max;
    setrlimit(RLIMIT_FSIZE, &none);
    ck_assert_int_lt(journal_add(journal, &entry, &error), 0);
    ck_assert(strstr(error.text, dir.path));
    ck_assert_int_lt(journal_disown(journal, UUID_1, &error), 0);
    ck_assert_uint_eq(count_balloons(), 1);
    setrlimit(RLIMIT_FSIZE, &had);
    ck_assert_int_eq(journal_add(journal, &entry, &error), 0);
    ck_assert_int_eq(journal_disown(journal, UUID_1, &error), 0);
}
END_TEST

START_TEST(no_journal_and_no_database)
{
    struct journal *other;
    FILE *file;

    journal_close(journal);
    kept_dir_remove(&dir);
    ck_assert_int_eq(journal_open_read(dir.path, &other, &error), -ENOENT);
    ck_assert(strstr(error.text, "has vmwss-balloond run?"));
    dir = kept_dir_make();
    file = fopen(dir.path, "we");
    ck_assert_ptr_nonnull(file);
    fputs("this is no database, but long enough to be looked into as one, by its first words",
          file);
    fclose(file);
    ck_assert_int_lt(journal_open(dir.path, &journal, &error), 0);
    ck_assert_ptr_null(journal);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("balloond");
    TCase *all = tcase_create("all");

    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, by_default_it_is_a_lazy_dry_run);
    tcase_add_test(all, every_key_is_taken);
    tcase_add_test(all, what_is_wrong_is_named);
    tcase_add_test(all, decisions_are_read_as_they_were_added);
    tcase_add_test(all, a_balloon_is_known_until_it_is_disowned);
    tcase_add_test(all, a_full_journal_is_an_error_and_no_more);
    tcase_add_test(all, no_journal_and_no_database);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
