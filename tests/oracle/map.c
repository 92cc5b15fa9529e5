// SPDX-License-Identifier: LGPL-2.1-or-later
#include "map.h"

#include "base/cleanup.h"
#include "layout.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

/* How long a plugin takes at most to begin: its slot, and every virtual CPU once out of its block,
 * on a busy machine. */
#define BEGIN_TRIES 600
#define BEGIN_NS 100000000L

/* The numbers that bound every read are copied once: the file can change under us. */
struct oracle_map {
    struct oracle_header *header;
    size_t bytes;
    uint64_t pages, slots, maps_at;
    bool lab;
};

static bool header_is_sound(const struct oracle_header *header, uint64_t bytes)
{
    return header->magic == ORACLE_MAGIC && header->kinds == ORACLE_KINDS && header->pages > 0 &&
           header->pages <= ORACLE_MAX_PAGES && header->slots >= 4 &&
           header->slots <= ORACLE_MAX_SLOTS && header->maps_at == oracle_maps_at(header->slots) &&
           bytes == oracle_file_bytes(header->slots, header->pages);
}

static int map_file(const char *path, int fd, int protection, struct oracle_map *map,
                    struct error *error)
{
    struct stat stat;
    struct oracle_header header;
    void *at;

    if (fstat(fd, &stat) < 0)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
        !header_is_sound(&header, (uint64_t)stat.st_size))
        return error_set(error, -EINVAL,
                         "%s: not a map of the oracle plugin, or its guest has not begun to run",
                         path);
    map->bytes = (size_t)stat.st_size;
    at = mmap(NULL, map->bytes, protection, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    map->header = at;
    map->pages = header.pages;
    map->slots = header.slots;
    map->maps_at = header.maps_at;
    map->lab = header.lab;
    return 0;
}

static int open_map(const char *path, bool writable, struct oracle_map **out, struct error *error)
{
    cleanup_close int fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    struct oracle_map *map;
    int rc;

    if (fd < 0)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    map = calloc(1, sizeof(*map));
    if (!map)
        return error_set(error, -ENOMEM, "%s: no memory", path);
    rc = map_file(path, fd, writable ? PROT_READ | PROT_WRITE : PROT_READ, map, error);
    if (rc < 0)
        free(map);
    else
        *out = map;
    return rc;
}

int oracle_map_open(const char *path, struct oracle_map **out, struct error *error)
{
    return open_map(path, false, out, error);
}

static uint64_t noted_since_ns(const struct oracle_map *map)
{
    return __atomic_load_n(&map->header->noted_since_ns, __ATOMIC_ACQUIRE);
}

int oracle_map_begin(const char *path, struct error *error)
{
    struct oracle_map *map = NULL;
    int rc = open_map(path, true, &map, error);

    if (rc < 0)
        return rc;
    __atomic_store_n(&map->header->wanted, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < BEGIN_TRIES && !noted_since_ns(map); i++)
        nanosleep(&(struct timespec){.tv_nsec = BEGIN_NS}, NULL);
    if (!noted_since_ns(map))
        rc = error_set(error, -ETIMEDOUT, "%s: the plugin has not begun to note what is touched",
                       path);
    oracle_map_close(map);
    return rc;
}

void oracle_map_close(struct oracle_map *map)
{
    if (!map)
        return;
    munmap(map->header, map->bytes);
    free(map);
}

uint64_t oracle_map_pages(const struct oracle_map *map)
{
    return map->pages;
}

bool oracle_map_is_lab(const struct oracle_map *map)
{
    return map->lab;
}

uint64_t oracle_map_unresolved(const struct oracle_map *map)
{
    return __atomic_load_n(&map->header->unresolved, __ATOMIC_RELAXED);
}

uint64_t oracle_map_unwalked(const struct oracle_map *map)
{
    return __atomic_load_n(&map->header->unwalked, __ATOMIC_RELAXED);
}

/* A slot whose times belong together: complete, and the same one before and after they were
 * read. */
static bool read_slot(const struct oracle_map *map, uint64_t number, struct oracle_slot *out)
{
    const struct oracle_slot *slot = &map->header->slot[number];
    uint64_t sequence = __atomic_load_n(&slot->sequence, __ATOMIC_SEQ_CST);

    out->end_realtime_ns = __atomic_load_n(&slot->end_realtime_ns, __ATOMIC_ACQUIRE);
    out->begin_realtime_ns = __atomic_load_n(&slot->begin_realtime_ns, __ATOMIC_ACQUIRE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    out->sequence = sequence;
    return sequence && sequence % map->slots == number && out->end_realtime_ns &&
           out->end_realtime_ns >= out->begin_realtime_ns &&
           __atomic_load_n(&slot->sequence, __ATOMIC_SEQ_CST) == sequence;
}

static void take_outer(struct oracle_window *window, const struct oracle_slot *slot)
{
    if (slot->sequence < window->outer_first) {
        window->outer_first = slot->sequence;
        window->outer_from_ns = slot->begin_realtime_ns;
    }
    if (slot->sequence > window->outer_last) {
        window->outer_last = slot->sequence;
        window->outer_to_ns = slot->end_realtime_ns;
    }
}

static void take_inner(struct oracle_window *window, const struct oracle_slot *slot)
{
    if (slot->sequence < window->inner_first) {
        window->inner_first = slot->sequence;
        window->inner_from_ns = slot->begin_realtime_ns;
    }
    if (slot->sequence > window->inner_last) {
        window->inner_last = slot->sequence;
        window->inner_to_ns = slot->end_realtime_ns;
    }
}

int oracle_map_find(const struct oracle_map *map, struct oracle_window *window, struct error *error)
{
    uint64_t from = window->from_ns, to = window->to_ns, found = 0;
    uint64_t marked = window->marked_ns ? window->marked_ns : from;
    uint64_t read = window->read_ns ? window->read_ns : to;

    *window = (struct oracle_window){.from_ns = from,
                                     .to_ns = to,
                                     .marked_ns = window->marked_ns,
                                     .read_ns = window->read_ns,
                                     .outer_first = UINT64_MAX,
                                     .inner_first = UINT64_MAX};
    if (!noted_since_ns(map) || from < noted_since_ns(map))
        return error_set(
            error, -ENODATA,
            "this window begins before anything was noted: begin first (nested-truth does)");
    for (uint64_t i = 0; i < map->slots; i++) {
        struct oracle_slot slot;

        if (!read_slot(map, i, &slot) || slot.end_realtime_ns <= from ||
            slot.begin_realtime_ns >= to)
            continue;
        found++;
        take_outer(window, &slot);
        if (slot.begin_realtime_ns >= marked && slot.end_realtime_ns <= read)
            take_inner(window, &slot);
    }
    if (!found || window->outer_from_ns > from || window->outer_to_ns < to ||
        window->outer_last - window->outer_first + 1 != found)
        return error_set(error, -ERANGE,
                         "the map does not cover this window: %.3f s of it are there, of %.3f s",
                         found ? (double)(window->outer_to_ns - window->outer_from_ns) / 1e9 : 0.0,
                         (double)(to - from) / 1e9);
    return 0;
}

static void add_slot(const struct oracle_map *map, uint64_t number, uint8_t *touched)
{
    const uint8_t *at = (const uint8_t *)map->header + map->maps_at +
                        number * ORACLE_KINDS * map->pages;

    for (unsigned kind = 0; kind < ORACLE_KINDS; kind++, at += map->pages)
        for (uint64_t page = 0; page < map->pages; page++)
            touched[page] |= (uint8_t)((at[page] != 0) << kind);
}

int oracle_map_touched(const struct oracle_map *map, uint64_t first, uint64_t last,
                       uint8_t *touched, struct error *error)
{
    memset(touched, 0, map->pages);
    for (uint64_t sequence = first; sequence <= last; sequence++) {
        uint64_t number = sequence % map->slots;

        add_slot(map, number, touched);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (__atomic_load_n(&map->header->slot[number].sequence, __ATOMIC_SEQ_CST) != sequence)
            return error_set(error, -ESTALE,
                             "the ring came round while it was read: take more slots");
    }
    return 0;
}

bool oracle_map_slot(const struct oracle_map *map, uint64_t sequence, struct oracle_slot *out)
{
    return read_slot(map, sequence % map->slots, out) && out->sequence == sequence;
}

uint8_t oracle_map_page(const struct oracle_map *map, uint64_t sequence, uint64_t page)
{
    const uint8_t *at = (const uint8_t *)map->header + map->maps_at +
                        sequence % map->slots * ORACLE_KINDS * map->pages + page;
    uint8_t bits = 0;

    for (unsigned kind = 0; kind < ORACLE_KINDS; kind++, at += map->pages)
        bits |= (uint8_t)((*at != 0) << kind);
    return bits;
}
