// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_stats_fields.c  The fields of a guest's statistics; see field.h. */
#include "measure/record/field.h"

#define AT(member) .offset = offsetof(struct guest_stats, member)
#define TEXT(member) AT(member), .size = sizeof(((struct guest_stats *)NULL)->member)
#define NAMED(member) TEXT(member)
#define U64(group, member) FIELD_U64, group, AT(member), .may_lack = true
#define REAL(group, member) FIELD_REAL, group, AT(member), .may_lack = true
#define COLUMN(name) .home = HOME_GUEST_STATS, .column = (name)
#define OWN_COLUMN(name) .home = HOME_OWN_SET, .column = (name)
#define GUEST_REPORTED "The guest's word, which nothing on the host vouches for: "

/* In the order of the JSON output. */
static const struct field fields[] = {
    {FIELD_NAME, GROUP_SOURCE, NAMED(source), .names = &guest_stats_source_names, COLUMN("source"),
     .json = "source", .csv = "guest_source"},
    {FIELD_TEXT, GROUP_UNAVAILABLE, TEXT(unavailable), COLUMN("missing"), .csv = "guest_missing"},
    {U64(GROUP_MEMORY, total_bytes), COLUMN("total_bytes"), .json = "total_bytes",
     .rollup = ROLLUP_LAST, .metric = "vmwss_guest_memory_total_bytes",
     .help = GUEST_REPORTED "memory that it has."},
    {U64(GROUP_MEMORY, used_bytes), COLUMN("used_bytes"), .json = "used_bytes",
     .csv = "guest_used_bytes", .rollup = ROLLUP_MAX, .metric = "vmwss_guest_memory_used_bytes",
     .help = GUEST_REPORTED "memory that it could not have without swapping."},
    {U64(GROUP_MEMORY, available_bytes), COLUMN("available_bytes"), .json = "available_bytes",
     .csv = "guest_available_bytes", .rollup = ROLLUP_MIN,
     .metric = "vmwss_guest_memory_available_bytes",
     .help = GUEST_REPORTED "memory that it could have without swapping."},
    {U64(GROUP_CACHE, cache_warm_bytes), COLUMN("cache_warm_bytes"), .json = "cache_warm_bytes",
     .csv = "guest_cache_warm_bytes", .rollup = ROLLUP_MEAN,
     .metric = "vmwss_guest_cache_warm_bytes",
     .help = GUEST_REPORTED "page cache on its active list."},
    {U64(GROUP_CACHE, cache_cold_bytes), COLUMN("cache_cold_bytes"), .json = "cache_cold_bytes",
     .csv = "guest_cache_cold_bytes", .rollup = ROLLUP_MEAN,
     .metric = "vmwss_guest_cache_cold_bytes",
     .help = GUEST_REPORTED "page cache on its inactive list."},
    {REAL(GROUP_RATES, interval_s), COLUMN("interval_s"), .json = "interval_s", .digit = 0.001},
    {REAL(GROUP_RATES, psi_some), COLUMN("psi_some"), .json = "psi_some_ratio", .digit = 0.00001,
     .csv = "guest_psi_some_ratio", .rollup = ROLLUP_MEAN,
     .metric = "vmwss_guest_pressure_some_ratio",
     .help = GUEST_REPORTED
     "share of the time in which something waited for memory (PSI), since its last "
     "report."},
    {REAL(GROUP_RATES, psi_full), COLUMN("psi_full"), .json = "psi_full_ratio", .digit = 0.00001,
     .csv = "guest_psi_full_ratio", .rollup = ROLLUP_MEAN,
     .metric = "vmwss_guest_pressure_full_ratio",
     .help = GUEST_REPORTED
     "share of the time in which all waited for memory (PSI), since its last "
     "report."},
    {REAL(GROUP_RATES, swap_in_bytes_s), COLUMN("swap_in_bytes_s"), .json = "swap_in_bytes_per_s",
     .digit = 1, .csv = "guest_swap_in_bytes_per_s", .rollup = ROLLUP_MEAN,
     .metric = "vmwss_guest_swap_in_bytes_per_second",
     .help = GUEST_REPORTED "swapped in, since its last report."},
    {REAL(GROUP_RATES, swap_out_bytes_s), COLUMN("swap_out_bytes_s"),
     .json = "swap_out_bytes_per_s", .digit = 1, .metric = "vmwss_guest_swap_out_bytes_per_second",
     .help = GUEST_REPORTED "swapped out, since its last report."},
    {REAL(GROUP_RATES, refault_bytes_s), COLUMN("refault_bytes_s"), .json = "refault_bytes_per_s",
     .digit = 1, .csv = "guest_refault_bytes_per_s", .rollup = ROLLUP_MEAN,
     .metric = "vmwss_guest_refault_bytes_per_second",
     .help = GUEST_REPORTED "read again soon after it was dropped, since its last report."},
    {REAL(GROUP_RATES, scan_bytes_s), COLUMN("scan_bytes_s"), .json = "scan_bytes_per_s",
     .digit = 1, .metric = "vmwss_guest_scan_bytes_per_second",
     .help = GUEST_REPORTED "looked at to find some to drop."},
    {REAL(GROUP_RATES, major_faults_s), COLUMN("major_faults_s"), .json = "major_faults_per_s",
     .digit = 0.001},
    {REAL(GROUP_SPLIT, window_s), COLUMN("window_s"), .json = "window_s", .digit = 0.001},
    {U64(GROUP_SPLIT, wss_cache_low_bytes), COLUMN("wss_cache_low_bytes"),
     .json = "wss_cache_low_bytes"},
    {U64(GROUP_SPLIT, wss_cache_high_bytes), COLUMN("wss_cache_high_bytes"),
     .json = "wss_cache_high_bytes"},
    {U64(GROUP_SPLIT, wss_anon_low_bytes), COLUMN("wss_anon_low_bytes"),
     .json = "wss_anon_low_bytes"},
    {U64(GROUP_SPLIT, wss_anon_high_bytes), COLUMN("wss_anon_high_bytes"),
     .json = "wss_anon_high_bytes"},
    {REAL(GROUP_OWN, own_window_s), OWN_COLUMN("window_s"), .json = "own_window_s", .digit = 0.001,
     .csv = "guest_own_window_s", .metric = "vmwss_guest_own_window_seconds",
     .help = GUEST_REPORTED "the window of its own working set."},
    {REAL(GROUP_OWN, own_age_s), OWN_COLUMN("age_s"), .json = "own_age_s", .digit = 0.001},
    {U64(GROUP_OWN, own_anon_bytes), OWN_COLUMN("anon_bytes"), .json = "own_anon_bytes",
     .csv = "guest_own_anon_bytes", .metric = "vmwss_guest_own_anon_bytes",
     .help = GUEST_REPORTED "memory of processes in its own working set, by referenced bits."},
    {U64(GROUP_OWN, own_file_bytes), OWN_COLUMN("file_bytes"), .json = "own_file_bytes",
     .csv = "guest_own_file_bytes", .metric = "vmwss_guest_own_file_bytes",
     .help = GUEST_REPORTED
     "page cache in its own working set that processes have mapped, by referenced "
     "bits."},
    {FIELD_NAME, GROUP_VERDICT, NAMED(verdict), .names = &guest_stats_verdict_names,
     COLUMN("verdict"), .json = "verdict", .csv = "guest_verdict"},
    {FIELD_SET, GROUP_VERDICT, AT(reasons), .names = &guest_stats_reason_names, COLUMN("reasons"),
     .json = "reasons"},
    {FIELD_BOOL, GROUP_VERDICT, AT(at_least_allocation), COLUMN("at_least"),
     .json = "at_least_allocation", .metric = "vmwss_guest_at_least_allocation",
     .help = GUEST_REPORTED "1 if it pages while the host sees nearly all of its memory touched."},
    {REAL(GROUP_VERDICT, consistency), COLUMN("agreement"), .json = "agreement", .digit = 0.001,
     .csv = "guest_agreement", .rollup = ROLLUP_MIN, .metric = "vmwss_guest_agreement_ratio",
     .help = "How far the guest's word and the host's numbers can both be right, lately; 1: all "
             "of it."},
    {FIELD_SET, GROUP_VERDICT, AT(inconsistencies), .names = &guest_stats_inconsistency_names,
     COLUMN("doubts"), .json = "doubts"},
    {.type = FIELD_END},
};

const struct field *guest_stats_fields(void)
{
    return fields;
}
