// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file url_identity.h  Tells whether series of one host name are of one host.
 *
 * Theory of operation. The exporter's label host is all that a plan joins by. Its series may have
 * more labels, which the servers add: `replica` of two servers that scrape the same exporter, and
 * `cluster` of two sites that both have a host node1. Names of labels do not tell these apart, but
 * guests do: one exporter serves the same guests to both servers, and a UUID is on one host only.
 * So two sets of labels belong to different hosts if both were scraped at the same time, and have
 * less than half of their guests in common. A label that changed has its sets one after the other.
 */
#pragma once

#include "decide/plan/prom_query.h"

/** A host name and one set of its other labels, as sorted JSON. */
struct url_labels {
    char name[256];
    char *set;
};

/** Checks one name with several sets of labels. Returns -ENOTUNIQ: they are of several hosts; the
 * message names the labels; or as prom_query() */
int url_identity_check(struct prom_client *client, const struct plan_reading *reading,
                       const struct url_labels *labels, size_t n, struct error *error);

/** Returns the labels of a series without its metric and host, or NULL; free() it. */
char *url_identity_set(const struct prom_answer *answer, size_t series);
