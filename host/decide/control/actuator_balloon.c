// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file actuator_balloon.c  The balloon: pages that the guest's driver gives up one by one. It
 * sets the part of the guest's size that other actuators do not. See actuators.h. */
#include "decide/control/control_words.h"
#include "guest/domain/domain_memory.h"

#define SELF ACTUATOR_BALLOON

/* A balloon that has its size, and is not moving, is left alone beside another actuator. */
static int order(const struct actuator_hands *hands, const struct control_guest *guest,
                 struct error *error)
{
    const struct actuator *limits = &guest->limits[SELF];
    uint64_t bytes = guest->set_bytes[SELF];

    if (guest->action == CONTROL_RECLAIM)
        return 0;
    if (!control_is_split(guest))
        return domain_memory_set(hands->libvirt, hands->uuid, guest->target_bytes, error);
    if (limits->least_bytes == limits->most_bytes ||
        (bytes == limits->current_bytes && !guest->state.moving))
        return 0;
    return domain_balloon_set(hands->libvirt, hands->uuid, bytes, error);
}

static const char *trouble(const struct control_guest *guest)
{
    if (guest->state.trouble == TROUBLE_NO_RETURN)
        return "inhibited: its balloon inflates, and the host gets nothing back";
    return guest->state.has_driver
               ? "inhibited: its balloon moved before, and did not for its last targets: the guest "
                 "has nothing left to give, its driver is stuck, or another program sets it back "
                 "at once"
               : "inhibited: its balloon does not move: the guest has no driver for it, or another "
                 "program sets it back at once";
}

const struct actuator_operations actuator_balloon = {
    .name = "balloon",
    .order = order,
    .trouble = trouble,
};
