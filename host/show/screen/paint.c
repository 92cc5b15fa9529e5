// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/screen/paint.h"

#include <langinfo.h>
#include <ncurses.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#define MAX_CELLS 512

bool paint_utf8(void)
{
    return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* Takes one character of the text; each invalid byte counts as one character. */
static size_t next_character(const char *text, size_t left, wchar_t *c, mbstate_t *state)
{
    size_t n = mbrtowc(c, text, left, state);

    if (n != (size_t)-1 && n != (size_t)-2 && n > 0)
        return n;
    memset(state, 0, sizeof(*state));
    *c = L'?';
    return 1;
}

/* Takes the part of the text that fits into @p width cells; sets *cells to the number used. */
static size_t fit(const char *text, int width, wchar_t *out, int *cells)
{
    mbstate_t state = {0};
    size_t left = strlen(text);
    size_t n = 0;

    *cells = 0;
    while (left > 0 && n + 1 < MAX_CELLS) {
        wchar_t c;
        size_t bytes = next_character(text, left, &c, &state);
        int wide = iswprint((wint_t)c) ? wcwidth(c) : -1;

        if (wide < 1) { /* also replaces a character that would be drawn over the previous one */
            c = L'?';
            wide = 1;
        }
        if (*cells + wide > width)
            break;
        out[n++] = c;
        *cells += wide;
        text += bytes;
        left -= bytes;
    }
    out[n] = L'\0';
    return n;
}

void paint_field(int y, int x, int width, bool right, const char *text)
{
    wchar_t shown[MAX_CELLS];
    int cells;
    int room = COLS - x;

    width = width < room ? width : room;
    if (y < 0 || y >= LINES || width <= 0)
        return;
    fit(text, width, shown, &cells);
    mvprintw(y, x, "%*s", width, "");
    mvaddwstr(y, right ? x + width - cells : x, shown);
}

void paint_line(int y, int x, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    paint_field(y, x, COLS - x, false, text);
}
