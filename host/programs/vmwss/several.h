// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file several.h  Runs a command for several guests at once: one process for each, so that all are
 * measured over the same time, and a delay of one delays no other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Maximum number of guests at one time; others begin when these end. */
#define SEVERAL_AT_ONCE 64

/** Returns true if only one process at a time can access guests of this connection, as with an
 * embedded driver. @p uri: NULL: libvirt's default. */
bool several_in_turn(const char *uri);

/**
 * Calls @p one for each name and returns the common exit code: EXIT_DONE if all returned that, else
 * EXIT_INTERRUPTED if any returned that, else the smallest other one. SIGINT, SIGTERM and SIGHUP of
 * this process are forwarded to all, and no other guest begins; if this process is killed, they end
 * with it.
 * @param in_turn one after the other, in this process: for guests that only one process
 * can access
 */
int several_run(char *const *names, size_t n, bool in_turn,
                int (*one)(const char *name, void *context), void *context);
