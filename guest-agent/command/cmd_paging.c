// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_paging.c  vmwss-guest paging: whether the guest pages or scans, and the verdict. */
#include "command/command.h"
#include "command/repeat.h"
#include "print/record.h"
#include "proc/paging_rates.h"

#include <math.h>
#include <stdio.h>

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

static int print_rates(bool json, const struct paging_rates *rates, const struct paging *totals)
{
    json_t *per_s = json_object();
    const char *verdict = paging_verdict_name(paging_verdict(rates));
    char reason[200];
    struct sheet sheet;

    for (size_t i = 0; per_s && i < PAGING_COUNTERS; i++)
        if (!isnan(rates->per_s[i]))
            json_object_set_new(per_s, paging_counter_name(i), json_real(rates->per_s[i]));
    paging_reason(rates, reason, sizeof(reason));
    record_begin(&sheet, json ? SHOW_JSON : SHOW_TABLE, "vmwss.guest_paging.v1");
    sheet_real(&sheet, "interval_s", rates->interval_s);
    record_members(&sheet, "per_s", per_s, "PER SECOND");
    sheet_json(&sheet, "totals", paging_json(totals));
    sheet_group(&sheet, "thresholds");
    sheet_real(&sheet, "paging_pages_per_s", PAGING_ABOVE_PER_S);
    sheet_real(&sheet, "scanning_pages_per_s", PAGING_NEAR_PER_S);
    sheet_close(&sheet);
    sheet_text(&sheet, "verdict", verdict);
    sheet_text(&sheet, "reason", reason);
    sheet_note(&sheet, "%s: %s", verdict, reason);
    fflush(stdout);
    return sheet_end(&sheet);
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
        rc = print_rates(options->json, &rates, &now);
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
