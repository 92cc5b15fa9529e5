// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_kept.h  The history's current data of one guest: vmwssd's last record, and the
 * agent's last report to vmwssd, because no other client can ask the agent meanwhile.
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
 * Leaves out data older than both five periods and five minutes.
 * @param ram_bytes RAM of the guest,
 * as for agent_message_parse()
 * @return 0; as history_open(), -EUCLEAN, or the error in the agent's
 * lines; then *kept is empty
 */
int guest_kept_read(const char *database, const char *uuid, uint64_t ram_bytes,
                    struct guest_kept *kept, struct error *error);
