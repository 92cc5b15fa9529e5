// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_panel.c  Ages and windows of a followed panel, with a method and a clock made for the
 * test. */
#include "fixture.h"
#include "made_method.h"
#include "measure/panel.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PAGES 4000
#define SECOND 1000000000ULL

static struct ram_block block;
static struct guest_ram ram;
static struct target target;
static uint64_t time_ns;

/* The guest, as the method sees it. */
static bool touched[PAGES];
static bool absent[PAGES];
static bool swapped[PAGES]; /* of the absent ones */
static bool blind[PAGES];
static unsigned marks; /* pages marked, over all cohorts */
static unsigned open_now;
static struct tally doubt; /* doubts and units: of the next reading */

static int fake_open(const struct target *t, struct page_set *set, void **state,
                     struct error *error)
{
    (void)t;
    (void)error;
    open_now++;
    *state = set;
    return 0;
}

static void mark_page(struct page_set *set, uint64_t i)
{
    uint64_t page = page_set_page(set, i);

    marks++;
    page_set_note_unit(set, i, 0, page_set_hva(set, i));
    set->state[i] = absent[page]  ? swapped[page] ? PAGE_SWAPPED : PAGE_ABSENT
                    : blind[page] ? PAGE_UNMEASURABLE
                                  : PAGE_IDLE;
}

static int fake_mark(void *state, struct error *error)
{
    struct page_set *set = state;

    (void)error;
    for (uint64_t i = 0; i < set->n; i++)
        mark_page(set, i);
    return 0;
}

static int fake_rearm(void *state, struct error *error)
{
    struct page_set *set = state;

    (void)error;
    for (uint64_t i = 0; i < set->n; i++)
        if (page_needs_rearm((enum page_state)set->state[i]))
            mark_page(set, i);
    return 0;
}

static int fake_collect(void *state, struct tally *tally, struct error *error)
{
    struct page_set *set = state;

    (void)error;
    for (uint64_t i = 0; i < set->n; i++) {
        uint64_t page = page_set_page(set, i);

        if (absent[page])
            set->state[i] = (uint8_t)page_lost(
                touched[page] && set->state[i] == PAGE_IDLE ? PAGE_TOUCHED : PAGE_IDLE,
                swapped[page] ? PAGE_SWAPPED : PAGE_ABSENT);
        else if (touched[page] && set->state[i] != PAGE_UNMEASURABLE)
            set->state[i] = PAGE_TOUCHED;
        else if (blind[page])
            set->state[i] = PAGE_UNMEASURABLE;
    }
    page_set_tally(set, tally);
    tally->doubts = doubt.doubts;
    tally->hidden_units = doubt.hidden_units;
    tally->younger_units = doubt.younger_units;
    return 0;
}

static void fake_close(void *state)
{
    (void)state;
    open_now--;
}

/* The same with a buffer that fills up: one that wakes, and how often each was emptied. */
#define OPEN_MAX 16

static struct {
    struct page_set *set; /* NULL: free */
    int fd;
    unsigned emptied;
} buffers[OPEN_MAX];

static int buffer_open(const struct target *t, struct page_set *set, void **state,
                       struct error *error)
{
    size_t i = 0;

    while (buffers[i].set)
        i++;
    ck_assert_uint_lt(i, OPEN_MAX);
    buffers[i].set = set;
    buffers[i].fd = eventfd(0, EFD_NONBLOCK);
    buffers[i].emptied = 0;
    return fake_open(t, set, state, error);
}

static size_t buffer_of(const void *state)
{
    size_t i = 0;

    while (buffers[i].set != state)
        i++;
    return i;
}

static int buffer_poll(void *state, struct error *error)
{
    uint64_t told;

    (void)error;
    (void)!read(buffers[buffer_of(state)].fd, &told, sizeof(told));
    buffers[buffer_of(state)].emptied++;
    return 0;
}

static int buffer_wake_fd(void *state)
{
    return buffers[buffer_of(state)].fd;
}

static void buffer_close(void *state)
{
    size_t i = buffer_of(state);

    close(buffers[i].fd);
    buffers[i].set = NULL;
    fake_close(state);
}

static const struct method buffer_method = {
    .name = "buffer",
    .panel = true,
    .needs_pages = true,
    .open = buffer_open,
    .mark = fake_mark,
    .wake = {.poll = buffer_poll, .fd = buffer_wake_fd},
    .collect = fake_collect,
    .rearm = fake_rearm,
    .close = buffer_close,
};

static const struct method fake_method = {
    .name = "fake",
    .panel = true,
    .sees_qemu = true,
    .needs_pages = true,
    .open = fake_open,
    .mark = fake_mark,
    .collect = fake_collect,
    .rearm = fake_rearm,
    .close = fake_close,
};

/* Like DAMON on huge pages: units of 512 pages have one accessed bit for all cohorts; collect
 * clears it, for it marks at once. */
#define UNIT 512

static bool accessed[PAGES / UNIT + 1];

struct shared_state {
    struct page_set *set;
    bool *seen; /* what stop saw */
};

static int shared_open(const struct target *t, struct page_set *set, void **state,
                       struct error *error)
{
    struct shared_state *shared = calloc(1, sizeof(*shared));

    (void)t;
    (void)error;
    shared->set = set;
    shared->seen = calloc(set->n, sizeof(*shared->seen));
    *state = shared;
    open_now++;
    return 0;
}

static int shared_mark(void *state, struct error *error)
{
    const struct shared_state *shared = state;

    (void)error;
    for (uint64_t i = 0; i < shared->set->n; i++) {
        uint64_t unit = page_set_page(shared->set, i) / UNIT;

        page_set_note_unit(shared->set, i, 9, ram.blocks[0].hva + unit * UNIT * base_page_bytes());
        shared->set->state[i] = PAGE_IDLE;
        accessed[unit] = false;
    }
    return 0;
}

static int shared_stop(void *state, struct error *error)
{
    const struct shared_state *shared = state;

    (void)error;
    for (uint64_t i = 0; i < shared->set->n; i++)
        shared->seen[i] = accessed[page_set_page(shared->set, i) / UNIT];
    return 0;
}

static int shared_collect(void *state, struct tally *tally, struct error *error)
{
    const struct shared_state *shared = state;

    shared_mark(state, error);
    for (uint64_t i = 0; i < shared->set->n; i++)
        if (shared->seen[i])
            shared->set->state[i] = PAGE_TOUCHED;
    page_set_tally(shared->set, tally);
    return 0;
}

static int shared_rearm(void *state, struct error *error)
{
    const struct shared_state *shared = state;

    (void)error;
    for (uint64_t i = 0; i < shared->set->n; i++)
        shared->set->state[i] = PAGE_IDLE;
    return 0;
}

static void shared_close(void *state)
{
    struct shared_state *shared = state;

    free(shared->seen);
    free(shared);
    open_now--;
}

static const struct method shared_method = {
    .name = "shared",
    .panel = true,
    .needs_pages = true,
    .open = shared_open,
    .mark = shared_mark,
    .stop = shared_stop,
    .collect = shared_collect,
    .rearm = shared_rearm,
    .close = shared_close,
};

static struct panel *panel;

static uint64_t own_time_ns; /* CPU time of QEMU's own threads */

static uint64_t test_own_ns(void *context)
{
    (void)context;
    return own_time_ns;
}

static const struct method *followed_method = &fake_method;

static void begin_with(uint64_t samples, double presence, double longest_s)
{
    const struct panel_plan plan = {
        .method = followed_method,
        .samples = samples,
        .presence = presence,
        .longest_s = longest_s,
        .tick_s = 1,
        .seed = 7,
        .clock = made_clock,
        .clock_context = &time_ns,
        .own_ns = test_own_ns,
    };

    own_time_ns = SECOND;
    block = (struct ram_block){.hva = 0x7f0000000000ULL, .bytes = PAGES * base_page_bytes()};
    ram = (struct guest_ram){
        .n_blocks = 1, .blocks = &block, .n_pages = PAGES, .bytes = PAGES * base_page_bytes()};
    target = (struct target){.ram = &ram};
    memset(touched, 0, sizeof(touched));
    memset(absent, 0, sizeof(absent));
    memset(swapped, 0, sizeof(swapped));
    memset(blind, 0, sizeof(blind));
    doubt = (struct tally){.doubts = 0};
    time_ns = 100 * SECOND;
    marks = 0;
    ck_assert_ok(panel_open(&target, &plan, &panel, &error));
}

/* A second in which the guest touches pages [first, first + n). */
static void second(uint64_t first, uint64_t n)
{
    for (uint64_t page = 0; page < PAGES; page++)
        touched[page] = page >= first && page < first + n;
    time_ns += SECOND;
    ck_assert_ok(panel_tick(panel, 1, NULL, &error));
}

/* Likewise, and QEMU itself reads pages [from, from + n_read). */
static void second_with_job(uint64_t n, uint64_t from, uint64_t n_read)
{
    for (uint64_t page = 0; page < PAGES; page++)
        touched[page] = page < n || (page >= from && page < from + n_read);
    time_ns += SECOND;
    own_time_ns += n_read > 0 ? SECOND / 4 : 0;
    ck_assert_ok(panel_tick(panel, 1, NULL, &error));
}

static struct tally between(double from_s, double to_s, double watched_s, int expected)
{
    const struct panel_ages ages = {.from_s = from_s, .to_s = to_s, .watched_s = watched_s};
    struct tally tally = {0};
    double est_s = 0;

    ck_assert_int_eq(panel_tally(panel, &ages, &tally, &est_s), expected);
    if (expected == 0)
        ck_assert(fabs(est_s - (isinf(to_s) ? watched_s : to_s)) < 1e-6);
    return tally;
}

static uint64_t touched_units(double from_s, double to_s, double watched_s)
{
    struct tally tally = between(from_s, to_s, watched_s, 0);

    return tally.n_strata ? tally.strata[0].touched_units : 0;
}

static uint64_t units(double to_s)
{
    return between(0, to_s, to_s, 0).strata[0].units;
}

/* All pages drawn: three cohorts of 4000 and every page in each, so counts are exact. */
TEST(plain, windows_of_one_panel)
{
    begin_with(3 * PAGES, 1, 10);
    second(0, 100);
    second(1000, 50);
    second(2000, 7);
    ck_assert_uint_eq(touched_units(0, 1, 1), 7);
    ck_assert_uint_eq(touched_units(0, 2, 2), 57);
    ck_assert_uint_eq(touched_units(0, 3, 3), 157);
    ck_assert_uint_eq(units(3), PAGES);
    between(0, 10, 10, -EAGAIN); /* not watched for so long */
    ck_assert(fabs(panel_elapsed_s(panel) - 3) < 1e-6);
}

TEST(plain, histogram_of_ages)
{
    begin_with(3 * PAGES, 1, 10);
    second(0, 100);
    second(1000, 50);
    second(2000, 7);
    ck_assert_uint_eq(touched_units(0, 1, 3), 7);
    ck_assert_uint_eq(touched_units(1, 2, 3), 50);
    ck_assert_uint_eq(touched_units(2, 3, 3), 100);
    ck_assert_uint_eq(touched_units(3, HUGE_VAL, 3), PAGES - 157);
}

/* A page touched again is young again, and is in one bin only. */
TEST(plain, last_touch_counts)
{
    begin_with(3 * PAGES, 1, 10);
    second(0, 100);
    second(0, 10);
    ck_assert_uint_eq(touched_units(0, 1, 2), 10);
    ck_assert_uint_eq(touched_units(1, 2, 2), 90);
}

TEST(plain, only_touched_pages_are_marked_again)
{
    begin_with(3 * PAGES, 1, 10);
    ck_assert_uint_eq(marks, 4 * PAGES);
    second(0, 100);
    ck_assert_uint_eq(marks, 4 * PAGES + 4 * 100);
    second(0, 0);
    ck_assert_uint_eq(marks, 4 * PAGES + 4 * 100);
}

/* However long it goes on, the longest window is answered by the three older cohorts, with all
 * pages wanted. */
TEST(plain, cohorts_are_replaced)
{
    begin_with(300, 1, 5);
    for (int s = 0; s < 40; s++) {
        second(0, PAGES / 2);
        if (s < 5)
            continue;

        struct tally tally = between(0, 5, 5, 0);

        ck_assert_uint_ge(tally.strata[0].units, 270); /* few are drawn twice */
        ck_assert_uint_le(tally.strata[0].units, 400);
        ck_assert(fabs((double)tally.strata[0].touched_units / (double)tally.strata[0].units -
                       0.5) < 0.15);
    }
    ck_assert_uint_eq(open_now, 4);
    panel_close(panel);
    ck_assert_uint_eq(open_now, 0);
}

TEST(plain, cohorts_of_another_size)
{
    begin_with(400, 1, 4);

    uint64_t before = panel_pages(panel);

    panel_set_samples(panel, 800);
    second(0, 100);
    ck_assert_uint_eq(panel_pages(panel), before); /* none was replaced yet */
    for (int i = 0; i < 40; i++)
        second(0, 100);
    ck_assert_uint_ge(panel_pages(panel), 2 * before - 8);
    panel_close(panel);
}

TEST(plain, absent_and_appearing_pages)
{
    begin_with(3 * PAGES, 1, 10);
    for (uint64_t page = 3000; page < PAGES; page++)
        absent[page] = true;
    second(0, 10);
    ck_assert_uint_eq(units(1), 3000);
    for (uint64_t page = 3000; page < 3100; page++)
        absent[page] = false;
    second(3000, 100);
    ck_assert_uint_eq(touched_units(0, 1, 1), 100);
    ck_assert_uint_eq(units(1), 3100);
    /* The balloon takes pages that were touched: no part of the working set any more, but not
     * forgotten. */
    for (uint64_t page = 3000; page < 3100; page++)
        absent[page] = true;
    second(0, 0);
    ck_assert_uint_eq(touched_units(0, 2, 2), 0);
    ck_assert_uint_eq(between(0, 2, 2, 0).drawn_gone, 100);
    ck_assert_uint_eq(units(2), 3000);
    ck_assert_uint_eq(between(0, 1, 1, 0).drawn_gone, 0);
    ck_assert_uint_eq(between(0, 1, 1, 0).drawn_absent, 1000);
}

/* Touched and taken away between the same two ticks. */
TEST(plain, gone_within_one_period)
{
    begin_with(3 * PAGES, 1, 10);
    for (uint64_t page = 0; page < 50; page++)
        absent[page] = true;
    second(0, 100);
    ck_assert_uint_eq(touched_units(0, 1, 1), 50);
    ck_assert_uint_eq(between(0, 1, 1, 0).drawn_gone, 50);
    second(0, 100);
    ck_assert_uint_eq(between(0, 1, 1, 0).drawn_gone, 0);
    ck_assert_uint_eq(between(0, 2, 2, 0).drawn_gone, 50);
    ck_assert_uint_eq(between(1, HUGE_VAL, 2, 0).drawn_gone, 0); /* no bin but the one of its age */
    for (uint64_t page = 0; page < 50; page++)
        absent[page] = false;
    second(0, 100);
    ck_assert_uint_eq(touched_units(0, 1, 1), 100);
    ck_assert_uint_eq(between(0, 3, 3, 0).drawn_gone, 0);
}

/* Swapped out after it was touched: not in the working set, and the record shall say that there is
 * swap. */
TEST(plain, gone_to_swap)
{
    begin_with(3 * PAGES, 1, 10);
    second(0, 100);
    for (uint64_t page = 0; page < 50; page++)
        absent[page] = swapped[page] = true;
    second(50, 50);
    ck_assert_uint_eq(between(0, 1, 1, 0).swapped_pages, 50);
    ck_assert_uint_eq(between(0, 1, 1, 0).drawn_gone, 0);
    ck_assert_uint_eq(between(0, 2, 2, 0).swapped_pages, 50);
    ck_assert_uint_eq(between(0, 2, 2, 0).drawn_gone, 50);
    /* Touched and swapped out between the same two ticks. */
    for (uint64_t page = 50; page < 80; page++)
        absent[page] = swapped[page] = true;
    second(50, 50);
    ck_assert_uint_eq(between(0, 1, 1, 0).swapped_pages, 80);
    ck_assert_uint_eq(between(0, 1, 1, 0).drawn_gone, 30);
    ck_assert_uint_eq(between(1, HUGE_VAL, 2, 0).swapped_pages, 80);
    second(80, 20);
    ck_assert_uint_eq(between(0, 1, 1, 0).swapped_pages, 80);
    ck_assert_uint_eq(between(0, 2, 2, 0).drawn_gone, 30);
}

/* A page that could not be watched for part of a window is neither hot nor cold in it. */
TEST(plain, unmeasurable_for_a_while)
{
    begin_with(3 * PAGES, 1, 10);
    second(0, 10);
    for (uint64_t page = 100; page < 200; page++)
        blind[page] = true;
    second(0, 10);
    for (uint64_t page = 100; page < 200; page++)
        blind[page] = false;
    second(0, 10);
    second(0, 10);
    ck_assert_uint_eq(units(1), PAGES);
    ck_assert_uint_eq(units(4), PAGES - 100);
    ck_assert_uint_eq(between(0, 4, 4, 0).drawn_unmeasurable, 100);
    ck_assert_uint_eq(touched_units(0, 4, 4), 10);
}

TEST(plain, ticks_too_far_apart_do_not_answer)
{
    begin_with(300, 1, 60);
    time_ns += 10 * SECOND;
    ck_assert_ok(panel_tick(panel, 1, NULL, &error));
    between(0, 1, 1, -EAGAIN);
    between(0, 10, 10, 0);
}

/* Half of the huge pages are touched every second. Without a stop before the first collect only one
 * cohort of four sees it: 4 % in every fourth longest window. */
TEST(plain, cohorts_on_the_same_huge_pages)
{
    followed_method = &shared_method;
    begin_with(400, 1, 3);
    for (int s = 0; s < 20; s++) {
        for (size_t unit = 0; unit < PAGES / UNIT + 1; unit += 2)
            accessed[unit] = true;
        time_ns += SECOND;
        ck_assert_ok(panel_tick(panel, 1, NULL, &error));
        ck_assert_uint_eq(touched_units(0, 1, 1), 4);
        ck_assert_uint_eq(units(1), 8);
    }
    panel_close(panel);
    followed_method = &fake_method;
}

static bool wakes(void)
{
    struct pollfd event = {.fd = panel_wake_fd(panel), .events = POLLIN};

    return poll(&event, 1, 0) == 1;
}

/* Any cohort's buffer wakes the follower, until it is emptied; also one of a cohort that came
 * later. */
TEST(plain, a_full_buffer_wakes)
{
    followed_method = &buffer_method;
    begin_with(300, 1, 2);
    ck_assert(!wakes());
    for (unsigned round = 0; round < 6; round++, second(0, 10)) {
        for (size_t i = 0; i < OPEN_MAX; i++) {
            if (!buffers[i].set)
                continue;
            ck_assert_int_eq(eventfd_write(buffers[i].fd, 1), 0);
            ck_assert(wakes());
            buffers[i].emptied = 0;
            ck_assert_ok(panel_poll(panel, &error));
            ck_assert_uint_eq(buffers[i].emptied, 1);
            ck_assert(!wakes());
        }
    }
    panel_close(panel);
    ck_assert_uint_eq(open_now, 0);
}

TEST(plain, nothing_wakes_without_a_buffer)
{
    begin_with(300, 1, 2);
    ck_assert_int_eq(panel_wake_fd(panel), -1);
}

/* A window has the doubts of its own readings, and of no others. */
TEST(plain, doubts_are_of_their_time)
{
    begin_with(3 * PAGES, 1, 10);
    doubt = (struct tally){
        .doubts = DOUBT_BITS_TAKEN, .hidden_units = HIDDEN_ANY, .younger_units = HIDDEN_ANY};
    second(0, 100);
    doubt = (struct tally){.doubts = DOUBT_READ_BY_OTHERS, .younger_units = 7};
    second(0, 100);
    doubt = (struct tally){.doubts = 0};
    second(0, 100);

    struct tally tally = between(0, 1, 3, 0);

    ck_assert_uint_eq(tally.doubts, 0);
    ck_assert_uint_eq(tally.younger_units, 0);
    tally = between(0, 2, 3, 0);
    ck_assert_uint_eq(tally.doubts, DOUBT_READ_BY_OTHERS);
    ck_assert_uint_eq(tally.hidden_units, 0);
    ck_assert_uint_eq(tally.younger_units, 7);
    tally = between(0, 3, 3, 0);
    ck_assert_uint_eq(tally.doubts, DOUBT_READ_BY_OTHERS | DOUBT_BITS_TAKEN);
    ck_assert_uint_eq(tally.hidden_units, HIDDEN_ANY);
    ck_assert_uint_eq(tally.younger_units, HIDDEN_ANY);
}

/* A dump between two scans, that left no thread. */
TEST(plain, qemu_reads_it_all)
{
    begin_with(300, 1, 10);
    second(0, 400);
    second(0, 400);
    ck_assert(!panel_read_all(panel));
    second_with_job(400, 0, PAGES);
    ck_assert(panel_read_all(panel));
    second(0, 400); /* told at two ticks at most */
    second(0, 400);
    ck_assert(!panel_read_all(panel));
    for (int s = 0; s < 15; s++) { /* also as cohorts are replaced */
        second(0, 400);
        ck_assert(!panel_read_all(panel));
    }
    second_with_job(400, 0, PAGES);
    ck_assert(panel_read_all(panel));
    panel_close(panel);
}

TEST(plain, qemu_reads_it_all_across_a_tick)
{
    begin_with(300, 1, 10);
    second(0, 400);
    second_with_job(400, 0, PAGES / 2);
    ck_assert(!panel_read_all(panel));
    second_with_job(400, PAGES / 2, PAGES / 2);
    ck_assert(panel_read_all(panel));
    panel_close(panel);
}

TEST(plain, the_guest_touches_it_all)
{
    begin_with(300, 1, 10);
    for (int s = 0; s < 5; s++) { /* it alone */
        second(0, s == 0 ? 400 : PAGES);
        ck_assert(!panel_read_all(panel));
    }
    for (int s = 0; s < 15; s++) { /* while QEMU is busy */
        second_with_job(PAGES, 0, 1);
        ck_assert(!panel_read_all(panel));
    }
    for (int s = 0; s < 5; s++) { /* a busy QEMU alone */
        second_with_job(400, 0, 1);
        ck_assert(!panel_read_all(panel));
    }
    panel_close(panel);
}

/* A quarter of the window that was asked for is near enough. */
TEST(plain, ticks_that_answer_a_window)
{
    ck_assert(panel_ticks_answer(2, 2));
    ck_assert(panel_ticks_answer(2, 2.6));
    ck_assert(!panel_ticks_answer(2, 2.7));
    ck_assert(!panel_ticks_answer(2, 3));
    ck_assert(!panel_ticks_answer(2, 3.1));
    ck_assert(panel_ticks_answer(2, 3.2));
    ck_assert(panel_ticks_answer(2, 5));
    ck_assert(panel_ticks_answer(30, 3600));
    ck_assert(panel_ticks_answer(1, 0.8)); /* the next one comes a little later */
    ck_assert(!panel_ticks_answer(1, 0.7));
}
