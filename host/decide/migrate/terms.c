// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/migrate/terms.h"

/* Uncertainties of what was not measured: a connection shares its host, and moves. */
#define BANDWIDTH_SHARE 0.05
#define LINK_SHARE 0.25
#define STATE_TIMES 3
/* Zero and absent memory is read at both ends; absent memory by a page fault each. */
#define ZEROES_BYTES_S 4e9
#define ZEROES_TIMES 4
#define ZEROES_GIVEN_TIMES 1.5
static double or_default(double value, double otherwise)
{
    return value > 0 ? value : otherwise;
}

static struct migrate_throttle throttle_of(const struct migrate_throttle *given)
{
    static const struct migrate_throttle own = MIGRATE_THROTTLE_DEFAULT;

    return (struct migrate_throttle){
        .first = or_default(given->first, own.first),
        .step = or_default(given->step, own.step),
        .most = or_default(given->most, own.most),
        .trigger = or_default(given->trigger, own.trigger),
    };
}

static struct migrate_range within(double value, double share)
{
    return (struct migrate_range){value, value * (1 - share), value * (1 + share)};
}

static struct migrate_range times(double value, double factor)
{
    return (struct migrate_range){value, value / factor, value * factor};
}

struct migrate_path migrate_path_of(const struct migrate_terms *terms, bool kvm)
{
    const double bandwidth = or_default(terms->bandwidth_bytes_s, MIGRATE_BANDWIDTH_DEFAULT);
    const bool has_link = terms->link_bytes_s > 0;
    const bool given = terms->zeroes_bytes_s > 0;
    const double zeroes = or_default(terms->zeroes_bytes_s, ZEROES_BYTES_S);

    return (struct migrate_path){
        .bandwidth_bytes_s = within(bandwidth, BANDWIDTH_SHARE),
        .link_bytes_s = within(has_link ? terms->link_bytes_s : bandwidth,
                               has_link ? LINK_SHARE : BANDWIDTH_SHARE),
        .switchover_bytes_s = terms->switchover_bytes_s,
        .downtime_s = terms->downtime_s,
        .device_s = times(terms->state_s, STATE_TIMES),
        .zero_page_s = times(MIGRATE_PAGE_BYTES / zeroes,
                             given ? ZEROES_GIVEN_TIMES : ZEROES_TIMES),
        .tracks_pieces = kvm,
        .auto_converge = terms->auto_converge,
        .throttle = throttle_of(&terms->throttle),
        .unforetold = terms->unforetold,
    };
}
