// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file url_parts.h  Parts of the reading of a Prometheus HTTP API: its hosts, needs and CPUs of
 * guests.
 *
 * Hosts. The exporter's label host is all that a plan joins by. Its series may have more labels,
 * which the servers add: `replica` of two servers that scrape the same exporter, `instance` of an
 * exporter under two addresses, and `cluster` of two sites that both have a host node1. Names of
 * labels do not tell these apart, but guests do: an exporter serves the same guests to all who
 * scrape it, and a UUID is on one host only. If k sets of labels are of one host, each of its
 * guests has k series at that time; if they are of k hosts, each has one. A label that changed has
 * its sets one after the other. Hosts whose labels are all equal have one set, but their samples
 * are of different scrapes.
 *
 * Needs. A guest has 40,320 minutes in four weeks, and a query over them costs the server the same
 * whatever the step is. The rules of prometheus/vmwss.rules.yml record the largest need of each
 * quarter of an hour of the clock, half an hour later, so that a step that is a multiple of a
 * quarter needs a fifteenth of the samples. They also record how often the host had been scraped by
 * then. The server is asked for the quarters for which both are recorded, and in which the host was
 * scraped no more often. All other steps are read from the scraped samples: those before the rules
 * existed, while they were not evaluated, of the last half hour, and where scrapes arrived late. A
 * step may be seen twice; the larger value counts.
 */
#pragma once

#include "decide/plan/prom_query.h"
#include "decide/plan/roster.h"

struct url_host {
    char name[256];
    void *labels;     /* those of its first series: a jansson object */
    char differ[500]; /* labels of other series that differ: a="b" and a="c" */
    bool live;        /* scraped in the last five minutes, even if the very last scrape failed */
    bool more_often;  /* it was scraped more often than it is now: it may have been two */
    bool seen;        /* in the answer being read */
    bool partial;     /* some of its series are missing, or old */
    /* Unix time of its last successful scrape. A series without a value at that time was no longer
     * served: servers mark where a series ends, in Prometheus
     * https://prometheus.io/docs/prometheus/latest/querying/basics/#staleness, but they also mark
     * all series of a host when a scrape fails. */
    double scraped_s;
};

struct url_hosts {
    struct url_host *hosts; /* ordered by name */
    size_t n;
    size_t nameless; /* series without a valid label host */
};

/** *hosts is empty before; call url_hosts_free() even after an error. Returns -ENODATA: there are
 * no hosts; -ENOTUNIQ: two hosts have one name; or as prom_query() */
int url_hosts_read(struct prom_reader *reader, struct url_hosts *hosts);
/** Sets host->partial, with a warning, or returns -ENOTUNIQ, if something is wrong with the
 * reader's host that is asked only of some. @p has_ended: guests of it have ended */
int url_host_doubts(struct prom_reader *reader, struct url_hosts *hosts, struct url_host *host,
                    bool has_ended);
void url_hosts_free(struct url_hosts *hosts);

/** The largest needs of each step, by uuid, of what was scraped. */
#define SCRAPED_NEEDS \
    "max by (uuid) (max_over_time(vmwss_plan_need_bytes{$of,$window}[$step] $late))"

/** As many hours of a guest's needs are in all answers, or something is wrong. */
#define LOST_HOURS 3

/** Reads the needs of the reader's host by uuid: the largest of each step, at its end. *recorded_s:
 * from then on all steps are recorded, but perhaps for the last two. Errors as prom_each() */
int url_needs_read(struct prom_reader *reader, const struct prom_span *span, prom_see *see,
                   void *context, double *recorded_s);

/** Sets the CPUs of the roster's guests by reading->cpu_query. Errors as prom_each() */
int url_cpus_read(struct roster *roster, struct prom_reader *reader);

struct url_minutes;

/** Reads what the guests of the reader's host wrote: of each hour the last curve that was measured
 * within it. The exporter's metrics of guests have no label of the host and of a UUID, so they are
 * joined with vmwss_guest_info by instance, job and domain; guests that share a name are left out.
 * Errors as prom_each(). */
int url_writes_read(const struct url_minutes *minutes, struct prom_reader *reader);
