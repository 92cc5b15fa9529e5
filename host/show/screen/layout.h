// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file layout.h  The columns of the live table that fit on the screen, and the content of its
 * cells. Does not draw. */
#pragma once

#include "show/screen/rows.h"

enum column {
    COLUMN_DOMAIN,
    COLUMN_WSS_1, /* the shortest window */
    COLUMN_HALF,  /* the error of COLUMN_WSS_1: ± */
    COLUMN_WSS_2,
    COLUMN_WSS_3,
    COLUMN_RAM,
    COLUMN_SHARE,
    COLUMN_RESIDENT,
    COLUMN_BACK,
    COLUMN_METHOD,
    COLUMN_AVAIL, /* the guest's statistics */
    COLUMN_NEEDS, /* a verdict from the guest's statistics */
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
        int width; /* without the blank between columns */
        bool right;
    } at[N_COLUMNS];
};

/** The requested columns, in that order. */
struct layout_choice {
    size_t n; /* 0: as many as fit */
    enum column at[N_COLUMNS];
};

/** Writes the names that layout_choose() accepts: "domain, wss, error, ...". */
char *layout_column_names(char *text, size_t size);

/** Parses a list of names separated by commas. Returns 0 or -EINVAL. */
int layout_choose(struct layout_choice *choice, const char *list);

/** Chooses the columns that fit. Names get space first, up to 32 characters, then columns by
 * importance. If columns were requested, the last ones are omitted if they do not fit. There is
 * always at least one column, truncated if necessary. */
void layout_make(struct layout *layout, const struct rows *rows, const struct layout_choice *choice,
                 int width);

/** Writes the heading of a column. */
void layout_heading(const struct layout *layout, enum column column, char *text, size_t size);

/** Writes the content of a cell. Does not sanitize names and flags. */
void layout_cell(const struct layout *layout, enum column column, const struct kept_sample *kept,
                 double now_s, char *text, size_t size);

/**
 * A line of @p width characters for values over time, from 0 to the largest, in eighths of blocks
 * or ASCII.
 * @param values  @p n values, below 0 if unknown; if not all fit, the newest are shown
 * @param text    of 3 x width + 1 bytes
 */
void layout_sparkline(const double *values, size_t n, size_t width, bool utf8, char *text);
