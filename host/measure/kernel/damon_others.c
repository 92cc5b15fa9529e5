// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/damon_others.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/kernel_number.h"
#include "base/page_sizes.h"
#include "measure/kernel/damon_sysfs.h"
#include "measure/kernel/pagemap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KDAMONDS "sys/kernel/mm/damon/admin/kdamonds"
#define MAX_LOOKED_UP_BYTES (1ULL << 30)
#define ENTRIES 8192
#define MAX_MAPS_BYTES (64UL << 20)

/* Addresses of a process or of the host's memory. */
struct range {
    uint64_t start, end;
};

struct ranges {
    uint64_t n;
    struct range *at; /* free with free() */
};

/* --- configuration ---------------------------------------------------------------------------- */

/* Counts the directories "0", "1" ... in @p dir; UINT64_MAX if they cannot be counted. */
static uint64_t count(const struct fsroot *root, const char *dir, const char *name)
{
    uint64_t n;

    return fsroot_read_u64(root, &n, "%s/%s", dir, name) < 0 ? UINT64_MAX : n;
}

/* Uses kernel_bits(), because a region may end at the end of the address space. */
static int read_address(const struct fsroot *root, const char *target_dir, uint64_t region,
                        const char *name, uint64_t *out)
{
    char text[32];
    const ssize_t n = fsroot_read(root, text, sizeof(text), "%s/regions/%" PRIu64 "/%s", target_dir,
                                  region, name);

    if (n < 0)
        return (int)n;
    return kernel_bits(text, 10, out) ? 0 : -EBADMSG;
}

/* 0, or a negative errno if one of the ranges cannot be read. An empty list is an error, too. */
static int read_ranges(const struct fsroot *root, const char *target_dir, struct ranges *out)
{
    const uint64_t n = count(root, target_dir, "regions/nr_regions");
    int rc = 0;

    *out = (struct ranges){.n = n};
    if (n == 0 || n == UINT64_MAX)
        return -ENODATA;
    out->at = calloc(n, sizeof(*out->at));
    for (uint64_t i = 0; out->at && rc == 0 && i < n; i++) {
        rc = read_address(root, target_dir, i, "start", &out->at[i].start);
        if (rc == 0)
            rc = read_address(root, target_dir, i, "end", &out->at[i].end);
    }
    return out->at ? rc : -ENOMEM;
}

static bool any_meets(const struct ranges *ranges, uint64_t start, uint64_t end)
{
    for (uint64_t i = 0; i < ranges->n; i++)
        if (start < ranges->at[i].end && ranges->at[i].start < end)
            return true;
    return false;
}

/* --- processes -------------------------------------------------------------------------------- */

/* A child of vfork(2) shares its parent's memory until it executes a program. */
static bool is_child(const struct target *target, int64_t pid)
{
    char text[8192];
    const char *at;

    if (fsroot_read(target->root, text, sizeof(text), "proc/%" PRId64 "/status", pid) <= 0)
        return true;
    at = strstr(text, "\nPPid:");
    return !at || strtoll(at + strlen("\nPPid:"), NULL, 10) == target->process->pid;
}

static bool is_ram_file(const struct guest_ram *ram, uint64_t inode)
{
    for (size_t b = 0; b < ram->n_blocks; b++)
        if (inode != 0 && ram->blocks[b].inode == inode)
            return true;
    return false;
}

/* Compares only inode numbers, without the file system. */
static bool maps_ram(const struct target *target, int64_t pid)
{
    cleanup_free char *text = NULL;
    uint64_t inode;

    if (fsroot_read_all(target->root, &text, MAX_MAPS_BYTES, "proc/%" PRId64 "/maps", pid) <= 0)
        return true;
    for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest))
        if (sscanf(line, "%*s %*s %*s %*s %" SCNu64, &inode) == 1 &&
            is_ram_file(target->ram, inode))
            return true;
    return false;
}

/* With "vaddr", DAMON itself chooses the addresses that it watches. */
static bool watches_ram_of(const struct target *target, const char *target_dir, bool fixed)
{
    struct ranges ranges;
    const int rc = fixed ? read_ranges(target->root, target_dir, &ranges) : 0;
    bool any = !fixed || rc < 0;

    for (size_t b = 0; !any && b < target->ram->n_blocks; b++)
        any = any_meets(&ranges, target->ram->blocks[b].hva,
                        target->ram->blocks[b].hva + target->ram->blocks[b].bytes);
    if (fixed)
        free(ranges.at);
    return any;
}

/* The tid of any thread identifies its process. */
static bool process_watched(const struct target *target, const char *target_dir, bool fixed)
{
    char text[32];
    int64_t pid;

    if (fsroot_read(target->root, text, sizeof(text), "%s/pid_target", target_dir) <= 0)
        return true;
    pid = strtoll(text, NULL, 10);
    if (pid <= 0)
        return true;
    if (pid == target->process->pid ||
        fsroot_exists(target->root, "proc/%d/task/%" PRId64, (int)target->process->pid, pid))
        return watches_ram_of(target, target_dir, fixed);
    return is_child(target, pid) || maps_ram(target, pid);
}

/* --- the host's memory ------------------------------------------------------------------------ */

/* A frame number that the kernel hides may lie in any range. */
static bool entries_meet(const struct ranges *ranges, const uint64_t *entries, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = PAGEMAP_PFN(entries[i]) * base_page_bytes();

        if ((entries[i] & PAGEMAP_PRESENT) &&
            (at == 0 || any_meets(ranges, at, at + base_page_bytes())))
            return true;
    }
    return false;
}

static bool pages_meet(const struct target *target, const struct ranges *ranges)
{
    const uint64_t n_pages = target->ram->n_pages;
    cleanup_free uint64_t *entries = malloc(ENTRIES * sizeof(*entries));
    cleanup_close int fd = pagemap_open(target, NULL);
    bool any = !entries || fd < 0;

    for (uint64_t first = 0; !any && first < n_pages; first += ENTRIES) {
        const uint64_t n = smaller(ENTRIES, n_pages - first);

        any = pagemap_read_range(fd, target->ram, first, n, entries) < 0 ||
              entries_meet(ranges, entries, n);
    }
    return any;
}

static uint64_t in_bytes(uint64_t number, uint64_t unit)
{
    uint64_t bytes;

    return __builtin_mul_overflow(number, unit, &bytes) ? UINT64_MAX : bytes;
}

/* Since Linux 6.18 the addresses are in multiples of addr_unit. */
static bool host_watched(const struct target *target, const char *context, const char *target_dir)
{
    struct ranges ranges;
    uint64_t unit = 1;
    bool any = target->ram->bytes > MAX_LOOKED_UP_BYTES ||
               (fsroot_exists(target->root, "%s/addr_unit", context) &&
                fsroot_read_u64(target->root, &unit, "%s/addr_unit", context) < 0);

    if (any)
        return true;
    any = read_ranges(target->root, target_dir, &ranges) < 0;
    for (uint64_t i = 0; !any && i < ranges.n; i++) {
        ranges.at[i].start = in_bytes(ranges.at[i].start, unit);
        ranges.at[i].end = in_bytes(ranges.at[i].end, unit);
    }
    any = any || pages_meet(target, &ranges);
    free(ranges.at);
    return any;
}

/* --- kdamonds --------------------------------------------------------------------------------- */

static bool context_watches(const struct target *target, const char *context)
{
    char operations[16] = "";
    const uint64_t n = count(target->root, context, "targets/nr_targets");
    bool any = n == UINT64_MAX || fsroot_read(target->root, operations, sizeof(operations),
                                              "%s/operations", context) <= 0;

    for (uint64_t t = 0; !any && t < n; t++) {
        char dir[192];

        snprintf(dir, sizeof(dir), "%s/targets/%" PRIu64, context, t);
        if (!strcmp(operations, "paddr"))
            any = host_watched(target, context, dir);
        else if (!strcmp(operations, "vaddr") || !strcmp(operations, "fvaddr"))
            any = process_watched(target, dir, *operations == 'f');
        else
            any = true;
    }
    return any;
}

static bool kdamond_watches(const struct target *target, uint64_t number)
{
    char dir[96];
    char state[16];
    bool any = false;

    snprintf(dir, sizeof(dir), KDAMONDS "/%" PRIu64, number);
    if (fsroot_read(target->root, state, sizeof(state), "%s/state", dir) <= 0)
        return true;
    if (strcmp(state, "on") != 0)
        return false;

    const uint64_t n = count(target->root, dir, "contexts/nr_contexts");

    for (uint64_t c = 0; !any && n != UINT64_MAX && c < n; c++) {
        char context[128];

        snprintf(context, sizeof(context), "%s/contexts/%" PRIu64, dir, c);
        any = context_watches(target, context);
    }
    return any || n == UINT64_MAX;
}

bool damon_watches(const struct target *target)
{
    uint64_t n = 0;
    bool any = false;

    if (damon_module_on(target->root))
        return true;
    if (damon_sysfs_taken())
        return false;

    const int rc = fsroot_read_u64(target->root, &n, KDAMONDS "/nr_kdamonds");

    for (uint64_t i = 0; !any && rc == 0 && i < n; i++)
        any = kdamond_watches(target, i);
    return any || (rc < 0 && rc != -ENOENT);
}

unsigned damon_others_on(const struct fsroot *root)
{
    unsigned on = damon_modules_on(root);
    char text[16];
    uint64_t n = 0;

    if (damon_sysfs_taken() || fsroot_read_u64(root, &n, KDAMONDS "/nr_kdamonds") < 0)
        return on;
    for (uint64_t i = 0; i < n; i++)
        on += fsroot_read(root, text, sizeof(text), KDAMONDS "/%u/state", (unsigned)i) > 0 &&
              !strcmp(text, "on");
    return on;
}

bool damon_only_looks(const struct fsroot *root)
{
    const char *module = damon_module_on(root);

    return module && !strcmp(module, "damon_stat") && damon_others_on(root) == 1;
}
