// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file sample_row.c  See sample_row.h. */
#include "keep/sample_row.h"

#include "keep/row.h"
#include "keep/sql.h"
#include "sample/method.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define JSON_TEXT_MAX 32768 /* 65 windows or bins of some 100 bytes, generously */

static int read_time(sqlite3_stmt *s, int column, struct timespec *time)
{
    int64_t ms;

    if (sql_i64(s, column, &ms) < 0)
        return -EUCLEAN;

    int64_t rest = ms % 1000;

    rest = rest < 0 ? rest + 1000 : rest;
    time->tv_sec = (time_t)((ms - rest) / 1000);
    time->tv_nsec = (long)rest * 1000000;
    return 0;
}

static enum accel accel_of(const char *name)
{
    if (!strcmp(name, accel_name(ACCEL_KVM)))
        return ACCEL_KVM;
    return strcmp(name, accel_name(ACCEL_TCG)) == 0 ? ACCEL_TCG : ACCEL_UNKNOWN;
}

/* The records that are made have a pointer to the name in the method's table. */
static const char *method_of(const char *name)
{
    const struct method *method = method_by_name(name);

    if (!strcmp(name, SAMPLE_NO_METHOD))
        return SAMPLE_NO_METHOD;
    return method ? method->name : "unknown";
}

static int read_names(sqlite3_stmt *s, struct sample_record *sample)
{
    char accel[16];
    char method[32];
    char mode[16];
    char flags[SAMPLE_FLAGS_TEXT];

    if (sql_text(s, 0, sample->host, sizeof(sample->host)) < 0 ||
        sql_text(s, 1, sample->domain, sizeof(sample->domain)) < 0 ||
        sql_text(s, 2, sample->uuid, sizeof(sample->uuid)) < 0 ||
        sql_text(s, 7, accel, sizeof(accel)) < 0 || sql_text(s, 8, method, sizeof(method)) < 0 ||
        sql_text(s, 9, mode, sizeof(mode)) < 0 || sql_text(s, 18, flags, sizeof(flags)) < 0)
        return -EUCLEAN;
    sample->accel = accel_of(accel);
    sample->method = method_of(method);
    sample->census = !strcmp(mode, "census");
    sample->flags = row_flags_parse(flags);
    return 0;
}

static int read_numbers(sqlite3_stmt *s, struct kept_sample *kept)
{
    struct sample_record *sample = &kept->record.sample;
    uint64_t pid;

    if (sql_u64(s, 6, &pid) < 0 || pid > INT_MAX || sql_u64(s, 10, &sample->samples) < 0 ||
        sql_u64(s, 11, &sample->granularity_bytes) < 0 || sql_u64(s, 12, &sample->ram_bytes) < 0 ||
        sql_u64(s, 13, &sample->resident_bytes) < 0 ||
        sql_u64(s, 14, &sample->unmeasurable_bytes) < 0 || sql_double(s, 15, &sample->vcpu_s) < 0 ||
        sql_double(s, 16, &sample->cpu_s) < 0 || sql_double(s, 17, &sample->paused_s) < 0 ||
        sql_double(s, 4, &kept->period_s) < 0 || sql_double(s, 5, &kept->precision) < 0 ||
        kept->period_s <= 0 || kept->period_s > STORE_PERIOD_MAX_S)
        return -EUCLEAN;
    sample->pid = (pid_t)pid;
    return 0;
}

int sample_row_read(sqlite3_stmt *s, struct kept_sample *kept)
{
    char text[JSON_TEXT_MAX];

    memset(kept, 0, sizeof(*kept));
    if (read_time(s, 3, &kept->record.sample.time) < 0 || read_names(s, &kept->record.sample) < 0 ||
        read_numbers(s, kept) < 0 || sql_text(s, 19, text, sizeof(text)) < 0 ||
        row_windows_parse(&kept->record.sample, text) < 0 ||
        sql_text(s, 20, text, sizeof(text)) < 0)
        return -EUCLEAN;
    return row_ages_parse(&kept->record, text);
}
