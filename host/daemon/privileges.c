// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file privileges.c  See privileges.h. */
#include "daemon/privileges.h"

#include <cap-ng.h>
#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

int privileges_drop(struct error *error)
{
    if (geteuid() != 0) /* whoever started us has chosen */
        return 0;
    capng_clear(CAPNG_SELECT_BOTH);
    if (capng_updatev(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
                      CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_SYS_NICE, CAP_DAC_READ_SEARCH,
                      CAP_IPC_LOCK, -1) != 0 ||
        capng_apply(CAPNG_SELECT_BOTH) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return error_set(error, -EPERM, "capabilities could not be dropped");
    return 0;
}
