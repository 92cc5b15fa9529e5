// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_outsiders.c  What other processes do to the memory of a TCG guest that `cold` and
 * `referenced` measure, and pages that QEMU maps for the first time. */
#include "fake_kernel.h"
#include "fixture.h"

#include "measure/estimate/wss.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/pagemap.h"
#include "measure/method.h"
#include "measure/method/first_mapping.h"
#include "measure/method/sentinels.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define N_PAGES 2048
#define N_HOT 100
#define AROUND (65536 / base_page_bytes())
#define FILE_NAME "proc/4242/map_files/7f0000000000-7f0000800000"
#define FLAGS "proc/kpageflags"
#define PFN(page) (2048 + (page))
#define MGLRU "sys/kernel/mm/lru_gen/enabled"

static struct fake_kernel fake;
static struct error error;
static bool mglru, locked;
static uint64_t reads; /* so many pages were read by us */

/* --- a kernel that counts accesses, and a guest that touches N_HOT pages ---------------------- */

static uint64_t flags_of(uint64_t page)
{
    return fake_get_u64(&fake, FLAGS, PFN(page));
}

static void set_flags(uint64_t page, uint64_t flags)
{
    fake_set_u64(&fake, FLAGS, PFN(page), flags);
}

static bool is_present(uint64_t page)
{
    return fake_get_u64(&fake, "proc/4242/pagemap", base_pages(FAKE_HVA) + page) & PAGEMAP_PRESENT;
}

/* Accessed bits of the page table. */
static bool accessed[N_PAGES];

/* Rss does not have the zero page. */
static bool is_resident(uint64_t page)
{
    return is_present(page) && !(flags_of(page) & KPF_ZERO_PAGE);
}

static void write_smaps(void)
{
    uint64_t present = 0;
    uint64_t referenced = 0;
    char text[512];

    for (uint64_t page = 0; page < N_PAGES; page++) {
        present += is_resident(page);
        referenced += is_resident(page) && (accessed[page] || (flags_of(page) & KPF_REFERENCED));
    }
    snprintf(text, sizeof(text),
             "%llx-%llx rw-%c 00000000 00:00 0 \n"
             "Size: %llu kB\nRss: %llu kB\nReferenced: %llu kB\nAnonHugePages: 0 kB\nSwap: 0 kB\n"
             "VmFlags: rd wr mr mw me dc ac sd mg \n",
             FAKE_HVA, FAKE_HVA + fake.ram.bytes, fake.block.shared ? 's' : 'p',
             (unsigned long long)fake.ram.bytes / 1024,
             (unsigned long long)(present * base_page_bytes() / 1024),
             (unsigned long long)(referenced * base_page_bytes() / 1024));
    fake_write(&fake, "proc/4242/smaps", text);
}

/* mm/swap.c, folio_mark_accessed(). */
static void mark_accessed(uint64_t page)
{
    const uint64_t flags = flags_of(page);

    if (mglru || !(flags & KPF_REFERENCED) || (flags & (KPF_ACTIVE | KPF_UNEVICTABLE)))
        set_flags(page, flags | KPF_REFERENCED);
    else
        set_flags(page, (flags & ~KPF_REFERENCED) | KPF_ACTIVE);
}

bool __wrap_touch_pages(pid_t pid, struct iovec *there, size_t n);
bool __wrap_touch_pages(pid_t pid, struct iovec *there, size_t n)
{
    ck_assert_int_eq(pid, FAKE_PID);
    reads += n;
    for (size_t i = 0; i < n; i++)
        mark_accessed(((uintptr_t)there[i].iov_base - FAKE_HVA) / base_page_bytes());
    write_smaps();
    return true;
}

bool __wrap_lru_batches_drain(void);
bool __wrap_lru_batches_drain(void)
{
    return true;
}

static void take_bits(void)
{
    memset(accessed, 0, sizeof(accessed));
    for (uint64_t page = 0; page < N_PAGES; page++)
        set_flags(page, flags_of(page) & ~(KPF_REFERENCED | KPF_ACTIVE));
    write_smaps();
}

int __wrap_process_advise(int pidfd, int advice, const struct iovec *range, uint64_t n);
int __wrap_process_advise(int pidfd, int advice, const struct iovec *range, uint64_t n)
{
    (void)pidfd, (void)advice;
    ck_assert_uint_eq(n, 1);
    if (range->iov_len > 0 && !locked)
        take_bits();
    return 0;
}

static void guest_runs(void)
{
    for (uint64_t page = 0; page < N_HOT; page++)
        accessed[page] = true;
    write_smaps();
}

/* Others read @p n pages through the kernel. */
static void read_by_others(uint64_t first, uint64_t n)
{
    for (uint64_t page = first; page < first + n; page++)
        mark_accessed(page);
    write_smaps();
}

/* A fault maps what is around it. */
static void fault_at(uint64_t page)
{
    for (uint64_t k = page / AROUND * AROUND; k < (page / AROUND + 1) * AROUND; k++) {
        fake_set_u64(&fake, "proc/4242/pagemap", base_pages(FAKE_HVA) + k,
                     PAGEMAP_PRESENT | PAGEMAP_OF_FILE | PFN(k));
        accessed[k] = true;
    }
    write_smaps();
}

static void unmap(uint64_t first, uint64_t n)
{
    for (uint64_t page = first; page < first + n; page++) {
        fake_set_u64(&fake, "proc/4242/pagemap", base_pages(FAKE_HVA) + page, 0);
        accessed[page] = false;
    }
    write_smaps();
}

static void setup(void)
{
    mglru = locked = false;
    fake_kernel_make(&fake, N_PAGES);
    fake.process.accel = ACCEL_TCG;
    fake.root.live = true;
    for (uint64_t page = 0; page < N_PAGES; page++)
        fake_map(&fake, page, PFN(page), KPF_LRU);
    take_bits();
}

/* Guest RAM is shared memory, of which the file has all. */
static void make_shared(void)
{
    fake.block.backing = RAM_BACKING_SHMEM;
    fake.block.shared = true;
    fake.block.first_vma_bytes = fake.block.bytes;
    for (uint64_t page = 0; page < N_PAGES; page++)
        fake_set_u64(&fake, FILE_NAME, page * base_page_bytes() / 8, 1);
}

static void turn_mglru_on(void)
{
    mglru = true;
    fake_write(&fake, MGLRU, "0x0007\n");
}

/* Locked, too, pages keep the flag that a second read would clear. */
static void lock_pages(void)
{
    for (uint64_t page = 0; page < N_PAGES; page++)
        set_flags(page, KPF_LRU | KPF_UNEVICTABLE);
}

static void (*const KEEPING_FLAGS[])(void) = {turn_mglru_on, lock_pages};

static void write_faults(uint64_t minor, uint64_t major)
{
    fake_write(&fake, "proc/4242/stat",
               TEXT_OF(128, "4242 (qemu) S 1 1 1 0 -1 0 %d 0 %d 0 0 0 0 0 20 0 1 0 0\n", (int)minor,
                       (int)major));
}

static void *state; /* of `cold`, once it has marked */

static void mark(void)
{
    int rc = method_cold.open(&fake.target, NULL, &state, &error);

    ck_assert_msg(rc == 0, "%s", error.text);
    rc = method_cold.mark(state, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
}

static void mark_and_run(void)
{
    mark();
    guest_runs();
}

static struct tally collect(void)
{
    struct tally tally;
    int rc = method_cold.collect(state, &tally, &error);

    ck_assert_msg(rc == 0, "%s", error.text);
    return tally;
}

static uint64_t low_pages(const struct tally *tally)
{
    return base_pages(tally->touched_bytes - tally->surplus_bytes);
}

static uint64_t high_pages(const struct tally *tally)
{
    return tally->hidden_units == HIDDEN_ANY
               ? base_pages(tally->resident_bytes)
               : base_pages(tally->touched_bytes + tally->missed_bytes);
}

static void expect_bounds(const struct tally *tally, uint64_t least, uint64_t most)
{
    ck_assert_msg(low_pages(tally) == least && high_pages(tally) == most, "[%d, %d], not [%d, %d]",
                  (int)low_pages(tally), (int)high_pages(tally), (int)least, (int)most);
}

/* --- the tests -------------------------------------------------------------------------------- */

static void teardown(void)
{
    if (state)
        method_cold.close(state);
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST(cases, left_alone_it_is_exact_and_has_no_doubt)
{
    mark();
    for (int period = 0; period < 20; period++) {
        guest_runs();

        struct tally tally = collect();

        ck_assert_uint_eq(tally.doubts, 0);
        expect_bounds(&tally, N_HOT, N_HOT);
    }
}

/* Nothing clears the flag of a sentinel there, so some pages are in the upper bound only: the same
 * ones in each window. */
TEST_EACH(cases, where_flags_stay_a_few_pages_are_not_known, 0, 2)
{
    KEEPING_FLAGS[_i]();
    mark();
    for (int period = 0; period < 20; period++) {
        guest_runs();

        struct tally tally = collect();

        ck_assert_uint_eq(tally.doubts, 0);
        ck_assert_uint_le(low_pages(&tally), N_HOT);
        ck_assert_uint_ge(high_pages(&tally), N_HOT);
        ck_assert_uint_le(high_pages(&tally) - low_pages(&tally), 16);
    }
}

TEST_EACH(cases, bits_that_others_take, 0, 3)
{
    if (_i)
        KEEPING_FLAGS[_i - 1]();
    mark_and_run();
    take_bits();

    struct tally tally = collect();

    ck_assert_uint_eq(tally.doubts, DOUBT_BITS_TAKEN);
    ck_assert_uint_eq(high_pages(&tally), N_PAGES);
    ck_assert_uint_eq(low_pages(&tally), 0);

    /* The bits taken are missing in the windows that follow. */
    guest_runs();
    tally = collect();
    ck_assert_uint_eq(tally.doubts & DOUBT_BITS_TAKEN, _i ? DOUBT_BITS_TAKEN : tally.doubts);
}

/* In the second window, after which fewer are touched than were in the first. */
TEST(cases, bits_that_are_taken_between_two_windows)
{
    mark();
    struct tally tally;

    guest_runs();
    tally = collect();
    expect_bounds(&tally, N_HOT, N_HOT);
    take_bits();
    accessed[0] = true;
    write_smaps();
    tally = collect();
    ck_assert_uint_eq(tally.doubts, DOUBT_BITS_TAKEN);
    expect_bounds(&tally, N_HOT, N_PAGES);

    /* And so it is in all that begin as early. */
    tally = collect();
    ck_assert_uint_eq(tally.doubts, DOUBT_BITS_TAKEN);
    expect_bounds(&tally, N_HOT, N_PAGES);

    /* A new marking knows nothing of it. */
    ck_assert_int_eq(method_cold.mark(state, &error), 0);
    guest_runs();
    tally = collect();
    ck_assert_uint_eq(tally.doubts, 0);
    expect_bounds(&tally, N_HOT, N_HOT);
}

/* A part of RAM has no sentinel. */
TEST(cases, a_count_that_falls)
{
    mark();
    struct tally tally;

    guest_runs();
    read_by_others(N_PAGES / 2, N_PAGES / 4);
    tally = collect();

    const uint64_t least = low_pages(&tally);
    const uint64_t touched = tally.touched_bytes;

    ck_assert_uint_le(least, N_HOT);
    memset(accessed, 0, sizeof(accessed));
    write_smaps();
    tally = collect();
    ck_assert_uint_eq(tally.doubts & DOUBT_BITS_TAKEN, DOUBT_BITS_TAKEN);
    ck_assert_uint_eq(tally.touched_bytes, touched);
    expect_bounds(&tally, least, N_PAGES);
}

TEST_EACH(cases, memory_that_others_read, 0, 2)
{
    if (_i)
        turn_mglru_on();
    mark_and_run();
    read_by_others(N_PAGES / 2, N_PAGES / 2);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.doubts & DOUBT_READ_BY_OTHERS, DOUBT_READ_BY_OTHERS);
    ck_assert_uint_le(low_pages(&tally), N_HOT);
    ck_assert_uint_ge(high_pages(&tally), N_HOT);
    ck_assert_uint_ge(base_pages(tally.surplus_bytes), N_PAGES / 2 - SENTINELS);
}

/* QEMU has read half of RAM, which was never written: the zero page is behind it, and somebody on
 * the host has read that. */
TEST(cases, the_zero_page_tells_nothing)
{
    const uint64_t zero = PFN(N_PAGES);

    for (uint64_t page = N_PAGES / 2; page < N_PAGES; page++)
        fake_map(&fake, page, zero, KPF_ZERO_PAGE | KPF_REFERENCED);
    write_smaps();
    mark_and_run();

    struct tally tally = collect();

    ck_assert_uint_eq(tally.doubts, 0);
    expect_bounds(&tally, N_HOT, N_HOT);
}

/* Its file had it all, and QEMU has mapped nothing of the second half. */
TEST(cases, first_mappings_are_counted_by_faults)
{
    make_shared();
    unmap(N_PAGES / 2, N_PAGES / 2);
    write_faults(1000, 10);

    mark_and_run();
    for (uint64_t page = N_PAGES / 2; page < N_PAGES; page += 4 * AROUND)
        fault_at(page);

    const uint64_t faults = N_PAGES / 2 / (4 * AROUND);

    write_faults(1000 + faults, 10);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.doubts, DOUBT_FIRST_MAPPING);
    expect_bounds(&tally, N_HOT + faults, N_HOT + faults * AROUND);

    /* They are mapped now. */
    ck_assert_int_eq(method_cold.mark(state, &error), 0);
    guest_runs();
    tally = collect();
    ck_assert_uint_eq(tally.doubts, 0);
    expect_bounds(&tally, N_HOT, N_HOT);
}

/* The file has the first half of RAM, and QEMU maps no more. */
static void have_half(void)
{
    make_shared();
    unmap(N_PAGES / 2, N_PAGES / 2);
    fake_cut(&fake, FILE_NAME, fake.ram.bytes / 2);
    write_faults(1000, 10);
}

/* A page that the file did not have comes alone. */
TEST(cases, new_pages_count_in_full)
{
    have_half();
    mark_and_run();
    fault_at(N_PAGES / 2);
    write_faults(1000 + AROUND - 1, 11);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.doubts, 0);
    expect_bounds(&tally, N_HOT + AROUND, N_HOT + AROUND);
}

/* They have mapped the file, too, and touched it before the guest. */
TEST(cases, new_pages_that_others_put_into_the_file)
{
    const uint64_t faults = 3;

    have_half();
    mark_and_run();
    for (uint64_t k = 0; k < faults; k++)
        fault_at(N_PAGES / 2 + 2 * k * AROUND);
    write_faults(1000 + faults, 10);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.doubts, DOUBT_FIRST_MAPPING);
    expect_bounds(&tally, N_HOT + faults, N_HOT + faults * AROUND);
}

/* They have read QEMU's memory twice, which leaves no flag, and QEMU has had too few faults. First
 * the file has these pages, then it does not. */
TEST_EACH(cases, pages_that_others_map_for_qemu, 0, 2)
{
    have_half();
    if (_i == 0)
        make_shared();
    mark_and_run();
    for (uint64_t k = 0; k < 3; k++)
        fault_at(N_PAGES / 2 + 2 * k * AROUND);
    write_faults(1002, 10);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.doubts, DOUBT_FIRST_MAPPING);
    expect_bounds(&tally, N_HOT, N_HOT + 3 * AROUND);
}

/* The pages of a panel of pageout are a sample, of which each stands for so many. */
TEST(cases, faults_that_are_fewer_beyond_chance)
{
    const struct faults hundred = {1000, 1100};
    const struct faults many = {1000, 5000};
    const struct faults unknown = {UINT64_MAX, 1100};

    ck_assert(!faults_are_fewer(&hundred, 0, 1));
    ck_assert(!faults_are_fewer(&hundred, 100, 1));
    ck_assert(faults_are_fewer(&hundred, 101, 1));
    ck_assert(!faults_are_fewer(&unknown, 200, 1));
    /* 100 pages of 100 * 50, give or take 4 * 10 * 50 */
    ck_assert(!faults_are_fewer(&many, 100, 50));
    ck_assert(faults_are_fewer(&many, 150, 50));
    /* a few pages prove nothing */
    ck_assert(!faults_are_fewer(&hundred, 16, 50));
    ck_assert(faults_are_fewer(&hundred, 20, 50));
}

/* They have swapped out a half, or dropped it from a private mapping; perhaps it came after the
 * marking. */
TEST_EACH(cases, pages_that_others_take_away, 0, 2)
{
    if (_i)
        unmap(0, N_PAGES / 2);
    mark();
    for (uint64_t page = 0; page < N_PAGES / 2; page++)
        fake_map(&fake, page, PFN(page), KPF_LRU);
    guest_runs();
    method_cold.wake.between(state);
    take_bits();
    unmap(0, N_PAGES / 2);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.doubts, DOUBT_BITS_TAKEN);
    ck_assert_uint_eq(base_pages(tally.resident_bytes), N_PAGES / 2);
    ck_assert_uint_eq(base_pages(tally.left_bytes), N_PAGES / 2);

    struct wss_memory memory = {.resident_bytes = tally.resident_bytes};
    struct wss_estimate estimate;

    ck_assert_ok(wss_estimate(&tally, &memory, &estimate));
    ck_assert_uint_eq(base_pages(estimate.wss_high_bytes), N_PAGES);
}

/* A large folio comes by one fault. */
TEST(cases, new_pages_of_a_folio_count_in_full)
{
    have_half();
    mark_and_run();
    fault_at(N_PAGES / 2);
    for (uint64_t page = N_PAGES / 2; page < N_PAGES / 2 + AROUND; page++)
        set_flags(page, KPF_LRU | (PFN(page) % AROUND ? KPF_COMPOUND_TAIL : KPF_COMPOUND_HEAD));
    write_faults(1001, 10);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.doubts & DOUBT_FIRST_MAPPING, 0);
}

TEST(cases, pages_that_others_unmap)
{
    make_shared();
    mark_and_run();
    unmap(0, N_PAGES);
    fault_at(0);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.doubts & DOUBT_BITS_TAKEN, DOUBT_BITS_TAKEN);
    ck_assert_uint_eq(tally.hidden_units, HIDDEN_ANY);
    ck_assert_uint_le(low_pages(&tally), 1);
}

/* A mapping of a file that cannot be opened may have been there. */
TEST(cases, a_file_that_cannot_be_opened)
{
    fake.block.backing = RAM_BACKING_SHMEM;
    fake.block.shared = true;
    unmap(N_PAGES / 2, N_PAGES / 2);

    mark_and_run();
    fault_at(N_PAGES / 2);
    unmap(N_PAGES / 4, AROUND); /* by a balloon, perhaps */

    struct tally tally = collect();

    ck_assert_uint_eq(tally.doubts, DOUBT_FIRST_MAPPING);
    expect_bounds(&tally, N_HOT + 1, N_HOT + AROUND);
}

/* Pages that move to other frames, as by compaction, tell nothing, nor do those that leave. */
TEST(cases, pages_that_move_or_leave)
{
    mark_and_run();
    for (uint64_t page = 0; page < N_PAGES; page++)
        fake_map(&fake, page, PFN(page) + N_PAGES, KPF_LRU);
    for (uint64_t page = N_PAGES / 2; page < N_PAGES; page++)
        fake_set_u64(&fake, "proc/4242/pagemap", base_pages(FAKE_HVA) + page, 0);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.doubts, 0);
}

/* Huge pages, whose accessed bit a read would set, are not read. */
/* A dump read the holes; the flag of the one page that all of them are is anybody's. */
TEST(cases, a_flag_of_the_zero_page_is_no_reader)
{
    mark();
    for (uint64_t page = N_PAGES / 2; page < N_PAGES; page++)
        set_flags(page, KPF_ZERO_PAGE | KPF_REFERENCED);
    guest_runs();

    struct tally tally = collect();

    ck_assert_uint_eq(tally.doubts, 0);
    ck_assert_uint_eq(base_pages(tally.touched_bytes), N_HOT);
    ck_assert_uint_eq(tally.surplus_bytes, 0);
}

TEST(cases, huge_pages_hold_no_sentinel)
{
    for (uint64_t page = 0; page < N_PAGES; page++)
        set_flags(page, KPF_LRU | KPF_THP |
                            (PFN(page) % (1ULL << huge_page_order()) ? KPF_COMPOUND_TAIL
                                                                     : KPF_COMPOUND_HEAD));

    struct sentinels sentinels;

    sentinels_open(&fake.target, &sentinels);
    sentinels_begin(&sentinels);
    ck_assert_uint_eq(sentinels.n, 0);
    ck_assert_uint_eq(reads, 0);
    sentinels_close(&sentinels);
}

/* Huge pages are counted within the window, too; base pages have sentinels. */
TEST_EACH(cases, a_count_that_falls_within_the_window, 0, 2)
{
    fake.block.huge_bytes = _i ? fake.block.bytes : 0;

    mark();
    struct tally tally;

    guest_runs();
    method_cold.wake.between(state);
    memset(accessed, 0, sizeof(accessed));
    write_smaps();
    tally = collect();
    ck_assert_uint_eq(tally.doubts & DOUBT_BITS_TAKEN, _i ? DOUBT_BITS_TAKEN : 0);
    ck_assert_uint_eq(high_pages(&tally), _i ? N_PAGES : 0);
    ck_assert_uint_ge(base_pages(tally.touched_bytes), _i ? N_HOT - SENTINELS : 0);
}

TEST(cases, a_count_that_stays_within_the_window)
{
    fake.block.huge_bytes = fake.block.bytes;

    mark();
    struct tally tally;

    guest_runs();
    tally = collect();
    /* some of the sentinels are hot */
    method_cold.wake.between(state);
    tally = collect();
    ck_assert_uint_eq(tally.doubts, 0);
    expect_bounds(&tally, N_HOT, N_HOT);
}

/* The page comes off QEMU's page table, finds nowhere to go, and is mapped again. */
static void come_off(uint64_t page)
{
    set_flags(page, (flags_of(page) & ~KPF_REFERENCED) | (mglru ? 0 : KPF_ACTIVE));
}

/* The panels of a method that unmaps take one page of each range that a fault maps. */
TEST_EACH(cases, pairs_of_sentinels_tell_who_unmaps, 0, 2)
{
    struct sentinels sentinels;

    if (_i)
        turn_mglru_on();
    sentinels_open(&fake.target, &sentinels);
    sentinels.pairs = SENTINELS_MOST / 2;
    sentinels_renew(&sentinels);
    ck_assert_uint_ge(sentinels.n, 16);
    for (size_t i = 0; i < sentinels.n; i += 2)
        ck_assert_uint_eq(sentinels.at[i].page ^ 1, sentinels.at[i + 1].page);
    for (uint64_t page = 3; page < N_PAGES; page += AROUND)
        come_off(page);
    ck_assert(!sentinels_lost_pair(&sentinels));

    /* Those that stay are still there. */
    sentinels_renew(&sentinels);
    ck_assert_uint_ge(sentinels.n, 16);
    for (size_t i = 0; i < sentinels.n; i++)
        ck_assert_uint_eq(flags_of(sentinels.at[i].page) & KPF_REFERENCED, KPF_REFERENCED);

    /* A process that only takes bits unmaps nothing, which generations do not show. */
    take_bits();
    ck_assert_int_eq(sentinels_lost_pair(&sentinels), _i);
    for (int again = 0; again < 2; again++) {
        sentinels_renew(&sentinels);
        ck_assert(!sentinels_lost_pair(&sentinels));
        for (uint64_t page = 0; page < N_PAGES; page++)
            come_off(page);
        ck_assert(sentinels_lost_pair(&sentinels));
    }
    sentinels_close(&sentinels);
}

static size_t sentinels_between(const struct sentinels *sentinels, uint64_t low, uint64_t high)
{
    size_t n = 0;

    for (size_t i = 0; i < sentinels->n; i++)
        n += sentinels->at[i].page >= low && sentinels->at[i].page < high;
    return n;
}

/* Another process unmaps the same part of RAM again and again. */
TEST(cases, sentinels_stay_where_others_unmap)
{
    const uint64_t low = N_PAGES / 4;
    const uint64_t high = N_PAGES / 2;
    struct sentinels sentinels;

    sentinels_open(&fake.target, &sentinels);
    sentinels.pairs = SENTINELS_MOST / 2;
    sentinels_renew(&sentinels);

    const size_t n = sentinels_between(&sentinels, low, high);

    ck_assert_uint_gt(n, 0);
    for (int again = 0; again < 8; again++) {
        for (uint64_t page = low; page < high; page++)
            come_off(page);
        ck_assert(sentinels_lost_pair(&sentinels));
        sentinels_renew(&sentinels);
        ck_assert_uint_eq(sentinels_between(&sentinels, low, high), n);
    }
    sentinels_close(&sentinels);
}

/* Those that others have read twice cannot be taken back, and there is no room for more. */
TEST(cases, sentinels_that_all_stay)
{
    struct sentinels sentinels;
    struct sentinels_seen seen;

    sentinels_open(&fake.target, &sentinels);
    sentinels_begin(&sentinels);
    ck_assert_uint_eq(sentinels.n, SENTINELS);
    for (size_t i = 0; i < sentinels.n; i++)
        set_flags(sentinels.at[i].page, KPF_LRU | KPF_REFERENCED | KPF_ACTIVE);
    sentinels_take(&sentinels, &seen);
    ck_assert_uint_eq(base_pages(seen.kept_bytes), SENTINELS);
    sentinels_plant(&sentinels);
    ck_assert_uint_eq(sentinels.n, SENTINELS);
    sentinels_close(&sentinels);
}

/* Folios of four pages. */
static void make_folios(void)
{
    for (uint64_t page = 0; page < N_PAGES; page++)
        set_flags(page, KPF_LRU | (PFN(page) % 4 ? KPF_COMPOUND_TAIL : KPF_COMPOUND_HEAD));
}

TEST(cases, large_folios_of_a_file_are_refused)
{
    make_shared();
    fake.block.backing = RAM_BACKING_FILE;
    locked = true; /* what is probed need not be marked */
    make_folios();
    ck_assert_error(method_cold.probe(&fake.target, &error), -ENOTSUP, "large folios");

    /* Those of anonymous memory are marked whole. */
    error = (struct error){0};
    fake.block.backing = RAM_BACKING_ANON;
    ck_assert_msg(method_cold.probe(&fake.target, &error) == 0, "%s", error.text);
}
