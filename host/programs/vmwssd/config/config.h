// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file config.h  vmwssd's configuration: its file, which its command line overrides.
 *
 * Every key of the file is a long option too. The file is INI (inih), with all keys in the section
 * [vmwssd].
 */
#pragma once

#include "base/option.h"
#include "base/service/account.h"
#include "history/store.h"
#include "measure/run.h"

#include <stdio.h>

#define CONFIG_DEFAULT_PATH "/etc/vmwss/vmwssd.conf"
#define CONFIG_MAX_CONNECTIONS 16
/** The word in place of a URI for every QEMU process that no libvirt connection knows. */
#define CONFIG_PROCESSES "processes"

struct config {
    size_t n_connections;
    char connect[CONFIG_MAX_CONNECTIONS][512];
    bool connect_fresh;  /* the next connect replaces those of an earlier source */
    char user[64];       /* what the half without privileges runs as */
    char database[512];  /* empty: no history is kept */
    double period_s;     /* between two scans of a guest, where the budget allows it */
    double max_period_s; /* the longest, at a guest whose working set does not change; see
                            config_max_period_s() */
    size_t n_windows;    /* ascending */
    double window_s[RUN_MAX_WINDOWS];
    uint64_t samples;            /* pages in a guest's panel, where the budget allows it */
    double budget;               /* of one core, for the whole host: 0.01 is 1 % */
    double guest_budget;         /* likewise, for each guest */
    const struct method *method; /* NULL: the first that proves itself */
    bool publish;                /* into libvirt's metadata */
    bool agents;                 /* ask guests what they say themselves */
    int log_level;               /* as in syslog.h */
    struct store_retention retention;
};

/** The defaults. */
void config_init(struct config *config);

/** From here on another source speaks: its first connect replaces the others. */
void config_next_source(struct config *config);

/** The keys, in the order of a file; offsets are those of struct config. */
extern const struct option_line config_keys[];

/** Reads the file. 0; -EINVAL with "FILE:LINE: ..."; -ENOENT ... when it cannot be opened. */
int config_load(struct config *config, const char *path, struct error *error);

/** max_period_s when the shortest window is the longest period, and when there is only one
 * period. */
#define CONFIG_MAX_PERIOD_AUTO 0.0
#define CONFIG_MAX_PERIOD_NONE (-1.0)

/** The longest period that a guest may come to by not changing: no shorter than period_s, no longer
 * than the shortest window, which could not be answered then. */
double config_max_period_s(const struct config *config);

/** Is any guest's agent to be asked? Only libvirt names the channels to them. */
bool config_asks_agents(const struct config *config);

/** Do the values go together? 0 or -EINVAL. */
int config_check(const struct config *config, struct error *error);

/** Prints it as a file that config_load() reads. */
void config_dump(const struct config *config, FILE *out);
