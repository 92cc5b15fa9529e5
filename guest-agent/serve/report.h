// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report.h  The messages of the agent: the "hello" and the "report" of wire.h. */
#pragma once

#include "base/fsroot.h"
#include "proc/stall.h"
#include "serve/own_set.h"

#include <jansson.h>

/** Makes the "hello": versions, and which boot this is. NULL if out of memory. */
json_t *report_hello(const struct fsroot *root);

/** How the guest is now; what its kernel does not say is left out. @p own_set may be NULL. NULL
 * when out of memory. */
json_t *report_now(const struct fsroot *root, const struct own_set *own_set);

/** Makes the message that this trigger fired just now. NULL if out of memory. */
json_t *report_stall(const struct fsroot *root, const struct stall_trigger *trigger);
