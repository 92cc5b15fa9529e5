// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file made_method.h  What made-up methods have in common: their state is the page set. */
#pragma once

#include "measure/method.h"

static inline int made_open(const struct target *target, struct page_set *set, void **state,
                            struct error *error)
{
    (void)target;
    (void)error;
    *state = set;
    return 0;
}

static inline void made_close(void *state)
{
    (void)state;
}

/** A clock that shows @p time_ns, an uint64_t. */
static inline uint64_t made_clock(void *time_ns)
{
    return *(uint64_t *)time_ns;
}
