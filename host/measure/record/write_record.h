// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file write_record.h  The write working set in a record. */
#pragma once

#include "measure/record/sample_record.h"

/** Turns the windows of a record that a method for writes has measured into the record's curve of
 * writes (sample_record.writes), at most WRITE_POINTS_MAX of them. The record then has no windows:
 * it says nothing about the working set. */
void write_record_take(struct sample_record *record);
