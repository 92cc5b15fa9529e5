// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file command.c  See command.h. */
#include "command/command.h"

#include <stdlib.h>
#include <string.h>

int command_root(struct fsroot *root)
{
    const char *path = getenv("VMWSS_GUEST_ROOT");
    int rc = fsroot_open(root, path ? path : "/");

    if (rc == 0)
        return EXIT_DONE;
    command_error("%s: %s", path ? path : "/", strerror(-rc));
    return EXIT_CANNOT;
}
