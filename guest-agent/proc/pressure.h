// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file pressure.h  Pressure stall information (PSI): the share of time in which tasks waited for a
 * resource.
 *
 * Documentation/accounting/psi.rst of the kernel: "some" is the time in which at least one task
 * waited, "full" the time in which all non-idle tasks waited. Linux 4.20 and later; many
 * distributions turn it off unless the guest boots with psi=1.
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
    struct stalled some, full; /* the CPU has no "full" before Linux 5.13 */
};

/** "memory", "io", "cpu", NULL */
extern const char *const pressure_resources[];

/** Parses the text of a pressure file; -ENODATA if it has no "some" line. */
int pressure_parse(const char *text, struct pressure *pressure);

#define PRESSURE_PATH 4200

/** Returns the path of a resource's pressure, relative to the root: the whole guest's, or that of
 * cgroup @p cgroup of version 2 (also a path relative to the root). Returns @p path. */
char *pressure_path(char path[PRESSURE_PATH], const char *cgroup, const char *resource);

/** Reads the pressure. 0, or a negative errno; the message says how to turn PSI on. */
int pressure_read(const struct fsroot *root, const char *cgroup, const char *resource,
                  struct pressure *pressure, struct error *error);

/** Sets the error and its remedy for an @p rc of opening or reading @p path, of @p cgroup as above;
 * returns @p rc. */
int pressure_why_not(const struct fsroot *root, const char *cgroup, int rc, const char *path,
                     struct error *error);

/** Returns {"some":{"avg10":..,"avg60":..,"avg300":..,"total_us":..},"full":{..}}; NULL if out of
 * memory. */
json_t *pressure_json(const struct pressure *pressure);
