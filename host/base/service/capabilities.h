// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file capabilities.h  Puts libcap-ng's state of this thread into effect, and says if it did. */
#pragma once

#include <cap-ng.h>

/** What can be changed: without CAP_SETPCAP not the bounding set, which is the unit's choice. To be
 * asked before the state is cleared. */
capng_select_t capabilities_may_change(void);

/** capng_apply(), and a look at the bounding set, for libcap-ng 0.8.3 returns 0 also where nothing
 * of that could be dropped. 0 or -EPERM. */
int capabilities_apply(capng_select_t what);
