// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prometheus_guest_stats.h  Metrics of what guests report themselves, each named and
 * described as guest-reported. */
#pragma once

#include "show/metrics/current.h"

#include <stddef.h>
#include <stdio.h>

/** Room for the labels of one sample: a name of 255 bytes that all need escaping, a UUID, a host
 * likewise, and the short ones. */
#define LABELS_MAX 2048

/** The labels that tell guests apart, in prometheus.c. */
void prometheus_guest_labels(char labels[LABELS_MAX], const struct current_guest *guest);

/** Writes a field's family, and the samples of all guests. */
typedef void (*prometheus_write_field)(FILE *out, const struct field *field,
                                       const struct current *current);

/** Writes those of the fields that have a metric, group by group; in prometheus.c. */
void prometheus_write_metrics(FILE *out, const struct field *fields, const enum field_group *groups,
                              size_t n, prometheus_write_field write,
                              const struct current *current);

/** The families that any guest has something for; a guest that did not tell something has no sample
 * of it. */
void prometheus_write_guest_stats(FILE *out, const struct current *current);
