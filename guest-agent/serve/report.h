// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report.h  What the agent tells: the "hello" and the "report" of wire.h. */
#pragma once

#include "base/fsroot.h"
#include "proc/stall.h"
#include "serve/own_set.h"

#include <jansson.h>

/** Who answers. NULL when out of memory. */
json_t *report_hello(const struct fsroot *root);

/** How the guest is now; what its kernel does not say is left out. @p own_set may be NULL. NULL
 * when out of memory. */
json_t *report_now(const struct fsroot *root, const struct own_set *own_set);

/** That this trigger fired, just now. NULL when out of memory. */
json_t *report_stall(const struct fsroot *root, const struct stall_trigger *trigger);
