// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/control/giving_back.h"

#include "base/bytes.h"

#include <math.h>

#define STEP_SHARE 20 /* of what it has */
#define STEP_MIN_BYTES (64 * DECIDE_MIB)
#define SHORT_MAX 4 /* times that the ten minutes are doubled: 160 minutes */
/* A record that shows what the last step came to is made within this time, if any is made. */
#define RECORD_S 180

#define WAITS ((unsigned)(VETO_PRESSURE | VETO_REFAULTS | VETO_VERDICT))

static bool waits(const struct control_guest *guest)
{
    return (guest->decision.vetoes & WAITS) != 0;
}

static uint64_t lacks(const struct control_guest *guest)
{
    uint64_t most = smaller(guest->state.before_bytes, decide_most(&guest->input));

    return less(most, decide_actual(&guest->input));
}

static bool may_get(const struct control_guest *guest, double now_s)
{
    const struct balloon_state *state = &guest->state;
    bool settles = (guest->decision.vetoes & VETO_UNSETTLED) &&
                   now_s - state->rest_since_s < RECORD_S;

    return !guest->served && guest->action == CONTROL_NONE && !state->moving &&
           state->trouble == TROUBLE_NONE && lacks(guest) >= DECIDE_MIB && !settles &&
           !(guest->decision.vetoes & VETO_PAUSED);
}

static struct control_guest *next_to_get(struct control_guest *guests, size_t n, double now_s,
                                         bool all)
{
    struct control_guest *best = NULL;

    for (size_t i = 0; i < n; i++) {
        struct control_guest *guest = &guests[i];

        if (!may_get(guest, now_s) || !(all || waits(guest)))
            continue;
        if (!best || waits(guest) > waits(best) ||
            (waits(guest) == waits(best) && guest->decision.rho > best->decision.rho))
            best = guest;
    }
    return best;
}

static uint64_t step_of(const struct decide_policy *policy, const struct control_guest *guest)
{
    uint64_t step = larger(decide_actual(&guest->input) / STEP_SHARE, STEP_MIN_BYTES);

    return smaller(smaller(step, decide_step_most(policy, &guest->input)), lacks(guest));
}

static bool gave_lately(const struct control_policy *policy, const struct control_host *host)
{
    return host->ease.given_s > 0 && host->now_s - host->ease.given_s < policy->decide.turn_pause_s;
}

static void end_ease(const struct control_policy *policy, struct control_host *host)
{
    host->ease.since_s = 0;
    if (host->level == LEVEL_AMPLE || !gave_lately(policy, host))
        return;
    host->ease.n_short += host->ease.n_short < SHORT_MAX;
    host->ease.given_s = 0;
}

/* Returns true if the host has been ample for long enough. */
static bool goes_on(const struct control_policy *policy, struct control_host *host)
{
    if (host->ease.since_s == 0)
        host->ease.since_s = host->now_s;
    if (host->ease.given_s > 0 && !gave_lately(policy, host)) {
        host->ease.given_s = 0;
        host->ease.n_short = 0;
    }
    return host->now_s - host->ease.since_s >=
           policy->decide.down_after_s * exp2(host->ease.n_short);
}

void giving_back(const struct control_policy *policy, struct control_host *host,
                 struct control_guest *guests, size_t n, uint64_t loose_bytes)
{
    struct control_guest *guest;
    bool all;

    if (host->level != LEVEL_AMPLE || host->room_bytes > 0)
        end_ease(policy, host);
    if (host->level != LEVEL_AMPLE)
        return;
    all = host->room_bytes == 0 && goes_on(policy, host) && !policy->proactive;
    while (loose_bytes >= DECIDE_MIB &&
           (guest = next_to_get(guests, n, host->now_s, all)) != NULL) {
        uint64_t step = smaller(step_of(&policy->decide, guest), loose_bytes);

        if (step < smaller(STEP_MIN_BYTES, lacks(guest)))
            return; /* the host has just what it keeps: each MiB of it would be an order */
        step -= step % DECIDE_MIB;
        guest->served = guest->given_back = true;
        guest->action = CONTROL_GROW;
        guest->hold = HOLD_NONE;
        guest->target_bytes = decide_actual(&guest->input) + step;
        if (!waits(guest))
            host->ease.given_s = host->now_s;
        guest->state.pace.turned = true;
        guest->state.pace.turned_at_s = host->now_s;
        loose_bytes -= step;
    }
}
