// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file sample_table.h  Records for people. */
#pragma once

#include "record/sample_record.h"

/** Prints one record, a row for each window, to standard output. */
void sample_table_print(const struct sample_record *record, bool heading);
