// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report.h  Makes the messages of the agent: "hello" and "report" of wire.h. */
#pragma once

#include "base/fsroot.h"
#include "proc/stall.h"
#include "serve/own_set.h"

#include <jansson.h>

/** Makes the "hello", with versions and the boot ID. NULL if out of memory. */
json_t *report_hello(const struct fsroot *root);

/** Makes a report of the guest's present state, without figures that its kernel lacks. @p own_set
 * may be NULL. NULL if out of memory. */
json_t *report_now(const struct fsroot *root, const struct own_set *own_set);

/** Makes the message that this trigger fired just now. NULL if out of memory. */
json_t *report_stall(const struct fsroot *root, const struct stall_trigger *trigger);
