// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file command.c  See command.h. */
#include "command/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

int command_options_alone(const struct command_options *options, void *base, int argc, char **argv)
{
    int rc = options_read(options, base, argc, argv);
    const char *name = strrchr(argv[0], ' '); /* "vmwss-guest memory" */

    if (rc != 0 || optind == argc)
        return rc;
    command_error("%s takes no argument: '%s'", name ? name + 1 : argv[0], argv[optind]);
    return -EINVAL;
}

int command_root(struct fsroot *root)
{
    const char *path = getenv("VMWSS_GUEST_ROOT");
    int rc = fsroot_open(root, path ? path : "/");

    if (rc == 0)
        return EXIT_DONE;
    command_error("%s: %s", path ? path : "/", strerror(-rc));
    return EXIT_CANNOT;
}
