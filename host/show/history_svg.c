// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/history_svg.h"

#include "base/text/units.h"
#include "base/utf8.h"
#include "show/chart.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0
#define LABEL 24
#define DAY_S 86400.0
#define SOME_DAYS_S (10 * DAY_S)

struct drawn {
    struct chart_point *points;
    char (*labels)[LABEL];
    struct chart_mark *marks;
};

static void drawn_free(struct drawn *drawn)
{
    free(drawn->points);
    free(drawn->labels);
    free(drawn->marks);
}

/* A record covers the time before it; a bucket begins at its time. */
static bool is_after_gap(const struct history_picture *picture, size_t i)
{
    const struct history_point *point = &picture->points[i];
    const double level_s = picture->query->level_s;
    const double reach_s = level_s > 0 ? level_s : point->period_s;
    double before_s;

    if (i == 0)
        return false;
    before_s = point->time_s - picture->points[i - 1].time_s;
    /* If a guest is measured less often than once a minute, some minutes have no record. */
    return before_s > 1.5 * (reach_s > point->period_s ? reach_s : point->period_s);
}

/* Labels below the axis have little space: they show the time if the chart covers a day, the day of
 * the month and the time if it covers some days, otherwise the date. */
static void label_of(char label[LABEL], const struct history_picture *picture, double time_s)
{
    const double span_s = picture->points[picture->n_points - 1].time_s - picture->points[0].time_s;
    char text[40];

    show_time(text, sizeof(text), time_s, 0);
    if (span_s > SOME_DAYS_S) {
        snprintf(label, LABEL, "%.5s", text + strlen("2026-"));
        return;
    }
    snprintf(label, LABEL, "%.8s", text + strlen("2026-01-"));
    label[2] = ' ';
    if (span_s < DAY_S)
        memmove(label, label + 3, strlen(label + 3) + 1);
}

static int make_drawn(struct drawn *drawn, const struct history_picture *picture)
{
    drawn->points = calloc(picture->n_points, sizeof(*drawn->points));
    drawn->labels = calloc(picture->n_points, sizeof(*drawn->labels));
    drawn->marks = calloc(picture->n_events + 1, sizeof(*drawn->marks));
    if (!drawn->points || !drawn->labels || !drawn->marks)
        return -ENOMEM;
    for (size_t i = 0; i < picture->n_points; i++) {
        const struct history_point *point = &picture->points[i];

        label_of(drawn->labels[i], picture, point->time_s);
        drawn->points[i] = (struct chart_point){
            .x = point->time_s,
            .label = drawn->labels[i],
            .y = (double)point->wss_bytes / MIB,
            .low = (double)point->wss_low_bytes / MIB,
            .high = (double)point->wss_high_bytes / MIB,
            .after_gap = is_after_gap(picture, i),
            .other = (double)point->summary.resident_bytes / MIB,
        };
    }
    return 0;
}

/* Marks the events within the picture; returns their number. */
static size_t mark_events(struct drawn *drawn, const struct history_picture *picture)
{
    size_t n = 0;

    for (size_t e = 0; e < picture->n_events; e++) {
        const struct history_event *event = &picture->events[e];

        if (event->time_s >= picture->points[0].time_s &&
            event->time_s <= picture->points[picture->n_points - 1].time_s)
            drawn->marks[n++] = (struct chart_mark){event->time_s, event_kind_name(event->kind)};
    }
    return n;
}

static int write_chart(const struct history_picture *picture, const struct drawn *drawn,
                       size_t n_marks, const char *path, struct error *error)
{
    const struct history_guest *guest = picture->guest;
    const struct history_query *query = picture->query;
    char title[sizeof(guest->name) + sizeof(guest->host) + 8];
    char subtitle[400];

    snprintf(title, sizeof(title), "%s on %s", guest->name, guest->host);
    utf8_end(title);
    utf8_printable(title);
    snprintf(subtitle, sizeof(subtitle), "working set over %s, from %s to %s",
             SECONDS_TEXT(query->window_s), TIME_TEXT(query->from_s, 0), TIME_TEXT(query->to_s, 0));

    const struct chart chart = {
        .title = title,
        .subtitle = subtitle,
        .x_title = "UTC",
        .y_title = "MiB",
        .top = picture->points[picture->n_points - 1].summary.ram_bytes / MIB,
        .top_label = "assigned",
        .other_label = "resident",
        .n = picture->n_points,
        .points = drawn->points,
        .n_marks = n_marks,
        .marks = drawn->marks,
    };

    return chart_write(&chart, path, error);
}

int history_svg_write(const struct history_picture *picture, const char *path, struct error *error)
{
    struct drawn drawn = {0};
    int rc = make_drawn(&drawn, picture);

    if (rc == 0)
        rc = write_chart(picture, &drawn, mark_events(&drawn, picture), path, error);
    else
        error_set(error, rc, "out of memory");
    drawn_free(&drawn);
    return rc;
}
