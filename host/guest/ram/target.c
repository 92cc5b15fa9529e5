// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/ram/target.h"

int target_read_resident(const struct target *target, struct resident_now *now, bool again,
                         struct error *error)
{
    const pid_t pid = target->process->pid;
    int rc;

    if (!target->meter)
        return 0;
    rc = again ? resident_meter_read_again(target->meter, target->root, pid, now)
               : resident_meter_read(target->meter, target->root, pid, now);
    return rc < 0 ? error_set(error, rc, "process %d: its status cannot be read", (int)pid) : 0;
}
