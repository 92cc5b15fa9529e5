// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_bucket.h  A token bucket: it begins with some tokens, gets more every second, and
 * has a maximum. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct agent_bucket {
    double left, holds, a_second;
};

static inline void agent_bucket_put(struct agent_bucket *bucket, double tokens)
{
    bucket->left += tokens;
    if (bucket->left > bucket->holds)
        bucket->left = bucket->holds;
}

static inline void agent_bucket_refill(struct agent_bucket *bucket, uint64_t elapsed_ns)
{
    agent_bucket_put(bucket, bucket->a_second * (double)elapsed_ns / 1e9);
}

/** Takes the tokens in any case; returns false if there were not enough. */
static inline bool agent_bucket_take(struct agent_bucket *bucket, double tokens)
{
    bucket->left -= tokens;
    return bucket->left >= 0;
}
