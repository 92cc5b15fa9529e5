// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file status_collect.h  Collects the data of `vmwss status` from the history and /proc; it
 * measures and changes nothing. */
#pragma once

#include "show/status.h"

struct status_choice {
    const char *database;
    const char *uri; /* also ask libvirt there for balloon sizes; NULL: do not */
};

/**
 * A history that cannot be read is not an error: the host is shown without it.
 * @return 0, free with status_free(); -ENOMEM; the error of reading /proc, or of libvirt
 */
int status_collect(const struct status_choice *choice, struct status *status, struct error *error);
