// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prom_doubt.c  See prom_doubt.h. */
#include "decide/plan/prom_doubt.h"

#include "base/cleanup.h"
#include "base/utf8.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AMOUNT_MAX 0x1p60
#define LABELS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

bool prom_amount(const struct prom_answer *answer, size_t series, size_t point, double *time_s,
                 double *value)
{
    return prom_point(answer, series, point, time_s, value) && *value >= 0 && *value <= AMOUNT_MAX;
}

bool prom_is_uuid(const char *text)
{
    return strlen(text) == 36 && strspn(text, "0123456789abcdefABCDEF-") == 36;
}

/* --- the name of a series --------------------------------------------------------------------- */

/* Writes METRIC{LABELS}: those that the query selects, and those that the series has. */
static void write_series(FILE *out, const char *query, const struct prom_answer *answer,
                         size_t series)
{
    const char *metric = strstr(query, "vmwss");
    const char *selected = strchr(query, '{');
    const char *more = "";
    const char *label;
    json_t *value;

    fprintf(out, "%.*s{", metric ? (int)strspn(metric, LABELS ":") : 0, metric);
    if (selected && selected[1] != '}') {
        fprintf(out, "%.*s", (int)strcspn(selected + 1, "}"), selected + 1);
        more = ",";
    }
    json_object_foreach((json_t *)answer->series[series].labels, label, value)
    {
        if (json_string_length(value) == 0 || strcmp(label, "__name__") == 0 ||
            (*more && strcmp(label, "host") == 0))
            continue;
        fprintf(out, "%s%s=\"%s\"", more, label, json_string_value(value));
        more = ",";
    }
    fputc('}', out);
}

/* --- what is wrong with it -------------------------------------------------------------------- */

static bool has_bad_value(const struct prom_answer *answer, size_t series)
{
    double time_s;
    double value;

    for (size_t p = 0; p < prom_n_points(answer, series); p++)
        if (!prom_amount(answer, series, p, &time_s, &value))
            return true;
    return false;
}

static bool is_good_label(const char *name, const char *value)
{
    if (strcmp(name, "uuid") == 0)
        return prom_is_uuid(value);
    if (strcmp(name, "window") == 0)
        return strtod(value, NULL) > 0;
    return value[0] != '\0' || strcmp(name, "domain") == 0;
}

/* Returns true, and the label, if the series lacks one of those in the query's "by (...)". */
static bool lacks_label(const char *query, const struct prom_answer *answer, size_t series,
                        char label[32])
{
    const char *at = strstr(query, "by (");

    for (at = at ? at + 4 : ""; *at != '\0' && *at != ')'; at += *at == ',') {
        const size_t n = strspn(at, LABELS);

        snprintf(label, 32, "%.*s", (int)n, at);
        if (n == 0 || !is_good_label(label, prom_label(answer, series, label)))
            return n > 0;
        at += n;
    }
    return false;
}

/* --- warnings --------------------------------------------------------------------------------- */

struct found {
    size_t first, n; /* series */
};

static void add(struct found *found, size_t series)
{
    if (found->n++ == 0)
        found->first = series;
}

static void warn_of(const struct prom_client *client, const struct plan_reading *reading,
                    const char *query, const struct prom_answer *answer, const struct found *found,
                    const char *what)
{
    cleanup_free char *name = NULL;
    size_t size;
    FILE *out = open_memstream(&name, &size);
    char printable[400];
    char others[40] = "";
    char text[800];

    if (!out)
        return;
    write_series(out, query, answer, found->first);
    if (fclose(out) != 0)
        return;
    if (found->n > 1)
        snprintf(others, sizeof(others), " (and %zu others)", found->n - 1);
    snprintf(text, sizeof(text), "%s: %s%s: %s", prom_url(client),
             utf8_printable_copy(printable, sizeof(printable), name), others, what);
    plan_warn(reading, text);
}

static void warn_of_part(const struct prom_client *client, const struct plan_reading *reading,
                         const struct prom_answer *answer)
{
    char text[640];

    snprintf(text, sizeof(text), "%s: its answer is partial%s%s", prom_url(client),
             answer->warning[0] != '\0' ? ": " : "", answer->warning);
    plan_warn(reading, text);
    if (reading->partial)
        *reading->partial = true;
}

void prom_doubt(const struct prom_client *client, const struct plan_reading *reading,
                const char *query, const struct prom_answer *answer)
{
    struct found values = {0};
    struct found labels = {0};
    char first[32] = "";
    char label[32];
    char text[160];

    if (answer->partial)
        warn_of_part(client, reading, answer);
    for (size_t i = 0; i < answer->n; i++) {
        if (has_bad_value(answer, i))
            add(&values, i);
        if (!lacks_label(query, answer, i, label))
            continue;
        if (labels.n == 0)
            memcpy(first, label, sizeof(first));
        add(&labels, i);
    }
    if (values.n > 0)
        warn_of(client, reading, query, answer, &values,
                "a value is not finite, negative or too large, and counts as not known");
    snprintf(text, sizeof(text),
             "no valid label %s, so it is not in the plan: was the label dropped or rewritten by "
             "relabelling?",
             first);
    if (labels.n > 0)
        warn_of(client, reading, query, answer, &labels, text);
}
