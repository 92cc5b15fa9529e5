// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file swaps.h  Has the host any swap? */
#pragma once

#include "base/fsroot.h"

/** 1: some is active (/proc/swaps); 0: none is, or the kernel has no swap; or a negative errno. */
int swap_is_active(const struct fsroot *root);
