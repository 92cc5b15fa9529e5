// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file layout.h  Which columns of the live table fit on the screen, and what stands in a cell.
 * Nothing here draws. */
#pragma once

#include "show/screen/rows.h"

enum column {
    COLUMN_DOMAIN,
    COLUMN_WSS_1, /* the shortest window */
    COLUMN_HALF,  /* ± of that */
    COLUMN_WSS_2,
    COLUMN_WSS_3,
    COLUMN_RAM,
    COLUMN_SHARE,
    COLUMN_RESIDENT,
    COLUMN_BACK,
    COLUMN_METHOD,
    COLUMN_AVAIL, /* the guest's statistics */
    COLUMN_NEEDS, /* likewise, as judged */
    COLUMN_AGE,
    COLUMN_FLAGS,
    N_COLUMNS
};

struct layout {
    size_t n_windows;
    double window_s[ROWS_MAX_WINDOWS];
    size_t n;
    struct {
        enum column column;
        int width; /* without the blank before it */
        bool right;
    } at[N_COLUMNS];
};

/** Columns that were asked for, in that order. */
struct layout_choice {
    size_t n; /* 0: as many as fit */
    enum column at[N_COLUMNS];
};

/** "domain, wss, error, ...": what layout_choose() takes. */
char *layout_column_names(char *text, size_t size);

/** Reads a list with commas between. 0 or -EINVAL. */
int layout_choose(struct layout_choice *choice, const char *list);

/** Chooses columns for that width. Names have room first, for up to 32 characters, then the columns
 * by importance; of a choice, those that do not fit are left out from the end. There is always a
 * column, be it cut. */
void layout_make(struct layout *layout, const struct rows *rows, const struct layout_choice *choice,
                 int width);

/** What stands above a column. */
void layout_heading(const struct layout *layout, enum column column, char *text, size_t size);

/** What stands in it; the name and flags as they are, hostile bytes and all. */
void layout_cell(const struct layout *layout, enum column column, const struct kept_sample *kept,
                 double now_s, char *text, size_t size);

/**
 * A line of @p width characters for values over time, from 0 to the largest: eighths of blocks, or
 * ASCII.
 * @param values  @p n of them, < 0 where there is none; the newest are shown if there are more than
 *                fit
 * @param text    of 3 x width + 1 bytes
 */
void layout_sparkline(const double *values, size_t n, size_t width, bool utf8, char *text);
