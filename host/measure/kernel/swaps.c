// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/swaps.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/host_file.h"
#include "base/kernel_number.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* The file has a heading, and one line for each device; the first device's line begins within this
 * length. */
#define BEGIN_BYTES 512

int swap_is_active(const struct fsroot *root)
{
    static struct host_file swaps = {.path = "proc/swaps"};
    char text[BEGIN_BYTES];
    ssize_t n = host_file_read(&swaps, root, text, sizeof(text));

    if (n < 0)
        return n == -ENOENT ? 0 : (int)n;
    return strchr(text, '\n') != NULL;
}

/* --- its room --------------------------------------------------------------------------------- */

#define MAX_TEXT (1UL << 20)
/* With less stored data, its compression does not predict that of future data. */
#define JUDGED_BYTES (64ULL << 20)

struct swap {
    char name[256];
    struct swap_room room;
    int priority;
    bool zram;
};

/* A line of /proc/swaps (mm/swapfile.c swap_show()): blanks in names are escaped. */
static bool parse_swap(const char *line, struct swap *swap)
{
    uint64_t size, used;
    int begin = 0;

    if (sscanf(line, "%255s %*s%n", swap->name, &begin) != 1 || begin == 0)
        return false;

    const char *rest = kernel_kib(kernel_kib(line + begin, &size), &used);

    if (!rest || sscanf(rest, "%d", &swap->priority) != 1)
        return false;
    swap->room = (struct swap_room){less(size, used), size};
    swap->zram = !strncmp(swap->name, "/dev/zram", 9);
    return true;
}

/* The fields of mm_stat (Documentation/admin-guide/blockdev/zram.rst) are: stored, compressed,
 * used, and the limit of used. If it cannot be read, the whole device counts. */
static struct swap_room zram_room(const struct fsroot *root, const struct swap *swap)
{
    uint64_t stored, compressed, used, limit;
    char text[256];

    if (fsroot_read(root, text, sizeof(text), "sys/block/%s/mm_stat", swap->name + 5) < 0)
        return swap->room;

    const char *rest = kernel_u64(kernel_u64(text, &stored), &compressed);

    if (!kernel_u64(kernel_u64(rest, &used), &limit))
        return swap->room;
    if (stored >= JUDGED_BYTES && used > stored / 4 * 3)
        return (struct swap_room){0};
    if (limit == 0)
        return swap->room;
    return (struct swap_room){smaller(swap->room.free_bytes, less(limit, used)),
                              smaller(swap->room.total_bytes, limit)};
}

static void add_room(struct swap_room *sum, struct swap_room room)
{
    sum->free_bytes += room.free_bytes;
    sum->total_bytes += room.total_bytes;
}

/* Walks the lines twice: the first time finds the highest priority of swap that is not zram. */
static struct swap_room sum_room(const struct fsroot *root, const char *text, bool any)
{
    int other = INT_MIN;
    struct swap_room sum = {0};
    struct swap swap;

    for (int walk = 0; walk < 2; walk++)
        for (const char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n')) {
            if (!parse_swap(line + 1, &swap))
                continue;
            if (walk == 0 && !swap.zram && swap.priority > other)
                other = swap.priority;
            else if (walk == 1 && any)
                add_room(&sum, swap.room);
            else if (walk == 1 && swap.zram && swap.priority > other)
                add_room(&sum, zram_room(root, &swap));
        }
    return sum;
}

int swap_room(const struct fsroot *root, bool any, struct swap_room *room)
{
    cleanup_free char *text = NULL;
    ssize_t n = fsroot_read_all(root, &text, MAX_TEXT, "proc/swaps");

    *room = n > 0 ? sum_room(root, text, any) : (struct swap_room){0};
    return n < 0 && n != -ENOENT ? (int)n : 0;
}
