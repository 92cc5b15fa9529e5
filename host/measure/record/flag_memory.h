// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file flag_memory.h  Remembers disturbances of a panel for as long as one of its windows reaches
 * back to them.
 *
 * A record's own flags belong to the moment at which it is made. But its touches may cover an hour,
 * and include a dump that read all of RAM half an hour ago. Pure: no clock, no descriptors.
 */
#pragma once

#include "measure/record/ages_record.h"

#define FLAG_MEMORY_BITS 32

/** Zeroed: no disturbance. */
struct flag_memory {
    /* flags seen at the last scan; a flag missing at the next scan ended in between */
    unsigned lasting;
    unsigned known; /* flags ever seen */
    double last_s[FLAG_MEMORY_BITS];
};

/**
 * Notes a disturbance that happens now, or has just happened.
 * @param flags  enum sample_flag; flags that say nothing about the past (thp, partial...) are left
 * out
 * @param now_s  on the clock of the panel
 */
void flag_memory_note(struct flag_memory *memory, unsigned flags, double now_s);

/** Notes a scan: @p flags are the disturbances that it finds going on; @p now_s as above. */
void flag_memory_scan(struct flag_memory *memory, unsigned flags, double now_s);

/**
 * Adds to a record the disturbances within each window. If all of RAM may have been read
 * (migrating, dump), the guest's touches cannot be distinguished from those reads: the lower bound
 * is then that of the longest window without them. If DAMON may have taken the bits on which the
 * method relies, the upper bound is all resident memory.
 * @param now_s  when the panel was read
 */
void flag_memory_apply(const struct flag_memory *memory, struct sample_record *record,
                       double now_s);

/** As flag_memory_apply(), for a record with ages: nothing is known any more about bytes last
 * touched at that time or before. */
void flag_memory_apply_ages(const struct flag_memory *memory, struct ages_record *record,
                            double now_s);

/** For a single measurement: applies its own flags to each of its windows, because the time of the
 * disturbance is not known. */
void flag_memory_apply_own(struct sample_record *record);
