// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file web.h  Answers of vmwss-exporter --web to browsers, beside /metrics: the page of `vmwss
 * report --html` at /, and the current guests, a table that refreshes itself, at /status.
 *
 *   /             the report (web_report.h), made apart from the server and at most once a minute
 *                 (web_page.h); 503 and "Refresh" while there is none yet
 *   /status       a page without any data, with /status.css and /status.js
 *   /status.json  the data of that page (status_json.h), read at most every two seconds
 *
 * Answers contain no part of a request, and no request names a file: the path is one of these, or
 * the answer is 404. Every answer has a policy that allows the browser to run only our script, and
 * to send nothing elsewhere.
 */
#pragma once

#include "programs/exporter/web_page.h"

#include <microhttpd.h>
#include <stdbool.h>

#define WEB_STATUS_FRESH_MS 2000

struct web_options {
    const char *database;
    web_page_make make; /* web_report_run(), and */
    void *context;      /* its argument */
};

struct web; /* opaque */

/** Starts the thread that makes the page. @p options must outlive it. Returns 0, or a negative
 * errno with the message. */
int web_start(struct web **web, const struct web_options *options, struct error *error);

/** Call it when the server has been stopped. Accepts NULL. */
void web_stop(struct web *web);

/** Returns true if it is one of the paths above. */
bool web_has(const char *path);

/** Answers GET or HEAD of such a path. From one thread at a time. *size: size of an answer that may
 * be large, otherwise 0. MHD_NO: out of memory. */
enum MHD_Result web_answer(struct web *web, struct MHD_Connection *connection, const char *path,
                           size_t *size);
