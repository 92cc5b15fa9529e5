// SPDX-License-Identifier: LGPL-2.1-or-later
#include "command/command.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

int command_on_root(void *options, char **operands, command_body *body)
{
    const char *path = getenv("VMWSS_GUEST_ROOT");
    struct error error = {0};
    struct fsroot root;
    int rc = fsroot_open(&root, path ? path : "/");

    if (rc < 0)
        return command_end(error_set(&error, rc, "%s: %s", path ? path : "/", strerror(-rc)),
                           &error);
    rc = body(&root, options, operands, &error);
    fsroot_close(&root);
    return command_end(rc, &error);
}

int command_run(const struct command_options *options, void *base, int argc, char **argv,
                command_body *body)
{
    int rc = options_read(options, base, argc, argv);

    return rc != 0 ? options_exit(rc) : command_on_root(base, argv + optind, body);
}
