// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file web_report.h  The page of `vmwss report --html` for --web, made by a process of its own.
 *
 * A report of many guests takes seconds and many times the memory of a scrape. So the server runs
 * this very program with --page-to-stdout, which takes what it writes: what fails there for want of
 * memory, hangs in a file system or crashes on a damaged history ends that process, and neither the
 * server nor a scrape. It reads by a connection of its own, whose locks are not the server's: in
 * one process, closing a file of the history drops the locks of all its threads (fcntl_locking(2)).
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
    double since_s;          /* how far back */
    double window_s;         /* of its working sets; where it is not kept, the next longer one */
    uint64_t capacity_bytes; /* memory of this host for guests, as in struct prometheus_options */
};

/** For a process that does nothing else: bounds its time and its memory, lets others go first, and
 * is the first that the kernel ends for want of memory. It ends with its parent. */
void web_report_bound_process(void);

/** Reads the history and makes the page, of the host that has the newest record. *text is the
 * caller's to free, of *size bytes. 0, or as history_open() and report_make(), with the message. */
int web_report_text(const struct web_report *options, char **text, size_t *size,
                    struct error *error);

/** Has it made by this program, as a web_page_make. @p argv: how the server was called, up to a
 * NULL. */
int web_report_run(void *argv, int ends_fd, char **text, size_t *size, struct error *error);
