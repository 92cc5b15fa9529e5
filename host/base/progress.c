// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/progress.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define REDRAW_NS 100000000ULL
#define WORTH_SHOWING_S 2
#define BAR 30
#define ERASE "\033[K" /* to the end of the line */

void progress_init(struct progress *progress, const char *what)
{
    *progress = (struct progress){.enabled = isatty(STDERR_FILENO), .began_ns = clock_ns()};
    snprintf(progress->what, sizeof(progress->what), "%s", what);
    utf8_end(progress->what);
    utf8_printable(progress->what);
}

void progress_draw(double elapsed_s, double total_s, void *context)
{
    struct progress *progress = context;
    uint64_t now_ns = clock_ns();

    if (!progress->enabled || total_s < WORTH_SHOWING_S || now_ns - progress->last_ns < REDRAW_NS)
        return;

    char bar[BAR + 1];
    int filled = elapsed_s < total_s ? (int)(elapsed_s / total_s * BAR) : BAR;

    for (int i = 0; i < BAR; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR] = '\0';
    fprintf(stderr, "\r%s [%s] %.0f of %.0f s ", progress->what, bar, elapsed_s, total_s);
    progress->last_ns = now_ns;
    progress->drawn = true;
}

void progress_say(struct progress *progress, const char *format, ...)
{
    uint64_t now_ns = clock_ns();
    char text[96];
    va_list args;

    if (!progress->enabled || now_ns - progress->began_ns < WORTH_SHOWING_S * 1000000000ULL ||
        now_ns - progress->last_ns < REDRAW_NS)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "\r%s: %s" ERASE, progress->what, text);
    progress->last_ns = now_ns;
    progress->drawn = true;
}

void progress_clear(struct progress *progress)
{
    if (progress->drawn)
        fputs("\r" ERASE, stderr);
    progress->drawn = false;
}
