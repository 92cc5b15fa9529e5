// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file domain_virtio_mem.h  The virtio-mem devices of a running domain: memory that the guest
 * plugs and unplugs in blocks, as much as is requested.
 *
 * libvirt takes <requested> alone of a device that is plugged (virDomainUpdateDeviceFlags()), in
 * whole blocks, and follows <current> by QEMU's event MEMORY_DEVICE_SIZE_CHANGE. What it reports
 * as balloon.current includes <current>; what virDomainSetMemoryFlags() sets does not: a balloon
 * takes from the memory that the domain was started with only (libvirt 9.0, QEMU 7.2: measured).
 * Source of the format: libvirt, docs/formatdomain.rst, "Memory devices".
 */
#pragma once

#include "guest/domain/domain.h"

struct domain_virtio_mem {
    unsigned n;                                          /* devices; 0: all below is 0 */
    bool balloon;                                        /* the domain has a balloon besides */
    char alias[64];                                      /* of the first */
    uint64_t size_bytes, requested_bytes, current_bytes; /* of all */
    uint64_t block_bytes;                                /* the largest */
    uint64_t total_bytes; /* what the guest has in all, as libvirt says in the same XML */
};

/** Reads the live XML of a domain. 0; -EINVAL if it is not one, or a device has no such sizes. */
int domain_virtio_mem_parse(const char *xml, size_t length, struct domain_virtio_mem *out,
                            struct error *error);

/** The device of @p xml, which must be the only one, with @p bytes requested of it, as
 * virDomainUpdateDeviceFlags() takes it; NULL and @p error: there is no such device, or no memory.
 * The caller frees it. */
char *domain_virtio_mem_device(const char *xml, size_t length, uint64_t bytes, struct error *error);

/** Of a running domain, by name, UUID or id. Takes no job. 0; -ENOENT; -EINVAL; -EIO or -ENOTCONN
 * with libvirt's words. */
int domain_virtio_mem_read(struct domain_connection *connection, const char *name,
                           struct domain_virtio_mem *out, struct error *error);

/** Sets how much is requested of the only device of a running domain; the configuration stays. The
 * guest follows, or does not. The connection is a writable one. 0; -EINVAL no device, several, or
 * no whole number of blocks; else as domain_memory_set(). */
int domain_virtio_mem_request(struct domain_connection *connection, const char *name,
                              uint64_t bytes, struct error *error);
