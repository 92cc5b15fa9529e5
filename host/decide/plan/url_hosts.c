// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file url_hosts.c  See url_hosts.h. */
#include "decide/plan/url_hosts.h"

#include "base/array.h"
#include "decide/plan/prom_doubt.h"
#include "decide/plan/url_identity.h"

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
/* A last scrape is sought for LIVE_S, and seen for as long. */
#define SEEN_S (2 * LIVE_S)
#define DEAD_STEP_S 150

struct hosts_reading {
    struct prom_client *client;
    const struct plan_reading *reading;
    struct url_hosts *out;
    struct url_host *host;     /* the host being queried */
    struct url_labels *labels; /* all names and sets of labels, ordered by name */
    size_t n_labels;
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

static int see_labels(const struct prom_answer *answer, size_t series, void *context)
{
    struct hosts_reading *from = context;
    const char *name = prom_label(answer, series, "host");
    struct url_labels *labels;

    if (*name == '\0' || strlen(name) >= sizeof(labels->name))
        return 0;
    labels = array_grow(from->labels, from->n_labels, sizeof(*labels));
    if (labels) {
        from->labels = labels;
        labels += from->n_labels;
        *labels = (struct url_labels){.set = url_identity_set(answer, series)};
        snprintf(labels->name, sizeof(labels->name), "%s", name);
    }
    if (!labels || !labels->set)
        return error_set(from->error, -ENOMEM, "%s: out of memory", prom_url(from->client));
    from->n_labels++;
    return 0;
}

static struct url_host *host_of(const struct hosts_reading *from, const struct prom_answer *answer,
                                size_t series)
{
    return from->host ? from->host : find_host(from->out, prom_label(answer, series, "host"));
}

/* Returns the host of a series whose value is an amount of bytes; NULL: it is none of ours, or the
 * value cannot be read. */
static struct url_host *read_bytes(const struct hosts_reading *from,
                                   const struct prom_answer *answer, size_t series, double *bytes)
{
    struct url_host *host = host_of(from, answer, series);
    double time_s;

    return host && prom_amount(answer, series, 0, &time_s, bytes) ? host : NULL;
}

static int see_capacity(const struct prom_answer *answer, size_t series, void *context)
{
    double bytes;
    struct url_host *host = read_bytes(context, answer, series, &bytes);

    if (host)
        host->capacity_bytes = bytes;
    return 0;
}

static int see_reserve(const struct prom_answer *answer, size_t series, void *context)
{
    double bytes;
    struct url_host *host = read_bytes(context, answer, series, &bytes);

    if (host)
        host->reserve_bytes = bytes;
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

/* Reads what the host has at that time, or all hosts: the last values of series that are scraped.
 * One that is not scraped any more may be of the same host before its labels or its memory changed.
 * If two servers differ, the smaller capacity counts. */
static int read_memory(struct hosts_reading *from, double at_s)
{
    char of[PROM_SELECT_MAX];
    char query[PROM_QUERY_MAX];
    int rc;

    prom_select(of, from->reading, from->host ? from->host->name : NULL);
    snprintf(query, sizeof(query),
             "min by (host) (last_over_time(vmwss_plan_capacity_bytes%s[%ds]))", of, SEEN_S);
    rc = prom_each(from->client, from->reading, query, at_s, see_capacity, from, from->error);
    snprintf(query, sizeof(query),
             "max by (host) (last_over_time(vmwss_plan_reserve_bytes%s[%ds]))", of, SEEN_S);
    if (rc == 0)
        rc = prom_each(from->client, from->reading, query, at_s, see_reserve, from, from->error);
    return rc;
}

/* Makes queries for each host, because dead hosts are few and the whole span is read. */
static int read_dead(struct hosts_reading *from)
{
    const struct plan_reading *reading = from->reading;
    char of[PROM_SELECT_MAX];
    char query[PROM_QUERY_MAX];
    int rc = 0;

    for (size_t h = 0; rc == 0 && h < from->out->n; h++) {
        from->host = &from->out->hosts[h];
        if (from->host->live)
            continue;
        prom_select(of, reading, from->host->name);
        prom_last_query(query, of, reading->to_s - reading->from_s, DEAD_STEP_S);
        rc = prom_each(from->client, reading, query, reading->to_s, see_last, from, from->error);
        if (rc == 0)
            rc = read_memory(from, from->host->scraped_s);
    }
    return rc;
}

static int by_label_name(const void *a, const void *b)
{
    return strcmp(((const struct url_labels *)a)->name, ((const struct url_labels *)b)->name);
}

static int add_host(struct hosts_reading *from, const char *name)
{
    struct url_hosts *out = from->out;
    struct url_host *hosts = array_grow(out->hosts, out->n, sizeof(*hosts));

    if (!hosts)
        return error_set(from->error, -ENOMEM, "%s: out of memory", prom_url(from->client));
    out->hosts = hosts;
    hosts[out->n] = (struct url_host){.reserve_bytes = -1, .scraped_s = from->reading->to_s};
    snprintf(hosts[out->n++].name, sizeof(hosts->name), "%s", name);
    return 0;
}

/* Adds a host for each name, and checks that names with several sets of labels are of one host. */
static int add_hosts(struct hosts_reading *from)
{
    int rc = 0;

    if (from->n_labels > 0)
        qsort(from->labels, from->n_labels, sizeof(*from->labels), by_label_name);
    for (size_t l = 0, end; rc == 0 && l < from->n_labels; l = end) {
        end = l + 1;
        while (end < from->n_labels && by_label_name(&from->labels[l], &from->labels[end]) == 0)
            end++;
        rc = add_host(from, from->labels[l].name);
        if (rc == 0 && end > l + 1)
            rc = url_identity_check(from->client, from->reading, &from->labels[l], end - l,
                                    from->error);
    }
    return rc;
}

static int read_names(struct hosts_reading *from, const char *of)
{
    const struct plan_reading *reading = from->reading;
    char query[PROM_QUERY_MAX];
    int rc;

    snprintf(query, sizeof(query), "last_over_time(vmwss_plan_reserve_bytes%s[%.0fs])", of,
             reading->to_s - reading->from_s);
    rc = prom_each(from->client, reading, query, reading->to_s, see_labels, from, from->error);
    if (rc == 0 && from->n_labels == 0)
        return error_set(from->error, -ENODATA,
                         "%s: it has no vmwss_plan_reserve_bytes%s of that time: does it scrape "
                         "vmwss-exporter of this version? Or look further back with --since",
                         prom_url(from->client), of);
    return rc == 0 ? add_hosts(from) : rc;
}

int url_hosts_read(struct prom_client *client, const struct plan_reading *reading,
                   struct url_hosts *hosts, struct error *error)
{
    struct hosts_reading from = {
        .client = client, .reading = reading, .out = hosts, .error = error};
    char of[PROM_SELECT_MAX];
    char query[PROM_QUERY_MAX];
    int rc = prom_check_names(client, reading, error);

    *hosts = (struct url_hosts){0};
    prom_select(of, reading, NULL);
    if (rc == 0)
        rc = read_names(&from, of);
    if (rc == 0)
        rc = read_memory(&from, reading->to_s);
    prom_last_query(query, of, LIVE_S, LIVE_STEP_S);
    if (rc == 0)
        rc = prom_each(client, reading, query, reading->to_s, see_live, &from, error);
    if (rc == 0)
        rc = read_dead(&from);
    while (from.n_labels > 0)
        free(from.labels[--from.n_labels].set);
    free(from.labels);
    return rc;
}

void url_hosts_free(struct url_hosts *hosts)
{
    free(hosts->hosts);
    *hosts = (struct url_hosts){0};
}
