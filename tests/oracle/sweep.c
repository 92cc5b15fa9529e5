// SPDX-License-Identifier: LGPL-2.1-or-later
#include "sweep.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

/* The slots from window->outer_first on. */
static int read_slots(const struct oracle_map *map, const struct oracle_window *window,
                      struct oracle_slot *slot, uint64_t n, struct error *error)
{
    for (uint64_t i = 0; i < n; i++)
        if (!oracle_map_slot(map, window->outer_first + i, &slot[i]))
            return error_set(error, -ESTALE,
                             "the ring came round while it was read: take more slots");
    return 0;
}

static uint64_t count_present(const struct oracle_frames *frames)
{
    uint64_t n = 0;

    for (uint64_t page = 0; page < frames->n; page++)
        n += frames->frame[page] != 0;
    return n;
}

static uint64_t between(uint64_t begin_ns, uint64_t end_ns, double share)
{
    return begin_ns + (uint64_t)(share * (double)(end_ns - begin_ns));
}

static bool in_window(const struct oracle_slot *slot, uint64_t from_ns, uint64_t to_ns, bool outer)
{
    return outer ? slot->end_realtime_ns > from_ns && slot->begin_realtime_ns < to_ns
                 : slot->begin_realtime_ns >= from_ns && slot->end_realtime_ns <= to_ns;
}

struct sweep {
    const struct oracle_map *map;
    const struct oracle_window *window;
    const struct oracle_slot *slot;
    uint64_t n_slots;
    bool outer;
};

/* @p share of the pages come before this one. */
static uint8_t touched_of(const struct sweep *sweep, uint32_t frame, double share)
{
    const struct oracle_window *w = sweep->window;
    uint64_t from_ns = between(w->from_ns, w->marked_ns, share);
    uint64_t to_ns = between(w->read_ns, w->to_ns, share);
    uint8_t bits = 0;

    for (uint64_t i = 0; i < sweep->n_slots; i++)
        if (in_window(&sweep->slot[i], from_ns, to_ns, sweep->outer))
            bits |= oracle_map_page(sweep->map, sweep->slot[i].sequence, frame);
    return bits;
}

static int sweep_pages(const struct sweep *sweep, const struct oracle_frames *frames,
                       uint8_t *touched, struct error *error)
{
    double present = (double)count_present(frames), before = 0;

    for (uint64_t page = 0; page < frames->n; page++) {
        uint32_t frame = frames->frame[page] & ~ORACLE_FRAME_MOVED;

        touched[page] = 0;
        if (frame >= oracle_map_pages(sweep->map))
            return error_set(error, -EINVAL, "page %llu: frame %u is not of the lab's RAM",
                             (unsigned long long)page, frame);
        if (frames->frame[page] & ORACLE_FRAME_MOVED)
            touched[page] = sweep->outer ? UINT8_MAX : 0;
        else if (frame)
            touched[page] = touched_of(sweep, frame, before / present);
        before += frames->frame[page] != 0;
    }
    return 0;
}

int oracle_sweep(const struct oracle_map *map, const struct oracle_window *window,
                 const struct oracle_frames *frames, bool outer, uint8_t *touched,
                 struct error *error)
{
    uint64_t n = window->outer_last - window->outer_first + 1;
    cleanup_free struct oracle_slot *slot = calloc(n, sizeof(*slot));
    const struct sweep sweep = {map, window, slot, n, outer};
    int rc = slot ? read_slots(map, window, slot, n, error)
                  : error_set(error, -ENOMEM, "no memory for %llu slots", (unsigned long long)n);

    if (rc == 0)
        rc = sweep_pages(&sweep, frames, touched, error);
    return rc < 0 ? rc : read_slots(map, window, slot, n, error);
}
