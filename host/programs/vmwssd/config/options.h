// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file options.h  vmwssd's command line: the keys of its configuration, and some options of its
 * own. */
#pragma once

#include "programs/vmwssd/config/config.h"

struct options {
    struct config config; /* must be first; from the command line alone */
    const char *path;     /* --config; NULL: CONFIG_DEFAULT_PATH, if it exists */
    bool dump;            /* --dump-config */
    int argc;
    char **argv; /* borrowed */
};

/** Returns 0; 1 after printing help or the version; -EINVAL after printing the error. */
int options_parse(struct options *options, int argc, char **argv);

/** Merges the defaults, the file, and the command line, each overriding the one before. Called
 * again at a reload. Returns 0 or negative with the message. */
int options_config(const struct options *options, struct config *config, struct error *error);
