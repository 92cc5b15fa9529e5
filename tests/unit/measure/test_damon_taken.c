// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_damon_taken.c  Pages whose accessed bits DAMON took, by method idle and in a census
 * that knows no pages: they are in the upper bound, and nothing else is. */
#include "measure/damon_taken.h"

#include "fake_kernel.h"
#include "fixture.h"
#include "measure/method.h"

#include <errno.h>
#include <string.h>

#define PLAIN (1ULL << 5 | 1ULL << 25) /* LRU, IDLE: a page that takes the mark */
#define PAGES 64

static struct fake_kernel fake;
static struct page_set set;
static void *state;

static void takes(uint64_t page, uint64_t pages);

/* In place of the record that perf would make: KVM is not here. */
static struct {
    bool active, traced;
    unsigned n;
    uint64_t next; /* a page that it samples after the next reading of the position; 0: none */
    struct {
        uint64_t hva, bytes;
    } hit[8];
} damon;

struct damon_mark damon_mark_now(const struct fsroot *root)
{
    const struct damon_mark mark = {
        .active = damon.active, .traced = damon.traced, .place = damon.n};

    (void)root;
    if (damon.next) {
        takes(damon.next, 1);
        damon.next = 0;
    }
    return mark;
}

int damon_hits_since(const struct fsroot *root, const struct damon_mark *mark, uint64_t low,
                     uint64_t high, void (*visit)(uint64_t hva, uint64_t bytes, void *context),
                     void *context)
{
    (void)root;
    if (!mark->traced)
        return mark->active || damon.active ? -ENODATA : 0;
    for (uint64_t i = mark->place; i < damon.n; i++)
        if (damon.hit[i].hva < high && damon.hit[i].hva + damon.hit[i].bytes > low)
            visit(damon.hit[i].hva, damon.hit[i].bytes, context);
    return 0;
}

static void takes(uint64_t page, uint64_t pages)
{
    damon.hit[damon.n].hva = fake.block.hva + page * base_page_bytes();
    damon.hit[damon.n++].bytes = pages * base_page_bytes();
}

static void setup(void)
{
    fake_kernel_make(&fake, PAGES);
    fake.process.accel = ACCEL_KVM;
    /* The fake's bitmap keeps of a word what was written last. */
    for (uint64_t i = 0; i < PAGES; i++)
        fake_map(&fake, i, 64 * (i + 1), PLAIN);
    memset(&damon, 0, sizeof(damon));
    damon.active = damon.traced = true;
}

static void teardown(void)
{
    if (state)
        method_idle.close(state);
    page_set_free(&set);
}

static void begin(void)
{
    ck_assert_ok(method_idle.open(&fake.target, &set, &state, &error));
    ck_assert_ok(method_idle.mark(state, &error));
}

static struct tally collect(void)
{
    struct tally tally;

    ck_assert_ok(method_idle.collect(state, &tally, &error));
    return tally;
}

static bool any_page_is_doubtful(void)
{
    return collect().doubts & DOUBT_DAMON;
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST(cases, pages_of_a_census)
{
    struct tally tally;

    ck_assert_int_eq(page_set_census(&set, &fake.ram), 0);
    takes(9, 1); /* before the window */
    begin();
    fake_touch(&fake, 64 * 3);
    takes(2, 1); /* touched after that: it is known */
    takes(5, 1);
    takes(5, 1);
    takes(8, 2);
    takes(PAGES - 1, 4); /* a huge page that reaches beyond */
    tally = collect();
    ck_assert_uint_eq(tally.touched_bytes, base_page_bytes());
    ck_assert_uint_eq(tally.unmeasurable_bytes, 4 * base_page_bytes());
    ck_assert(!tally.unmeasurable_otherwise);
    ck_assert(!(tally.doubts & DOUBT_DAMON));
}

/* A page that was lost is marked again, and measured in the next period. */
TEST(cases, pages_of_a_panel)
{
    static const uint64_t pages[] = {3, 10, 11, 40};
    struct tally tally;

    ck_assert_int_eq(page_set_blank(&set, &fake.ram, 4), 0);
    memcpy(set.page, pages, sizeof(pages));
    begin();
    takes(2, 1);
    takes(10, 1);
    takes(12, 20);
    tally = collect();
    ck_assert_uint_eq(tally.drawn_unmeasurable, 1);
    ck_assert_int_eq(set.state[1], PAGE_UNMEASURABLE);
    ck_assert_ok(method_idle.rearm(state, &error));
    tally = collect();
    ck_assert_uint_eq(tally.drawn_unmeasurable, 0);
    takes(11, 1);
    tally = collect();
    ck_assert_uint_eq(tally.drawn_unmeasurable, 1);
    ck_assert(!tally.unmeasurable_otherwise);
    ck_assert_int_eq(set.state[2], PAGE_UNMEASURABLE);

    fake_set_u64(&fake, "proc/kpageflags", 64 * 41, 0); /* page 40 leaves its list */
    ck_assert_ok(method_idle.mark(state, &error));
    takes(11, 1);
    tally = collect();
    ck_assert_uint_eq(tally.drawn_unmeasurable, 2);
    ck_assert(tally.unmeasurable_otherwise);
}

/* Both have the idle flag when their bits were read as touched: DAMON samples no isolated page. */
TEST(cases, a_touched_page_that_it_samples_while_bits_are_read)
{
    struct tally tally;

    ck_assert_int_eq(page_set_census(&set, &fake.ram), 0);
    begin();
    fake_isolate(&fake, 64 * 8);
    fake_isolate(&fake, 64 * 10);
    damon.next = 9;
    tally = collect();
    ck_assert_uint_eq(tally.touched_bytes, base_page_bytes());
    ck_assert_int_eq(set.state[7], PAGE_UNMEASURABLE);
    ck_assert_int_eq(set.state[9], PAGE_TOUCHED);
    ck_assert(tally.unmeasurable_otherwise);
}

/* It was turned on within the window, or none of its events is of this guest. What a window missed
 * stays missing until its pages are marked anew. */
TEST(cases, any_page_where_they_are_not_known)
{
    ck_assert_int_eq(page_set_census(&set, &fake.ram), 0);
    damon.active = damon.traced = false;
    begin();
    ck_assert(!any_page_is_doubtful());
    damon.active = damon.traced = true;
    ck_assert(any_page_is_doubtful());
    ck_assert(any_page_is_doubtful());
    ck_assert_ok(method_idle.rearm(state, &error));
    ck_assert(!any_page_is_doubtful());
    fake.process.accel = ACCEL_TCG;
    ck_assert(any_page_is_doubtful());
}

TEST(cases, bytes_of_a_census)
{
    struct damon_mark mark;
    struct tally tally = {.missed_bytes = 1000};

    takes(1, 1);
    mark = damon_mark_now(&fake.root);
    takes(3, 1);
    takes(8, 8);
    damon_taken_of_census(&fake.target, &mark, &tally);
    ck_assert_uint_eq(tally.missed_bytes, 1000 + 9 * base_page_bytes());
    ck_assert_uint_eq(tally.doubts, 0);
    fake.process.accel = ACCEL_TCG;
    damon_taken_of_census(&fake.target, &mark, &tally);
    ck_assert_uint_eq(tally.doubts, DOUBT_DAMON);
}
