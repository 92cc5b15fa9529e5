// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file balloon_stats.h  Fetches the balloon statistics of all guests from libvirt, without waiting
 * for a QEMU that hangs.
 *
 * domain_memory_all() has libvirt ask every QEMU for its balloon, and returns when all have
 * answered: one that is stopped, or waits for a disk, holds up the statistics of all
 * (VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT leaves out only a domain that another caller is waiting
 * for; seen with libvirt 9.0 and a QEMU under SIGSTOP). So the call is made by a thread of its own.
 * If that does not return in time it is left behind, with its connection, until QEMU answers or is
 * gone; and as a caller is waiting for that domain then, the next call leaves it out.
 */
#pragma once

#include "guest/domain/domain_memory.h"

/**
 * domain_memory_all() of *@p libvirt, waiting for @p patience_s at most. By one thread at a time.
 * @param libvirt  becomes NULL with -ETIMEDOUT: it is the hanging call's, which disconnects it
 * @param cpu_s    CPU time of the other thread is added, if it came back
 * @return as domain_memory_all(); -ETIMEDOUT; -EBUSY: so many calls hang that no other is made
 */
ssize_t balloon_stats_fetch(struct domain_connection **libvirt, double patience_s,
                            struct domain_memory **out, double *cpu_s, struct error *error);
