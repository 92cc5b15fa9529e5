// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/domain_memory.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "guest/domain/domain_virtio_mem.h"
#include "guest/domain/libvirt.h"
#include "guest/domain/xml_tree.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* libvirt counts in KiB. */
static const struct {
    const char *field;
    size_t offset;
    uint64_t unit;
} fields[] = {
    {"balloon.current", offsetof(struct domain_memory, current_bytes), 1024},
    {"balloon.maximum", offsetof(struct domain_memory, maximum_bytes), 1024},
    {"balloon.available", offsetof(struct domain_memory, total_bytes), 1024},
    {"balloon.unused", offsetof(struct domain_memory, free_bytes), 1024},
    {"balloon.usable", offsetof(struct domain_memory, available_bytes), 1024},
    {"balloon.disk_caches", offsetof(struct domain_memory, cache_bytes), 1024},
    {"balloon.swap_in", offsetof(struct domain_memory, swap_in_bytes), 1024},
    {"balloon.swap_out", offsetof(struct domain_memory, swap_out_bytes), 1024},
    {"balloon.major_fault", offsetof(struct domain_memory, major_faults), 1},
    {"balloon.last-update", offsetof(struct domain_memory, updated_s), 1},
};

/* --- plausibility ----------------------------------------------------------------------------- */

static void forget_words(struct domain_memory *memory)
{
    const size_t from = offsetof(struct domain_memory, total_bytes);

    _Static_assert(offsetof(struct domain_memory, updated_s) ==
                       offsetof(struct domain_memory, direct_reclaim_bytes) + sizeof(uint64_t),
                   "the driver's words are all that is between");
    memset((char *)memory + from, 0xff, offsetof(struct domain_memory, updated_s) - from);
}

/* An unknown figure is the largest number. */
static bool is_within(uint64_t part, uint64_t whole)
{
    return part == DOMAIN_MEMORY_UNKNOWN || part <= whole;
}

/* A report from later than now was made before the host's clock was set back: its age is not known.
 * One second of grace: QEMU and time(2) read clocks that are updated at different times. */
static bool is_current(const struct domain_memory *memory, uint64_t now_s)
{
    return memory->updated_s > 0 && memory->updated_s + DOMAIN_MEMORY_MAX_AGE_S >= now_s &&
           memory->updated_s <= now_s + 1;
}

/* Linux keeps at most its high watermarks and lowmem reserves out of MemAvailable, a few percent of
 * the total, so a guest with more free memory than that has memory available. */
#define RESERVES_SHARE 8
#define RESERVES_MIN_BYTES (128ULL << 20)

static bool agrees_with_free(const struct domain_memory *memory)
{
    uint64_t share = smaller(memory->total_bytes, memory->maximum_bytes) / RESERVES_SHARE;

    return memory->free_bytes == DOMAIN_MEMORY_UNKNOWN ||
           less(memory->free_bytes, memory->available_bytes) <= larger(share, RESERVES_MIN_BYTES);
}

/* A driver that reports no total has at most what the domain has. No kernel lets its free memory
 * come to nothing. */
static bool can_be(const struct domain_memory *memory)
{
    uint64_t most = smaller(memory->total_bytes, memory->maximum_bytes);

    return memory->total_bytes > 0 && (memory->free_bytes | memory->available_bytes) > 0 &&
           is_within(memory->total_bytes, memory->maximum_bytes) &&
           is_within(memory->free_bytes, most) && is_within(memory->available_bytes, most) &&
           is_within(memory->cache_bytes, most) && agrees_with_free(memory);
}

void domain_memory_check(struct domain_memory *memory, uint64_t now_s)
{
    if (!is_current(memory, now_s) || !can_be(memory))
        forget_words(memory);
    if (!is_within(memory->current_bytes, memory->maximum_bytes))
        memory->current_bytes = memory->maximum_bytes;
}

bool domain_memory_is_reported(const struct domain_memory *memory)
{
    return memory->total_bytes != DOMAIN_MEMORY_UNKNOWN ||
           memory->free_bytes != DOMAIN_MEMORY_UNKNOWN ||
           memory->available_bytes != DOMAIN_MEMORY_UNKNOWN;
}

/* --- libvirt ---------------------------------------------------------------------------------- */

/* A guest may report any number. */
static void read_field(struct domain_memory *memory, const virTypedParameter *parameter)
{
    for (size_t i = 0; i < COUNT(fields); i++)
        if (!strcmp(fields[i].field, parameter->field) &&
            parameter->type == VIR_TYPED_PARAM_ULLONG &&
            parameter->value.ul <= INT64_MAX / fields[i].unit) {
            uint64_t value = parameter->value.ul * fields[i].unit;

            memcpy((char *)memory + fields[i].offset, &value, sizeof(value));
        }
}

static bool has_field(const virDomainStatsRecord *record, const char *field)
{
    for (int i = 0; i < record->nparams; i++)
        if (!strcmp(record->params[i].field, field))
            return true;
    return false;
}

/* A reason belongs to a state. While a guest arrives from a file or from another host, it is held
 * by a job that allows no other (qemu_migration.c, qemuMigrationJobStart()); a guest that was
 * restored suspended is not held. */
static void read_state(struct domain_memory *memory, int state, int reason)
{
    memory->suspended = state == VIR_DOMAIN_PAUSED || state == VIR_DOMAIN_PMSUSPENDED;
    memory->arriving = state == VIR_DOMAIN_PAUSED && memory->busy &&
                       (reason == VIR_DOMAIN_PAUSED_MIGRATION ||
                        reason == VIR_DOMAIN_PAUSED_STARTING_UP);
    memory->saved = state == VIR_DOMAIN_RUNNING && (reason == VIR_DOMAIN_RUNNING_RESTORED ||
                                                    reason == VIR_DOMAIN_RUNNING_FROM_SNAPSHOT);
    memory->migrated = state == VIR_DOMAIN_RUNNING && (reason == VIR_DOMAIN_RUNNING_MIGRATED ||
                                                       reason == VIR_DOMAIN_RUNNING_POSTCOPY);
}

/* False if the domain has ended meanwhile. */
static bool read_domain(struct domain_memory *memory, const virDomainStatsRecord *record)
{
    const char *name = virDomainGetName(record->dom);
    int state = VIR_DOMAIN_NOSTATE;
    int reason = 0;

    memset(memory, 0xff, sizeof(*memory));
    memory->updated_s = 0;
    memory->busy = !has_field(record, "balloon.rss");
    memory->id = (int)virDomainGetID(record->dom);
    snprintf(memory->name, sizeof(memory->name), "%s", name ? name : "");
    if (memory->id < 0 || virDomainGetUUIDString(record->dom, memory->uuid) < 0)
        return false;
    for (int i = 0; i < record->nparams; i++) {
        const virTypedParameter *parameter = &record->params[i];

        if (!strcmp(parameter->field, "state.state") && parameter->type == VIR_TYPED_PARAM_INT)
            state = parameter->value.i;
        else if (!strcmp(parameter->field, "state.reason") &&
                 parameter->type == VIR_TYPED_PARAM_INT)
            reason = parameter->value.i;
        else
            read_field(memory, parameter);
    }
    read_state(memory, state, reason);
    domain_memory_check(memory, (uint64_t)time(NULL));
    return true;
}

#define WANTED (VIR_DOMAIN_STATS_STATE | VIR_DOMAIN_STATS_BALLOON)
/* Most jobs last milliseconds, as setting a domain's metadata does. */
#define BUSY_TRIES 4
#define BUSY_WAIT_NS 40000000

/* 1; 0: it does not run; -1: libvirt failed. */
static int read_one(struct domain_memory *memory, virDomainPtr domain)
{
    virDomainPtr one[] = {domain, NULL};
    virDomainStatsRecordPtr *records = NULL;
    int n = virDomainListGetStats(one, WANTED, &records, VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT);

    if (n == 1)
        n = read_domain(memory, records[0]);
    virDomainStatsRecordListFree(records);
    return n;
}

/* Queries a busy domain once more. If that fails, its known figures stay. */
static void read_again(struct domain_memory *memory, virDomainPtr domain)
{
    struct domain_memory again;

    if (read_one(&again, domain) == 1)
        *memory = again;
}

/* @domains[i] belongs to @memory[i]. */
static void read_busy_again(struct domain_memory *memory, virDomainPtr *domains, ssize_t count)
{
    for (int tries = 0; tries < BUSY_TRIES; tries++) {
        bool waited = false;

        for (ssize_t i = 0; i < count; i++) {
            if (!memory[i].busy)
                continue;
            if (!waited)
                clock_sleep(BUSY_WAIT_NS);
            waited = true;
            read_again(&memory[i], domains[i]);
        }
        if (!waited)
            return;
    }
}

static ssize_t read_all(virDomainStatsRecordPtr *records, int n, struct domain_memory *memory)
{
    cleanup_free virDomainPtr *domains = calloc((size_t)n + 1, sizeof(virDomainPtr));
    ssize_t count = 0;

    if (!domains)
        return -ENOMEM;
    for (int i = 0; i < n; i++) {
        domains[count] = records[i]->dom;
        count += read_domain(&memory[count], records[i]);
    }
    read_busy_again(memory, domains, count);
    return count;
}

ssize_t domain_memory_all(struct domain_connection *connection, struct domain_memory **out,
                          struct error *error)
{
    virDomainStatsRecordPtr *records = NULL;
    int n = virConnectGetAllDomainStats(connection->conn, WANTED, &records,
                                        VIR_CONNECT_GET_ALL_DOMAINS_STATS_ACTIVE |
                                            VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT);

    if (n < 0)
        return libvirt_failed(connection, NULL, error);
    *out = calloc((size_t)n + 1, sizeof(**out));

    ssize_t count = *out ? read_all(records, n, *out) : -ENOMEM;

    virDomainStatsRecordListFree(records);
    return count >= 0 ? count : error_set(error, (int)count, "%s: out of memory", connection->uri);
}

int domain_memory_fetch(struct domain_connection *connection, const char *name,
                        struct domain_memory *out, struct error *error)
{
    struct error missing = {0};
    cleanup_domain virDomainPtr domain = libvirt_lookup(connection, name, &missing);

    if (!domain)
        return error_set(error, missing.code, "%s", missing.text);

    int n = read_one(out, domain);

    if (n < 0)
        return libvirt_failed(connection, name, error);
    if (n == 0)
        return error_set(error, -ENOENT, "domain %s: it does not run", name);
    read_busy_again(out, &domain, 1);
    return 0;
}

static bool has_no_balloon(int code)
{
    return code == VIR_ERR_OPERATION_INVALID || code == VIR_ERR_OPERATION_UNSUPPORTED ||
           code == VIR_ERR_CONFIG_UNSUPPORTED || code == VIR_ERR_NO_SUPPORT;
}

static int set_size(virDomainPtr domain, uint64_t bytes)
{
    return virDomainSetMemoryFlags(domain, (unsigned long)(bytes / 1024), VIR_DOMAIN_AFFECT_LIVE);
}

static int set_period(virDomainPtr domain, uint64_t period_s)
{
    return virDomainSetMemoryStatsPeriod(domain, (int)period_s, VIR_DOMAIN_AFFECT_LIVE);
}

static int change_balloon(struct domain_connection *connection, virDomainPtr domain,
                          int (*set)(virDomainPtr domain, uint64_t value), uint64_t value,
                          struct error *error)
{
    const char *name = virDomainGetName(domain);

    if (libvirt_is_busy(domain))
        return error_set(error, -EBUSY, "domain %s: another job runs on it", name);
    if (set(domain, value) == 0)
        return 0;

    bool never = has_no_balloon(virGetLastErrorCode());
    int rc = libvirt_failed(connection, name, error);

    if (rc != -EIO || !never)
        return rc;
    if (error)
        error->code = -EOPNOTSUPP;
    return -EOPNOTSUPP;
}

int domain_balloon_set(struct domain_connection *connection, const char *name, uint64_t bytes,
                       struct error *error)
{
    struct error missing = {0};
    cleanup_domain virDomainPtr domain = libvirt_lookup(connection, name, &missing);

    return domain ? change_balloon(connection, domain, set_size, bytes, error)
                  : error_set(error, missing.code, "%s", missing.text);
}

int domain_balloon_parse_period(const char *xml, size_t length, uint64_t *period_s,
                                struct error *error)
{
    xmlDocPtr doc = NULL;
    char text[16];
    int rc = xml_tree_parse(xml, length, &doc, error);

    *period_s = 0;
    if (rc < 0)
        return rc;

    const xmlNode *balloon = xml_child(xml_child(xmlDocGetRootElement(doc), "devices"),
                                       "memballoon");

    if (!balloon || xml_attribute_is(balloon, "model", "none"))
        rc = -EOPNOTSUPP;
    else
        rc = xml_attribute(xml_child(balloon, "stats"), "period", text, sizeof(text));
    if (rc > 0)
        rc = parse_u64(text, 0, INT_MAX, period_s) < 0 ? -EINVAL : 0;
    xmlFreeDoc(doc);
    if (rc == -EOPNOTSUPP)
        return error_set(error, rc, "it has no balloon");
    return rc < 0 ? error_set(error, -EINVAL, "a balloon with an invalid period") : 0;
}

int domain_balloon_period(struct domain_connection *connection, const char *name,
                          uint64_t *period_s, struct error *error)
{
    cleanup_free char *xml = NULL;
    struct error invalid = {0};
    int rc = domain_xml_fetch(connection, name, &xml, error);

    *period_s = 0;
    if (rc == 0 && domain_balloon_parse_period(xml, strlen(xml), period_s, &invalid) < 0)
        rc = error_set(error, invalid.code, "domain %s: %s", name, invalid.text);
    return rc;
}

int domain_balloon_ask(struct domain_connection *connection, const char *name, uint64_t from_s,
                       uint64_t to_s, struct error *error)
{
    struct error missing = {0};
    cleanup_domain virDomainPtr domain = libvirt_lookup(connection, name, &missing);
    uint64_t found_s;
    int rc;

    if (!domain)
        return error_set(error, missing.code, "%s", missing.text);
    rc = domain_balloon_period(connection, name, &found_s, error);
    if (rc < 0 || found_s != from_s)
        return rc;
    return change_balloon(connection, domain, set_period, to_s, error);
}

int domain_memory_set(struct domain_connection *connection, const char *name, uint64_t bytes,
                      struct error *error)
{
    struct domain_virtio_mem plugged;

    if (domain_virtio_mem_read(connection, name, &plugged, NULL) == 0)
        bytes = less(bytes, plugged.current_bytes);
    return domain_balloon_set(connection, name, bytes, error);
}
