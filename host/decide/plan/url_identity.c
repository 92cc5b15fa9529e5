// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file url_identity.c  See url_identity.h. */
#include "decide/plan/url_identity.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sets of labels follow each other within this time when a label changes. */
#define OVERLAP_S 900
/* Interval between the moments at which scrapes are sought. */
#define SEEK_STEP_S 300
/* A label that differs for each scrape would make a set each time. */
#define SETS_MAX 64

struct set {
    const char *text; /* borrowed */
    double first_s, last_s;
    char **uuids; /* ordered once all are read */
    size_t n;
};

struct identity {
    struct prom_client *client;
    const struct plan_reading *reading;
    struct error *error;
    char of[PROM_SELECT_MAX];
    struct set sets[SETS_MAX];
    size_t n;
    bool first; /* see_time() sees first scrapes, not last ones */
};

static int no_memory(const struct identity *from)
{
    return error_set(from->error, -ENOMEM, "%s: out of memory", prom_url(from->client));
}

char *url_identity_set(const struct prom_answer *answer, size_t series)
{
    static const char *const own[] = {"__name__", "host", "domain", "uuid", "window", "state"};
    json_t *labels = json_copy(answer->series[series].labels);
    char *text;

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        json_object_del(labels, own[i]);
    text = labels ? json_dumps(labels, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
    json_decref(labels);
    return text;
}

/* Returns the set of a series; NULL if it is none of those of the host. */
static struct set *find_set(struct identity *from, const struct prom_answer *answer, size_t series)
{
    cleanup_free char *text = url_identity_set(answer, series);

    for (size_t i = 0; text && i < from->n; i++)
        if (strcmp(from->sets[i].text, text) == 0)
            return &from->sets[i];
    return NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int see_time(const struct prom_answer *answer, size_t series, void *context)
{
    struct identity *from = context;
    struct set *set = find_set(from, answer, series);
    double at_s;
    double time_s;

    if (set && prom_point(answer, series, 0, &at_s, &time_s))
        *(from->first ? &set->first_s : &set->last_s) = time_s;
    return 0;
}

static int see_guest(const struct prom_answer *answer, size_t series, void *context)
{
    struct identity *from = context;
    struct set *set = find_set(from, answer, series);
    char **uuids;

    if (!set)
        return 0;
    uuids = array_grow(set->uuids, set->n, sizeof(*uuids));
    if (!uuids)
        return no_memory(from);
    set->uuids = uuids;
    uuids[set->n] = strdup(prom_label(answer, series, "uuid"));
    return uuids[set->n] ? (set->n++, 0) : no_memory(from);
}

static int read_times(struct identity *from, const char *over, bool first)
{
    const double span_s = from->reading->to_s - from->reading->from_s;
    char query[PROM_QUERY_MAX];

    from->first = first;
    snprintf(query, sizeof(query), "%s(timestamp(vmwss_plan_reserve_bytes%s)[%.0fs:%ds])", over,
             from->of, span_s, SEEK_STEP_S);
    return prom_each(from->client, from->reading, query, from->reading->to_s, see_time, from,
                     from->error);
}

static int read_guests(struct identity *from)
{
    char query[PROM_QUERY_MAX];

    snprintf(query, sizeof(query), "last_over_time(vmwss_plan_ram_bytes%s[%.0fs])", from->of,
             from->reading->to_s - from->reading->from_s);
    return prom_each(from->client, from->reading, query, from->reading->to_s, see_guest, from,
                     from->error);
}

/* --- comparing -------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t count_common(const struct set *a, const struct set *b)
{
    size_t common = 0;

    for (size_t i = 0; i < a->n; i++)
        common += bsearch(&a->uuids[i], b->uuids, b->n, sizeof(*b->uuids), by_text) != NULL;
    return common;
}

static bool are_two_hosts(const struct set *a, const struct set *b)
{
    const struct set *small = a->n < b->n ? a : b;
    const struct set *large = a->n < b->n ? b : a;
    const double first_s = a->first_s > b->first_s ? a->first_s : b->first_s;
    const double last_s = a->last_s < b->last_s ? a->last_s : b->last_s;

    if (last_s - first_s < OVERLAP_S || large->n == 0)
        return false;
    return small->n == 0 || 2 * count_common(small, large) < small->n;
}

/* Writes those of a's labels that differ from b's: cluster="east",dc="1". */
static void write_other_labels(FILE *out, const char *a, const char *b)
{
    json_t *mine = json_loads(a, 0, NULL);
    json_t *other = json_loads(b, 0, NULL);
    const char *comma = "";
    const char *label;
    json_t *value;

    json_object_foreach(mine, label, value)
    {
        if (json_equal(value, json_object_get(other, label)))
            continue;
        fprintf(out, "%s%s=\"%s\"", comma, label, json_string_value(value));
        comma = ",";
    }
    json_object_foreach(other, label, value)
    {
        if (json_object_get(mine, label))
            continue;
        fprintf(out, "%s%s=\"\"", comma, label);
        comma = ",";
    }
    json_decref(mine);
    json_decref(other);
}

static int several_hosts(const struct identity *from, const char *name, const struct set *a,
                         const struct set *b)
{
    cleanup_free char *text = NULL;
    char printable[480];
    char host[128];
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return no_memory(from);
    write_other_labels(out, a->text, b->text);
    fputs(" and ", out);
    write_other_labels(out, b->text, a->text);
    if (fclose(out) != 0)
        return no_memory(from);
    return error_set(from->error, -ENOTUNIQ,
                     "%s: host %s: several hosts have that name, %s: choose with --match and these "
                     "labels, or give each host a name of its own",
                     prom_url(from->client), utf8_printable_copy(host, sizeof(host), name),
                     utf8_printable_copy(printable, sizeof(printable), text));
}

static int compare_sets(struct identity *from, const char *name)
{
    for (size_t i = 0; i < from->n; i++)
        if (from->sets[i].n > 0)
            qsort(from->sets[i].uuids, from->sets[i].n, sizeof(char *), by_text);
    for (size_t i = 0; i < from->n; i++)
        for (size_t k = 0; k < i; k++)
            if (are_two_hosts(&from->sets[k], &from->sets[i]))
                return several_hosts(from, name, &from->sets[k], &from->sets[i]);
    return 0;
}

int url_identity_check(struct prom_client *client, const struct plan_reading *reading,
                       const struct url_labels *labels, size_t n, struct error *error)
{
    struct identity from = {.client = client, .reading = reading, .error = error};
    int rc;

    for (; from.n < n && from.n < SETS_MAX; from.n++)
        from.sets[from.n].text = labels[from.n].set;
    prom_select(from.of, reading, labels[0].name);
    rc = read_times(&from, "min_over_time", true);
    if (rc == 0)
        rc = read_times(&from, "max_over_time", false);
    if (rc == 0)
        rc = read_guests(&from);
    if (rc == 0)
        rc = compare_sets(&from, labels[0].name);
    for (size_t i = 0; i < from.n; i++) {
        while (from.sets[i].n > 0)
            free(from.sets[i].uuids[--from.sets[i].n]);
        free(from.sets[i].uuids);
    }
    return rc;
}
