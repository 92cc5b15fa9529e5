// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file flag_memory.h Remembers each disturbance of a panel for as long as one of its windows
 * includes it.
 *
 * A record's own flags describe the moment at which it is made. But its windows may cover an hour,
 * and so include a dump that read all of RAM half an hour ago. Pure: no clock, no descriptors.
 */
#pragma once

#include "measure/record/ages_record.h"

#define FLAG_MEMORY_BITS 32

/** Zeroed: no disturbance. */
struct flag_memory {
    /* flags seen at the last scan. If one is missing at the next scan, it ended in between */
    unsigned lasting;
    unsigned known; /* flags seen since the beginning */
    double last_s[FLAG_MEMORY_BITS];
};

/**
 * Notes a disturbance that happens now, or has just happened.
 * @param flags  enum sample_flag; flags that do not describe an event (thp, partial...) are ignored
 * @param now_s  on the clock of the panel
 */
void flag_memory_note(struct flag_memory *memory, unsigned flags, double now_s);

/** Notes a scan. @p flags: the disturbances that the scan found in progress; @p now_s as above. */
void flag_memory_scan(struct flag_memory *memory, unsigned flags, double now_s);

/**
 * Adds to a record the disturbances within each window. If QEMU may have read all of RAM
 * (migrating, dump), the guest's touches cannot be distinguished from these reads: the lower bound
 * is then that of the longest window without such reads. If DAMON may have taken the bits on which
 * the method relies, the upper bound is all resident memory.
 * @param now_s  when the panel was read
 */
void flag_memory_apply(const struct flag_memory *memory, struct sample_record *record,
                       double now_s);

/** As flag_memory_apply(), for a record with ages: the age of bytes that were last touched at or
 * before a disturbance is then unknown. */
void flag_memory_apply_ages(const struct flag_memory *memory, struct ages_record *record,
                            double now_s);

/** Applies a single measurement's own flags to each of its windows, because the time of the
 * disturbance is not known. */
void flag_memory_apply_own(struct sample_record *record);
