// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file idle_collect.h  Method `idle`, collecting: what the idle bits and the frames of a batch
 * say about its pages. */
#pragma once

#include "measure/method/idle_state.h"

/** Reads the pages of the present batch, and gives them their states. 0 or a negative errno. */
int idle_collect_batch(struct idle *idle);
