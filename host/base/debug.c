// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/debug.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

static bool on;
static uint64_t began_ns;

void debug_begin(void)
{
    on = true;
    began_ns = clock_ns();
}

void debug_log(const char *format, ...)
{
    char text[1024];
    va_list args;

    if (!on)
        return;
    va_start(args, format);
    utf8_printable_format(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "debug +%.6f: %s\n", (double)(clock_ns() - began_ns) / 1e9, text);
}
