// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_actuators.c  A target split between virtio-mem and a balloon. */
#include "decide/control/actuators.h"

#include "fixture.h"

#define MIB (UINT64_C(1) << 20)

static struct actuator both[2];
static uint64_t set[2];

/* 512 MiB by virtio-mem, in blocks of 2 MiB, and 256 MiB of which a balloon can take. */
static void setup(void)
{
    both[0] = (struct actuator){0, 512 * MIB, 2 * MIB, 512 * MIB};
    both[1] = (struct actuator){0, 256 * MIB, 0, 256 * MIB};
}

static void splits(uint64_t target, uint64_t plug, uint64_t balloon)
{
    ck_assert_uint_eq(actuators_split(both, 2, target * MIB, set), (plug + balloon) * MIB);
    ck_assert_uint_eq(set[0], plug * MIB);
    ck_assert_uint_eq(set[1], balloon * MIB);
}

FIXTURE(all, .setup = setup);

TEST(all, virtio_mem_gives_first)
{
    splits(768, 512, 256);
    splits(700, 444, 256);
    splits(256, 0, 256);
    splits(200, 0, 200);
}

TEST(all, the_balloon_gives_what_is_less_than_a_block)
{
    splits(701, 446, 255);
    splits(767, 512, 255);
}

TEST(all, without_a_balloon_a_block_that_does_not_fit_stays)
{
    both[1].least_bytes = 256 * MIB;
    splits(701, 446, 256);
    splits(767, 512, 256);
    splits(100, 0, 256);
}

TEST(all, it_gets_back_the_split_that_it_had)
{
    both[1].current_bytes = 240 * MIB; /* as its owner had it */
    splits(100, 0, 100);
    both[0].current_bytes = set[0];
    both[1].current_bytes = set[1];
    splits(752, 512, 240);
}

TEST(all, growth_is_rounded_up_to_a_block)
{
    both[0].current_bytes = 100 * MIB;
    splits(359, 104, 256);
    both[0].most_bytes = 103 * MIB; /* half a block is none */
    splits(400, 102, 256);
}

TEST(all, what_cannot_shrink_is_left)
{
    both[0].least_bytes = both[0].current_bytes;
    splits(700, 512, 188);
}
