// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file leaks.h  What AddressSanitizer would report of leaks at exit(), for a process that ends by
 * _exit(). In other builds nothing.
 */
#pragma once

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>

/** Prints what is allocated and no longer reachable. 0: nothing; 1: something. */
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
