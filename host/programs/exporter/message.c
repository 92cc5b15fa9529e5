// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file message.c  See message.h. */
#include "programs/exporter/message.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

void message(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    utf8_printable_format(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, MESSAGE_PREFIX "%s\n", text);
}

void message_outcome(int *failing, int rc, const struct error *error)
{
    if (rc < 0 && rc != *failing)
        message("%s", error->text);
    if (rc == 0 && *failing)
        message("it works again");
    *failing = rc;
}
