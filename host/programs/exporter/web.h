// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file web.h  What vmwss-exporter --web answers beside /metrics, to browsers: the page of
 * `vmwss report --html` at /, and the guests now, a table that renews itself, at /status.
 *
 *   /             the report (web_report.h), made apart from the server and at most once a minute
 *                 (web_page.h); 503 and "Refresh" while there is none yet
 *   /status       a page without any data, with /status.css and /status.js
 *   /status.json  the data of that page (status_json.h), read at most every two seconds
 *
 * No part of a request is in an answer, and none names a file: a path is one of these, or 404.
 * Every answer has a policy by which a browser runs no script but ours and sends nothing elsewhere.
 * A request whose Host is not ours is refused with 421 (request_host.h).
 */
#pragma once

#include "programs/exporter/web_page.h"

#include <microhttpd.h>
#include <stdbool.h>

#define WEB_STATUS_FRESH_MS 2000
#define WEB_NAMES_MAX 8

struct web_options {
    const char *database;
    const char *names[WEB_NAMES_MAX]; /* of this host, beside its own; as clients may call it */
    size_t n_names;
    web_page_make make; /* web_report_run(), and */
    void *context;      /* what it is called with */
};

struct web; /* opaque */

/** Starts the thread that makes the page. @p options must outlive it. 0, or a negative errno with
 * the message. */
int web_start(struct web **web, const struct web_options *options, struct error *error);

/** When the server has been stopped. NULL is allowed. */
void web_stop(struct web *web);

/** Is it one of the paths above? */
bool web_has(const char *path);

/** Answers GET or HEAD of such a path. From one thread at a time. *size: of an answer that may be
 * large, else 0. MHD_NO: out of memory. */
enum MHD_Result web_answer(struct web *web, struct MHD_Connection *connection, const char *path,
                           size_t *size);
