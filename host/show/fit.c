// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/fit.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

size_t fit_line_width(const struct fit_column *columns, size_t n)
{
    size_t width = 0;

    for (size_t i = 0; i < n; i++)
        if (columns[i].shown)
            width += columns[i].width + (width > 0);
    return width;
}

static unsigned highest_rank(const struct fit_column *columns, size_t n)
{
    unsigned rank = 0;

    for (size_t i = 0; i < n; i++)
        if (columns[i].shown && columns[i].rank > rank)
            rank = columns[i].rank;
    return rank;
}

void fit_columns(struct fit_column *columns, size_t n, size_t width)
{
    while (width > 0 && fit_line_width(columns, n) > width) {
        unsigned rank = highest_rank(columns, n);

        if (rank == 0)
            return;
        for (size_t i = 0; i < n; i++)
            columns[i].shown &= columns[i].rank != rank;
    }
}

size_t fit_text_width(const char *text)
{
    wchar_t wide[512];
    size_t n = mbstowcs(wide, text, COUNT(wide));
    int width = n < COUNT(wide) ? wcswidth(wide, n) : -1;

    return width >= 0 ? (size_t)width : strlen(text);
}

size_t fit_output_width(void)
{
    const char *columns = getenv("COLUMNS");
    long width = columns ? strtol(columns, NULL, 10) : 0;
    struct winsize size = {0};

    if (width > 0)
        return (size_t)width;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
