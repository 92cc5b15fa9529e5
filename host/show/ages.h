// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ages.h  Prints the ages of a guest's pages as two tables, as JSON, or as bars. */
#pragma once

#include "measure/record/ages_record.h"
#include "show/sheet.h"

/** "0s .. 1s", "1s .. 10s", "> 60s" */
void age_bin_label(char *text, size_t size, const struct age_bin *bin);

/** Prints two tables, or one line of JSON with schema vmwss.ages.v1, which has the members of
 * vmwss.sample.v1 and "ages". Returns 0 or -ENOMEM. */
int ages_print(const struct ages_record *record, enum show_format format);
int ages_svg_write(const struct ages_record *record, const char *path, struct error *error);
