// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file map_series.h  Maps of guest RAM, period after period: an address x time heat map. */
#pragma once

#include "measure/record/ram_map.h"
#include "measure/record/sample_record.h"

struct map_period {
    struct ram_map map; /* map of one window */
    struct sample_record record;
};

/** All maps have the same pages, cut into the same chunks. */
struct map_series {
    struct map_period *period;
    size_t n;
};

/** Maximum number of chunks of all periods together, at some 64 bytes each. */
#define MAP_SERIES_MAX_CELLS RAM_MAP_MAX_CHUNKS

/** Appends a period; the series then owns the content of @p map, which becomes empty. -E2BIG: there
 * would be more than MAP_SERIES_MAX_CELLS; -ENOMEM. After an error the caller still owns @p map. */
int map_series_add(struct map_series *series, struct ram_map *map,
                   const struct sample_record *record);
void map_series_free(struct map_series *series);

/** Unix time at which the first period began. The series must have one. */
double map_series_begin_s(const struct map_series *series);

/** The record of the last period, but with the flags of all periods, and the totals of vcpu_s and
 * cpu_s. */
struct sample_record map_series_head(const struct map_series *series);

/** Flags that some periods have, but not all. */
unsigned map_series_some_flags(const struct map_series *series);

/** The largest error of a chunk's touched share: the wider side of its 95 % interval; 0 for a
 * census without unmeasurable pages. */
double map_series_widest(const struct map_series *series);
