// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file web_page.h  A page that takes long to make, made seldom and given to all who ask for it.
 *
 * Theory of operation. A thread makes the page when somebody asks and the last one is older than
 * WEB_PAGE_FRESH_S; nobody waits for it. Meanwhile the last one is given, up to an age of
 * WEB_PAGE_OLD_S, and beyond that none. The newest outcome counts: a page that cannot be made any
 * more is not given from memory, but the reason, for WEB_PAGE_RETRY_S from when it failed; then it
 * is tried again. There are never more than two pages in memory besides those being sent.
 */
#pragma once

#include "base/error.h"
#include "programs/exporter/body.h"

#include <stdint.h>

#define WEB_PAGE_FRESH_S 60
#define WEB_PAGE_OLD_S 600
#define WEB_PAGE_RETRY_S 10

/** Makes it, in a thread of its own. *text, of *size bytes and a NUL, is allocated. Gives up with
 * -ECANCELED once @p ends_fd is readable. 0, or a negative errno with the message. */
typedef int (*web_page_make)(void *context, int ends_fd, char **text, size_t *size,
                             struct error *error);

struct web_page; /* opaque */

/** @param clock  clock_ns(), or a test's; from any thread. 0, or a negative errno with the message.
 */
int web_page_start(struct web_page **page, web_page_make make, void *context,
                   uint64_t (*clock)(void), struct error *error);

/** Ends the making. NULL is allowed. */
void web_page_stop(struct web_page *page);

/** Asks for it, at @p now_ns of its clock, without waiting. From one thread at a time.
 * @return 0: *body is held for the caller; -EAGAIN: there is none yet, it is being made; or why it
 *         cannot be made, with the message */
int web_page_ask(struct web_page *page, uint64_t now_ns, struct body **body, struct error *error);
