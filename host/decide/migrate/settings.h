// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file settings.h  What QEMU, or libvirt, has set for the next migration of a guest, and what that
 * does to a forecast.
 *
 * Source: QEMU 7.2 to 10.0, qapi/migration.json, query-migrate-capabilities and
 * query-migrate-parameters; migration/migration.c, migration_update_counters(): the threshold of a
 * round is avail-switchover-bandwidth * downtime-limit where the former is not 0 (from 8.2 on).
 */
#pragma once

#include "decide/migrate/terms.h"

#include <stdbool.h>

struct json_t;

struct migrate_settings {
    const char *source; /* "libvirt", "qmp"; NULL: neither answered */
    /* NAN: not known, or without a limit */
    double bandwidth_bytes_s, switchover_bytes_s, downtime_s;
    bool unlimited;                   /* the bandwidth */
    struct migrate_throttle throttle; /* of auto-converge; 0: not known */
    bool under_way;                   /* a migration of the guest */
    char blocked[200]; /* why QEMU refuses to migrate the guest; empty: it does not */
    bool has_capabilities;
    unsigned capabilities; /* a bit for each that is on, by number */
};

#define MIGRATE_SETTINGS_UNKNOWN                                               \
    {                                                                          \
        .bandwidth_bytes_s = NAN, .switchover_bytes_s = NAN, .downtime_s = NAN \
    }

/** QEMU's name of a capability, or of multifd's compression, that changes a forecast; NULL after
 * the last number. */
const char *migrate_capability_name(unsigned number);

/** Its effect on a forecast: "QEMU slows the guest down ...". NULL after the last number. */
const char *migrate_capability_effect(unsigned number);

/** Reads QEMU's two answers; either may be NULL or anything at all. */
void migrate_settings_read(const struct json_t *capabilities, const struct json_t *parameters,
                           struct migrate_settings *settings);

/** Reads QEMU's answer to query-migrate, which may be anything at all: QEMU 6.0 to 10.0 have
 * blocked-reasons. */
void migrate_settings_read_status(const struct json_t *status, struct migrate_settings *settings);

/** Completes terms that the user did not give: a downtime that is NAN, a bandwidth of 0. That
 * remains 0 if there is no limit, or none is known, and no connection is given. */
void migrate_settings_apply(const struct migrate_settings *settings, struct migrate_terms *terms);
