// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/record/map_series.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int map_series_add(struct map_series *series, struct ram_map *map,
                   const struct sample_record *record)
{
    struct map_period *grown;

    if ((series->n + 1) * map->n_chunks > MAP_SERIES_MAX_CELLS)
        return -E2BIG;
    grown = array_grow(series->period, series->n, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    series->period = grown;
    series->period[series->n++] = (struct map_period){*map, *record};
    *map = (struct ram_map){0};
    return 0;
}

void map_series_free(struct map_series *series)
{
    for (size_t i = 0; i < series->n; i++)
        ram_map_free(&series->period[i].map);
    free(series->period);
    *series = (struct map_series){0};
}

double map_series_begin_s(const struct map_series *series)
{
    const struct sample_record *first = &series->period[0].record;

    return timespec_s(&first->time) - first->windows[0].window_s;
}

static double widest_of(const struct ram_map *map)
{
    double widest = 0;

    for (size_t c = 0; c < map->n_chunks; c++) {
        const struct map_touched touched = ram_map_touched(map, c, 0);
        uint64_t wider = larger(touched.high_bytes - touched.bytes,
                                touched.bytes - smaller(touched.low_bytes, touched.bytes));

        widest = fmax(widest, (double)wider / (double)ram_map_figures(map, c).bytes);
    }
    return widest;
}

double map_series_widest(const struct map_series *series)
{
    double widest = 0;

    for (size_t i = 0; i < series->n; i++)
        widest = fmax(widest, widest_of(&series->period[i].map));
    return widest;
}

struct sample_record map_series_head(const struct map_series *series)
{
    struct sample_record head = series->period[series->n - 1].record;

    for (size_t i = 0; i + 1 < series->n; i++) {
        const struct sample_record *record = &series->period[i].record;

        head.flags |= record->flags;
        head.vcpu_s += record->vcpu_s;
        head.cpu_s += record->cpu_s;
    }
    return head;
}

unsigned map_series_some_flags(const struct map_series *series)
{
    unsigned any = 0, all = ~0U;

    for (size_t i = 0; i < series->n; i++) {
        any |= series->period[i].record.flags;
        all &= series->period[i].record.flags;
    }
    return any & ~all;
}
