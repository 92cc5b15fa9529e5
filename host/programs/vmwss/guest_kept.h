// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_kept.h  What the history has of one guest now: vmwssd's last record, and what its
 * agent reported to vmwssd, while no other client can ask it.
 */
#pragma once

#include "guest/agent/agent_last_report.h"
#include "history/history.h"

struct guest_kept {
    bool has_record, has_report;
    double record_age_s, report_age_s;
    struct kept_sample sample;
    struct agent_last_report last_report;
};

/**
 * Nothing is old that is there: what is older than five periods, and five minutes, is left out.
 * @param ram_bytes  of the guest, as of agent_message_parse()
 * @return 0; as history_open(), -EUCLEAN, or what is wrong with the agent's lines; then nothing is
 * there
 */
int guest_kept_read(const char *database, const char *uuid, uint64_t ram_bytes,
                    struct guest_kept *kept, struct error *error);
