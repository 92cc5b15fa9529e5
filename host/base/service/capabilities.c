// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/service/capabilities.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/prctl.h>

capng_select_t capabilities_may_change(void)
{
    return capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) ? CAPNG_SELECT_BOTH
                                                               : CAPNG_SELECT_CAPS;
}

/* The first capability for which the call fails is beyond the last that the kernel knows. */
static bool bounds_are_in_effect(void)
{
    int has;

    for (unsigned cap = 0; (has = prctl(PR_CAPBSET_READ, cap, 0, 0, 0)) >= 0; cap++)
        if (has && !capng_have_capability(CAPNG_BOUNDING_SET, cap))
            return false;
    return true;
}

int capabilities_apply(capng_select_t what)
{
    if (capng_apply(what) != 0)
        return -EPERM;
    return what == CAPNG_SELECT_CAPS || bounds_are_in_effect() ? 0 : -EPERM;
}
