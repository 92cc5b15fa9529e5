// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file no_report.h  Empty reports, for targets that link the agent's requests and not its
 * answers. */
#pragma once

#include "base/fsroot.h"

#include <jansson.h>

struct own_set;

json_t *report_hello(const struct fsroot *root);
json_t *report_now(const struct fsroot *root, const struct own_set *own_set);

json_t *report_hello(const struct fsroot *root)
{
    (void)root;
    return json_object();
}

json_t *report_now(const struct fsroot *root, const struct own_set *own_set)
{
    (void)own_set;
    return report_hello(root);
}
