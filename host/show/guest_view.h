// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_view.h  One guest as `vmwss guest` shows it: what the host knows, and the guest's
 * statistics, kept apart. */
#pragma once

#include "guest/agent/agent_report.h"
#include "guest/domain/domain_memory.h"
#include "measure/record/sample_record.h"

struct guest_view {
    const char *domain, *uuid;
    pid_t pid;
    double unix_s;
    /* The host's. */
    uint64_t assigned_bytes;
    uint64_t resident_bytes;     /* AGENT_UNKNOWN: could not be seen */
    struct domain_memory memory; /* by the balloon's driver in the guest, but for the maximum */
    const struct sample_record *record; /* the last that vmwssd made; NULL: none of late */
    double record_age_s;
    /* The agent's. */
    const struct agent_hello *hello;   /* NULL: nothing from an agent, and missing says why */
    const struct agent_report *before; /* the one before, of the same boot, or NULL */
    const struct agent_report *report;
    const struct agent_top *top; /* NULL without a report */
    double report_age_s;         /* of the last report to vmwssd; NAN: it was asked just now */
    const char *unavailable;
    struct guest_stats stats; /* what the host makes of it */
};

/** For people: tables, each row with whose word it is. */
void guest_view_print(const struct guest_view *view);

/** Schema vmwss.guest.v1, one line. 0 or -ENOMEM. */
int guest_view_print_json(const struct guest_view *view);
