// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/service/log.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int level = LOG_INFO;
static struct log_rate rates[LOG_CLASSES];

bool log_rate_admit(struct log_rate *rate, uint64_t now_ns)
{
    double since_s = (double)(now_ns - rate->last_ns) / 1e9;

    rate->used = rate->used > since_s ? rate->used - since_s : 0;
    rate->last_ns = now_ns;
    if (rate->used > LOG_BURST - 1) {
        rate->left_out++;
        return false;
    }
    rate->used++;
    return true;
}

void log_set_level(int priority)
{
    pthread_mutex_lock(&mutex);
    level = priority;
    pthread_mutex_unlock(&mutex);
}

static void write_line(int priority, const char *text)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
    else
        fprintf(stderr, "<%d>%s\n", priority, text);
}

static void write_admitted(struct log_rate *rate, int priority, const char *text)
{
    char left_out[80];

    if (!log_rate_admit(rate, clock_ns()))
        return;
    if (rate->left_out > 0) {
        snprintf(left_out, sizeof(left_out), "(%llu messages like the next were left out)",
                 (unsigned long long)rate->left_out);
        write_line(priority, left_out);
    }
    rate->left_out = 0;
    write_line(priority, text);
}

void log_line(enum log_class class, int priority, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    utf8_printable_format(text, sizeof(text), format, args);
    va_end(args);
    pthread_mutex_lock(&mutex);
    if (priority <= level)
        write_admitted(&rates[class], priority, text);
    pthread_mutex_unlock(&mutex);
}
