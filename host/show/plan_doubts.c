// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan_doubts.c  See plan_words.h: what a plan does not know, or could not keep. */
#include "show/plan_words.h"

#include "base/plural.h"
#include "base/text/units.h"

#include <math.h>

#define DAY_S 86400.0

/* Maximum number of hosts that a sentence names; in a large fleet, the tables have the others. */
#define NAMED 20

static void say_stale(const struct plan_voice *voice, const struct plan_fleet *fleet)
{
    size_t n = 0;

    for (size_t h = 0; h < fleet->n_hosts; h++) {
        if (!fleet->hosts[h].stale || n++ >= NAMED)
            continue;
        fputs(voice->begin, voice->out);
        voice->name(voice->out, fleet->hosts[h].name);
        fprintf(voice->out, ": no record since %s: nothing is moved from or to it.%s",
                TIME_TEXT(fleet->hosts[h].last_s, 0), voice->end);
    }
    if (n > NAMED)
        plan_say(voice, "%zu more hosts are stale, without records of late.", n - NAMED);
}

static void say_partial(const struct plan_voice *voice, const struct plan_fleet *fleet)
{
    size_t n = 0;

    for (size_t h = 0; h < fleet->n_hosts; h++) {
        if (!fleet->hosts[h].partial || n++ >= NAMED)
            continue;
        fputs(n > 1 ? ", " : voice->begin, voice->out);
        voice->name(voice->out, fleet->hosts[h].name);
    }
    if (n == 0)
        return;
    if (n > NAMED)
        fprintf(voice->out, " and %zu more", n - NAMED);
    fprintf(voice->out,
            ": partly known, guests or needs may be missing: nothing is moved from or to %s.%s",
            n > 1 ? "them" : "it", voice->end);
}

/* "a: 3 guests that have ended needed up to 806 MiB here". */
static void say_past(const struct plan_voice *voice, const struct plan_shown *shown)
{
    const struct plan_fleet *fleet = shown->fleet;
    size_t n = 0;

    for (size_t h = 0; h < fleet->n_hosts; h++) {
        const struct plan_past *past = &fleet->past[h];
        const size_t at = shown->result->hosts[h].past_at;

        if (past->n_guests == 0 || n++ >= NAMED)
            continue;
        fputs(voice->begin, voice->out);
        voice->name(voice->out, fleet->hosts[h].name);
        fprintf(voice->out, ": %zu guest%s that ha%s ended needed up to %s here, %s",
                past->n_guests, plural((double)past->n_guests), past->n_guests == 1 ? "s" : "ve",
                BYTES_TEXT((uint64_t)past->max_bytes),
                past->left_out ? "which is not planned for (--running-only)"
                               : "which is planned for");
        if (at != h) {
            fputs(", after the moves on ", voice->out);
            voice->name(voice->out, fleet->hosts[at].name);
        }
        fprintf(voice->out, ".%s", voice->end);
    }
    if (n > NAMED)
        plan_say(voice, "%zu more hosts have guests that have ended.", n - NAMED);
}

/* "b: its guests use 9.2 of 8 CPUs, 7.1 after the moves." */
static void say_cpus(const struct plan_voice *voice, const struct plan_shown *shown)
{
    size_t unknown = 0;

    for (size_t h = 0; shown->request->cpus && h < shown->fleet->n_hosts; h++) {
        const struct plan_host_result *host = &shown->result->hosts[h];

        fputs(voice->begin, voice->out);
        voice->name(voice->out, shown->fleet->hosts[h].name);
        fprintf(voice->out, ": its guests use %.1f", host->cpus);
        if (shown->fleet->hosts[h].cpus > 0)
            fprintf(voice->out, " of %.0f", shown->fleet->hosts[h].cpus);
        fprintf(voice->out, " CPU%s", plural(host->cpus));
        if (plan_has_moves(shown->request))
            fprintf(voice->out, ", %.1f after the moves", host->cpus_after);
        fprintf(voice->out, ".%s", voice->end);
    }
    for (size_t g = 0; shown->request->cpus && g < shown->fleet->n_guests; g++)
        unknown += isnan(shown->fleet->guests[g].cpus) ? 1 : 0;
    if (unknown > 0)
        plan_say(voice, "Of %zu guest%s the CPUs are not known: %s not moved.", unknown,
                 plural((double)unknown), unknown == 1 ? "it is" : "they are");
}

/* Ends "web1 on a needed up to 812 MiB before this time, and up to 300 MiB in it: ...". ram_bytes:
 * what it can need at most. */
static void say_more(const struct plan_voice *voice, const struct plan_fleet *fleet, size_t host,
                     const struct plan_before *before, double max_bytes, double ram_bytes)
{
    const double to_s = fleet->from_s + (double)fleet->n_times * fleet->step_s;
    char more[32];
    char most[32];

    fputs(" on ", voice->out);
    voice->name(voice->out, fleet->hosts[host].name);
    show_bytes(more, sizeof(more), (uint64_t)before->bytes);
    show_bytes(most, sizeof(most), (uint64_t)max_bytes);
    if (!plan_needed_more(&(struct plan_before){.bytes = fmin(before->bytes, ram_bytes)},
                          max_bytes))
        fprintf(voice->out, " needed up to %s, more than its RAM: it is planned with up to %s.%s",
                more, most, voice->end);
    else
        fprintf(voice->out,
                " needed up to %s before this time, and up to %s in it: --since %.0fd plans for "
                "that.%s",
                more, most, ceil((to_s - before->time_s) / DAY_S) + 1, voice->end);
}

static void say_before(const struct plan_voice *voice, const struct plan_fleet *fleet)
{
    size_t n = 0;

    for (size_t g = 0; g < fleet->n_guests; g++) {
        const struct plan_guest *guest = &fleet->guests[g];

        if (!plan_needed_more(&guest->before, guest->max_bytes) || n++ >= NAMED)
            continue;
        fputs(voice->begin, voice->out);
        voice->name(voice->out, guest->name);
        say_more(voice, fleet, guest->host, &guest->before, guest->max_bytes,
                 (double)guest->ram_bytes);
    }
    if (n > NAMED)
        plan_say(voice, "%zu more guests needed more before this time.", n - NAMED);
    n = 0;
    for (size_t h = 0; h < fleet->n_hosts; h++) {
        const struct plan_past *past = &fleet->past[h];

        if (past->left_out || !plan_needed_more(&past->before, past->max_bytes) || n++ >= NAMED)
            continue;
        fprintf(voice->out, "%sGuests that have ended", voice->begin);
        say_more(voice, fleet, h, &past->before, past->max_bytes, HUGE_VAL);
    }
    if (n > NAMED)
        plan_say(voice, "Those of %zu more hosts needed more before this time.", n - NAMED);
}

static void say_broken(const struct plan_voice *voice, const struct plan_shown *shown, size_t host,
                       const size_t n[2], const char *what)
{
    if (n[0] + n[1] == 0)
        return;
    fputs(voice->begin, voice->out);
    voice->name(voice->out, shown->fleet->hosts[host].name);
    fprintf(voice->out, ": %zu guest%s must be %s", n[0], plural((double)n[0]), what);
    if (plan_has_moves(shown->request))
        fprintf(voice->out, ", %zu after the moves", n[1]);
    fprintf(voice->out, ".%s", voice->end);
}

static void say_together(const struct plan_voice *voice, const struct plan_shown *shown)
{
    for (size_t h = 0; h < shown->fleet->n_hosts; h++) {
        const struct plan_host_result *host = &shown->result->hosts[h];

        say_broken(voice, shown, h, (size_t[]){host->together, host->together_after},
                   "apart from another guest here");
        say_broken(voice, shown, h, (size_t[]){host->parted, host->parted_after},
                   "together with a guest elsewhere");
    }
}

/* "a (3.0 days), b (1.5 days): with less than 14 ..." */
static void say_short_histories(const struct plan_voice *voice, const struct plan_shown *shown)
{
    const struct plan_fleet *fleet = shown->fleet;
    size_t n = 0;

    for (size_t h = 0; h < fleet->n_hosts; h++) {
        if (shown->result->hosts[h].n_guests == 0 || !plan_is_short(fleet->hosts[h].days) ||
            n++ >= NAMED)
            continue;
        fputs(n > 1 ? ", " : voice->begin, voice->out);
        voice->name(voice->out, fleet->hosts[h].name);
        fprintf(voice->out, " (%.1f days)", fleet->hosts[h].days);
    }
    if (n == 0)
        return;
    if (n > NAMED)
        fprintf(voice->out, " and %zu more", n - NAMED);
    fprintf(voice->out,
            ": with less than %d days of history the need is the mean and 5 standard "
            "deviations, and there is no trend.%s",
            PLAN_DAYS_ENOUGH, voice->end);
}

/* Written because the needs of hosts include assumed needs, for which a narrow terminal has no
 * column. */
static void say_assumed(const struct plan_voice *voice, const struct plan_fleet *fleet)
{
    double bytes = 0;
    size_t n = 0;

    for (size_t g = 0; g < fleet->n_guests; g++)
        if (fleet->guests[g].unmeasured) {
            bytes += fleet->guests[g].max_bytes;
            n++;
        }
    if (n > 0)
        plan_say(
            voice,
            "Not measured: %zu guest%s. All that is resident of them, up to %s, counts as needed.",
            n, plural((double)n), BYTES_TEXT((uint64_t)bytes));
}

/* Returns the mean missed share of hosts with guests. */
static double missed_share(const struct plan_shown *shown)
{
    double missed = 0;
    double n = 0;

    for (size_t h = 0; h < shown->fleet->n_hosts; h++)
        if (shown->result->hosts[h].n_guests > 0) {
            missed += shown->fleet->hosts[h].missed_share;
            n++;
        }
    return n > 0 ? missed / n : 0;
}

/* The risk is by the plan's window: the guest's working set of that time would not have fitted. */
static void say_size_risk(const struct plan_voice *voice, const struct plan_shown *shown)
{
    const struct plan_fleet *fleet = shown->fleet;
    const struct plan_guest *worst = NULL;
    double risks = 0;
    double n = 0;

    for (size_t g = 0; g < fleet->n_guests; g++) {
        const struct plan_guest *guest = &fleet->guests[g];

        if (guest->right_size_bytes <= 0)
            continue;
        n++;
        risks += guest->right_size_risk;
        if (!worst || guest->right_size_risk > worst->right_size_risk)
            worst = guest;
    }
    if (!worst)
        return;
    fprintf(voice->out,
            "%sRight sizes, p%g and %g%% more: guests needed more than that for %.2g%% of their "
            "time",
            voice->begin, 100 * shown->size_quantile, 100 * fleet->size_margin, 100 * risks / n);
    if (worst->right_size_risk > 0) {
        fprintf(voice->out, ", at most %.2g%% (", 100 * worst->right_size_risk);
        voice->name(voice->out, worst->name);
        fputc(')', voice->out);
    }
    fprintf(voice->out, ".%s", voice->end);
}

void plan_say_doubts(const struct plan_voice *voice, const struct plan_shown *shown)
{
    const struct plan_fleet *fleet = shown->fleet;
    const double risk = shown->request->options.risk;

    say_stale(voice, fleet);
    say_partial(voice, fleet);
    plan_say_stuck(voice, shown);
    say_past(voice, shown);
    say_before(voice, fleet);
    say_cpus(voice, shown);
    say_together(voice, shown);
    say_assumed(voice, fleet);
    say_size_risk(voice, shown);
    if (shown->result->unknown > 0.005)
        plan_say(
            voice,
            "For %.1f%% of the guests' time there is no record: a guest then counts as at the same "
            "time of another week or day.",
            100 * shown->result->unknown);
    if (missed_share(shown) > 0.005)
        plan_say(
            voice,
            "%.1f%% of the minutes have no record though their step of %d minutes has one: a peak "
            "in them is not in the plan.",
            100 * missed_share(shown), fleet->step_s / 60);
    say_short_histories(voice, shown);
    if ((double)fleet->n_times * risk < 1)
        plan_say(voice, "%zu steps are too few to know what happens for %g%% of the time.",
                 fleet->n_times, 100 * risk);
}
