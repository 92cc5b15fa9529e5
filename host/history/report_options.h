// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report_options.h  What a report is asked for (report.h). */
#pragma once

#include <stdint.h>

struct report_options {
    double from_s, to_s; /* Unix time */
    double window_s;
    const char *host;        /* NULL: the only one in the file */
    double risk;             /* that memory does not suffice at a given moment: 0 .. 1 */
    uint64_t capacity_bytes; /* memory for guests; 0: not known, and what fits is not either */
    uint64_t guest_bytes;    /* RAM of a further guest; 0: not asked */
    /* Called with what is done, 0 .. 1, once for each minute or hour; NULL: not. */
    void (*progress)(double done, void *context);
    void *context;
};
