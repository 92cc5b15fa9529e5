// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest.c  Opens a guest by pid, without libvirt. For opening by name see guest_domain.c. */
#include "guest/domain/domain.h"

#include <string.h>

int guest_open_pid(const struct fsroot *root, pid_t pid, struct guest *out, struct error *error)
{
    memset(out, 0, sizeof(*out));

    int rc = qemu_process_open(root, pid, &out->process, error);

    if (rc < 0)
        return rc;
    memcpy(out->name, out->process.config.name, sizeof(out->name));
    memcpy(out->uuid, out->process.config.uuid, sizeof(out->uuid));
    out->owner = out->process.owner;
    ram_config_move(&out->ram, &out->process.config.ram);
    return 0;
}

int guest_reopen(const struct fsroot *root, struct guest *guest, struct error *error)
{
    struct guest fresh;
    int rc = guest_open_pid(root, guest->process.pid, &fresh, error);

    if (rc < 0)
        return rc;
    qemu_process_renew(&guest->process, &fresh.process);
    if (!guest->from_libvirt) {
        const struct qemu_cmdline config = guest->process.config;

        guest->process.config = fresh.process.config;
        fresh.process.config = config;
        ram_config_move(&guest->ram, &fresh.ram);
    }
    guest_close(&fresh);
    return 0;
}

void guest_move(struct guest *to, struct guest *from)
{
    *to = *from;
    *from = (struct guest){.process.pidfd = -1};
}

void guest_close(struct guest *guest)
{
    qemu_process_close(&guest->process);
    ram_config_free(&guest->ram);
}
