// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_map_private.h  Calls among the files of a map: ram_map.c counts touches,
 * ram_map_writes.c writes. */
#pragma once

#include "measure/record/ram_map.h"

/** Adds the counts of a chunk but for its units, which do not add up. */
void ram_map_add_chunk(struct map_chunk *sum, const struct map_chunk *chunk);

/** Figures of these counts, of which @p pages drawn pages were touched. */
struct map_touched ram_map_touched_of(const struct map_chunk *counted, uint64_t pages);
