// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_guest_pressure.c  Pressure, its triggers, paging, and the kernel's own memory, as
 * kernels 4.19 to 6.12 tell them. */
#include "base/text/json.h"
#include "fixture.h"
#include "proc/cgroup.h"
#include "proc/kernel_memory.h"
#include "proc/keyed.h"
#include "proc/meminfo.h"
#include "proc/paging_rates.h"
#include "proc/pressure_survey.h"
#include "proc/stall.h"
#include "proc/stall_history.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

TEST(plain, pressure_is_read)
{
    cleanup_root struct fsroot root = fixture_open("guest-6.12");
    struct pressure pressure;

    ck_assert_int_eq(pressure_read(&root, NULL, "memory", &pressure, NULL), 0);
    ck_assert_double_eq(pressure.some.avg10, 1.25);
    ck_assert_double_eq(pressure.some.avg300, 0.10);
    ck_assert_double_eq(pressure.full.avg60, 0.20);
    ck_assert_uint_eq(pressure.full.total_us, 2100456);
    ck_assert_zero(
        pressure_read(&root, "sys/fs/cgroup/system.slice/db.service", "memory", &pressure, NULL));
    ck_assert_double_eq(pressure.some.avg10, 33);
}

TEST(plain, a_cpu_is_not_full_before_5_13)
{
    cleanup_root struct fsroot root = fixture_open("guest-5.10");
    struct pressure pressure;

    ck_assert_int_eq(pressure_read(&root, NULL, "cpu", &pressure, NULL), 0);
    ck_assert_uint_eq(pressure.some.total_us, 77000333);
    ck_assert_uint_eq(pressure.full.total_us, KEYED_UNKNOWN);
    ck_assert(isnan(pressure.full.avg10));

    cleanup_json json_t *json = pressure_json(&pressure);

    ck_assert_uint_eq(json_object_size(json), 1);
}

TEST(plain, pressure_that_is_off_says_how_to_turn_it_on)
{
    cleanup_root struct fsroot root = fixture_open("guest-4.19");
    struct error error = {0};
    struct pressure pressure;

    ck_assert_int_eq(pressure_read(&root, NULL, "memory", &pressure, &error), -ENOENT);
    ck_assert_ptr_nonnull(strstr(error.text, "psi=1"));
    ck_assert_ptr_nonnull(strstr(error.text, "4.20"));
    /* A file that is there and does not open, before 6.1. */
    ck_assert_int_eq(pressure_why_not(&root, NULL, -EOPNOTSUPP, "proc/pressure/io", &error),
                     -EOPNOTSUPP);
    ck_assert_str_eq(error.text, "PSI is off: boot the guest with psi=1");
    /* For a cgroup, the message names the missing cgroup. */
    pressure_why_not(&root, "sys/fs/cgroup/x", -ENOENT, "sys/fs/cgroup/x/io.pressure", &error);
    ck_assert_str_eq(error.text, "/sys/fs/cgroup/x: there is no such control group");
}

TEST(plain, what_is_no_pressure_is_refused)
{
    struct pressure pressure;

    ck_assert_int_eq(pressure_parse("", &pressure), -ENODATA);
    ck_assert_int_eq(pressure_parse("some avg10=1 avg60=1\n", &pressure), -ENODATA);
    ck_assert_int_eq(pressure_parse("full avg10=0 avg60=0 avg300=0 total=1\n", &pressure),
                     -ENODATA);
    ck_assert_int_eq(pressure_parse("x\n\nsome avg10=0 avg60=0 avg300=0 total=1", &pressure), 0);
    ck_assert_uint_eq(pressure.some.total_us, 1);
}

TEST(plain, triggers_are_parsed)
{
    static const char *const bad[] = {
        "",
        "memory",
        "memory:some:150000",
        "disk:some:150000:1000000",
        "memory:most:150000:1000000",
        "memory:some:0:1000000",
        "memory:some:1000001:1000000",
        "memory:some:1:499999",
        "memory:some:1:10000001",
        "memory:some:150000:1000000:",
        "memory:some:150000:1000000 ",
        "memory:some:-1:1000000",
        "memory:some:99999999999999999999999:1000000",
    };
    struct stall_trigger trigger;

    ck_assert_int_eq(stall_trigger_parse("io:full:2000000:2000000", &trigger), 0);
    ck_assert_str_eq(trigger.resource, "io");
    ck_assert_str_eq(trigger.kind, "full");
    ck_assert_uint_eq(trigger.threshold_us, 2000000);
    ck_assert_uint_eq(trigger.window_us, 2000000);
    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(stall_trigger_parse(bad[i], &trigger) == -EINVAL, "'%s'", bad[i]);
}

TEST(plain, paging_has_one_meaning_in_all_kernels)
{
    static const char *const names[] = {"guest-4.19", "guest-5.10", "guest-6.12"};

    for (size_t i = 0; i < 3; i++) {
        struct fsroot root = fixture_open(names[i]);
        struct paging paging;

        ck_assert_int_eq(paging_read(&root, &paging, NULL), 0);
        ck_assert_uint_eq(paging.swap_in_pages, 311);
        ck_assert_uint_eq(paging.swap_out_pages, 3007);
        ck_assert_uint_eq(paging.major_faults, 1420);
        ck_assert_uint_eq(paging.scanned_kswapd_pages, 70012);
        ck_assert_uint_eq(paging.scanned_direct_pages, 2408);
        ck_assert_uint_eq(paging.kswapd_runs, 38);
        ck_assert_uint_eq(paging.direct_stalls, 64);
        ck_assert_uint_eq(paging.refault_file_pages, i == 0 ? 5123 : 4913);
        ck_assert_uint_eq(paging.refault_anon_pages, i == 0 ? KEYED_UNKNOWN : 210);
        ck_assert_uint_eq(paging.activate_file_pages, i == 0 ? 812 : 710);
        ck_assert_uint_eq(paging.activate_anon_pages, i == 0 ? KEYED_UNKNOWN : 102);
        ck_assert_uint_eq(paging.oom_kills, i == 0 ? 0 : 1);

        json_t *json = paging_json(&paging);

        ck_assert_uint_eq(json_object_size(json), i == 0 ? 10 : 12);
        ck_assert_int_eq(json_integer_value(json_object_get(json, "activate_file_pages")),
                         i == 0 ? 812 : 710);
        json_decref(json);
        fsroot_close(&root);
    }
}

static struct paging_rates rates_of(struct paging now)
{
    struct paging zero = {0};
    struct paging_rates rates;

    paging_rates(&zero, &now, 2, &rates);
    return rates;
}

static enum paging_verdict verdict_of(struct paging now)
{
    struct paging_rates rates = rates_of(now);

    return paging_verdict(&rates);
}

TEST(plain, the_classical_rule)
{
    ck_assert_int_eq(verdict_of((struct paging){0}), PAGING_BELOW);
    /* Over two seconds: 31.5 and 32 a second. */
    ck_assert_int_eq(verdict_of((struct paging){.scanned_kswapd_pages = 63}), PAGING_BELOW);
    ck_assert_int_eq(verdict_of((struct paging){.scanned_direct_pages = 64}), PAGING_NEAR);
    ck_assert_int_eq(verdict_of((struct paging){.scanned_kswapd_pages = 64, .swap_in_pages = 19}),
                     PAGING_NEAR);
    ck_assert_int_eq(verdict_of((struct paging){.scanned_kswapd_pages = 64, .swap_in_pages = 20}),
                     PAGING_ABOVE);
    ck_assert_int_eq(
        verdict_of((struct paging){.scanned_kswapd_pages = 64, .refault_file_pages = 20}),
        PAGING_ABOVE);
    /* One page: refaulted, and therefore swapped in. */
    ck_assert_int_eq(verdict_of((struct paging){.scanned_kswapd_pages = 64,
                                                .swap_in_pages = 10,
                                                .refault_anon_pages = 10}),
                     PAGING_NEAR);
    /* Pages that leave, or are read for the first time, are no shortage; nor is reclaim within a
     * control group. */
    ck_assert_int_eq(verdict_of((struct paging){.swap_out_pages = 9999, .major_faults = 9999}),
                     PAGING_BELOW);
    ck_assert_int_eq(verdict_of((struct paging){.refault_file_pages = 9999}), PAGING_BELOW);
}

#define NONE KEYED_UNKNOWN

/* Over two seconds. What is known may decide all the same, as a lower bound. */
static const struct {
    struct paging before, now;
    enum paging_verdict verdict;
    const char *reason;
} unknowns[] = {
    {{.scanned_kswapd_pages = NONE, .scanned_direct_pages = NONE},
     {.scanned_kswapd_pages = NONE, .scanned_direct_pages = NONE},
     PAGING_UNKNOWN,
     "how many pages scanned a second is not known, 0.0 came back after they were reclaimed (below "
     "10)"},
    {{.scanned_direct_pages = NONE}, {.scanned_kswapd_pages = 10}, PAGING_UNKNOWN, "not known, "},
    {{.scanned_direct_pages = NONE}, {.scanned_kswapd_pages = 64}, PAGING_NEAR, "at least 32.0 p"},
    {{.scanned_kswapd_pages = 90}, {.scanned_kswapd_pages = 80}, PAGING_UNKNOWN, "not known, "},
    {{.swap_in_pages = NONE},
     {.scanned_kswapd_pages = 64},
     PAGING_UNKNOWN,
     "back after they were r"},
    {{.refault_file_pages = NONE},
     {.scanned_kswapd_pages = 64},
     PAGING_UNKNOWN,
     "reclaimed is not"},
    {{.refault_file_pages = NONE},
     {.scanned_kswapd_pages = 64, .swap_in_pages = 20},
     PAGING_ABOVE,
     "at least 10.0 came back"},
    {{.refault_anon_pages = NONE}, {.scanned_kswapd_pages = 64}, PAGING_NEAR, "0.0 came back"},
    {{.swap_in_pages = NONE, .refault_file_pages = NONE}, {0}, PAGING_BELOW, "came back"},
};

TEST_EACH(plain, what_is_not_counted_is_not_0, 0, COUNT(unknowns))
{
    struct paging_rates rates;
    char text[200];

    paging_rates(&unknowns[_i].before, &unknowns[_i].now, 2, &rates);
    ck_assert_int_eq(paging_verdict(&rates), unknowns[_i].verdict);
    ck_assert_ptr_nonnull(strstr(paging_reason(&rates, text, sizeof(text)), unknowns[_i].reason));
}

TEST(plain, a_reason_says_the_numbers)
{
    struct paging_rates rates = rates_of(
        (struct paging){.scanned_kswapd_pages = 1000, .swap_in_pages = 50});
    char text[200];

    ck_assert_str_eq(paging_reason(&rates, text, sizeof(text)),
                     "500.0 pages scanned a second (from 32), 25.0 came back after they were "
                     "reclaimed (from 10)");
    rates = rates_of((struct paging){.refault_file_pages = 50});
    ck_assert_ptr_nonnull(strstr(paging_reason(&rates, text, sizeof(text)), "control group"));
}

TEST(plain, what_is_unknown_or_fell_has_no_rate)
{
    struct paging before = {.swap_in_pages = 7, .refault_anon_pages = KEYED_UNKNOWN};
    struct paging now = {.swap_in_pages = 3, .refault_anon_pages = 5, .oom_kills = 4};
    struct paging_rates rates;

    paging_rates(&before, &now, 4, &rates);
    for (size_t i = 0; i < PAGING_COUNTERS; i++)
        if (!strcmp(paging_counter_name(i), "swap_in_pages") ||
            !strcmp(paging_counter_name(i), "refault_anon_pages"))
            ck_assert(isnan(rates.per_s[i]));
        else
            ck_assert_double_eq(rates.per_s[i],
                                strcmp(paging_counter_name(i), "oom_kills") == 0 ? 1 : 0);
    ck_assert_int_eq(paging_verdict(&rates), PAGING_BELOW);
}

TEST(plain, cgroups_of_version_2_are_found)
{
    cleanup_root struct fsroot root = fixture_open("guest-6.12");
    struct cgroups cgroups;

    ck_assert_int_eq(cgroups_list(&root, &cgroups, NULL), 0);
    ck_assert_uint_eq(cgroups.n, 3);
    ck_assert_str_eq(cgroups.path[0], "/system.slice");
    ck_assert_str_eq(cgroups.path[1], "/system.slice/db.service");
    ck_assert_str_eq(cgroups.path[2], "/user.slice");
    cgroups_free(&cgroups);
}

TEST(plain, without_version_2_it_is_said)
{
    struct fsroot root = fixture_open("guest-4.19");
    struct error error = {0};

    ck_assert_ptr_null(cgroup_mount(&root, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "v1 only"));
    fsroot_close(&root);
    root = fixture_open("guest-5.10");
    ck_assert_ptr_null(cgroup_mount(&root, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "no cgroup v2"));
    fsroot_close(&root);
}

TEST(plain, all_groups_are_surveyed)
{
    cleanup_root struct fsroot root = fixture_open("guest-6.12");
    struct pressure_survey survey;
    struct error error = {0};

    ck_assert_ok(
        pressure_survey_take(&root, &(struct pressure_scope){.all = true}, &survey, &error));
    ck_assert_uint_eq(survey.n, 4);

    const struct pressure_group *db = pressure_survey_find(&survey, "/system.slice/db.service");

    ck_assert_double_eq(db->of[0].full.avg10, 30);
    ck_assert_ptr_null(pressure_survey_find(&survey, "/x"));
    ck_assert_ptr_eq(pressure_survey_find(&survey, NULL), &survey.group[0]);
    pressure_survey_free(&survey);
    ck_assert_int_lt(
        pressure_survey_take(&root, &(struct pressure_scope){.cgroup = "/x"}, &survey, &error), 0);
    ck_assert_ptr_nonnull(strstr(error.text, "/sys/fs/cgroup/x: "));
}

static void write_group(const char *dir, const char *name, const char *text)
{
    const char *path = TEXT_OF(160, "sys/fs/cgroup/g/%s", name);

    unit_write(dir, path, text);
}

/* Why a group reports nothing; then with pressure. */
TEST(plain, a_group_without_pressure_is_named_with_the_reason)
{
    const char *dir = unit_dir();
    struct pressure_scope all = {.all = true}, one = {.cgroup = "/g"};
    struct pressure_survey survey;
    struct error error = {0};
    cleanup_root struct fsroot root;

    unit_shell(
        "cd %s && mkdir -p sys/fs/cgroup/g proc && cp -r %s/guest-6.12/proc/pressure proc && "
        ": >sys/fs/cgroup/cgroup.controllers",
        dir, FIXTURES);
    ck_assert_int_eq(fsroot_open(&root, dir), 0);
    ck_assert_int_eq(pressure_survey_take(&root, &one, &survey, &error), -ENOENT);
    ck_assert_ptr_nonnull(strstr(error.text, "cgroup_disable=pressure"));
    write_group(dir, "cgroup.pressure", "1\n");
    ck_assert_int_eq(pressure_survey_take(&root, &one, &survey, &error), -ENOENT);
    ck_assert_ptr_nonnull(strstr(error.text, "cgroup_disable=pressure"));
    write_group(dir, "cgroup.pressure", "0\n");
    ck_assert_error(pressure_survey_take(&root, &one, &survey, &error), -ENOENT,
                    "echo 1 >/sys/fs/cgroup/g/cgroup.pressure");
    ck_assert_int_eq(pressure_survey_take(&root, &all, &survey, &error), 0);
    ck_assert_uint_eq(survey.n, 2);
    ck_assert_ptr_null(survey.group[0].off);
    ck_assert_str_eq(survey.group[1].cgroup, "/g");
    ck_assert_ptr_nonnull(strstr(survey.group[1].off, "switched off"));
    pressure_survey_free(&survey);
    write_group(dir, "cgroup.pressure", "1\n");
    write_group(dir, "io.pressure", "some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n");
    ck_assert_int_eq(pressure_survey_take(&root, &all, &survey, &error), 0);
    ck_assert_ptr_null(survey.group[1].off);
    ck_assert_uint_eq(survey.group[1].of[1].some.total_us, 5);
    pressure_survey_free(&survey);
}

#define MANY_TIMEOUT_S 60

FIXTURE(many, .timeout_s = MANY_TIMEOUT_S);

/* As many as are followed. To look for each of them one after the other, ten times, takes 100 s of
 * CPU time and more, where this takes less than one. */
TEST(many, of_many_groups_each_is_found)
{
    enum { MANY = 65536, TIMES = 10 };
    unsigned found = 0;
    struct pressure_survey survey = {.group = calloc(MANY, sizeof(*survey.group)), .n = MANY};

    /* The whole guest, and groups in no order of their names. */
    for (unsigned i = 1; i < MANY; i++)
        found += asprintf(&survey.group[i].cgroup, "/user.slice/%u/x-%u", i % 7, i) > 0;
    ck_assert_uint_eq(found, MANY - 1);
    found = 0;
    ck_assert_int_eq(pressure_survey_index(&survey), 0);
    for (unsigned i = 0; i < TIMES * MANY; i++)
        found += pressure_survey_find(&survey, survey.group[i % MANY].cgroup) ==
                 &survey.group[i % MANY];
    ck_assert_uint_eq(found, TIMES * MANY);
    ck_assert_ptr_null(pressure_survey_find(&survey, "/user.slice"));
    pressure_survey_free(&survey);
    ck_assert_int_eq(pressure_survey_index(&survey), 0);
    ck_assert_ptr_null(pressure_survey_find(&survey, NULL));
    pressure_survey_free(&survey);
}

TEST(plain, a_share_is_of_the_interval)
{
    struct stalled before = {.total_us = 1000000}, after = {.total_us = 1500000};

    ck_assert_double_eq(pressure_share(&before, &after, 2000000000), 25);
    ck_assert(isnan(pressure_share(&after, &before, 2000000000)));
    after.total_us = KEYED_UNKNOWN;
    ck_assert(isnan(pressure_share(&before, &after, 2000000000)));
}

/* 6.12 has huge pages of another size besides, and a line for all of them; the others say how many,
 * and of what size. */
TEST(plain, huge_pages_and_buffers_are_told)
{
    static const struct {
        const char *tree;
        uint64_t hugetlb_kib, free_kib;
    } trees[] = {{"guest-4.19", 0, UINT64_MAX / 1024},
                 {"guest-5.10", 16384, UINT64_MAX / 1024},
                 {"guest-6.12", 33792, 8192}};

    for (size_t i = 0; i < 3; i++) {
        struct fsroot root = fixture_open(trees[i].tree);
        struct meminfo meminfo;
        json_t *json;

        ck_assert_int_eq(meminfo_read(&root, &meminfo, NULL), 0);
        ck_assert_uint_eq(meminfo.buffers_bytes, 20480 * 1024);
        ck_assert_uint_eq(meminfo.hugetlb_bytes, trees[i].hugetlb_kib * 1024);
        ck_assert_uint_eq(meminfo.hugetlb_free_bytes / 1024, trees[i].free_kib);
        json = meminfo_json(&meminfo);
        ck_assert_int_eq(json_integer_value(json_object_get(json, "buffers_bytes")), 20480 * 1024);
        ck_assert_int_eq(json_object_get(json, "hugetlb_free_bytes") != NULL, i == 2);
        json_decref(json);
        fsroot_close(&root);
    }
}

TEST(plain, the_kernel_s_own_memory_is_read)
{
    struct fsroot root = fixture_open("guest-6.12");
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct kernel_items items;
    struct error error = {0};

    ck_assert_int_eq(slab_read(&root, &items, NULL), 0);
    ck_assert_uint_eq(items.n, 2);
    ck_assert_str_eq(items.item[0].name, "ext4_inode_cache");
    ck_assert_uint_eq(items.item[0].bytes, 45 * 8 * page);
    ck_assert_uint_eq(items.item[0].count, 1215);
    ck_assert_uint_eq(items.item[1].bytes, 243 * page);
    kernel_items_free(&items);

    ck_assert_int_eq(allocinfo_read(&root, &items, NULL), 0);
    ck_assert_uint_eq(items.n, 3);
    ck_assert_uint_eq(items.item[0].bytes, 12582912);
    ck_assert_uint_eq(items.item[0].count, 3072);
    ck_assert_str_eq(items.item[2].name, "fs/ext4/super.c:5200 [ext4] func:ext4_fill_super");
    kernel_items_free(&items);
    fsroot_close(&root);

    root = fixture_open("guest-4.19");
    ck_assert_int_lt(slab_read(&root, &items, &error), 0);
    ck_assert_int_lt(allocinfo_read(&root, &items, &error), 0);
    ck_assert_ptr_nonnull(strstr(error.text, "CONFIG_MEM_ALLOC_PROFILING"));
    fsroot_close(&root);
}

TEST(plain, profiling_that_is_off_says_how_to_turn_it_on)
{
    cleanup_root struct fsroot root = fixture_open("guest-alloc-off");
    struct kernel_items items;
    struct error error = {0};

    ck_assert_int_lt(allocinfo_read(&root, &items, &error), 0);
    ck_assert_ptr_nonnull(strstr(error.text, "echo 1 >/proc/sys/vm/mem_profiling"));
}

/* A total that grows by 10 % of the time, but stood still in the second before the last sample. */
TEST(plain, what_violated_a_trigger_is_of_a_window_at_least)
{
    static const uint64_t ms = 1000000;
    struct stall_history history = {0};
    uint64_t stalled_us = 0, over_us = 0, total_us = 500;

    ck_assert(stall_history_due(&history, 0, 1000000));
    ck_assert(!stall_history_since(&history, 0, total_us, 1000000, &stalled_us, &over_us));
    stall_history_add(&history, 1000 * ms, total_us);
    ck_assert(!stall_history_due(&history, 1249 * ms, 1000000));
    ck_assert(stall_history_due(&history, 1250 * ms, 1000000));
    /* Not a window old: since it was armed. */
    ck_assert(stall_history_since(&history, 1100 * ms, 600, 1000000, &stalled_us, &over_us));
    ck_assert_uint_eq(stalled_us, 100);
    ck_assert_uint_eq(over_us, 100000);
    for (unsigned i = 1; i <= 40; i++)
        stall_history_add(&history, (1000 + 250 * i) * ms, total_us += i > 36 ? 0 : 25000);
    ck_assert(
        stall_history_since(&history, 11100 * ms, total_us + 7000, 1000000, &stalled_us, &over_us));
    ck_assert_uint_eq(stalled_us, 7000);
    ck_assert_uint_eq(over_us, 1100000);
    ck_assert(!stall_history_since(&history, 11100 * ms, 1, 1000000, &stalled_us, &over_us));
}
