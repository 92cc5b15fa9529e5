// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_view.h  One guest as `vmwss guest` shows it, with the host's data and the guest's
 * statistics separated. */
#pragma once

#include "guest/agent/agent_report.h"
#include "guest/domain/domain_memory.h"
#include "measure/record/sample_record.h"

struct guest_view {
    const char *domain, *uuid;
    pid_t pid;
    double unix_s;
    /* From the host: */
    uint64_t assigned_bytes;
    uint64_t resident_bytes; /* AGENT_UNKNOWN: it could not be read */
    /* reported by the balloon driver in the guest, except for the maximum */
    struct domain_memory memory;
    /* vmwssd's last record; NULL: there is none, or it is not recent */
    const struct sample_record *record;
    double record_age_s;
    /* From the agent: */
    const struct agent_hello *hello;   /* NULL: no data from an agent; missing has the reason */
    const struct agent_report *before; /* the previous report, of the same boot; or NULL */
    const struct agent_report *report;
    const struct agent_top *top; /* NULL: no report */
    /* age of the last report to vmwssd; NAN: the agent was queried just now */
    double report_age_s;
    const char *unavailable;
    struct guest_stats stats; /* computed by the host */
};

/** Prints tables for people; each row names its source. */
void guest_view_print(const struct guest_view *view);

/** Prints one line, schema vmwss.guest.v1. Returns 0 or -ENOMEM. */
int guest_view_print_json(const struct guest_view *view);
