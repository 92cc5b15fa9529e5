// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_shrink.c  The memory shrinking experiment: what counts as a complaint, and how far a
 * step goes. */
#include "show/shrink.h"

#include "fixture.h"

#include <math.h>

#define MIB (1ULL << 20)

static struct shrink_reading quiet(void)
{
    return (struct shrink_reading){.available_bytes = 500 * MIB};
}

static const struct shrink_reading full = {.available_bytes = 900 * MIB};

TEST(plain, a_quiet_guest_does_not_complain)
{
    const struct shrink_rules rules = shrink_rules_default(1024 * MIB);
    const struct shrink_reading now = quiet();

    ck_assert_uint_eq(shrink_complaints(&rules, &full, &now), 0);
    ck_assert_uint_eq(shrink_alarms(&rules, &now), 0);
}

TEST(plain, each_complaint_counts_against_the_full_size)
{
    const struct shrink_rules rules = shrink_rules_default(1024 * MIB);
    const struct shrink_reading loud = {.available_bytes = 900 * MIB,
                                        .psi_some = 0.5,
                                        .refault_bytes_s = 9e6,
                                        .swap_in_bytes_s = 9e6,
                                        .major_faults_s = 1000};
    struct shrink_reading now = loud;

    ck_assert_uint_eq(shrink_complaints(&rules, &loud, &now), 0);
    ck_assert_uint_eq(shrink_complaints(&rules, &full, &now),
                      COMPLAINT_PSI | COMPLAINT_REFAULTS | COMPLAINT_SWAP_IN);
    now = loud;
    now.psi_some += 0.011;
    ck_assert_uint_eq(shrink_complaints(&rules, &loud, &now), COMPLAINT_PSI);
    now = loud;
    now.refault_bytes_s += 1.1e6;
    ck_assert_uint_eq(shrink_complaints(&rules, &loud, &now), COMPLAINT_REFAULTS);
    now = loud;
    now.swap_in_bytes_s += 1.1e6;
    ck_assert_uint_eq(shrink_complaints(&rules, &loud, &now), COMPLAINT_SWAP_IN);
}

TEST(plain, major_faults_count_only_for_want_of_better)
{
    const struct shrink_rules rules = shrink_rules_default(1024 * MIB);
    struct shrink_reading now = quiet();

    now.major_faults_s = 60;
    ck_assert_uint_eq(shrink_complaints(&rules, &full, &now), 0);
    now.psi_some = now.psi_full = now.refault_bytes_s = NAN;
    ck_assert_uint_eq(shrink_complaints(&rules, &full, &now), COMPLAINT_MAJOR_FAULTS);
}

TEST(plain, what_is_not_reported_is_no_complaint)
{
    const struct shrink_rules rules = shrink_rules_default(1024 * MIB);
    const struct shrink_reading nothing = {DECIDE_UNKNOWN, NAN, NAN, NAN, NAN, NAN, false};

    ck_assert_uint_eq(shrink_complaints(&rules, &full, &nothing), 0);
    ck_assert_uint_eq(shrink_complaints(&rules, &nothing, &nothing), 0);
    ck_assert_uint_eq(shrink_alarms(&rules, &nothing), 0);
}

TEST(plain, alarms_are_those_of_a_panic)
{
    const struct shrink_rules rules = shrink_rules_default(1024 * MIB);
    struct shrink_reading now = quiet();

    now.psi_some = 0.09;
    ck_assert_uint_eq(shrink_alarms(&rules, &now), 0);
    now.psi_some = 0.1;
    ck_assert_uint_eq(shrink_alarms(&rules, &now), COMPLAINT_PSI);
    now = quiet();
    now.psi_full = 0.01;
    ck_assert_uint_eq(shrink_alarms(&rules, &now), COMPLAINT_PSI);
    now = quiet();
    now.available_bytes = 64 * MIB - 1;
    ck_assert_uint_eq(shrink_alarms(&rules, &now), COMPLAINT_AVAILABLE);
    now = quiet();
    now.oom_kill = true;
    ck_assert_uint_eq(shrink_alarms(&rules, &now), COMPLAINT_OOM_KILL);
}

TEST(plain, a_step_takes_half_of_what_is_available_at_most)
{
    const struct shrink_rules rules = shrink_rules_default(2000 * MIB);

    ck_assert_uint_eq(shrink_next(&rules, 2000 * MIB, 1000 * MIB), 1900 * MIB);
    ck_assert_uint_eq(shrink_next(&rules, 2000 * MIB, 100 * MIB), 1950 * MIB);
    ck_assert_uint_eq(shrink_next(&rules, 2000 * MIB, 1 * MIB), 0);
    ck_assert_uint_eq(shrink_next(&rules, 2000 * MIB, DECIDE_UNKNOWN), 1900 * MIB);
}

TEST(plain, steps_of_noise_are_not_taken)
{
    const struct shrink_rules rules = shrink_rules_default(2000 * MIB);

    ck_assert_uint_eq(shrink_next(&rules, 2000 * MIB, 8 * MIB), 1996 * MIB);
    ck_assert_uint_eq(shrink_next(&rules, 2000 * MIB, 8 * MIB - 1), 0);
    ck_assert_uint_eq(shrink_next(&rules, 503 * MIB, 400 * MIB), 0);
    ck_assert_uint_eq(shrink_rules_default(40 * MIB).step_bytes, SHRINK_STEP_MIN_BYTES);
}

/* The guest complained before it had its size: how far it was is known only roughly. */
TEST(plain, the_knee_is_between_the_target_and_the_last_size)
{
    static struct shrink_report report;

    report = (struct shrink_report){.end = SHRINK_COMPLAINT, .n = 2};
    report.steps[0] = (struct shrink_step){.target_bytes = 1000, .actual_bytes = 1000};
    report.steps[1] = (struct shrink_step){
        .target_bytes = 900, .actual_bytes = 1000, .complaints = COMPLAINT_PSI};
    ck_assert_uint_eq(shrink_knee_low(&report), 900);
    ck_assert_uint_eq(shrink_knee_high(&report), 1000);
    report.steps[1].actual_bytes = 890;
    ck_assert_uint_eq(shrink_knee_low(&report), 890);
    report.end = SHRINK_INTERRUPTED;
    ck_assert_uint_eq(shrink_knee_low(&report), 0);
    ck_assert_uint_eq(shrink_knee_high(&report), 0);
}

TEST(plain, no_step_goes_below_the_floor)
{
    const struct shrink_rules rules = shrink_rules_default(2000 * MIB);

    ck_assert_uint_eq(shrink_next(&rules, 530 * MIB, 400 * MIB), 500 * MIB);
    ck_assert_uint_eq(shrink_next(&rules, 500 * MIB, 400 * MIB), 0);
    ck_assert_uint_eq(shrink_next(&rules, 100 * MIB, 90 * MIB), 0);
}
