// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file web_report.h  The page of `vmwss report --html` for --web, made by a separate process.
 *
 * A report of many guests takes seconds and many times the memory of a scrape. So the server runs
 * this same program with --page-to-stdout, and reads its output: if the report lacks memory, hangs
 * in a file system or crashes on a damaged history, only that process ends, and neither the server
 * nor a scrape. It reads through a connection of its own, whose locks are not the server's: if one
 * process did both, closing a file of the history would drop the locks of all its threads
 * (fcntl_locking(2)).
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define WEB_REPORT_SINCE_S 86400
#define WEB_REPORT_DEADLINE_S 60
#define WEB_REPORT_CPU_S 60
#define WEB_REPORT_MAX_BYTES ((size_t)24 << 20)
#define WEB_REPORT_DATA_BYTES ((size_t)160 << 20)

struct web_report {
    const char *database;
    double since_s; /* how far back it reaches */
    /* window of its working sets; if it is not kept, the next longer one */
    double window_s;
    uint64_t capacity_bytes; /* memory of this host for guests, as in struct prometheus_options */
};

/** For a process that does nothing else: limits its time and its memory, gives it a low priority,
 * and makes it the first that the kernel kills when memory is short. It ends with its parent. */
void web_report_bound_process(void);

/** Reads the history and makes the page of the host with the newest record. The caller frees *text,
 * which has *size bytes. Returns 0, or as history_open() and report_make(), with the message. */
int web_report_text(const struct web_report *options, char **text, size_t *size,
                    struct error *error);

/** Lets this program make the page, as a web_page_make. @p argv: the server's command line, up to a
 * NULL. */
int web_report_run(void *argv, int ends_fd, char **text, size_t *size, struct error *error);
