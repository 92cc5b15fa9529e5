// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file url_hosts.c  See url_hosts.h. */
#include "decide/plan/url_hosts.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#include <errno.h>
#include <jansson.h>
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
/* Two hosts have one name if that is so at this many moments, LIVE_S apart, or in the last
 * YOUNG_S at YOUNG_MOMENTS a minute apart. A label that changes has both of its values for
 * LIVE_S. */
#define MOMENTS_OF_TWO 4
#define YOUNG_S 1800
#define YOUNG_MOMENTS 7
/* Two hosts with equal labels show by series that were scraped at different times: asked for at
 * moments in different parts of a minute. A guest that has ended unmarked is in an older one for
 * LIVE_S. */
#define SCRAPES_STEP_S 37
#define SCRAPES_OF_TWO 10
/* A file of --textfile that is older is not written any more: as in the alert VmwssFileStale. */
#define WRITTEN_S 300
/* VictoriaMetrics refuses more than 30,000 points of one series of a subquery. */
#define MOMENTS_MAX 10000

struct hosts_reading {
    struct prom_reader reader;
    struct url_hosts *out;
    struct url_host *host; /* the host being queried; NULL: all */
};

static int no_memory(const struct hosts_reading *from)
{
    return error_set(from->reader.error, -ENOMEM, "%s: out of memory",
                     prom_url(from->reader.client));
}

static double span_of(const struct hosts_reading *from)
{
    return from->reader.reading->to_s - from->reader.reading->from_s;
}

/* Returns the interval between moments in the whole span. */
static double step_of(const struct hosts_reading *from, double step_s)
{
    return fmax(step_s, ceil(span_of(from) / MOMENTS_MAX));
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
static int add_difference(struct url_host *host, const char *label, const json_t *a,
                          const json_t *b)
{
    const char *first = json_is_string(a) ? json_string_value(a) : "";
    const char *second = json_is_string(b) ? json_string_value(b) : "";
    const char *old = host->differ ? host->differ : "";
    char find[80];
    char *differ = NULL;

    snprintf(find, sizeof(find), "%s=\"", label);
    if (strcmp(first, second) == 0 || strstr(old, find))
        return 0;
    if (asprintf(&differ, "%s%s%s=\"%.60s\" and %s=\"%.60s\"", old, *old ? ", " : "", label, first,
                 label, second) < 0)
        return -ENOMEM;
    free(host->differ);
    host->differ = differ;
    return 0;
}

static int compare_labels(struct url_host *host, const struct prom_series *series)
{
    json_t *mine = host->labels;
    json_t *others = series->labels;
    const char *label;
    json_t *value;
    int rc = 0;

    json_object_foreach(mine, label, value)
    {
        if (rc == 0)
            rc = add_difference(host, label, value, json_object_get(others, label));
    }
    json_object_foreach(others, label, value)
    {
        if (rc == 0)
            rc = add_difference(host, label, json_object_get(mine, label), value);
    }
    return rc;
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
                              .scraped_s = from->reader.reading->to_s};
    snprintf(host->name, sizeof(host->name), "%s", name);
    return 0;
}

static int refuse_name(struct prom_series *series, void *context)
{
    const struct hosts_reading *from = context;
    char labels[400];
    char host[128];

    (void)series;
    return error_set(from->reader.error, -ENOTUNIQ,
                     "%s: host %s: several hosts have that name, %s: choose with --match and these "
                     "labels, or give each host a name of its own",
                     prom_url(from->reader.client),
                     utf8_printable_copy(host, sizeof(host), from->host->name),
                     utf8_printable_copy(labels, sizeof(labels), from->host->differ));
}

/* Refuses a name of which at so many moments the guests have fewer series than the host has. */
static int check_moments(const struct hosts_reading *from, double span_s, double step_s, int n)
{
    const struct plan_reading *reading = from->reader.reading;
    struct prom_reader reader = from->reader;
    char of[PROM_SELECT_MAX];

    reader.see = refuse_name;
    prom_select(of, reading, from->host->name);
    return prom_each(&reader, PROM_AT(reading->to_s),
                     "count_over_time((count by (host) (vmwss_plan_ram_bytes{%s}) / "
                     "count by (host) (count by (host, uuid) (vmwss_plan_ram_bytes{%s})) < "
                     "count by (host) (vmwss_plan_reserve_bytes{%s}) - 0.5)[%.0fs:%.0fs]) >= %d",
                     of, of, of, span_s, step_s, n);
}

static int check_name(const struct hosts_reading *from)
{
    int rc = check_moments(from, span_of(from), step_of(from, LIVE_S), MOMENTS_OF_TWO);

    return rc == 0 ? check_moments(from, YOUNG_S, 60, YOUNG_MOMENTS) : rc;
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

static int read_scrapes(const struct hosts_reading *from, double span_s, double step_s)
{
    const double to_s = from->reader.reading->to_s;
    struct prom_reader reader = from->reader;
    char of[PROM_SELECT_MAX];

    reader.see = see_scrape;
    prom_select(of, reader.reading, from->host ? from->host->name : NULL);
    return prom_each(&reader, PROM_AT(to_s),
                     "max by (host) (max_over_time(timestamp(vmwss_plan_reserve_bytes{%s})"
                     "[%.0fs:%.0fs]))",
                     of, span_s, step_s);
}

/* Makes queries for single hosts, because dead hosts are few and the whole span is read. */
static int read_each(struct hosts_reading *from)
{
    int rc = 0;

    for (size_t h = 0; rc == 0 && h < from->out->n; h++) {
        from->host = &from->out->hosts[h];
        if (from->host->differ)
            rc = check_name(from);
        if (rc == 0 && !from->host->live)
            rc = read_scrapes(from, span_of(from), step_of(from, DEAD_STEP_S));
    }
    return rc;
}

/* --- what is wrong with them ------------------------------------------------------------------ */

struct doubt {
    const struct hosts_reading *from;
    const char *what;
    int rc;
};

/* Warns of a host, whose guests then are partly known; or refuses it. */
static int see_doubt(struct prom_series *series, void *context)
{
    const struct doubt *doubt = context;
    const struct hosts_reading *from = doubt->from;
    struct url_host *host = find_host(from, prom_label(series, "host"));
    char name[300];
    char text[800];

    utf8_printable_copy(name, sizeof(name), prom_label(series, "host"));
    snprintf(text, sizeof(text), "%s: host %s%s", prom_url(from->reader.client), name, doubt->what);
    if (doubt->rc < 0)
        return error_set(from->reader.error, doubt->rc, "%s", text);
    plan_warn(from->reader.reading, text);
    if (host)
        host->partial = true;
    return 0;
}

/* Asks for hosts whose series do not belong together, or are not what they seem. */
static int read_doubts(const struct hosts_reading *from, const char *of)
{
    const double window_s = from->reader.reading->window_s;
    const struct prom_span *now = PROM_AT(from->reader.reading->to_s);
    struct doubt doubt = {from, NULL, 0};
    struct prom_reader reader = from->reader;
    int rc;

    reader.see = see_doubt;
    reader.context = &doubt;
    doubt.what = " is left out: it has guests, but no vmwss_plan_reserve_bytes with that label "
                 "host: was it dropped or rewritten by relabelling?";
    rc = prom_each(&reader, now,
                   "count by (host) (last_over_time(vmwss_plan_ram_bytes{%s}[%ds])) unless on "
                   "(host) last_over_time(vmwss_plan_reserve_bytes{%s}[%ds])",
                   of, PLAN_RECENT_S, of, PLAN_RECENT_S);
    if (rc < 0)
        return rc;
    doubt.what = ": its guests needed more together, by its vmwss_plan_host_need_bytes, than those "
                 "whose needs are there: were some dropped by relabelling?";
    rc = prom_each(&reader, now,
                   "sum by (host) (last_over_time(vmwss_plan_need_bytes{window=\"%.10g\",%s}[%ds]))"
                   " < 0.98 * sum by (host) (last_over_time("
                   "vmwss_plan_host_need_bytes{window=\"%.10g\",%s}[%ds]))",
                   window_s, of, PLAN_SCRAPED_S, window_s, of, PLAN_SCRAPED_S);
    if (rc < 0)
        return rc;
    doubt.what = ": its series were not written for five minutes or more before they were scraped, "
                 "so they are not of that time: does vmwss-exporter --textfile run there?";
    rc = prom_each(&reader, now,
                   "count by (host) (last_over_time(vmwss_plan_reserve_bytes{%s}[%ds]) and "
                   "ignoring (host, exported_host) (max_over_time((timestamp("
                   "vmwss_written_timestamp_seconds) - vmwss_written_timestamp_seconds)"
                   "[%ds:60s]) > %d))",
                   of, PLAN_SCRAPED_S, PLAN_SCRAPED_S, WRITTEN_S);
    if (rc < 0)
        return rc;
    doubt.rc = -ENOTUNIQ;
    doubt.what = ": its memory and its guests come from different scrapes: several hosts have that "
                 "name, and all their labels are equal: give each a label instance, or a name, of "
                 "its own";
    return prom_each(&reader, now,
                     "count by (host) (count_over_time((timestamp(vmwss_plan_ram_bytes{%s}) < "
                     "ignoring (domain, uuid) group_left () "
                     "timestamp(vmwss_plan_reserve_bytes{%s}))[%ds:%ds]) >= %d)",
                     of, of, YOUNG_S, SCRAPES_STEP_S, SCRAPES_OF_TWO);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct url_host *)a)->name, ((const struct url_host *)b)->name);
}

int url_hosts_read(struct prom_client *client, const struct plan_reading *reading,
                   struct url_hosts *hosts, struct error *error)
{
    struct hosts_reading from = {.out = hosts};
    char of[PROM_SELECT_MAX];
    int rc;

    from.reader = (struct prom_reader){client, reading, see_name, &from, error};
    *hosts = (struct url_hosts){0};
    prom_select(of, reading, NULL);
    rc = prom_each(&from.reader, PROM_AT(reading->to_s),
                   "last_over_time(vmwss_plan_reserve_bytes{%s}[%.0fs])", of, span_of(&from));
    if (rc == 0 && hosts->n == 0 && hosts->nameless > 0)
        return error_set(error, -ENODATA,
                         "%s: its vmwss_plan_reserve_bytes have no valid label host: was it "
                         "dropped or rewritten by relabelling?",
                         prom_url(client));
    if (rc == 0 && hosts->n == 0)
        return error_set(
            error, -ENODATA,
            "%s: it has no vmwss_plan_reserve_bytes%s%s%s of that time: does it scrape "
            "vmwss-exporter of this version? Or look further back with --since",
            prom_url(client), *of ? "{" : "", of, *of ? "}" : "");
    if (rc < 0)
        return rc;
    qsort(hosts->hosts, hosts->n, sizeof(*hosts->hosts), by_name);
    rc = read_scrapes(&from, LIVE_S, LIVE_STEP_S);
    if (rc == 0)
        rc = read_each(&from);
    return rc == 0 ? read_doubts(&from, of) : rc;
}

void url_hosts_free(struct url_hosts *hosts)
{
    for (size_t h = 0; h < hosts->n; h++) {
        json_decref(hosts->hosts[h].labels);
        free(hosts->hosts[h].differ);
    }
    free(hosts->hosts);
    *hosts = (struct url_hosts){0};
}
