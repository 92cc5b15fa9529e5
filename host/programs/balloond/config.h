// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file config.h  What vmwss-balloond is configured with: an INI file (inih) with the section
 * [vmwss-balloond], and one [guest NAME] or [guest UUID] for each guest that is not like the
 * others.
 */
#pragma once

#include "base/error.h"
#include "decide/advice/from_history.h"
#include "decide/control/control.h"

#include <stdio.h>

#define BALLOOND_CONFIG_PATH "/etc/vmwss/vmwss-balloond.conf"
#define BALLOOND_USER "vmwss-balloond" /* the package makes it */
#define BALLOOND_MAX_GUESTS 256        /* with a section of their own */

struct balloond_guest_config {
    char name[256]; /* or its UUID */
    uint64_t reserved_bytes;
    double shares; /* 0: as many as it has MiB assigned */
    bool excluded;
};

struct balloond_config {
    char user[64]; /* that it runs as, started by root */
    char connect[512];
    char database[512]; /* vmwssd's history */
    char journal[512];
    bool act; /* false: a dry run */
    enum control_restore restore;
    double interval_s; /* from one decision to the next */
    struct decide_windows windows;
    struct control_policy policy; /* its mode and times, and whether it reclaims, are configured */
    bool virtio_mem;              /* false: what is requested of it is left alone */
    bool reclaim_any_swap;        /* false: into compressed memory (zram) only */
    size_t n_guests;
    struct balloond_guest_config guests[BALLOOND_MAX_GUESTS];
};

/** The defaults: a dry run, lazy. */
void balloond_config_init(struct balloond_config *config);

/** Reads the file over the defaults. 0; -EINVAL with "FILE:LINE: ..."; -ENOENT ... when it cannot
 * be opened. */
int balloond_config_load(struct balloond_config *config, const char *path, struct error *error);

/** Prints it as a file that balloond_config_load() reads. */
void balloond_config_dump(const struct balloond_config *config, FILE *out);

/** Is the section of the guest of that name and UUID? A UUID is the same in capital letters. */
bool balloond_config_is_of(const struct balloond_guest_config *section, const char *name,
                           const char *uuid);

/** Has it a section by its name and another one by its UUID? */
bool balloond_config_is_ambiguous(const struct balloond_config *config, const char *name,
                                  const char *uuid);

/** What is configured of a guest; NULL: nothing. */
const struct balloond_guest_config *balloond_config_guest(const struct balloond_config *config,
                                                          const char *name, const char *uuid);
