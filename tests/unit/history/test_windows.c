// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_windows.c  Which windows are kept: of a guest, of all, in a span. */
#include "kept.h"

#include "history/history.h"

#include <string.h>

#define T0 1700002800.0 /* a full hour */

static void sql(const char *text)
{
    unit_shell("sqlite3 '%s' \"%s\"", kept.path, text);
}

static void windows_are(int64_t guest_id, double from_s, double to_s, const char *expected)
{
    double window_s[RUN_MAX_WINDOWS];
    char text[128] = "";
    cleanup_store struct store *store = kept_read();
    ssize_t n = history_windows_within(store, guest_id, from_s, to_s, window_s, NULL);

    for (ssize_t w = 0; w < n; w++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%g ", window_s[w]);
    ck_assert_str_eq(text, expected);
}

FIXTURE(cases, .setup = kept_begin);

/* After the configuration was changed, and of guests that are measured differently. */
TEST(cases, the_windows_of_a_span_are_those_of_all_its_hours_and_guests)
{
    struct store *store = kept_open(kept.path);
    double window_s[RUN_MAX_WINDOWS];

    kept_add_of(store, UUID_1, T0, 100, 10);
    kept_add_of(store, UUID_2, T0 + 7200, 100, 10);
    kept_add_of(store, UUID_1, T0 + 7200, 100, 10);
    store_close(store);
    sql("UPDATE bucket SET windows = json_set(windows, '\\$[1][0]', 300) WHERE guest_id = 1 AND "
        "start_s >= 1700006400");
    sql("UPDATE bucket SET windows = json_set(windows, '\\$[1][0]', 120) WHERE guest_id = 2");
    sql("DELETE FROM host_need");
    windows_are(0, T0, T0 + 7200, "10 60 120 300 ");
    windows_are(0, T0 + 7200, T0 + 7300, "10 120 300 ");
    windows_are(1, T0, T0 + 7200, "10 60 300 ");
    windows_are(2, T0, T0 + 100, "");
    windows_are(0, 0, 1, "");
    store = kept_read();
    ck_assert_int_eq(history_windows(store, 0, window_s, NULL), 4);
    store_close(store);
}

/* With many guests their sums are read, and the newest hour, which may not be among them. */
TEST(cases, what_all_needed_has_the_windows_of_all)
{
    struct store *store = kept_open(kept.path);

    for (int hour = 0; hour < 4; hour++)
        for (int minute = 0; minute < 60; minute++)
            kept_add_of(store, UUID_1, T0 + 3600 * hour + 60 * minute, 100, 60);
    store_close(store);
    sql("UPDATE host_need SET windows = json_set(windows, '\\$[1][0]', 300) WHERE start_s < 1700006400");
    sql("UPDATE bucket SET windows = json_set(windows, '\\$[1][0]', 120) WHERE start_s >= 1700013600");
    windows_are(0, T0, T0 + 4 * 3600, "10 60 120 300 ");
    windows_are(0, T0, T0 + 3599, "10 60 300 ");
    windows_are(0, T0 + 3600, T0 + 7199, "10 60 ");
}
