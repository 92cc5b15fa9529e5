// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_idle_frames.c  From pages to frames in order, and from frames to their folios. */
#include "fake_kernel.h"
#include "fixture.h"
#include "measure/method/idle_frames.h"

#include <stdlib.h>

#define PAGES 2048

static struct fake_kernel fake;
static struct page_set set;
static struct frames *frames;

static void setup(void)
{
    fake_kernel_make(&fake, PAGES);
    frames = calloc(1, sizeof(*frames));
    ck_assert_ptr_nonnull(frames);
    ck_assert_int_eq(page_set_census(&set, &fake.ram), 0);
    ck_assert_ok(frames_open(frames, &fake.target, &set, &error));
    ck_assert_int_eq(frames_begin(frames), 0);
}

static void teardown(void)
{
    frames_close(frames);
    free(frames);
    page_set_free(&set);
}

static void lost(struct page_set *pages, uint64_t i, enum page_state state)
{
    pages->state[i] = (uint8_t)state;
}

static void read_all(void)
{
    for (uint64_t i = 0; i < PAGES; i++)
        frames->index[i] = i;
    frames->n = PAGES;
    ck_assert_int_eq(frames_read(frames, lost), 0);
}

FIXTURE(tests, .setup = setup, .teardown = teardown);

TEST(tests, frames_come_in_ascending_order)
{
    uint64_t frame_of[PAGES];

    for (uint64_t page = 0; page < PAGES; page++) {
        /* In no order, and beyond 2^33, so that every digit of the sort counts. */
        frame_of[page] = page * 0x9e3779b97f4a7c15ULL >> 28;
        fake_set_u64(&fake, "proc/4242/pagemap", base_pages(FAKE_HVA) + page,
                     1ULL << 63 | frame_of[page]);
    }
    read_all();
    ck_assert_uint_eq(frames->n_frames, PAGES);
    for (uint64_t i = 0; i < PAGES; i++) {
        ck_assert(i == 0 || frames->frame[i - 1].pfn < frames->frame[i].pfn);
        ck_assert_uint_eq(frames->frame[i].pfn, frame_of[frames->frame[i].i]);
    }
}

/* Puts a folio at a frame behind as many pages. */
static uint64_t map_folio(uint64_t page, uint64_t pfn, unsigned order)
{
    for (uint64_t i = 0; i < 1ULL << order; i++)
        fake_map(&fake, page + i, pfn + i,
                 KPF_LRU | (order == 0 ? 0
                            : i == 0   ? KPF_COMPOUND_HEAD
                                       : KPF_COMPOUND_TAIL));
    return page + (1ULL << order);
}

TEST(tests, every_frame_finds_its_folio)
{
    /* Folios of many sizes, each aligned to its size; close together, so that a wrong guess meets a
     * neighbour. */
    static const struct {
        uint64_t pfn;
        unsigned order;
    } folios[] = {{512, 9},  {1024, 0}, {1025, 0}, {1026, 1}, {1028, 2},  {1032, 3},  {1040, 4},
                  {1056, 5}, {1088, 6}, {1152, 7}, {1280, 8}, {1536, 0},  {1537, 0},  {1538, 1},
                  {2048, 8}, {2304, 0}, {2306, 1}, {2560, 9}, {16384, 0}, {16386, 1}, {16388, 0}};
    uint64_t end = 0;
    uint64_t first[PAGES];
    size_t folio_of[PAGES];

    for (size_t f = 0; f < COUNT(folios); f++) {
        uint64_t begin = end;

        end = map_folio(end, folios[f].pfn, folios[f].order);
        for (uint64_t page = begin; page < end; page++) {
            first[page] = begin;
            folio_of[page] = f;
        }
    }
    read_all();
    ck_assert_uint_eq(frames->n_frames, end);
    ck_assert_int_eq(frames_resolve(frames), 0);
    for (uint64_t i = 0; i < end; i++) {
        const struct frame *frame = &frames->frame[i];
        size_t f = folio_of[frame->i];

        ck_assert_uint_eq(frame->pfn, folios[f].pfn);
        ck_assert_uint_eq(frame->order, folios[f].order);
        ck_assert_uint_eq(frame->unit_hva, FAKE_HVA + first[frame->i] * base_page_bytes());
        ck_assert(frame->trackable);
    }
}

/* Only some pages of each folio are looked at, as a panel does: heads are found from tails. */
TEST(tests, tails_alone_find_their_heads)
{
    map_folio(0, 1024, 9);
    map_folio(512, 1544, 3);
    map_folio(520, 1552, 4);
    frames->index[0] = 300;
    frames->index[1] = 514;
    frames->index[2] = 535;
    frames->n = 3;
    ck_assert_int_eq(frames_read(frames, lost), 0);
    ck_assert_int_eq(frames_resolve(frames), 0);
    ck_assert_uint_eq(frames->frame[0].pfn, 1024);
    ck_assert_uint_eq(frames->frame[0].order, 9);
    ck_assert_uint_eq(frames->frame[1].pfn, 1544);
    ck_assert_uint_eq(frames->frame[1].order, 3);
    ck_assert_uint_eq(frames->frame[2].pfn, 1552);
    ck_assert_uint_eq(frames->frame[2].order, 4);
}
