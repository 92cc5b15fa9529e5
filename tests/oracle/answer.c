// SPDX-License-Identifier: LGPL-2.1-or-later
#include "answer.h"
#include "layout.h"
#include "sweep.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
    DATA = 1 << ORACLE_DATA,
    FETCH = 1 << ORACLE_FETCH,
    TRANSLATE = 1 << ORACLE_TRANSLATE,
    HOST = 1 << ORACLE_HOST,
    WALK = 1 << ORACLE_WALK,
    STORE = 1 << ORACLE_STORE,
};

/* As text, with all its digits, and in the form that --from and --to take. */
static json_t *time_text(uint64_t ns)
{
    return json_sprintf("%.6f", (double)ns / 1e9);
}

/* Pages touched in one of these ways, and in none of those. */
static json_t *count(const uint8_t *touched, uint64_t pages, unsigned kinds, unsigned never)
{
    uint64_t small = 0, huge = 0, last = UINT64_MAX;
    json_t *object = json_object();

    for (uint64_t page = 0; page < pages; page++) {
        if (!(touched[page] & kinds) || touched[page] & never)
            continue;
        small++;
        huge += page / ORACLE_HUGE_PAGES != last;
        last = page / ORACLE_HUGE_PAGES;
    }
    json_object_set_new(object, "pages", json_integer((json_int_t)small));
    json_object_set_new(object, "bytes", json_integer((json_int_t)(small * ORACLE_PAGE_BYTES)));
    json_object_set_new(object, "huge_pages", json_integer((json_int_t)huge));
    json_object_set_new(object, "huge_bytes",
                        json_integer((json_int_t)(huge * ORACLE_HUGE_PAGES * ORACLE_PAGE_BYTES)));
    return object;
}

/* The slots of one bound, and the pages that they show touched. */
struct bound {
    uint64_t first, last, from_ns, to_ns;
    uint64_t pages;
    uint8_t *touched;
};

static json_t *bound_object(const struct bound *bound, bool lab)
{
    json_t *object = json_object();
    bool none = bound->first > bound->last;
    uint64_t slots = none ? 0 : bound->last - bound->first + 1;

    json_object_set_new(object, "slots", json_integer((json_int_t)slots));
    json_object_set_new(object, "first_slot",
                        none ? json_null() : json_integer((json_int_t)bound->first));
    json_object_set_new(object, "last_slot",
                        none ? json_null() : json_integer((json_int_t)bound->last));
    json_object_set_new(object, "from", time_text(bound->from_ns));
    json_object_set_new(object, "to", time_text(bound->to_ns));
    json_object_set_new(object, "data", count(bound->touched, bound->pages, DATA, 0));
    json_object_set_new(object, "fetch", count(bound->touched, bound->pages, FETCH, 0));
    json_object_set_new(object, "both", count(bound->touched, bound->pages, DATA | FETCH, 0));
    json_object_set_new(object, "stores", count(bound->touched, bound->pages, STORE, 0));
    json_object_set_new(object, "visible",
                        count(bound->touched, bound->pages,
                              lab ? DATA | FETCH | HOST | WALK : DATA | TRANSLATE, 0));
    if (lab) {
        json_object_set_new(object, "host",
                            count(bound->touched, bound->pages, HOST, DATA | FETCH));
        json_object_set_new(object, "tables",
                            count(bound->touched, bound->pages, WALK, DATA | FETCH | HOST));
    }
    return object;
}

/* Replaces the bytes of all frames of the map by those of the guest's pages. */
static int take_frames(struct bound *bound, const struct oracle_frames *frames, uint8_t moved,
                       struct error *error)
{
    uint8_t *of_guest = calloc(frames->n ? frames->n : 1, 1);

    if (!of_guest)
        return error_set(error, -ENOMEM, "no memory for %llu pages", (unsigned long long)frames->n);
    for (uint64_t page = 0; page < frames->n; page++) {
        uint32_t frame = frames->frame[page] & ~ORACLE_FRAME_MOVED;

        if (frame >= bound->pages) {
            free(of_guest);
            return error_set(error, -EINVAL, "page %llu: frame %u is not of the lab's RAM",
                             (unsigned long long)page, frame);
        }
        if (frame)
            of_guest[page] = frames->frame[page] & ORACLE_FRAME_MOVED ? moved
                                                                      : bound->touched[frame];
    }
    free(bound->touched);
    bound->touched = of_guest;
    bound->pages = frames->n;
    return 0;
}

static uint64_t count_moved(const struct oracle_frames *frames)
{
    uint64_t n = 0;

    for (uint64_t page = 0; frames && page < frames->n; page++)
        n += (frames->frame[page] & ORACLE_FRAME_MOVED) != 0;
    return n;
}

static int read_bound(const struct oracle_map *map, const struct oracle_frames *frames,
                      uint8_t moved, struct bound *bound, struct error *error)
{
    int rc;

    bound->pages = oracle_map_pages(map);
    bound->touched = calloc(bound->pages, 1);
    if (!bound->touched)
        return error_set(error, -ENOMEM, "no memory for %llu pages",
                         (unsigned long long)bound->pages);
    rc = oracle_map_touched(map, bound->first, bound->last, bound->touched, error);
    return rc < 0 || !frames ? rc : take_frames(bound, frames, moved, error);
}

static json_t *answer_object(const struct oracle_map *map, const struct oracle_window *w,
                             const struct bound *inner, const struct bound *outer)
{
    json_t *object = json_object();
    bool lab = oracle_map_is_lab(map);

    json_object_set_new(object, "schema", json_string("vmwss.oracle.v1"));
    json_object_set_new(object, "from", time_text(w->from_ns));
    json_object_set_new(object, "to", time_text(w->to_ns));
    json_object_set_new(object, "ram_bytes",
                        json_integer((json_int_t)(inner->pages * ORACLE_PAGE_BYTES)));
    json_object_set_new(object, "unresolved", json_integer((json_int_t)oracle_map_unresolved(map)));
    if (lab)
        json_object_set_new(object, "unwalked", json_integer((json_int_t)oracle_map_unwalked(map)));
    json_object_set_new(object, "low", bound_object(inner, lab));
    json_object_set_new(object, "high", bound_object(outer, lab));
    return object;
}

/* Adds each page's own window, as bounds again: own_low and own_high. */
static int add_own(const struct oracle_map *map, const struct oracle_window *w,
                   const struct oracle_frames *frames, json_t *object, struct error *error)
{
    struct bound bound = {w->outer_first, w->outer_last, w->outer_from_ns,
                          w->outer_to_ns, frames->n,     calloc(frames->n ? frames->n : 1, 1)};
    int rc = bound.touched ? 0 : error_set(error, -ENOMEM, "no memory");

    for (int outer = 0; rc == 0 && outer <= 1; outer++) {
        rc = oracle_sweep(map, w, frames, outer, bound.touched, error);
        if (rc == 0)
            json_object_set_new(object, outer ? "own_high" : "own_low", bound_object(&bound, true));
    }
    free(bound.touched);
    return rc;
}

int oracle_answer(const struct oracle_map *map, const struct oracle_window *w,
                  const struct oracle_frames *frames, json_t **out, struct error *error)
{
    struct bound inner = {w->inner_first, w->inner_last, w->inner_from_ns, w->inner_to_ns, 0, NULL};
    struct bound outer = {w->outer_first, w->outer_last, w->outer_from_ns, w->outer_to_ns, 0, NULL};
    int rc = read_bound(map, frames, 0, &inner, error);

    if (!rc)
        rc = read_bound(map, frames, UINT8_MAX, &outer, error);
    if (!rc) {
        *out = answer_object(map, w, &inner, &outer);
        if (frames)
            json_object_set_new(*out, "moved_pages", json_integer((json_int_t)count_moved(frames)));
        if (frames && (w->marked_ns > w->from_ns || w->read_ns < w->to_ns) && w->marked_ns)
            rc = add_own(map, w, frames, *out, error);
        if (rc < 0)
            json_decref(*out);
    }
    free(inner.touched);
    free(outer.touched);
    return rc;
}
