// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file vmm_name.h  The name of a guest whose VMM is not a QEMU. */
#pragma once

#include "base/fsroot.h"

/**
 * Finds the name by the options of Firecracker (--id), crosvm (--name, --socket), kvmtool (--name)
 * and Cloud Hypervisor (--api-socket), whichever is there; else it is the program's name with its
 * pid. Of a socket's path it is the last part that says more than "api.sock".
 * @param exe   target of /proc/PID/exe
 * @param name  of 256 bytes
 */
void vmm_name_find(const struct fsroot *root, pid_t pid, const char *exe, char *name);
