// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file domain_memory.h  libvirt's figures of the memory of running domains, in calls that do not
 * wait for any domain.
 *
 * The balloon driver in the guest reports all of these except the sizes that libvirt configured,
 * and only while QEMU polls it (<stats period='10'/> in the domain's <memballoon>, or virsh
 * dommemstat --period). Even current_bytes is the size that the driver reports as left to the guest
 * (QEMU hw/virtio/virtio-balloon.c, virtio_balloon_set_config()). For a domain that another job
 * holds, libvirt reports only the sizes (VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT), while
 * virDomainMemoryStats() waits for up to 30 s. Such a domain is queried repeatedly for a fifth of a
 * second, because jobs that only set a value, such as vmwssd's when it publishes, end earlier.
 * Source: libvirt-domain.c, virConnectGetAllDomainStats(), "balloon."; qemu_driver.c,
 * qemuDomainGetStatsBalloon()
 */
#pragma once

#include "guest/domain/domain.h"

#define DOMAIN_MEMORY_UNKNOWN UINT64_MAX

/** All members after the first eight are DOMAIN_MEMORY_UNKNOWN if not reported. */
struct domain_memory {
    char name[256];
    char uuid[37];
    int id; /* changes with each run of the domain */
    bool suspended;
    bool busy; /* another job holds it, so only its sizes are known */
    /* migrating here or being restored, and has not run yet: its sizes are those of the source */
    bool arriving;
    bool saved;    /* was restored from a file or a snapshot, and has not been suspended since */
    bool migrated; /* came from another host, and has not been suspended since */
    uint64_t current_bytes; /* the balloon's size as the driver reports it; at most maximum_bytes */
    uint64_t maximum_bytes; /* the domain's memory, including plugged DIMMs */
    /* From the balloon driver in the guest; total, free, available as in meminfo. */
    uint64_t total_bytes, free_bytes, available_bytes, cache_bytes;
    uint64_t swap_in_bytes, swap_out_bytes, major_faults; /* since the guest booted */
    /* the same, if QEMU was asked: balloon_counters.h */
    uint64_t oom_kills, alloc_stalls;
    uint64_t async_scan_bytes, direct_scan_bytes, async_reclaim_bytes, direct_reclaim_bytes;
    uint64_t updated_s; /* Unix time of the guest's report; 0: never */
};

/** Maximum age of a driver's report: without polling it reports only once, when it starts. */
#define DOMAIN_MEMORY_MAX_AGE_S 60

/** Returns all running domains, checked; allocated, the caller frees *out. Returns their number;
 * -ENOTCONN; -EIO; -ENOMEM. */
ssize_t domain_memory_all(struct domain_connection *connection, struct domain_memory **out,
                          struct error *error);

/** As domain_memory_all(), for one domain, by name, UUID or id. 0; -ENOENT no such domain, or it
 * does not run; -EIO or -ENOTCONN with libvirt's message. */
int domain_memory_fetch(struct domain_connection *connection, const char *name,
                        struct domain_memory *out, struct error *error);

/** Sets the target of a running domain's balloon, by name, UUID or id, without changing its
 * configuration. The connection must be writable. @p bytes: the total memory left to the guest,
 * including memory plugged by virtio-mem. libvirt returns once QEMU knows the target; the guest may
 * or may not follow. 0; -ENOENT; -EBUSY another job runs on it, for which libvirt would wait for
 * half a minute; -EOPNOTSUPP it has no balloon, or its driver was not loaded; -EIO or -ENOTCONN
 * with libvirt's message. */
int domain_memory_set(struct domain_connection *connection, const char *name, uint64_t bytes,
                      struct error *error);

/** As domain_memory_set(), but @p bytes excludes the memory of virtio-mem, from which a balloon
 * takes nothing. */
int domain_balloon_set(struct domain_connection *connection, const char *name, uint64_t bytes,
                       struct error *error);

/** Finds in a running domain's XML how often QEMU asks its balloon driver for statistics: 0: never.
 * 0; -EINVAL; -EOPNOTSUPP it has no balloon: libvirt (9.0) calls that an internal error; each with
 * the message. */
int domain_balloon_parse_period(const char *xml, size_t length, uint64_t *period_s,
                                struct error *error);

/** As domain_balloon_parse_period(), for a domain by name, UUID or id. -ENOENT, -EIO, -ENOTCONN. */
int domain_balloon_period(struct domain_connection *connection, const char *name,
                          uint64_t *period_s, struct error *error);

/** If QEMU asks the domain's balloon driver for statistics every @p from_s seconds, has it ask
 * every @p to_s, without changing the configuration; any other period is left as it is. 0 in both
 * cases; negative as domain_memory_set().
 * Source: qemu_driver.c, qemuDomainSetMemoryStatsPeriod() */
int domain_balloon_ask(struct domain_connection *connection, const char *name, uint64_t from_s,
                       uint64_t to_s, struct error *error);

/**
 * Discards the driver's report if it is older than DOMAIN_MEMORY_MAX_AGE_S at @p now_s (Unix time)
 * or later than that, or if it is impossible: more than the domain has, no memory at all, more free
 * or cached than total memory, or hardly any available while much is free. The functions above call
 * it.
 */
void domain_memory_check(struct domain_memory *memory, uint64_t now_s);

/** Returns true if the driver has reported any figure of the guest's memory. */
bool domain_memory_is_reported(const struct domain_memory *memory);
