// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file sample_row.h  The way back from a row of the table sample to the record. */
#pragma once

#include "keep/history.h"

#include <sqlite3.h>

#define SAMPLE_COLUMNS                                                                      \
    "g.host, g.name, g.uuid, s.time_ms, s.period_s, s.precision, s.pid, s.accel, s.method," \
    " s.mode, s.samples, s.granularity_bytes, s.ram_bytes, s.resident_bytes,"               \
    " s.unmeasurable_bytes, s.vcpu_s, s.cpu_s, s.paused_s, s.flags, s.windows, s.ages"
#define SAMPLE_N_COLUMNS 21
#define SAMPLE_FROM "guest g JOIN sample s ON s.guest_id = g.id"

/** From columns 0 .. SAMPLE_N_COLUMNS. -EUCLEAN */
int sample_row_read(sqlite3_stmt *statement, struct kept_sample *kept);
