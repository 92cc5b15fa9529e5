// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file balloon_counters.h  What a guest's balloon driver counts beside libvirt's statistics:
 * signs of pressure without an agent.
 *
 * Since Linux 6.12 the driver reports runs of the OOM killer, allocations that waited, and bytes
 * that were scanned and reclaimed, by kswapd and by tasks that wait (VIRTIO_BALLOON_S_OOM_KILL and
 * the five after it); QEMU has them since 9.1 (hw/virtio/virtio-balloon.c, balloon_stat_names[]),
 * and libvirt does not pass them on. QEMU's monitor has them as a property of the device. libvirt
 * marks a domain whose monitor was used as tainted ("custom-monitor"), so that it is the owner's
 * choice.
 */
#pragma once

#include "guest/domain/domain_memory.h"

/** Reads the answer to qom-get, of @p length bytes: sets the counters that are in it and belong to
 * the report that @p memory holds. All others stay unknown; a guest may report any number.
 * Returns 0; -EPROTO it is no such answer; -EAGAIN it belongs to another report. */
int balloon_counters_parse(const char *answer, size_t length, struct domain_memory *memory);

/** Asks the QEMU of the domain of @p memory, unless a job holds it. The connection must be
 * writable. Returns as balloon_counters_parse(); -EBUSY; -ENOENT it has ended; -EIO or -ENOTCONN
 * with libvirt's message. */
int balloon_counters_read(struct domain_connection *connection, struct domain_memory *memory,
                          struct error *error);
