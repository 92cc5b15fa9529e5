// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file leaks.h  Runs AddressSanitizer's leak check of exit(), for a process that ends by _exit().
 * It does nothing in other builds.
 */
#pragma once

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>

/** Prints allocations that are no longer reachable. 0: none found; 1: some found. */
static inline int leaks_found(void)
{
    return __lsan_do_recoverable_leak_check() != 0;
}
#else
static inline int leaks_found(void)
{
    return 0;
}
#endif
