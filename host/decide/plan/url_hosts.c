// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/url_parts.h"

#include "base/array.h"
#include "base/utf8.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
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

/* A host that was scraped so lately is in each answer about the last half hour. */
#define RECENT_S 1740

#define SEVERAL ": several hosts have that name, "
#define CHOOSE ": choose with --match and these labels, or give each host a name of its own"
#define EQUAL_LABELS                                                                              \
    ": its memory and its guests come from different scrapes: several hosts have that name, and " \
    "all their labels are equal: give each a label instance, or a name, of its own"

struct hosts_reading {
    struct prom_reader *reader;
    struct url_hosts *out;
    const struct doubt *doubt; /* the one that is asked about */
};

static struct url_host *find_host(const struct hosts_reading *from, const char *name)
{
    for (size_t h = 0; h < from->out->n; h++)
        if (strcmp(from->out->hosts[h].name, name) == 0)
            return &from->out->hosts[h];
    return NULL;
}

static bool is_name(const char *name)
{
    return *name && strlen(name) < sizeof(((struct url_host *)NULL)->name);
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

static void compare_labels(struct url_host *host, const struct prom_series *series)
{
    const struct prom_series own = {.labels = host->labels};
    json_t *const both[] = {host->labels, series->labels};
    const char *label;
    json_t *value;

    for (size_t i = 0; i < COUNT(both); i++) {
        json_object_foreach(both[i], label, value)
        {
            add_difference(host, label, prom_label(&own, label), prom_label(series, label));
        }
    }
}

static int see_name(struct prom_series *series, void *context)
{
    const struct hosts_reading *from = context;
    const char *name = prom_label(series, "host");
    struct url_host *host = find_host(from, name);
    struct url_host new = {.labels = series->labels};
    int rc;

    if (host)
        compare_labels(host, series);
    if (host || !is_name(name)) {
        from->out->nameless += !host;
        return 0;
    }
    snprintf(new.name, sizeof(new.name), "%s", name);
    rc = array_put(&from->out->hosts, &from->out->n, &new, sizeof(new));
    if (rc == 0)
        json_incref(new.labels);
    return rc;
}

/* --- what is wrong with them ------------------------------------------------------------------ */

/* Counts what the query finds of each host, and 0 for a host without findings. If the answer lacks
 * a host, the server has left it out. */
#define OR_NONE(query)                   \
    "count by (host) (" query ") or on " \
    "(host) 0 * count by (host) (last_over_time(vmwss_plan_reserve_bytes{$of}[1800s]))"

#define NEEDS "vmwss_plan_need_bytes{$of,$window}"

/* Queries for hosts whose series do not belong together, or are not what they seem: for all hosts
 * at once, or for each of the few for which one has to read the whole span. */
static const struct doubt {
    const char *query, *what; /* NULL: it was scraped more often, and may have been two hosts */
    int rc;                   /* -ENOTUNIQ: the host is refused */
    enum { OF_ALL = 1, IF_LABELS_DIFFER = 2, IF_MORE_OFTEN = 4, IF_GUESTS_ENDED = 8 } of;
} doubts[] = {
    {OR_NONE("max by (host) "
             "(max_over_time(count_over_time(vmwss_plan_reserve_bytes{$of}[300s])[$span:$900])) "
             ">= 1.5 * max by (host) (count_over_time(vmwss_plan_reserve_bytes{$of}[300s]))"),
     NULL, 0, OF_ALL},
    {OR_NONE(TWO_HOSTS("[$span:$300]", "4") " or " TWO_HOSTS("[1800s:60s]", "7")), SEVERAL,
     -ENOTUNIQ, IF_LABELS_DIFFER},
    /* Guests that were in fewer scrapes than their host. VictoriaMetrics may have dropped one of
     * two scrapes; what is there is of both. */
    {OR_NONE("count_over_time((1.5 * (count_over_time(vmwss_plan_ram_bytes{$of}[300s]) "
             "and vmwss_plan_ram_bytes{$of} and vmwss_plan_ram_bytes{$of} offset 300s) < "
             "ignoring (domain, uuid) group_left () "
             "count_over_time(vmwss_plan_reserve_bytes{$of}[300s]))[$span:$900]) >= 10"),
     EQUAL_LABELS ", or look back to when they had one with --since", -ENOTUNIQ, IF_MORE_OFTEN},
    /* The exporter serves the sum of its guests' needs, and more means guests of two hosts whose
     * labels are equal. VictoriaMetrics' deduplication drops one of two scrapes of a host, but none
     * of their guests. Servers may keep a guest that has ended for five minutes. */
    {OR_NONE("count_over_time((sum by (host) (max by (host, uuid) (" NEEDS " offset 300s and " NEEDS
             " and " NEEDS " offset 600s)) > 1.02 * max by (host) "
             "(vmwss_plan_host_need_bytes{$of,$window} offset 300s))[$span:$900]) >= 10"),
     ": its guests needed more together than its vmwss_plan_host_need_bytes: were there several "
     "hosts with equal labels? Look back to when there was one with --since",
     0, IF_GUESTS_ENDED},
    {OR_NONE("last_over_time(vmwss_plan_ram_bytes{$of}[3600s]) unless on (host) "
             "last_over_time(vmwss_plan_reserve_bytes{$of}[3600s])"),
     " is left out: it has guests, but no vmwss_plan_reserve_bytes with that label host: was it "
     "dropped or rewritten by relabelling?",
     0, OF_ALL},
    {OR_NONE("sum by (host) (last_over_time(vmwss_plan_need_bytes{$window,$of}[1800s])) < 0.98 * "
             "sum by (host) (last_over_time(vmwss_plan_host_need_bytes{$window,$of}[1800s]))"),
     ": its guests needed more together, by its vmwss_plan_host_need_bytes, than those whose needs "
     "are there: were some dropped by relabelling?",
     0, OF_ALL},
    /* the same five minutes as in the alert VmwssFileStale */
    {OR_NONE("last_over_time(vmwss_plan_reserve_bytes{$of}[1800s]) and ignoring (host, "
             "exported_host) (max_over_time((timestamp(vmwss_written_timestamp_seconds) - "
             "vmwss_written_timestamp_seconds)[1800s:60s]) > 300)"),
     ": its series were not written for five minutes or more before they were scraped, so they are "
     "not of that time: does vmwss-exporter --textfile run there?",
     0, OF_ALL},
    /* At moments in different parts of a minute. A guest that has ended unmarked is in an older
     * scrape for five minutes. For a guest that is new Thanos may choose another replica than for
     * its host. */
    {OR_NONE("count_over_time((timestamp(vmwss_plan_ram_bytes{$of}) < ignoring (domain, uuid) "
             "group_left () timestamp(vmwss_plan_reserve_bytes{$of}))[1800s:37s]) >= 10 and "
             "vmwss_plan_ram_bytes{$of} offset 1800s"),
     EQUAL_LABELS, -ENOTUNIQ, OF_ALL},
};

/* Warns of a host, whose guests then are partly known; or refuses it. */
static int say_doubt(const struct hosts_reading *from, struct url_host *host, const char *name)
{
    const struct doubt *doubt = from->doubt;
    const char *differ = doubt->of == IF_LABELS_DIFFER && host ? host->differ : "";
    char labels[400];
    char printable[300];

    utf8_printable_copy(printable, sizeof(printable), name);
    utf8_printable_copy(labels, sizeof(labels), differ);
    if (doubt->rc < 0)
        return error_set(from->reader->error, doubt->rc, "host %s%s%s%s", printable, doubt->what,
                         labels, *differ ? CHOOSE : "");
    plan_warn(from->reader->reading, "%s: host %s%s", from->reader->url, printable, doubt->what);
    if (host)
        host->partial = true;
    return 0;
}

static int see_doubt(struct prom_series *series, void *context)
{
    const struct hosts_reading *from = context;
    const char *name = prom_label(series, "host");
    struct url_host *host = find_host(from, name);

    if (host)
        host->seen = !isnan(series->value);
    if (series->value >= 1 && from->doubt->what)
        return say_doubt(from, host, name);
    if (host)
        host->more_often |= series->value >= 1;
    else if (is_name(name))
        prom_lost(from->reader, name);
    return 0;
}

/* Asks about hosts that are concerned: all, or that of the reader. One that was scraped in the last
 * half hour is in the answer. */
static int read_doubts(struct hosts_reading *from, unsigned of)
{
    const char *only = from->reader->host;
    int rc = 0;

    for (size_t d = 0; rc == 0 && d < COUNT(doubts); d++) {
        from->doubt = &doubts[d];
        if (!(of & doubts[d].of))
            continue;
        rc = prom_each(from->reader, NULL, doubts[d].query, see_doubt, from);
        for (size_t h = 0; rc == 0 && h < from->out->n; h++) {
            struct url_host *host = &from->out->hosts[h];

            if (!host->seen && (!only || only == host->name) &&
                host->scraped_s > from->reader->reading->to_s - RECENT_S)
                prom_lost(from->reader, host->name);
            host->seen = false;
        }
    }
    return rc;
}

int url_host_doubts(struct prom_reader *reader, struct url_hosts *hosts, struct url_host *host,
                    bool has_ended)
{
    struct hosts_reading from = {.reader = reader, .out = hosts};

    return read_doubts(&from, (*host->differ ? IF_LABELS_DIFFER : 0) |
                                  (host->more_often ? IF_MORE_OFTEN : 0) |
                                  (has_ended ? IF_GUESTS_ENDED : 0));
}

/* --- last scrapes ----------------------------------------------------------------------------- */

static int see_scrape(struct prom_series *series, void *context)
{
    struct url_host *host = find_host(context, prom_label(series, "host"));

    if (host && series->value > 0)
        host->scraped_s = series->value;
    return 0;
}

/* Reads the whole span of hosts that are dead, which are few. */
static int read_last_scrapes(struct hosts_reading *from)
{
    struct prom_reader *reader = from->reader;
    int rc = prom_each(reader, NULL, SCRAPED("[300s:15s]"), see_scrape, from);

    for (size_t h = 0; rc == 0 && h < from->out->n; h++) {
        struct url_host *host = &from->out->hosts[h];

        host->live = host->scraped_s > 0;
        reader->host = host->name;
        if (!host->live)
            rc = prom_each(reader, NULL, SCRAPED("[$span:$150]"), see_scrape, from);
        if (host->scraped_s > 0)
            continue;
        prom_lost(reader, host->name);
        host->scraped_s = reader->reading->to_s;
    }
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

    if (from->out->nameless > 0)
        return error_set(from->reader->error, -ENODATA,
                         "its vmwss_plan_reserve_bytes have no valid label host: was it dropped or "
                         "rewritten by relabelling?");
    return error_set(from->reader->error, -ENODATA,
                     "it has no vmwss_plan_reserve_bytes%s%s%s of that time: does it scrape "
                     "vmwss-exporter of this version? Or look further back with --since",
                     match ? "{" : "", match ? match : "", match ? "}" : "");
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
    rc = read_last_scrapes(&from);
    return rc == 0 ? read_doubts(&from, OF_ALL) : rc;
}

void url_hosts_free(struct url_hosts *hosts)
{
    for (size_t h = 0; h < hosts->n; h++)
        json_decref(hosts->hosts[h].labels);
    free(hosts->hosts);
    *hosts = (struct url_hosts){0};
}
