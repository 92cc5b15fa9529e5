// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prometheus_guest_stats.h  Metrics reported by guests; their names and help texts say
 * so. */
#pragma once

#include "show/metrics/current.h"

#include <stddef.h>
#include <stdio.h>

/** Size of the labels of one sample: a name of 255 bytes that all need escaping, a UUID, a host
 * name of that length, and the short labels. */
#define LABELS_MAX 2048

/** Makes the labels that identify a guest. Defined in prometheus.c. */
void prometheus_guest_labels(char labels[LABELS_MAX], const struct current_guest *guest);

/** Writes a field's family, and the samples of all guests. */
typedef void (*prometheus_write_field)(FILE *out, const struct field *field,
                                       const struct current *current);

/** Writes the fields that have a metric, group by group. Defined in prometheus.c. */
void prometheus_write_metrics(FILE *out, const struct field *fields, const enum field_group *groups,
                              size_t n, prometheus_write_field write,
                              const struct current *current);

/** Writes the families for which any guest has a value; guests that did not report the value have
 * no sample. */
void prometheus_write_guest_stats(FILE *out, const struct current *current);
