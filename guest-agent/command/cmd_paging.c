// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_paging.c  vmwss-guest paging: whether the guest pages or scans, and the verdict. */
#include "base/clock.h"
#include "base/text/json.h"
#include "command/command.h"
#include "command/repeat.h"
#include "print/columns.h"
#include "print/record.h"
#include "proc/paging_rates.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct options {
    struct repeat repeat;
    bool json;
};

#define AT(member) offsetof(struct options, member)
static const struct option_line lines[] = {
    REPEAT_INTERVAL(AT(repeat), "over S seconds (1)"),
    REPEAT_COUNT(AT(repeat), "N times (1)"),
    {OPTION_FLAG, 'j', "json", NULL, AT(json),
     .help = "one JSON object a line, schema vmwss.guest_paging.v1"},
    {.type = OPTION_END},
};
static const struct command_options command_line = {
    .usage =
        "Usage: vmwss-guest paging [OPTIONS]\n\n"
        "Swapping, reclaim and refaults a second over an interval, and what follows from them: is the working set below the\n"
        "memory, near it, or above it? The rule: who looks for pages to take (" PAGING_NEAR_TEXT
        " scanned a second) while pages come\n"
        "back (" PAGING_ABOVE_TEXT
        " a second swapped in, or wanted again) has more than fits; who looks for pages, but has none come\n"
        "back, is near; who does not is below.\n",
    .lines = lines,
    .no_arguments = true,
};

static int print_table(const struct paging_rates *rates)
{
    static const struct column column[] = {{.name = "WHAT"}, {.name = "PER SECOND", .right = true}};
    struct columns *columns = columns_new(column, 2);
    char reason[200], rate[32];
    int rc;

    for (size_t i = 0; i < PAGING_COUNTERS; i++) {
        if (isnan(rates->per_s[i]))
            continue;
        snprintf(rate, sizeof(rate), "%.1f", rates->per_s[i]);
        columns_row(columns, (const char *[]){paging_counter_name(i), rate});
    }
    rc = columns_end(columns, true, stdout);
    printf("%s: %s\n", paging_verdict_name(paging_verdict(rates)),
           paging_reason(rates, reason, sizeof(reason)));
    fflush(stdout);
    return rc;
}

static int print_json(const struct paging_rates *rates, const struct paging *totals)
{
    json_t *per_s = json_object();
    char reason[200], time[RECORD_TIME];

    for (size_t i = 0; per_s && i < PAGING_COUNTERS; i++)
        if (!isnan(rates->per_s[i]))
            json_object_set_new(per_s, paging_counter_name(i), json_real(rates->per_s[i]));
    return json_print_line(json_pack("{ss ss sf so so s{sf sf} ss ss}", "schema",
                                     "vmwss.guest_paging.v1", "time", record_time(time),
                                     "interval_s", rates->interval_s, "per_s", per_s, "totals",
                                     paging_json(totals), "thresholds", "paging_pages_per_s",
                                     PAGING_ABOVE_PER_S, "scanning_pages_per_s", PAGING_NEAR_PER_S,
                                     "verdict", paging_verdict_name(paging_verdict(rates)),
                                     "reason", paging_reason(rates, reason, sizeof(reason))));
}

static int watch_paging(const struct fsroot *root, void *at, char **operands, struct error *error)
{
    const struct options *options = at;
    struct paging before, now;
    uint64_t before_ns = clock_ns();
    int rc = paging_read(root, &before, error);

    (void)operands;
    for (uint64_t i = 0; rc == 0 && repeat_again(&options->repeat, i); i++) {
        uint64_t now_ns = clock_ns();
        struct paging_rates rates;

        rc = paging_read(root, &now, error);
        if (rc < 0)
            break;
        paging_rates(&before, &now, (double)(now_ns - before_ns) / 1e9, &rates);
        rc = options->json ? print_json(&rates, &now) : print_table(&rates);
        before = now;
        before_ns = now_ns;
    }
    return rc;
}

int cmd_paging(int argc, char **argv)
{
    struct options options = {.repeat = {.interval_s = 1, .count = 1}};

    return command_run(&command_line, &options, argc, argv, watch_paging);
}
