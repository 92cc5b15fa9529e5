// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file pagemap_entry.h  The 64 bits of a virtual page in /proc/PID/pagemap.
 *
 * Source: Documentation/admin-guide/mm/pagemap.rst. A swapped entry carries a swap offset where the
 * frame number would be, so PAGEMAP_PRESENT is to be tested first. Without CAP_SYS_ADMIN frame
 * numbers read as 0.
 */
#pragma once

#define PAGEMAP_PRESENT (1ULL << 63)
#define PAGEMAP_SWAPPED (1ULL << 62)
#define PAGEMAP_PFN(entry) ((entry) & ((1ULL << 55) - 1))
