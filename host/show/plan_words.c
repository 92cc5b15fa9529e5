// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan_words.c  See plan_words.h. */
#include "show/plan_words.h"

#include "base/plural.h"
#include "base/text/units.h"

#include <math.h>
#include <stdarg.h>

#define MONTH_MINUTES (30 * 24 * 60)
#define DAY_S 86400.0

static void say(const struct plan_voice *voice, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes a whole sentence. */
static void say(const struct plan_voice *voice, const char *format, ...)
{
    va_list args;

    fputs(voice->begin, voice->out);
    va_start(args, format);
    vfprintf(voice->out, format, args);
    va_end(args);
    fputs(voice->end, voice->out);
}

/* --- in tables -------------------------------------------------------------------------------- */

double plan_month_minutes(double share)
{
    return share * MONTH_MINUTES;
}

const char *plan_host_note(const struct plan_host *host, const struct plan_host_result *result)
{
    if (host->stale)
        return "stale";
    if (host->partial)
        return "partly known";
    if (result->n_guests == 0)
        return "empty";
    if (result->need.short_share > 0)
        return "has been short";
    return result->planned_bytes > result->limit_bytes ? "short" : "";
}

static void days_text(char *text, size_t size, double days)
{
    if (days > PLAN_NEVER_DAYS)
        snprintf(text, size, "never");
    else
        snprintf(text, size, "%.0fd", days);
}

char *plan_runway_text(char *text, size_t size, const struct plan_runway *runway)
{
    char middle[32];
    char low[32];
    char high[32];

    if (!runway->known || runway->low_days > PLAN_NEVER_DAYS) {
        snprintf(text, size, "%s", runway->known ? "never" : "-");
        return text;
    }
    days_text(middle, sizeof(middle), runway->days);
    days_text(low, sizeof(low), runway->low_days);
    days_text(high, sizeof(high), runway->high_days);
    snprintf(text, size, "%s (%s-%s)", middle, low, high);
    return text;
}

const struct plan_why_text plan_why_texts[] = {
    [PLAN_RELIEVE] = {"relieve", "relieves"},
    [PLAN_JOIN] = {"join", "joins guests of"},
    [PLAN_SEPARATE] = {"separate", "separates guests of"},
    [PLAN_DRAIN] = {"drain", "drains"},
    [PLAN_EMPTY] = {"empty", "empties"},
};

char *plan_unplaced_text(char *text, size_t size, const struct plan_host_result *host, bool after)
{
    const struct plan_fallen *fails = after ? &host->fails_after : &host->fails;
    const size_t n_guests = after ? host->n_guests_after : host->n_guests;

    if (host->partial || (n_guests == 0 && !fails->past))
        snprintf(text, size, "-");
    else if (fails->guests > 0)
        snprintf(text, size, "%zu stay down", fails->guests);
    else
        snprintf(text, size, "%s", fails->past ? "ended do not fit" : "others take it");
    return text;
}

char *plan_guest_note(char *text, size_t size, const struct plan_guest *guest)
{
    const bool by_less = guest->size_window_s > 0 && guest->size_window_s < 3600;
    char window[32];

    show_seconds(window, sizeof(window), guest->size_window_s);
    snprintf(text, size, "%s%s%s%s%s%s%s%s%s", guest->unmeasured ? "not measured " : "",
             guest->suspended ? "suspended " : "", guest->unwatched ? "not watched " : "",
             guest->pinned ? "pinned " : "", guest->apart ? "apart " : "",
             guest->together ? "together " : "", plan_needed_more(guest) ? "more before " : "",
             by_less ? "size of window " : "", by_less ? window : "");
    return text;
}

/* --- sentences -------------------------------------------------------------------------------- */

/* Excludes partly known hosts, which take no guests although they may have room. */
static const char *which_hosts(const struct plan_fleet *fleet)
{
    for (size_t h = 0; h < fleet->n_hosts; h++)
        if (fleet->hosts[h].partial)
            return " that is not partly known";
    return "";
}

static void say_place(const struct plan_voice *voice, const struct plan_shown *shown, size_t i)
{
    const size_t host = shown->result->place[i];
    char size[32];

    show_bytes(size, sizeof(size), (uint64_t)shown->request->place_bytes[i]);
    if (host == PLAN_NOWHERE) {
        say(voice, "A new guest of %s fits on no host%s.", size, which_hosts(shown->fleet));
        return;
    }
    fprintf(voice->out, "%sA new guest of %s fits best on ", voice->begin, size);
    voice->name(voice->out, shown->fleet->hosts[host].name);
    fprintf(voice->out, "%s.%s",
            shown->result->hosts[host].emptied ? ", which is then not to be emptied" : "",
            voice->end);
}

void plan_say_places(const struct plan_voice *voice, const struct plan_shown *shown)
{
    const struct plan_request *request = shown->request;
    double how_many = 0;
    size_t known = 0;
    char size[32];

    if (request->n_place == 0)
        return;
    if (shown->fleet->n_guests == 0) {
        say(voice, "There is no guest to model a new one on, so where it would fit is not known.");
        return;
    }
    for (size_t i = 0; i < request->n_place; i++)
        say_place(voice, shown, i);
    for (size_t h = 0; h < shown->fleet->n_hosts; h++) {
        how_many += shown->result->hosts[h].how_many;
        known += !shown->fleet->hosts[h].partial;
    }
    show_bytes(size, sizeof(size), (uint64_t)request->place_bytes[0]);
    if (known == shown->fleet->n_hosts)
        say(voice, "As they are, the hosts have room for %.0f more guest%s of %s like those there.",
            how_many, plural(how_many), size);
}

static void say_spare(const struct plan_voice *voice, const struct plan_shown *shown)
{
    const struct plan_result *result = shown->result;
    const size_t spare = shown->request->options.spare;

    if (spare > 0)
        say(voice, "If any %s, the others take all their guests: %s before, %s after%s.",
            spare == 1 ? "host fails" : "two hosts fail at once",
            result->spared_before ? "yes" : "no", result->spared_after ? "yes" : "no",
            shown->request->n_place == 0 ? ""
            : result->spared_with_new    ? ", yes with the new guests"
                                         : ", no with the new guests");
}

/* Returns true if no other host has room for guests of the host that have ended. */
static bool is_past_left(const struct plan_shown *shown, size_t host)
{
    const struct plan_past *past = &shown->fleet->past[host];

    return past->n_guests > 0 && !past->left_out && shown->result->hosts[host].past_at == host;
}

/* Writes "a: its 3 guests find places on the other hosts, one move after the other, in this
 * order." */
static void say_drains(const struct plan_voice *voice, const struct plan_shown *shown)
{
    for (size_t h = 0; h < shown->fleet->n_hosts; h++) {
        const struct plan_host_result *host = &shown->result->hosts[h];

        if (!shown->fleet->hosts[h].drain)
            continue;
        fputs(voice->begin, voice->out);
        voice->name(voice->out, shown->fleet->hosts[h].name);
        if (host->n_guests_after == 0)
            fprintf(voice->out,
                    " can be drained: its %zu guest%s find%s room when moved in this order%s.",
                    host->n_guests, plural((double)host->n_guests), host->n_guests == 1 ? "s" : "",
                    is_past_left(shown, h) ? ", those that have ended do not" : "");
        else
            fprintf(voice->out, " cannot be drained: %zu of %zu guest%s stay%s, %s.",
                    host->n_guests_after, host->n_guests, plural((double)host->n_guests),
                    host->n_guests_after == 1 ? "s" : "",
                    plan_is_fixed(&shown->fleet->hosts[h])
                        ? "for it is stale or partly known"
                        : "pinned, or without room on another host");
        fputs(voice->end, voice->out);
    }
}

void plan_say_moves(const struct plan_voice *voice, const struct plan_shown *shown)
{
    const struct plan_result *result = shown->result;

    say_drains(voice, shown);
    if (shown->request->consolidate)
        say(voice,
            "%zu of %zu host%s could be emptied by %zu move%s; short at that risk: %zu before, %zu "
            "after.",
            result->emptied, shown->fleet->n_hosts, plural((double)shown->fleet->n_hosts),
            result->moves.n, plural((double)result->moves.n), result->short_before,
            result->short_after);
    say_spare(voice, shown);
}

void plan_say_ratio(const struct plan_voice *voice, const struct plan_shown *shown)
{
    const struct plan_ratio *ratio = &shown->result->ratio;

    if (ratio->ratio > 0)
        say(voice,
            "Overcommit ratio at a risk of %g%%: %s%.2f (Nova: ram_allocation_ratio; "
            "KubeVirt: memoryOvercommit %.0f).",
            100 * shown->request->options.risk, ratio->at_least ? "at least " : "", ratio->ratio,
            floor(100 * ratio->ratio));
}

/* --- doubts ----------------------------------------------------------------------------------- */

/* Maximum number of hosts that a sentence names; in a large fleet, the tables have the others. */
#define NAMED 20

static void say_stale(const struct plan_voice *voice, const struct plan_fleet *fleet)
{
    size_t n = 0;
    char time[40];

    for (size_t h = 0; h < fleet->n_hosts; h++) {
        if (!fleet->hosts[h].stale || n++ >= NAMED)
            continue;
        fputs(voice->begin, voice->out);
        voice->name(voice->out, fleet->hosts[h].name);
        fprintf(voice->out, ": no record since %s: nothing is moved from or to it.%s",
                show_time(time, sizeof(time), fleet->hosts[h].last_s, 0), voice->end);
    }
    if (n > NAMED)
        say(voice, "%zu more hosts are stale, without records of late.", n - NAMED);
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
    char size[32];

    for (size_t h = 0; h < fleet->n_hosts; h++) {
        const struct plan_past *past = &fleet->past[h];
        const size_t at = shown->result->hosts[h].past_at;

        if (past->n_guests == 0 || n++ >= NAMED)
            continue;
        fputs(voice->begin, voice->out);
        voice->name(voice->out, fleet->hosts[h].name);
        fprintf(voice->out, ": %zu guest%s that ha%s ended needed up to %s here, %s",
                past->n_guests, plural((double)past->n_guests), past->n_guests == 1 ? "s" : "ve",
                show_bytes(size, sizeof(size), (uint64_t)past->max_bytes),
                past->left_out ? "which is not planned for (--running-only)"
                               : "which is planned for");
        if (at != h) {
            fputs(", after the moves on ", voice->out);
            voice->name(voice->out, fleet->hosts[at].name);
        }
        fprintf(voice->out, ".%s", voice->end);
    }
    if (n > NAMED)
        say(voice, "%zu more hosts have guests that have ended.", n - NAMED);
}

/* "web1 on a needed up to 812 MiB before this time, and up to 300 MiB in it: ..." */
static void say_before(const struct plan_voice *voice, const struct plan_fleet *fleet)
{
    const double to_s = fleet->from_s + (double)fleet->n_times * fleet->step_s;
    size_t n = 0;
    char before[32];
    char since[32];

    for (size_t g = 0; g < fleet->n_guests; g++) {
        const struct plan_guest *guest = &fleet->guests[g];

        if (!plan_needed_more(guest) || n++ >= NAMED)
            continue;
        fputs(voice->begin, voice->out);
        voice->name(voice->out, guest->name);
        fputs(" on ", voice->out);
        voice->name(voice->out, fleet->hosts[guest->host].name);
        fprintf(voice->out,
                " needed up to %s before this time, and up to %s in it: --since %.0fd plans for "
                "that.%s",
                show_bytes(before, sizeof(before), (uint64_t)guest->before_bytes),
                show_bytes(since, sizeof(since), (uint64_t)guest->max_bytes),
                ceil((to_s - guest->before_s) / DAY_S) + 1, voice->end);
    }
    if (n > NAMED)
        say(voice, "%zu more guests needed more before this time.", n - NAMED);
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
    char text[32];

    for (size_t g = 0; g < fleet->n_guests; g++)
        if (fleet->guests[g].unmeasured) {
            bytes += fleet->guests[g].max_bytes;
            n++;
        }
    if (n > 0)
        say(voice,
            "Not measured: %zu guest%s. All that is resident of them, up to %s, counts as needed.",
            n, plural((double)n), show_bytes(text, sizeof(text), (uint64_t)bytes));
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
    say_past(voice, shown);
    say_before(voice, fleet);
    say_together(voice, shown);
    say_assumed(voice, fleet);
    say_size_risk(voice, shown);
    if (shown->result->unknown > 0.005)
        say(voice,
            "For %.1f%% of the guests' time there is no record: a guest then counts as at the same "
            "time of another week or day.",
            100 * shown->result->unknown);
    if (missed_share(shown) > 0.005)
        say(voice,
            "%.1f%% of the minutes have no record though their step of %d minutes has one: a peak "
            "in them is not in the plan.",
            100 * missed_share(shown), fleet->step_s / 60);
    say_short_histories(voice, shown);
    if ((double)fleet->n_times * risk < 1)
        say(voice, "%zu steps are too few to know what happens for %g%% of the time.",
            fleet->n_times, 100 * risk);
}
