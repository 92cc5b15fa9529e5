// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file url_hosts.c  See url_hosts.h. */
#include "decide/plan/url_hosts.h"

#include "decide/plan/prom_doubt.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A host whose last scrape is older is not live: PromQL returns a value for this long. */
#define LIVE_S 300
/* Interval between the moments at which a last scrape is sought; the longer one is for dead hosts.
 */
#define LIVE_STEP_S 15
#define DEAD_STEP_S 150

struct hosts_reading {
    struct prom_client *client;
    const struct plan_reading *reading;
    struct url_hosts *out;
    struct url_host *host; /* the host being queried */
    struct error *error;
};

static int compare_name(const void *name, const void *host)
{
    return strcmp(name, ((const struct url_host *)host)->name);
}

static struct url_host *find_host(const struct url_hosts *hosts, const char *name)
{
    if (hosts->n == 0)
        return NULL;
    return bsearch(name, hosts->hosts, hosts->n, sizeof(*hosts->hosts), compare_name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct url_host *)a)->name, ((const struct url_host *)b)->name);
}

static int see_host(const struct prom_answer *answer, size_t series, void *context)
{
    struct hosts_reading *from = context;
    struct url_hosts *out = from->out;
    const char *name = prom_label(answer, series, "host");
    struct url_host *hosts;
    double time_s;
    double bytes;

    if (*name == '\0' || strlen(name) >= sizeof(hosts->name))
        return 0;
    if (!prom_amount(answer, series, 0, &time_s, &bytes))
        bytes = -1;
    hosts = reallocarray(out->hosts, out->n + 1, sizeof(*hosts));
    if (!hosts)
        return error_set(from->error, -ENOMEM, "%s: out of memory", prom_url(from->client));
    out->hosts = hosts;
    hosts[out->n] = (struct url_host){.reserve_bytes = bytes, .scraped_s = from->reading->to_s};
    snprintf(hosts[out->n++].name, sizeof(hosts->name), "%s", name);
    return 0;
}

static int see_capacity(const struct prom_answer *answer, size_t series, void *context)
{
    const struct hosts_reading *from = context;
    struct url_host *host = find_host(from->out, prom_label(answer, series, "host"));
    double time_s;
    double bytes;

    if (host && prom_amount(answer, series, 0, &time_s, &bytes))
        host->capacity_bytes = bytes;
    return 0;
}

static int see_live(const struct prom_answer *answer, size_t series, void *context)
{
    const struct hosts_reading *from = context;
    struct url_host *host = find_host(from->out, prom_label(answer, series, "host"));
    double time_s;
    double scraped_s;

    if (host && prom_point(answer, series, 0, &time_s, &scraped_s)) {
        host->live = true;
        host->scraped_s = scraped_s;
    }
    return 0;
}

static int see_last(const struct prom_answer *answer, size_t series, void *context)
{
    const struct hosts_reading *from = context;
    double time_s;
    double scraped_s;

    if (prom_point(answer, series, 0, &time_s, &scraped_s))
        from->host->scraped_s = scraped_s;
    return 0;
}

/* Makes one query for each host, because dead hosts are few and the whole span is read. */
static int read_dead(struct hosts_reading *from)
{
    const struct plan_reading *reading = from->reading;
    char query[PROM_QUERY_MAX];
    int rc = 0;

    for (size_t h = 0; rc == 0 && h < from->out->n; h++) {
        from->host = &from->out->hosts[h];
        if (from->host->live)
            continue;
        prom_last_query(query, from->host->name, reading->to_s - reading->from_s, DEAD_STEP_S);
        rc = prom_each(from->client, reading, query, reading->to_s, see_last, from, from->error);
    }
    return rc;
}

static int read_names(struct hosts_reading *from, double span_s)
{
    const struct plan_reading *reading = from->reading;
    char query[PROM_QUERY_MAX];
    int rc;

    snprintf(query, sizeof(query),
             "max by (host) (last_over_time(vmwss_plan_reserve_bytes[%.0fs]))", span_s);
    rc = prom_each(from->client, reading, query, reading->to_s, see_host, from, from->error);
    if (rc == 0 && from->out->n == 0)
        return error_set(from->error, -ENODATA,
                         "%s: it has no vmwss_plan_reserve_bytes of that time: does it scrape "
                         "vmwss-exporter of this version? Or look further back with --since",
                         prom_url(from->client));
    if (rc == 0)
        qsort(from->out->hosts, from->out->n, sizeof(*from->out->hosts), by_name);
    return rc;
}

int url_hosts_read(struct prom_client *client, const struct plan_reading *reading,
                   struct url_hosts *hosts, struct error *error)
{
    struct hosts_reading from = {
        .client = client, .reading = reading, .out = hosts, .error = error};
    const double span_s = reading->to_s - reading->from_s;
    char query[PROM_QUERY_MAX];
    int rc = prom_check_names(client, reading, error);

    *hosts = (struct url_hosts){0};
    if (rc == 0)
        rc = read_names(&from, span_s);
    snprintf(query, sizeof(query),
             "max by (host) (last_over_time(vmwss_plan_capacity_bytes[%.0fs]))", span_s);
    if (rc == 0)
        rc = prom_each(client, reading, query, reading->to_s, see_capacity, &from, error);
    prom_last_query(query, NULL, LIVE_S, LIVE_STEP_S);
    if (rc == 0)
        rc = prom_each(client, reading, query, reading->to_s, see_live, &from, error);
    return rc == 0 ? read_dead(&from) : rc;
}

void url_hosts_free(struct url_hosts *hosts)
{
    free(hosts->hosts);
    *hosts = (struct url_hosts){0};
}
