// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file actuator_virtio_mem.c  virtio-mem: memory that the guest unplugs in whole blocks. See
 * actuators.h. */
#include "base/bytes.h"
#include "decide/control/control_words.h"

#include <stdio.h>

#define SELF ACTUATOR_VIRTIO_MEM

/* A device that may not be used, but was lowered before, must be restored. A guest that has not
 * plugged the requested size has no driver, or has not finished yet. */
static bool is_used(const struct actuator_device *device, bool allowed)
{
    const struct domain_virtio_mem *found = &device->found;

    return found->n == 1 && (device->before_bytes > 0 ||
                             (allowed && found->current_bytes == found->requested_bytes));
}

/* Never requests more than was requested before our first target: the owner keeps the rest of the
 * device in reserve. */
static const char *set_limits(const struct actuator_device *device, bool allowed,
                              struct actuator *limits)
{
    const struct domain_virtio_mem *found = &device->found;
    bool uses = is_used(device, allowed);
    uint64_t most = uses ? larger(found->requested_bytes, device->before_bytes) : 0;

    *limits = (struct actuator){.least_bytes = allowed ? 0 : found->current_bytes,
                                .most_bytes = larger(most, found->current_bytes),
                                .block_bytes = found->block_bytes,
                                .current_bytes = found->current_bytes};
    if (uses || !allowed)
        return uses ? NULL : "";
    return found->n > 1 ? "the domain has more than one device"
                        : "the guest has not plugged what is requested";
}

static int order(const struct actuator_hands *hands, const struct control_guest *guest,
                 struct error *error)
{
    uint64_t bytes = guest->set_bytes[SELF];

    if (guest->limits[SELF].most_bytes == 0 || guest->action == CONTROL_RECLAIM ||
        bytes == hands->devices[SELF].found.requested_bytes)
        return 0;
    return domain_virtio_mem_request(hands->libvirt, hands->uuid, bytes, error);
}

static int restore(struct domain_connection *libvirt, const char *uuid, uint64_t bytes,
                   struct domain_virtio_mem *device, struct error *error)
{
    *device = (struct domain_virtio_mem){0};
    domain_virtio_mem_read(libvirt, uuid, device, NULL);
    if (device->n != 1 || device->requested_bytes >= bytes)
        return 0;

    int rc = domain_virtio_mem_request(libvirt, uuid, bytes, error);

    return rc < 0 ? rc : 1;
}

static const char *trouble(const struct control_guest *guest)
{
    return guest->state.trouble == TROUBLE_NO_DRIVER
               ? "inhibited: the guest unplugs no block of its virtio-mem: it has no driver, or "
                 "what is in them cannot be moved"
               : "inhibited: its virtio-mem is unplugged, and the host gets nothing back";
}

static void explain(char *text, size_t size, const struct control_policy *policy,
                    const struct control_host *host, const struct control_guest *guest)
{
    (void)policy, (void)host;
    if (guest->refused[SELF])
        snprintf(text, size, "its virtio-mem is left alone: %s", guest->refused[SELF]);
    if (guest->limits[SELF].most_bytes > 0 && guest->action != CONTROL_NONE &&
        guest->action != CONTROL_RECLAIM)
        snprintf(text, size,
                 "of virtio-mem %.0f of %.0f MiB are requested, its balloon leaves %.0f",
                 control_mib(guest->set_bytes[SELF]), control_mib(guest->limits[SELF].most_bytes),
                 control_mib(guest->target_bytes - guest->set_bytes[SELF]));
}

static uint64_t ordered(const struct control_guest *guest)
{
    return guest->limits[SELF].most_bytes > 0 ? guest->set_bytes[SELF] : DECIDE_UNKNOWN;
}

const struct actuator_operations actuator_virtio_mem = {
    .name = "virtio-mem",
    .read = domain_virtio_mem_read,
    .limits = set_limits,
    .order = order,
    .restore = restore,
    .trouble = trouble,
    .explain = explain,
    .ordered = ordered,
    .ordered_column = {"plug_bytes", "of that requested of virtio-mem",
                       "vmwss_balloon_virtio_mem_bytes",
                       ACTUATOR_DECIDED
                       "what of the target is requested of the guest's virtio-mem; in a dry run "
                       "what it would be."},
    .before_column = "plug_bytes",
};
