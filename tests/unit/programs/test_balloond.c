// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_balloond.c  The configuration of vmwss-balloond, and its journal: also one that is
 * full. */
#include "decide/advice/words.h"
#include "guest/domain/domain_mark.h"
#include "history/event.h"
#include "kept.h"
#include "programs/balloond/adoption.h"
#include "programs/balloond/balloond.h"
#include "programs/balloond/recording.h"
#include "programs/balloond/unmeasured.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct kept_dir dir;
static struct balloond_config config;
static struct journal *journal;
static struct error error;

static void setup(void)
{
    dir = kept_dir_make();
    balloond_config_init(&config);
    ck_assert_int_eq(journal_open(dir.path, &journal, &error), 0);
}

static void teardown(void)
{
    journal_close(journal);
}

/* --- configuration ---------------------------------------------------------------------------- */

static int load(const char *text)
{
    FILE *file;
    const char *path = TEXT_OF(128, "%s/conf", dir.dir);

    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    error = (struct error){0};
    balloond_config_init(&config);
    return balloond_config_load(&config, path, &error);
}

FIXTURE(all, .setup = setup, .teardown = teardown);

TEST(all, by_default_it_is_a_lazy_dry_run)
{
    ck_assert_int_eq(load(""), 0);
    ck_assert(!config.act);
    ck_assert(!config.policy.proactive);
    ck_assert(!config.policy.reclaim.on);
    ck_assert(!config.uses[ACTUATOR_VIRTIO_MEM]);
    ck_assert(config.policy.decide.needs_statistics);
    ck_assert_str_eq(config.user, "vmwss-balloond");
    ck_assert_int_eq(config.restore, RESTORE_BEFORE);
    ck_assert_double_eq(config.policy.decide.down_after_s, 600);
    ck_assert_double_eq(config.policy.decide.past.day_min_s, 86400);
    ck_assert_double_eq(config.policy.decide.past.exceeded_max, 0.001);
    ck_assert(config.policy.decide.past.needed);
}

TEST(all, every_key_is_taken)
{
    ck_assert_int_eq(
        load("[vmwss-balloond]\nact = yes\nmode = proactive\nrestore = hold\n"
             "connect = test:///default\nuser = root\ndatabase = /a\njournal = /b\nwindow = 1,2\n"
             "interval = 2\nshrink-after = 3\nmin-uptime = 4\nmin-history = 2d\nmax-exceeded = 1%\n"
             "prove-after = 5\npause-after-panic = 20\npause-after-growth = 30\nreclaim = swap\n"
             "virtio-mem = yes\nlimit = assigned\nqemu-statistics = yes\n"
             "shrink-without-statistics = yes\n"
             "[guest db1]\nreservation = 2G\nshares = 500\nlimit = 3G\nstatistics = keep\n"
             "[guest " UUID_1 "]\nexclude = yes\nstatistics = 5\n"),
        0);
    ck_assert(config.act && config.policy.proactive && config.qemu_statistics);
    ck_assert_int_eq(config.restore, RESTORE_HOLD);
    ck_assert_str_eq(config.connect, "test:///default");
    ck_assert_str_eq(config.user, "root");
    ck_assert_str_eq(config.database, "/a");
    ck_assert_str_eq(config.journal, "/b");
    ck_assert_double_eq(config.windows.mid_s, 2);
    ck_assert_double_eq(config.windows.long_s, 2);
    ck_assert_double_eq(config.interval_s, 2);
    ck_assert_double_eq(config.policy.decide.down_after_s, 3);
    ck_assert_double_eq(config.policy.decide.past.day_min_s, 2 * 86400);
    ck_assert_double_eq(config.policy.decide.past.exceeded_max, 0.01);
    ck_assert_double_eq(config.policy.decide.young_s, 4);
    ck_assert_double_eq(config.policy.balloon.return_s, 5);
    ck_assert_double_eq(config.policy.decide.panic_pause_s, 20);
    ck_assert_double_eq(config.policy.decide.panic_pause_max_s, 120);
    ck_assert_double_eq(config.policy.decide.turn_pause_s, 30);
    ck_assert(!config.policy.decide.needs_statistics);
    ck_assert(config.policy.reclaim.on && config.reclaim_any_swap);
    ck_assert(config.uses[ACTUATOR_VIRTIO_MEM]);

    const struct balloond_guest_config *db = balloond_config_guest(&config, "db1", UUID_2);

    ck_assert_ptr_nonnull(db);
    ck_assert_uint_eq(db->reserved_bytes, 2048 * MIB);
    ck_assert_double_eq(db->shares, 500);
    ck_assert(db->has_limit && db->limit_bytes == 3072 * MIB);
    ck_assert_uint_eq(db->statistics_s, 0);
    ck_assert_uint_eq(balloond_config_guest(&config, "any", UUID_1)->statistics_s, 5);
    ck_assert_uint_eq(balloond_config_guest(&config, "any", UUID_2)->statistics_s, 10);
    ck_assert_uint_eq(config.limit_bytes, UINT64_MAX);
    ck_assert(!balloond_config_guest(&config, "any", UUID_1)->has_limit);
    ck_assert(balloond_config_guest(&config, "any", UUID_1)->excluded);
    ck_assert(!balloond_config_guest(&config, "any", UUID_2)->excluded);
}

/* [guest *] is below the sections that begin with it. */
TEST(all, the_others_have_settings_and_one_guest_can_be_tried)
{
    const struct balloond_guest_config *guest;

    ck_assert_int_eq(load("[guest db1]\nact = yes\n[guest b]\nreservation = 2G\n"
                          "[guest *]\nreservation = 25%\nshares = 3\n"),
                     0);
    ck_assert(balloond_config_acts_at_all(&config));
    guest = balloond_config_guest(&config, "db1", UUID_1);
    ck_assert(balloond_config_acts(&config, guest));
    ck_assert_uint_eq(balloond_config_reservation(guest, 4096 * MIB), 1024 * MIB);
    guest = balloond_config_guest(&config, "b", UUID_2);
    ck_assert(!balloond_config_acts(&config, guest));
    ck_assert_uint_eq(balloond_config_reservation(guest, 4096 * MIB), 2048 * MIB);
    guest = balloond_config_guest(&config, "another", UUID_2);
    ck_assert(!balloond_config_acts(&config, guest));
    ck_assert_double_eq(guest->shares, 3);
    ck_assert_uint_eq(balloond_config_reservation(guest, 8192 * MIB), 2048 * MIB);
    ck_assert_int_eq(load("[vmwss-balloond]\nact = yes\n[guest *]\nact = no\n"
                          "[guest a]\nact = default\nreservation = none\n"),
                     0);
    ck_assert(!balloond_config_acts(&config, balloond_config_guest(&config, "b", UUID_1)));
    ck_assert(balloond_config_acts(&config, balloond_config_guest(&config, "a", UUID_1)));
    ck_assert_int_eq(load("[vmwss-balloond]\nact = yes\n[guest *]\nact = no\n"), 0);
    ck_assert(!balloond_config_acts_at_all(&config));
}

/* A group is looked at once an interval. */
TEST(all, a_look_is_no_older_than_two_intervals)
{
    ck_assert_int_eq(load("[vmwss-balloond]\ninterval = 10\n"), 0);
    ck_assert_double_eq(config.policy.reclaim.stale_s, 60);
    ck_assert_int_eq(load("[vmwss-balloond]\ninterval = 120\n"), 0);
    ck_assert_double_eq(config.policy.reclaim.stale_s, 240);
}

TEST(all, sections_by_name_and_uuid)
{
    ck_assert_zero(load("[guest \t db1 ]\nreservation = 2G\n[guest " UUID_2 "]\nexclude = yes\n"));
    ck_assert_str_eq(config.guests[0].name, "db1");
    ck_assert_ptr_nonnull(balloond_config_guest(&config, "db1", UUID_1));
    ck_assert(!balloond_config_is_ambiguous(&config, "db1", UUID_1));
    ck_assert(balloond_config_is_ambiguous(&config, "db1", UUID_2));
    ck_assert_int_eq(load("[guest ABCDEF00-0000-4000-8000-000000000001]\nexclude = yes\n"), 0);
    ck_assert_ptr_nonnull(
        balloond_config_guest(&config, "any", "abcdef00-0000-4000-8000-000000000001"));
}

TEST(all, what_is_dumped_can_be_read)
{
    static const char *const windows[] = {"60", "60,600", "60,600,3600"};
    static struct balloond_config before;

    for (size_t i = 0; i < COUNT(windows); i++) {
        char given[1024];
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        snprintf(
            given, sizeof(given),
            "[vmwss-balloond]\nuser = root\nconnect = a:///b\njournal = /j\nmode = proactive\n"
            "act = yes\nrestore = hold\nreclaim = swap\nqemu-statistics = yes\ninterval = 2.5\n"
            "window = %s\nshrink-after = 61\nmin-uptime = 62\nprove-after = 63\n"
            "min-history = 0\nmax-exceeded = 2%%\n"
            "pause-after-panic = 64\npause-after-growth = 65\nshrink-without-statistics = yes\n"
            "[guest a]\nreservation = 512M\nshares = 7\n[guest b]\nexclude = yes\nact = no\n"
            "statistics = keep\n[guest *]\nreservation = 12.5%%\nact = yes\nstatistics = 30\n",
            windows[i]);
        ck_assert_int_eq(load(given), 0);
        balloond_config_dump(&config, out);
        fclose(out);
        before = config;
        ck_assert_msg(load(text) == 0, "%s in\n%s", error.text, text);
        ck_assert_msg(memcmp(&before, &config, sizeof(config)) == 0, "%s", text);
        free(text);
    }
}

static void is_refused(const char *text, const char *why)
{
    ck_assert_int_eq(load(text), -EINVAL);
    ck_assert_msg(strstr(error.text, why), "%s", error.text);
}

TEST(all, it_reclaims_into_zram_unless_any_swap_is_allowed)
{
    ck_assert_int_eq(load("[vmwss-balloond]\nreclaim = zram\n"), 0);
    ck_assert(config.policy.reclaim.on && !config.reclaim_any_swap);
    ck_assert_int_eq(load("[vmwss-balloond]\nreclaim = swap\nreclaim = no\n"), 0);
    ck_assert(!config.policy.reclaim.on && !config.reclaim_any_swap);
}

TEST(all, what_is_wrong_is_named)
{
    is_refused("[vmwss-balloond]\nreclaim = yes\n", ":2: reclaim = yes: expected no, zram or swap");
    is_refused("[vmwss-balloond]\nact = perhaps\n", ":2: act = perhaps: expected yes or no");
    is_refused("[vmwss-balloond]\n\nmode = greedy\n", ":3: mode = greedy: expected lazy or");
    is_refused("[vmwss-balloond]\nnosuch = 1\n", ":2: unknown key 'nosuch'");
    is_refused("[vmwssd]\nact = yes\n", ":2: section [vmwssd]: there are [vmwss-balloond] and");
    is_refused("[guest a]\nshares = none\n", ":2: shares = none: expected a number");
    is_refused("[guest a]\nreservation = 101%\n", ":2: reservation = 101%: expected a size");
    is_refused("[guest *]\nact = perhaps\n", ":2: act = perhaps: expected yes, no, or default");
    is_refused("[guest a]\nstatistics = 31\n",
               ":2: statistics = 31: expected keep, or the seconds");
    is_refused("[guest a]\nstatistics = 0\n", ":2: statistics = 0: expected keep, or the seconds");
    is_refused("[guest a]\nceiling = 1G\n", ":2: unknown key 'ceiling'");
    is_refused("[vmwss-balloond]\nact yes\n", ":2: neither [section] nor key = value");
}

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
                                  .ordered_bytes[ACTUATOR_RECLAIM] = DECIDE_UNKNOWN,
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

TEST(all, what_was_reclaimed_is_kept)
{
    struct journal_entry entry = entry_of("web1", UUID_1, 1000);

    ck_assert_int_eq(journal_add(journal, &entry, &error), 0);
    entry.ordered_bytes[ACTUATOR_RECLAIM] = 20 * MIB;
    ck_assert_int_eq(journal_add(journal, &entry, &error), 0);
    n_seen = 0;
    ck_assert_int_eq(journal_entries(journal, NULL, 10, see, NULL, &error), 0);
    ck_assert_uint_eq(seen[0].ordered_bytes[ACTUATOR_RECLAIM], DECIDE_UNKNOWN);
    ck_assert_uint_eq(seen[1].ordered_bytes[ACTUATOR_RECLAIM], 20 * MIB);
    ck_assert_uint_eq(seen[1].done_bytes[ACTUATOR_RECLAIM], DECIDE_UNKNOWN);
    ck_assert_int_eq(journal_done(journal, entry.id, ACTUATOR_RECLAIM, 19 * MIB, &error), 0);
    n_seen = 0;
    ck_assert_int_eq(journal_latest(journal, see, NULL, &error), 0);
    ck_assert_uint_eq(seen[0].done_bytes[ACTUATOR_RECLAIM], 19 * MIB);
}

TEST(all, decisions_are_read_as_they_were_added)
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

static const struct journal_balloon balloon = {.uuid = UUID_1,
                                               .boot_id = "a-boot",
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
    ck_assert_str_eq(found->boot_id, "a-boot");
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

static void add_row(const char *name, const char *uuid, double time_s, const uint64_t mib[3],
                    const char *hold, bool acted)
{
    struct journal_entry entry = entry_of(name, uuid, time_s);

    snprintf(entry.hold, sizeof(entry.hold), "%s", hold);
    entry.acted = acted;
    entry.assigned_bytes = 2000 * MIB;
    entry.actual_bytes = mib[0] * MIB;
    entry.target_bytes = mib[1] * MIB;
    entry.goal_bytes = mib[2] * MIB;
    ck_assert_int_eq(journal_add(journal, &entry, &error), 0);
}

static struct journal_sum summed[4];
static size_t n_summed;

static int see_sum(const struct journal_sum *sum, void *context)
{
    (void)context;
    summed[n_summed++ % 4] = *sum;
    return 0;
}

/* web1 acts, and had 1000 MiB; db1 is in a dry run. */
TEST(all, what_decisions_came_to_is_summed_over_time)
{
    add_row("web1", UUID_1, 1000, (const uint64_t[]){1000, 900, 500}, "none", true);
    add_row("web1", UUID_1, 1100, (const uint64_t[]){900, 900, 500}, "waiting", false);
    add_row("web1", UUID_1, 1200, (const uint64_t[]){900, 800, 500}, "none", true);
    add_row("db1", UUID_2, 1000, (const uint64_t[]){1000, 900, 400}, "none", false);
    add_row("db1", UUID_2, 1300, (const uint64_t[]){1000, 1000, 400}, "ample", false);
    n_summed = 0;
    ck_assert_int_eq(journal_sums(journal, 1050, see_sum, NULL, &error), 0);
    ck_assert_uint_eq(n_summed, 2);
    ck_assert_uint_eq(summed[0].decisions, 2);
    ck_assert_uint_eq(summed[0].acted, 1);
    ck_assert_double_eq(summed[0].taken_byte_s, (50 * 100 + 100 * 100) * (double)MIB);
    ck_assert_double_eq(summed[0].last_taken_bytes, 200 * (double)MIB);
    ck_assert_double_eq(summed[0].last_s, 1200);
    ck_assert_double_eq(summed[0].host_short_s, 0);
    ck_assert_double_eq(summed[0].would_byte_s, 0);
    ck_assert_uint_eq(summed[1].acted, 0);
    ck_assert_double_eq(summed[1].taken_byte_s, 0);
    ck_assert_double_eq(summed[1].would_byte_s, 250 * 600 * (double)MIB);
    ck_assert_double_eq(summed[1].last_would_bytes, 0);
}

TEST(all, a_balloon_is_known_until_it_is_disowned)
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

static bool is_of(const struct journal_balloon *row, const char *boot_id, int id, uint64_t bytes,
                  bool saved)
{
    const struct journal_run run = {boot_id, id, saved, bytes};

    return journal_balloon_is_of(row, &run, 10000);
}

TEST(all, a_balloon_is_of_the_run_that_it_was_set_in)
{
    struct journal_balloon learned = balloon;
    uint64_t set = balloon.set_bytes, other = balloon.set_bytes + 64 * MIB;
    char boot_id[JOURNAL_BOOT_ID];

    ck_assert(is_of(&balloon, "a-boot", 7, other, false)); /* on its way */
    ck_assert(!is_of(&balloon, "another", 7, other, false));
    ck_assert(!is_of(&balloon, "a-boot", 8, other, false));
    ck_assert(is_of(&balloon, "another", 8, set, false));  /* saved and restored */
    ck_assert(is_of(&balloon, "another", 8, other, true)); /* likewise, on its way */
    ck_assert(!is_of(&balloon, "another", 8, set - 64 * MIB, true));
    ck_assert(!is_of(&balloon, "another", 8, balloon.before_bytes + 64 * MIB, true));
    learned.before_bytes = 0;
    ck_assert(!is_of(&learned, "a-boot", 7, set, false));
    learned = balloon;
    learned.restored_s = 10000 - JOURNAL_RESTORE_S + 1;
    ck_assert(is_of(&learned, "a-boot", 7, other, false));
    learned.restored_s = 10000 - JOURNAL_RESTORE_S - 1;
    ck_assert(!is_of(&learned, "a-boot", 7, other, false));
    learned.restored_s = 10000 + JOURNAL_RESTORE_S + 1; /* the clock was set back since */
    ck_assert(!is_of(&learned, "a-boot", 7, other, false));
    learned.before_bytes = 0;
    journal_boot_id(boot_id);
    ck_assert_uint_eq(strlen(boot_id), 36);
    learned.boot_id[0] = 0;
    ck_assert(!is_of(&learned, "", 7, other, false)); /* not known is not the same */
}

static int see_count(const struct journal_count *count, void *context)
{
    (void)context;
    ck_assert_uint_eq(count->panics, 0);
    return 0;
}

/* As it was before rows had the boot, and the rest. */
TEST(all, an_older_journal_is_taken_over)
{
    struct journal_host host;
    unsigned n = 0;
    sqlite3 *db;

    add("web1", UUID_1, 1000);
    ck_assert_int_eq(journal_own(journal, &balloon, &error), 0);
    journal_close(journal);
    ck_assert_int_eq(sqlite3_open(dir.path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db,
                                  "ALTER TABLE balloon DROP COLUMN plug_bytes;"
                                  "ALTER TABLE balloon DROP COLUMN assigned_bytes;"
                                  "ALTER TABLE balloon DROP COLUMN panic_clock_s;"
                                  "ALTER TABLE balloon DROP COLUMN restored_s;"
                                  "ALTER TABLE balloon DROP COLUMN boot_id;"
                                  "ALTER TABLE decision DROP COLUMN plug_bytes;"
                                  "ALTER TABLE decision DROP COLUMN reclaimed_bytes;"
                                  "ALTER TABLE decision DROP COLUMN reclaim_bytes;"
                                  "ALTER TABLE decision DROP COLUMN panic; DROP TABLE host;"
                                  "ALTER TABLE room DROP COLUMN boot_id",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    ck_assert_int_eq(journal_open_read(dir.path, &journal, &error), 0); /* by a new exporter */
    ck_assert_int_eq(journal_counts(journal, 0, see_count, NULL, &error), 0);
    n_seen = 0;
    ck_assert_int_eq(journal_latest(journal, see, NULL, &error), 0);
    ck_assert_uint_eq(seen[0].ordered_bytes[ACTUATOR_RECLAIM], DECIDE_UNKNOWN);
    ck_assert_int_eq(journal_host(journal, &host, &error), 0);
    ck_assert_double_eq(host.time_s, 0);
    journal_close(journal);
    ck_assert_int_eq(journal_open(dir.path, &journal, &error), 0);
    ck_assert_int_eq(journal_own(journal, &balloon, &error), 0);
    ck_assert_int_eq(journal_balloons(journal, see_balloon, &n, &error), 0);
    ck_assert_uint_eq(n, 1);
}

TEST(all, room_is_asked_for_until_then)
{
    uint64_t bytes = 1;

    ck_assert_int_eq(journal_room(journal, 1000, &bytes, &error), 0);
    ck_assert_uint_eq(bytes, 0);
    ck_assert_int_eq(journal_ask_room(journal, 8192 * MIB, 2000, &error), 0);
    ck_assert_int_eq(journal_ask_room(journal, 4096 * MIB, 3000, &error), 0); /* in its place */
    ck_assert_int_eq(journal_room(journal, 2999, &bytes, &error), 0);
    ck_assert_uint_eq(bytes, 4096 * MIB);
    ck_assert_int_eq(journal_room(journal, 3000, &bytes, &error), 0);
    ck_assert_uint_eq(bytes, 0);
}

/* Its clock begins anew; an earlier version's time was the wall clock's. */
TEST_EACH(all, room_is_asked_for_until_the_host_is_restarted, 0, 2)
{
    static const char *const boots[] = {"of another boot", ""};
    uint64_t bytes = 1;
    char *sql;
    sqlite3 *db;

    ck_assert_int_eq(journal_ask_room(journal, 4096 * MIB, 3000, &error), 0);
    ck_assert_int_gt(asprintf(&sql, "UPDATE room SET boot_id = '%s'", boots[_i]), 0);
    ck_assert_int_eq(sqlite3_open(dir.path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    free(sql);
    ck_assert_int_eq(journal_room(journal, 1000, &bytes, &error), 0);
    ck_assert_uint_eq(bytes, 0);
}

/* --- what is known of a guest ----------------------------------------------------------------- */

/* The record is 10 s old, its statistics up to a minute older. */
static struct decide_input recorded(void)
{
    return (struct decide_input){.age_s = 10,
                                 .period_s = 10,
                                 .up_s = 1000,
                                 .guest = {.reported = true,
                                           .age_s = 10,
                                           .late_s = 60,
                                           .consistency = 1,
                                           .available_bytes = 500 * MIB,
                                           .psi_some = 0.2,
                                           .psi_full = 0,
                                           .oom_kill = true}};
}

static struct domain_memory by_libvirt(uint64_t available, uint64_t updated_s)
{
    return (struct domain_memory){.available_bytes = available, .updated_s = updated_s};
}

TEST(all, libvirt_statistics_count_where_they_are_newer)
{
    struct decide_input record = recorded();
    struct domain_memory memory = by_libvirt(400 * MIB, 900); /* 100 s old: the record's is newer */
    struct decide_input input = members_input(&record, 0, &memory, 1000);

    ck_assert_uint_eq(input.guest.available_bytes, 500 * MIB);
    memory.updated_s = 997;
    input = members_input(&record, 5, &memory, 1000);
    ck_assert_uint_eq(input.guest.available_bytes, 400 * MIB);
    ck_assert_double_eq(input.guest.age_s, 3);
    ck_assert_double_eq(input.guest.late_s, 0);
    ck_assert_double_eq(input.age_s, 15);
    ck_assert_double_eq(input.guest.psi_some, 0.2); /* the record is fresh enough for that */
    ck_assert(input.guest.oom_kill);
}

/* vmwssd was stopped an hour ago, and the guest waited for memory then. */
TEST(all, of_an_old_record_nothing_stands_but_what_libvirt_says)
{
    struct decide_input record = recorded();
    struct domain_memory memory = by_libvirt(400 * MIB, 995);
    struct decide_input input = members_input(&record, 3600, &memory, 1000);

    input.assigned_bytes = input.actual_bytes = 4096 * MIB;
    ck_assert_uint_eq(decide_panics(&decide_policy_default, &input), 0);
    memory.available_bytes = 50 * MIB;
    input = members_input(&record, 3600, &memory, 1000);
    input.assigned_bytes = input.actual_bytes = 4096 * MIB;
    ck_assert_uint_eq(decide_panics(&decide_policy_default, &input), PANIC_AVAILABLE);
    ck_assert(decide_vetoes(&decide_policy_default, &input) & VETO_STALE);
}

/* The host's clock was eight hours ahead when the guest started, and the driver reports only then.
 */
TEST(all, statistics_from_later_than_now_do_not_count)
{
    struct domain_memory memory = by_libvirt(7500 * MIB, 1000 + 8 * 3600);
    struct decide_input record = recorded();
    struct decide_input none = {.vetoes = VETO_NOT_MEASURED, .up_s = NAN, .panic_age_s = NAN};
    struct decide_decision decision;
    char text[DECIDE_WHY_TEXT];
    struct decide_input input = members_input(&none, 0, &memory, 1000);

    ck_assert(!input.guest.reported);
    input.assigned_bytes = input.actual_bytes = 8192 * MIB;
    decide(&decide_policy_default, &input, &decision);
    decide_why(text, sizeof(text), &decide_policy_default, &input, &decision);
    ck_assert_msg(strstr(text, "28800 s later than now"), "%s", text);
    input = members_input(&record, 0, &memory, 1000); /* the agent's report is as it was */
    ck_assert_uint_eq(input.guest.available_bytes, 500 * MIB);
    input = members_input(&record, 3600, &memory, 1000);
    ck_assert(!decide_has_statistics(&decide_policy_default, &input));
    memory.updated_s = 1001;
    input = members_input(&none, 0, &memory, 1000);
    ck_assert(input.guest.reported);
    ck_assert_double_eq(input.guest.age_s, 0);
}

/* A driver that had reported before the daemon started is none that is being loaded. */
TEST(all, a_driver_that_has_just_begun_to_report_is_starting)
{
    static const struct {
        uint64_t first_s, then_s;
        bool first, then;
    } cases[] = {{0, 0, true, true}, {0, 990, true, true}, {990, 1000, false, false}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct domain_memory memory = {
            .uuid = UUID_1, .id = 1, .maximum_bytes = 4096 * MIB, .current_bytes = 4096 * MIB};
        struct balloon_guest member = {0};
        struct control_guest guest = {0};

        memory.updated_s = cases[i].first_s;
        members_take_sizes(&member, &guest, &memory, &config);
        ck_assert_int_eq(guest.input.guest.starting, cases[i].first);
        memory.updated_s = cases[i].then_s;
        members_take_sizes(&member, &guest, &memory, &config);
        ck_assert_int_eq(guest.input.guest.starting, cases[i].then);
        member.report.began_s -= 3600; /* an hour later */
        members_take_sizes(&member, &guest, &memory, &config);
        ck_assert_int_eq(guest.input.guest.starting, i == 0);
    }
}

TEST(all, a_panic_is_known_without_the_history)
{
    static struct domain_memory memory = {.name = "a", .uuid = UUID_1, .id = 1};
    struct decide_input none = {.vetoes = VETO_NOT_MEASURED, .up_s = NAN, .panic_age_s = NAN};
    struct decide_input input;

    memory.available_bytes = 50 * MIB;
    memory.updated_s = 970;
    input = members_input(&none, 0, &memory, 1000);
    input.assigned_bytes = input.actual_bytes = 4096 * MIB;
    ck_assert_uint_eq(decide_panics(&decide_policy_default, &input), PANIC_AVAILABLE);
}

TEST(all, no_history_is_no_measurement_but_no_end)
{
    struct members members = {0};
    struct balloon_guest member = {.uuid = UUID_1,
                                   .memory = by_libvirt(50 * MIB, (uint64_t)time(NULL))};
    struct control_guest guest = {0};

    snprintf(config.database, sizeof(config.database), "/nonexistent/history.db");
    member.memory.maximum_bytes = member.memory.current_bytes = 4096 * MIB;
    members.members = &member;
    members.guests = &guest;
    members.n = 1;
    ck_assert_int_lt(members_measure(&members, &config, &error), 0);
    ck_assert_uint_ne(guest.input.vetoes & VETO_NOT_MEASURED, 0);
    ck_assert_uint_eq(decide_panics(&config.policy.decide, &guest.input), PANIC_AVAILABLE);
}

TEST(all, a_stall_is_heard_without_a_record)
{
    const double now_s = store_clock_now().wall_s;
    struct members members = {0};
    struct balloon_guest member = {.uuid = UUID_1};
    struct ages_record record = kept_record("web1", UUID_1, now_s - 30, 1);
    struct store_event event = {.host = "testhost", .uuid = UUID_1, .kind = EVENT_STALL};
    struct store_entry entry = {.record = &record, .period_s = 10};
    struct kept_dir history = kept_dir_make();
    cleanup_store struct store *store;

    members.members = &member;
    members.n = 1;
    ck_assert_int_eq(store_open(history.path, &store, &error), 0);
    ck_assert_int_eq(store_add(store, &entry, 1, &error), 0);
    snprintf(config.database, sizeof(config.database), "%s", history.path);
    ck_assert(!members_hear_stalls(&members, &config));
    event.time_s = now_s - 60; /* of which a record has come since */
    ck_assert_int_eq(store_add_event(store, &event, &error), 0);
    ck_assert(!members_hear_stalls(&members, &config));
    event.time_s = now_s - 1;
    ck_assert_int_eq(store_add_event(store, &event, &error), 0);
    ck_assert(members_hear_stalls(&members, &config));
    ck_assert_double_eq_tol(member.stall.time_s, now_s - 1, 0.01);
    ck_assert_double_eq_tol(member.stall.at_s, balloond_now_s() - 1, 1);
    ck_assert(!members_hear_stalls(&members, &config)); /* no news */
    member.stall.time_s = now_s + 3600;                 /* the clock was set back since */
    ck_assert(members_hear_stalls(&members, &config));
    ck_assert(!members_hear_stalls(&members, &config));
    ck_assert_sql(history.path, "SELECT count(*) FROM event", "1");
    event.kind = EVENT_END;
    ck_assert_int_eq(store_add_event(store, &event, &error), 0);
    event.kind = EVENT_STALL;
    ck_assert_int_eq(store_add_event(store, &event, &error), 0);
    ck_assert_int_eq(history_ended(store, 1, now_s, &event.time_s, &error), 1);
}

TEST(all, a_stall_is_a_panic)
{
    struct balloon_guest member = {.measured = recorded(),
                                   .measured_s = balloond_now_s(),
                                   .stall.time_s = store_clock_now().wall_s - 2,
                                   .stall.at_s = balloond_now_s() - 2};
    struct control_guest guest = {0};
    struct domain_memory memory = {.name = "web1",
                                   .uuid = UUID_1,
                                   .maximum_bytes = 4096 * MIB,
                                   .current_bytes = 2048 * MIB,
                                   .available_bytes = DOMAIN_MEMORY_UNKNOWN};

    member.measured.guest.psi_some = NAN;
    member.measured.guest.oom_kill = false;
    members_take_sizes(&member, &guest, &memory, &config);
    ck_assert_uint_eq(decide_panics(&config.policy.decide, &guest.input), PANIC_PSI_SOME);
    member.measured.guest.reported = false; /* no statistics: a claim, and nothing is taken */
    config.policy.decide.needs_statistics = false;
    members_take_sizes(&member, &guest, &memory, &config);
    ck_assert_uint_eq(decide_panics(&config.policy.decide, &guest.input), 0);
    ck_assert_uint_eq(decide_claims(&config.policy.decide, &guest.input), PANIC_PSI_SOME);
    ck_assert(decide_vetoes(&config.policy.decide, &guest.input) & VETO_PRESSURE);
    member.measured.guest.reported = true;
    member.stall.at_s = balloond_now_s() - MEMBER_STALL_S - 1;
    members_take_sizes(&member, &guest, &memory, &config);
    ck_assert_uint_eq(decide_panics(&config.policy.decide, &guest.input), 0);
}

/* The clock is set ahead, or back, while the guest is short of memory. */
TEST_EACH(all, a_stall_is_a_panic_whoever_sets_the_clock, 0, 2)
{
    const double steps_s[] = {3600, -3600};
    struct balloon_guest member = {.measured = recorded(),
                                   .measured_s = balloond_now_s(),
                                   .stall.time_s = store_clock_now().wall_s + steps_s[_i],
                                   .stall.at_s = balloond_now_s() - 2};
    struct control_guest guest = {0};
    struct domain_memory memory = {.maximum_bytes = 4096 * MIB, .current_bytes = 2048 * MIB};

    members_take_sizes(&member, &guest, &memory, &config);
    ck_assert(guest.input.stalled);
}

/* The host's clock was 8 h behind when it began: by its records it has been up for as long. */
TEST(all, a_guest_that_has_just_begun_is_young_whatever_the_clock_says)
{
    struct balloon_guest member = {.measured = recorded(), .domain_id = 7};
    struct control_guest guest = {0};
    struct domain_memory memory = {.name = "web1",
                                   .uuid = UUID_1,
                                   .id = 7,
                                   .maximum_bytes = 4096 * MIB,
                                   .current_bytes = 4096 * MIB,
                                   .available_bytes = DOMAIN_MEMORY_UNKNOWN};

    member.measured.up_s = 8 * 3600;
    members_take_sizes(&member, &guest, &memory, &config);
    ck_assert_double_ge(guest.input.up_s, 8 * 3600); /* it ran before it was followed */
    memory.id = 8;
    members_take_sizes(&member, &guest, &memory, &config);
    member.measured.up_s = 8 * 3600;
    members_take_sizes(&member, &guest, &memory, &config);
    ck_assert_double_lt(guest.input.up_s, 600);
    ck_assert(decide_vetoes(&config.policy.decide, &guest.input) & VETO_YOUNG);
}

TEST(all, a_job_or_a_write_is_known_without_a_record)
{
    struct balloon_guest member = {.measured = recorded()};
    struct control_guest guest = {0};
    struct domain_memory memory = {.name = "web1", .uuid = UUID_1, .busy = true};

    members_take_sizes(&member, &guest, &memory, &config);
    ck_assert(guest.busy);
    memory.busy = false;
    members_take_sizes(&member, &guest, &memory, &config);
    ck_assert(!guest.busy);
    member.reclaim.sent_bytes = MIB;
    members_take_sizes(&member, &guest, &memory, &config);
    ck_assert(guest.busy);
}

/* --- guests without numbers ------------------------------------------------------------------- */

TEST(all, guests_without_numbers_are_reported_with_the_reason)
{
    struct control_host host = {.now_s = 1000, .cpu_some = 0.1};
    struct balloon_guest all[3] = {
        {.name = "web1"}, {.name = "db1", .measured.period_s = 10}, {.name = "mail1"}};
    struct control_guest guests[3] = {{.decision.vetoes = VETO_NOT_MEASURED},
                                      {.decision.vetoes = VETO_STALE, .input.age_s = 312},
                                      {.decision.vetoes = VETO_YOUNG}};
    struct balloond balloond = {.config = &config,
                                .members = {.members = all, .guests = guests, .n = 3}};
    char text[512];

    unmeasured_note(&balloond, &host);
    ck_assert_uint_eq(balloond.n_unmeasured, 0);
    host.now_s += UNMEASURED_S;
    unmeasured_note(&balloond, &host);
    ck_assert_uint_eq(balloond.n_unmeasured, 2);
    ck_assert_uint_eq(unmeasured_explain(text, sizeof(text), &balloond.members, &host), 2);
    ck_assert_str_eq(text, "2 of 3 guests have no current working set, and nothing is taken from "
                           "them; domain web1: vmwssd has no record of it");
    guests[0].excluded = true;
    host.cpu_some = 0.62;
    unmeasured_note(&balloond, &host);
    unmeasured_explain(text, sizeof(text), &balloond.members, &host);
    ck_assert_msg(strstr(text, "1 of 3 guests") &&
                      strstr(text, "domain db1: its last record is 312 s") &&
                      strstr(text, "in 62 % of the last minute"),
                  "%s", text);
    guests[1].input.age_s = -28800;
    unmeasured_explain(text, sizeof(text), &balloond.members, &host);
    ck_assert_msg(strstr(text, "dated 28800 s later than now"), "%s", text);
    guests[1].decision.vetoes = 0;
    unmeasured_note(&balloond, &host);
    ck_assert_uint_eq(balloond.n_unmeasured, 0);
    balloond.decided_s = host.now_s - 10 * config.interval_s;
    unmeasured_note(&balloond, &host);
    ck_assert(balloond.was_late);
}

/* --- whose balloon ---------------------------------------------------------------------------- */

static struct balloon_guest one;
static struct control_guest one_guest;
static struct balloond controller;

/* One guest that was not seen before, of that id, which has so much. */
static void appear(int domain_id, uint64_t current_bytes)
{
    one = (struct balloon_guest){
        .uuid = UUID_1, .name = "web1", .domain_id = domain_id, .fresh = true};
    one.memory.id = domain_id;
    one.memory.current_bytes = current_bytes;
    one.memory.maximum_bytes = 4096 * MIB;
    one_guest = (struct control_guest){
        .input = {.assigned_bytes = 4096 * MIB, .actual_bytes = current_bytes}, .acts = true};
    config.act = true;
    controller = (struct balloond){.config = &config,
                                   .journal = journal,
                                   .members = {.members = &one, .guests = &one_guest, .n = 1}};
}

/* Such a guest appears, and a controller that starts looks whose its balloon is. */
static void adopt(int domain_id, uint64_t current_bytes)
{
    appear(domain_id, current_bytes);
    ck_assert_int_eq(adoption_run(&controller, &error), 0);
}

/* The domain's metadata. */
static struct domain_mark marked;
static int mark_rc;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __wrap_domain_mark_set(struct domain_connection *connection, const char *uuid,
                           const struct domain_mark *mark, struct error *err);
int __wrap_domain_mark_set(struct domain_connection *connection, const char *uuid,
                           const struct domain_mark *mark, struct error *err)
{
    (void)connection, (void)uuid;
    if (mark_rc < 0)
        return error_set(err, mark_rc, "made up");
    marked = *mark;
    return 0;
}

int __wrap_domain_mark_get(struct domain_connection *connection, const char *uuid,
                           struct domain_mark *mark, struct error *err);
int __wrap_domain_mark_get(struct domain_connection *connection, const char *uuid,
                           struct domain_mark *mark, struct error *err)
{
    (void)connection, (void)uuid;
    *mark = marked;
    return mark_rc < 0 ? error_set(err, mark_rc, "made up") : 0;
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void own_now(void)
{
    struct journal_balloon row = balloon;

    row.trouble = TROUBLE_NONE;
    journal_boot_id(row.boot_id);
    ck_assert_int_eq(journal_own(journal, &row, &error), 0);
}

TEST(all, a_balloon_is_adopted_with_what_was_learned)
{
    own_now();
    adopt(7, 1000 * MIB); /* on its way to 900 */
    ck_assert_uint_eq(one_guest.state.before_bytes, 4096 * MIB);
    ck_assert_uint_eq(one_guest.state.pace.panic_bytes, 800 * MIB);
    ck_assert(one_guest.state.moving);
    ck_assert_int_eq(adoption_count(&controller, &error), 1);
    adopt(8, 900 * MIB); /* saved and restored */
    ck_assert_uint_eq(one_guest.state.before_bytes, 4096 * MIB);
    own_now();
    appear(8, 1000 * MIB); /* likewise, on its way to 900 */
    one.memory.saved = true;
    ck_assert_int_eq(adoption_run(&controller, &error), 0);
    ck_assert_uint_eq(one_guest.state.before_bytes, 4096 * MIB);
    ck_assert(one_guest.state.moving);
    adopt(8, 1000 * MIB); /* and the row has its new id */
    ck_assert_uint_eq(one_guest.state.before_bytes, 4096 * MIB);
}

/* Its journal is that of the host it came from. */
TEST(all, a_guest_from_another_host_is_adopted_by_its_mark)
{
    marked = (struct domain_mark){.before_bytes = 4096 * MIB, .set_bytes = 900 * MIB};
    adopt(3, 900 * MIB);
    ck_assert_uint_eq(one_guest.state.before_bytes, 4096 * MIB);
    ck_assert_int_eq(adoption_count(&controller, &error), 1); /* the journal knows it now */

    /* An earlier row of it, from before it went there. */
    own_now();
    marked = (struct domain_mark){.before_bytes = 4000 * MIB, .set_bytes = 700 * MIB};
    adopt(9, 700 * MIB);
    ck_assert_uint_eq(one_guest.state.before_bytes, 4000 * MIB);

    one_guest.action = CONTROL_RESTORE;
    one_guest.target_bytes = 4000 * MIB;
    ck_assert_int_eq(adoption_restored(&controller, 0, &error), 0);
    ck_assert_uint_eq(marked.before_bytes, 0);
}

/* Someone else has moved the balloon since. A mark that cannot be read does not stop decisions. */
TEST(all, a_mark_that_does_not_fit_is_removed)
{
    marked = (struct domain_mark){.before_bytes = 4096 * MIB, .set_bytes = 900 * MIB};
    adopt(3, 1000 * MIB);
    ck_assert_uint_eq(one_guest.state.before_bytes, 0);
    ck_assert_uint_eq(marked.before_bytes, 0);
    ck_assert_int_eq(adoption_count(&controller, &error), 0);
    marked = (struct domain_mark){.before_bytes = UINT64_MAX, .set_bytes = 1000 * MIB};
    adopt(3, 1000 * MIB);
    ck_assert_uint_eq(one_guest.state.before_bytes, 0);
    ck_assert_uint_eq(marked.before_bytes, 0);
    mark_rc = -EIO;
    adopt(4, 1000 * MIB);
    mark_rc = 0;
}

/* Its balloon was on its way; until it runs here its size is that of before. */
TEST(all, a_guest_that_migrates_while_its_balloon_moves_keeps_what_it_had)
{
    marked = (struct domain_mark){.before_bytes = 4096 * MIB, .set_bytes = 900 * MIB};
    appear(3, 2000 * MIB);
    one.memory.arriving = true;
    ck_assert_int_eq(adoption_run(&controller, &error), 0);
    members_take_sizes(&one, &one_guest, &one.memory, &config);
    ck_assert_uint_eq(one_guest.input.actual_bytes, DECIDE_UNKNOWN);
    ck_assert_uint_eq(one_guest.state.before_bytes, 0);
    ck_assert_uint_eq(marked.before_bytes, 4096 * MIB);

    one.memory.arriving = false;
    one.memory.migrated = true;
    one.memory.current_bytes = 1000 * MIB;
    members_take_sizes(&one, &one_guest, &one.memory, &config);
    ck_assert_int_eq(adoption_run(&controller, &error), 0);
    ck_assert_uint_eq(one_guest.state.before_bytes, 4096 * MIB);
    ck_assert(one_guest.state.moving);
    ck_assert_int_eq(adoption_count(&controller, &error), 1);
}

/* libvirtd was restarted just then. */
TEST(all, a_mark_that_cannot_be_read_is_read_again)
{
    marked = (struct domain_mark){.before_bytes = 4096 * MIB, .set_bytes = 900 * MIB};
    appear(3, 900 * MIB);
    mark_rc = -ENOTCONN;
    ck_assert_int_eq(adoption_run(&controller, &error), -ENOTCONN);
    mark_rc = 0;
    error = (struct error){0};
    ck_assert_int_eq(adoption_run(&controller, &error), 0);
    ck_assert_uint_eq(one_guest.state.before_bytes, 4096 * MIB);
}

TEST(all, of_another_run_only_what_was_learned_is_left)
{
    own_now();
    adopt(8, 4096 * MIB);
    ck_assert_uint_eq(one_guest.state.before_bytes, 0);
    ck_assert_uint_eq(one_guest.state.pace.panic_bytes, 800 * MIB);
    ck_assert_int_eq(adoption_count(&controller, &error), 0); /* nothing to release, ever */
    adopt(9, 900 * MIB);
    ck_assert_uint_eq(one_guest.state.before_bytes, 0);
    ck_assert_uint_eq(one_guest.state.pace.panic_bytes, 800 * MIB);
}

/* The last controller has set it to what it had, and ended; it stands still half way. */
TEST(all, what_is_being_restored_is_not_what_it_has)
{
    struct journal_balloon row = balloon;

    appear(7, 2000 * MIB);
    one_guest.state.before_bytes = 4096 * MIB;
    one_guest.action = CONTROL_RESTORE;
    one_guest.target_bytes = 4096 * MIB;
    one.owned = true;
    ck_assert_int_eq(adoption_restored(&controller, 0, &error), 0);
    ck_assert(!one.owned); /* another guest that fails has it set no second time */
    ck_assert_int_eq(adoption_count(&controller, &error), 0); /* nothing is left to be set */
    adopt(7, 3000 * MIB);
    ck_assert_uint_eq(one_guest.state.before_bytes, 4096 * MIB);
    ck_assert_uint_eq(one_guest.state.set_bytes, 4096 * MIB);
    ck_assert(one_guest.state.moving);
    ck_assert_int_eq(adoption_count(&controller, &error), 1); /* ours again */

    /* It is there: of a balloon that is made smaller since nothing is known. */
    journal_boot_id(row.boot_id);
    journal_balloon_restored(&row, 4096 * MIB, balloond_wall_s());
    ck_assert_int_eq(journal_own(journal, &row, &error), 0);
    adopt(7, 4096 * MIB);
    ck_assert_uint_eq(one_guest.state.before_bytes, 0);
    adopt(7, 3000 * MIB);
    ck_assert_uint_eq(one_guest.state.before_bytes, 0);

    /* So long ago that it is another's. */
    journal_balloon_restored(&row, 4096 * MIB, balloond_wall_s() - JOURNAL_RESTORE_S - 1);
    ck_assert_int_eq(journal_own(journal, &row, &error), 0);
    adopt(7, 3000 * MIB);
    ck_assert_uint_eq(one_guest.state.before_bytes, 0);
    row.panic_bytes = 0;
    ck_assert_int_eq(journal_own(journal, &row, &error), 0);
    ck_assert_int_eq(journal_trim(journal, balloond_wall_s(), &error), 0);
    ck_assert_sql(dir.path, "SELECT count(*) FROM balloon", "0");
}

/* A month, or a day; either way. */
TEST_EACH(all, a_clock_that_was_set_does_not_age_a_panic, 0, 4)
{
    const double set_s[] = {30 * 86400.0, -86400, 86400, -600};
    const double age_s = fmin(3600, balloond_now_s() / 2);
    struct journal_balloon row = balloon;

    journal_boot_id(row.boot_id);
    row.panic_clock_s = balloond_now_s() - age_s;
    row.panic_s = balloond_wall_s() - set_s[_i];
    row.set_bytes = 3000 * MIB;
    ck_assert_int_eq(journal_own(journal, &row, &error), 0);
    adopt(7, 3000 * MIB);
    ck_assert_double_eq_tol(balloond_now_s() - one_guest.state.pace.panic_at_s, age_s, 60);
    row.boot_id[0]++; /* another boot */
    ck_assert_int_eq(journal_own(journal, &row, &error), 0);
    adopt(7, 3000 * MIB);
    ck_assert_double_eq_tol(balloond_now_s() - one_guest.state.pace.panic_at_s, fmax(set_s[_i], 0),
                            60);
}

/* --- what is journalled ----------------------------------------------------------------------- */

static void record(enum control_action action, enum control_hold hold, uint64_t target_bytes,
                   bool acted)
{
    struct control_host host = {.level = LEVEL_HARD};
    struct journal_entry entry;

    one_guest.action = action;
    one_guest.hold = hold;
    one_guest.target_bytes = target_bytes;
    entry = recording_entry(&controller, &host, 0);
    entry.acted = acted;
    recording_add(&controller, 0, &entry);
}

/* Decided about every two seconds; what it would get is what the host has free, each time. */
TEST(all, who_cannot_be_served_does_not_fill_the_journal)
{
    appear(7, 1000 * MIB);
    one_guest.decision.panics = PANIC_AVAILABLE;
    for (uint64_t i = 0; i < 100; i++)
        record(i % 2 ? CONTROL_GROW : CONTROL_NONE, HOLD_ROOM, (1000 + i) * MIB, false);
    ck_assert_sql(dir.path, "SELECT count(*) <= 6 FROM decision", "1");
    ck_assert_sql(dir.path, "SELECT sum(panic) FROM decision", "1");
    one.recorded.paid_until_s -= RECORDING_EVERY_S; /* a minute later */
    record(CONTROL_NONE, HOLD_ROOM, 2000 * MIB, false);
    record(CONTROL_NONE, HOLD_ROOM, 2001 * MIB, false);
    ck_assert_sql(dir.path, "SELECT max(target_bytes) >> 20 FROM decision", "2000");
    record(CONTROL_FULL, HOLD_NONE, 4096 * MIB, true); /* a balloon that was set always is */
    ck_assert_sql(dir.path, "SELECT max(target_bytes) >> 20 FROM decision", "4096");
}

TEST(all, what_is_given_little_by_little_is_one_row)
{
    appear(7, 1000 * MIB);
    for (uint64_t i = 0; i < 100; i++)
        record(CONTROL_GROW, HOLD_ROOM, (1001 + i) * MIB, true);
    ck_assert_sql(dir.path, "SELECT count(*) || ' ' || (target_bytes >> 20) FROM decision",
                  "1 1100");
    one.recorded.at_s -= RECORDING_EVERY_S;
    record(CONTROL_GROW, HOLD_ROOM, 1101 * MIB, true);
    ck_assert_sql(dir.path, "SELECT count(*) FROM decision", "2");
    for (uint64_t i = 0; i < 3; i++)
        record(CONTROL_SHRINK, HOLD_NONE, (1000 - i) * MIB, true);
    ck_assert_sql(dir.path, "SELECT count(*) FROM decision", "5");
}

TEST(all, a_shortage_is_one_whatever_is_given)
{
    appear(7, 4096 * MIB);
    one_guest.decision.panics = PANIC_WSS; /* at full size: it is busy */
    record(CONTROL_NONE, HOLD_DECISION, 4096 * MIB, false);
    ck_assert_sql(dir.path, "SELECT sum(panic) FROM decision", "0");
    one_guest.decision.panics = PANIC_AVAILABLE;
    record(CONTROL_NONE, HOLD_DECISION, 4096 * MIB, false);
    one_guest.decision.panics = 0;
    record(CONTROL_NONE, HOLD_DECISION, 4096 * MIB, false);
    one_guest.decision.claims = PANIC_PSI_SOME;
    record(CONTROL_NONE, HOLD_SHARE, 4096 * MIB, false);
    ck_assert_sql(dir.path, "SELECT sum(panic) FROM decision", "1");
    one.recorded.short_s -= config.policy.decide.panic_calm_s;
    record(CONTROL_NONE, HOLD_SHARE, 4096 * MIB, false);
    ck_assert_sql(dir.path, "SELECT sum(panic) FROM decision", "2");
}

/* libvirt is not there; with nothing to restore that is no failure. */
TEST(all, an_end_that_restores_nothing_says_so)
{
    own_now();
    config.act = true;
    snprintf(config.connect, sizeof(config.connect), "test:///nonexistent/driver.xml");
    controller = (struct balloond){.config = &config, .journal = journal};
    ck_assert_int_lt(balloond_end(&controller), 0);
    ck_assert_int_eq(journal_open(dir.path, &journal, &error), 0);
    controller = (struct balloond){.config = &config, .journal = journal};
    ck_assert_int_eq(adoption_count(&controller, &error), 1);
    ck_assert_int_eq(journal_disown(journal, UUID_1, &error), 0);
    ck_assert_int_eq(balloond_end(&controller), 0);
    journal = NULL;
}

/* The guest that runs, where libvirt is not asked. */
static const struct domain_memory *running;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
ssize_t __real_domain_memory_all(struct domain_connection *connection, struct domain_memory **out,
                                 struct error *err);
ssize_t __wrap_domain_memory_all(struct domain_connection *connection, struct domain_memory **out,
                                 struct error *err);
ssize_t __wrap_domain_memory_all(struct domain_connection *connection, struct domain_memory **out,
                                 struct error *err)
{
    if (!running)
        return __real_domain_memory_all(connection, out, err);
    *out = malloc(sizeof(**out));
    ck_assert_ptr_nonnull(*out);
    **out = *running;
    return 1;
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* A guest whose balloon an earlier run has set. */
static void is_not_restored(const char *section, uint64_t current_bytes)
{
    const struct domain_memory web1 = {.name = "web1",
                                       .uuid = UUID_1,
                                       .id = 7,
                                       .maximum_bytes = 4096 * MIB,
                                       .current_bytes = current_bytes};
    const char *text = TEXT_OF(160, "[vmwss-balloond]\nact = yes\nconnect = test:///default\n%s",
                               section);

    ck_assert_int_eq(load(text), 0);
    own_now();
    running = &web1;
    controller = (struct balloond){.config = &config, .journal = journal};
    ck_assert_int_eq(balloond_end(&controller), 0);
    running = NULL;
    ck_assert_sql(dir.path, "SELECT before_bytes >> 20 FROM balloon WHERE restored_s = 0", "4096");
    ck_assert_int_eq(journal_open(dir.path, &journal, &error), 0);
}

TEST(all, what_cannot_be_restored_stays_in_the_journal)
{
    is_not_restored("[guest web1]\nexclude = yes\n", 900 * MIB);
    is_not_restored("", DOMAIN_MEMORY_UNKNOWN);
}

/* The next start must know that it had more, or it takes the present size for its owner's limit. */
TEST(all, what_is_held_at_the_end_stays_in_the_journal)
{
    is_not_restored("restore = hold\n", 900 * MIB);
}

TEST(all, a_decision_is_made_though_no_room_can_be_read)
{
    sqlite3 *db;

    ck_assert_int_eq(sqlite3_open(dir.path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "DROP TABLE room", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    snprintf(config.connect, sizeof(config.connect), "test:///default");
    snprintf(config.database, sizeof(config.database), "/nonexistent/history.db");
    controller = (struct balloond){.config = &config, .journal = journal};
    balloond_tick(&controller);
    ck_assert(!controller.was_down);
    ck_assert_double_gt(controller.decided_s, 0);
    ck_assert_sql(dir.path, "SELECT count(*) FROM host", "1");
    ck_assert_int_eq(balloond_end(&controller), 0);
    journal = NULL;
}

/* --- an order that fails ---------------------------------------------------------------------- */

static struct domain_memory needy; /* it panics */
static int set_rc;
static unsigned n_set;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __wrap_domain_memory_set(struct domain_connection *connection, const char *name, uint64_t bytes,
                             struct error *err);
int __wrap_domain_memory_set(struct domain_connection *connection, const char *name, uint64_t bytes,
                             struct error *err)
{
    (void)connection, (void)name, (void)bytes;
    n_set++;
    return set_rc < 0 ? error_set(err, set_rc, "made up") : 0;
}
static struct domain_virtio_mem plug; /* what the guest has */
static int plug_rc, n_requested;
static uint64_t requested_bytes, balloon_bytes;

int __wrap_domain_virtio_mem_read(struct domain_connection *connection, const char *name,
                                  struct domain_virtio_mem *out, struct error *err);
int __wrap_domain_virtio_mem_read(struct domain_connection *connection, const char *name,
                                  struct domain_virtio_mem *out, struct error *err)
{
    (void)connection, (void)name, (void)err;
    *out = plug;
    return 0;
}

int __wrap_domain_virtio_mem_request(struct domain_connection *connection, const char *name,
                                     uint64_t bytes, struct error *err);
int __wrap_domain_virtio_mem_request(struct domain_connection *connection, const char *name,
                                     uint64_t bytes, struct error *err)
{
    (void)connection, (void)name;
    n_requested++;
    requested_bytes = bytes;
    return plug_rc < 0 ? error_set(err, plug_rc, "made up") : 0;
}

int __wrap_domain_balloon_set(struct domain_connection *connection, const char *name,
                              uint64_t bytes, struct error *err);
int __wrap_domain_balloon_set(struct domain_connection *connection, const char *name,
                              uint64_t bytes, struct error *err)
{
    (void)connection, (void)name, (void)err;
    balloon_bytes = bytes;
    return 0;
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void begin_order(int rc)
{
    needy = by_libvirt(1 * MIB, (uint64_t)time(NULL));
    snprintf(needy.name, sizeof(needy.name), "web1");
    snprintf(needy.uuid, sizeof(needy.uuid), UUID_1);
    needy.id = 7;
    needy.current_bytes = 64 * MIB;
    needy.maximum_bytes = 128 * MIB;
    running = &needy;
    set_rc = rc;
    n_set = 0;
    config.act = true;
    config.limit_bytes = UINT64_MAX;
    snprintf(config.connect, sizeof(config.connect), "test:///default");
    snprintf(config.database, sizeof(config.database), "/nonexistent/history.db");
    controller = (struct balloond){.config = &config, .journal = journal};
}

static void end_order(void)
{
    set_rc = 0;
    balloond_end(&controller);
    running = NULL;
    journal = NULL;
}

static void tick_now(void)
{
    controller.followed_s = 0;
    balloond_tick(&controller);
    ck_assert(!controller.was_down);
}

#define ROWS "SELECT group_concat((before_bytes >> 20) || ' ' || (set_bytes >> 20)) FROM balloon"

/* libvirtd may have given it before it ended. */
TEST_EACH(all, a_balloon_that_may_be_set_is_to_be_restored, 0, 2)
{
    const int codes[] = {-EIO, -ENOTCONN};

    begin_order(codes[_i]);
    tick_now();
    ck_assert_uint_eq(n_set, 1);
    ck_assert_sql(dir.path, ROWS, "128 128");
    ck_assert_uint_eq(marked.before_bytes, 128 * MIB);
    ck_assert_uint_eq(marked.set_bytes, 128 * MIB);
    ck_assert_sql(dir.path, "SELECT sum(acted) FROM decision", "0");
    for (unsigned i = 2; i < 10; i++) { /* the guest needs it all the same */
        tick_now();
        ck_assert_uint_eq(n_set, i);
    }
    ck_assert_int_eq(controller.members.guests[0].state.trouble, TROUBLE_NONE);
    needy.current_bytes = 96 * MIB; /* it was given, and is on its way: by no other hand */
    tick_now();
    ck_assert_sql(dir.path, ROWS, "128 128");
    end_order();
}

TEST(all, a_balloon_that_is_not_set_is_not_to_be_restored)
{
    begin_order(-EBUSY);
    tick_now();
    ck_assert_uint_eq(n_set, 1);
    ck_assert_sql(dir.path, "SELECT count(*) FROM balloon WHERE before_bytes > 0", "0");
    ck_assert_uint_eq(marked.before_bytes, 0);
    end_order();
}

/* Another host adopts it only if its size is the one in the mark. */
TEST(all, a_mark_says_what_is_set)
{
    struct balloon_state *state;

    begin_order(0);
    tick_now();
    ck_assert_uint_eq(marked.set_bytes, 128 * MIB);
    state = &controller.members.guests[0].state;
    state->set_bytes = needy.current_bytes; /* it came no further, and needs more, ... */
    state->moving = false;
    set_rc = -EBUSY;
    tick_now(); /* ... which it does not get */
    ck_assert_uint_eq(n_set, 2);
    ck_assert_sql(dir.path, ROWS, "128 64");
    ck_assert_uint_eq(marked.before_bytes, 128 * MIB);
    ck_assert_uint_eq(marked.set_bytes, 64 * MIB);
    end_order();
}

/* --- an order that waits ---------------------------------------------------------------------- */

static uint64_t reclaim_bytes; /* what every guest's group is to be asked for; 0: as decided */

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
void __real_control_run(const struct control_policy *policy, struct control_host *host,
                        struct control_guest *guests, size_t n);
void __wrap_control_run(const struct control_policy *policy, struct control_host *host,
                        struct control_guest *guests, size_t n);
void __wrap_control_run(const struct control_policy *policy, struct control_host *host,
                        struct control_guest *guests, size_t n)
{
    __real_control_run(policy, host, guests, n);
    for (size_t i = 0; reclaim_bytes > 0 && i < n; i++) {
        guests[i].action = CONTROL_RECLAIM;
        guests[i].reclaim_bytes = reclaim_bytes;
    }
}
/* NOLINTEND(bugprone-reserved-identifier) */

#define RECLAIMS                                                                     \
    "SELECT group_concat((reclaim_bytes >> 20) || ' ' || acted) FROM decision WHERE" \
    " action = 'reclaim'"

/* The process that reclaims is at another guest's. */
TEST(all, an_order_that_waits_is_journalled_once)
{
    int fds[2];

    begin_order(0);
    config.policy.reclaim.on = true;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
    controller.reclaimer = (struct reclaimer){
        .fd = fds[0], .pid = -1, .waiting = true, .asked_s = balloond_now_s()};
    for (reclaim_bytes = 20 * MIB; reclaim_bytes > 17 * MIB; reclaim_bytes -= MIB) {
        controller.decided_s = 0;
        tick_now();
    }
    ck_assert_sql(dir.path, RECLAIMS, "20 1");
    ck_assert_uint_eq(controller.members.members[0].reclaim.order_bytes, 18 * MIB);
    reclaim_bytes = 0; /* it needs memory */
    controller.decided_s = 0;
    tick_now();
    ck_assert_sql(dir.path, RECLAIMS, "20 0");
    ck_assert_uint_eq(controller.members.members[0].reclaim.order_bytes, 0);
    end_order();
    close(fds[1]);
}

/* As with a full disk: nothing can be added, what is there stays, and later it goes on. */
TEST(all, a_full_journal_is_an_error_and_no_more)
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
    ck_assert_int_eq(entry.id, 0); /* not that of another row */
    ck_assert_int_eq(journal_add(journal, &entry, &error), 0);
    ck_assert_int_eq(journal_disown(journal, UUID_1, &error), 0);
}

/* The owner of its directory can put another file there. */
TEST(all, root_follows_no_link_at_its_name)
{
    struct journal *other = NULL;
    char link[160];

    snprintf(link, sizeof(link), "%s/link.db", dir.dir);
    ck_assert_int_eq(symlink(dir.path, link), 0);
    ck_assert_int_eq(journal_open(link, &other, &error), geteuid() == 0 ? -ELOOP : 0);
    journal_close(other);
    ck_assert_int_eq(journal_open_read(link, &other, &error), geteuid() == 0 ? -ELOOP : 0);
    journal_close(other);
    ck_assert_ptr_null(strstr(error.text, "--database")); /* no remedy for a journal */
    unlink(link);
}

TEST(all, no_journal_and_no_database)
{
    struct journal *other;
    FILE *file;

    journal_close(journal);
    ck_assert_int_eq(unlink(dir.path), 0);
    ck_assert_error(journal_open_read(dir.path, &other, &error), -ENOENT,
                    "has vmwss-balloond run?");
    dir = kept_dir_make();
    file = fopen(dir.path, "we");
    ck_assert_ptr_nonnull(file);
    fputs("this is no database, but long enough to be looked into as one, by its first words",
          file);
    fclose(file);
    ck_assert_int_lt(journal_open(dir.path, &journal, &error), 0);
    ck_assert_ptr_null(journal);
}

/* --- virtio-mem ------------------------------------------------------------------------------- */

#define PLUG_ROWS \
    "SELECT group_concat((before_bytes >> 20) || ' ' || (plug_bytes >> 20)) FROM balloon"

/* 64 MiB of memory that it was started with, and 100 of 512 that are requested of its device. It
 * panics with half of what was requested. */
static void begin_plug(bool allowed)
{
    begin_order(0);
    config.uses[ACTUATOR_VIRTIO_MEM] = allowed;
    needy.maximum_bytes = 576 * MIB;
    needy.current_bytes = 114 * MIB;
    plug = (struct domain_virtio_mem){.n = 1,
                                      .balloon = true,
                                      .alias = "virtiomem0",
                                      .size_bytes = 512 * MIB,
                                      .requested_bytes = 50 * MIB,
                                      .current_bytes = 50 * MIB,
                                      .block_bytes = 2 * MIB,
                                      .total_bytes = 114 * MIB};
    n_requested = plug_rc = 0;
    requested_bytes = balloon_bytes = UINT64_MAX;
}

static void own_plug(uint64_t plug_bytes)
{
    struct journal_balloon row = {.uuid = UUID_1,
                                  .name = "web1",
                                  .domain_id = 7,
                                  .before_bytes = 164 * MIB,
                                  .set_bytes = 114 * MIB,
                                  .part_bytes[ACTUATOR_VIRTIO_MEM] = plug_bytes};

    journal_boot_id(row.boot_id);
    ck_assert_int_eq(journal_own(journal, &row, &error), 0);
}

static void end_plug(void)
{
    end_order();
    plug = (struct domain_virtio_mem){0};
    config.uses[ACTUATOR_VIRTIO_MEM] = false;
}

/* Also where virtio-mem may not be used any more. */
TEST_EACH(all, what_was_requested_is_requested_again, 0, 2)
{
    begin_plug(_i > 0);
    own_plug(100 * MIB);
    tick_now();
    ck_assert_int_eq(n_requested, 1);
    ck_assert_uint_eq(requested_bytes, 100 * MIB);
    ck_assert_uint_eq(balloon_bytes, UINT64_MAX); /* it leaves all */
    ck_assert_uint_eq(n_set, 0);
    ck_assert_sql(dir.path, PLUG_ROWS, "164 100");
    ck_assert_uint_eq(marked.parts[ACTUATOR_VIRTIO_MEM].bytes, 100 * MIB);
    ck_assert_sql(dir.path, "SELECT plug_bytes >> 20 FROM decision", "100");
    end_plug();
}

/* The device has more in store, which is not ours to give. */
TEST(all, no_more_is_requested_than_was)
{
    begin_plug(true);
    tick_now();
    ck_assert_uint_eq(controller.members.guests[0].input.assigned_bytes, 114 * MIB);
    ck_assert_int_eq(n_requested, 0);
    end_plug();
}

TEST_EACH(all, virtio_mem_that_may_not_be_used_is_left_alone, 0, 3)
{
    const char *refused;

    begin_plug(_i > 0);
    if (_i == 1)
        plug.n = 2;
    if (_i == 2)
        plug.requested_bytes = 60 * MIB; /* and the guest does not follow */
    plug.total_bytes = needy.current_bytes = 100 * MIB;
    tick_now();
    refused = controller.members.guests[0].refused[ACTUATOR_VIRTIO_MEM];
    ck_assert_int_eq(n_requested, 0);
    ck_assert_uint_eq(n_set, 1); /* the balloon gives back what it took */
    ck_assert_uint_eq(controller.members.guests[0].target_bytes, 114 * MIB);
    ck_assert_int_eq(refused != NULL, _i > 0);
    ck_assert_sql(dir.path, "SELECT count(plug_bytes) FROM decision", "0");
    end_plug();
}

TEST(all, a_device_that_refuses_is_inhibited)
{
    begin_plug(true);
    own_plug(100 * MIB);
    plug_rc = -EOPNOTSUPP;
    for (int i = 0; i < 3; i++)
        tick_now();
    ck_assert_int_eq(controller.members.guests[0].state.trouble, TROUBLE_NO_DRIVER);
    plug_rc = 0; /* or the end waits */
    end_plug();
}
