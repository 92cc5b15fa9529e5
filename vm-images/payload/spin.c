// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file spin.c  Touches the hot set for ever, and nothing else but its own pages.
 *
 * Phases need a clock. The ACPI timer is right on every accelerator but each read leaves the guest,
 * so the time stamp counter says when to read it: when the phase should end, and more often than
 * the timer wraps.
 */
#include "balloon.h"
#include "machine.h"

#define CLOCK_READS_PER_SECOND 4
/* Some 10 ms: how often the guest leaves to its hypervisor even if nothing calls it out. */
#define LEAVE_EVERY_CYCLES (UINT64_C(1) << 25)
/* Time is looked at after so many accesses, for passes that take long. */
#define ACCESSES_PER_LOOK 4096
/* About a millisecond of each 10 with rest=yes, and always a whole pass: enough for its vCPU time
 * to say that it ran. */
#define WORK_CYCLES (UINT64_C(1) << 21)

struct clock {
    uint64_t next_leave; /**< time stamp */
    uint64_t next_look;  /**< time stamp */
    uint64_t last_look;  /**< time stamp */
    uint32_t last_timer;
    uint64_t ticks; /**< of the ACPI timer, within the present phase */
};

static uint64_t phase_ticks(const struct state *state)
{
    const struct params *params = &state->params;

    return params->phases[state->phase % params->phase_count].duration_s * TIMER_HZ;
}

/** Plans the next look at the ACPI timer. */
static void plan_look(struct clock *clock, const struct state *state)
{
    uint64_t limit = phase_ticks(state), wait = TIMER_HZ / CLOCK_READS_PER_SECOND;

    if (limit > clock->ticks && limit - clock->ticks < wait)
        wait = limit - clock->ticks;
    clock->next_look = clock->last_look + wait * state->clock_hz / TIMER_HZ;
}

static void clock_start(struct clock *clock, const struct state *state)
{
    clock->last_look = read_tsc();
    clock->last_timer = read_timer();
    clock->ticks = 0;
    plan_look(clock, state);
}

static void clock_advance(struct clock *clock, const struct state *state)
{
    uint64_t now = read_tsc();
    uint32_t timer = read_timer();
    uint64_t seconds = (now - clock->last_look) / state->clock_hz;
    uint64_t ticks = (timer - clock->last_timer) & TIMER_MASK;

    /* A vCPU that was stopped for seconds missed whole wraps; its time stamps still tell. */
    while (ticks + TIMER_MASK / 2 < seconds * TIMER_HZ)
        ticks += TIMER_MASK + 1;
    clock->ticks += ticks;
    clock->last_look = now;
    clock->last_timer = timer;
}

/** Whether a phase ended; then state is in the next one. */
static bool next_phase(struct clock *clock, struct state *state)
{
    const struct params *params = &state->params;
    uint64_t limit = phase_ticks(state);
    bool ended;

    if (read_tsc() < clock->next_look)
        return false;
    clock_advance(clock, state);
    ended = clock->ticks >= limit;
    if (ended) {
        /* Time above the limit is taken off the next phase, so that the cycle does not drift. */
        clock->ticks -= limit;
        state->phase++;
        state->hot_pages = params->phases[state->phase % params->phase_count].hot_pages;
    }
    plan_look(clock, state);
    return ended;
}

/**
 * Also the time to look for what the host wants of the balloon, with balloon=host.
 *
 * QEMU 7.2's emulated SVM enters a guest now and then with the global interrupt flag clear. No
 * interrupt reaches that CPU until the guest leaves by itself, and a loop over memory never does:
 * the hypervisor below is dead, one lab boot in six.
 */
static void leave_now_and_then(uint64_t *next, const struct state *state)
{
    if (read_tsc() < *next)
        return;
    machine_leave();
    if (state->params.balloon_follows)
        balloon_follow(state);
    *next = read_tsc() + LEAVE_EVERY_CYCLES;
}

/** One pass over the hot set; cut short when a phase ends. */
static void pass(struct clock *clock, struct state *state)
{
    const struct params *params = &state->params;
    uint64_t hot_pages = state->hot_pages;

    for (uint64_t j = 0; j < hot_pages; j++) {
        volatile uint64_t *word = state_word(state, pattern_page(&params->pattern, j));

        if (j < params->write_pages)
            *word = state->loops;
        else
            (void)*word;
        if (j % ACCESSES_PER_LOOK != ACCESSES_PER_LOOK - 1)
            continue;
        leave_now_and_then(&clock->next_leave, state);
        if (params->phase_count && next_phase(clock, state))
            return;
    }
    leave_now_and_then(&clock->next_leave, state);
    if (params->phase_count)
        next_phase(clock, state);
}

static void rest_now_and_then(uint64_t *woke)
{
    if (read_tsc() - *woke < WORK_CYCLES)
        return;
    machine_rest();
    *woke = read_tsc();
}

void spin(struct state *state)
{
    struct clock clock = {0};
    uint64_t woke = 0;

    while (state->params.idle)
        machine_halt();
    if (state->params.phase_count)
        clock_start(&clock, state);
    for (;;) {
        pass(&clock, state);
        state->loops++;
        if (state->params.rests)
            rest_now_and_then(&woke);
    }
}
