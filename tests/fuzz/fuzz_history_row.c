// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_history_row.c  Rows of the history, which anybody may have written: columns divided
 * by NULs, from the first byte on. */
#include "fuzz.h"
#include "history/bucket_row.h"
#include "history/kept_row.h"
#include "history/row.h"

#include <math.h>
#include <string.h>

/* As many as the widest row has, and some more. */
#define N_COLUMNS 64

/* A number is what SQLite takes it for, what begins with a quote or is no number is text, and what
 * is empty is NULL. */
static void bind_column(sqlite3_stmt *statement, int column, const char *text)
{
    char *rest;
    double number = strtod(text, &rest);

    if (*text == '\'')
        sqlite3_bind_text(statement, column, text + 1, -1, SQLITE_TRANSIENT);
    else if (*rest)
        sqlite3_bind_text(statement, column, text, -1, SQLITE_TRANSIENT);
    else if (*text && strpbrk(text, ".eEnN"))
        sqlite3_bind_double(statement, column, number);
    else if (*text)
        sqlite3_bind_int64(statement, column, strtoll(text, NULL, 10));
}

static sqlite3_stmt *one_row(sqlite3 *database, const char *text, size_t size)
{
    char sql[4 * N_COLUMNS + 16] = "SELECT ?";
    sqlite3_stmt *statement;
    const char *end = text + size;

    for (int i = 1; i < N_COLUMNS; i++)
        strcat(sql, ",?");
    CLAIM(sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK);
    for (int i = 1; i <= N_COLUMNS && text < end; i++, text += strlen(text) + 1)
        bind_column(statement, i, text);
    CLAIM(sqlite3_step(statement) == SQLITE_ROW);
    return statement;
}

static void check_sample(const struct kept_sample *kept)
{
    const struct sample_record *sample = &kept->record.sample;
    static struct sample_record again;
    char *text = row_text(FIELD_WINDOWS, sample);

    CLAIM(kept->period_s > 0 && sample->n_windows <= RUN_MAX_WINDOWS && text);
    for (size_t w = 0; w < sample->n_windows; w++) {
        const struct window_record *window = &sample->windows[w];

        CLAIM(window->wss_low_bytes <= window->unit_low_bytes &&
              window->unit_low_bytes <= window->wss_bytes &&
              window->wss_bytes <= window->wss_high_bytes && window->window_s > 0);
    }
    for (size_t b = 0; b < kept->record.n_bins; b++)
        CLAIM(kept->record.bins[b].low_bytes <= kept->record.bins[b].high_bytes);
    /* A row that was read can be written, and read again. */
    CLAIM(row_parse(FIELD_WINDOWS, text, &again) == 0 && again.n_windows == sample->n_windows);
    for (size_t w = 0; w < sample->n_windows; w++)
        CLAIM(again.windows[w].wss_bytes == sample->windows[w].wss_bytes &&
              again.windows[w].unit_low_bytes == sample->windows[w].unit_low_bytes);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static sqlite3 *database;
    static struct kept_sample kept;
    static struct bucket bucket;
    char *text = calloc(size + 1, 1);

    CLAIM(text && (database || sqlite3_open(":memory:", &database) == SQLITE_OK));
    memcpy(text, data, size);

    sqlite3_stmt *row = one_row(database, text, size);

    if (kept_row_read(row, &kept) == 0)
        check_sample(&kept);
    if (bucket_row_read(row, 0, &bucket, 0) == 0)
        CLAIM(bucket.records > 0 && bucket.n_windows <= RUN_MAX_WINDOWS);
    sqlite3_finalize(row);
    free(text);
    return 0;
}
