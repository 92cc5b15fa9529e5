// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file clock_ahead.c  Another time for one program: preloaded (ld.so(8)), it adds the seconds that
 * two files say, read anew at each look at the clock.
 *   CLOCK_AHEAD  time has passed: the time of day and the time since boot
 *   CLOCK_SET    somebody has set the clock: the time of day only
 * CLOCK_MONOTONIC, by which threads wait, goes on as it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Reads a number of seconds from the file whose path is in the environment. */
static long seconds_of(const char *variable)
{
    const char *path = getenv(variable);
    FILE *file = path ? fopen(path, "re") : NULL;
    long seconds = 0;

    if (file && fscanf(file, "%ld", &seconds) != 1)
        seconds = 0;
    if (file)
        fclose(file);
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, now);

    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME))
        now->tv_sec += seconds_of("CLOCK_AHEAD");
    if (rc == 0 && clock == CLOCK_REALTIME)
        now->tv_sec += seconds_of("CLOCK_SET");
    return rc;
}
