// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/read_writes.h"

#include "decide/plan/writes.h"
#include "history/writes.h"

#include <errno.h>
#include <stdlib.h>

/* Finds, or makes, what a guest of the roster writes, in the fleet. Returns 1; 0: the guest has
 * ended, or too little else is known of it to foretell its migration; -ENOMEM. */
static int writes_of(struct plan_fleet *fleet, const struct roster *roster,
                     const struct roster_guest *guest, struct plan_writes **writes)
{
    const struct roster_row *row = &roster->rows[guest->latest];

    if (guest->number >= fleet->n_guests || row->resident_bytes == 0 || row->accel == ACCEL_UNKNOWN)
        return 0;
    if (!fleet->writes[guest->number])
        fleet->writes[guest->number] = plan_writes_make();
    *writes = fleet->writes[guest->number];
    if (!*writes)
        return -ENOMEM;
    (*writes)->resident_bytes = row->resident_bytes;
    (*writes)->kvm = row->accel == ACCEL_KVM;
    return 1;
}

struct one_guest {
    const struct plan_writes_reading *from;
    const struct roster_guest *guest;
};

static int see_curve(const struct kept_writes *kept, void *context)
{
    const struct one_guest *one = context;
    struct plan_writes *writes;
    int rc = writes_of(one->from->fleet, one->from->roster, one->guest, &writes);

    if (rc == 1)
        plan_writes_add(writes, kept->time_s, &kept->curve);
    return rc < 0 ? rc : 0;
}

int plan_read_writes(const struct plan_writes_reading *from, struct store *store,
                     struct error *error)
{
    const struct roster *roster = from->roster;
    const struct history_query query = {.from_s = from->fleet->from_s, .to_s = from->reading->to_s};
    int rc = 0;

    for (size_t r = 0; from->reading->writes && rc == 0 && r < roster->n_rows; r++) {
        const struct roster_row *row = &roster->rows[r];
        struct one_guest one = {from, &roster->guests[row->guest]};

        if (row->source == from->source)
            rc = history_writes(store, row->id, &query, see_curve, &one, error);
    }
    return rc == -ENOMEM ? error_set(error, rc, "out of memory") : rc;
}
