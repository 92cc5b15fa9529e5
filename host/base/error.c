// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void error_write(struct error *e, int code, const char *format, ...)
{
    va_list args;

    if (!e)
        return;
    va_start(args, format);
    e->code = code;
    vsnprintf(e->text, sizeof(e->text), format, args);
    va_end(args);
}

int error_prefix(struct error *e, const char *format, ...)
{
    if (!e)
        return 0;

    char old[sizeof(e->text)];
    char prefix[256];
    va_list args;

    memcpy(old, e->text, sizeof(old));
    va_start(args, format);
    vsnprintf(prefix, sizeof(prefix), format, args);
    va_end(args);
    /* A message longer than the buffer loses its end, which is the least important part. */
    int written = snprintf(e->text, sizeof(e->text), "%s: ", prefix);
    snprintf(e->text + written, sizeof(e->text) - (size_t)written, "%s", old);
    return e->code;
}
