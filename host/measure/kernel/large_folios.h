// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file large_folios.h  Folios of several pages that page tables map page by page: multi-size THP,
 * and huge pages whose mapping was split, as where a balloon took a part.
 *
 * What the kernel keeps for a folio, as its generation on the LRU lists, is one for all its pages,
 * though smaps shows base pages. Source: Documentation/admin-guide/mm/transhuge.rst, "Monitoring
 * usage".
 */
#pragma once

#include "base/fsroot.h"

#include <stdbool.h>

/**
 * Does this host have any? Of all processes; false only where the kernel says that there is none:
 * since Linux 6.12 of anonymous memory those there are now, else what was since boot; 6.8 and 6.9
 * count no multi-size THP: there, whether any size is allowed now (hugepages-*kB/enabled).
 */
bool large_folios_exist(const struct fsroot *root);
