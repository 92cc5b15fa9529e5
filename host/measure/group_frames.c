// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/group_frames.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/compare.h"
#include "base/page_sizes.h"
#include "base/random.h"
#include "measure/kernel/idle_bitmap.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/lru_gen.h"
#include "measure/kernel/u64_file.h"

#include <errno.h>
#include <string.h>

#define CHUNK 32768
#define VERIFY_BATCH 64ULL      /* number of folios that are marked before their flags are read */
#define MAX_FRAMES (1ULL << 40) /* 4 PiB */

/* Pages of the kernel have none of the following flags (include/uapi/linux/kernel-page-flags.h). */
#define KPF_UPTODATE KPF(3)
#define KPF_MMAP KPF(11)
#define KPF_SWAPBACKED KPF(14)
#define OF_USERS (KPF_LRU | KPF_UPTODATE | KPF_MMAP | KPF_ANON | KPF_SWAPBACKED)

struct drawn {
    uint64_t pfn;
    uint64_t head; /* head of its folio */
    uint32_t group;
    uint8_t kind;
    bool marked;
};

/* The sample of one kind in one group while it is drawn. */
struct reservoir {
    uint64_t eligible;
    size_t n;
    struct drawn *at;
};

struct group_scan {
    struct group_scan_plan plan;
    uint64_t random;
    uint64_t n_frames;
    int bitmap_fd, flags_fd, groups_fd;
    struct group_seen *seen;      /* one for each group of the tree */
    struct reservoir *reservoirs; /* FRAME_KINDS for each group, until they are merged */
    uint64_t n;
    struct drawn *all; /* ascending by head */
    /* the current folio of the pass */
    uint64_t head, head_flags;
    ptrdiff_t head_group;
};

const char *frame_kind_name(enum frame_kind kind)
{
    static const char *const names[FRAME_KINDS] = {"guest-ram", "anon", "shmem", "file"};

    return names[kind];
}

bool group_scan_misses_calls(const struct fsroot *root, enum frame_kind kind)
{
    return (kind == FRAME_SHMEM || kind == FRAME_FILE) && lru_gen_enabled(root) & LRU_GEN_ON;
}

/* --- number of frames ------------------------------------------------------------------------- */

/* The file has an entry for each frame of the host but reports no size. */
static bool has_entry(int fd, uint64_t index)
{
    uint64_t entry;

    return pread(fd, &entry, sizeof(entry), (off_t)(index * sizeof(entry))) == sizeof(entry);
}

static uint64_t count_entries(int fd)
{
    uint64_t low = 0;
    uint64_t high = 1;

    while (high < MAX_FRAMES && has_entry(fd, high - 1)) {
        low = high;
        high *= 2;
    }
    while (low + 1 < high) {
        uint64_t middle = low + (high - low) / 2;

        if (has_entry(fd, middle - 1))
            low = middle;
        else
            high = middle;
    }
    return low;
}

int group_scan_frames(const struct fsroot *root, uint64_t *n_frames, struct error *error)
{
    cleanup_close int fd = kpageflags_open(root, error);

    if (fd < 0)
        return fd;
    *n_frames = count_entries(fd);
    return 0;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static enum frame_kind kind_of(const struct group_scan *scan, uint64_t pfn)
{
    if (frame_set_has(scan->plan.guest_ram, pfn))
        return FRAME_GUEST_RAM;
    if (scan->head_flags & KPF_ANON)
        return FRAME_ANON;
    return scan->head_flags & KPF_SWAPBACKED ? FRAME_SHMEM : FRAME_FILE;
}

static int draw_frame(struct group_scan *scan, struct reservoir *reservoir,
                      const struct drawn *frame)
{
    reservoir->eligible++;
    if (reservoir->n < scan->plan.samples)
        return array_put(&reservoir->at, &reservoir->n, frame, sizeof(*frame));

    const uint64_t place = random_below(&scan->random, reservoir->eligible);

    if (place < reservoir->n)
        reservoir->at[place] = *frame;
    return 0;
}

static int add_frame(struct group_scan *scan, uint64_t pfn)
{
    struct group_seen *seen = &scan->seen[scan->head_group];
    enum frame_kind kind = kind_of(scan, pfn);
    const struct drawn frame = {
        .pfn = pfn, .head = scan->head, .group = (uint32_t)scan->head_group, .kind = (uint8_t)kind};

    if (!(scan->head_flags & OF_USERS)) {
        seen->kernel_frames++;
        return 0;
    }
    seen->kinds[kind].frames++;
    if (frame_set_has(scan->plan.taken, scan->head))
        return 0;
    return draw_frame(scan, &scan->reservoirs[scan->head_group * FRAME_KINDS + kind], &frame);
}

/* A tail uses the data of its head, because it has no group of its own and, on some kernels, no
 * flags. */
static void note_head(struct group_scan *scan, uint64_t pfn, uint64_t flags, uint64_t inode)
{
    if (flags & KPF_COMPOUND_TAIL)
        return;
    scan->head = pfn;
    scan->head_flags = flags;
    scan->head_group = flags & KPF_NOPAGE || !inode ? -1 : cgroup_tree_find(scan->plan.tree, inode);
}

static int draw_chunk(struct group_scan *scan, uint64_t first, uint64_t n, uint64_t *buffer)
{
    uint64_t *flags = buffer;
    uint64_t *inodes = buffer + CHUNK;
    int rc = u64_file_read(scan->flags_fd, first, n, flags);

    if (rc == 0)
        rc = u64_file_read(scan->groups_fd, first, n, inodes);
    for (uint64_t i = 0; rc == 0 && i < n; i++) {
        note_head(scan, first + i, flags[i], inodes[i]);
        if (scan->head_group >= 0)
            rc = add_frame(scan, first + i);
    }
    return rc;
}

static int draw_all(struct group_scan *scan)
{
    cleanup_free uint64_t *buffer = calloc(2UL * CHUNK, sizeof(*buffer));
    int rc = buffer ? 0 : -ENOMEM;

    scan->head_group = -1;
    for (uint64_t first = 0; rc == 0 && first < scan->n_frames; first += CHUNK) {
        uint64_t left = scan->n_frames - first;

        rc = draw_chunk(scan, first, left < CHUNK ? left : CHUNK, buffer);
    }
    return rc;
}

COMPARE_BY(by_head, struct drawn, head)

/* Merges all samples into one list and frees the reservoirs. */
static int merge(struct group_scan *scan)
{
    size_t n = scan->plan.tree->n * FRAME_KINDS;
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += scan->reservoirs[i].n;
    scan->all = calloc(sum ? sum : 1, sizeof(*scan->all));
    if (!scan->all)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct reservoir *from = &scan->reservoirs[i];

        if (from->n)
            memcpy(scan->all + scan->n, from->at, from->n * sizeof(*from->at));
        scan->n += from->n;
    }
    qsort(scan->all, scan->n, sizeof(*scan->all), by_head);
    return 0;
}

/* --- marking and reading ---------------------------------------------------------------------- */

/* The heads of the drawn folios, each once. */
struct heads {
    uint64_t n;
    uint64_t *pfn, *flags, *inodes;
    uint8_t *idle;
};

static void heads_free(struct heads *heads)
{
    free(heads->pfn);
    free(heads->flags);
    free(heads->inodes);
    free(heads->idle);
}

static int heads_make(const struct group_scan *scan, struct heads *heads)
{
    uint64_t room = scan->n ? scan->n : 1;

    *heads = (struct heads){.pfn = calloc(room, sizeof(uint64_t)),
                            .flags = calloc(room, sizeof(uint64_t)),
                            .inodes = calloc(room, sizeof(uint64_t)),
                            .idle = calloc(room, 1)};
    if (!heads->pfn || !heads->flags || !heads->inodes || !heads->idle)
        return -ENOMEM;
    for (uint64_t i = 0; i < scan->n; i++)
        if (heads->n == 0 || heads->pfn[heads->n - 1] != scan->all[i].head)
            heads->pfn[heads->n++] = scan->all[i].head;
    return 0;
}

/* read() clears a page's flag at once (mm/swap.c, folio_mark_accessed()), so the flags are read
 * right after the marking: pages that are read meanwhile count as unmeasurable. */
static int mark_and_read(const struct group_scan *scan, struct heads *heads, uint64_t first,
                         uint64_t n)
{
    int rc = idle_bitmap_mark(scan->bitmap_fd, heads->pfn + first, n);

    return rc < 0 ? rc
                  : kpageflags_read(scan->flags_fd, heads->pfn + first, n, heads->flags + first);
}

/* A page that is temporarily off its list is not marked, and may keep the flag of an earlier
 * marking. Touches before this window would then count. */
static int mark_heads(struct group_scan *scan, struct heads *heads)
{
    const uint64_t shown = KPF_LRU | KPF_IDLE;
    uint64_t at = 0;
    int rc = 0;

    for (uint64_t first = 0; rc == 0 && first < heads->n; first += VERIFY_BATCH)
        rc = mark_and_read(scan, heads, first, smaller(VERIFY_BATCH, heads->n - first));
    for (uint64_t i = 0; rc == 0 && i < scan->n; i++) {
        at += heads->pfn[at] != scan->all[i].head;
        scan->all[i].marked = (heads->flags[at] & shown) == shown;
    }
    return rc;
}

static int read_heads(const struct group_scan *scan, struct heads *heads)
{
    int rc = idle_bitmap_read(scan->bitmap_fd, heads->pfn, heads->n, heads->idle);

    if (rc == 0)
        rc = kpageflags_read(scan->flags_fd, heads->pfn, heads->n, heads->flags);
    if (rc == 0)
        rc = u64_file_gather(scan->groups_fd, heads->pfn, heads->n, 8, heads->inodes);
    return rc;
}

/* Returns true if the folio was split or made meanwhile: the frame is no longer a tail, or its head
 * is a tail now. */
static bool changed_folio(const struct drawn *frame, uint64_t own_flags, uint64_t head_flags)
{
    bool was_tail = frame->pfn != frame->head;

    return (head_flags & KPF_COMPOUND_TAIL) || was_tail != !!(own_flags & KPF_COMPOUND_TAIL);
}

/* Returns true for a frame that reads as touched but still has its flag: reclaim or compaction has
 * isolated the page, and its mappings were not checked (mm/page_idle.c, page_idle_get_folio()). */
static bool is_unsure(const struct heads *heads, uint64_t at)
{
    return heads->idle[at] == IDLE_BITMAP_UNKNOWN ||
           (heads->idle[at] == 0 && heads->flags[at] & KPF_IDLE);
}

static bool is_gone(const struct group_scan *scan, const struct heads *heads, uint64_t at,
                    const struct drawn *frame)
{
    return heads->inodes[at] != scan->plan.tree->groups[frame->group].inode ||
           !(heads->flags[at] & OF_USERS);
}

static void judge(struct group_scan *scan, const struct heads *heads, uint64_t at,
                  const struct drawn *frame, uint64_t own_flags)
{
    struct frames_seen *seen = &scan->seen[frame->group].kinds[frame->kind];

    seen->drawn++;
    if (is_gone(scan, heads, at, frame))
        seen->gone++;
    else if (!frame->marked || changed_folio(frame, own_flags, heads->flags[at]) ||
             is_unsure(heads, at))
        seen->unmeasurable++;
    else if (heads->idle[at] == 0)
        seen->touched++;
}

/* Frames of one folio are consecutive, but not those of one kind, so a unit is identified by head
 * and kind. */
static void count_unit(struct group_scan *scan, const struct drawn *frame, uint64_t *last)
{
    size_t stratum = (size_t)frame->group * FRAME_KINDS + frame->kind;

    if (last[stratum] != frame->head + 1)
        scan->seen[frame->group].kinds[frame->kind].units++;
    last[stratum] = frame->head + 1;
}

static int judge_all(struct group_scan *scan, const struct heads *heads)
{
    cleanup_free uint64_t *last = calloc(scan->plan.tree->n * FRAME_KINDS, sizeof(*last));
    cleanup_free uint64_t *own = calloc(scan->n ? scan->n : 1, sizeof(*own));
    cleanup_free uint64_t *flags = calloc(scan->n ? scan->n : 1, sizeof(*flags));
    uint64_t at = 0;
    int rc = last && own && flags ? 0 : -ENOMEM;

    for (uint64_t i = 0; rc == 0 && i < scan->n; i++)
        own[i] = scan->all[i].pfn;
    if (rc == 0)
        rc = kpageflags_read(scan->flags_fd, own, scan->n, flags);
    for (uint64_t i = 0; rc == 0 && i < scan->n; i++) {
        at += heads->pfn[at] != scan->all[i].head;
        count_unit(scan, &scan->all[i], last);
        judge(scan, heads, at, &scan->all[i], flags[i]);
    }
    return rc;
}

/* --- the scan --------------------------------------------------------------------------------- */

static void free_reservoirs(struct group_scan *scan)
{
    for (size_t i = 0; scan->reservoirs && i < scan->plan.tree->n * FRAME_KINDS; i++)
        free(scan->reservoirs[i].at);
    free(scan->reservoirs);
    scan->reservoirs = NULL;
}

void group_scan_free(struct group_scan *scan)
{
    if (!scan)
        return;
    cleanup_close_at(&scan->bitmap_fd);
    cleanup_close_at(&scan->flags_fd);
    cleanup_close_at(&scan->groups_fd);
    free_reservoirs(scan);
    free(scan->seen);
    free(scan->all);
    free(scan);
}

static int open_files(struct group_scan *scan, const struct fsroot *root, struct error *error)
{
    scan->bitmap_fd = idle_bitmap_open(root, error);
    if (scan->bitmap_fd < 0)
        return scan->bitmap_fd;
    scan->flags_fd = kpageflags_open(root, error);
    if (scan->flags_fd < 0)
        return scan->flags_fd;
    scan->groups_fd = kpagecgroup_open(root, error);
    return scan->groups_fd < 0 ? scan->groups_fd : 0;
}

int group_scan_check(const struct fsroot *root, struct error *error)
{
    struct group_scan scan = {.bitmap_fd = -1, .flags_fd = -1, .groups_fd = -1};
    int rc = page_sizes_check(base_page_bytes(), 0, "a scan of control groups", error);

    if (rc == 0)
        rc = open_files(&scan, root, error);
    cleanup_close_at(&scan.bitmap_fd);
    cleanup_close_at(&scan.flags_fd);
    cleanup_close_at(&scan.groups_fd);
    return rc;
}

static int draw_and_mark(struct group_scan *scan)
{
    struct heads heads = {0};
    int rc = draw_all(scan);

    if (rc == 0)
        rc = merge(scan);
    free_reservoirs(scan);
    if (rc == 0)
        rc = heads_make(scan, &heads);
    if (rc == 0)
        rc = mark_heads(scan, &heads);
    heads_free(&heads);
    return rc;
}

int group_scan_begin(const struct fsroot *root, const struct group_scan_plan *plan,
                     struct group_scan **out, struct error *error)
{
    struct group_scan *scan = calloc(1, sizeof(*scan));
    int rc;

    if (!scan)
        return error_set(error, -ENOMEM, "page_idle: out of memory");
    *scan = (struct group_scan){
        .plan = *plan,
        .random = random_seed(),
        .bitmap_fd = -1,
        .flags_fd = -1,
        .groups_fd = -1,
        .seen = calloc(plan->tree->n, sizeof(*scan->seen)),
        .reservoirs = calloc(plan->tree->n * FRAME_KINDS, sizeof(*scan->reservoirs))};
    rc = open_files(scan, root, error);
    if (rc == 0) {
        scan->n_frames = count_entries(scan->flags_fd);
        rc = scan->seen && scan->reservoirs ? draw_and_mark(scan) : -ENOMEM;
        if (rc < 0)
            error_set(error, rc, "page_idle: %s", strerror(-rc));
    }
    if (rc < 0)
        group_scan_free(scan);
    else
        *out = scan;
    return rc;
}

int group_scan_collect(struct group_scan *scan, struct error *error)
{
    struct heads heads = {0};
    int rc = heads_make(scan, &heads);

    if (rc == 0)
        rc = read_heads(scan, &heads);
    if (rc == 0)
        rc = judge_all(scan, &heads);
    heads_free(&heads);
    return rc < 0 ? error_set(error, rc, "page_idle: %s", strerror(-rc)) : 0;
}

const struct group_seen *group_scan_seen(const struct group_scan *scan, size_t index)
{
    return &scan->seen[index];
}
