// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file domain_virtio_mem.h  The virtio-mem devices of a running domain: memory that the guest
 * plugs and unplugs in blocks, up to the requested size.
 *
 * libvirt can change only <requested> of a plugged device (virDomainUpdateDeviceFlags()), in whole
 * blocks, and follows <current> by QEMU's event MEMORY_DEVICE_SIZE_CHANGE. Its balloon.current
 * includes <current>; the size that virDomainSetMemoryFlags() sets does not: a balloon takes only
 * from the memory with which the domain was started (libvirt 9.0, QEMU 7.2: measured). Source of
 * the format: libvirt, docs/formatdomain.rst, "Memory devices".
 */
#pragma once

#include "guest/domain/domain.h"

struct domain_virtio_mem {
    /* number of devices; 0: all members below are 0 */
    unsigned n;
    bool balloon;                                        /* the domain also has a balloon */
    char alias[64];                                      /* alias of the first device */
    uint64_t size_bytes, requested_bytes, current_bytes; /* sums over all devices */
    uint64_t block_bytes;                                /* the largest block size */
    uint64_t total_bytes; /* the guest's total memory in the same XML */
};

/** Parses the live XML of a domain. 0; -EINVAL if it is not the XML of a domain, or if a device
 * lacks these sizes. */
int domain_virtio_mem_parse(const char *xml, size_t length, struct domain_virtio_mem *out,
                            struct error *error);

/** Returns the XML of the only device in @p xml, with @p bytes requested, for
 * virDomainUpdateDeviceFlags(); NULL and @p error: no such device, or out of memory. The caller
 * frees it. */
char *domain_virtio_mem_device(const char *xml, size_t length, uint64_t bytes, struct error *error);

/** Reads the devices of a running domain, by name, UUID or id. Takes no job. 0; -ENOENT; -EINVAL;
 * -EIO or -ENOTCONN with libvirt's message. */
int domain_virtio_mem_read(struct domain_connection *connection, const char *name,
                           struct domain_virtio_mem *out, struct error *error);

/** Sets the requested size of the only device of a running domain; without changing its
 * configuration. The guest may or may not follow. The connection must be writable. 0; -EINVAL no
 * device, several, or not a whole number of blocks; else as domain_memory_set(). */
int domain_virtio_mem_request(struct domain_connection *connection, const char *name,
                              uint64_t bytes, struct error *error);
