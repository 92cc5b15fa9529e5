// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file touch_pages.h  Reading a byte of pages of another process by process_vm_readv(2).
 *
 * The kernel faults in pages that are not mapped, and calls mark_page_accessed() for each page
 * (mm/gup.c, FOLL_TOUCH), which sets PG_referenced; if an inactive page already has that flag, it
 * activates the page and clears the flag. The accessed bit of the page table does not change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#define TOUCH_AT_ONCE 512

/** Reads a byte of each of @p n pages, at most TOUCH_AT_ONCE; skips pages that cannot be read.
 * Returns false if the process or its mappings are gone. */
bool touch_pages(pid_t pid, struct iovec *there, size_t n);
