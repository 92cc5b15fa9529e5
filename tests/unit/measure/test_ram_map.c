// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_ram_map.c  Where touched pages are put: regions, chunks, figures and their precision.
 */
#include "measure/record/ram_map.h"

#include "fixture.h"

#include <errno.h>
#include <string.h>

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

static struct ram_map map;

static void teardown(void)
{
    ram_map_free(&map);
}

static struct ram_block block(const char *id, uint64_t first_page, uint64_t bytes, bool dimm)
{
    struct ram_block made = {
        .hva = 0x7f0000000000ULL + first_page * base_page_bytes() * 2,
        .bytes = bytes,
        .first_page = first_page,
        .dimm = dimm,
        .page_bytes = base_page_bytes(),
    };

    snprintf(made.id, sizeof(made.id), "%s", id);
    return made;
}

static struct guest_ram ram_of(struct ram_block *blocks, size_t n)
{
    struct guest_ram ram = {.n_blocks = n, .blocks = blocks};

    for (size_t i = 0; i < n; i++)
        ram.bytes += blocks[i].bytes;
    ram.n_pages = base_pages(ram.bytes);
    return ram;
}

FIXTURE(tc, .teardown = teardown);

/* Two nodes, of which the second lies on both sides of the hole, and a DIMM. */
TEST(tc, regions_are_contiguous)
{
    struct ram_block blocks[] = {
        block("node0", 0, 2 * GIB, false),
        block("node1", 2 * GIB / 4096, 2 * GIB, false),
        block("dimm0", 4 * GIB / 4096, 128 * MIB, true),
    };
    const struct guest_ram ram = ram_of(blocks, 3);
    const struct gpa_layout layout = {
        .boot_bytes = 4 * GIB, .low_bytes = 3 * GIB, .high_begin = 4 * GIB};

    blocks[0].node = 1;
    blocks[1].node = 2;
    ck_assert_int_eq(ram_map_make(&map, &ram, &layout, 64 * MIB, 1), 0);
    ck_assert_uint_eq(map.n_regions, 4);
    ck_assert_uint_eq(map.regions[0].gpa, 0);
    ck_assert_int_eq(map.regions[0].node, 0);
    ck_assert_uint_eq(map.regions[1].gpa, 2 * GIB);
    ck_assert_uint_eq(map.regions[1].n_pages, GIB / 4096);
    ck_assert_int_eq(map.regions[1].node, 1);
    ck_assert_uint_eq(map.regions[2].gpa, 4 * GIB);
    ck_assert_uint_eq(map.regions[2].first_page, 3 * GIB / 4096);
    ck_assert_uint_eq(map.regions[2].first_chunk, 48);
    ck_assert_int_eq(map.regions[2].node, 1);
    ck_assert_uint_eq(map.regions[3].gpa, GPA_NONE);
    ck_assert_int_eq(map.regions[3].node, -1);
    ck_assert(map.regions[3].dimm);
    ck_assert_uint_eq(map.n_chunks, 32 + 16 + 16 + 2);
}

TEST(tc, without_addresses_there_are_blocks)
{
    struct ram_block blocks[] = {block("mem", 0, 5 * GIB, false)};
    const struct guest_ram ram = ram_of(blocks, 1);

    ck_assert_int_eq(ram_map_make(&map, &ram, NULL, GIB, 1), 0);
    ck_assert_uint_eq(map.n_regions, 1);
    ck_assert_uint_eq(map.regions[0].gpa, GPA_NONE);
    ck_assert_int_eq(map.regions[0].node, -1);
}

TEST(tc, the_last_chunk_may_be_smaller)
{
    struct ram_block blocks[] = {block("mem", 0, 5 * MIB, false)};
    const struct guest_ram ram = ram_of(blocks, 1);

    ck_assert_int_eq(ram_map_make(&map, &ram, NULL, 2 * MIB, 1), 0);
    ck_assert_uint_eq(map.n_chunks, 3);
    ck_assert_uint_eq(ram_map_figures(&map, 0).bytes, 2 * MIB);
    ck_assert_uint_eq(ram_map_figures(&map, 2).bytes, MIB);
}

TEST(tc, chunks_are_few_enough)
{
    struct ram_block blocks[] = {block("mem", 0, 5 * GIB, false)};
    const struct guest_ram ram = ram_of(blocks, 1);

    ck_assert_uint_eq(ram_map_chunk_bytes(&ram, NULL, 64), 128 * MIB);
    ck_assert_uint_eq(ram_map_chunk_bytes(&ram, NULL, 40), 256 * MIB);
    ck_assert_uint_eq(ram_map_chunk_bytes(&ram, NULL, 1000000), 64 << 10);
    ck_assert_uint_eq(ram_map_chunk_bytes(&ram, NULL, 1), 8 * GIB);
    ck_assert_int_eq(ram_map_make(&map, &ram, NULL, 4096, 1), -E2BIG);
}

/* 16 pages in two chunks: touched by the first window are 2, by the second 3. */
TEST(tc, a_census_is_exact)
{
    struct ram_block blocks[] = {block("mem", 0, 16 * 4096, false)};
    const struct guest_ram ram = ram_of(blocks, 1);
    cleanup_page_set struct page_set set;

    ck_assert_int_eq(ram_map_make(&map, &ram, NULL, 8 * 4096, 2), 0);
    ck_assert_int_eq(page_set_census(&set, &ram), 0);
    memset(set.state, PAGE_IDLE, 16);
    set.state[1] = set.state[9] = PAGE_TOUCHED;
    ram_map_count(&map, &set, 0);
    set.state[10] = PAGE_TOUCHED;
    set.state[11] = PAGE_UNMEASURABLE;
    set.state[12] = PAGE_SWAPPED;
    set.state[13] = PAGE_ABSENT;
    set.state[9] = PAGE_GONE;
    set.order[15] = 9;
    ram_map_count(&map, &set, 1);

    ck_assert(ram_map_is_complete(&map));
    ck_assert_uint_eq(ram_map_touched(&map, 0, 0).bytes, 4096);
    ck_assert_uint_eq(ram_map_touched(&map, 1, 0).bytes, 4096);
    ck_assert_uint_eq(ram_map_touched(&map, 1, 1).bytes, 4096); /* one came, one is gone */
    ck_assert_uint_eq(ram_map_touched(&map, 1, 1).low_bytes, 4096);
    ck_assert_uint_eq(ram_map_touched(&map, 1, 1).high_bytes, 2 * 4096);
    ck_assert_uint_eq(ram_map_figures(&map, 1).resident_bytes, 5 * 4096);
    ck_assert_uint_eq(ram_map_figures(&map, 1).unmeasurable_bytes, 4096);
    ck_assert_uint_eq(ram_map_figures(&map, 1).swapped_bytes, 4096);
    ck_assert_uint_eq(ram_map_figures(&map, 1).huge_bytes, 4096);
}

/* Three touched pages of four: one not written, one written, one in a huge page of which some byte
 * was written. */
TEST(tc, read_mostly_is_what_was_touched_and_not_written)
{
    struct ram_block blocks[] = {block("mem", 0, 4 * 4096, false)};
    const struct guest_ram ram = ram_of(blocks, 1);
    struct sample_record record = {
        .windows = {{.wss_low_bytes = 3 * 4096, .wss_high_bytes = 3 * 4096}}};
    cleanup_page_set struct page_set set;
    struct write_watch writes = {.tally.touched_bytes = 4096};
    struct map_touched part;

    ck_assert_int_eq(ram_map_make(&map, &ram, NULL, 4 * 4096, 1), 0);
    ck_assert_int_eq(page_set_census(&set, &ram), 0);
    ck_assert_int_eq(page_set_census(&writes.set, &ram), 0);
    memset(set.state, PAGE_TOUCHED, 4);
    set.state[3] = PAGE_IDLE;
    memset(writes.set.state, PAGE_IDLE, 4);
    writes.set.state[1] = writes.set.state[2] = PAGE_TOUCHED;
    writes.set.order[2] = 9;
    ram_map_count(&map, &set, 0);
    ck_assert_int_eq(ram_map_count_writes(&map, &set, &writes, 0), 0);
    ck_assert_uint_eq(ram_map_region_touched(&map, &map.regions[0], 0).bytes, 3 * 4096);
    part = ram_map_region_read_mostly(&map, &map.regions[0], &record, 0);
    ck_assert_uint_eq(part.bytes, 4096);
    ck_assert_uint_eq(part.low_bytes, 4096);
    ck_assert_uint_eq(part.high_bytes, 2 * 4096);

    /* The bounds hold what the record doubts. */
    record.windows[0].wss_low_bytes = 0;
    record.windows[0].wss_high_bytes = 4 * 4096;
    part = ram_map_region_read_mostly(&map, &map.regions[0], &record, 0);
    ck_assert_uint_eq(part.low_bytes, 0);
    ck_assert_uint_eq(part.high_bytes, 3 * 4096);
    page_set_free(&writes.set);
}

/* Bits that were taken, or no write at all, hide writes to any page. */
TEST(tc, a_page_without_the_bit_may_have_been_written)
{
    uint8_t state[] = {PAGE_IDLE, PAGE_UNMEASURABLE, PAGE_ABSENT, PAGE_TOUCHED}, order[4] = {0};
    struct write_watch writes = {.set = {.n = 4, .state = state, .order = order},
                                 .tally.touched_bytes = 4096};

    ck_assert_int_eq(write_watch_page(&writes, 0), WRITE_NONE);
    ck_assert_int_eq(write_watch_page(&writes, 1), WRITE_UNKNOWN);
    ck_assert_int_eq(write_watch_page(&writes, 2), WRITE_UNKNOWN);
    ck_assert_int_eq(write_watch_page(&writes, 3), WRITE_SEEN);
    ck_assert_uint_eq(write_watch_missed_bytes(&writes), 0);
    writes.tally.doubts = DOUBT_BITS_TAKEN;
    ck_assert_uint_eq(write_watch_missed_bytes(&writes), UINT64_MAX);
    writes.tally = (struct tally){0};
    ck_assert_uint_eq(write_watch_missed_bytes(&writes), UINT64_MAX);
}

/* 100 of 1,000 pages are drawn, half of them touched; a second chunk has none. */
TEST(tc, a_panel_has_an_interval)
{
    struct ram_block blocks[] = {block("mem", 0, 2000 * 4096, false)};
    const struct guest_ram ram = ram_of(blocks, 1);
    cleanup_page_set struct page_set set;

    ck_assert_int_eq(ram_map_make(&map, &ram, NULL, 1000 * 4096, 1), 0);
    ck_assert_int_eq(page_set_blank(&set, &ram, 100), 0);
    for (uint64_t i = 0; i < 100; i++) {
        set.page[i] = i * 10;
        set.state[i] = i % 2 ? PAGE_TOUCHED : PAGE_IDLE;
    }
    ram_map_count(&map, &set, 0);
    ck_assert(!ram_map_is_complete(&map));
    ck_assert(!ram_map_figures(&map, 1).known);

    const struct map_touched some = ram_map_touched(&map, 0, 0);
    const struct map_touched none = ram_map_touched(&map, 1, 0);

    ck_assert_uint_eq(some.bytes, 500 * 4096);
    ck_assert_uint_gt(some.low_bytes, 390 * 4096); /* Wilson: 0.5 - 0.096 */
    ck_assert_uint_lt(some.low_bytes, 420 * 4096);
    ck_assert_uint_gt(some.high_bytes, 580 * 4096);
    ck_assert_uint_lt(some.high_bytes, 610 * 4096);
    ck_assert_uint_eq(none.low_bytes, 0);
    ck_assert_uint_eq(none.high_bytes, 1000 * 4096);
}

/* All draws in one huge page: one observation, which says nearly nothing. */
TEST(tc, a_huge_page_is_one_observation)
{
    struct ram_block blocks[] = {block("mem", 0, 1024 * 4096, false)};
    const struct guest_ram ram = ram_of(blocks, 1);
    cleanup_page_set struct page_set set;

    ck_assert_int_eq(ram_map_make(&map, &ram, NULL, 1024 * 4096, 1), 0);
    ck_assert_int_eq(page_set_blank(&set, &ram, 50), 0);
    for (uint64_t i = 0; i < 50; i++) {
        set.page[i] = i * 10;
        set.state[i] = PAGE_TOUCHED;
        page_set_note_unit(&set, i, 9, blocks[0].hva);
    }
    ram_map_count(&map, &set, 0);
    ck_assert_uint_eq(map.chunks[0].units, 1);
    ck_assert_uint_lt(ram_map_touched(&map, 0, 0).low_bytes, 250 * 4096);
}

/* A DIMM before the second node's block, as they may lie in memory; the second node's draws are all
 * of one huge page, which reaches into both of its chunks. */
TEST(tc, nodes_have_sums)
{
    struct ram_block blocks[] = {
        block("a", 0, 1024 * 4096, false),
        block("dimm", 1024, 512 * 4096, true),
        block("b", 1536, 512 * 4096, false),
    };
    const struct guest_ram ram = ram_of(blocks, 3);
    int nodes[RAM_MAP_MAX_NODES];
    cleanup_page_set struct page_set set;

    blocks[0].node = 1;
    blocks[2].node = 2;
    ck_assert_int_eq(ram_map_make(&map, &ram, NULL, 256 * 4096, 1), 0);
    ck_assert_int_eq(page_set_blank(&set, &ram, 160), 0);
    for (uint64_t i = 0; i < 100; i++) { /* of node 0, a quarter touched */
        set.page[i] = i * 10;
        set.state[i] = i % 4 ? PAGE_IDLE : PAGE_TOUCHED;
    }
    for (uint64_t i = 100; i < 110; i++) {
        set.page[i] = 1024 + i;
        set.state[i] = PAGE_ABSENT;
    }
    for (uint64_t i = 110; i < 160; i++) {
        set.page[i] = 1536 + (i - 110) * 10;
        set.state[i] = PAGE_TOUCHED;
        page_set_note_unit(&set, i, 9, blocks[2].hva);
    }
    ram_map_count(&map, &set, 0);
    ck_assert_uint_eq(ram_map_nodes(&map, nodes), 3);
    ck_assert_int_eq(nodes[0], 0);
    ck_assert_int_eq(nodes[1], 1);
    ck_assert_int_eq(nodes[2], -1);

    const struct map_touched first = ram_map_node_touched(&map, 0, 0);
    const struct map_touched second = ram_map_node_touched(&map, 1, 0);

    ck_assert_uint_eq(first.bytes, 256 * 4096);
    ck_assert_uint_gt(first.low_bytes, 170 * 4096); /* Wilson: 0.175 to 0.343 */
    ck_assert_uint_lt(first.high_bytes, 355 * 4096);
    ck_assert_uint_eq(second.bytes, 512 * 4096);
    ck_assert_uint_lt(second.low_bytes, 120 * 4096); /* one observation: 0.21 */
    ck_assert_uint_eq(second.high_bytes, 512 * 4096);
    ck_assert_uint_eq(ram_map_node_figures(&map, 1).huge_bytes, 512 * 4096);
    ck_assert_uint_eq(ram_map_node_figures(&map, -1).bytes, 512 * 4096);
    ck_assert_uint_eq(ram_map_node_figures(&map, -1).resident_bytes, 0);
    ram_map_count(&map, &set, 0); /* another period: counts begin anew, but touches */
    ck_assert_uint_eq(ram_map_node_figures(&map, 0).resident_bytes, 1024 * 4096);
}

TEST(tc, a_guest_without_nodes_has_none)
{
    struct ram_block blocks[] = {block("mem", 0, 5 * MIB, false), block("dimm", 1280, MIB, true)};
    const struct guest_ram ram = ram_of(blocks, 2);
    int nodes[RAM_MAP_MAX_NODES];

    ck_assert_int_eq(ram_map_make(&map, &ram, NULL, 2 * MIB, 1), 0);
    ck_assert_uint_eq(ram_map_nodes(&map, nodes), 0);
}
