// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_guest_stats.c  What is made of a guest's reports, beside the host's numbers. */
#include "measure/estimate/consistency.h"
#include "measure/estimate/guest_stats.h"

#include "fixture.h"

#include <math.h>
#include <string.h>

#define MIB (1024ULL * 1024)

/* A guest of 512 MiB that uses 200, 60 of them page cache; the host sees 100 MiB touched. */
static struct guest_report before, now;
static struct host_sample host;
static struct guest_stats stats;

static void tell(struct guest_report *report, double uptime_s)
{
    guest_report_clear(report, GUEST_STATS_AGENT);
    snprintf(report->boot_id, sizeof(report->boot_id), "b1");
    report->host_s = 1000 + uptime_s;
    report->report.uptime_s = uptime_s;
    report->report.memory.total_bytes = 470 * MIB;
    report->report.memory.free_bytes = 270 * MIB;
    report->report.memory.available_bytes = 320 * MIB;
    report->report.memory.active_anon_bytes = 90 * MIB;
    report->report.memory.inactive_anon_bytes = 10 * MIB;
    report->report.memory.active_file_bytes = 20 * MIB;
    report->report.memory.inactive_file_bytes = 40 * MIB;
    report->report.memory.unevictable_bytes = 0;
    report->report.memory.dirty_bytes = MIB;
    report->report.memory.writeback_bytes = MIB;
    report->report.has_pressure = true;
    memset(&report->report.paging, 0, sizeof(report->report.paging));
}

static void set_window(struct host_window *window, double s, uint64_t low, uint64_t wss,
                       uint64_t high)
{
    *window = (struct host_window){s, wss * MIB, low * MIB, high * MIB};
}

static void setup(void)
{
    tell(&before, 100);
    tell(&now, 130);
    host = (struct host_sample){
        .ram_bytes = 512 * MIB, .resident_bytes = 400 * MIB, .resident_whole = true};
    set_window(&host.window, 60, 95, 100, 105);
    set_window(&host.guest_window, 60, 95, 100, 105);
}

FIXTURE(cases, .setup = setup);

static enum guest_stats_verdict make(void)
{
    guest_stats_make(&stats, &before, &now, &host);
    return stats.verdict;
}

static const char *reasons(void)
{
    static char text[128];

    guest_stats_reasons_text(text, sizeof(text), stats.reasons);
    return text;
}

/* --- rates ------------------------------------------------------------------------------------ */

TEST(cases, rates_are_differences_over_uptime)
{
    before.report.paging.swap_in_pages = 1000;
    now.report.paging.swap_in_pages = 1300;
    now.report.paging.swap_out_pages = 30;
    now.report.paging.refault_anon_pages = 60;
    now.report.paging.refault_file_pages = 30;
    now.report.paging.scanned_kswapd_pages = 300;
    now.report.paging.scanned_direct_pages = 3;
    now.report.paging.major_faults = 15;
    before.report.memory_pressure.some.total_us = 1000000;
    now.report.memory_pressure.some.total_us = 4000000;
    now.report.memory_pressure.full.total_us = 300000;
    make();
    ck_assert_double_eq_tol(stats.interval_s, 30, 1e-9);
    ck_assert_double_eq_tol(stats.swap_in_bytes_s, 10 * 4096, 1e-6);
    ck_assert_double_eq_tol(stats.swap_out_bytes_s, 4096, 1e-6);
    ck_assert_double_eq_tol(stats.refault_bytes_s, 3 * 4096, 1e-6);
    ck_assert_double_eq_tol(stats.scan_bytes_s, 10.1 * 4096, 1e-6);
    ck_assert_double_eq_tol(stats.major_faults_s, 0.5, 1e-9);
    ck_assert_double_eq_tol(stats.psi_some, 0.1, 1e-9);
    ck_assert_double_eq_tol(stats.psi_full, 0.01, 1e-9);
}

TEST(cases, pages_are_the_guests)
{
    before.page_bytes = now.page_bytes = 65536;
    now.report.paging.swap_in_pages = 30;
    make();
    ck_assert_double_eq_tol(stats.swap_in_bytes_s, 65536, 1e-6);
}

static void no_rates(void)
{
    make();
    ck_assert(isnan(stats.interval_s) && isnan(stats.swap_in_bytes_s) && isnan(stats.psi_some));
    ck_assert_int_eq(stats.verdict, VERDICT_UNKNOWN);
    ck_assert_uint_eq(stats.reasons, 0);
    ck_assert_uint_eq(stats.used_bytes, 150 * MIB); /* that needs no second report */
    ck_assert_uint_eq(stats.cache_cold_bytes, 40 * MIB);
}

TEST(cases, a_first_report_has_no_rates)
{
    guest_stats_make(&stats, NULL, &now, &host);
    ck_assert(isnan(stats.interval_s));
    ck_assert_int_eq(stats.verdict, VERDICT_UNKNOWN);
}

TEST(cases, another_boot_has_no_rates)
{
    snprintf(now.boot_id, sizeof(now.boot_id), "b2");
    no_rates();
}

TEST(cases, time_that_stands_has_no_rates)
{
    now.report.uptime_s = before.report.uptime_s;
    no_rates();
    now.report.uptime_s = before.report.uptime_s - 1;
    no_rates();
    before.report.uptime_s = 1e-300; /* which would make any difference infinitely fast */
    now.report.uptime_s = 2e-300;
    no_rates();
}

TEST(cases, a_page_that_no_kernel_has_is_none)
{
    static const uint64_t strange[] = {0, 1, 4095, 12288, 131072, AGENT_UNKNOWN};
    struct agent_hello hello = {.page_bytes = 16384, .boot_id = "a"};
    struct guest_report one;

    guest_report_of_agent(&one, &hello, &now.report, 7);
    ck_assert_uint_eq(one.page_bytes, 16384);
    ck_assert_str_eq(one.boot_id, "a");
    for (size_t i = 0; i < COUNT(strange); i++) {
        hello.page_bytes = strange[i];
        guest_report_of_agent(&one, &hello, &now.report, 7);
        ck_assert_uint_eq(one.page_bytes, 4096);
    }
}

TEST(cases, another_source_has_no_rates)
{
    now.source = GUEST_STATS_BALLOON;
    no_rates();
    setup();
    now.page_bytes = 16384;
    no_rates();
}

/* A total that went back, or was never told, is no rate; the others are not affected. */
TEST(cases, totals_that_are_none)
{
    before.report.paging.swap_in_pages = 10;
    now.report.paging.swap_in_pages = 9;
    now.report.paging.swap_out_pages = AGENT_UNKNOWN;
    now.report.paging.refault_anon_pages = AGENT_UNKNOWN;
    now.report.paging.refault_file_pages = 30;
    now.report.memory_pressure.full.total_us = AGENT_UNKNOWN;
    make();
    ck_assert(isnan(stats.swap_in_bytes_s) && isnan(stats.swap_out_bytes_s));
    ck_assert(isnan(stats.psi_full));
    ck_assert_double_eq_tol(stats.psi_some, 0, 1e-9);
    ck_assert_double_eq_tol(stats.refault_bytes_s, 4096, 1e-6);
    ck_assert_int_eq(stats.verdict, VERDICT_BELOW);
}

/* A sum with an unknown part is a lower bound: enough for a reason, not for its absence. */
TEST(cases, one_scan_counter_is_not_the_sum)
{
    before.report.paging.scanned_direct_pages = AGENT_UNKNOWN;
    now.report.paging.scanned_direct_pages = AGENT_UNKNOWN;
    make();
    ck_assert(isnan(stats.scan_bytes_s));
    ck_assert_int_eq(stats.verdict, VERDICT_UNKNOWN);
    now.report.paging.scanned_kswapd_pages = 3000;
    make();
    ck_assert(isnan(stats.scan_bytes_s));
    ck_assert_int_eq(stats.verdict, VERDICT_NEAR);
    ck_assert_str_eq(reasons(), "scanning");
    setup();
    before.report.paging.scanned_kswapd_pages = 7; /* it fell */
    ck_assert_int_eq(make(), VERDICT_UNKNOWN);
}

/* Before Linux 5.9 only files have refaults; anonymous ones alone are no sum. */
TEST(cases, refaults_are_those_of_files_at_least)
{
    before.report.paging.refault_file_pages = AGENT_UNKNOWN;
    now.report.paging.refault_file_pages = AGENT_UNKNOWN;
    make();
    ck_assert(isnan(stats.refault_bytes_s));
}

TEST(cases, a_working_set_of_some_processes_is_unknown)
{
    now.report.working_set = (struct agent_working_set){.anon_bytes = 5 * MIB,
                                                        .file_bytes = MIB,
                                                        .window_s = 60,
                                                        .age_s = 1,
                                                        .unread = AGENT_UNKNOWN};
    make();
    ck_assert_uint_eq(stats.own_anon_bytes, 5 * MIB);
    now.report.working_set.unread = 1;
    make();
    ck_assert_uint_eq(stats.own_anon_bytes, AGENT_UNKNOWN);
    ck_assert(isnan(stats.own_window_s));
    now.report.working_set.unread = 0;
    now.report.processes_hidden = true;
    make();
    ck_assert_uint_eq(stats.own_file_bytes, AGENT_UNKNOWN);
}

TEST(cases, a_share_is_never_above_one)
{
    now.report.memory_pressure.some.total_us = 3000000000;
    make();
    ck_assert_double_eq(stats.psi_some, 1);
}

TEST(cases, without_psi)
{
    now.report.has_pressure = false;
    make();
    ck_assert(isnan(stats.psi_some) && isnan(stats.psi_full));
    ck_assert_int_eq(stats.verdict, VERDICT_BELOW);
}

/* --- the split -------------------------------------------------------------------------------- */

/* 58 MiB of clean cache, 100 of processes: any of them could be among the 95 .. 105 MiB touched. */
TEST(cases, the_split_has_bounds)
{
    make();
    ck_assert_uint_eq(stats.wss_cache_low_bytes, 0);
    ck_assert_uint_eq(stats.wss_cache_high_bytes, 58 * MIB);
    ck_assert_uint_eq(stats.wss_anon_low_bytes, 0);
    ck_assert_uint_eq(stats.wss_anon_high_bytes, 100 * MIB);
    ck_assert_double_eq(stats.window_s, 60);
}

/* 450 MiB touched: 512 - 58 = 454 find room beside the cache, and 512 - 100 = 412 beside the
 * processes' 100. */
TEST(cases, what_finds_no_room_elsewhere_is_in_it)
{
    set_window(&host.window, 60, 450, 460, 470);
    make();
    ck_assert_uint_eq(stats.wss_cache_low_bytes, 0);
    ck_assert_uint_eq(stats.wss_anon_low_bytes, 38 * MIB);
    set_window(&host.window, 60, 460, 465, 470);
    make();
    ck_assert_uint_eq(stats.wss_cache_low_bytes, 6 * MIB);
}

TEST(cases, a_small_working_set_bounds_both)
{
    set_window(&host.window, 60, 4, 5, 6);
    make();
    ck_assert_uint_eq(stats.wss_cache_high_bytes, 6 * MIB);
    ck_assert_uint_eq(stats.wss_anon_high_bytes, 6 * MIB);
}

TEST(cases, no_split_without_both_numbers)
{
    now.report.memory.active_file_bytes = AGENT_UNKNOWN;
    make();
    ck_assert_uint_eq(stats.wss_cache_high_bytes, AGENT_UNKNOWN);
    ck_assert_uint_eq(stats.wss_anon_high_bytes, 100 * MIB);
    now.report.memory.unevictable_bytes = AGENT_UNKNOWN; /* it may be of processes */
    make();
    ck_assert_uint_eq(stats.wss_anon_high_bytes, AGENT_UNKNOWN);
    setup();
    now.report.memory.dirty_bytes = AGENT_UNKNOWN;
    make();
    ck_assert_uint_eq(stats.wss_cache_low_bytes, AGENT_UNKNOWN);
    setup();
    host.window.window_s = 0;
    make();
    ck_assert_uint_eq(stats.wss_anon_high_bytes, AGENT_UNKNOWN);
}

/* A guest that claims more cache than there is RAM makes the bounds useless, not absurd. */
TEST(cases, a_boast_gives_no_absurd_bound)
{
    now.report.memory.active_file_bytes = 4096 * MIB;
    make();
    ck_assert_uint_eq(stats.wss_cache_low_bytes, 95 * MIB);
    ck_assert_uint_eq(stats.wss_cache_high_bytes, 105 * MIB);
    ck_assert_uint_le(stats.wss_cache_low_bytes, stats.wss_cache_high_bytes);
}

/* --- the verdict ------------------------------------------------------------------------------ */

TEST(cases, neither_paging_nor_scanning_is_below)
{
    ck_assert_int_eq(make(), VERDICT_BELOW);
    ck_assert_str_eq(reasons(), "");
    ck_assert(!stats.at_least_allocation);
}

/* An idle guest's few pages. */
TEST(cases, a_little_paging_is_none)
{
    now.report.paging.swap_in_pages = 250;
    now.report.paging.scanned_kswapd_pages = 250;
    now.report.memory_pressure.some.total_us = 100000;
    ck_assert_int_eq(make(), VERDICT_BELOW);
}

TEST(cases, scanning_is_near)
{
    now.report.paging.scanned_kswapd_pages = 3000;
    ck_assert_int_eq(make(), VERDICT_NEAR);
    ck_assert_str_eq(reasons(), "scanning");
    now.report.paging.direct_stalls = 1;
    now.report.memory_pressure.some.total_us = 600000;
    now.report.memory.available_bytes = 20 * MIB;
    set_window(&host.window, 60, 430, 440, 450);
    ck_assert_int_eq(make(), VERDICT_NEAR);
    ck_assert_str_eq(reasons(), "psi-some,direct-reclaim,scanning,available,touched");
    ck_assert(!stats.at_least_allocation);
}

TEST(cases, paging_is_above_and_at_least_what_is_touched)
{
    now.report.paging.swap_in_pages = 30000;
    now.report.paging.scanned_direct_pages = 60000;
    now.report.memory_pressure.some.total_us = 12000000;
    now.report.memory_pressure.full.total_us = 6000000;
    set_window(&host.window, 60, 430, 440, 450);
    ck_assert_int_eq(make(), VERDICT_ABOVE);
    ck_assert_str_eq(reasons(), "swap-in,psi-full,psi-some,scanning,touched");
    ck_assert(stats.at_least_allocation);
}

/* It says that its balloon leaves it 100 MiB, all of which the host sees touched; but 400 are
 * resident. */
TEST(cases, a_balloon_that_is_a_lie)
{
    now.report.paging.swap_in_pages = 30000;
    now.report.memory_pressure.some.total_us = 12000000;
    host.ram_bytes = 100 * MIB;
    make();
    ck_assert_str_eq(reasons(), "swap-in,psi-some,untouched");
    ck_assert(!stats.at_least_allocation);
    host.resident_bytes = 104 * MIB; /* the truth */
    make();
    ck_assert_str_eq(reasons(), "swap-in,psi-some,touched");
    ck_assert(stats.at_least_allocation);
}

/* An agent's words that do not fit end with a whole character. */
TEST(cases, a_reason_is_not_cut_within_a_character)
{
    char words[2 * GUEST_STATS_REASON_TEXT + 8];

    for (size_t shift = 0; shift < 4; shift++) {
        size_t length = shift;

        memset(words, 'x', shift);
        while (length < 2 * GUEST_STATS_REASON_TEXT)
            length += (size_t)sprintf(words + length, "\U0001F40C");
        guest_stats_unavailable(&stats, "%s", words);
        ck_assert_uint_eq(strlen(stats.unavailable), GUEST_STATS_REASON_TEXT - 4 + shift);
        ck_assert_mem_eq(stats.unavailable, words, GUEST_STATS_REASON_TEXT - 4 + shift);
    }
    guest_stats_unavailable(&stats, "whole: \U0001F40C");
    ck_assert_str_eq(stats.unavailable, "whole: \U0001F40C");
}

/* Half of its RAM lies untouched: something in the guest is limited, and not by its memory. */
TEST(cases, paging_with_untouched_memory)
{
    now.report.paging.swap_in_pages = 30000;
    now.report.memory_pressure.some.total_us = 12000000;
    ck_assert_int_eq(make(), VERDICT_ABOVE);
    ck_assert_str_eq(reasons(), "swap-in,psi-some,untouched");
    ck_assert(!stats.at_least_allocation);
}

/* Fast swap that nobody waits for is no verdict; without PSI nobody can say so. */
TEST(cases, swapping_in_counts_if_something_waits)
{
    now.report.paging.swap_in_pages = 30000;
    ck_assert_int_eq(make(), VERDICT_BELOW);
    now.report.has_pressure = false;
    ck_assert_int_eq(make(), VERDICT_ABOVE);
}

/* A large file read for the first time, or again from a cache too small: the latter hurts only if
 * it waits. */
TEST(cases, refaults_count_if_they_hurt)
{
    now.report.paging.refault_file_pages = 30000;
    ck_assert_int_eq(make(), VERDICT_BELOW);
    now.report.memory_pressure.some.total_us = 2000000;
    ck_assert_int_eq(make(), VERDICT_ABOVE);
    ck_assert_str_eq(reasons(), "refaults,psi-some,untouched");
}

TEST(cases, an_oom_kill_is_above)
{
    now.report.paging.oom_kills = 1;
    now.report.paging.direct_stalls = 16;
    ck_assert_int_eq(make(), VERDICT_ABOVE);
    ck_assert_str_eq(reasons(), "oom-kill,direct-reclaim,untouched");
    now.report.paging.direct_stalls = AGENT_UNKNOWN;
    make();
    ck_assert_str_eq(reasons(), "oom-kill,untouched");
}

/* A container that is started again and again: no allocation of the guest has waited. */
TEST(cases, an_oom_kill_at_a_limit_is_not_for_want_of_memory)
{
    now.report.paging.oom_kills = 3;
    ck_assert_int_eq(make(), VERDICT_BELOW);
    ck_assert_str_eq(reasons(), "oom-limit");
}

/* The balloon's statistics have no scans: that it is near would not be seen. */
TEST(cases, a_balloon_never_says_below)
{
    guest_report_clear(&before, GUEST_STATS_BALLOON);
    before.report.uptime_s = 100;
    before.report.paging.swap_in_pages = 0;
    now = before;
    now.report.uptime_s = now.host_s = 130;
    ck_assert_int_eq(make(), VERDICT_UNKNOWN);
    now.report.paging.swap_in_pages = 30000;
    ck_assert_int_eq(make(), VERDICT_ABOVE);
    now.report.paging.swap_in_pages = 0;
    now.report.memory.total_bytes = 470 * MIB;
    now.report.memory.available_bytes = 10 * MIB;
    ck_assert_int_eq(make(), VERDICT_NEAR);
}

TEST(cases, nobody_told)
{
    guest_stats_unavailable(&stats, "no %s", "channel");
    ck_assert_str_eq(stats.unavailable, "no channel");
    ck_assert_int_eq(stats.source, GUEST_STATS_NONE);
    ck_assert_int_eq(stats.verdict, VERDICT_UNKNOWN);
    ck_assert(isnan(stats.consistency) && stats.used_bytes == AGENT_UNKNOWN);
}

/* --- names ------------------------------------------------------------------------------------ */

TEST(cases, names_go_both_ways)
{
    char text[256];

    for (unsigned s = GUEST_STATS_NONE; s <= GUEST_STATS_AGENT; s++)
        ck_assert_uint_eq(names_parse(&guest_stats_source_names, guest_stats_source_name(s), 9), s);
    for (unsigned v = VERDICT_UNKNOWN; v <= VERDICT_ABOVE; v++)
        ck_assert_uint_eq(names_parse(&guest_stats_verdict_names, guest_stats_verdict_name(v), 9),
                          v);
    for (unsigned bits = 0; bits < 1024; bits++) {
        guest_stats_reasons_text(text, sizeof(text), bits);
        ck_assert_uint_eq(names_bits_parse(&guest_stats_reason_names, text), bits);
    }
    for (unsigned bits = 0; bits < 32; bits++) {
        guest_stats_inconsistencies_text(text, sizeof(text), bits);
        ck_assert_uint_eq(names_bits_parse(&guest_stats_inconsistency_names, text), bits);
    }
    ck_assert_uint_eq(names_bits_parse(&guest_stats_reason_names, "swap,,touched,psi"),
                      REASON_TOUCHED);
    ck_assert_uint_eq(names_parse(&guest_stats_verdict_names, "abov", 9), 9);
    guest_stats_reasons_text(text, 10, 1023); /* cut, and ended */
    ck_assert_uint_eq(strlen(text), 9);
}

/* --- agreement -------------------------------------------------------------------------------- */

static double agree(const char *inconsistencies)
{
    char text[128];
    unsigned bits;
    double consistency = consistency_now(&before, &now, &host, &bits);

    guest_stats_inconsistencies_text(text, sizeof(text), bits);
    ck_assert_str_eq(text, inconsistencies);
    return consistency;
}

TEST(cases, an_honest_guest_agrees)
{
    ck_assert_double_eq(agree(""), 1);
    now.report.working_set = (struct agent_working_set){
        .anon_bytes = 70 * MIB, .file_bytes = 10 * MIB, .window_s = 30};
    ck_assert_double_eq(agree(""), 1);
}

TEST(cases, more_memory_than_given)
{
    now.report.memory.total_bytes = 4096 * MIB;
    now.report.memory.free_bytes = 3900 * MIB;
    ck_assert_double_eq(agree("total"), 0);
    now.report.memory.total_bytes = 100 * MIB; /* far less */
    now.report.memory.free_bytes = 10 * MIB;
    ck_assert_double_eq(agree("total"), 0);
}

/* 512 MiB RAM, 32 forgiven, nothing left after another 128: 64 beyond is half. */
TEST(cases, more_in_use_than_was_ever_touched)
{
    host.resident_bytes = 104 * MIB;
    ck_assert_double_eq_tol(agree("used"), 0.5, 1e-9);
    host.resident_whole = false; /* it may be on the host's swap */
    ck_assert_double_eq(agree(""), 1);
    now.report.memory.free_bytes = 471 * MIB;
    ck_assert_double_eq(agree("used,touched"), 0);
}

/* It says 200 MiB are in use, 42 more are outside of MemTotal, and 51.2 are forgiven. */
TEST(cases, more_touched_than_in_use)
{
    set_window(&host.window, 60, 293, 300, 310);
    ck_assert_double_eq(agree(""), 1);
    set_window(&host.window, 60, 358, 360, 370);
    ck_assert_double_eq_tol(agree("touched"), 1 - 64.8 / 128, 1e-9);
}

TEST(cases, its_own_working_set_is_larger)
{
    now.report.working_set = (struct agent_working_set){
        .anon_bytes = 150 * MIB, .file_bytes = 51 * MIB, .window_s = 30};
    ck_assert_double_eq_tol(agree("working-set"), 0.5, 1e-9);
    host.guest_window.window_s = 10; /* the host's window is shorter: no contradiction */
    ck_assert_double_eq(agree(""), 1);
}

TEST(cases, its_clock_runs_ahead)
{
    now.report.uptime_s = 200;
    ck_assert_double_lt(agree("time"), 0.1);
    now.report.uptime_s = 110; /* it stood still for 20 s */
    ck_assert_double_eq(agree(""), 1);
    now.report.memory_pressure.some.total_us =
        12100000; /* and stalled a little longer than it ran */
    ck_assert_double_lt(agree("time"), 1);
}

TEST(cases, nothing_to_compare)
{
    guest_report_clear(&now, GUEST_STATS_AGENT);
    ck_assert(isnan(agree("")));
    host.ram_bytes = 0;
    tell(&now, 90); /* restarted */
    ck_assert(isnan(agree("")));
}

TEST(cases, agreement_goes_slowly)
{
    double consistency = consistency_fold(NAN, 1);

    ck_assert_double_eq(consistency, 1);
    consistency = consistency_fold(consistency, 0);
    ck_assert_double_eq_tol(consistency, 7 / 8.0, 1e-9);
    ck_assert_double_eq(consistency_fold(consistency, NAN), consistency);
    for (int i = 0; i < 20; i++)
        consistency = consistency_fold(consistency, 0);
    ck_assert_double_lt(consistency, 0.1);
    ck_assert(isnan(consistency_fold(NAN, NAN)));
}
