// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/migrate_terms.h"

#include "base/parse.h"

static int set_speed(double *speed, const char *option, const char *value)
{
    return parse_speed(value, speed) < 0 ? command_bad_value(option, value, PARSE_SPEED_EXPECTED)
                                         : 0;
}

int migrate_set_bandwidth(void *speed, const char *value)
{
    return set_speed(speed, "--bandwidth", value);
}

int migrate_set_link(void *speed, const char *value)
{
    return set_speed(speed, "--link", value);
}

int migrate_set_zeroes(void *speed, const char *value)
{
    return set_speed(speed, "--zeroes", value);
}

int migrate_terms_check(const struct migrate_terms *terms)
{
    return terms->downtime_s > MIGRATE_DOWNTIME_MAX_S
               ? command_refuse("--downtime: QEMU allows at most %d s", MIGRATE_DOWNTIME_MAX_S)
               : 0;
}
