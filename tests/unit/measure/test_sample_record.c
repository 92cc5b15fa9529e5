// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_sample_record.c  From what a panel saw in each window to a record. */
#include "measure/record/sample_record.h"

#include "base/clock.h"
#include "fake_kernel.h"
#include "fixture.h"
#include "measure/method.h"

#include <math.h>

#define PAGES 1000

static struct fake_kernel fake;
static struct sample_result result;
static struct sample_plan plan;
static struct sample_record record;

static void setup(void)
{
    fake_kernel_make(&fake, PAGES);
    result = (struct sample_result){.vcpu_s = 1};
    plan = (struct sample_plan){.method = method_by_name("idle")};
    ck_assert_ptr_nonnull(plan.method);
}

/* The next window, in which so many of the pages drawn were seen, of them touched, and not to be
 * seen. */
static void window(double window_s, uint64_t seen, uint64_t touched, uint64_t unseen)
{
    size_t w = plan.n_windows++;

    plan.window_s[w] = window_s;
    result.windows[w].est_window_s = window_s;
    result.windows[w].now = (struct resident_now){.mapped_bytes = fake.ram.bytes,
                                                  .resident_bytes = fake.ram.bytes};
    result.windows[w].tally = (struct tally){
        .drawn_unmeasurable = unseen, .unmeasurable_otherwise = unseen > 0, .n_strata = 1};
    result.windows[w].tally.strata[0] = (struct stratum){base_page_bytes(), seen, seen, touched};
}

static void fill(void)
{
    const struct subject subject = {
        .root = &fake.root, .guest = {.process = fake.process, .name = "web1"}, .ram = fake.ram};

    ck_assert_ok(sample_record_fill(&record, &subject, &plan, &result, &error));
}

FIXTURE(cases_tests, .setup = setup);

/* Asking the guest after the last reading takes time: here 5 s. */
TEST(cases_tests, the_time_is_that_of_the_last_reading)
{
    struct timespec now;

    window(60, PAGES, 10, 0);
    result.windows[0].reading_s = 0.5;
    result.marking_s = 0.25;
    result.ended_ns = clock_ns() - 5000000000;
    fill();
    clock_gettime(CLOCK_REALTIME, &now);
    ck_assert_int_le(record.time.tv_sec, now.tv_sec - 5);
    ck_assert_double_eq(record.marking_s, 0.25);
    ck_assert_double_eq(record.reading_s, 0.5);
}

/* Its working set is not known, but what it has written is: nothing. */
TEST(cases_tests, a_guest_that_did_not_run_wrote_nothing)
{
    window(60, PAGES, 0, 0);
    result.vcpu_s = 0;
    fill();
    ck_assert(record.flags & FLAG_PAUSED);
    ck_assert_uint_eq(record.windows[0].wss_high_bytes, fake.ram.bytes);

    plan.method = method_by_name("soft-dirty");
    result.windows[0].tally = (struct tally){.census = true, .resident_bytes = fake.ram.bytes};
    fill();
    ck_assert(record.flags & FLAG_PAUSED);
    ck_assert_uint_eq(record.windows[0].wss_high_bytes, 0);
}

/* Pages that became huge an hour ago, and were not touched since, are unmeasurable in the longest
 * window alone. */
TEST(cases_tests, each_window_has_its_own_unmeasurable_pages)
{
    window(60, PAGES, 10, 0);
    window(3600, 200, 20, 800);
    fill();
    ck_assert_uint_eq(record.windows[0].unmeasurable_bytes, 0);
    ck_assert_uint_eq(record.windows[1].unmeasurable_bytes, 800 * base_page_bytes());
    ck_assert_uint_eq(record.unmeasurable_bytes, 800 * base_page_bytes());
    for (size_t w = 0; w < 2; w++) {
        const struct window_record *at = &record.windows[w];

        ck_assert_uint_le(at->wss_low_bytes, at->wss_bytes);
        ck_assert_uint_le(at->wss_bytes + at->unmeasurable_bytes, at->wss_high_bytes);
    }
    ck_assert_uint_lt(record.windows[0].wss_high_bytes, 800 * base_page_bytes());
    ck_assert(record.flags & FLAG_PARTIAL);
}

/* On hosts where DAMON is always on a flag would be, too. */
TEST(cases_tests, pages_that_damon_took_are_in_the_bounds_without_a_flag)
{
    window(60, PAGES - 3, 10, 3);
    result.windows[0].tally.unmeasurable_otherwise = false;
    fill();
    ck_assert_uint_ge(record.windows[0].wss_high_bytes,
                      record.windows[0].wss_bytes + 3 * base_page_bytes());
    ck_assert_uint_eq(record.flags, 0);
}

/* It clears accessed bits, which some methods do not use. */
TEST(cases_tests, damon_is_nothing_to_some)
{
    fake_write(&fake, "sys/module/damon_stat/parameters/enabled", "Y\n");
    window(60, PAGES, 10, 0);
    fill();
    ck_assert(record.flags & FLAG_DAMON_ACTIVE);
    plan.method = method_by_name("zap");
    fill();
    ck_assert(!(record.flags & FLAG_DAMON_ACTIVE));
    plan.method = method_by_name("cold");
    fill();
    ck_assert(!(record.flags & FLAG_DAMON_ACTIVE));
    fake_write(&fake, "sys/module/damon_reclaim/parameters/enabled", "Y\n");
    fill();
    ck_assert(record.flags & FLAG_DAMON_ACTIVE);
}

/* A host with KSM merges most pages of most guests, which does not bear on most numbers. */
TEST(cases_tests, ksm_where_it_bears_on_the_number)
{
    static const struct {
        const char *what, *method;
        uint64_t unseen;
        bool shared, zeros, flagged;
    } cases[] = {
        {"faults are the guest's own", "zap", 100, false, false, false},
        {"pages of zeros may be gone", "zap", 0, false, true, true},
        {"none was merged", "idle", 0, false, false, false},
        {"some were", "idle", 100, false, false, true},
        {"a page that is merged seems young", "damon", 0, false, false, true},
        {"a group's pages", "mglru", 0, false, false, true},
        {"a flag of all owners", "referenced", 0, false, false, true},
        {"shared memory is not merged", "referenced", 0, true, false, false},
    };

    fake.block.mergeable = true;
    fake_write(&fake, "sys/kernel/mm/ksm/run", "1\n");
    fake_write(&fake, "proc/4242/ksm_merging_pages", "100\n");
    for (size_t i = 0; i < COUNT(cases); i++) {
        plan = (struct sample_plan){.method = method_by_name(cases[i].method)};
        fake.block.shared = cases[i].shared;
        fake_write(&fake, "sys/kernel/mm/ksm/use_zero_pages", cases[i].zeros ? "1\n" : "0\n");
        window(60, PAGES - cases[i].unseen, 10, cases[i].unseen);
        fill();
        ck_assert_msg(!!(record.flags & FLAG_KSM) == cases[i].flagged, "%s", cases[i].what);
    }
}

/* Once KSM has stopped, with what it merged; and where it may begin. */
TEST(cases_tests, ksm_that_merged_or_may_merge)
{
    plan.method = method_by_name("referenced");
    window(60, PAGES, 10, 0);
    fill();
    ck_assert(!(record.flags & FLAG_KSM));
    fake_write(&fake, "proc/4242/ksm_merging_pages", "100\n");
    fill();
    ck_assert(record.flags & FLAG_KSM);
    fake_write(&fake, "proc/4242/ksm_merging_pages", "0\n");
    fake_write(&fake, "sys/kernel/mm/ksm/run", "1\n");
    fill();
    ck_assert(!(record.flags & FLAG_KSM));
    fake.block.mergeable = true;
    fill();
    ck_assert(record.flags & FLAG_KSM);
}

/* It is on wherever a host has two nodes. Where idle and damon lose a bit by it the flag is
 * ageing. */
TEST(cases_tests, numa_balancing_is_nothing_to_some)
{
    static const char *const none[] = {"zap", "pageout", "idle", "damon"};
    static const char *const flagged[] = {"mglru", "zap-all", "cold", "referenced"};

    fake_write(&fake, "proc/sys/kernel/numa_balancing", "1\n");
    fake_write(&fake, "sys/devices/system/node/node1/cpulist", "1\n");
    window(60, PAGES, 10, 0);
    for (size_t i = 0; i < COUNT(none); i++) {
        plan.method = method_by_name(none[i]);
        fill();
        ck_assert_msg(!(record.flags & FLAG_NUMA_BALANCING), "%s", none[i]);
    }
    for (size_t i = 0; i < COUNT(flagged); i++) {
        plan.method = method_by_name(flagged[i]);
        fill();
        ck_assert_msg(record.flags & FLAG_NUMA_BALANCING, "%s", flagged[i]);
    }
}

/* A swapped page of a shared file looks absent: only the mapping tells. */
TEST(cases_tests, swap_of_a_shared_file)
{
    fake.block.backing = RAM_BACKING_SHMEM;
    fake.block.shared = true;
    fake_write(&fake, "proc/swaps",
               "Filename\tType\tSize\tUsed\tPriority\n/dev/zram0 partition 9 0 1\n");
    window(60, PAGES, 10, 0);
    fill();
    ck_assert(!(record.flags & FLAG_SWAP));
    fake.block.swapped_bytes = base_page_bytes();
    fill();
    ck_assert(record.flags & FLAG_SWAP);
}

/* The host aged the guest: what reads idle may have been touched. What was seen stays. */
TEST(cases_tests, a_doubt_reaches_up_to_what_is_resident)
{
    uint64_t reclaimable;

    window(1, PAGES, 10, 0);
    window(60, PAGES, 20, 0);
    fill();
    ck_assert(!(record.flags & FLAG_AGEING));

    const struct window_record before = record.windows[1];

    result.windows[1].tally.doubts = DOUBT_AGEING;
    result.windows[1].tally.hidden_units = HIDDEN_ANY;
    fill();
    ck_assert(record.flags & FLAG_AGEING);
    ck_assert_uint_eq(record.windows[1].wss_low_bytes, before.wss_low_bytes);
    ck_assert_uint_eq(record.windows[1].wss_bytes, before.wss_bytes);
    ck_assert_uint_eq(record.windows[1].wss_high_bytes, record.resident_bytes);
    ck_assert_uint_lt(record.windows[0].wss_high_bytes, record.resident_bytes / 2);
    ck_assert(sample_reclaimable(&record, &reclaimable));
    ck_assert_uint_eq(reclaimable, 0);
    /* So many units only; and no more than there is room for, be it less than one. */
    result.windows[1].tally.strata[0].granularity_bytes = 1ULL << 40;
    result.windows[1].tally.hidden_units = 0;
    fill();
    ck_assert_uint_lt(record.windows[1].wss_high_bytes, record.resident_bytes);
    result.windows[1].tally.strata[0].granularity_bytes = base_page_bytes();
    result.windows[1].tally.hidden_units = 100;
    fill();
    ck_assert_uint_eq(record.windows[1].wss_high_bytes,
                      before.wss_high_bytes + 100 * base_page_bytes());
}

TEST(cases_tests, what_resident_lacks_is_in_the_bounds)
{
    const uint64_t resident = fake.ram.bytes;
    struct window_record was;

    window(60, PAGES, 10, 0);
    fake.ram.bytes *= 2; /* there is room for more */
    result.windows[0].tally.drawn_absent = PAGES;
    fill();
    was = record.windows[0];
    ck_assert(!(record.flags & FLAG_RESIDENT_UNSURE));
    result.windows[0].now.mapped_error_bytes = resident / 10;
    fill();
    ck_assert(record.flags & FLAG_RESIDENT_UNSURE);
    ck_assert_uint_eq(record.windows[0].wss_bytes, was.wss_bytes);
    ck_assert_double_eq_tol((double)record.windows[0].wss_low_bytes,
                            0.9 * (double)was.wss_low_bytes, 1);
    ck_assert_double_eq_tol((double)record.windows[0].wss_high_bytes,
                            1.1 * (double)was.wss_high_bytes, 1);
}

/* A DIMM that the command line does not know may be used, all of it. */
TEST(cases_tests, a_dimm_of_no_configuration_is_in_the_upper_bound)
{
    struct window_record was;

    window(60, PAGES, 10, 0);
    fill();
    was = record.windows[0];
    ck_assert(!(record.flags & FLAG_PARTIAL));
    fake.ram.unclaimed_bytes = 256ULL << 20;
    fake.ram.unclaimed_resident_bytes = 1 << 20;
    fill();
    ck_assert(record.flags & FLAG_PARTIAL);
    ck_assert_uint_eq(record.windows[0].wss_low_bytes, was.wss_low_bytes);
    ck_assert_uint_eq(record.windows[0].wss_high_bytes, was.wss_high_bytes + (1 << 20));
}

/* Much of a backend of virtio-mem may not be plugged: it is no RAM of the guest then. */
TEST(cases_tests, ram_that_is_not_proved_is_left_out)
{
    struct window_record was;

    window(60, PAGES / 2, 10, 0);
    result.windows[0].now.mapped_bytes /= 2;
    result.windows[0].now.resident_bytes /= 2;
    result.windows[0].tally.drawn_absent = PAGES / 2;
    fill();
    was = record.windows[0];
    ck_assert_uint_eq(record.ram_bytes, fake.ram.bytes);
    ck_assert(!(record.flags & FLAG_PARTIAL));
    fake.ram.unproved_bytes = fake.ram.bytes / 4;
    fill();
    ck_assert(record.flags & FLAG_PARTIAL);
    ck_assert_uint_eq(record.ram_bytes, fake.ram.bytes * 3 / 4);
    ck_assert_uint_eq(record.windows[0].wss_high_bytes, was.wss_high_bytes);
    fake.ram.unproved_bytes = fake.ram.bytes * 3 / 4;
    fill();
    ck_assert_uint_eq(record.ram_bytes, record.resident_bytes);
}

TEST(cases_tests, a_record_stands_for_no_more_than_it_saw)
{
    window(60, PAGES, 10, 0);
    fill();
    ck_assert_double_eq(sample_period_s(&record, 30, 10), 30);
    ck_assert_double_eq(sample_period_s(&record, 4000, 10), 60);
    ck_assert_double_eq(sample_period_s(&record, 4000, 300), 300);
}

/* Another panel has unmapped its idle pages, and this one is drawn from the rest, all of which is
 * mapped. */
TEST(cases_tests, beside_a_panel_that_unmaps)
{
    const struct taken taken = {.n = 20, .unmaps = true};

    fake.ram.taken = &taken;
    window(60, PAGES * 9 / 10, 100, 0);
    result.windows[0].now.mapped_bytes -= 20 * base_page_bytes();
    fill();
    ck_assert(!(record.flags & FLAG_UNSETTLED));
    ck_assert(!(record.flags & FLAG_RESIDENT_UNSURE));
    ck_assert_uint_eq(record.windows[0].wss_bytes,
                      (uint64_t)llround((double)fake.ram.bytes * 100 / 900));
}

/* A tenth, and more than marking and reading may take: longer, or of a panel whose scans come late
 * shorter. */
TEST(cases_tests, an_est_window_far_from_the_one_asked_for)
{
    static const struct {
        double window_s, est_window_s;
        bool stretched;
    } cases[] = {{4, 14.4, true},     {4, 4.3, false},  {4, 4.5, true},      {60, 45, true},
                 {3600, 3400, false}, {1, 1.09, false}, {0.01, 0.06, false}, {0.01, 0.3, true}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        plan.n_windows = 0;
        window(cases[i].window_s, PAGES, 10, 0);
        window(7200, PAGES, 20, 0);
        result.windows[0].est_window_s = cases[i].est_window_s;
        fill();
        ck_assert_msg(!!(record.flags & FLAG_STRETCHED) == cases[i].stretched, "%g s of %g s",
                      cases[i].est_window_s, cases[i].window_s);
    }
}
