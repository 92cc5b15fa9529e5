// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/plan_words.h"

#include "base/plural.h"
#include "base/text/units.h"

#include <math.h>
#include <stdarg.h>

#define MONTH_MINUTES (30 * 24 * 60)

void plan_say(const struct plan_voice *voice, const char *format, ...)
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
             guest->together ? "together " : "",
             plan_needed_more(&guest->before, guest->max_bytes) ? "more before " : "",
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
        plan_say(voice, "A new guest of %s fits on no host%s.", size, which_hosts(shown->fleet));
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
    double after = 0;
    size_t known = 0;
    char size[32];
    char moved[64] = "";

    if (request->n_place == 0)
        return;
    if (shown->fleet->n_guests == 0) {
        plan_say(voice,
                 "There is no guest to model a new one on, so where it would fit is not known.");
        return;
    }
    for (size_t i = 0; i < request->n_place; i++)
        say_place(voice, shown, i);
    for (size_t h = 0; h < shown->fleet->n_hosts; h++) {
        how_many += shown->result->hosts[h].how_many;
        after += shown->result->hosts[h].how_many_after;
        known += !shown->fleet->hosts[h].partial;
    }
    show_bytes(size, sizeof(size), (uint64_t)request->place_bytes[0]);
    if (shown->result->moves.n > 0)
        snprintf(moved, sizeof(moved), ", after the moves for %.0f", after);
    if (known == shown->fleet->n_hosts)
        plan_say(voice,
                 "As they are, the hosts have room for %.0f more guest%s of %s like those there%s.",
                 how_many, plural(how_many), size, moved);
}

static void say_spare(const struct plan_voice *voice, const struct plan_shown *shown)
{
    const struct plan_result *result = shown->result;
    const size_t spare = shown->request->options.spare;

    if (spare > 0 && plan_is_partial(shown->fleet))
        plan_say(voice,
                 "Whether the others take all guests if any %s is not known, as hosts are "
                 "partly known.",
                 spare == 1 ? "host fails" : "two hosts fail at once");
    else if (spare > 0)
        plan_say(voice, "If any %s, the others take all their guests: %s before, %s after%s.",
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
                        : "pinned, writing too fast to be moved, or without room on another host");
        fputs(voice->end, voice->out);
    }
}

void plan_say_moves(const struct plan_voice *voice, const struct plan_shown *shown)
{
    const struct plan_result *result = shown->result;

    say_drains(voice, shown);
    if (shown->request->consolidate)
        plan_say(
            voice,
            "%zu of %zu host%s could be emptied by %zu move%s; short at that risk: %zu before, %zu "
            "after.",
            result->emptied, shown->fleet->n_hosts, plural((double)shown->fleet->n_hosts),
            result->moves.n, plural((double)result->moves.n), result->short_before,
            result->short_after);
    plan_say_prices(voice, shown);
    say_spare(voice, shown);
}

void plan_say_ratio(const struct plan_voice *voice, const struct plan_shown *shown)
{
    const struct plan_ratio *ratio = &shown->result->ratio;

    if (ratio->ratio > 0)
        plan_say(voice,
                 "Overcommit ratio at a risk of %g%%: %s%.2f (Nova: ram_allocation_ratio; "
                 "KubeVirt: memoryOvercommit %.0f).",
                 100 * shown->request->options.risk, ratio->at_least ? "at least " : "",
                 ratio->ratio, floor(100 * ratio->ratio));
}
