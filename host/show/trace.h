// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file trace.h  Prints a trace (history/trace/trace.h): tables for people, JSON, and CSV. */
#pragma once

#include "history/trace/trace_reader.h"
#include "history/trace/trace_stats.h"
#include "show/sheet.h"

/** Takes the parts of a trace in the order in which they are read. */
struct trace_printer; /* opaque */

/** @p json: print one object, schema vmwss.trace.v1; otherwise tables. Returns NULL if out of
 * memory. */
struct trace_printer *trace_printer_new(const struct trace_reader *reader,
                                        struct trace_stats *stats, bool json);

/** Adds reader->period with its @p change. */
void trace_printer_period(struct trace_printer *printer, const struct trace_change *change);

/** Prints everything. @p cut: the trace has no proper end. Returns 0 or -ENOMEM */
int trace_printer_end(struct trace_printer *printer, bool cut);
void trace_printer_free(struct trace_printer *printer);

/** Begins CSV: a line for each run of pages that were touched or unmeasurable in a period. */
void trace_csv_begin(struct sheet *sheet);

/** Prints the lines of a period. Returns 0 or -ENOMEM. */
int trace_csv_period(struct sheet *sheet, const struct trace_layout *layout,
                     const struct trace_period *period, uint64_t number);
