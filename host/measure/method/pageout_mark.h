// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pageout_mark.h  Method `pageout`, marking: unmaps pages, and tells which of them can be
 * seen. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "measure/page_merge.h"

/** 0 if no swap is active: the advice would really swap guest pages out. Else a negative errno. */
int pageout_check_swap(const struct fsroot *root, struct error *why);

/** As mark, rearm and many.rearm of method.h. */
int pageout_mark(void *state, struct error *error);
int pageout_rearm(void *state, struct error *error);
int pageout_rearm_many(void *const *states, size_t n, const struct page_merge *merge,
                       struct error *error);
