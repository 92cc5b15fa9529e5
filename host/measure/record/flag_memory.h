// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file flag_memory.h  What disturbed a panel, for as long as one of its windows reaches back over
 * it.
 *
 * A record's own flags are those of the moment it is made. Touches of an hour are in it, and a dump
 * that read all of RAM half an hour ago is among them. Pure: no clock, no descriptors.
 */
#pragma once

#include "measure/record/ages_record.h"

#define FLAG_MEMORY_BITS 32

/** Zeroed: nothing happened. */
struct flag_memory {
    unsigned lasting; /* seen at the last scan: what is gone at the next ended in between */
    unsigned known;   /* ever seen */
    double last_s[FLAG_MEMORY_BITS];
};

/**
 * Something happens, or has just happened.
 * @param flags  enum sample_flag; those that say nothing of the past (thp, partial...) are left out
 * @param now_s  on the clock of the panel
 */
void flag_memory_note(struct flag_memory *memory, unsigned flags, double now_s);

/** A scan: @p flags are what it finds going on. As above. */
void flag_memory_scan(struct flag_memory *memory, unsigned flags, double now_s);

/**
 * Adds to a record what happened within each window. Where all of RAM may have been read
 * (migrating, dump) touches of the guest cannot be distinguished from those: then at least what the
 * longest window without them touched was. Where DAMON may have taken what the method waits for, at
 * most all that is resident was.
 * @param now_s  when the panel was read
 */
void flag_memory_apply(const struct flag_memory *memory, struct sample_record *record,
                       double now_s);

/** Likewise to a record with ages: of bytes last touched then or before nothing is known any
 * more. */
void flag_memory_apply_ages(const struct flag_memory *memory, struct ages_record *record,
                            double now_s);

/** Of one measurement: what its own flags say happened within each of its windows, for it is not
 * known when. */
void flag_memory_apply_own(struct sample_record *record);
