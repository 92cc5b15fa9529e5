// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file options.h  vmwssd's command line: the keys of its configuration, and a few words of its
 * own. */
#pragma once

#include "programs/vmwssd/config/config.h"

struct options {
    struct config config; /* first; of the command line alone */
    const char *path;     /* --config; NULL: CONFIG_DEFAULT_PATH, if there is one */
    bool dump;            /* --dump-config */
    int argc;
    char **argv; /* borrowed */
};

/** 0; 1 after printing help or the version; -EINVAL after printing what is wrong. */
int options_parse(struct options *options, int argc, char **argv);

/** The defaults, the file over them, the command line over that. Again at a reload. 0 or negative
 * with the message. */
int options_config(const struct options *options, struct config *config, struct error *error);
