// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/migrate/settings.h"

#include "base/array.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* No connection is faster: libvirt sets the largest number there is for no limit. */
#define SPEED_MOST 1e13

static const struct {
    const char *name, *effect;
} capabilities[] = {
    {"auto-converge", "QEMU slows the guest down while it does not converge"},
    {"dirty-limit", "QEMU slows vCPUs down that write too fast; that is not foretold"},
    {"xbzrle", "pages that were sent before are sent as differences, with less than foretold"},
    {"compress", "pages are compressed, and need less than foretold"},
    {"multifd", "several connections; the bandwidth is that of all"},
    {"zero-copy-send", "pages are not copied before they are sent; the rounds are the same"},
    {"postcopy-ram", "the migration may be switched to post-copy, see its line above"},
    {"x-ignore-shared", "RAM that is shared is not sent, so there is less than foretold"},
    {"mapped-ram", "the guest goes into a file, where each page is written over in its place"},
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

void migrate_settings_read(const json_t *capabilities_on, const json_t *parameters,
                           struct migrate_settings *settings)
{
    const json_t *downtime_ms = json_object_get(parameters, "downtime-limit");

    settings->has_capabilities = json_is_array(capabilities_on);
    for (size_t i = 0; i < json_array_size(capabilities_on); i++) {
        const json_t *one = json_array_get(capabilities_on, i);

        if (json_is_true(json_object_get(one, "state")))
            settings->capabilities |= bit_of(json_string_value(json_object_get(one, "capability")));
    }
    settings->bandwidth_bytes_s = speed_of(parameters, "max-bandwidth");
    settings->switchover_bytes_s = speed_of(parameters, "avail-switchover-bandwidth");
    if (json_is_integer(downtime_ms) && json_integer_value(downtime_ms) >= 0 &&
        json_integer_value(downtime_ms) <= 1000LL * MIGRATE_DOWNTIME_MAX_S)
        settings->downtime_s = (double)json_integer_value(downtime_ms) / 1000;
}

void migrate_settings_apply(const struct migrate_settings *settings, struct migrate_terms *terms)
{
    if (isnan(terms->downtime_s))
        terms->downtime_s = isnan(settings->downtime_s) ? MIGRATE_DOWNTIME_DEFAULT_S
                                                        : settings->downtime_s;
    if (terms->bandwidth_bytes_s == 0 && !isnan(settings->bandwidth_bytes_s))
        terms->bandwidth_bytes_s = settings->bandwidth_bytes_s;
    if (!isnan(settings->switchover_bytes_s))
        terms->switchover_bytes_s = settings->switchover_bytes_s;
    if (settings->capabilities & (1U << AUTO_CONVERGE))
        terms->auto_converge = true;
}
