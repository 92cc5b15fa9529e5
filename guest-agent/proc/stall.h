// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file stall.h  PSI triggers: the kernel reports when a task waited for a resource longer than a
 * threshold in a window.
 *
 * Documentation/accounting/psi.rst, "Monitoring for pressure thresholds": Linux 5.2. A window is
 * 0.5 to 10 s; without CAP_SYS_RESOURCE it must be a multiple of 2 s, and before Linux 6.4 triggers
 * need that capability.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <stdint.h>

struct stall_trigger {
    char resource[8]; /* "memory", "io", "cpu" */
    char kind[8];     /* "some", "full" */
    uint64_t threshold_us, window_us;
};

/** Describes a valid trigger, for the message that refuses another text. */
#define STALL_TRIGGER_EXPECTED \
    "as in memory:some:150000:1000000, a window of 500000 to 10000000 and a threshold within it"

/** Parses "RESOURCE:KIND:THRESHOLD_US:WINDOW_US". 0, or -EINVAL if it is malformed or outside the
 * kernel's limits. */
int stall_trigger_parse(const char *text, struct stall_trigger *trigger);

/**
 * Arms the trigger; it is disarmed when the file is closed.
 * @param cgroup  as of pressure_read()
 * @return a file descriptor on which poll() reports POLLPRI once for each window with such a stall,
 *         and POLLERR if the cgroup is gone; or a negative errno with the message.
 */
int stall_trigger_open(const struct fsroot *root, const char *cgroup,
                       const struct stall_trigger *trigger, struct error *error);
