// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file history_events.c  The events of a guest; see history.h. */
#include "base/text/csv.h"
#include "base/text/json.h"
#include "base/text/units.h"
#include "show/history.h"
#include "show/table.h"

#include <errno.h>

static int print_table(const struct history_event *events, size_t n)
{
    static const struct table_column columns[] = {{.name = "TIME"}, {.name = "EVENT"}};
    struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    char time[40];
    int rc = table ? 0 : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = table_row(table,
                       (const char *const[]){show_time(time, sizeof(time), events[i].time_s, 0),
                                             event_kind_name(events[i].kind)});
    if (rc == 0)
        table_print(table, true);
    table_free(table);
    return rc;
}

static int print_json(const struct history_guest *guest, const struct history_event *event)
{
    json_t *object = json_object();
    char time[40];

    json_object_set_new(object, "schema", json_string("vmwss.event.v1"));
    json_object_set_new(object, "time",
                        json_string(show_time(time, sizeof(time), event->time_s, 3)));
    json_object_set_new(object, "host", json_text(guest->host));
    json_object_set_new(object, "domain", json_text(guest->name));
    json_object_set_new(object, "uuid", json_text(guest->uuid));
    json_object_set_new(object, "event", json_string(event_kind_name(event->kind)));
    return json_print_line(object);
}

static void print_csv(const struct history_guest *guest, const struct history_event *event)
{
    struct csv csv = {0};
    char time[40];

    csv_text(&csv, show_time(time, sizeof(time), event->time_s, 3));
    csv_text(&csv, guest->host);
    csv_text(&csv, guest->name);
    csv_text(&csv, guest->uuid);
    csv_text(&csv, event_kind_name(event->kind));
    csv_end(&csv);
}

int history_events_print(enum show_format format, const struct history_guest *guest,
                         const struct history_event *events, size_t n)
{
    static const char *const names[] = {"time", "host", "domain", "uuid", "event", NULL};
    int rc = 0;

    if (format == SHOW_TABLE)
        return print_table(events, n);
    if (format == SHOW_CSV)
        csv_heading(names);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (format == SHOW_CSV)
            print_csv(guest, &events[i]);
        else
            rc = print_json(guest, &events[i]);
    return rc;
}
