// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file vmm_name.h  The name of a guest whose VMM is not a QEMU. */
#pragma once

#include "base/fsroot.h"

/**
 * Finds the name by the options of Firecracker (--id, --api-sock), crosvm (--name, --socket),
 * kvmtool (--name) and Cloud Hypervisor (--api-socket), whichever is present; otherwise it is the
 * program's name and pid. From a socket's path it takes the last part that is more specific than
 * "api.sock".
 * @param exe   target of /proc/PID/exe
 * @param name  of 256 bytes
 */
void vmm_name_find(const struct fsroot *root, pid_t pid, const char *exe, char *name);
