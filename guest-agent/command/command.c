// SPDX-License-Identifier: LGPL-2.1-or-later
#include "command/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static int exit_code(int rc, struct error *error)
{
    if (rc >= 0)
        return rc;
    if (rc == -EINTR)
        return EXIT_INTERRUPTED;
    if (rc == -EINVAL && !error->code)
        return EXIT_USAGE;
    if (!error->code)
        error_set(error, rc, "%s", strerror(-rc));
    return command_cannot(error);
}

int command_on_root(void *options, char **operands, command_body *body)
{
    const char *path = getenv("VMWSS_GUEST_ROOT");
    struct error error = {0};
    struct fsroot root;
    int rc = fsroot_open(&root, path ? path : "/");

    if (rc < 0)
        return exit_code(error_set(&error, rc, "%s: %s", path ? path : "/", strerror(-rc)), &error);
    rc = body(&root, options, operands, &error);
    fsroot_close(&root);
    return exit_code(rc, &error);
}

int command_run(const struct command_options *options, void *base, int argc, char **argv,
                command_body *body)
{
    int rc = options_read(options, base, argc, argv);

    return rc != 0 ? options_exit(rc) : command_on_root(base, argv + optind, body);
}
