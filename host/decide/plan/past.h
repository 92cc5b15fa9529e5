// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file past.h  What guests that have ended needed on a host. They are off when the plan is made,
 * but may come back, as an office machine does in the morning, or be followed by others, as the
 * guests of nightly tests are.
 *
 * Each ended guest has a series of its own only while the fleet is read, for it lived for a part of
 * the time. Then they are added up: a host has one series for all of them. Before the first record
 * of any of them it is not known, and filled in as that of a guest is (prepare.h). Where it is
 * known, and a guest that runs is not yet and was filled in, that may be the successor of one that
 * has ended: of the two the larger counts, not the sum.
 */
#pragma once

#include "decide/plan/fleet.h"

/** Makes room for guests that have ended: numbers n_guests .. n_guests + n - 1 of plan_note().
 * Returns 0 or -ENOMEM. */
int plan_ended_make(struct plan_fleet *fleet, size_t n);

/** Gives one of them, 0 .. n - 1, its host and the time in which it may have lived. Returns 0 or
 * -ENOMEM. */
int plan_ended_span(struct plan_fleet *fleet, size_t ended, size_t host, double from_s,
                    double to_s);

/** Adds the ended guests up into fleet->past, and frees them. Returns 0 or -ENOMEM. */
int plan_past_sum(struct plan_fleet *fleet);

/** Returns the host's series: codes of past.unit_bytes. */
uint8_t *plan_past_series(const struct plan_fleet *fleet, size_t host);

/** Copies the host's series, as bytes, to @p bytes, and back; the largest does not grow. A negative
 * value is not known. */
void plan_past_read(const struct plan_fleet *fleet, size_t host, float *bytes);
void plan_past_write(struct plan_fleet *fleet, size_t host, const float *bytes);
