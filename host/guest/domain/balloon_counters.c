// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/balloon_counters.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "guest/domain/libvirt.h"

#include <errno.h>
#include <jansson.h>
#include <libvirt/libvirt-qemu.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ANSWER 16384
/* Every whole number up to this one is a double; a counter that is not reported is 2^64 - 1. */
#define MAX_COUNT 9007199254740992.0

static const struct {
    const char *name;
    size_t offset;
} counters[] = {
    {"stat-oom-kills", offsetof(struct domain_memory, oom_kills)},
    {"stat-alloc-stalls", offsetof(struct domain_memory, alloc_stalls)},
    {"stat-async-scans", offsetof(struct domain_memory, async_scan_bytes)},
    {"stat-direct-scans", offsetof(struct domain_memory, direct_scan_bytes)},
    {"stat-async-reclaims", offsetof(struct domain_memory, async_reclaim_bytes)},
    {"stat-direct-reclaims", offsetof(struct domain_memory, direct_reclaim_bytes)},
};

/* Returns a count, or DOMAIN_MEMORY_UNKNOWN. Whole numbers are read as doubles: jansson refuses
 * those above INT64_MAX. */
static uint64_t count_of(const json_t *value)
{
    double count = json_is_real(value) ? json_real_value(value) : -1;

    return count >= 0 && count < MAX_COUNT ? (uint64_t)count : DOMAIN_MEMORY_UNKNOWN;
}

int balloon_counters_parse(const char *answer, size_t length, struct domain_memory *memory)
{
    json_t *all = length <= MAX_ANSWER ? json_loadb(answer, length, JSON_DECODE_INT_AS_REAL, NULL)
                                       : NULL;
    const json_t *found = json_object_get(all, "return");
    const json_t *stats = json_object_get(found, "stats");
    uint64_t updated_s = count_of(json_object_get(found, "last-update"));
    int rc = json_is_object(stats) ? 0 : -EPROTO;

    if (rc == 0 && (memory->updated_s == 0 || updated_s != memory->updated_s))
        rc = -EAGAIN;
    for (size_t i = 0; rc == 0 && i < COUNT(counters); i++) {
        uint64_t count = count_of(json_object_get(stats, counters[i].name));

        memcpy((char *)memory + counters[i].offset, &count, sizeof(count));
    }
    json_decref(all);
    return rc;
}

/* libvirt names the device (src/qemu/qemu_alias.c, qemuAssignDeviceMemballoonAlias()). */
static const char command[] = "{\"execute\":\"qom-get\",\"arguments\":{\"path\":"
                              "\"/machine/peripheral/balloon0\",\"property\":\"guest-stats\"}}";

int balloon_counters_read(struct domain_connection *connection, struct domain_memory *memory,
                          struct error *error)
{
    struct error missing = {0};
    cleanup_domain virDomainPtr domain = libvirt_lookup(connection, memory->uuid, &missing);
    cleanup_free char *answer = NULL;

    if (!domain)
        return error_set(error, missing.code, "%s", missing.text);
    if (libvirt_is_busy(domain)) /* libvirt would wait for half a minute */
        return -EBUSY;
    if (virDomainQemuMonitorCommand(domain, command, &answer, 0) < 0 || !answer)
        return libvirt_failed(connection, memory->name, error);
    return balloon_counters_parse(answer, strlen(answer), memory);
}
