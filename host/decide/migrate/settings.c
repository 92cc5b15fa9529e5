// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/migrate/settings.h"

#include "base/array.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* No connection is faster: libvirt sets the largest number there is for no limit. */
#define SPEED_MOST 1e13

#define SENDS_LESS (MIGRATE_SENDS_LESS_MEMORY | MIGRATE_SENDS_LESS_WRITES)

static const struct {
    const char *name, *effect;
    unsigned unforetold;
} capabilities[] = {
    {"auto-converge", "QEMU slows the guest down while it does not converge", 0},
    {"dirty-limit", "QEMU slows vCPUs down that write too fast; that is not foretold",
     MIGRATE_SENDS_LESS_WRITES},
    {"xbzrle", "pages that were sent before are sent as differences, with less than foretold",
     MIGRATE_SENDS_LESS_WRITES},
    {"compress", "pages are compressed, and need less than foretold", SENDS_LESS},
    {"multifd", "several connections; the bandwidth is that of all", 0},
    {"multifd-compression", "pages are compressed, and need less than foretold", SENDS_LESS},
    {"zero-copy-send", "pages are not copied before they are sent; the rounds are the same", 0},
    {"postcopy-ram", "the migration may be switched to post-copy, see its line above", 0},
    {"x-ignore-shared", "RAM that is shared is not sent, so there is less than foretold",
     SENDS_LESS},
    {"mapped-ram", "the guest goes into a file, where each page is written over in its place", 0},
    {"background-snapshot", "a snapshot sends each page once, so it ends; that is not foretold",
     MIGRATE_SENDS_LESS_WRITES},
    {"block", "disks are sent, too, which takes longer than foretold", MIGRATE_TAKES_LONGER},
    {"x-colo", "the guest is replicated, and that does not end", MIGRATE_TAKES_LONGER},
    {"pause-before-switchover", "the guest stands still until migrate-continue",
     MIGRATE_TAKES_LONGER},
    {"rdma-pin-all", "with RDMA all of RAM is pinned first, which takes longer than foretold",
     MIGRATE_TAKES_LONGER},
};

#define AUTO_CONVERGE 0

const char *migrate_capability_name(unsigned number)
{
    return number < COUNT(capabilities) ? capabilities[number].name : NULL;
}

const char *migrate_capability_effect(unsigned number)
{
    return number < COUNT(capabilities) ? capabilities[number].effect : NULL;
}

static unsigned bit_of(const char *name)
{
    for (unsigned i = 0; name && i < COUNT(capabilities); i++)
        if (strcmp(name, capabilities[i].name) == 0)
            return 1U << i;
    return 0;
}

static double speed_of(const json_t *parameters, const char *key)
{
    const double speed = json_number_value(json_object_get(parameters, key));

    return speed > 0 && speed < SPEED_MOST ? speed : NAN;
}

/* A percentage from 1 to 100; 0: there is none. */
static double share_of(const json_t *parameters, const char *key)
{
    const double share = json_number_value(json_object_get(parameters, key)) / 100;

    return share > 0 && share <= 1 ? share : 0;
}

static void read_parameters(const json_t *parameters, struct migrate_settings *settings)
{
    const json_t *downtime_ms = json_object_get(parameters, "downtime-limit");
    const char *compression = json_string_value(json_object_get(parameters, "multifd-compression"));

    settings->bandwidth_bytes_s = speed_of(parameters, "max-bandwidth");
    settings->unlimited = json_is_integer(json_object_get(parameters, "max-bandwidth")) &&
                          isnan(settings->bandwidth_bytes_s);
    settings->switchover_bytes_s = speed_of(parameters, "avail-switchover-bandwidth");
    settings->throttle = (struct migrate_throttle){
        .first = share_of(parameters, "cpu-throttle-initial"),
        .step = share_of(parameters, "cpu-throttle-increment"),
        .most = share_of(parameters, "max-cpu-throttle"),
        .trigger = share_of(parameters, "throttle-trigger-threshold"),
    };
    if (settings->capabilities & bit_of("multifd") && compression &&
        strcmp(compression, "none") != 0)
        settings->capabilities |= bit_of("multifd-compression");
    if (json_is_integer(downtime_ms) && json_integer_value(downtime_ms) >= 0 &&
        json_integer_value(downtime_ms) <= 1000LL * MIGRATE_DOWNTIME_MAX_S)
        settings->downtime_s = (double)json_integer_value(downtime_ms) / 1000;
}

void migrate_settings_read(const json_t *capabilities_on, const json_t *parameters,
                           struct migrate_settings *settings)
{
    settings->has_capabilities = json_is_array(capabilities_on);
    for (size_t i = 0; i < json_array_size(capabilities_on); i++) {
        const json_t *one = json_array_get(capabilities_on, i);

        if (json_is_true(json_object_get(one, "state")))
            settings->capabilities |= bit_of(json_string_value(json_object_get(one, "capability")));
    }
    read_parameters(parameters, settings);
}

void migrate_settings_read_status(const json_t *status, struct migrate_settings *settings)
{
    static const char *const over[] = {"none", "cancelled", "failed", "completed"};
    const char *name = json_string_value(json_object_get(status, "status"));
    const char *reason = json_string_value(
        json_array_get(json_object_get(status, "blocked-reasons"), 0));

    settings->under_way = name;
    for (size_t i = 0; name && i < COUNT(over); i++)
        settings->under_way &= strcmp(name, over[i]) != 0;
    snprintf(settings->blocked, sizeof(settings->blocked), "%s", reason ? reason : "");
    for (char *c = settings->blocked; *c; c++)
        if (!isprint((unsigned char)*c))
            *c = '?';
}

void migrate_settings_apply(const struct migrate_settings *settings, struct migrate_terms *terms)
{
    if (isnan(terms->downtime_s))
        terms->downtime_s = isnan(settings->downtime_s) ? MIGRATE_DOWNTIME_DEFAULT_S
                                                        : settings->downtime_s;
    if (terms->bandwidth_bytes_s == 0 && !isnan(settings->bandwidth_bytes_s))
        terms->bandwidth_bytes_s = settings->bandwidth_bytes_s;
    if (terms->bandwidth_bytes_s == 0 && settings->unlimited)
        terms->bandwidth_bytes_s = terms->link_bytes_s;
    if (!isnan(settings->switchover_bytes_s))
        terms->switchover_bytes_s = settings->switchover_bytes_s;
    if (settings->capabilities & (1U << AUTO_CONVERGE))
        terms->auto_converge = true;
    terms->throttle = settings->throttle;
    for (unsigned i = 0; i < COUNT(capabilities); i++)
        if (settings->capabilities & (1U << i))
            terms->unforetold |= capabilities[i].unforetold;
}
