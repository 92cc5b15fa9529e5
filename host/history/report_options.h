// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report_options.h  The options of a report (report.h). */
#pragma once

#include <stdint.h>

struct report_options {
    double from_s, to_s; /* Unix time */
    double window_s;
    const char *host; /* NULL: the only host in the file */
    /* allowed probability that memory does not suffice at a given moment: 0 .. 1 */
    double risk;
    /* memory for guests; 0: not known, and then the number of guests that fit is not known
     * either */
    uint64_t capacity_bytes;
    uint64_t guest_bytes; /* RAM of an additional guest; 0: not requested */
    /* Called with the progress, 0 .. 1, once for each minute or hour; NULL: not called. */
    void (*progress)(double done, void *context);
    void *context;
};
