// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_pageout.c  When the method pageout must not go on, and which touches it sees while it
 * marks. */
#include "measure/kernel/kpageflags.h"
#include "measure/method.h"

#include "fake_kernel.h"
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#define SWAPS "proc/swaps"
#define HEAD "Filename Type Size Used Priority\n"

#define N_PAGES 64
#define PANEL 4 /* one page in 64 KiB */
#define PAGE(i) ((i) * (N_PAGES / PANEL))
#define PFN(page) (1000 + (page))
#define FILE_NAME "proc/4242/map_files/7f0000000000-7f0000040000"

static struct fake_kernel fake;
static struct page_set set;

/* --- a kernel that unmaps, and a guest that touches ------------------------------------------- */

static struct {
    int calls;              /* how many of them unmap a page that was touched */
    int run_after;          /* the guest runs after this call, and only then; 0: never */
    int call;               /* so many were made, ... */
    uint64_t advised;       /* ... of so many pages */
    bool accessed[N_PAGES]; /* the accessed bit of the page */
    bool flags;             /* reads set PG_referenced, and advice clears it */
    unsigned reads;         /* so many system calls read the kernel's files */
} model;

static bool is_hot(uint64_t page)
{
    return page < N_PAGES / 2;
}

static void map_page(uint64_t page)
{
    fake_map(&fake, page, PFN(page), KPF_LRU);
    fake_set_u64(&fake, "proc/kpagecount", PFN(page), 1);
    model.accessed[page] = is_hot(page);
}

static void guest_runs(void)
{
    for (uint64_t page = 0; page < N_PAGES; page++)
        if (is_hot(page))
            map_page(page);
}

ssize_t __real_pread(int fd, void *buffer, size_t bytes, off_t at);
ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t at);
ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t at)
{
    model.reads++;
    return __real_pread(fd, buffer, bytes, at);
}

/* The same with _FORTIFY_SOURCE. */
ssize_t __wrap___pread_chk(int fd, void *buffer, size_t bytes, off_t at, size_t most);
ssize_t __wrap___pread_chk(int fd, void *buffer, size_t bytes, off_t at, size_t most)
{
    ck_assert_uint_le(bytes, most);
    return __wrap_pread(fd, buffer, bytes, at);
}

int __wrap_pageout_calls(struct error *error);
int __wrap_pageout_calls(struct error *error)
{
    (void)error;
    return model.calls;
}

int __wrap_process_advise(int pidfd, int advice, const struct iovec *range, uint64_t n);
int __wrap_process_advise(int pidfd, int advice, const struct iovec *range, uint64_t n)
{
    (void)pidfd;
    (void)advice;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t page = ((uintptr_t)range[i].iov_base - FAKE_HVA) / base_page_bytes();

        if (model.calls == 1 || fake.process.accel == ACCEL_TCG || !model.accessed[page])
            fake_set_u64(&fake, "proc/4242/pagemap", base_pages(FAKE_HVA) + page, 0);
        model.accessed[page] = false;
        if (model.flags)
            fake_set_u64(&fake, "proc/kpageflags", PFN(page), KPF_LRU | KPF_ACTIVE);
    }
    model.advised += n;
    if (++model.call == model.run_after)
        guest_runs();
    return 0;
}

bool __wrap_touch_pages(pid_t pid, struct iovec *there, size_t n);
bool __wrap_touch_pages(pid_t pid, struct iovec *there, size_t n)
{
    (void)pid;
    for (size_t i = 0; model.flags && i < n; i++)
        fake_set_u64(&fake, "proc/kpageflags",
                     PFN(((uintptr_t)there[i].iov_base - FAKE_HVA) / base_page_bytes()),
                     KPF_LRU | KPF_REFERENCED);
    return true;
}

/* One page of each 64 KiB, all mapped; the file has them all. */
static void *open_method(int calls, int run_after)
{
    struct error error = {0};
    void *state = NULL;

    model.calls = calls;
    model.run_after = run_after;
    fake.ram.n_blocks = 1;
    fake.block.first_vma_bytes = fake.block.bytes;
    for (uint64_t page = 0; page < N_PAGES; page++) {
        map_page(page);
        fake_set_u64(&fake, FILE_NAME, page * base_page_bytes() / 8, 1);
    }
    page_set_free(&set);
    ck_assert_int_eq(page_set_blank(&set, &fake.ram, PANEL), 0);
    for (uint64_t i = 0; i < PANEL; i++)
        set.page[i] = PAGE(i);

    int rc = method_pageout.open(&fake.target, &set, &state, &error);

    ck_assert_msg(rc == 0, "%s", error.text);
    return state;
}

static void mark_and_collect(void *state)
{
    struct tally tally;

    ck_assert_ok(method_pageout.mark(state, &error));
    ck_assert_ok(method_pageout.collect(state, &tally, &error));
}

static void expect_states(enum page_state hot, enum page_state cold)
{
    for (uint64_t i = 0; i < PANEL; i++)
        ck_assert_int_eq(set.state[i], is_hot(PAGE(i)) ? hot : cold);
}

/* --- the tests -------------------------------------------------------------------------------- */

static void setup(void)
{
    fake_kernel_make(&fake, N_PAGES);
    fake_write(&fake, SWAPS, HEAD);
    model.calls = 1;
    fake.ram.n_blocks = 0; /* its file is not of this tree */
    fake_set_u64(&fake, "proc/kpagecount", 0, 0);
    ck_assert_int_eq(page_set_panel(&set, &fake.ram, 0, 1), 0);
}

static void teardown(void)
{
    page_set_free(&set);
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

/* A panel is followed for hours: swap that is added meanwhile must not get the guest's pages. */
TEST(cases, swap_that_comes_later_ends_it)
{
    struct error error = {0};
    void *state = NULL;

    int rc = method_pageout.open(&fake.target, &set, &state, &error);

    ck_assert_msg(rc == 0, "%s", error.text);
    ck_assert_int_eq(method_pageout.rearm(state, &error), 0);
    fake_write(&fake, SWAPS, HEAD "/dev/vdb partition 1048572 0 -2\n");
    ck_assert_int_eq(method_pageout.rearm(state, &error), -ENOTSUP);
    ck_assert_int_eq(method_pageout.mark(state, &error), -ENOTSUP);
    method_pageout.close(state);
}

/* A guest is suspended before the marking has ended: its touches until then count. */
TEST(cases, touched_while_marked_and_suspended_since)
{
    void *state = open_method(1, 1);

    mark_and_collect(state);
    expect_states(PAGE_TOUCHED, PAGE_IDLE);
    method_pageout.close(state);
}

/* Before Linux 6.9 the first call only takes the accessed bit of the time before. */
TEST(cases, touched_before_the_marking)
{
    void *state = open_method(2, 0);

    mark_and_collect(state);
    expect_states(PAGE_IDLE, PAGE_IDLE);
    method_pageout.close(state);
}

TEST(cases, touched_between_two_calls)
{
    void *state = open_method(2, 1);

    mark_and_collect(state);
    expect_states(PAGE_TOUCHED, PAGE_IDLE);
    method_pageout.close(state);
}

/* Its pages come off at the first call on every kernel: a second one would take touches back. */
TEST(cases, touched_while_marked_under_tcg)
{
    fake.process.accel = ACCEL_TCG;

    void *state = open_method(2, 1);

    mark_and_collect(state);
    expect_states(PAGE_TOUCHED, PAGE_IDLE);
    method_pageout.close(state);
}

static void punch(uint64_t first, uint64_t n)
{
    cleanup_close int fd = openat(fake.root.dirfd, FILE_NAME, O_RDWR);

    ck_assert_int_ge(fd, 0);
    ck_assert_zero(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                             (off_t)(first * base_page_bytes()), (off_t)(n * base_page_bytes())));
}

/* Cohorts are read together, in the order of their pages: each page has its own state, also where
 * one answer is that of a whole hole, and behind it. */
TEST(cases, several_sets_at_once)
{
    void *states[2] = {open_method(1, 0)};
    cleanup_page_set struct page_set second;
    const struct page_set *sets[2] = {&set, &second};
    struct page_merge merge;
    struct tally tallies[2] = {0};

    ck_assert_int_eq(page_set_blank(&second, &fake.ram, 3), 0);
    second.page[0] = PAGE(0) + 1;
    second.page[1] = PAGE(2) + 1;
    second.page[2] = PAGE(3) + 1;
    ck_assert_ok(method_pageout.open(&fake.target, &second, &states[1], &error));
    punch(PAGE(3), PAGE(1));
    for (size_t s = 0; s < 2; s++)
        ck_assert_ok(method_pageout.mark(states[s], &error));
    map_page(PAGE(2) + 1);   /* the guest touches one, ... */
    punch(PAGE(0), PAGE(2)); /* ... its balloon takes more, ... */
    fake_set_u64(&fake, FILE_NAME, PAGE(1) * base_page_bytes() / 8, 1); /* ... but one of these */
    ck_assert_int_eq(page_merge_make(&merge, sets, 2), 0);
    ck_assert_ok(method_pageout.many.collect(states, 2, &merge, tallies, &error));

    static const uint8_t first_states[] = {PAGE_ABSENT, PAGE_IDLE, PAGE_IDLE, PAGE_ABSENT};
    static const uint8_t second_states[] = {PAGE_ABSENT, PAGE_TOUCHED, PAGE_ABSENT};

    for (uint64_t i = 0; i < PANEL; i++)
        ck_assert_msg(set.state[i] == first_states[i], "page %d: %d", (int)i, set.state[i]);
    for (uint64_t i = 0; i < second.n; i++)
        ck_assert_msg(second.state[i] == second_states[i], "page %d: %d", (int)i, second.state[i]);

    /* The next period begins for both by one call: what was touched is advised, nothing else. */
    int calls = model.call;

    model.advised = 0;
    ck_assert_ok(method_pageout.many.rearm(states, 2, &merge, &error));
    ck_assert_int_eq(model.call, calls + 1);
    ck_assert_int_eq(model.advised, 1);
    ck_assert_int_eq(second.state[1], PAGE_IDLE);
    ck_assert_int_eq(set.state[1], PAGE_IDLE);
    for (size_t s = 0; s < 2; s++)
        method_pageout.close(states[s]);
    page_merge_free(&merge);
}

/* --- others ----------------------------------------------------------------------------------- */

static void unmap(uint64_t first, uint64_t n)
{
    for (uint64_t page = first; page < first + n; page++)
        fake_set_u64(&fake, "proc/4242/pagemap", base_pages(FAKE_HVA) + page, 0);
}

static struct tally mark_then(void *state, void (*event)(void))
{
    struct tally tally = {0};

    ck_assert_ok(method_pageout.mark(state, &error));
    event();
    ck_assert_ok(method_pageout.collect(state, &tally, &error));
    return tally;
}

static void *open_live(enum accel accel)
{
    fake.root.live = true;
    fake.process.accel = accel;
    return open_method(1, 0);
}

static void nothing(void)
{
}

static void neighbours_are_unmapped(void)
{
    unmap(PAGE(3), PAGE(1));
}

static void neighbours_are_discarded(void)
{
    punch(PAGE(3), PAGE(1));
    unmap(PAGE(3), PAGE(1));
}

/* Into what was a hole before. */
static void neighbours_come(void)
{
    for (uint64_t page = PAGE(2) + 1; page < PAGE(2) + 4; page++)
        fake_set_u64(&fake, FILE_NAME, page * base_page_bytes() / 8, 1);
}

TEST_EACH(cases, neighbours_that_others_unmap, 0, 2)
{
    void *state = open_live(_i ? ACCEL_TCG : ACCEL_KVM);
    struct tally tally;

    punch(PAGE(2) + 1, 3);
    unmap(PAGE(2) + 1, 3);
    tally = mark_then(state, nothing);
    ck_assert_uint_eq(tally.doubts, 0);
    tally = mark_then(state, neighbours_come);
    ck_assert_uint_eq(tally.doubts, 0);
    tally = mark_then(state, neighbours_are_unmapped);
    ck_assert_uint_eq(tally.doubts, DOUBT_BITS_TAKEN);
    ck_assert_uint_eq(tally.hidden_units, HIDDEN_ANY);
    ck_assert_uint_eq(tally.younger_units, HIDDEN_ANY);

    /* The next period is about all pages again. */
    model.advised = 0;
    for (uint64_t i = 0; i < PANEL; i++)
        map_page(PAGE(i));
    ck_assert_ok(method_pageout.rearm(state, &error));
    ck_assert_uint_eq(model.advised, PANEL);
    method_pageout.close(state);
}

TEST(cases, neighbours_that_leave)
{
    void *state = open_live(ACCEL_TCG);
    struct tally tally = mark_then(state, neighbours_are_discarded);

    ck_assert_uint_eq(tally.doubts, 0);
    method_pageout.close(state);
}

static void two_are_touched_and_one_read(void)
{
    fake_map(&fake, PAGE(0), PFN(PAGE(0)), KPF_LRU);
    fake_map(&fake, PAGE(1), PFN(PAGE(1)), KPF_LRU | KPF_REFERENCED);
}

/* Under KVM the guest's own faults set the flag. */
TEST_EACH(cases, pages_that_others_read, 0, 2)
{
    void *state = open_live(_i ? ACCEL_TCG : ACCEL_KVM);
    struct tally tally = mark_then(state, two_are_touched_and_one_read);

    ck_assert_uint_eq(tally.doubts, _i ? DOUBT_READ_BY_OTHERS : 0);
    ck_assert_int_eq(set.state[0], PAGE_TOUCHED);
    ck_assert_int_eq(set.state[1], _i ? PAGE_UNMEASURABLE : PAGE_TOUCHED);
    method_pageout.close(state);
}

/* There are no more sentinels than a set of few pages needs, and each renewal looks at some of
 * them: 128 for each set made 261 system calls in place of 47. */
TEST(cases, system_calls_of_a_scan)
{
    cleanup_page_set struct page_set second;
    const struct page_set *sets[] = {&set, &second};
    struct tally tallies[2];
    struct page_merge merge;
    void *states[2];

    model.flags = true;
    states[0] = open_live(ACCEL_TCG);
    ck_assert_int_eq(page_set_blank(&second, &fake.ram, PANEL / 2), 0);
    set.n = PANEL / 2;
    for (uint64_t i = 0; i < PANEL / 2; i++)
        second.page[i] = PAGE(i + PANEL / 2);
    ck_assert_ok(method_pageout.open(&fake.target, &second, &states[1], &error));
    for (size_t s = 0; s < 2; s++)
        ck_assert_ok(method_pageout.mark(states[s], &error));
    ck_assert_int_eq(page_merge_make(&merge, sets, 2), 0);
    for (int scan = 0; scan < 3; scan++) {
        model.reads = 0;
        map_page(PAGE(1));
        ck_assert_ok(method_pageout.many.collect(states, 2, &merge, tallies, &error));
        ck_assert_uint_eq(tallies[0].doubts | tallies[1].doubts, 0);
        ck_assert_ok(method_pageout.many.rearm(states, 2, &merge, &error));
    }
    ck_assert_msg(model.reads < 2 * N_PAGES, "%u reads", model.reads);
    for (size_t s = 0; s < 2; s++)
        method_pageout.close(states[s]);
    page_merge_free(&merge);
}

static void a_monitor_reads(void)
{
    fake_write(&fake, "proc/4242/io", "rchar: 1\nwchar: 8388608\nread_bytes: 0\nwrite_bytes: 0\n");
    fake_write(&fake, "proc/4242/task/4242/io", "wchar: 8388608\n");
}

TEST(cases, what_a_monitor_reads)
{
    fake_write(&fake, "proc/4242/io", "rchar: 1\nwchar: 0\nread_bytes: 0\nwrite_bytes: 0\n");
    fake_write(&fake, "proc/4242/task/4242/io", "wchar: 0\n");

    void *state = open_live(ACCEL_TCG);
    struct tally tally = mark_then(state, a_monitor_reads);

    ck_assert_uint_eq(tally.doubts, DOUBT_READ_BY_OTHERS);
    ck_assert_uint_eq(tally.younger_units, base_pages(8388608));
    method_pageout.close(state);
}
