// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file detail.h  One guest on the whole screen: its windows, the ages of its pages, its last
 * hour. */
#pragma once

#include "show/screen/rows.h"

/** @param store  source of its history; NULL: temporarily not available */
void detail_draw(struct store *store, const struct kept_sample *kept, double now_s);
