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
/** Used in place of a URI: every QEMU process that no libvirt connection knows. */
#define CONFIG_PROCESSES "processes"

struct config {
    size_t n_connections;
    char connect[CONFIG_MAX_CONNECTIONS][512];
    bool connect_fresh; /* the next connect replaces those of an earlier configuration source */
    char user[64];      /* user of the half without privileges */
    char database[512]; /* empty: there is no history */
    double period_s;    /* time between two scans of a guest, if the budget allows it */
    /* longest period, for a guest whose working set does not change; see config_max_period_s() */
    double max_period_s;
    size_t n_windows; /* ascending */
    double window_s[RUN_MAX_WINDOWS];
    uint64_t samples;            /* pages in a guest's panel, if the budget allows it */
    double budget;               /* share of one core, for the whole host: 0.01 is 1 % */
    double guest_budget;         /* the same for each guest */
    const struct method *method; /* NULL: the first one whose probe succeeds */
    bool publish;                /* publish in libvirt's metadata */
    bool agents;                 /* ask guests for their own statistics */
    double writes_s;             /* time between two measurements of a guest's writes; 0: none */
    int log_level;               /* as in syslog.h */
    struct store_retention retention;
};

/** Sets the defaults. */
void config_init(struct config *config);

/** Begins another configuration source: its first connect replaces the earlier ones. */
void config_next_source(struct config *config);

/** The keys, in the order of a file; offsets are those of struct config. */
extern const struct option_line config_keys[];

/** Reads the file. Returns 0; -EINVAL with "FILE:LINE: ..."; -ENOENT and others if it cannot be
 * opened. */
int config_load(struct config *config, const char *path, struct error *error);

/** Values of max_period_s: the longest period is the shortest window, and there is only one period.
 */
#define CONFIG_MAX_PERIOD_AUTO 0.0
#define CONFIG_MAX_PERIOD_NONE (-1.0)

/** The windows of a measurement take ten seconds. */
#define CONFIG_WRITES_LEAST_S 20.0

/** Returns the longest period that a guest may reach by not changing: at least period_s, at most
 * the shortest window, which could not be answered with a longer one. */
double config_max_period_s(const struct config *config);

/** Returns true if any guest's agent is to be asked. Only libvirt knows the channels to them. */
bool config_asks_agents(const struct config *config);

/** Checks that the values are compatible. Returns 0 or -EINVAL. */
int config_check(const struct config *config, struct error *error);

/** Prints the configuration as a file that config_load() reads. */
void config_dump(const struct config *config, FILE *out);
