// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file shrink_guest.h  The guest of the memory shrinking experiment: its balloon, which a guardian
 * restores should this process die, and its statistics.
 */
#pragma once

#include "base/guardian.h"
#include "base/run_lock.h"
#include "decide/advice/shrink.h"
#include "guest/agent/agent_way.h"
#include "guest/domain/domain_memory.h"
#include "measure/estimate/guest_stats.h"

struct shrink_guest {
    const char *uri;
    struct run_lock lock; /* of vmwss-balloond, which cannot run meanwhile */
    struct guardian *guardian;
    struct domain_connection *libvirt;
    struct agent_way way;
    enum guest_stats_source source;
    struct domain_memory memory; /* as last read */
    uint64_t full_bytes;
};

/** Zeroed but for uri. Locks, connects, and finds the guest and a source of statistics; changes
 * nothing. 0; or a negative errno with the object and the remedy. In any case shrink_guest_end().
 */
int shrink_guest_begin(struct shrink_guest *guest, const struct fsroot *root, const char *domain,
                       struct error *error);

/** Reads guest->memory anew. 0; -ENOENT: the guest is gone, or was restarted; or libvirt's error.
 */
int shrink_guest_refresh(struct shrink_guest *guest, struct error *error);

/** Reads guest->memory and a report of the guest's source once. 0; -ENODATA: there is no report, or
 * none of what is available; -EBUSY: another job on the domain, so libvirt reports no statistics;
 * or as above. */
int shrink_guest_look(struct shrink_guest *guest, struct guest_report *report, struct error *error);

/** What the guest reported between @p before (NULL: only now) and @p now. */
struct shrink_reading shrink_guest_reading(const struct shrink_guest *guest,
                                           const struct guest_report *before,
                                           const struct guest_report *now);

/** Sets the balloon's target; from then on the guardian restores. As domain_memory_set(). */
int shrink_guest_set(struct shrink_guest *guest, uint64_t bytes, struct error *error);

/** Sets the target that it had; nothing when nothing was changed, or the guest was restarted
 * (-ENOENT). As domain_memory_set(): but for -ENOENT then shrink_guest_end() leaves it to the
 * guardian, which tries for a minute, and as long as another job runs on the domain. */
int shrink_guest_restore(struct shrink_guest *guest, struct error *error);

void shrink_guest_end(struct shrink_guest *guest);
