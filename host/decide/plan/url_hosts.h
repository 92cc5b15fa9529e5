// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file url_hosts.h  The hosts in a Prometheus HTTP API, and the last scrape of each.
 *
 * Theory of operation. The exporter's label host is all that a plan joins by. Its series may have
 * more labels, which the servers add: `replica` of two servers that scrape the same exporter,
 * `instance` of an exporter under two addresses, and `cluster` of two sites that both have a host
 * node1. Names of labels do not tell these apart, but guests do: an exporter serves the same guests
 * to all who scrape it, and a UUID is on one host only. If k sets of labels are of one host, each
 * of its guests has k series at that time; if they are of k hosts, each has one. A label that
 * changed has its sets one after the other. Hosts whose labels are all equal have one set, but
 * their samples are of different scrapes.
 */
#pragma once

#include "decide/plan/prom_query.h"

struct url_host {
    char name[256];
    void *labels; /* those of its first series: a jansson object */
    char *differ; /* labels of other series that differ: a="b" and a="c"; NULL: none */
    bool live;    /* scraped in the last five minutes, even if the very last scrape failed */
    bool partial; /* some of its series are missing, or old */
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

/** Call url_hosts_free() even after an error. Returns -ENODATA: there are no hosts;
 * -ENOTUNIQ: two hosts have one name; or as prom_query() */
int url_hosts_read(struct prom_client *client, const struct plan_reading *reading,
                   struct url_hosts *hosts, struct error *error);
void url_hosts_free(struct url_hosts *hosts);
