// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file rights.h  The remedy where the kernel refuses: root may lack a capability too, as in a
 * container, or have it in vain. */
#pragma once

#include <linux/capability.h>
#include <stdbool.h>
#include <unistd.h>

/** Returns true if the capability (CAP_SYS_PTRACE ...) is in our effective set. */
bool rights_have(int capability);

/** The remedy for -EACCES or -EPERM that the missing capability, given as the name of its constant,
 * may explain. */
#define RIGHTS_REMEDY(capability)                                                             \
    (rights_have(capability) ? #capability " does not suffice: another user namespace, or a " \
                                           "security module"                                  \
     : geteuid() != 0        ? "run as root"                                                  \
                             : "this root lacks " #capability)
