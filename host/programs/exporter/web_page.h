// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file web_page.h  A page that takes long to make: made rarely, and given to all clients.
 *
 * Theory of operation. A thread makes the page when a client asks and the last page is older than
 * WEB_PAGE_FRESH_S; clients do not wait for it. Meanwhile they get the last page, up to an age of
 * WEB_PAGE_OLD_S, and beyond that none. The newest outcome counts: if the page cannot be made any
 * more, clients get the reason rather than the old page, for WEB_PAGE_RETRY_S from the failure;
 * then it is tried again. There are never more than two pages in memory besides those being sent.
 */
#pragma once

#include "base/error.h"
#include "programs/exporter/body.h"

#include <stdint.h>

#define WEB_PAGE_FRESH_S 60
#define WEB_PAGE_OLD_S 600
#define WEB_PAGE_RETRY_S 10

/** Makes the page, in a separate thread. *text, of *size bytes and a NUL, is allocated. Gives up
 * with -ECANCELED once @p ends_fd is readable. Returns 0, or a negative errno with the message. */
typedef int (*web_page_make)(void *context, int ends_fd, char **text, size_t *size,
                             struct error *error);

struct web_page; /* opaque */

/** @param clock clock_ns(), or a test's clock; from any thread. Returns 0, or a negative errno with
 *              the message. */
int web_page_start(struct web_page **page, web_page_make make, void *context,
                   uint64_t (*clock)(void), struct error *error);

/** Stops making pages. Accepts NULL. */
void web_page_stop(struct web_page *page);

/** Asks for the page, at @p now_ns of its clock, without waiting. From one thread at a time.
 * @return 0: *body is held for the caller; -EAGAIN: there is no page yet, it is being made; or why
 *         it cannot be made, with the message */
int web_page_ask(struct web_page *page, uint64_t now_ns, struct body **body, struct error *error);
