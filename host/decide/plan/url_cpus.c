// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/url_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct cpus_reading {
    const struct plan_reading *reading;
    struct roster *roster;
};

/* Some exporters name a guest by its label domain only. */
static bool is_of(const struct roster *roster, const struct roster_row *row,
                  const struct prom_series *series)
{
    const char *uuid = prom_label(series, "uuid");
    const char *host = prom_label(series, "host");

    if (uuid[0] != '\0')
        return strcasecmp(roster->guests[row->guest].uuid, uuid) == 0;
    return strcmp(row->name, prom_label(series, "domain")) == 0 &&
           (host[0] == '\0' || strcmp(roster->hosts[row->host].host.name, host) == 0);
}

static int see_cpus(struct prom_series *series, void *context)
{
    const struct cpus_reading *from = context;
    const struct roster *roster = from->roster;
    const struct roster_row *first = NULL;

    for (size_t r = 0; r < roster->n_rows; r++) {
        const struct roster_row *row = &roster->rows[r];
        struct roster_guest *guest = &roster->guests[row->guest];

        if (guest->latest != r || !is_of(roster, row, series))
            continue;
        guest->cpus = fmax(guest->cpus, series->value);
        if (first && first->host != row->host && prom_label(series, "uuid")[0] == '\0')
            plan_warn(from->reading,
                      "--cpu-query: guests of several hosts are called %s: without a label uuid or "
                      "host the largest of their CPUs counts for each",
                      row->name);
        first = row;
    }
    return 0;
}

/* By default asks for what the exporter serves of each window, every 15 minutes. */
int url_cpus_read(struct roster *roster, struct prom_reader *reader)
{
    struct cpus_reading from = {reader->reading, roster};

    return prom_each(reader, NULL,
                     reader->reading->cpu_query[0] != '\0'
                         ? "$cpus"
                         : "quantile_over_time(0.99, "
                           "(max by (uuid) (vmwss_window_vcpu_seconds{$window,$of}) / "
                           "max by (uuid) (vmwss_window_measured_seconds{$window,$of}))"
                           "[$span:$900])",
                     see_cpus, &from);
}
