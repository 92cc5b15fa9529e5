// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file sample_table.h  A sample record as a table for people. */
#pragma once

#include "measure/record/sample_record.h"

/** Prints one row for each window, with the age of the record. */
void sample_table_print(const struct sample_record *record, bool heading);

/** Prints a record of a series, with its time instead of its age, so that rows can be
 * distinguished. */
void sample_table_print_series(const struct sample_record *record, bool heading);

/** Writes the domain's name, made printable, or "pid N". */
void sample_name(char *text, size_t size, const struct sample_record *record);

/** Writes "idle census", "zap n=2000". */
void sample_method(char *text, size_t size, const struct sample_record *record);

/** Prints the head above a curve: the guest, its memory, the method, the flags. */
void sample_head_print(const struct sample_record *record);

/** Writes a short form of that head, as the subtitle of a picture. */
void sample_subtitle(char *text, size_t size, const struct sample_record *record);

/** Writes a subtitle that also names host and time, because the picture may be viewed elsewhere and
 * later: "HOST, TIME: 449.1 MiB resident of ...". */
void sample_picture_subtitle(char *text, size_t size, const struct sample_record *record);

/** Chooses the windows that have columns: the shortest, a middle one, the longest. Returns their
 * number. */
#define SAMPLE_COLUMN_WINDOWS 3
size_t sample_choose_windows(const struct sample_record *record,
                             double window_s[SAMPLE_COLUMN_WINDOWS]);

/** Returns the wider side of an interval, which need not be symmetric. */
uint64_t window_half_width(const struct window_record *window);

/** Returns the working set as a share of resident memory (0 .. 1), to match the other columns;
 * touched_fraction is a share of measurable memory instead. NAN if more memory was resident when
 * the window was read. */
double window_share(const struct sample_record *record, const struct window_record *window);

/** "16.6%", or "-". */
char *window_share_text(char *text, size_t size, const struct sample_record *record,
                        const struct window_record *window);
