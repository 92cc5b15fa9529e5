// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/screen/layout.h"

#include "base/array.h"
#include "base/text/units.h"
#include "history/kept_age.h"
#include "show/guest_stats.h"
#include "show/sample_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME_MIN 8
#define NAME_MAX 32
#define FLAGS_MIN 10
#define FLAGS_WIDTH 24 /* width of the column in a requested list */
#define NUMBER 10      /* as wide as a number of bytes */

/* The order in which columns get space; enum column is the order on the screen. */
static const struct {
    enum column column;
    int width;
    const char *name; /* name in a requested list */
} wanted[] = {
    {COLUMN_DOMAIN, NAME_MIN, "domain"},
    {COLUMN_WSS_1, 10, "wss"},
    {COLUMN_RAM, 10, "ram"},
    {COLUMN_HALF, 9, "error"},
    {COLUMN_WSS_3, 10, "wss-longest"},
    {COLUMN_AGE, 6, "age"},
    {COLUMN_BACK, 11, "reclaimable"},
    {COLUMN_WSS_2, 10, "wss-middle"},
    {COLUMN_NEEDS, 6, "needs"},
    {COLUMN_AVAIL, 11, "available"},
    {COLUMN_RESIDENT, 10, "resident"},
    {COLUMN_SHARE, 6, "share"},
    {COLUMN_METHOD, 14, "method"},
    {COLUMN_FLAGS, FLAGS_WIDTH, "flags"},
};

char *layout_column_names(char *text, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < COUNT(wanted) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", wanted[i].name);
    return text;
}

/* Returns COUNT(wanted) if there is no such column. */
static size_t find_wanted(const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT(wanted); i++)
        if (strlen(wanted[i].name) == length && strncmp(wanted[i].name, name, length) == 0)
            return i;
    return COUNT(wanted);
}

int layout_choose(struct layout_choice *choice, const char *list)
{
    choice->n = 0;
    for (;;) {
        const size_t length = strcspn(list, ",");
        const size_t found = find_wanted(list, length);

        if (found == COUNT(wanted) || choice->n == N_COLUMNS)
            return -EINVAL;
        choice->at[choice->n++] = wanted[found].column;
        if (!list[length])
            return 0;
        list += length + 1;
    }
}

static bool any_asked(const struct rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        if (guest_stats_requested(&rows->at[i].record.sample.guest))
            return true;
    return false;
}

static bool exists(const struct layout *layout, const struct rows *rows, enum column column)
{
    if (column == COLUMN_AVAIL || column == COLUMN_NEEDS)
        return any_asked(rows);
    if (column == COLUMN_WSS_2)
        return layout->n_windows == 3;
    return column != COLUMN_WSS_3 || layout->n_windows >= 2;
}

static int longest_name(const struct rows *rows)
{
    size_t longest = NAME_MIN;

    for (size_t i = 0; i < rows->n; i++) {
        size_t length = strlen(rows->at[i].record.sample.domain);

        longest = length > longest ? length : longest;
    }
    return longest < NAME_MAX ? (int)longest : NAME_MAX;
}

/* Returns the width for names if the next column must fit, too. */
static int name_width(const struct rows *rows, int width)
{
    const int longest = longest_name(rows);
    const int room = width - NUMBER - 1;

    return longest < room ? longest : room > NAME_MIN ? room : NAME_MIN;
}

static void put_column(struct layout *layout, enum column column, int width)
{
    layout->at[layout->n].column = column;
    layout->at[layout->n].width = width;
    layout->at[layout->n++].right = column != COLUMN_DOMAIN && column != COLUMN_METHOD &&
                                    column != COLUMN_NEEDS && column != COLUMN_FLAGS;
}

static void make_chosen(struct layout *layout, const struct rows *rows,
                        const struct layout_choice *choice, int width)
{
    for (size_t c = 0; c < choice->n; c++) {
        const enum column column = choice->at[c];
        int wide = column == COLUMN_DOMAIN ? name_width(rows, width) : 0;

        for (size_t i = 0; i < COUNT(wanted) && wide == 0; i++)
            if (wanted[i].column == column)
                wide = wanted[i].width;
        if (layout->n > 0 && wide + 1 > width)
            return;
        wide = wide < width ? wide : width > 0 ? width : 1;
        put_column(layout, column, wide);
        width -= wide + (layout->n > 1);
    }
}

static void make_by_importance(struct layout *layout, const struct rows *rows, int width)
{
    int widths[N_COLUMNS] = {0};
    int left = width;

    for (size_t i = 0; i < COUNT(wanted) && width >= NAME_MIN; i++) {
        const enum column column = wanted[i].column;
        const int blank = column != COLUMN_DOMAIN;
        const int wide = blank ? wanted[i].width : name_width(rows, width);

        if (!exists(layout, rows, column) || wide + blank > left || column == COLUMN_FLAGS)
            continue;
        widths[column] = wide;
        left -= wide + blank;
    }
    if (widths[COLUMN_DOMAIN] == 0) {
        widths[COLUMN_DOMAIN] = width > 0 ? width : 1;
        left = 0;
    }
    if (left > FLAGS_MIN)
        widths[COLUMN_FLAGS] = left - 1;
    for (enum column c = 0; c < N_COLUMNS; c++)
        if (widths[c] > 0)
            put_column(layout, c, widths[c]);
}

void layout_make(struct layout *layout, const struct rows *rows, const struct layout_choice *choice,
                 int width)
{
    memset(layout, 0, sizeof(*layout));
    layout->n_windows = rows_windows(rows, layout->window_s);
    if (choice->n > 0)
        make_chosen(layout, rows, choice, width);
    else
        make_by_importance(layout, rows, width);
}

/* The columns of windows are for the shortest, a middle, and the longest window. */
static double window_of(const struct layout *layout, enum column column)
{
    if (column == COLUMN_WSS_2)
        return layout->window_s[1];
    return layout->window_s[column == COLUMN_WSS_3 ? layout->n_windows - 1 : 0];
}

void layout_heading(const struct layout *layout, enum column column, char *text, size_t size)
{
    static const char *const names[N_COLUMNS] = {
        "DOMAIN",   "WSS",         NULL,     "WSS",         "WSS",   "RAM", "OF RAM",
        "RESIDENT", "RECLAIMABLE", "METHOD", "GUEST AVAIL", "NEEDS", "AGE", "FLAGS"};

    if (column != COLUMN_WSS_1 && column != COLUMN_WSS_2 && column != COLUMN_WSS_3) {
        snprintf(text, size, "%s", column == COLUMN_HALF ? show_plus_minus() : names[column]);
        return;
    }
    if (layout->n_windows == 0) {
        snprintf(text, size, "WSS");
        return;
    }
    snprintf(text, size, "WSS %s", SECONDS_SHORT_TEXT(window_of(layout, column)));
}

static void window_cell(const struct layout *layout, enum column column,
                        const struct kept_sample *kept, char *text, size_t size)
{
    const struct window_record *window = layout->n_windows > 0
                                             ? sample_window(&kept->record.sample,
                                                             window_of(layout, column))
                                             : NULL;
    const uint64_t ram_bytes = kept->record.sample.ram_bytes;

    if (!window)
        snprintf(text, size, "-");
    else if (column == COLUMN_HALF)
        show_bytes(text, size, window_half_width(window));
    else if (column == COLUMN_SHARE)
        snprintf(text, size, "%.1f%%",
                 ram_bytes > 0 ? 100 * (double)window->wss_bytes / (double)ram_bytes : 0);
    else
        show_bytes(text, size, window->wss_bytes);
}

void layout_cell(const struct layout *layout, enum column column, const struct kept_sample *kept,
                 double now_s, char *text, size_t size)
{
    const struct sample_record *sample = &kept->record.sample;
    uint64_t back;

    switch (column) {
    case COLUMN_DOMAIN:
        sample_name(text, size, sample);
        break;
    case COLUMN_RAM:
        show_bytes(text, size, sample->ram_bytes);
        break;
    case COLUMN_RESIDENT:
        show_bytes(text, size, sample->resident_bytes);
        break;
    case COLUMN_BACK:
        if (sample_reclaimable(sample, &back))
            show_bytes(text, size, back);
        else
            snprintf(text, size, "-");
        break;
    case COLUMN_METHOD:
        sample_method(text, size, sample);
        break;
    case COLUMN_AVAIL:
        guest_stats_bytes_text(text, size,
                               sample->guest.source == GUEST_STATS_NONE
                                   ? AGENT_UNKNOWN
                                   : sample->guest.available_bytes);
        break;
    case COLUMN_NEEDS:
        guest_stats_verdict_text(text, size, &sample->guest);
        break;
    case COLUMN_AGE:
        show_seconds(text, size, (double)(long)kept_age_s(kept, now_s));
        break;
    case COLUMN_FLAGS:
        sample_flags_text(text, size, sample->flags);
        break;
    default:
        window_cell(layout, column, kept, text, size);
        break;
    }
}

void layout_sparkline(const double *values, size_t n, size_t width, bool utf8, char *text)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    const char *const *levels = utf8 ? blocks : ascii;
    size_t first = n > width ? n - width : 0;
    double largest = 0;

    for (size_t i = first; i < n; i++)
        largest = values[i] > largest ? values[i] : largest;
    *text = '\0';
    for (size_t i = first; i < n; i++) {
        size_t level = largest > 0 && values[i] > 0 ? (size_t)(values[i] / largest * 7.999) : 0;

        text = stpcpy(text, values[i] < 0 ? " " : levels[level]);
    }
}
