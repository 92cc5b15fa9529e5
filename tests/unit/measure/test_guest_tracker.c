// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_guest_tracker.c  A guest's statistics over time, beside the host's records. */
#include "guest/agent/agent_endpoint.h"
#include "measure/record/guest_tracker.h"

#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ULL << 20)
#define STALE_S 100

static struct guest_tracker tracker;
static struct agent_hello hello;
static struct agent_report report;
static struct sample_record record;
static struct domain_memory memory;

static void setup(void)
{
    struct guest_report blank;

    guest_report_clear(&blank, GUEST_STATS_AGENT);
    report = blank.report;
    report.memory.total_bytes = 470 * MIB;
    report.memory.free_bytes = 100 * MIB;
    report.memory.available_bytes = 200 * MIB;
    report.paging.scanned_kswapd_pages = 0;
    report.paging.swap_in_pages = 0;
    hello = (struct agent_hello){.protocol = 1, .boot_id = "b1", .page_bytes = 4096};
    record = (struct sample_record){.ram_bytes = 512 * MIB,
                                    .resident_bytes = 500 * MIB,
                                    .n_windows = 2,
                                    .windows = {{.window_s = 10,
                                                 .wss_bytes = 50 * MIB,
                                                 .wss_low_bytes = 40 * MIB,
                                                 .wss_high_bytes = 60 * MIB},
                                                {.window_s = 60,
                                                 .wss_bytes = 90 * MIB,
                                                 .wss_low_bytes = 80 * MIB,
                                                 .wss_high_bytes = 100 * MIB}}};
    memset(&memory, 0xff, sizeof(memory));
    memory.updated_s = 1000;
    memory.total_bytes = 470 * MIB;
    memory.free_bytes = 100 * MIB;
    memory.available_bytes = 200 * MIB;
    memory.swap_in_bytes = 0;
    guest_tracker_init(&tracker, "not asked yet");
}

/* A report at @p s of both clocks. */
static void hear(double s)
{
    report.uptime_s = s;
    guest_tracker_update(&tracker, &hello, &report, s);
}

static const struct guest_stats *tell(double now_s)
{
    guest_tracker_annotate(&tracker, &record, now_s, STALE_S);
    return &record.guest;
}

/* A thousand of them are part of the daemon's 64 MiB. */
FIXTURE(cases, .setup = setup);

/* A remedy that is cut is none. */
TEST(cases, the_remedy_is_whole)
{
    const struct agent_port none = {.path = ""};
    struct agent_endpoint endpoint;
    struct error error = {0};

    ck_assert_int_lt(agent_endpoint_choose(&none, &endpoint, &error), 0);
    ck_assert_ptr_nonnull(strstr(error.text, "attach-device"));
    guest_tracker_init(&tracker, error.text);
    guest_tracker_annotate(&tracker, &record, 0, STALE_S);
    ck_assert_str_eq(record.guest.unavailable, error.text);
}

TEST(cases, a_tracker_is_small)
{
    ck_assert_uint_le(sizeof(tracker), 3072);
}

TEST(cases, until_it_tells_the_reason_is_told)
{
    ck_assert_str_eq(tell(0)->unavailable, "not asked yet");
    ck_assert_int_eq(record.guest.source, GUEST_STATS_NONE);
    hear(10);
    ck_assert_int_eq(tell(11)->source, GUEST_STATS_AGENT);
    ck_assert_str_eq(record.guest.unavailable, "");
    ck_assert_int_eq(record.guest.verdict, VERDICT_UNKNOWN); /* one report has no rates */
    guest_tracker_unavailable(&tracker, "silent");
    ck_assert_str_eq(tell(12)->unavailable, "silent");
    hear(40);
    ck_assert_double_eq(tell(41)->interval_s, 30); /* of the same boot: the rates go on */
}

TEST(cases, nothing_of_the_hosts_changes)
{
    struct sample_record was = record;

    report.memory.total_bytes = 100000 * MIB;
    hear(10);
    hear(20);
    tell(21);
    ck_assert_double_eq_tol(record.guest.consistency, 0, 1e-9);
    memset(&record.guest, 0, sizeof(record.guest));
    ck_assert_mem_eq(&record, &was, sizeof(was));
}

TEST(cases, what_is_old_is_not_told)
{
    hear(10);
    ck_assert_int_eq(tell(10 + STALE_S)->source, GUEST_STATS_AGENT);
    ck_assert_str_eq(tell(11 + STALE_S)->unavailable, "its last report is 101 s old");
}

/* Asked again at once after a stall: the rates are still over some seconds. */
TEST(cases, rates_are_over_some_seconds)
{
    hear(100);
    hear(130);
    ck_assert_double_eq(tell(131)->interval_s, 30);
    hear(131);
    ck_assert_double_eq(tell(131)->interval_s, 31); /* still since 100 */
    hear(132);
    hear(136);
    ck_assert_double_eq(tell(136)->interval_s, 6); /* since 130 */
    hear(137);
    ck_assert_double_eq(tell(137)->interval_s, 7);
}

/* Asked every two seconds: neither over two, nor ever longer. */
TEST(cases, rates_are_over_some_seconds_of_many_reports)
{
    for (double at_s = 100; at_s < 160; at_s += 2) {
        hear(at_s);
        if (at_s > 110) {
            ck_assert_double_ge(tell(at_s)->interval_s, 4);
            ck_assert_double_le(tell(at_s)->interval_s, 6);
        }
    }
}

/* One report counts once, however many records it stands beside. */
TEST(cases, agreement_is_of_reports)
{
    double consistency;

    report.memory.total_bytes = 2000 * MIB;
    report.memory.free_bytes = 1900 * MIB;
    hear(10);
    ck_assert_double_eq(tell(11)->consistency, 0);
    report.memory.total_bytes = 470 * MIB;
    report.memory.free_bytes = 100 * MIB;
    hear(40);
    consistency = tell(41)->consistency;
    ck_assert_double_gt(consistency, 0);
    ck_assert_double_eq(tell(42)->consistency, consistency);
    hear(70);
    ck_assert_double_gt(tell(71)->consistency, consistency);
}

/* Given 300 of its 512 MiB, it has what it says; the window that is compared is the first that is
 * long enough. */
TEST(cases, the_balloon_is_known)
{
    report.memory.total_bytes = 280 * MIB;
    report.memory.free_bytes = 50 * MIB;
    hear(10);
    ck_assert_uint_eq(tell(11)->inconsistencies, INCONSISTENT_TOTAL);
    tracker.current_bytes = 300 * MIB;
    ck_assert_uint_eq(tell(12)->inconsistencies, 0);
    report.working_set.window_s = 30;
    report.working_set.anon_bytes = 90 * MIB;
    report.working_set.file_bytes = 0;
    hear(40);
    ck_assert_uint_eq(tell(41)->inconsistencies, 0); /* of 60 s: at most 100 MiB */
    report.working_set.window_s = 5;
    report.working_set.anon_bytes = 95 * MIB;
    hear(70);
    ck_assert_uint_eq(tell(71)->inconsistencies,
                      INCONSISTENT_WORKING_SET); /* of 10 s: at most 60 MiB, and 32 forgiven */
    report.working_set.age_s = 6; /* the host's last 10 s have not all of it any more */
    hear(100);
    ck_assert_uint_eq(tell(101)->inconsistencies, 0);
}

TEST(cases, a_balloon_tells_what_it_knows)
{
    ck_assert(guest_tracker_update_balloon(&tracker, &memory, 10));
    ck_assert(!guest_tracker_update_balloon(&tracker, &memory, 20)); /* nothing new */
    ck_assert_int_eq(tell(21)->source, GUEST_STATS_BALLOON);
    ck_assert_uint_eq(record.guest.used_bytes, 270 * MIB);
    ck_assert(isnan(record.guest.psi_some));
    memory.updated_s = 1010;
    memory.swap_in_bytes = 100 * MIB;
    ck_assert(guest_tracker_update_balloon(&tracker, &memory, 20));
    ck_assert_double_eq_tol(tell(21)->swap_in_bytes_s, 10 * (double)MIB, 1);
    ck_assert_int_eq(record.guest.verdict, VERDICT_ABOVE);
}

TEST(cases, a_balloon_that_was_never_asked)
{
    memory.updated_s = 0;
    ck_assert(!guest_tracker_update_balloon(&tracker, &memory, 10));
    memory.updated_s = 5;
    memory.total_bytes = DOMAIN_MEMORY_UNKNOWN;
    ck_assert(!guest_tracker_update_balloon(&tracker, &memory, 10));
    ck_assert_str_eq(tell(11)->unavailable, "not asked yet");
}

static uint64_t checked_available(void)
{
    struct domain_memory checked = memory;

    domain_memory_check(&checked, 1060);
    return checked.available_bytes;
}

/* Returns whether the report of 1000 s is still believed at 1060 s. */
static bool believed(const struct domain_memory *said)
{
    struct domain_memory checked = *said;

    domain_memory_check(&checked, 1060);
    ck_assert_uint_eq(checked.maximum_bytes, said->maximum_bytes);
    ck_assert(domain_memory_is_reported(&checked) == (checked.swap_in_bytes == 0));
    return domain_memory_is_reported(&checked);
}

TEST(cases, a_balloon_is_believed_within_bounds)
{
    ck_assert(believed(&memory));
    memory.updated_s = 999; /* unasked it tells but once */
    ck_assert(!believed(&memory));
    memory.updated_s = 0;
    ck_assert(!believed(&memory));
    memory.updated_s = 1000;
    memory.maximum_bytes = 470 * MIB;
    ck_assert(believed(&memory));
    memory.maximum_bytes--; /* it says that it has more than it has */
    ck_assert(!believed(&memory));
    memory.maximum_bytes = DOMAIN_MEMORY_UNKNOWN;
    memory.free_bytes = 471 * MIB;
    ck_assert(!believed(&memory));
    memory.free_bytes = DOMAIN_MEMORY_UNKNOWN;
    memory.available_bytes = 471 * MIB;
    ck_assert(!believed(&memory));
}

/* The host's clock was ahead when the driver reported, and was set back since. */
TEST(cases, a_report_from_later_than_now_is_not_believed)
{
    memory.updated_s = 1061; /* clocks are read one after the other */
    ck_assert(believed(&memory));
    memory.updated_s = 1063;
    ck_assert(!believed(&memory));
    memory.updated_s = 1060 + 8 * 3600;
    ck_assert(!believed(&memory));
    memory.updated_s = UINT64_MAX - 10;
    ck_assert(!believed(&memory));
}

TEST(cases, a_driver_that_reports_nonsense_is_not_believed)
{
    static const struct {
        uint64_t total, free, available, cache;
        bool believed;
    } reports[] = {
        {3896, 3072, 0, 100, false},   /* an uninitialized counter */
        {3896, 3072, 12, 100, false},  /* pages in place of KiB */
        {3896, 600, 0, 100, false},    /* more than the reserves of any Linux */
        {3896, 400, 0, 100, true},     /* min_free_kbytes may be that large */
        {200, 100, 0, 20, true},       /* a small guest at its watermarks */
        {3896, 100, 3000, 2900, true}, /* page cache */
        {3896, 100, 3000, 3900, false}, {0, 0, 0, 0, false},
        {3896, 0, 0, 0, false}, /* counters that were never filled */
        {3896, 0, 3000, 100, true},
    };

    for (size_t i = 0; i < COUNT(reports); i++) {
        memory.updated_s = 1050;
        memory.maximum_bytes = 4096 * MIB;
        memory.total_bytes = reports[i].total * MIB;
        memory.free_bytes = reports[i].free * MIB;
        memory.available_bytes = reports[i].available * MIB;
        memory.cache_bytes = reports[i].cache * MIB;
        ck_assert_msg(believed(&memory) == reports[i].believed, "%zu", i);
    }
}

/* A driver may leave any figure out: then there is still the domain's memory. */
TEST(cases, a_driver_without_a_total_has_no_more_than_the_domain)
{
    memory.updated_s = 1050;
    memory.maximum_bytes = 4096 * MIB;
    memory.total_bytes = memory.free_bytes = memory.cache_bytes = DOMAIN_MEMORY_UNKNOWN;
    memory.available_bytes = 3000 * MIB;
    ck_assert_uint_eq(checked_available(), 3000 * MIB);
    memory.available_bytes = 5000 * MIB;
    ck_assert_uint_eq(checked_available(), DOMAIN_MEMORY_UNKNOWN);
    memory.available_bytes = 0;
    memory.free_bytes = 3000 * MIB;
    ck_assert_uint_eq(checked_available(), DOMAIN_MEMORY_UNKNOWN);
}

TEST(cases, a_balloon_leaves_no_more_than_there_is)
{
    memory.maximum_bytes = 512 * MIB;
    memory.current_bytes = 600 * MIB;
    domain_memory_check(&memory, 1000);
    ck_assert_uint_eq(memory.current_bytes, 512 * MIB);
    memory.current_bytes = 300 * MIB;
    domain_memory_check(&memory, 1000);
    ck_assert_uint_eq(memory.current_bytes, 300 * MIB);
    memory.current_bytes = DOMAIN_MEMORY_UNKNOWN;
    domain_memory_check(&memory, 1000);
    ck_assert_uint_eq(memory.current_bytes, DOMAIN_MEMORY_UNKNOWN);
}
