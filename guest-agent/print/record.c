// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file record.c  See record.h. */
#include "print/record.h"

#include "base/text/units.h"

#include <time.h>

char *record_time(char text[RECORD_TIME])
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return show_time(text, RECORD_TIME, (double)now.tv_sec + (double)now.tv_nsec / 1e9, 3);
}
