// SPDX-License-Identifier: LGPL-2.1-or-later
#include "command/pressure_print.h"

#include "base/cleanup.h"
#include "base/utf8.h"
#include "command/command.h"
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

int pressure_format_sort(void *at, const char *value)
{
    struct pressure_format *format = at;
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

/* Sets a percentage; @p cell is the key of its column. */
static void set_percent(struct sheet *sheet, const char *key, double value)
{
    sheet_real(sheet, key, value);
    if (!isnan(value))
        sheet_cell(sheet, key, "%.2f%%", value);
}

/* The name may have any bytes; JSON has no name for bytes that are not UTF-8. */
static void set_name(struct sheet *sheet, const char *cgroup)
{
    cleanup_free char *name = cgroup ? strdup(cgroup) : NULL;

    if (name)
        utf8_printable(name);
    sheet_text(sheet, "cgroup", name || sheet->format == SHOW_JSON ? name : "(all)");
}

/* Sets what is known of one kind of stalls: a row for people, in JSON a group. */
static void set_stalled(struct sheet *sheet, const struct view *view, int resource, bool full)
{
    const struct pressure *pressure = &view->group->of[resource];
    const struct stalled *stalled = full ? &pressure->full : &pressure->some;
    const char *kind = full ? "full" : "some";

    if (stalled->total_us == KEYED_UNKNOWN)
        return;
    if (sheet->format == SHOW_JSON) {
        sheet_group(sheet, kind);
    } else {
        sheet_row(sheet);
        set_name(sheet, view->group->cgroup);
    }
    sheet_cell(sheet, "resource", "%s", pressure_resources[resource]);
    sheet_cell(sheet, "kind", "%s", kind);
    set_percent(sheet, "avg10", stalled->avg10);
    set_percent(sheet, "avg60", stalled->avg60);
    set_percent(sheet, "avg300", stalled->avg300);
    sheet_count(sheet, "total_us", stalled->total_us);
    sheet_cell(sheet, "total_us", "%s", SECONDS_TEXT((double)stalled->total_us / 1e6));
    set_percent(sheet, "interval_percent", over_interval(view, resource, full));
    if (sheet->format == SHOW_JSON)
        sheet_close(sheet);
}

static const struct sheet_column columns[] = {
    {"cgroup", {.name = "CGROUP"}},
    {"resource", {.name = "RESOURCE"}},
    {"kind", {.name = "KIND"}},
    {"avg10", {.name = "AVG10", .right = true}},
    {"avg60", {.name = "AVG60", .right = true}},
    {"avg300", {.name = "AVG300", .right = true}},
    {"total_us", {.name = "TOTAL", .right = true}},
    {"interval_percent", {.name = "INTERVAL", .right = true}},
};

static void set_group(struct sheet *sheet, const struct view *view)
{
    const struct pressure_group *group = view->group;
    const bool json = sheet->format == SHOW_JSON;

    if (json || group->off) {
        sheet_row(sheet);
        set_name(sheet, group->cgroup);
    }
    if (group->off)
        sheet_text(sheet, "pressure_off", group->off);
    for (size_t i = 1; group->off && i < COUNT(columns); i++)
        sheet_cell(sheet, columns[i].key, "-");
    for (int i = 0; !group->off && i < PRESSURE_RESOURCES; i++) {
        if (json)
            sheet_group(sheet, pressure_resources[i]);
        set_stalled(sheet, view, i, false);
        set_stalled(sheet, view, i, true);
        if (json)
            sheet_close(sheet);
    }
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

static int print_view(struct view *view)
{
    struct sheet sheet;

    record_begin(&sheet, view->format->json ? SHOW_JSON : SHOW_TABLE, "vmwss.guest_pressure.v1");
    sheet_list(&sheet, "groups", columns, COUNT(columns));
    if (!view->named)
        sheet_hide(&sheet, "cgroup");
    if (!view->before)
        sheet_hide(&sheet, "interval_percent");
    for (size_t i = 0; i < view->n; i++) {
        look_at(view, i);
        set_group(&sheet, view);
    }
    sheet_close(&sheet);
    if (view->now->refused > 0)
        sheet_count(&sheet, "refused", view->now->refused);
    if (view->before)
        sheet_real(&sheet, "interval_s",
                   (double)(view->now->taken_ns - view->before->taken_ns) / 1e9);
    fflush(stdout);
    if (!view->format->json)
        report_off(view);
    return sheet_end(&sheet);
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

    return rc < 0 ? rc : print_view(&view);
}
