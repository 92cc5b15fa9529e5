// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kernel_version.h  A kernel's version, from the text of /proc/sys/kernel/osrelease. */
#pragma once

#include "base/fsroot.h"

#include <stdio.h>

#define KERNEL(major, minor) ((major)*1000U + (minor))

/** The version in the form of KERNEL(), for comparisons; 0: the text does not begin with a
 * version. */
static inline unsigned kernel_version(const char *release)
{
    unsigned major;
    unsigned minor;

    return sscanf(release, "%u.%u", &major, &minor) == 2 ? KERNEL(major, minor) : 0;
}

/** The version of the host, or of a captured tree; 0: it cannot be read. */
static inline unsigned kernel_version_of(const struct fsroot *root)
{
    char release[128];

    return fsroot_read(root, release, sizeof(release), "proc/sys/kernel/osrelease") > 0
               ? kernel_version(release)
               : 0;
}
