// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/kept.h"

#include "base/clock.h"
#include "base/parse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct kept_choice, member)

const struct option_line kept_span_lines[] = {
    {OPTION_MOMENT, 's', "since", "TIME", AT(from_s),
     .help = "the beginning: how long ago, as in 90m, 12h or 2w, or a local time, as in 20:45,\n"
             "2026-01-31 or 2026-01-31T20:45 (7d)"},
    {OPTION_MOMENT, 'u', "until", "TIME", AT(to_s), .help = "the end (now)"},
    {OPTION_SECONDS, 'w', "window", "S", AT(window_s),
     .help = "one of the windows in the history (60s, or the closest one)"},
    {.type = OPTION_END},
};

void kept_span(const struct kept_choice *choice, double *from_s, double *to_s)
{
    *to_s = isnan(choice->to_s) ? clock_s(CLOCK_REALTIME) : choice->to_s;
    *from_s = isnan(choice->from_s) ? *to_s - choice->since_s : choice->from_s;
}

int kept_span_check(const struct kept_choice *choice)
{
    double from_s;
    double to_s;

    kept_span(choice, &from_s, &to_s);
    if (from_s < to_s)
        return 0;
    return command_refuse("--since is not before --until, which is now unless it is given");
}

#define DEFAULT_WINDOW_S 60

int kept_window(struct store *store, int64_t guest_id, const struct kept_choice *choice,
                double *window_s, struct error *error)
{
    double kept_s[RUN_MAX_WINDOWS];
    double nearest = HUGE_VAL;
    double from_s;
    double to_s;
    ssize_t n;

    *window_s = choice->window_s > 0 ? choice->window_s : DEFAULT_WINDOW_S;
    if (choice->window_s > 0)
        return 0;
    kept_span(choice, &from_s, &to_s);
    n = history_windows_within(store, guest_id, from_s, to_s, kept_s, error);
    for (ssize_t w = 0; w < n; w++) {
        const double ratio = fabs(log(kept_s[w] / DEFAULT_WINDOW_S));

        if (ratio < nearest)
            *window_s = kept_s[w];
        nearest = fmin(nearest, ratio);
    }
    return n < 0 ? (int)n : 0;
}

int kept_end(struct store *store, int rc, struct error *error)
{
    store_close(store);
    return command_end(rc, error);
}
