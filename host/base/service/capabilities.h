// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file capabilities.h  Puts libcap-ng's state of this thread into effect, and verifies it. */
#pragma once

#include <cap-ng.h>

/** Returns the sets that can be changed; without CAP_SETPCAP the bounding set cannot. Call it
 * before the state is cleared. */
capng_select_t capabilities_may_change(void);

/** Calls capng_apply(), and checks the bounding set, because libcap-ng 0.8.3 returns 0 even if it
 * could not change that set. 0 or -EPERM. */
int capabilities_apply(capng_select_t what);
