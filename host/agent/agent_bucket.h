// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_bucket.h  A token bucket: so much at once, and an eighth of it per second in the long run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct agent_bucket {
    double capacity, left;
};

static inline struct agent_bucket agent_bucket_full(double capacity)
{
    return (struct agent_bucket){capacity, capacity};
}

static inline void agent_bucket_put(struct agent_bucket *bucket, double tokens)
{
    bucket->left += tokens;
    if (bucket->left > bucket->capacity)
        bucket->left = bucket->capacity;
}

static inline void agent_bucket_refill(struct agent_bucket *bucket, uint64_t elapsed_ns)
{
    agent_bucket_put(bucket, bucket->capacity / 8 * (double)elapsed_ns / 1e9);
}

/** Takes them in any case; false: there were not so many. */
static inline bool agent_bucket_take(struct agent_bucket *bucket, double tokens)
{
    bucket->left -= tokens;
    return bucket->left >= 0;
}
