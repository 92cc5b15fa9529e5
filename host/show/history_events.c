// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file history_events.c  The events of a guest; see history.h. */
#include "show/history.h"

int history_events_print(enum show_format format, const struct history_guest *guest,
                         const struct history_event *events, size_t n)
{
    static const struct sheet_column columns[] = {{"time", {.name = "TIME"}},
                                                  {"event", {.name = "EVENT"}}};
    static const char *const csv[] = {"time", "host", "domain", "uuid", "event", NULL};
    struct sheet sheet;

    sheet_begin(&sheet, format, "vmwss.event.v1", csv);
    sheet_list(&sheet, NULL, columns, COUNT(columns));
    for (size_t i = 0; i < n; i++) {
        sheet_row(&sheet);
        sheet_time(&sheet, "time", events[i].time_s, 3);
        sheet_guest(&sheet, guest->host, guest->name, guest->uuid);
        sheet_text(&sheet, "event", event_kind_name(events[i].kind));
    }
    sheet_close(&sheet);
    return sheet_end(&sheet);
}
