// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/advice/backtest.h"

#include "base/bytes.h"

#include <math.h>

size_t backtest_room(double window_s, int step_s)
{
    return (size_t)fmax(ceil(window_s / step_s - 1e-9), 1) + 1;
}

void backtest_begin(struct backtest *backtest, const struct decide_policy *policy, double window_s,
                    int step_s, struct backtest_pending *pending)
{
    size_t room = backtest_room(window_s, step_s);

    *backtest = (struct backtest){.policy = *policy,
                                  .step_s = step_s,
                                  .horizon_s = (int64_t)(room - 1) * step_s,
                                  .pending = pending,
                                  .n_pending = room};
    for (size_t i = 0; i < room; i++)
        pending[i].used = false;
}

static struct backtest_pending *slot_of(struct backtest *backtest, int64_t start_s)
{
    return &backtest->pending[(uint64_t)(start_s / backtest->step_s) % backtest->n_pending];
}

/* Scores the decision made one horizon ago. */
static void score(struct backtest *backtest, int64_t start_s, uint64_t reached_bytes)
{
    const struct backtest_pending *past = slot_of(backtest, start_s - backtest->horizon_s);
    struct backtest_result *result = &backtest->result;

    if (!past->used || past->start_s != start_s - backtest->horizon_s ||
        reached_bytes == DECIDE_UNKNOWN)
        return;
    result->scored++;
    result->size_exceeded += reached_bytes > past->size_bytes;
    if (reached_bytes <= past->target_bytes)
        return;
    result->exceeded++;
    result->worst_bytes = larger(result->worst_bytes, reached_bytes - past->target_bytes);
}

static void change(struct backtest *backtest, uint64_t size_bytes)
{
    struct backtest_result *result = &backtest->result;
    int direction = size_bytes > backtest->size_bytes ? 1 : -1;

    if (size_bytes == backtest->size_bytes)
        return;
    result->changes++;
    result->grows += direction > 0;
    result->shrinks += direction < 0;
    result->reversals += backtest->direction == -direction;
    backtest->direction = direction;
    backtest->size_bytes = size_bytes;
}

/* Gives the guest that size: it uses as much as it did, and has the rest available. */
static void resize(struct decide_input *input, uint64_t size_bytes)
{
    uint64_t had = decide_actual(input);
    struct decide_guest *guest = &input->guest;

    input->actual_bytes = size_bytes;
    if (guest->available_bytes == DECIDE_UNKNOWN)
        return;

    uint64_t used = less(had, guest->available_bytes);

    guest->available_bytes = less(size_bytes, used);
}

void backtest_see(struct backtest *backtest, int64_t start_s, const struct decide_input *input,
                  uint64_t reached_bytes)
{
    struct backtest_result *result = &backtest->result;
    struct decide_input now = *input;
    double now_s = (double)(start_s + backtest->step_s);
    struct decide_decision decision;

    score(backtest, start_s, reached_bytes);
    if (backtest->size_bytes == 0)
        backtest->size_bytes = input->assigned_bytes;
    resize(&now, backtest->size_bytes);
    decide_remember(&backtest->pace, now_s, &now);
    decide(&backtest->policy, &now, &decision);
    change(backtest, decide_step(&backtest->pace, &backtest->policy, &now, &decision, now_s));
    *slot_of(backtest, start_s) = (struct backtest_pending){true, start_s, decision.target_bytes,
                                                            backtest->size_bytes};
    result->decisions++;
    result->vetoed += decision.vetoes != 0;
    result->replayed_s += (double)backtest->step_s;
    if (input->resident_bytes > backtest->size_bytes)
        result->saved_byte_s += (double)(input->resident_bytes - backtest->size_bytes) *
                                (double)backtest->step_s;
}
