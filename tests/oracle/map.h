// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file map.h  Reads the map that the plugin keeps (layout.h). Whatever the file holds, nothing
 * outside it is read. */
#pragma once

#include "layout.h"

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oracle_map;

/** -EINVAL when the file is no map, not whole, or not begun yet; else what opening it says. */
int oracle_map_open(const char *path, struct oracle_map **out, struct error *error);
void oracle_map_close(struct oracle_map *map);

uint64_t oracle_map_pages(const struct oracle_map *map);
/** Whether it is that of a lab: data and fetch are those of nested guests, and pages are the lab's
 * frames. */
bool oracle_map_is_lab(const struct oracle_map *map);
/** Has a lab's plugin note touches from now on, and waits until it does. 0, also where it did
 * already; -ETIMEDOUT after a minute; else as oracle_map_open(). */
int oracle_map_begin(const char *path, struct error *error);
/** Accesses that QEMU could not place: while it is not 0 the truth is a lower bound. */
uint64_t oracle_map_unresolved(const struct oracle_map *map);
/** Walks of a nested guest's page tables that could not be followed; only in a lab. */
uint64_t oracle_map_unwalked(const struct oracle_map *map);

/** The window that was asked for, and the slots that answer it. Times are CLOCK_REALTIME, in ns. */
struct oracle_window {
    uint64_t from_ns, to_ns;
    /* Each page was marked at a time of its own between from and marked, and read between read and
     * to. Both 0: all at once. */
    uint64_t marked_ns, read_ns;
    /* Slots that overlap the window: the upper bound. Those wholly within it (between marked and
     * read, if these are set), the lower bound, may be none. */
    uint64_t outer_first, outer_last; /* sequences, inclusive */
    uint64_t inner_first, inner_last; /* first > last: none */
    uint64_t outer_from_ns, outer_to_ns, inner_from_ns, inner_to_ns;
};

/**
 * Finds the slots of a window; from_ns, to_ns, marked_ns and read_ns are set before.
 * @return 0; -ERANGE: the ring no longer, or not yet, covers the window; -ENODATA: it begins before
 * anything was noted.
 */
int oracle_map_find(const struct oracle_map *map, struct oracle_window *window,
                    struct error *error);

/**
 * Sets touched[page] to the bits (1 << enum oracle_kind) of what touched the page in slots first ..
 * last; first > last: to 0.
 * @return 0; -ESTALE when a slot was used anew meanwhile.
 */
int oracle_map_touched(const struct oracle_map *map, uint64_t first, uint64_t last,
                       uint8_t *touched, struct error *error);

/** The times of the slot with this sequence; false when it is no longer, or not yet, complete. */
bool oracle_map_slot(const struct oracle_map *map, uint64_t sequence, struct oracle_slot *out);

/** Touches of this page in the slot with this sequence, as bits; the caller asks oracle_map_slot()
 * afterwards whether the slot still was that. */
uint8_t oracle_map_page(const struct oracle_map *map, uint64_t sequence, uint64_t page);
