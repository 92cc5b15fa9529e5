// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan_prices.c  See plan_words.h: what moves cost, and which cannot be made. */
#include "show/plan_words.h"

#include "base/plural.h"
#include "base/text/units.h"
#include "show/migrate.h"

#include <math.h>

/* Maximum number of guests that are named; in a large fleet, the others are counted. */
#define NAMED 20

char *plan_hour_text(char *text, size_t size, unsigned hour)
{
    static const char *const days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

    if (hour == PLAN_ANY_HOUR)
        snprintf(text, size, "any");
    else
        snprintf(text, size, "%s %02u:00", days[hour / 24], hour % 24);
    return text;
}

char *plan_takes_text(char *text, size_t size, const struct plan_price *price)
{
    char low[32];

    if (isfinite(price->total_s.value))
        return migrate_seconds_text(text, size, &price->total_s);
    snprintf(text, size, "at best %s", show_seconds(low, sizeof(low), price->total_s.low));
    return text;
}

/* "128.0 MiB/s and 300ms of downtime" */
static void say_terms(FILE *out, const struct migrate_terms *terms)
{
    const struct migrate_path path = migrate_path_of(terms, true);

    fprintf(out, "%s/s and %g ms of downtime", BYTES_TEXT((uint64_t)path.bandwidth_bytes_s.value),
            1000 * path.downtime_s);
}

void plan_say_prices(const struct plan_voice *voice, const struct plan_shown *shown)
{
    const struct plan_moves *moves = &shown->result->moves;
    double total_s = 0, sent_bytes = 0;
    size_t unknown = 0, part_of_week = 0;

    for (size_t m = 0; m < moves->n; m++) {
        const struct plan_price *price = plan_price_of(shown->fleet, moves->move[m].guest);

        if (!price || !isfinite(price->total_s.value)) {
            unknown++;
            continue;
        }
        part_of_week += price->hour == PLAN_ANY_HOUR &&
                        plan_writes_hours(shown->fleet->writes[moves->move[m].guest]) <
                            PLAN_WEEK_HOURS;
        total_s += price->total_s.value;
        sent_bytes += price->sent_bytes.value;
    }
    if (moves->n > unknown) {
        fprintf(voice->out, "%sOne after the other, %zu move%s take%s %s and send%s %s, with ",
                voice->begin, moves->n - unknown, plural((double)(moves->n - unknown)),
                moves->n - unknown == 1 ? "s" : "", SECONDS_TEXT(total_s),
                moves->n - unknown == 1 ? "s" : "", BYTES_TEXT((uint64_t)sent_bytes));
        say_terms(voice->out, &shown->request->terms);
        fprintf(voice->out, ".%s", voice->end);
    }
    if (part_of_week > 0)
        plan_say(
            voice,
            "For %zu move%s any hour is one of those whose writes are known: less than a week.",
            part_of_week, plural((double)part_of_week));
    if (unknown > 0)
        plan_say(voice,
                 "How long %zu move%s take%s is not known: vmwssd measures what guests write with "
                 "writes = 30m.",
                 unknown, plural((double)unknown), unknown == 1 ? "s" : "");
}

static void say_stuck(const struct plan_voice *voice, const struct plan_shown *shown, size_t g)
{
    const struct plan_guest *guest = &shown->fleet->guests[g];
    const unsigned n_hours = plan_writes_hours(shown->fleet->writes[g]);
    const double enough = plan_price_of(shown->fleet, g)->enough_bandwidth_bytes_s.value;

    fputs(voice->begin, voice->out);
    voice->name(voice->out, guest->name);
    fputs(" on ", voice->out);
    voice->name(voice->out, shown->fleet->hosts[guest->host].name);
    if (n_hours < PLAN_WEEK_HOURS)
        fprintf(voice->out,
                " is not moved: at none of the %u hour%s of the week that %s known would its "
                "migration converge with ",
                n_hours, plural(n_hours), n_hours == 1 ? "is" : "are");
    else
        fputs(" is not moved: at no hour of the week would its migration converge with ",
              voice->out);
    say_terms(voice->out, &shown->request->terms);
    if (isfinite(enough))
        fprintf(voice->out, ", but with %s/s", BYTES_TEXT((uint64_t)enough));
    fprintf(voice->out, ".%s", voice->end);
}

void plan_say_stuck(const struct plan_voice *voice, const struct plan_shown *shown)
{
    size_t n = 0;

    for (size_t g = 0; g < shown->fleet->n_guests; g++)
        if (plan_is_stuck(shown->fleet, g) && n++ < NAMED)
            say_stuck(voice, shown, g);
    if (n > NAMED)
        plan_say(voice, "%zu more guests are not moved for the same reason.", n - NAMED);
}
