// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file several.h  The same for several guests at once: a process for each, so that each is
 * measured over the same time, and what holds up one holds up no other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** So many at the same time; those beyond begin as these end. */
#define SEVERAL_AT_ONCE 64

/** Is it one process at a time that can have guests of this connection? So it is with an embedded
 * driver. @p uri: NULL: libvirt's default. */
bool several_in_turn(const char *uri);

/**
 * Calls @p one for each name and returns the exit code of all: EXIT_DONE if each returned that,
 * else EXIT_INTERRUPTED if one returned that, else the smallest other one. What comes to this
 * process as SIGINT, SIGTERM or SIGHUP goes to all, and no other begins; they end with it too if it
 * is killed.
 * @param in_turn  one after the other, in this process: for what only one process can have open
 */
int several_run(char *const *names, size_t n, bool in_turn,
                int (*one)(const char *name, void *context), void *context);
