// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file http.h  Answers GET and HEAD of /metrics, and of / with a page that links there, or of
 * what web.h has; in a thread of its own.
 *
 * The history is opened for each request and closed after it: it may come, go or be replaced
 * meanwhile. When it cannot be read the answer is 503 and the reason. A connection serves one
 * request. One request is served at a time, connections are few and do not last; all there is to
 * gain from this process is reading what the history has.
 */
#pragma once

#include "programs/exporter/web.h"
#include "show/metrics/prometheus.h"

struct http; /* opaque */

/** Serves on the listening socket @p fd, and closes it at the end without shutting it down: other
 * holders, such as systemd, go on listening. @p metrics and @p web must outlive it; @p web is NULL
 * where pages are not asked for. 0, or a negative errno. */
int http_start(struct http **http, int fd, const struct prometheus_options *metrics,
               struct web *web, struct error *error);

/** Ends connections whose time is over (connections.h): to be called every second or so, from any
 * thread. */
void http_expire(struct http *http);

/** NULL is allowed. */
void http_stop(struct http *http);
