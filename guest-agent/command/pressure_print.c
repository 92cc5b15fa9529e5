// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pressure_print.c  See pressure_print.h. */
#include "command/pressure_print.h"

#include "base/cleanup.h"
#include "base/text/json.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "command/command.h"
#include "print/columns.h"
#include "print/record.h"
#include "proc/keyed.h"
#include "proc/rights.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One group, for printing. */
struct view {
    const struct pressure_survey *before, *now;
    const struct pressure_group *group, *was; /* the same group in the earlier survey, or NULL */
    bool named;                               /* print a column with the cgroup's name */
    const struct pressure_format *format;
    size_t *order; /* indexes of the present groups, in the order of printing */
    size_t n;      /* of them */
};

static double over_interval(const struct view *view, int resource, bool full)
{
    if (!view->was)
        return NAN;

    const struct pressure *a = &view->was->of[resource], *b = &view->group->of[resource];

    return pressure_share(full ? &a->full : &a->some, full ? &b->full : &b->some,
                          view->now->taken_ns - view->before->taken_ns);
}

static void look_at(struct view *view, size_t i)
{
    view->group = &view->now->group[view->order[i]];
    view->was = view->before ? pressure_survey_find(view->before, view->group->cgroup) : NULL;
}

int pressure_format_sort(struct pressure_format *format, const char *value)
{
    const char *colon = strchr(value, ':');
    size_t length = colon ? (size_t)(colon - value) : strlen(value);

    format->sorted = true;
    format->full = colon && strcmp(colon, ":full") == 0;
    for (int i = 0; i < PRESSURE_RESOURCES; i++)
        if (strlen(pressure_resources[i]) == length &&
            strncmp(pressure_resources[i], value, length) == 0 &&
            (!colon || format->full || strcmp(colon, ":some") == 0)) {
            format->resource = i;
            return 0;
        }
    return command_bad_value("--sort", value, "memory, io or cpu, and perhaps :some or :full");
}

/* The sort key of a group; an unknown share comes last. */
struct rank {
    size_t group;
    bool first; /* this is the whole guest */
    double share;
    uint64_t total_us;
};

static struct rank rank_of(struct view *view, size_t i)
{
    const struct pressure_format *format = view->format;

    look_at(view, i);

    const struct pressure *pressure = &view->group->of[format->resource];
    const struct stalled *stalled = format->full ? &pressure->full : &pressure->some;
    double share = over_interval(view, format->resource, format->full);

    share = isnan(share) ? stalled->avg10 : share;
    return (struct rank){.group = view->order[i],
                         .first = !view->group->cgroup,
                         .share = isnan(share) ? -1 : share,
                         .total_us = stalled->total_us == KEYED_UNKNOWN ? 0 : stalled->total_us};
}

/* Groups with equal shares are ordered by name, as they are in the survey. */
static int by_rank(const void *a, const void *b)
{
    const struct rank *x = a;
    const struct rank *y = b;

    if (x->first != y->first)
        return x->first ? -1 : 1;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    if (x->total_us != y->total_us)
        return x->total_us > y->total_us ? -1 : 1;
    return (x->group > y->group) - (x->group < y->group);
}

static int sort_groups(struct view *view)
{
    cleanup_free struct rank *rank = calloc(view->now->n + 1, sizeof(*rank));

    if (!rank)
        return -ENOMEM;
    for (size_t i = 0; i < view->now->n; i++)
        rank[i] = rank_of(view, i);
    if (view->now->n > 0)
        qsort(rank, view->now->n, sizeof(*rank), by_rank);
    for (size_t i = 0; i < view->now->n; i++)
        view->order[i] = rank[i].group;
    return 0;
}

/* Chooses the groups and their order. */
static int choose_groups(struct view *view)
{
    size_t top = view->format->top;

    for (size_t i = 0; i < view->now->n; i++)
        view->order[i] = i;
    view->n = view->now->n;
    if (!view->format->sorted)
        return 0;

    int rc = sort_groups(view);

    if (rc == 0 && view->n > 0 && !view->now->group[view->order[0]].cgroup)
        top += top > 0;
    if (top > 0 && view->n > top)
        view->n = top;
    return rc;
}

static void percent(char text[16], double value)
{
    if (isnan(value))
        snprintf(text, 16, "-");
    else
        snprintf(text, 16, "%.2f%%", value);
}

static void add_row(struct columns *columns, const struct view *view, int resource, bool full)
{
    const struct pressure *pressure = &view->group->of[resource];
    const struct stalled *stalled = full ? &pressure->full : &pressure->some;
    char now[16], avg10[16], avg60[16], avg300[16], total[32];
    const char *cell[] = {view->group->cgroup ? view->group->cgroup : "(all)",
                          pressure_resources[resource],
                          full ? "full" : "some",
                          avg10,
                          avg60,
                          avg300,
                          total,
                          now};

    if (stalled->total_us == KEYED_UNKNOWN)
        return;
    percent(avg10, stalled->avg10);
    percent(avg60, stalled->avg60);
    percent(avg300, stalled->avg300);
    percent(now, over_interval(view, resource, full));
    show_seconds(total, sizeof(total), (double)stalled->total_us / 1e6);
    columns_row(columns, cell + !view->named);
}

static void add_off(struct columns *columns, const struct view *view)
{
    const char *cell[] = {view->group->cgroup, "-", "-", "-", "-", "-", "-", "-"};

    columns_row(columns, cell + !view->named);
}

/* If pressure is off in several groups, the first one gives the reason. */
static void report_off(struct view *view)
{
    const struct pressure_group *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < view->now->n; i++) {
        const struct pressure_group *group = &view->now->group[i];

        n += group->off != NULL;
        first = first ? first : group->off ? group : NULL;
    }
    if (view->now->refused > 0)
        command_error("not permitted to list the groups below some control groups (%zu); %s",
                      view->now->refused, RIGHTS_REMEDY(CAP_DAC_READ_SEARCH));
    if (n == 1)
        command_error("%s", first->off);
    else if (n > 1)
        command_error("no pressure of %zu control groups; of the first: %s", n, first->off);
}

static int print_table(struct view *view)
{
    static const struct column column[] = {
        {.name = "CGROUP"},
        {.name = "RESOURCE"},
        {.name = "KIND"},
        {.name = "AVG10", .right = true},
        {.name = "AVG60", .right = true},
        {.name = "AVG300", .right = true},
        {.name = "TOTAL", .right = true},
        {.name = "INTERVAL", .right = true},
    };
    /* the last column is printed only with an interval */
    size_t n = sizeof(column) / sizeof(column[0]) - !view->before;
    struct columns *columns = columns_new(column + !view->named, n - !view->named);
    int rc;

    for (size_t i = 0; i < view->n; i++) {
        look_at(view, i);
        if (view->group->off)
            add_off(columns, view);
        for (int row = 0; row < 2 * PRESSURE_RESOURCES; row++)
            add_row(columns, view, row / 2, row % 2);
    }
    rc = columns_end(columns, true, stdout);
    fflush(stdout);
    report_off(view);
    return rc;
}

static void add_interval(json_t *object, const struct view *view, int resource)
{
    static const char *const kinds[] = {"some", "full"};

    for (int full = 0; full < 2; full++) {
        double share = over_interval(view, resource, full);

        if (!isnan(share))
            json_object_set_new(json_object_get(object, kinds[full]), "interval_percent",
                                json_real(share));
    }
}

static json_t *group_json(const struct view *view)
{
    cleanup_free char *name = view->group->cgroup ? strdup(view->group->cgroup) : NULL;

    /* the name may have any bytes; JSON has no name for bytes that are not UTF-8 */
    if (name)
        utf8_printable(name);

    json_t *object = json_pack("{ss?}", "cgroup", name);

    if (object && view->group->off)
        json_object_set_new(object, "pressure_off", json_text(view->group->off));
    for (int i = 0; object && !view->group->off && i < PRESSURE_RESOURCES; i++) {
        json_t *of = pressure_json(&view->group->of[i]);

        add_interval(of, view, i);
        json_object_set_new(object, pressure_resources[i], of);
    }
    return object;
}

static int print_json(struct view *view)
{
    json_t *groups = json_array();
    char time[RECORD_TIME];
    json_t *line;

    for (size_t i = 0; i < view->n; i++) {
        look_at(view, i);
        json_array_append_new(groups, group_json(view));
    }
    line = json_pack("{ss ss so}", "schema", "vmwss.guest_pressure.v1", "time", record_time(time),
                     "groups", groups);
    if (line && view->now->refused > 0)
        json_object_set_new(line, "refused", json_u64(view->now->refused));
    if (line && view->before)
        json_object_set_new(
            line, "interval_s",
            json_real((double)(view->now->taken_ns - view->before->taken_ns) / 1e9));
    return json_print_line(line);
}

int pressure_print(const struct pressure_survey *before, const struct pressure_survey *now,
                   const struct pressure_format *format)
{
    cleanup_free size_t *order = calloc(now->n + 1, sizeof(*order));
    struct view view = {.before = before,
                        .now = now,
                        .named = now->n > 1 || (now->n == 1 && now->group->cgroup),
                        .format = format,
                        .order = order};
    int rc = order ? choose_groups(&view) : -ENOMEM;

    if (rc < 0)
        return rc;
    return format->json ? print_json(&view) : print_table(&view);
}
