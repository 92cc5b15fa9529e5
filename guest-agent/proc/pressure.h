// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file pressure.h  Pressure stall information (PSI): the share of time in which tasks waited for a
 * resource.
 *
 * Documentation/accounting/psi.rst of the kernel: "some" is time in which at least one task waited,
 * "full" time in which all that could have run did. Linux 4.20 and newer; many distributions have
 * it off until the guest boots with psi=1.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <jansson.h>
#include <stdint.h>

struct stalled {
    double avg10, avg60, avg300; /* percent of the last 10, 60, 300 seconds; NAN: not reported */
    uint64_t total_us;           /* since boot; KEYED_UNKNOWN: not reported */
};

struct pressure {
    struct stalled some, full; /* no full for the CPU before Linux 5.13 */
};

/** "memory", "io", "cpu", NULL */
extern const char *const pressure_resources[];

/** Parses the text of a pressure file; -ENODATA when there is no "some" line. */
int pressure_parse(const char *text, struct pressure *pressure);

#define PRESSURE_PATH 4200

/** Where a resource's pressure stands, below the root: the whole guest's, or, unless @p cgroup is
 * NULL, that of a cgroup v2 (whose path is relative to the root, too). Returns @p path. */
char *pressure_path(char path[PRESSURE_PATH], const char *cgroup, const char *resource);

/** 0, or a negative errno with a message that says how to turn PSI on. */
int pressure_read(const struct fsroot *root, const char *cgroup, const char *resource,
                  struct pressure *pressure, struct error *error);

/** The message for an @p rc of opening or reading @p path, of @p cgroup as above, with what to do;
 * returns @p rc. */
int pressure_why_not(const struct fsroot *root, const char *cgroup, int rc, const char *path,
                     struct error *error);

/** {"some":{"avg10":..,"avg60":..,"avg300":..,"total_us":..},"full":{..}}; NULL when out of
 * memory. */
json_t *pressure_json(const struct pressure *pressure);
