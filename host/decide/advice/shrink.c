// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/advice/shrink.h"

#include "base/bytes.h"

#include <math.h>
#include <stddef.h>

#define MIB 1048576.0
#define STEPS 20

struct shrink_rules shrink_rules_default(uint64_t full_bytes)
{
    const struct decide_policy *policy = &decide_policy_default;

    return (struct shrink_rules){
        .step_bytes = larger(full_bytes / STEPS, SHRINK_STEP_MIN_BYTES),
        .floor_bytes = full_bytes / 4,
        .psi_some = 0.01,
        .paging_bytes_s = MIB,
        .major_faults_s = 50,
        .available_bytes = decide_little(policy, full_bytes),
    };
}

const char *shrink_complaint_name(unsigned number)
{
    static const char *const names[COMPLAINT_N] = {"psi-some",     "refaults",  "swap-in",
                                                   "major-faults", "available", "oom-kill"};

    return number < COMPLAINT_N ? names[number] : NULL;
}

/* Returns false if the guest does not report it. */
static bool exceeds(double now, double full, double by)
{
    return now - (isnan(full) ? 0 : full) >= by;
}

static unsigned of_what_is_left(const struct shrink_rules *rules, const struct shrink_reading *now)
{
    bool little = now->available_bytes != DECIDE_UNKNOWN &&
                  now->available_bytes < rules->available_bytes;

    return (little ? COMPLAINT_AVAILABLE : 0U) | (now->oom_kill ? COMPLAINT_OOM_KILL : 0U);
}

unsigned shrink_complaints(const struct shrink_rules *rules, const struct shrink_reading *full,
                           const struct shrink_reading *now)
{
    /* Reading in programs causes major faults too, so they count only if there is no better sign.
     */
    bool only_faults = isnan(now->psi_some) && isnan(now->refault_bytes_s);
    unsigned complaints = of_what_is_left(rules, now);

    if (exceeds(now->psi_some, full->psi_some, rules->psi_some))
        complaints |= COMPLAINT_PSI;
    if (exceeds(now->refault_bytes_s, full->refault_bytes_s, rules->paging_bytes_s))
        complaints |= COMPLAINT_REFAULTS;
    if (exceeds(now->swap_in_bytes_s, full->swap_in_bytes_s, rules->paging_bytes_s))
        complaints |= COMPLAINT_SWAP_IN;
    if (only_faults && exceeds(now->major_faults_s, full->major_faults_s, rules->major_faults_s))
        complaints |= COMPLAINT_MAJOR_FAULTS;
    return complaints;
}

unsigned shrink_alarms(const struct shrink_rules *rules, const struct shrink_reading *now)
{
    const struct decide_policy *policy = &decide_policy_default;
    bool stalls = now->psi_some >= policy->psi_some_panic ||
                  now->psi_full >= policy->psi_full_panic;

    return of_what_is_left(rules, now) | (stalls ? COMPLAINT_PSI : 0U);
}

uint64_t shrink_next(const struct shrink_rules *rules, uint64_t actual_bytes,
                     uint64_t available_bytes)
{
    uint64_t step = rules->step_bytes;
    uint64_t room = actual_bytes > rules->floor_bytes ? actual_bytes - rules->floor_bytes : 0;

    if (available_bytes != DECIDE_UNKNOWN && available_bytes / 2 < step)
        step = available_bytes / 2;
    if (step > room)
        step = room;
    return step < SHRINK_STEP_MIN_BYTES ? 0 : actual_bytes - step;
}
