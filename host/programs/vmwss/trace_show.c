// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/trace_show.h"

#include "base/command.h"
#include "show/trace.h"

#include <errno.h>
#include <inttypes.h>

struct showing {
    struct trace_reader reader;
    enum trace_format format;
    struct trace_stats *stats;
    struct trace_printer *printer; /* NULL: CSV */
    struct sheet csv;
};

static int take_layout(struct showing *showing)
{
    return showing->format == TRACE_CSV
               ? 0
               : trace_stats_layout(showing->stats, &showing->reader.layout);
}

static int take_period(struct showing *showing, struct error *error)
{
    const struct trace_reader *reader = &showing->reader;
    struct trace_change change;
    int rc;

    if (showing->format == TRACE_CSV) {
        rc = trace_csv_period(&showing->csv, &reader->layout, &reader->period, reader->periods);
        return rc == 0 ? command_flush(error) : rc;
    }
    rc = trace_stats_period(showing->stats, &reader->period, &change);
    if (rc == 0)
        trace_printer_period(showing->printer, &change);
    return rc;
}

/* Reads up to the end or the cut, which it returns; or returns an error. */
static int read_all(struct showing *showing, struct error *error)
{
    for (;;) {
        int part = trace_reader_next(&showing->reader, error);
        int rc = 0;

        if (part != TRACE_AT_LAYOUT && part != TRACE_AT_PERIOD)
            return part;
        rc = part == TRACE_AT_LAYOUT ? take_layout(showing) : take_period(showing, error);
        if (rc < 0)
            return rc == -ENOMEM ? error_set(error, rc, "out of memory") : rc;
    }
}

static void say_cut(const struct trace_reader *reader)
{
    command_error("%s: cut at byte %" PRIu64 " of %" PRIu64 ": it was not ended properly, and is "
                  "read up to its last whole period, number %" PRIu64,
                  reader->path, reader->offset, reader->bytes, reader->periods);
}

static int show_trace(struct showing *showing, struct error *error)
{
    int end;
    int rc = 0;

    if (showing->format == TRACE_CSV)
        trace_csv_begin(&showing->csv);
    end = read_all(showing, error);
    if (end < 0)
        return end;
    if (end == TRACE_AT_CUT)
        say_cut(&showing->reader);
    if (showing->printer)
        rc = trace_printer_end(showing->printer, end == TRACE_AT_CUT);
    if (rc < 0)
        return error_set(error, rc, "out of memory");
    return command_flush(error);
}

static int begin_showing(struct showing *showing, struct error *error)
{
    if (showing->format == TRACE_CSV)
        return 0;
    showing->stats = trace_stats_new(&showing->reader.head);
    if (showing->stats)
        showing->printer = trace_printer_new(&showing->reader, showing->stats,
                                             showing->format == TRACE_JSON);
    return showing->printer ? 0 : error_set(error, -ENOMEM, "out of memory");
}

int trace_show(const char *path, enum trace_format format)
{
    struct showing showing = {.format = format};
    struct error error = {0};
    int rc = trace_reader_open(&showing.reader, path, &error);

    if (rc < 0)
        return command_cannot(&error);
    rc = begin_showing(&showing, &error);
    if (rc == 0)
        rc = show_trace(&showing, &error);
    sheet_free(&showing.csv);
    trace_printer_free(showing.printer);
    trace_stats_free(showing.stats);
    trace_reader_close(&showing.reader);
    return command_end(rc, &error);
}
