// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file balloon_stats.h  Fetches the balloon statistics of all guests from libvirt, without waiting
 * for a QEMU that hangs.
 *
 * domain_memory_all() has libvirt ask every QEMU for its balloon, and returns when all have
 * answered: one that is stopped, or waits for a disk, holds up the statistics of all
 * (VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT leaves out only a domain that another caller is waiting
 * for; seen with libvirt 9.0 and a QEMU under SIGSTOP). So a separate thread makes the call. If it
 * does not return in time it is abandoned, with its connection, until QEMU answers or is gone; and
 * because a caller is then waiting for that domain, the next call leaves the domain out.
 */
#pragma once

#include "guest/domain/domain_memory.h"

/**
 * Calls domain_memory_all() on *@p libvirt, waiting for at most @p patience_s. From one thread at a
 * time.
 * @param libvirt becomes NULL with -ETIMEDOUT: the hanging call owns it, and disconnects it
 * @param cpu_s the CPU time of the other thread is added, if the call returned
 * @return as
 * domain_memory_all(); -ETIMEDOUT; -EBUSY: too many calls hang to make another
 */
ssize_t balloon_stats_fetch(struct domain_connection **libvirt, double patience_s,
                            struct domain_memory **out, double *cpu_s, struct error *error);
