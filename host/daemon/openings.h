// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file openings.h  The guests of a connection that wait to be opened: the newest first, for it is
 * the one that somebody is waiting for. No locks.
 *
 * One that could not be opened is tried again, ever more seldom.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct opening; /* opaque */

/** Zeroed: none waits. */
struct openings {
    struct opening *list; /* the newest last */
    size_t n, room;
};

void openings_free(struct openings *openings);

/** A guest of this UUID runs, and is not watched. If it waits already it keeps its place, and is
 * tried at once. Out of memory: false, and it is not noted. */
bool openings_put(struct openings *openings, const char *uuid);

/** Does it wait? */
bool openings_has(const struct openings *openings, const char *uuid);

/** It is open, or gone. */
void openings_drop(struct openings *openings, const char *uuid);

/** It could not be opened now: again after 5 seconds, then twice as long, up to a minute. */
void openings_put_off(struct openings *openings, const char *uuid, uint64_t now_ns);

/** The newest that may be tried now; NULL: none. Valid until the next change. */
const char *openings_next(const struct openings *openings, uint64_t now_ns);

/** How many may be tried now. */
size_t openings_ready(const struct openings *openings, uint64_t now_ns);

/** When the first of them may be tried; UINT64_MAX: none waits. */
uint64_t openings_at_ns(const struct openings *openings);
