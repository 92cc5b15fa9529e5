// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file status_collect.h  What `vmwss status` shows, from the history and /proc; nothing is
 * measured, nor changed. */
#pragma once

#include "show/status.h"

struct status_choice {
    const char *database;
    const char *uri; /* ask libvirt there what balloons leave guests; NULL: do not */
};

/**
 * A history that cannot be read is no error: the host is there without it.
 * @return 0, free with status_free(); -ENOMEM; the error of reading /proc, or of libvirt
 */
int status_collect(const struct status_choice *choice, struct status *status, struct error *error);
