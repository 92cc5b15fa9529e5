// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file url_hosts.c  See url_parts.h. */
#include "decide/plan/url_parts.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two hosts have one name if that is so at four moments, five minutes apart (for so long PromQL
 * returns a value), or in the last half hour at seven moments a minute apart. A label that changes
 * has both of its values for five minutes. */
#define TWO_HOSTS(moments, n)                                                \
    "count_over_time((count by (host) (vmwss_plan_ram_bytes{$of}) / "        \
    "count by (host) (count by (host, uuid) (vmwss_plan_ram_bytes{$of})) < " \
    "count by (host) (vmwss_plan_reserve_bytes{$of}) - 0.5)" moments ") >= " n

/* The time of the last scrape, by moments. */
#define SCRAPED(moments) \
    "max by (host) (max_over_time(timestamp(vmwss_plan_reserve_bytes{$of})" moments "))"

#define EQUAL_LABELS                                                                              \
    ": its memory and its guests come from different scrapes: several hosts have that name, and " \
    "all their labels are equal: give each a label instance, or a name, of its own"

struct hosts_reading {
    struct prom_reader *reader;
    struct url_hosts *out;
    struct url_host *host;     /* the host being queried; NULL: all */
    const struct doubt *doubt; /* the one that is asked about */
};

static int no_memory(const struct hosts_reading *from)
{
    return error_set(from->reader->error, -ENOMEM, "%s: out of memory",
                     prom_url(from->reader->client));
}

static struct url_host *find_host(const struct hosts_reading *from, const char *name)
{
    for (size_t h = 0; h < from->out->n; h++)
        if (strcmp(from->out->hosts[h].name, name) == 0)
            return &from->out->hosts[h];
    return NULL;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Adds a label whose value differs, once: LABEL="A" and LABEL="B". */
static void add_difference(struct url_host *host, const char *label, const char *first,
                           const char *second)
{
    const size_t n = strlen(host->differ);
    char find[80];

    snprintf(find, sizeof(find), "%s=\"", label);
    if (strcmp(first, second) == 0 || strstr(host->differ, find))
        return;
    snprintf(host->differ + n, sizeof(host->differ) - n, "%s%s=\"%.60s\" and %s=\"%.60s\"",
             n > 0 ? ", " : "", label, first, label, second);
}

static int compare_labels(struct url_host *host, const struct prom_series *series)
{
    const struct prom_series own = {.labels = host->labels};
    json_t *both = json_copy(host->labels);
    const char *label;
    json_t *value;
    int rc = both ? json_object_update_missing(both, series->labels) : -1;

    json_object_foreach(both, label, value)
    {
        add_difference(host, label, prom_label(&own, label), prom_label(series, label));
    }
    json_decref(both);
    return rc < 0 ? -ENOMEM : 0;
}

static int see_name(struct prom_series *series, void *context)
{
    const struct hosts_reading *from = context;
    const char *name = prom_label(series, "host");
    struct url_host *host = find_host(from, name);

    if (host)
        return compare_labels(host, series) < 0 ? no_memory(from) : 0;
    if (*name == '\0' || strlen(name) >= sizeof(host->name)) {
        from->out->nameless++;
        return 0;
    }
    host = array_grow(from->out->hosts, from->out->n, sizeof(*host));
    if (!host)
        return no_memory(from);
    from->out->hosts = host;
    host += from->out->n++;
    *host = (struct url_host){.labels = json_incref(series->labels),
                              .scraped_s = from->reader->reading->to_s};
    snprintf(host->name, sizeof(host->name), "%s", name);
    return 0;
}

static int refuse_name(struct prom_series *series, void *context)
{
    const struct hosts_reading *from = context;
    char labels[400];
    char host[128];

    (void)series;
    return error_set(from->reader->error, -ENOTUNIQ,
                     "%s: host %s: several hosts have that name, %s: choose with --match and these "
                     "labels, or give each host a name of its own",
                     prom_url(from->reader->client),
                     utf8_printable_copy(host, sizeof(host), from->host->name),
                     utf8_printable_copy(labels, sizeof(labels), from->host->differ));
}

/* --- last scrapes ----------------------------------------------------------------------------- */

static int see_scrape(struct prom_series *series, void *context)
{
    const struct hosts_reading *from = context;
    struct url_host *host = from->host ? from->host : find_host(from, prom_label(series, "host"));
    double time_s;
    double scraped_s;

    if (host && prom_next(series, &time_s, &scraped_s)) {
        host->live |= !from->host;
        host->scraped_s = scraped_s;
    }
    return 0;
}

/* --- what is wrong with them ------------------------------------------------------------------ */

/* Hosts whose series do not belong together, or are not what they seem. */
static const struct doubt {
    const char *what, *query;
    int rc; /* -ENOTUNIQ: the host is refused */
} doubts[] = {
    {" is left out: it has guests, but no vmwss_plan_reserve_bytes with that label host: was it "
     "dropped or rewritten by relabelling?",
     "count by (host) (last_over_time(vmwss_plan_ram_bytes{$of}[3600s])) unless on (host) "
     "last_over_time(vmwss_plan_reserve_bytes{$of}[3600s])",
     0},
    {": its guests needed more together, by its vmwss_plan_host_need_bytes, than those whose needs "
     "are there: were some dropped by relabelling?",
     "sum by (host) (last_over_time(vmwss_plan_need_bytes{$window,$of}[1800s])) < 0.98 * "
     "sum by (host) (last_over_time(vmwss_plan_host_need_bytes{$window,$of}[1800s]))",
     0},
    /* the same five minutes as in the alert VmwssFileStale */
    {": its series were not written for five minutes or more before they were scraped, so they are "
     "not of that time: does vmwss-exporter --textfile run there?",
     "count by (host) (last_over_time(vmwss_plan_reserve_bytes{$of}[1800s]) and "
     "ignoring (host, exported_host) (max_over_time((timestamp(vmwss_written_timestamp_seconds) - "
     "vmwss_written_timestamp_seconds)[1800s:60s]) > 300))",
     0},
    /* At moments in different parts of a minute. A guest that has ended unmarked is in an older
     * scrape for five minutes. For a guest that is new Thanos may choose another replica than for
     * its host. */
    {EQUAL_LABELS,
     "count by (host) (count_over_time((timestamp(vmwss_plan_ram_bytes{$of}) < "
     "ignoring (domain, uuid) group_left () timestamp(vmwss_plan_reserve_bytes{$of}))[1800s:37s]) "
     ">= 10 and vmwss_plan_ram_bytes{$of} offset 1800s)",
     -ENOTUNIQ},
};

/* A host that was scraped more often than it is now, and guests that were in fewer scrapes: as long
 * as there were two. VictoriaMetrics may have dropped one of two scrapes; what is there is of both.
 */
static const char scraped_more_often[] =
    "max by (host) (max_over_time(count_over_time(vmwss_plan_reserve_bytes{$of}[300s])[$span:$900])) "
    ">= 1.5 * max by (host) (count_over_time(vmwss_plan_reserve_bytes{$of}[300s]))";
static const struct doubt equal_before = {
    EQUAL_LABELS ", or look back to when they had one with --since",
    "count by (host) (count_over_time((1.5 * (count_over_time(vmwss_plan_ram_bytes{$of}[300s]) and "
    "vmwss_plan_ram_bytes{$of} and vmwss_plan_ram_bytes{$of} offset 300s) < "
    "ignoring (domain, uuid) group_left () "
    "count_over_time(vmwss_plan_reserve_bytes{$of}[300s]))[$span:$900]) >= 10)",
    -ENOTUNIQ};

static int see_more_often(struct prom_series *series, void *context)
{
    struct url_host *host = find_host(context, prom_label(series, "host"));

    if (host)
        host->more_often = true;
    return 0;
}

/* Warns of a host, whose guests then are partly known; or refuses it. */
static int see_doubt(struct prom_series *series, void *context)
{
    const struct hosts_reading *from = context;
    const char *url = prom_url(from->reader->client);
    const char *what = from->doubt->what;
    struct url_host *host = find_host(from, prom_label(series, "host"));
    char name[300];

    utf8_printable_copy(name, sizeof(name), prom_label(series, "host"));
    if (from->doubt->rc < 0)
        return error_set(from->reader->error, from->doubt->rc, "%s: host %s%s", url, name, what);
    plan_warn(from->reader->reading, "%s: host %s%s", url, name, what);
    if (host)
        host->partial = true;
    return 0;
}

static int check_equal_before(struct hosts_reading *from)
{
    from->doubt = &equal_before;
    return prom_each(from->reader, NULL, equal_before.query, see_doubt, from);
}

/* Makes queries for single hosts, because dead hosts, and those that may be two, are few and the
 * whole span is read. */
static int read_each(struct hosts_reading *from)
{
    struct prom_reader *reader = from->reader;
    int rc = 0;

    for (size_t h = 0; rc == 0 && h < from->out->n; h++) {
        from->host = &from->out->hosts[h];
        reader->host = from->host->name;
        if (from->host->differ[0])
            rc = prom_each(reader, NULL, TWO_HOSTS("[$span:$300]", "4"), refuse_name, from);
        if (rc == 0 && from->host->differ[0])
            rc = prom_each(reader, NULL, TWO_HOSTS("[1800s:60s]", "7"), refuse_name, from);
        if (rc == 0 && from->host->more_often)
            rc = check_equal_before(from);
        if (rc == 0 && !from->host->live)
            rc = prom_each(reader, NULL, SCRAPED("[$span:$150]"), see_scrape, from);
    }
    from->host = NULL;
    reader->host = NULL;
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct url_host *)a)->name, ((const struct url_host *)b)->name);
}

static int no_hosts(const struct hosts_reading *from)
{
    const struct plan_reading *reading = from->reader->reading;
    const char *match = reading->prometheus ? reading->prometheus->match : NULL;
    const char *url = prom_url(from->reader->client);

    if (from->out->nameless > 0)
        return error_set(from->reader->error, -ENODATA,
                         "%s: its vmwss_plan_reserve_bytes have no valid label host: was it "
                         "dropped or rewritten by relabelling?",
                         url);
    return error_set(from->reader->error, -ENODATA,
                     "%s: it has no vmwss_plan_reserve_bytes%s%s%s of that time: does it scrape "
                     "vmwss-exporter of this version? Or look further back with --since",
                     url, match ? "{" : "", match ? match : "", match ? "}" : "");
}

int url_hosts_read(struct prom_reader *reader, struct url_hosts *hosts)
{
    struct hosts_reading from = {.reader = reader, .out = hosts};
    int rc = prom_each(reader, NULL, "last_over_time(vmwss_plan_reserve_bytes{$of}[$span])",
                       see_name, &from);

    if (rc == 0 && hosts->n == 0)
        rc = no_hosts(&from);
    if (rc < 0)
        return rc;
    qsort(hosts->hosts, hosts->n, sizeof(*hosts->hosts), by_name);
    rc = prom_each(reader, NULL, SCRAPED("[300s:15s]"), see_scrape, &from);
    if (rc == 0)
        rc = prom_each(reader, NULL, scraped_more_often, see_more_often, &from);
    if (rc == 0)
        rc = read_each(&from);
    for (size_t d = 0; rc == 0 && d < COUNT(doubts); d++) {
        from.doubt = &doubts[d];
        rc = prom_each(reader, NULL, doubts[d].query, see_doubt, &from);
    }
    return rc;
}

void url_hosts_free(struct url_hosts *hosts)
{
    for (size_t h = 0; h < hosts->n; h++)
        json_decref(hosts->hosts[h].labels);
    free(hosts->hosts);
    *hosts = (struct url_hosts){0};
}
