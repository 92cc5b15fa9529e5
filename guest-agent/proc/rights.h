// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file rights.h  The remedy when the kernel refuses access. Root may lack a capability, too, as
 * in a container, or have it only in a user namespace. */
#pragma once

#include <linux/capability.h>
#include <stdbool.h>
#include <unistd.h>

/** Returns true if the capability (CAP_SYS_PTRACE ...) is in our effective set. */
bool rights_have(int capability);

/** The remedy for an -EACCES or -EPERM that a missing capability may explain. @p capability: name
 * of the constant. */
#define RIGHTS_REMEDY(capability)                                                             \
    (rights_have(capability) ? #capability " does not suffice: another user namespace, or a " \
                                           "security module"                                  \
     : geteuid() != 0        ? "run as root"                                                  \
                             : "this root lacks " #capability)
