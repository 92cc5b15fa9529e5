// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file sample_table.h  A sample record as a table for people. */
#pragma once

#include "measure/record/sample_record.h"

/** One row per window, with the age of the record. */
void sample_table_print(const struct sample_record *record, bool heading);

/** The same of one of a series: with its time instead, which tells the rows apart. */
void sample_table_print_series(const struct sample_record *record, bool heading);

/** The domain's name, made printable, or "pid N". */
void sample_name(char *text, size_t size, const struct sample_record *record);

/** "idle census", "zap n=2000". */
void sample_method(char *text, size_t size, const struct sample_record *record);

/** What stands once above a curve: the guest, its memory, the method, the flags. */
void sample_head_print(const struct sample_record *record);

/** The same in short, for below the title of a picture. */
void sample_subtitle(char *text, size_t size, const struct sample_record *record);

/** The same for a picture, which is looked at elsewhere and later: "HOST, TIME: 449.1 MiB resident
 * of ...". */
void sample_picture_subtitle(char *text, size_t size, const struct sample_record *record);

/** The wider side of an interval that need not be symmetric. */
uint64_t window_half_width(const struct window_record *window);

/** The working set as a share of what is resident, 0 .. 1, as the columns beside it have it;
 * touched_fraction is one of what could be measured. NAN where more was resident when that window
 * was read. */
double window_share(const struct sample_record *record, const struct window_record *window);

/** "16.6%", or "-". */
char *window_share_text(char *text, size_t size, const struct sample_record *record,
                        const struct window_record *window);
