// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file config.h  vmwss-balloond's configuration: an INI file (inih) with the section
 * [vmwss-balloond], one section [guest NAME] or [guest UUID] for each guest with its own settings,
 * and [guest *] for all other guests, whose settings the sections of guests begin with.
 */
#pragma once

#include "base/error.h"
#include "decide/advice/from_history.h"
#include "decide/control/control.h"

#include <stdio.h>

#define BALLOOND_CONFIG_PATH "/etc/vmwss/vmwss-balloond.conf"
#define BALLOOND_USER "vmwss-balloond" /* the package creates this user */
#define BALLOOND_MAX_GUESTS 256        /* maximum number of guests with a section */

/** Whether a guest's balloon is set. */
enum balloond_act { ACT_DEFAULT /* as in [vmwss-balloond] */, ACT_NO, ACT_YES };

struct balloond_guest_config {
    char name[256];          /* the guest's name or UUID */
    uint64_t reserved_bytes; /* the larger of both counts */
    double reserved_share;   /* of M */
    enum balloond_act act;
    uint64_t shares;       /* 0: as many as its assigned MiB */
    uint64_t statistics_s; /* its balloon driver is asked that often; 0: as it is, by others */
    bool excluded;
    bool has_limit; /* a limit of its own: limit_bytes, as in balloond_config */
    uint64_t limit_bytes;
};

struct balloond_config {
    char user[64]; /* the user that it becomes when root starts it */
    char connect[512];
    char database[512]; /* path of vmwssd's history */
    char journal[512];
    bool act; /* false: a dry run */
    enum control_restore restore;
    double interval_s;    /* time between two decisions */
    uint64_t limit_bytes; /* most that any guest may have; 0: what it had at the start */
    struct decide_windows windows;
    struct control_policy policy; /* mode, times and reclaim are configurable */
    /* actuators with a device that may be changed: virtio-mem */
    bool uses[N_ACTUATORS];
    bool qemu_statistics;                /* ask QEMU's monitor for the balloon driver's counters */
    bool reclaim_any_swap;               /* false: reclaim only into compressed memory (zram) */
    struct balloond_guest_config others; /* [guest *] */
    size_t n_guests;
    struct balloond_guest_config guests[BALLOOND_MAX_GUESTS];
};

/** Sets the defaults: a dry run, lazy. */
void balloond_config_init(struct balloond_config *config);

/** Reads the file over the defaults. Returns 0; -EINVAL with "FILE:LINE: ..."; -ENOENT and others
 * if it cannot be opened. */
int balloond_config_load(struct balloond_config *config, const char *path, struct error *error);

/** Prints the configuration as a file that balloond_config_load() reads. */
void balloond_config_dump(const struct balloond_config *config, FILE *out);

/** Returns true if the section belongs to the guest with that name and UUID. A UUID may have
 * capital letters. */
bool balloond_config_is_of(const struct balloond_guest_config *section, const char *name,
                           const char *uuid);

/** Returns true if the guest has one section by its name and another by its UUID. */
bool balloond_config_is_ambiguous(const struct balloond_config *config, const char *name,
                                  const char *uuid);

/** Returns the guest's section, or that of all others. */
const struct balloond_guest_config *balloond_config_guest(const struct balloond_config *config,
                                                          const char *name, const char *uuid);

/** Returns true if that guest's balloon is set, and not only in a dry run. */
bool balloond_config_acts(const struct balloond_config *config,
                          const struct balloond_guest_config *guest);

/** Returns true if the balloon of any guest may be set. */
bool balloond_config_acts_at_all(const struct balloond_config *config);

/** Returns what the guest's size never falls below, of @p assigned_bytes. */
uint64_t balloond_config_reservation(const struct balloond_guest_config *guest,
                                     uint64_t assigned_bytes);
