// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kernel_version.h  A kernel's version, by the text of /proc/sys/kernel/osrelease. */
#pragma once

#include "base/fsroot.h"

#include <stdio.h>

#define KERNEL(major, minor) ((major)*1000U + (minor))

/** As KERNEL(), to be compared; 0: the text begins with no version. */
static inline unsigned kernel_version(const char *release)
{
    unsigned major;
    unsigned minor;

    return sscanf(release, "%u.%u", &major, &minor) == 2 ? KERNEL(major, minor) : 0;
}

/** That of the host, or of a captured tree; 0: it cannot be read. */
static inline unsigned kernel_version_of(const struct fsroot *root)
{
    char release[128];

    return fsroot_read(root, release, sizeof(release), "proc/sys/kernel/osrelease") > 0
               ? kernel_version(release)
               : 0;
}
