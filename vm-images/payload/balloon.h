/* SPDX-License-Identifier: LGPL-2.1-or-later */
/** @file balloon.h  Gives pages back to the host, as a guest's balloon driver does. */
#ifndef VMWSS_BALLOON_H
#define VMWSS_BALLOON_H

#include "spin.h"

/**
 * Inflates the balloon by state->params.balloon_pages: the region's last pages that are never hot.
 * Needs QEMU's -device virtio-balloon-pci on the machine pc, whose device speaks the legacy
 * interface.
 * @return NULL, or what is wrong.
 */
const char *balloon_inflate(const struct state *state);

/** Begins to follow the size that the host asks for; the device as above. NULL, or what is
 * wrong. */
const char *balloon_follow_begin(void);

/** Has the host asked for another size? Gives or takes pages as above, as far as there are cold
 * ones. */
void balloon_follow(const struct state *state);

#endif
