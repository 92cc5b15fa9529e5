// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file made_report.h  A history of the test's own, and a report of it. */
#pragma once

#include "history/report.h"
#include "kept.h"
#include "show/report.h"

#define MINUTE 60.0
#define HOUR 3600.0
#define T0 1767222000.0 /* when an hour begins */

static struct store *store;
static struct report report;

static void setup(void)
{
    kept_begin();
    store = kept_open(kept.path);
}

static void teardown(void)
{
    report_free(&report);
    store_close(store);
}

FIXTURE(cases, .setup = setup, .teardown = teardown, .timeout_s = 120);

/** Deletes the minutes, as a month does. */
static void forget_minutes(void)
{
    free(kept_ask(kept.path, "DELETE FROM bucket WHERE level_s = 60"));
    free(kept_ask(kept.path, "DELETE FROM host_need WHERE level_s = 60"));
}

/** Prints the report into a string, which the caller frees. */
static char *print_report(enum show_format format)
{
    char *text = NULL;
    size_t size = 0;
    const char *path = TEXT_OF(128, "%s/printed", kept.dir);

    ck_assert_ptr_nonnull(freopen(path, "w+", stdout));
    ck_assert_int_eq(report_print(&report, format), 0);
    rewind(stdout);
    ck_assert_int_gt(getdelim(&text, &size, '\0', stdout), 0);
    return text;
}
