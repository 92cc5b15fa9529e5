// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file trace_show.h  The output of vmwss trace --show. */
#pragma once

#include <stdbool.h>

enum trace_format { TRACE_TABLES, TRACE_JSON, TRACE_CSV };

/** Prints the trace in the file @p path. Returns the exit code. */
int trace_show(const char *path, enum trace_format format);
