// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file sample_json.h  Records for scripts: schema vmwss.sample.v1, one object per line. */
#pragma once

#include "record/sample_record.h"

/** Prints one record to standard output. 0 or -ENOMEM. */
int sample_json_print(const struct sample_record *record);
