// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file exposition.h  Prometheus's text format, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/): families, labels, numbers.
 *
 * One line that cannot be parsed, or two lines with the same labels, make the whole scrape fail. So
 * label values are escaped, and bytes in them that are not UTF-8 are replaced.
 */
#pragma once

#include <stdio.h>

#define EXPOSITION_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/** Writes the two lines before the samples of a metric, which is a gauge. @p help must not need
 * escaping. */
void exposition_family(FILE *out, const char *name, const char *help);

/** Writes one sample. @p labels: as exposition_label() makes them; "" or NULL: no labels. */
void exposition_sample(FILE *out, const char *name, const char *labels, double value);

/** Appends 'name="value"', after a comma if it is not the first, with the value escaped. A label
 * that does not fit is left out as a whole. */
void exposition_label(char *labels, size_t size, const char *name, const char *value);
