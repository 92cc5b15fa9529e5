// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file balloon_arm64.c  No balloon: virt has no legacy virtio over PCI. See balloon.h. */
#include "balloon.h"

static const char missing[] = "balloon= is missing on virt";

const char *balloon_inflate(const struct state *state)
{
    (void)state;
    return missing;
}

const char *balloon_follow_begin(void)
{
    return missing;
}

void balloon_follow(const struct state *state)
{
    (void)state;
}
