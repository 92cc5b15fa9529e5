// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report.h  Prints a report as tables, one JSON object, or CSV. */
#pragma once

#include "history/report.h"
#include "show/sheet.h"

/** Returns 0 or -ENOMEM. */
int report_print(const struct report *report, enum show_format format);
