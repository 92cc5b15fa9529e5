// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/control/balloon_state.h"

#include "base/array.h"
#include "base/bytes.h"

#include <math.h>

/* Times foreign_s: what happens again within this time is in a row, and that long nothing is taken
 * at most. */
#define ROW_MAX 4
#define HOLD_MAX 3 /* the same of a panic that is not served, and of a driver that is not tried */

const struct balloon_policy balloon_policy_default = {
    .progress_s = 5,
    .move_s = 60,
    .stalls_max = 3,
    .return_s = 30,
    .return_bytes = 64 * DECIDE_MIB,
    .foreign_s = 3600,
    .contests_max = 3,
    .undone_pause_s = 600,
    .still_bytes = DECIDE_MIB,
    .frozen_bytes = 16 * DECIDE_MIB,
    .start_s = 600,
};

/* --- memory that is plugged or unplugged ------------------------------------------------------ */

static uint64_t moved_by(uint64_t bytes, uint64_t from_bytes, uint64_t to_bytes)
{
    return bytes == 0 ? 0 : larger(less(bytes + to_bytes, from_bytes), 1);
}

void balloon_shift(struct balloon_state *state, uint64_t assigned_bytes)
{
    uint64_t *const sizes[] = {
        &state->before_bytes,
        &state->seen_bytes,
        &state->set_bytes,
        &state->from_bytes,
        &state->mark_bytes,
        &state->rest_bytes,
        &state->limit_bytes,
        &state->rival.lost.before_bytes,
        &state->rival.lost.limit_bytes,
        &state->rival.lost.set_bytes,
    };

    for (size_t i = 0; state->plug.assigned_bytes > 0 && i < COUNT(sizes); i++)
        *sizes[i] = moved_by(*sizes[i], state->plug.assigned_bytes, assigned_bytes);
    state->plug.assigned_bytes = assigned_bytes;
    state->plug.since_s = 0;
}

/* Returns true if the balloon is where it was under the former M, or on its way to its target. */
static bool has_followed(const struct balloon_state *state, const struct balloon_policy *policy,
                         const struct decide_input *input)
{
    uint64_t taken = input->assigned_bytes - decide_actual(input);
    uint64_t from = less(state->plug.assigned_bytes, state->seen_bytes);
    uint64_t to = state->moving ? less(state->plug.assigned_bytes, state->set_bytes) : from;

    return taken + policy->still_bytes >= smaller(from, to) &&
           taken <= larger(from, to) + policy->still_bytes;
}

uint64_t balloon_shifted(uint64_t bytes, uint64_t set_bytes, uint64_t from_bytes,
                         const struct decide_input *input)
{
    const struct balloon_state then = {.plug.assigned_bytes = from_bytes, .seen_bytes = set_bytes};

    if (from_bytes == 0 || !has_followed(&then, &balloon_policy_default, input))
        return bytes;
    return moved_by(bytes, from_bytes, input->assigned_bytes);
}

/* Returns true if nothing can be concluded from B yet: M has changed, also there and back, and B
 * may still be that of any M since. If B does not follow within the time of a move, it is compared
 * as it is. A balloon on its way cannot be told from one that is late, so it is waited for as long.
 */
static bool follow_plug(struct balloon_state *state, const struct balloon_policy *policy,
                        const struct decide_input *input, double now_s)
{
    if (state->plug.assigned_bytes == 0 || state->seen_bytes == 0)
        state->plug.assigned_bytes = state->plug.last_bytes = input->assigned_bytes;
    if (state->plug.last_bytes > 0 && state->plug.last_bytes != input->assigned_bytes)
        state->plug.moved_s = now_s;
    state->plug.last_bytes = input->assigned_bytes;

    bool late = state->plug.moved_s > 0 && now_s - state->plug.moved_s < policy->move_s;
    bool fits = has_followed(state, policy, input);

    if (state->plug.assigned_bytes != input->assigned_bytes && fits) {
        balloon_shift(state, input->assigned_bytes);
        state->rest_since_s = now_s; /* statistics from before compare with the former size */
    }
    if (late && (!fits || state->moving)) {
        state->plug.since_s = state->plug.since_s > 0 ? state->plug.since_s : now_s;
        return true;
    }
    state->plug.assigned_bytes = input->assigned_bytes;
    state->plug.since_s = 0;
    return false;
}

/* --- moves ------------------------------------------------------------------------------------ */

/* Returns how long nothing is tried after @p n times in a row, of which @p free cost nothing. */
static double pause_after(const struct balloon_policy *policy, unsigned n, unsigned free,
                          double most_s)
{
    return n > free ? fmin(policy->undone_pause_s * exp2((double)(n - free) - 1), most_s) : 0;
}

/* Returns how often it was in a row until now. Another program may be slow. */
static unsigned row_n(const struct balloon_row *row, const struct balloon_policy *policy,
                      double now_s)
{
    const double most_s = ROW_MAX * policy->foreign_s;

    return now_s - row->at_s > most_s + pause_after(policy, row->n, 0, most_s) ? 0 : row->n;
}

static void count_one(struct balloon_row *row, const struct balloon_policy *policy, double now_s)
{
    row->n = row_n(row, policy, now_s) + 1;
    row->at_s = now_s;
}

/* Another program has taken back what we gave. The more often that happens, the longer panics get
 * nothing, and the balloon is left alone for twice as long. */
static void note_contest(struct balloon_state *state, const struct balloon_policy *policy,
                         double now_s)
{
    struct balloon_row *row = &state->rival.took;
    double hold_s;

    state->rival.raised = false;
    count_one(row, policy, now_s);
    hold_s = row->n < policy->contests_max ? 0
                                           : pause_after(policy, row->n, policy->contests_max - 2,
                                                         HOLD_MAX * policy->foreign_s);
    state->rival.hold_s = now_s + hold_s;
    state->rival.until_s = now_s + fmax(policy->foreign_s, 2 * hold_s);
}

/* Notes that what was taken came back, or did not come. The more often that happens, the longer
 * nothing is taken. What comes back while nothing is taken counts as one. */
static void note_back(struct balloon_state *state, const struct balloon_policy *policy,
                      unsigned free, double now_s)
{
    struct balloon_row *row = &state->rival.back;

    if (row->n == 0 || now_s >= state->pace.paused_until_s)
        count_one(row, policy, now_s);
    row->at_s = now_s;
    state->pace.paused_until_s = fmax(
        state->pace.paused_until_s,
        now_s + pause_after(policy, row->n, free, ROW_MAX * policy->foreign_s));
}

/* Remembers the limits of a guest that has more memory than we, or its owner, gave it. Either
 * another program gave it more, or the guest was reset: then its balloon is empty at first, and is
 * inflated to QEMU's last target again when its driver has loaded. */
static void note_lost(struct balloon_state *state, const struct balloon_policy *policy,
                      uint64_t actual, double now_s)
{
    bool ours = state->before_bytes > 0;
    bool is_empty = actual + policy->still_bytes >= state->plug.assigned_bytes;

    if (actual <= larger(state->before_bytes, state->limit_bytes) + policy->still_bytes ||
        !(ours || is_empty))
        return;
    state->rival.lost.before_bytes = state->before_bytes;
    state->rival.lost.limit_bytes = state->limit_bytes;
    state->rival.lost.set_bytes = ours ? state->set_bytes : state->seen_bytes;
    state->rival.lost.until_s = now_s + policy->foreign_s;
}

static void leave_to_another(struct balloon_state *state, const struct balloon_policy *policy,
                             uint64_t actual, double now_s)
{
    note_lost(state, policy, actual, now_s);
    state->moving = state->stalled = state->proving = false;
    state->limit_bytes = larger(state->limit_bytes, larger(state->seen_bytes, actual));
    state->before_bytes = 0;
    state->pending_bytes = 0;
    if (state->trouble == TROUBLE_NO_RETURN)
        return;
    state->has_driver = true;
    state->trouble = TROUBLE_FOREIGN;
    state->rival.until_s = fmax(now_s + policy->foreign_s, state->rival.until_s);
    if (state->rival.raised && actual < state->seen_bytes)
        note_contest(state, policy, now_s);
}

/* The balloon is back at our target: the guest was reset. */
static void regain(struct balloon_state *state, const struct balloon_policy *policy,
                   uint64_t actual, double now_s)
{
    if (state->trouble != TROUBLE_FOREIGN || state->rival.lost.limit_bytes == 0 ||
        now_s >= state->rival.lost.until_s ||
        row_n(&state->rival.took, policy, now_s) >= policy->contests_max ||
        distance(actual, state->rival.lost.set_bytes) > policy->still_bytes)
        return;
    state->trouble = TROUBLE_NONE;
    state->before_bytes = state->rival.lost.before_bytes;
    state->limit_bytes = state->rival.lost.limit_bytes;
    state->set_bytes = state->seen_bytes = actual;
    state->rival.lost.limit_bytes = 0;
    state->pace.paused_until_s = fmax(state->pace.paused_until_s, now_s + policy->undone_pause_s);
}

/* Its driver has just been loaded, and takes what libvirt told QEMU at the start. */
static bool starts_smaller(const struct balloon_state *state, const struct balloon_policy *policy,
                           const struct decide_input *input)
{
    double start_s = input->guest.starting ? policy->foreign_s : policy->start_s;

    return state->before_bytes == 0 && !(input->up_s >= start_s) &&
           state->seen_bytes + policy->still_bytes >= input->assigned_bytes;
}

/* Handles a move without a target of ours: the guest takes back what it had, or another controller
 * moves the balloon. */
static void move_unasked(struct balloon_state *state, const struct balloon_policy *policy,
                         const struct decide_input *input, double now_s)
{
    uint64_t actual = decide_actual(input);

    if (starts_smaller(state, policy, input)) {
        state->rested = false;
        state->limit_bytes = 0;
        return;
    }
    if (actual < state->seen_bytes || actual > state->before_bytes + policy->still_bytes) {
        leave_to_another(state, policy, actual, now_s);
        return;
    }
    state->moving = state->proving = false;
    state->stalled = true;
    note_back(state, policy, 0, now_s);
}

static void arrive(struct balloon_state *state, double now_s)
{
    state->moving = false;
    state->n_stalls = 0;
    state->has_driver = state->has_driver ||
                        distance(state->set_bytes, state->from_bytes) > DECIDE_MIB;
    state->proving = state->set_bytes < state->from_bytes;
    state->settled_at_s = now_s;
}

/* The driver of a suspended guest does not run, which proves nothing about it. One that is slow has
 * not stopped. */
static void stall(struct balloon_state *state, const struct balloon_policy *policy,
                  const struct decide_input *input, double now_s)
{
    uint64_t actual = decide_actual(input);
    bool moved = distance(actual, state->from_bytes) > policy->still_bytes;
    bool stopped = now_s - state->progress_at_s >= policy->progress_s;

    state->moving = false;
    state->stalled = true;
    state->proving = moved && actual < state->from_bytes;
    state->set_bytes = actual;
    state->settled_at_s = now_s;
    state->has_driver = state->has_driver || moved;
    if (moved)
        state->n_stalls = 0;
    if (state->unsure || (input->vetoes & VETO_PAUSED))
        return;
    if (state->rival.raised && state->trouble == TROUBLE_FOREIGN) {
        if (stopped) /* between two decisions */
            note_contest(state, policy, now_s);
    } else if (!moved) {
        state->n_stalls++;
    } else if (stopped && actual < state->from_bytes) {
        note_back(state, policy, 1, now_s);
    }
    if (state->n_stalls < policy->stalls_max || state->trouble != TROUBLE_NONE)
        return;
    state->trouble = TROUBLE_NO_DRIVER;
    count_one(&state->rival.back, policy, now_s);
}

/* Returns how far it has come in the direction of its target since it had @p since_bytes; negative:
 * the other way. */
static int64_t came(const struct balloon_state *state, uint64_t since_bytes, uint64_t actual)
{
    return state->set_bytes < state->from_bytes ? (int64_t)(since_bytes - actual)
                                                : (int64_t)(actual - since_bytes);
}

static bool is_there(const struct balloon_state *state, const struct balloon_policy *policy,
                     uint64_t actual)
{
    return state->set_bytes < state->from_bytes ? actual < state->set_bytes + policy->still_bytes
                                                : actual + policy->still_bytes > state->set_bytes;
}

/* A driver stops at its target. */
static bool is_beyond(const struct balloon_state *state, const struct balloon_policy *policy,
                      uint64_t actual)
{
    return is_there(state, policy, actual) &&
           distance(actual, state->set_bytes) > policy->still_bytes;
}

/* The mark moves with each progress. */
static bool is_stuck(struct balloon_state *state, const struct balloon_policy *policy,
                     uint64_t actual, double now_s)
{
    if (came(state, state->mark_bytes, actual) >= (int64_t)policy->still_bytes) {
        state->mark_bytes = actual;
        state->progress_at_s = now_s;
    }
    return now_s - state->progress_at_s >= policy->progress_s ||
           now_s - state->issued_at_s >= policy->move_s;
}

static void follow_move(struct balloon_state *state, const struct balloon_policy *policy,
                        const struct decide_input *input, double now_s)
{
    uint64_t actual = decide_actual(input);
    const int64_t still = (int64_t)policy->still_bytes;

    if (came(state, state->seen_bytes, actual) < -still) {
        move_unasked(state, policy, input, now_s);
    } else if (is_beyond(state, policy, actual)) {
        leave_to_another(state, policy, actual, now_s);
    } else if (is_there(state, policy, actual)) {
        arrive(state, now_s);
    } else if (is_stuck(state, policy, actual, now_s)) {
        stall(state, policy, input, now_s);
    }
}

static void note_rest(struct balloon_state *state, const struct balloon_policy *policy,
                      uint64_t actual, double now_s)
{
    if (state->seen_bytes > 0 && distance(actual, state->rest_bytes) <= policy->still_bytes)
        return;
    state->rest_bytes = actual;
    state->rest_since_s = now_s;
}

/* Only a record from after the wait counts. */
static void prove(struct balloon_state *state, const struct balloon_policy *policy,
                  const struct decide_input *input, double now_s)
{
    if (!balloon_made_after(input->age_s, state->settled_at_s + policy->return_s, now_s))
        return;
    state->proving = false;
    if (input->resident_bytes > state->set_bytes + policy->return_bytes)
        state->trouble = TROUBLE_NO_RETURN;
}

/* A record from before the order does not show what came after it: if a balloon on its way down is
 * given memory at once, the memory that was resident then is gone, and does not count as touched.
 * After an hour without a record (vmwssd has ended, or cannot measure it) all of it counts as
 * touched: what is free by then shows it, and other guests may need that. */
static void note_touched(struct balloon_state *state, const struct balloon_policy *policy,
                         const struct decide_input *input, uint64_t actual, double now_s)
{
    uint64_t given = state->moving ? larger(state->set_bytes, actual) : actual;

    if (input->resident_bytes > 0 && balloon_made_after(input->age_s, state->issued_at_s, now_s))
        state->pending_bytes = smaller(state->pending_bytes, less(given, input->resident_bytes));
    else if (now_s - state->issued_at_s >= policy->foreign_s)
        state->pending_bytes = 0;
}

/* It may just have had no time to run, or nothing left to give, or its driver is loaded only now.
 * It has one try. */
static void end_trouble(struct balloon_state *state, const struct balloon_policy *policy,
                        double now_s)
{
    double tried_s = fmax(policy->foreign_s, pause_after(policy, state->rival.back.n, 0,
                                                         HOLD_MAX * policy->foreign_s));

    if (state->trouble == TROUBLE_FOREIGN && now_s >= state->rival.until_s)
        state->trouble = TROUBLE_NONE;
    if (state->trouble == TROUBLE_NO_DRIVER && !state->moving &&
        now_s - state->settled_at_s >= tried_s) {
        state->trouble = TROUBLE_NONE;
        state->n_stalls = policy->stalls_max - 1;
    }
}

void balloon_observe(struct balloon_state *state, const struct balloon_policy *policy,
                     const struct decide_input *input, double now_s)
{
    uint64_t actual = decide_actual(input);

    if (input->actual_bytes == DECIDE_UNKNOWN)
        return;
    end_trouble(state, policy, now_s);
    if (follow_plug(state, policy, input, now_s))
        return;
    note_rest(state, policy, actual, now_s);
    regain(state, policy, actual, now_s);
    if (state->moving)
        follow_move(state, policy, input, now_s);
    else if (state->rested && !state->quiet &&
             distance(actual, state->seen_bytes) > policy->still_bytes)
        move_unasked(state, policy, input, now_s);
    state->rested = state->rested || now_s - state->rest_since_s >= policy->progress_s;
    if (state->rested && state->limit_bytes == 0)
        state->limit_bytes = larger(state->before_bytes, actual);
    if (state->quiet && now_s - state->settled_at_s >= policy->return_s)
        state->quiet = false;
    if (state->proving)
        prove(state, policy, input, now_s);
    note_touched(state, policy, input, actual, now_s);
    /* Small moves add up. */
    if (!state->rested || state->moving || state->quiet ||
        distance(actual, state->seen_bytes) > policy->still_bytes)
        state->seen_bytes = actual;
}

void balloon_adopt(struct balloon_state *state, const struct balloon_policy *policy,
                   const struct decide_input *input, uint64_t before_bytes, uint64_t set_bytes,
                   double now_s)
{
    uint64_t actual = decide_actual(input);

    state->before_bytes = before_bytes;
    state->limit_bytes = larger(before_bytes, actual);
    state->plug.assigned_bytes = input->assigned_bytes;
    state->rested = true;
    state->has_driver = actual + policy->still_bytes < before_bytes;
    state->seen_bytes = state->from_bytes = state->mark_bytes = state->rest_bytes = actual;
    state->issued_at_s = state->progress_at_s = state->settled_at_s = state->rest_since_s = now_s;
    state->set_bytes = set_bytes;
    state->moving = distance(actual, set_bytes) > policy->still_bytes;
    state->proving = !state->moving && set_bytes < before_bytes;
    state->pending_bytes = state->moving ? less(set_bytes, actual) : 0;
}

uint64_t balloon_before(const struct balloon_state *state, const struct decide_input *input)
{
    if (state->before_bytes > 0)
        return state->before_bytes;
    return state->rested ? decide_actual(input) : input->assigned_bytes;
}

uint64_t balloon_limit(const struct balloon_state *state, const struct decide_input *input,
                       uint64_t allowed_bytes)
{
    uint64_t limit = state->rested ? larger(state->limit_bytes, state->before_bytes)
                                   : decide_actual(input);

    return smaller(larger(limit, allowed_bytes), input->assigned_bytes);
}

uint64_t balloon_given(const struct balloon_state *state, const struct decide_input *input)
{
    uint64_t actual = decide_actual(input);

    return state->moving ? larger(actual, state->set_bytes) : actual;
}

void balloon_issued(struct balloon_state *state, const struct decide_input *input,
                    uint64_t target_bytes, double now_s)
{
    uint64_t actual = decide_actual(input);

    state->before_bytes = balloon_before(state, input);
    if (balloon_is_plugging(state)) /* a panic did not wait for B: what was taken is as it was */
        state->before_bytes = smaller(
            moved_by(state->before_bytes, state->plug.assigned_bytes, input->assigned_bytes),
            input->assigned_bytes);
    state->plug.assigned_bytes = input->assigned_bytes;
    state->plug.since_s = 0;
    state->rested = true;
    state->pending_bytes += less(target_bytes, balloon_given(state, input));
    if (target_bytes != actual)
        state->rival.raised = target_bytes > actual;
    state->from_bytes = state->seen_bytes = state->mark_bytes = actual;
    if (state->moving && target_bytes > actual) /* it may have gone on since libvirt was asked */
        state->seen_bytes = smaller(actual, state->set_bytes);
    state->set_bytes = target_bytes;
    state->rival.lost.limit_bytes = 0;
    state->stalled = state->unsure = false;
    state->moving = target_bytes != actual;
    state->proving = state->proving && !state->moving;
    state->issued_at_s = state->progress_at_s = now_s;
    state->quiet = !state->moving;
    if (state->quiet)
        state->settled_at_s = now_s;
}
