// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file qemu_default_ram.h  The RAM that QEMU's machine types have without -m. */
#pragma once

#include <stdint.h>

/**
 * @param exe      the path of QEMU's executable
 * @param machine  as given to -machine; empty: the target's default
 * @return bytes; 0: not known
 */
uint64_t qemu_default_ram_bytes(const char *exe, const char *machine);
