// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file idle_bitmap.h  /sys/kernel/mm/page_idle/bitmap: one bit per page frame.
 *
 * Source: Documentation/admin-guide/mm/idle_page_tracking.rst; mm/page_idle.c. Writing a 1 clears
 * the accessed bits of every mapping of the page (through the MMU notifiers, so KVM's too) and sets
 * its idle flag; writing a 0 does nothing, so other pages in the same word are not affected.
 * Reading harvests the accessed bits of idle pages. Transfers are multiples of 8 bytes; one read or
 * write moves at most 4096 bytes. Only the head of a folio on an LRU list has a bit of its own.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <stdint.h>

#define IDLE_BITMAP_PATH "sys/kernel/mm/page_idle/bitmap"

/** Opens the bitmap now for all later calls of idle_bitmap_open(): for a process that may open
 * nothing for writing later. */
void idle_bitmap_keep(const struct fsroot *root);

int idle_bitmap_open(const struct fsroot *root, struct error *error);

/** Marks the frames pfn[0..n), ascending, repeats allowed. 0 or a negative errno. */
int idle_bitmap_mark(int fd, const uint64_t *pfn, uint64_t n);

/** idle_bitmap_read() returns this for frames in the last, partial word of the bitmap, which the
 * kernel does not return. */
#define IDLE_BITMAP_UNKNOWN 2

/** Sets idle[i] to 1 if frame pfn[i] is still idle, else to 0, or to IDLE_BITMAP_UNKNOWN. pfn is
 * ascending; repeats are allowed. */
int idle_bitmap_read(int fd, const uint64_t *pfn, uint64_t n, uint8_t *idle);
