// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file http.h  Answers GET and HEAD of /metrics, and of / with a page that links there, or of the
 * paths of web.h; in a separate thread.
 *
 * The history is opened for each request and closed after it: it may appear, disappear or be
 * replaced meanwhile. If it cannot be read, the answer is 503 with the reason. A connection serves
 * one request. A request whose Host is not a name of this host is refused (request_host.h). One
 * request is served at a time; connections are few and short. An attacker who takes over this
 * process can only read the history.
 */
#pragma once

#include "programs/exporter/request_host.h"
#include "programs/exporter/web.h"
#include "show/metrics/prometheus.h"

struct http; /* opaque */

/** The served objects, all of which must outlive the server. */
struct http_options {
    const struct prometheus_options *metrics;
    struct web *web;                   /* NULL: no pages are wanted */
    const struct request_names *names; /* a request under another name gets 421 */
};

/** Serves on the listening socket @p fd, and closes it at the end without shutting it down: other
 * holders, such as systemd, go on listening. Returns 0, or a negative errno. */
int http_start(struct http **http, int fd, const struct http_options *options, struct error *error);

/** Ends connections whose deadline has passed (connections.h); call it every second or so, from any
 * thread. */
void http_expire(struct http *http);

/** Accepts NULL. */
void http_stop(struct http *http);
