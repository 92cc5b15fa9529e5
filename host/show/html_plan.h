// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file html_plan.h  A plan as one page (html_page.h): charts of the fleet, then tables of its
 * hosts, of moves and of guests.
 *
 * A fleet has thousands of guests, too many for a page. So the page lists only the guests whose
 * size would change the most, and the first moves (html_plan_tables.h), with the total numbers of
 * both. It grows only with the number of hosts, by 0.8 kB each: 1,000 hosts with 20,000 guests and
 * 2,000 moves take less than 2 MB.
 */
#pragma once

#include "base/error.h"
#include "show/plan_shown.h"

#include <stddef.h>

struct html_plan {
    const struct plan_shown *shown;
    char *const *warnings; /* data that was missing when the fleet was read, as text of any bytes */
    size_t n_warnings;
    double now_s; /* Unix time */
};

/** Writes @p path by whole_file_write(). Returns 0, -ENOMEM, or the error of the file, with the
 * message. */
int html_plan_write(const struct html_plan *page, const char *path, struct error *error);
