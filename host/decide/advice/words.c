// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/advice/words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* --- names ------------------------------------------------------------------------------------ */

static const char *const veto_names[N_VETOES] = {
    "not-measured", "window",   "paused",    "migrating",  "dump",         "vfio",
    "hugetlb",      "excluded", "stale",     "young",      "unmeasurable", "pressure",
    "refaults",     "verdict",  "unsettled", "statistics", "day",          "past",
};
static const char *const panic_names[N_PANICS] = {
    "psi-some", "psi-full", "available", "oom-kill", "wss", "stalls",
};
static const char *const unsure_names[N_UNSURE] = {
    "no-guest-statistics", "short-history", "wide-interval", "flags",
    "balloon-unknown",     "longer-window",
};

const char *decide_veto_name(unsigned number)
{
    return number < N_VETOES ? veto_names[number] : NULL;
}

const char *decide_panic_name(unsigned number)
{
    return number < N_PANICS ? panic_names[number] : NULL;
}

const char *decide_unsure_name(unsigned number)
{
    return number < N_UNSURE ? unsure_names[number] : NULL;
}

const char *decide_confidence_name(enum decide_confidence confidence)
{
    static const char *const names[] = {"low", "medium", "high"};

    return names[confidence];
}

const char *decide_action_name(enum decide_action action)
{
    static const char *const names[] = {"keep", "shrink", "grow"};

    return names[action];
}

const char *decide_term_name(enum decide_term term)
{
    static const char *const names[] = {"demand",   "floor",  "reservation", "learned",
                                        "assigned", "actual", "past"};

    return names[term];
}

const char *decide_floor_name(enum decide_floor kind)
{
    static const char *const names[] = {"half", "swapless", "swap"};

    return names[kind];
}

/* --- sentences -------------------------------------------------------------------------------- */

struct text {
    char *at;
    size_t size, used;
    unsigned parts;
};

static void add_words(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Separates parts after the first with "; ". */
static void add_words(struct text *text, const char *format, ...)
{
    va_list arguments;
    int n = 0;

    if (text->parts++ > 0 && text->used < text->size)
        n = snprintf(text->at + text->used, text->size - text->used, "; ");
    text->used += (size_t)n;
    if (text->used >= text->size)
        return;
    va_start(arguments, format);
    n = vsnprintf(text->at + text->used, text->size - text->used, format, arguments);
    va_end(arguments);
    text->used += n > 0 ? (size_t)n : 0;
}

static double mib(uint64_t bytes)
{
    return (double)bytes / (double)DECIDE_MIB;
}

static double or_0(double value)
{
    return isnan(value) ? 0 : value;
}

static void add_past(struct text *text, const struct decide_policy *policy,
                     const struct decide_past *past)
{
    if (!past->tested)
        return add_words(text, "its past has not been replayed yet");
    add_words(
        text,
        "by the backtest it needed more than its target, by up to %.0f MiB, within an hour of "
        "%.3g%% of the decisions, and %.3g%% are allowed",
        mib(past->worst_bytes), 100 * (double)past->exceeded / (double)past->scored,
        100 * policy->past.exceeded_max);
}

static void add_pressure(struct text *text, const struct decide_policy *policy,
                         const struct decide_input *input)
{
    const struct decide_guest *guest = &input->guest;
    const char *lasts = guest->unhelped ? ", which more memory did not lower" : "";

    if (input->stalled)
        add_words(text, "it waited for memory a moment ago");
    else if (guest->psi_some >= policy->psi_some_veto)
        add_words(text, "it waits for memory, PSI some %.2g%%%s", 100 * guest->psi_some, lasts);
    else if (guest->psi_full >= policy->psi_some_veto)
        add_words(text, "it waits for memory, PSI full %.2g%%%s", 100 * guest->psi_full, lasts);
    else
        add_words(text, "%.2g of its allocations a second wait for memory%s", guest->stalls_s,
                  lasts);
}

static void add_veto(struct text *text, const struct decide_policy *policy,
                     const struct decide_input *input, enum decide_veto veto)
{
    const struct decide_guest *guest = &input->guest;

    switch (veto) {
    case VETO_NOT_MEASURED:
        return add_words(text, "it is not measured");
    case VETO_WINDOW:
        return add_words(text, "its long window is not answered yet, only one of %g s",
                         input->long_wss.window_s);
    case VETO_PAUSED:
        return add_words(text, "it is suspended");
    case VETO_MIGRATING:
        return add_words(text, "it is being migrated or saved");
    case VETO_DUMP:
        return add_words(text, "its memory is being dumped");
    case VETO_VFIO:
        return add_words(text, "VFIO pins its memory, so the host gets none back");
    case VETO_HUGETLB:
        return add_words(text, "it is on huge pages, of which a balloon frees none");
    case VETO_EXCLUDED:
        return add_words(text, "it is excluded");
    case VETO_STALE:
        if (input->period_s <= 0)
            return add_words(text, "there is no record of it");
        if (input->age_s < -DECIDE_SKEW_S)
            return add_words(text, "the newest record is dated %.0f s later than now",
                             -input->age_s);
        return add_words(text, "the newest record is %.0f s old, more than %g periods of %.0f s",
                         input->age_s, policy->stale_periods, input->period_s);
    case VETO_YOUNG:
        if (isnan(input->up_s))
            return add_words(text, "how long it has been up is not known");
        return add_words(text, "up for %.0f s, less than %.0f s", input->up_s, policy->young_s);
    case VETO_UNMEASURABLE:
        return add_words(text, "%.0f%% of what is resident could not be measured",
                         100 * (double)input->unmeasurable_bytes / (double)input->resident_bytes);
    case VETO_PRESSURE:
        return add_pressure(text, policy, input);
    case VETO_REFAULTS:
        return add_words(text, "it refaults or swaps in %.3g MiB a minute",
                         60 * (or_0(guest->refault_bytes_s) + or_0(guest->swap_in_bytes_s)) /
                             (double)DECIDE_MIB);
    case VETO_VERDICT:
        return add_words(text, "by its statistics it needs about what it has, or more");
    case VETO_UNSETTLED:
        return add_words(text, "its balloon moved after its last statistics, or it gave memory so "
                               "recently that they cannot show yet whether it misses it");
    case VETO_STATISTICS:
        return add_words(text,
                         "nothing is taken without fresh statistics of the guest that agree with "
                         "the host's");
    case VETO_DAY:
        return add_words(text, "only %.3g h of its past are known, of the %.3g that are needed",
                         fmax(input->past.span_s, input->day_s) / 3600,
                         policy->past.day_min_s / 3600);
    case VETO_PAST:
        return add_past(text, policy, &input->past);
    }
}

static void add_panics(struct text *text, const struct decide_input *input, unsigned panics)
{
    const struct decide_guest *guest = &input->guest;

    if (panics & PANIC_PSI_SOME && input->stalled)
        add_words(text, "all of it at once: it waited for memory a moment ago");
    else if (panics & PANIC_PSI_SOME)
        add_words(text, "all of it at once: PSI some %.2g%%", 100 * guest->psi_some);
    if (panics & PANIC_PSI_FULL)
        add_words(text, "all of it at once: PSI full %.2g%%", 100 * guest->psi_full);
    if (panics & PANIC_AVAILABLE)
        add_words(text, "all of it at once: only %.1f MiB are available to it",
                  mib(guest->available_bytes));
    if (panics & PANIC_OOM_KILL)
        add_words(text, "all of it at once: its OOM killer ran");
    if (panics & PANIC_STALLS)
        add_words(text, "all of it at once: %.2g of its allocations a second wait for memory",
                  guest->stalls_s);
    if (panics & PANIC_WSS)
        add_words(text, "all of it at once: at least %.1f MiB of %.1f are touched",
                  mib(input->short_wss.low_bytes), mib(decide_actual(input)));
}

static const char *term_phrase(enum decide_term term)
{
    static const char *const phrases[] = {
        "what it touches, and headroom",
        "the floor: what cannot be dropped",
        "its reservation",
        "what its last panic taught",
        "all that is assigned",
        "what it has",
        "what it needed within the last 36 days",
    };

    return phrases[term];
}

static void add_growth(struct text *text, const struct decide_decision *decision)
{
    if (decision->action == ACTION_GROW && !decision->panics)
        add_words(text, "it needs %.0f MiB: %s", mib(decision->wanted_bytes),
                  term_phrase(decision->term));
}

static void add_outcome(struct text *text, const struct decide_input *input,
                        const struct decide_decision *decision)
{
    if (decision->panics || decision->action == ACTION_GROW)
        return;
    if (decision->action != ACTION_KEEP || decision->term != TERM_ACTUAL)
        return add_words(text, "%s", term_phrase(decision->term));
    if (decision->wanted_bytes < decide_actual(input))
        add_words(text, "kept: the target is less than %.0f MiB below what it has",
                  mib(decision->band_bytes));
}

static void add_floor(struct text *text, const struct decide_policy *policy,
                      const struct decide_input *input, const struct decide_decision *decision)
{
    if (decision->floor_kind != FLOOR_HALF)
        return;
    if (input->guest.reported && input->guest.consistency < policy->trust_min)
        return add_words(text,
                         "its statistics contradict the host's (agreement %.2f): floor is half of "
                         "assigned or more",
                         input->guest.consistency);
    if (input->guest.ahead_s > 0 || input->guest.age_s < -DECIDE_SKEW_S)
        add_words(
            text,
            "its statistics are dated %.0f s later than now, as the host's clock was set back",
            fmax(input->guest.ahead_s, -input->guest.age_s));
    add_words(text, "no %sguest statistics: floor is half of assigned",
              input->guest.reported ? "fresh " : "");
}

char *decide_why(char *text, size_t size, const struct decide_policy *policy,
                 const struct decide_input *input, const struct decide_decision *decision)
{
    struct text why = {text, size, 0, 0};

    text[0] = 0;
    add_panics(&why, input, decision->panics);
    add_growth(&why, decision);
    for (unsigned v = 0; v < N_VETOES; v++)
        if (decision->vetoes & 1U << v)
            add_veto(&why, policy, input, (enum decide_veto)(1U << v));
    if (!decision->vetoes)
        add_outcome(&why, input, decision);
    add_floor(&why, policy, input, decision);
    if (decision->limited)
        add_words(&why, "no more than %.0f of %.0f MiB: the rest was held back at its start",
                  mib(decide_most(input)), mib(input->assigned_bytes));
    if (decision->claims)
        add_words(&why, "it claims to need all of it: no more than it had is given back for that");
    return text;
}
