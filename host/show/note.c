// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/note.h"

#include "base/fill.h"
#include "show/fit.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INDENT 2 /* of the lines after the first */
#define LEAST 40 /* in a narrower terminal words are cut */

/* The line that has begun. */
static char line[8192];
static size_t line_bytes;

/* Prints what has begun as it is: a line that is too long, or, when the process exits, one without
 * its newline. */
static void end_note(void)
{
    fwrite(line, 1, line_bytes, stdout);
    line_bytes = 0;
}

static void end_line(void)
{
    const size_t columns = fit_output_width();
    const char *end = line + line_bytes - 1; /* its newline */

    if (columns >= LEAST && (size_t)fill_width(line, end) > columns) {
        fill_words_within(stdout, (int)columns, line, end, 0, INDENT);
        line_bytes = 0;
    }
    end_note();
}

static ssize_t take(void *context, const char *text, size_t size)
{
    (void)context;
    for (size_t i = 0; i < size; i++) {
        if (line_bytes == sizeof(line) - 1)
            end_note();
        line[line_bytes++] = text[i];
        if (text[i] == '\n')
            end_line();
    }
    return (ssize_t)size;
}

FILE *note_stream(void)
{
    static FILE *stream;

    if (!stream && isatty(STDOUT_FILENO)) {
        stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});
        if (stream && setvbuf(stream, NULL, _IONBF, 0) == 0)
            atexit(end_note);
    }
    return stream ? stream : stdout;
}

void note(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(note_stream(), format, args);
    va_end(args);
}
