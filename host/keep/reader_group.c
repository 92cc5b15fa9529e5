// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file reader_group.c  See reader_group.h. */
#include "keep/reader_group.h"

#include <grp.h>
#include <unistd.h>

#define MAX_GROUPS 64

void reader_group_join(void)
{
    const struct group *group = geteuid() == 0 ? getgrnam(READER_GROUP) : NULL;
    gid_t groups[MAX_GROUPS + 1];
    int n = group ? getgroups(MAX_GROUPS, groups) : -1;

    if (n < 0)
        return;
    groups[n] = group->gr_gid;
    if (setgroups((size_t)n + 1, groups) < 0)
        return; /* the unit of who has no CAP_SETGID gives the group */
}
