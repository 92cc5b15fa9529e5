// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file main_loop.h  The main thread of a daemon: sd-event(3). SIGTERM and SIGINT end it, and so
 * does SIGHUP (a closed terminal) if the daemon has no handler for it.
 *
 * Sources of events are added with sd-event's own functions. A source without a handler ends the
 * loop.
 */
#pragma once

#include "base/error.h"

#include <systemd/sd-event.h>

/** Blocks SIGTERM, SIGINT and SIGHUP permanently, so call it before the first thread is started;
 * ignores SIGPIPE. The loop is never freed. 0, or negative with the message. */
int main_loop_open(sd_event **loop, struct error *error);

/** Calls @p handler once as soon as the loop runs. To be called again, the handler returns
 * main_loop_again(). */
int main_loop_add(sd_event *loop, sd_event_time_handler_t handler, void *context,
                  struct error *error);

/** Called at the end of a handler: calls the handler again after @p seconds from now. */
int main_loop_again(sd_event_source *timer, double seconds);

/** Sends READY=1 to the service manager, runs until the loop ends, and sends STOPPING=1. 0, or
 * negative with the message. */
int main_loop_run(sd_event *loop, struct error *error);
