// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file large_folios.h  Large folios that page tables map by base pages: multi-size THP, and huge
 * pages whose mapping was split, for example because a balloon took a part.
 *
 * The kernel keeps one state for all pages of a folio, such as its generation on the LRU lists,
 * though smaps shows base pages. Source: Documentation/admin-guide/mm/transhuge.rst, "Monitoring
 * usage".
 */
#pragma once

#include "base/fsroot.h"

#include <stdbool.h>

/**
 * Returns false only if the kernel's counters show that no process has such folios. Since Linux
 * 6.12 the counters of anonymous memory show the present; all others count since boot. Linux 6.8
 * and 6.9 do not count multi-size THP; for them it is true if any size is allowed now
 * (hugepages-*kB/enabled).
 */
bool large_folios_exist(const struct fsroot *root);
