// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_paging.c  vmwss-guest paging: does the guest page, or look for pages, and what follows
 * from it. */
#include "base/clock.h"
#include "command/command.h"
#include "command/repeat.h"
#include "print/columns.h"
#include "print/record.h"
#include "proc/keyed.h"
#include "proc/paging_rates.h"
#include "show/json.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: vmwss-guest paging [OPTIONS]\n\n"
    "Swapping, reclaim and refaults a second over an interval, and what follows from them: is the working set below the\n"
    "memory, near it, or above it? The rule: who looks for pages to take (" PAGING_NEAR_TEXT
    " scanned a second) while pages come\n"
    "back (" PAGING_ABOVE_TEXT
    " a second swapped in, or wanted again) has more than fits; who looks for pages, but has none come\n"
    "back, is near; who does not is below.\n\n"
    "  -i, --interval S  over S seconds (1)\n"
    "  -k, --count N     N times (1)\n"
    "  -j, --json        one JSON object a line, schema vmwss.guest_paging.v1\n"
    "  -h, --help        this text\n";

/* 0, 1 for "help was shown", or -EINVAL. */
static int parse_options(struct repeat *repeat, bool *json, int argc, char **argv)
{
    static const struct option longs[] = {{"interval", required_argument, NULL, 'i'},
                                          {"count", required_argument, NULL, 'k'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    int option, rc = 0;

    while (rc == 0 && (option = getopt_long(argc, argv, "i:k:jh", longs, NULL)) >= 0) {
        if (option == 'h') {
            fputs(help, stdout);
            return 1;
        }
        if (option == 'j')
            *json = true;
        else
            rc = option == '?' ? -EINVAL : repeat_option(repeat, option, optarg);
    }
    if (rc < 0 || optind == argc)
        return rc;
    command_error("paging takes no argument: '%s'", argv[optind]);
    return -EINVAL;
}

static int print_table(const struct paging_rates *rates)
{
    static const struct column column[] = {{.name = "WHAT"}, {.name = "PER SECOND", .right = true}};
    struct columns *columns = columns_new(column, 2);
    char reason[200], rate[32];
    int rc = columns ? 0 : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < PAGING_COUNTERS; i++) {
        if (isnan(rates->per_s[i]))
            continue;
        snprintf(rate, sizeof(rate), "%.1f", rates->per_s[i]);
        rc = columns_row(columns, (const char *[]){paging_counter_name(i), rate});
    }
    if (rc == 0)
        columns_print(columns, true, stdout);
    columns_free(columns);
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

static int watch(const struct fsroot *root, const struct repeat *repeat, bool json,
                 struct error *error)
{
    struct paging before, now;
    uint64_t before_ns = clock_ns();
    int rc = paging_read(root, &before, error);

    for (uint64_t i = 0; rc == 0 && repeat_again(repeat, i); i++) {
        uint64_t now_ns = clock_ns();
        struct paging_rates rates;

        rc = paging_read(root, &now, error);
        if (rc < 0)
            break;
        paging_rates(&before, &now, (double)(now_ns - before_ns) / 1e9, &rates);
        rc = json ? print_json(&rates, &now) : print_table(&rates);
        before = now;
        before_ns = now_ns;
    }
    return rc;
}

int cmd_paging(int argc, char **argv)
{
    struct repeat repeat = {.interval_s = 1, .count = 1};
    struct error error = {0};
    struct fsroot root;
    bool json = false;
    int rc = parse_options(&repeat, &json, argc, argv);

    if (rc != 0)
        return rc > 0 ? EXIT_DONE : EXIT_USAGE;
    if (command_root(&root) != EXIT_DONE)
        return EXIT_CANNOT;
    rc = watch(&root, &repeat, json, &error);
    fsroot_close(&root);
    if (rc < 0 && !error.code)
        error_set(&error, rc, "%s", strerror(-rc));
    return rc < 0 ? command_cannot(&error) : EXIT_DONE;
}
