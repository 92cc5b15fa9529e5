// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file large_folios.h  Folios of several pages that page tables map page by page: multi-size THP,
 * and huge pages whose mapping was split, for example because a balloon took a part.
 *
 * The kernel keeps one state for all pages of a folio, such as its generation on the LRU lists,
 * though smaps shows base pages. Source: Documentation/admin-guide/mm/transhuge.rst, "Monitoring
 * usage".
 */
#pragma once

#include "base/fsroot.h"

#include <stdbool.h>

/**
 * Returns true if this host may have any, in any process; false only if the kernel's counters
 * exclude it. Since Linux 6.12 the counters of anonymous memory are of the present; all others
 * count since boot. 6.8 and 6.9 do not count multi-size THP; there it is true if any size is
 * allowed now (hugepages-*kB/enabled).
 */
bool large_folios_exist(const struct fsroot *root);
