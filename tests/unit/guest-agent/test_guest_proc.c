// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_guest_proc.c  What vmwss-guest reads of /proc, and its tables. */
#include "caught.h"
#include "fixture.h"
#include "proc/kernel_memory.h"
#include "proc/keyed.h"
#include "proc/meminfo.h"
#include "proc/paging.h"
#include "proc/pressure.h"
#include "show/table.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct numbers {
    uint64_t a_bytes, b, c;
};

static const struct keyed_field fields[] = {
    {"A(x)", offsetof(struct numbers, a_bytes), NULL},
    {"B", offsetof(struct numbers, b), NULL},
    {"C", offsetof(struct numbers, c), NULL},
};

static size_t parse(const char *text, struct numbers *numbers)
{
    return keyed_parse(text, fields, 3, numbers);
}

TEST(plain, numbers_are_found_by_name)
{
    struct numbers numbers;

    ck_assert_uint_eq(parse("A:   1 kB\nA(x):   7 kB\nBB 5\nB 12\n", &numbers), 2);
    ck_assert_uint_eq(numbers.a_bytes, 7168);
    ck_assert_uint_eq(numbers.b, 12);
    ck_assert_uint_eq(numbers.c, KEYED_UNKNOWN);
}

TEST(plain, lines_of_one_name_add_up)
{
    struct numbers numbers;

    ck_assert_uint_eq(parse("B: 1 kB\nC: 1\nB: 2 kB", &numbers), 2);
    ck_assert_uint_eq(numbers.b, 3072);
}

TEST(plain, what_is_no_number_is_unknown)
{
    struct numbers numbers;

    ck_assert_uint_eq(
        parse("A(x): -1 kB\nB 99999999999999999999\nC: 18446744073709551615 kB\n\n:\n", &numbers),
        0);
    ck_assert_uint_eq(numbers.a_bytes, KEYED_UNKNOWN);
    ck_assert_uint_eq(numbers.b, KEYED_UNKNOWN);
    ck_assert_uint_eq(numbers.c, KEYED_UNKNOWN);
}

/* A sum of which a line is no amount is not known, whatever comes after it. */
TEST(plain, a_sum_without_one_of_its_lines_is_unknown)
{
    static const char *const texts[] = {"B 5\nB -1\nB 7\nC 1\n",
                                        "B -1\nB 7\nC 1\n",
                                        "B 5\nB 18446744073709551612\nC 1\n",
                                        "B max\nB 3\nC 1\n",
                                        "B 9223372036854775807\nB 1\nC 1\n",
                                        "B: 9007199254740993 kB\nC 1\n"};
    struct numbers numbers;

    for (size_t i = 0; i < COUNT(texts); i++) {
        ck_assert_uint_eq(parse(texts[i], &numbers), 1);
        ck_assert_uint_eq(numbers.b, KEYED_UNKNOWN);
        ck_assert_uint_eq(numbers.c, 1);
    }
}

/* Any text that a module gave its cache, also such as stands elsewhere in the file. */
TEST(plain, a_cache_may_have_any_name)
{
    static const char *const names[] = {"# in front",         "my own cache 8",
                                        "x - version: 2",     "a : tunables 0 0 0",
                                        "a : slabdata 9 9 9", "dentry"};
    const char *dir = unit_dir();
    char path[64];
    struct kernel_items items;
    cleanup_root struct fsroot root;

    snprintf(path, sizeof(path), "%s/proc", dir);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/proc/slabinfo", dir);

    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs("slabinfo - version: 2.1\n# name            <active_objs> <num_objs> <objsize> "
          "<objperslab> <pagesperslab> : tunables <limit> <batchcount> <sharedfactor> : slabdata "
          "<active_slabs> <num_slabs> <sharedavail>\n",
          file);
    for (int i = 0; i < 6; i++)
        fprintf(file, "%-17s 10 20 4096 8 8 : tunables 0 0 0 : slabdata %d %d 0\n", names[i], 9 - i,
                9 - i);
    fclose(file);
    ck_assert_int_eq(fsroot_open(&root, dir), 0);
    ck_assert_int_eq(slab_read(&root, &items, NULL), 0);
    ck_assert_uint_eq(items.n_unread, 0);
    ck_assert_uint_eq(items.n, 6);
    for (int i = 0; i < 6; i++) {
        ck_assert_str_eq(items.item[i].name, names[i]);
        ck_assert_int_eq(items.item[i].bytes, (9 - i) * 8 * sysconf(_SC_PAGESIZE));
        ck_assert_int_eq(items.item[i].count, 20);
    }
    kernel_items_free(&items);
}

/* Linux 7.3: counters below 0, and pairs behind a function. */
TEST(plain, what_the_kernel_counted_below_0_stays_so)
{
    cleanup_root struct fsroot root = fixture_open("guest-7.3");
    int64_t page = sysconf(_SC_PAGESIZE);
    struct kernel_items items;

    ck_assert_int_eq(allocinfo_read(&root, &items, NULL), 0);
    ck_assert_uint_eq(items.n, 6);
    ck_assert_uint_eq(items.n_unread, 0);
    ck_assert_str_eq(items.item[0].name, "mm/memory.c:1062 func:folio_prealloc");
    ck_assert(!items.item[0].inaccurate);
    ck_assert_str_eq(items.item[1].name,
                     "arch/x86/kernel/cpu/mce/core.c:2709 func:mce_device_create");
    ck_assert(items.item[1].inaccurate);
    ck_assert(items.item[2].inaccurate); /* behind a name of 150 bytes */
    ck_assert_ptr_nonnull(strstr(items.item[2].name, " func:dml2_core_calcs_mode_support_ex"));
    ck_assert_str_eq(items.item[3].name, "fs/ext4/super.c:5200 [ext4] func:ext4_fill_super");
    ck_assert_int_eq(items.item[4].bytes, -2064);
    ck_assert_int_eq(items.item[4].count, -43);
    ck_assert_str_eq(items.item[4].name, "drivers/net/veth.c:77 [veth] func:veth_alloc");
    ck_assert(items.item[4].inaccurate);
    ck_assert_int_eq(items.item[5].bytes, -4096);
    ck_assert_int_eq(items.item[5].count, -1); /* printed as unsigned */
    ck_assert(!items.item[5].inaccurate);
    kernel_items_free(&items);

    ck_assert_int_eq(slab_read(&root, &items, NULL), 0);
    ck_assert_uint_eq(items.n, 3);
    ck_assert_str_eq(items.item[0].name, "my cache 8");
    ck_assert_int_eq(items.item[0].bytes, 45 * 8 * page);
    ck_assert_int_eq(items.item[0].count, 1215);
    ck_assert_str_eq(items.item[1].name, "dentry");
    ck_assert_str_eq(items.item[2].name, "broken cache");
    ck_assert_int_eq(items.item[2].count, -1);
    kernel_items_free(&items);
}

/* A line is an item, a heading, or counted as one that is not understood. */
TEST(plain, no_line_is_dropped_in_silence)
{
    cleanup_root struct fsroot root = fixture_open("guest-unread");
    struct kernel_items items;

    ck_assert_int_eq(allocinfo_read(&root, &items, NULL), 0);
    ck_assert_uint_eq(items.n, 2);
    ck_assert_int_eq(items.item[0].bytes, INT64_MAX);
    ck_assert_int_eq(items.item[1].bytes, 4096);
    ck_assert(items.item[1].inaccurate);
    ck_assert_str_eq(items.item[1].name, "mm/slub.c:1");
    ck_assert_uint_eq(items.n_unread, 4);
    kernel_items_free(&items);
    ck_assert_int_eq(slab_read(&root, &items, NULL), 0);
    ck_assert_uint_eq(items.n, 1);
    ck_assert_uint_eq(items.n_unread, 4);
    kernel_items_free(&items);
}

TEST(plain, more_columns_do_not_become_names)
{
    cleanup_root struct fsroot root = fixture_open("guest-more-columns");
    struct kernel_items items;

    ck_assert_int_eq(allocinfo_read(&root, &items, NULL), 0);
    ck_assert_uint_eq(items.n, 1);
    ck_assert_str_eq(items.item[0].name, "mm/slub.c:1 func:a");
    ck_assert(items.item[0].inaccurate);
    kernel_items_free(&items);
    ck_assert_int_eq(slab_read(&root, &items, NULL), 0);
    ck_assert_uint_eq(items.n, 1);
    ck_assert_str_eq(items.item[0].name, "my cache 8");
    ck_assert_int_eq(items.item[0].count, 5103);
    kernel_items_free(&items);
}

/* Impossible values are left out, and possible ones beside them are kept. */
TEST(plain, counters_that_cannot_be_are_unknown)
{
    cleanup_root struct fsroot root = fixture_open("guest-7.3");
    struct pressure pressure;
    struct meminfo meminfo;
    struct paging paging;

    ck_assert_int_eq(meminfo_read(&root, &meminfo, NULL), 0);
    ck_assert_uint_eq(meminfo.anon_bytes, KEYED_UNKNOWN);
    ck_assert_uint_eq(meminfo.slab_unreclaimable_bytes, KEYED_UNKNOWN);
    ck_assert_uint_eq(meminfo.slab_reclaimable_bytes, 20000 << 10);
    ck_assert_int_eq(paging_read(&root, &paging, NULL), 0);
    ck_assert_uint_eq(paging.swap_in_pages, KEYED_UNKNOWN);
    ck_assert_uint_eq(paging.swap_out_pages, KEYED_UNKNOWN);
    ck_assert_uint_eq(paging.major_faults, KEYED_UNKNOWN);
    ck_assert_uint_eq(paging.direct_stalls, KEYED_UNKNOWN); /* one of its three zones */
    ck_assert_uint_eq(paging.oom_kills, 0);
    ck_assert_int_eq(pressure_read(&root, NULL, "memory", &pressure, NULL), 0);
    ck_assert_uint_eq(pressure.some.total_us, 123456);
    ck_assert_uint_eq(pressure.full.total_us, KEYED_UNKNOWN);
    ck_assert_int_lt(pressure_read(&root, NULL, "io", &pressure, NULL), 0);
    ck_assert_zero(
        pressure_parse("some avg10=1.5 avg60=1 avg300=0 avg600=0.5 total=9 max=1\n", &pressure));
    ck_assert_double_eq(pressure.some.avg10, 1.5);
    ck_assert_uint_eq(pressure.some.total_us, 9);
}

TEST(plain, columns_are_as_wide_as_their_cells)
{
    static const struct table_column columns[] = {
        {.name = "NAME"}, {.name = "HIDDEN"}, {.name = "N", .right = true}, {.name = "HIDDEN"}};
    struct table *table = table_new(columns, 4);

    ck_assert_int_eq(table_row(table, (const char *[]){"evil\n\033[2J", "a", "1", "b"}), 0);
    ck_assert_int_eq(table_row(table, (const char *[]){"x", "a", "1234", "b"}), 0);
    table_hide(table, 1);
    table_hide(table, 3);
    catch_output();
    table_print(table, true);
    ck_assert_str_eq(caught_output(), "NAME         N\nevil??[2J    1\nx         1234\n");
    table_free(table);
}
