// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/service/reader_group.h"

#include "base/service/capabilities.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MAX_GROUPS 64

static void join_group(void)
{
    const struct group *group = geteuid() == 0 ? getgrnam(READER_GROUP) : NULL;
    gid_t groups[MAX_GROUPS + 1];
    int n = group ? getgroups(MAX_GROUPS, groups) : -1;

    if (n < 0)
        return;
    groups[n] = group->gr_gid;
    if (setgroups((size_t)n + 1, groups) < 0)
        return; /* without CAP_SETGID */
}

int reader_become(bool keep, struct error *error)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return error_set(error, -errno, "no_new_privs: %s", strerror(errno));
    /* another user has no capabilities to drop, or a service manager dropped them */
    if (keep ||
        (capng_get_caps_process() == 0 && capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_NONE))
        return 0;
    join_group();

    const capng_select_t what = capabilities_may_change();

    capng_clear(CAPNG_SELECT_BOTH);
    if (capabilities_apply(what) < 0)
        return error_set(error, -EPERM, "capabilities could not be dropped");
    return 0;
}
