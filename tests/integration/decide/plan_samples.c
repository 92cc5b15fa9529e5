// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file plan_samples.c  What a Prometheus that scraped vmwss-exporter once a minute would have, for
 * plan_url.sh: OpenMetrics with times, without the last line.
 *
 *   plan_samples HISTORY FROM TO CAPACITY RESERVE   scrapes at FROM, FROM + 60, ... up to TO
 */
#include "show/metrics/planning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_with_time(char *text, double time_s)
{
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (line[0] != '#')
            printf("%s %.3f\n", line, time_s);
}

static int print_scrape(const struct planning *planning, double time_s, char **argv)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return -1;
    planning_write(out, planning, strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10));
    if (fclose(out) == 0)
        print_with_time(text, time_s);
    free(text);
    return 0;
}

int main(int argc, char **argv)
{
    struct error error = {0};
    struct planning planning;
    struct store *store;
    int rc;

    if (argc != 6)
        return 1;
    rc = history_open(argv[1], &store, &error);
    if (rc == 0)
        rc = planning_read(store, strtod(argv[3], NULL), 60, &planning, &error);
    for (double at_s = strtod(argv[2], NULL); rc == 0 && at_s <= strtod(argv[3], NULL);
         at_s += 60) {
        rc = planning_values(store, at_s, &planning, &error);
        if (rc == 0)
            rc = print_scrape(&planning, at_s, argv);
    }
    if (rc < 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    planning_free(&planning);
    store_close(store);
    return 0;
}
