// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file exposition.h  Prometheus's text format, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/): families, labels, numbers.
 *
 * A single malformed line, or two samples with the same labels, make the whole scrape fail. So
 * label values are escaped, and bytes that are not UTF-8 are replaced.
 */
#pragma once

#include <stdio.h>

#define EXPOSITION_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/** Writes the HELP and TYPE lines of a gauge. @p help must not need escaping. */
void exposition_family(FILE *out, const char *name, const char *help);

/** Writes one sample. @p labels: as exposition_label() makes them; "" or NULL: no labels. */
void exposition_sample(FILE *out, const char *name, const char *labels, double value);

/** Appends 'name="value"', with the value escaped, and a comma if it is not the first. A label that
 * does not fit is omitted as a whole. */
void exposition_label(char *labels, size_t size, const char *name, const char *value);
