// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file domain_memory.h  What libvirt knows of the memory of running domains, in calls that wait
 * for none of them.
 *
 * The balloon driver in the guest reports all of this but the sizes that libvirt configured, and
 * only while QEMU asks it (<stats period='10'/> in the domain's <memballoon>, or virsh dommemstat
 * --period). Even current_bytes is what the driver reports to have left the guest (QEMU
 * hw/virtio/virtio-balloon.c, virtio_balloon_set_config()). Of a domain that another job holds,
 * libvirt reports only the sizes (VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT), where
 * virDomainMemoryStats() waits for up to 30 s. Such a domain is asked again for a fifth of a
 * second, which outlasts jobs that only set something, as vmwssd's own when it publishes. Source:
 * libvirt-domain.c, virConnectGetAllDomainStats(), "balloon."; qemu_driver.c,
 * qemuDomainGetStatsBalloon()
 */
#pragma once

#include "guest/domain/domain.h"

#define DOMAIN_MEMORY_UNKNOWN UINT64_MAX

/** All but the first eight DOMAIN_MEMORY_UNKNOWN when not reported. */
struct domain_memory {
    char name[256];
    char uuid[37];
    int id; /* another one: another run */
    bool suspended;
    bool busy;     /* with another job, so that only its sizes are known */
    bool arriving; /* it is being migrated here or restored, and has not run yet: its sizes are
                      those of where it comes from */
    bool saved;    /* it was restored from a file or a snapshot, and has not been suspended since */
    bool migrated; /* likewise, it has come from another host */
    uint64_t current_bytes; /* what its balloon leaves it, as it says; at most maximum_bytes */
    uint64_t maximum_bytes; /* what it has, with the DIMMs that are plugged */
    /* By the balloon's driver in the guest; total, free, available as in meminfo. */
    uint64_t total_bytes, free_bytes, available_bytes, cache_bytes;
    uint64_t swap_in_bytes, swap_out_bytes, major_faults; /* since it booted */
    uint64_t updated_s; /* when the guest reported all that, Unix time; 0: never */
};

/** What the driver reported longer ago is not taken for now: unasked it reports but once, when it
 * starts. */
#define DOMAIN_MEMORY_MAX_AGE_S 60

/** All running domains, checked; allocated, the caller frees *out. Their number; -ENOTCONN; -EIO;
 * -ENOMEM. */
ssize_t domain_memory_all(struct domain_connection *connection, struct domain_memory **out,
                          struct error *error);

/** One of them, by name, UUID or id. 0; -ENOENT no such domain, or it does not run; -EIO or
 * -ENOTCONN with libvirt's words. */
int domain_memory_fetch(struct domain_connection *connection, const char *name,
                        struct domain_memory *out, struct error *error);

/** Sets the target of a running domain's balloon, by name, UUID or id; the configuration stays. The
 * connection is a writable one. @p bytes: what the guest is left with in all, with what is plugged
 * by virtio-mem. libvirt returns once QEMU knows: the guest follows, or does not. 0; -ENOENT;
 * -EBUSY another job runs on it, for which libvirt would wait for half a minute; -EOPNOTSUPP it has
 * no balloon, or its driver was not loaded; -EIO or -ENOTCONN with libvirt's words. */
int domain_memory_set(struct domain_connection *connection, const char *name, uint64_t bytes,
                      struct error *error);

/** Likewise, but @p bytes are of the memory that its balloon takes from: without virtio-mem. */
int domain_balloon_set(struct domain_connection *connection, const char *name, uint64_t bytes,
                       struct error *error);

/**
 * Forgets what the driver has reported when that is older than DOMAIN_MEMORY_MAX_AGE_S at @p now_s
 * (Unix time), or cannot be: more than the domain has, or more free than there is. The functions
 * above have done it.
 */
void domain_memory_check(struct domain_memory *memory, uint64_t now_s);

/** Has the driver reported anything of the guest's memory? */
bool domain_memory_is_reported(const struct domain_memory *memory);
