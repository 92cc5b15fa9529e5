// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file shrink_guest.h  The guest of the memory shrinking experiment: its balloon, which a guardian
 * process restores if this process dies, and its statistics.
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
    struct run_lock lock; /* the lock of vmwss-balloond, which cannot run meanwhile */
    struct guardian *guardian;
    struct domain_connection *libvirt;
    struct agent_way way;
    enum guest_stats_source source;
    struct domain_memory memory; /* as last read */
    uint64_t full_bytes;
};

/** The struct must be zeroed except for uri. Locks, connects, and finds the guest and a source of
 * statistics; changes nothing. Returns 0; or a negative errno with the object and the remedy. Call
 * shrink_guest_end() in any case. */
int shrink_guest_begin(struct shrink_guest *guest, const struct fsroot *root, const char *domain,
                       struct error *error);

/** Reads guest->memory again. Returns 0; -ENOENT: the guest is gone, or was restarted; or libvirt's
 * error. */
int shrink_guest_refresh(struct shrink_guest *guest, struct error *error);

/** Reads guest->memory and one report from the guest's source. Returns 0; -ENODATA: there is no
 * report, or none with the available memory; -EBUSY: another job runs on the domain, so libvirt
 * reports no statistics; or as above. */
int shrink_guest_look(struct shrink_guest *guest, struct guest_report *report, struct error *error);

/** Computes the guest's reading between @p before (NULL: only now) and @p now. */
struct shrink_reading shrink_guest_reading(const struct shrink_guest *guest,
                                           const struct guest_report *before,
                                           const struct guest_report *now);

/** Sets the balloon's target; from then on the guardian restores it. Returns as
 * domain_memory_set(). */
int shrink_guest_set(struct shrink_guest *guest, uint64_t bytes, struct error *error);

/** Sets the original target; does nothing if nothing was changed, or if the guest was restarted
 * (-ENOENT). Returns as domain_memory_set(): after any error except -ENOENT, shrink_guest_end()
 * leaves the balloon to the guardian, which tries for a minute, and as long as another job runs on
 * the domain. */
int shrink_guest_restore(struct shrink_guest *guest, struct error *error);

void shrink_guest_end(struct shrink_guest *guest);
