// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_group_frames.c  Control groups' frames over a fake kernel, and their estimate. */
#include "base/bytes.h"
#include "base/page_sizes.h"
#include "fake_kernel.h"
#include "fixture.h"
#include "measure/estimate/group_usage.h"
#include "measure/kernel/idle_bitmap.h"
#include "measure/kernel/kpageflags.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KPF_UPTODATE KPF(3)
#define KPF_ANON KPF(12)
#define KPF_SWAPBACKED KPF(14)
#define ANON (KPF_LRU | KPF_ANON | KPF_SWAPBACKED | KPF_IDLE)
#define SHMEM (KPF_LRU | KPF_SWAPBACKED | KPF_IDLE)
#define CACHE (KPF_LRU | KPF_UPTODATE | KPF_IDLE)

static struct fake_kernel fake;
static struct cgroup_tree tree;
static struct frame_set ram, taken;
static struct group_scan *scan;

static void setup(void)
{
    fake_kernel_make(&fake, 16);
    fake_set_u64(&fake, "proc/kpagecgroup", 65535, 0);
    fake_write(&fake, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    fake_write(&fake, "sys/fs/cgroup/a.slice/memory.stat", "");
    fake_write(&fake, "sys/fs/cgroup/a.slice/b/memory.stat", "");
    fake_write(&fake, "sys/fs/cgroup/a.slice/no-memory/cgroup.procs", "");
    ck_assert_int_eq(cgroup_tree_read(&fake.root, "/", &tree, NULL), 0);
    ck_assert_int_eq(frame_set_make(&ram, 65536), 0);
    ck_assert_int_eq(frame_set_make(&taken, 65536), 0);
}

static void teardown(void)
{
    group_scan_free(scan);
    cgroup_tree_free(&tree);
    free(ram.words);
    free(taken.words);
}

static size_t index_of(const char *path)
{
    for (size_t i = 0; i < tree.n; i++)
        if (!strcmp(tree.groups[i].path, path))
            return i;
    ck_abort_msg("no group %s", path);
    return 0;
}

static void charge(uint64_t pfn, const char *path, uint64_t flags)
{
    fake_set_u64(&fake, "proc/kpageflags", pfn, flags);
    fake_set_u64(&fake, "proc/kpagecgroup", pfn, tree.groups[index_of(path)].inode);
}

static void begin(uint64_t samples)
{
    const struct group_scan_plan plan = {&tree, &ram, &taken, samples};

    ck_assert_ok(group_scan_begin(&fake.root, &plan, &scan, &error));
}

static struct frames_seen collect(const char *path, enum frame_kind kind)
{
    ck_assert_ok(group_scan_collect(scan, &error));
    return group_scan_seen(scan, index_of(path))->kinds[kind];
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST(cases, finds_groups)
{
    ck_assert_uint_eq(tree.n, 3);
    index_of("/");
    index_of("/a.slice");
    index_of("/a.slice/b");
    ck_assert_int_eq(cgroup_tree_find(&tree, 1), -1);
    cgroup_tree_free(&tree);
    ck_assert_int_eq(cgroup_tree_read(&fake.root, "/a.slice", &tree, NULL), 0);
    ck_assert_uint_eq(tree.n, 2);
    cgroup_tree_free(&tree);

    ck_assert_error(cgroup_tree_read(&fake.root, "/nowhere", &tree, &error), -ENOENT, "/nowhere");
}

/* The guests of a group, and its generations, are found by its path. */
TEST(cases, paths_are_plain)
{
    cgroup_tree_free(&tree);
    ck_assert_int_eq(cgroup_tree_read(&fake.root, "//a.slice//b/", &tree, NULL), 0);
    index_of("/a.slice/b");
    cgroup_tree_free(&tree);
    ck_assert_int_eq(cgroup_tree_read(&fake.root, "/a.slice/", &tree, NULL), 0);
    index_of("/a.slice");
    index_of("/a.slice/b");
    cgroup_tree_free(&tree);
    ck_assert_int_eq(cgroup_tree_read(&fake.root, "/a.slice/..", &tree, NULL), -ENOENT);
    ck_assert_int_eq(cgroup_tree_read(&fake.root, "/a.slice/./b", &tree, NULL), -ENOENT);
    ck_assert_int_eq(cgroup_tree_read(&fake.root, "//", &tree, NULL), 0);
    index_of("/");
    index_of("/a.slice");
}

TEST(cases, counts_by_group_and_kind)
{
    for (uint64_t pfn = 1000; pfn < 1100; pfn++)
        charge(pfn, "/a.slice", ANON);
    for (uint64_t pfn = 1100; pfn < 1150; pfn++)
        charge(pfn, "/a.slice", CACHE);
    for (uint64_t pfn = 2000; pfn < 2040; pfn++)
        charge(pfn, "/a.slice/b", SHMEM);
    for (uint64_t pfn = 2040; pfn < 2050; pfn++)
        charge(pfn, "/a.slice/b", 0); /* slab, page tables */
    for (uint64_t pfn = 1000; pfn < 1020; pfn++)
        frame_set_add(&ram, pfn);
    begin(UINT64_MAX);
    for (uint64_t pfn = 1010; pfn < 1040; pfn++)
        fake_touch(&fake, pfn);
    fake_touch(&fake, 2001);

    struct frames_seen seen = collect("/a.slice", FRAME_ANON);

    ck_assert_uint_eq(seen.frames, 80);
    ck_assert_uint_eq(seen.drawn, 80);
    ck_assert_uint_eq(seen.units, 80);
    ck_assert_uint_eq(seen.touched, 20);

    const struct group_seen *a = group_scan_seen(scan, index_of("/a.slice"));
    const struct group_seen *b = group_scan_seen(scan, index_of("/a.slice/b"));

    ck_assert_uint_eq(a->kinds[FRAME_GUEST_RAM].frames, 20);
    ck_assert_uint_eq(a->kinds[FRAME_GUEST_RAM].touched, 10);
    ck_assert_uint_eq(a->kinds[FRAME_FILE].frames, 50);
    ck_assert_uint_eq(b->kinds[FRAME_SHMEM].frames, 40);
    ck_assert_uint_eq(b->kinds[FRAME_SHMEM].touched, 1);
    ck_assert_uint_eq(b->kernel_frames, 10);
}

/* A huge page of 512 frames from @p head on: the tails have no group of their own. */
static void charge_huge(uint64_t head, const char *path)
{
    charge(head, path, ANON | KPF_COMPOUND_HEAD | KPF_THP);
    for (uint64_t pfn = head + 1; pfn < head + 512; pfn++)
        fake_set_u64(&fake, "proc/kpageflags", pfn, KPF_COMPOUND_TAIL | KPF_THP);
}

/* The tails of a huge page have no group, and its head's mark is theirs. */
TEST(cases, tails_are_of_their_head)
{
    charge_huge(4096, "/a.slice");
    charge(4608, "/a.slice/b", ANON);
    begin(UINT64_MAX);
    fake_touch(&fake, 4096);

    struct frames_seen seen = collect("/a.slice", FRAME_ANON);

    ck_assert_uint_eq(seen.frames, 512);
    ck_assert_uint_eq(seen.touched, 512);
    ck_assert_uint_eq(seen.units, 1);
}

TEST(cases, a_split_is_unmeasurable)
{
    charge_huge(4096, "/a.slice");
    begin(UINT64_MAX);
    for (uint64_t pfn = 4097; pfn < 4608; pfn++)
        charge(pfn, "/a.slice", ANON);

    struct frames_seen seen = collect("/a.slice", FRAME_ANON);

    ck_assert_uint_eq(seen.unmeasurable, 511);
    ck_assert_uint_eq(seen.touched, 0);
}

/* Freed, charged to another group, isolated, not on a list when it was marked. */
TEST(cases, what_is_not_known)
{
    for (uint64_t pfn = 1000; pfn < 1010; pfn++)
        charge(pfn, "/a.slice", ANON);
    charge(1009, "/a.slice", KPF_ANON | KPF_SWAPBACKED);
    begin(UINT64_MAX);
    fake_set_u64(&fake, "proc/kpageflags", 1000, 0);
    fake_touch(&fake, 1001);
    fake_set_u64(&fake, "proc/kpagecgroup", 1001, 0);
    charge(1002, "/a.slice/b", ANON);
    fake_isolate(&fake, 1003);

    struct frames_seen seen = collect("/a.slice", FRAME_ANON);

    ck_assert_uint_eq(seen.frames, 10);
    ck_assert_uint_eq(seen.gone, 3);
    ck_assert_uint_eq(seen.unmeasurable, 2);
    ck_assert_uint_eq(seen.touched, 0);
}

/* Its flag is of an earlier marking, which asks nothing of a page that is off its list now. */
TEST(cases, a_flag_of_before_is_no_mark)
{
    charge(1000, "/a.slice", ANON);
    charge(1001, "/a.slice", ANON & ~KPF_LRU);
    begin(UINT64_MAX);
    charge(1001, "/a.slice", ANON);
    fake_touch(&fake, 1001);

    struct frames_seen seen = collect("/a.slice", FRAME_ANON);

    ck_assert_uint_eq(seen.drawn, 2);
    ck_assert_uint_eq(seen.touched, 0);
    ck_assert_uint_eq(seen.unmeasurable, 1);
}

TEST(cases, keeps_off_what_is_taken)
{
    for (uint64_t pfn = 1000; pfn < 1064; pfn++)
        charge(pfn, "/a.slice", ANON);
    frame_set_add(&taken, 1010);
    begin(UINT64_MAX);
    ck_assert_uint_eq(fake_get_u64(&fake, IDLE_BITMAP_PATH, 1010 / 64) >> (1010 % 64) & 1, 0);
    ck_assert_uint_eq(fake_get_u64(&fake, IDLE_BITMAP_PATH, 1011 / 64) >> (1011 % 64) & 1, 1);

    struct frames_seen seen = collect("/a.slice", FRAME_ANON);

    ck_assert_uint_eq(seen.frames, 64);
    ck_assert_uint_eq(seen.drawn, 63);
}

/* Every frame is as likely: of 20 samples of 50 of 200 each half has its half. */
TEST(cases, samples_are_fair)
{
    uint64_t touched = 0;

    for (uint64_t pfn = 10000; pfn < 10200; pfn++)
        charge(pfn, "/a.slice", ANON);
    for (int i = 0; i < 20; i++) {
        begin(50);
        for (uint64_t pfn = 10100; pfn < 10200; pfn++)
            fake_touch(&fake, pfn);

        struct frames_seen seen = collect("/a.slice", FRAME_ANON);

        ck_assert_uint_eq(seen.frames, 200);
        ck_assert_uint_eq(seen.drawn, 50);
        touched += seen.touched;
        group_scan_free(scan);
        scan = NULL;
        for (uint64_t pfn = 10100; pfn < 10200; pfn++)
            charge(pfn, "/a.slice", ANON);
    }
    /* 500 expected; 6 standard deviations are 82. */
    ck_assert_uint_gt(touched, 418);
    ck_assert_uint_lt(touched, 582);
}

TEST(cases, usage)
{
    struct frames_seen seen = {.frames = 1000, .drawn = 1000, .units = 1000, .touched = 250};
    struct group_usage all = group_usage_of(&seen, false);

    ck_assert_uint_eq(all.touched, 250 * 4096);
    ck_assert_uint_eq(all.low, all.touched);
    ck_assert_uint_eq(all.high, all.touched);
    seen.unmeasurable = 10;
    seen.gone = 5;
    all = group_usage_of(&seen, false);
    ck_assert_uint_eq(all.low, 250 * 4096);
    ck_assert_uint_eq(all.high, 265 * 4096);
    ck_assert_uint_eq(group_usage_of(&seen, true).high, 1000 * 4096);

    seen = (struct frames_seen){.frames = 1000000, .drawn = 2000, .units = 2000, .touched = 1000};
    all = group_usage_of(&seen, false);
    /* Wilson's at n = 2000, p = .5: +- 2.19 points. */
    ck_assert_uint_lt(distance(all.low, (uint64_t)(0.4781 * 4096e6)), 4096 * 100);
    ck_assert_uint_lt(distance(all.high, (uint64_t)(0.5219 * 4096e6)), 4096 * 100);
    seen.units = 4; /* of four huge pages */
    ck_assert_uint_lt(group_usage_of(&seen, false).low, 4096ULL * 200000);

    seen = (struct frames_seen){.frames = 10};
    all = group_usage_of(&seen, false); /* all was taken: nothing is known */
    ck_assert_uint_eq(all.low, 0);
    ck_assert_uint_eq(all.high, 10 * 4096);
}

/* Mappings have accessed bits, read() has none. */
TEST(cases, calls_are_missed_under_mglru)
{
    ck_assert(!group_scan_misses_calls(&fake.root, FRAME_FILE));
    fake_write(&fake, "sys/kernel/mm/lru_gen/enabled", "0x0000\n");
    ck_assert(!group_scan_misses_calls(&fake.root, FRAME_FILE));
    fake_write(&fake, "sys/kernel/mm/lru_gen/enabled", "0x0007\n");
    ck_assert(group_scan_misses_calls(&fake.root, FRAME_FILE));
    ck_assert(group_scan_misses_calls(&fake.root, FRAME_SHMEM));
    ck_assert(!group_scan_misses_calls(&fake.root, FRAME_ANON));
    ck_assert(!group_scan_misses_calls(&fake.root, FRAME_GUEST_RAM));
}

TEST(cases, refuses_by_name)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/proc/kpagecgroup", fake.path);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_error(group_scan_check(&fake.root, &error), -ENOENT, "CONFIG_MEMCG");
}

/* Figures were never held against the truth there. */
TEST(cases, base_pages_of_another_size_are_refused)
{
    const struct page_sizes of_host = page_sizes_now;
    struct error error = {0};

    page_sizes_now = (struct page_sizes){.base_shift = 14, .huge_shift = 25};
    ck_assert_error(group_scan_check(&fake.root, &error), -ENOTSUP, "base pages have 16 KiB");
    page_sizes_now = (struct page_sizes){.base_shift = 12, .huge_shift = 21};
    ck_assert_int_eq(group_scan_check(&fake.root, &error), 0);
    page_sizes_now = of_host;
}
