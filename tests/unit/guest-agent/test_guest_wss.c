// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_guest_wss.c  vmwss-guest wss: when it reads, what it makes of the idle bitmap, who is
 * dropped, its options. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/page_sizes.h"
#include "command/wss_options.h"
#include "fixture.h"
#include "proc/keyed.h"
#include "virtual_clock.h"
#include "wss/plan.h"
#include "wss/tlb_evict.h"
#include "wss/watch.h"

#include "measure/kernel/idle_bitmap.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/pagemap_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ULL
#define PID 7

/* --- when ------------------------------------------------------------------------------------- */

TEST(plain, a_plan_says_when_to_read)
{
    struct plan once = {.kind = PLAN_ONCE, .duration_s = 3};
    struct plan growth = {.kind = PLAN_GROWTH, .duration_s = 2, .total_s = 6};
    struct plan profile = {.kind = PLAN_PROFILE, .duration_s = 0.01, .steps = 4};
    struct plan snapshots = {.kind = PLAN_SNAPSHOTS, .duration_s = 1, .pause_s = 5};

    ck_assert(plan_goes_on(&once, 0, 99) && !plan_goes_on(&once, 1, 0));
    ck_assert_double_eq(plan_due_s(&once, 0), 3);
    ck_assert(plan_goes_on(&growth, 2, 5.9) && !plan_goes_on(&growth, 3, 6));
    ck_assert(plan_goes_on(&growth, 0, 7)); /* marking took longer than all of it: one reading */
    ck_assert_double_eq(plan_due_s(&growth, 2), 6);
    ck_assert(plan_goes_on(&profile, 3, 99) && !plan_goes_on(&profile, 4, 0));
    ck_assert_double_eq_tol(plan_due_s(&profile, 0), 0.01, 1e-12);
    ck_assert_double_eq_tol(plan_due_s(&profile, 3), 0.08, 1e-12);
    ck_assert(plan_goes_on(&snapshots, 1000, 1e9)); /* until interrupted */
    ck_assert_double_eq(plan_due_s(&snapshots, 1000), 1);
}

/* --- a made kernel ---------------------------------------------------------------------------- */

static const char *dir;
static struct fsroot root;
static struct page_sizes of_host;
static volatile int interrupted;
static const struct wss_subject subject = {&root, PID, &interrupted};

static void write_bytes(const char *name, const void *data, size_t size)
{
    const char *path = TEXT_OF(160, "%s/%s", dir, name);

    cleanup_file FILE *file = fopen(path, "r+");

    file = file ? file : fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, size, file), size);
}

static void write_u64(const char *name, uint64_t index, uint64_t value)
{
    const char *path = TEXT_OF(160, "%s/%s", dir, name);

    cleanup_close int fd = open(path, O_RDWR | O_CREAT, 0644);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, &value, sizeof(value), (off_t)(index * sizeof(value))), 8);
}

static void remove_file(const char *name)
{
    const char *path = TEXT_OF(160, "%s/%s", dir, name);

    ck_assert_int_eq(unlink(path), 0);
}

static void make_directories(void)
{
    static const char *const names[] = {"proc",       "proc/7",        "sys",
                                        "sys/kernel", "sys/kernel/mm", "sys/kernel/mm/page_idle",
                                        "proc/self"};
    char path[160];

    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        ck_assert_int_eq(mkdir(path, 0755), 0);
    }
}

#define STAT "7 (x) S 1 1 1 0 -1 4194560 5 6 7 8 30 12 0 0 20 0 3 0 55 1000 2"
#define ROLLUP "1-2 ---p 0 00:00 0 [rollup]\nRss: 40 kB\nPss: 30 kB\nReferenced: 4 kB\nSwap: 4 kB\n"

/* Pages 16..31 of one mapping, and a second mapping of hugetlb pages. */
#define SMAPS                                                             \
    "10000-20000 rw-p 00000000 00:00 0\nRss: 40 kB\nVmFlags: rd wr\n"     \
    "400000-600000 rw-p 00000000 00:00 0\nRss: 4 kB\nVmFlags: rd wr ht\n" \
    "700000000000-7fff00000000 ---p 00000000 00:00 0\nRss: 0 kB\nVmFlags: mr mw\n"

/* Frame and flags behind each page; the last flag says whether the page takes the mark. */
static const struct {
    uint64_t page, pfn, flags;
} pages[] = {
    {16, 300, KPF_LRU | KPF_IDLE},            /* will be touched */
    {17, 100, KPF_LRU | KPF_IDLE},            /* will not */
    {18, 101, KPF_LRU},                       /* does not take the mark */
    {19, 102, 0},                             /* on no LRU list */
    {20, 65, KPF_COMPOUND_TAIL},              /* of the folio at 64, order 2, will be touched */
    {21, 66, KPF_COMPOUND_TAIL},              /* likewise */
    {22, 129, KPF_COMPOUND_TAIL},             /* of the folio at 128, will not */
    {23, 5, KPF_ZERO_PAGE | KPF_LRU},         /* the shared zero page */
    {24, 200, KPF_LRU | KPF_IDLE | KPF_HUGE}, /* hugetlb */
    {25, 301, KPF_LRU | KPF_IDLE},            /* will be touched */
};

static void make_folio(uint64_t head)
{
    write_u64("proc/kpageflags", head, KPF_LRU | KPF_IDLE | KPF_COMPOUND_HEAD | KPF_THP);
    for (uint64_t i = 1; i < 4; i++)
        write_u64("proc/kpageflags", head + i, KPF_COMPOUND_TAIL);
}

static void make_kernel(void)
{
    of_host = page_sizes_now;
    page_sizes_now = (struct page_sizes){.base_shift = 12, .huge_shift = 21};
    dir = unit_dir();
    make_directories();
    write_bytes("proc/7/stat", STAT, strlen(STAT));
    write_bytes("proc/7/statm", "100 10 0 0 0 0 0", 16);
    write_bytes("proc/7/smaps_rollup", ROLLUP, strlen(ROLLUP));
    write_bytes("proc/7/smaps", SMAPS, strlen(SMAPS));
    write_bytes("proc/7/clear_refs", "-", 1);
    write_bytes("proc/self/clear_refs", "-", 1);
    make_folio(64);
    make_folio(128);
    for (size_t i = 0; i < COUNT(pages); i++) {
        write_u64("proc/7/pagemap", pages[i].page, PAGEMAP_PRESENT | pages[i].pfn);
        write_u64("proc/kpageflags", pages[i].pfn, pages[i].flags);
    }
    write_u64("proc/7/pagemap", 26, PAGEMAP_SWAPPED | 300);    /* an offset in swap, no frame */
    write_u64("proc/7/pagemap", 0x400, PAGEMAP_PRESENT | 300); /* in the hugetlb mapping */
    write_u64(IDLE_BITMAP_PATH, 63, 0);
    interrupted = 0;
    ck_assert_int_eq(fsroot_open(&root, dir), 0);
}

static void remove_kernel(void)
{
    page_sizes_now = of_host;
    fsroot_close(&root);
}

static uint64_t bitmap_word(uint64_t word)
{
    cleanup_close int fd = fsroot_openf(&root, O_RDONLY, IDLE_BITMAP_PATH);
    uint64_t value = 0;

    ck_assert_int_eq(pread(fd, &value, sizeof(value), (off_t)(word * 8)), 8);
    return value;
}

static void touch(uint64_t pfn)
{
    write_u64(IDLE_BITMAP_PATH, pfn / 64, bitmap_word(pfn / 64) & ~(1ULL << pfn % 64));
}

FIXTURE(made, .setup = make_kernel, .teardown = remove_kernel);

TEST(made, idle_flags_tell_touched_from_untouched_and_unknown)
{
    void *state = NULL;
    struct wss_reading reading;

    ck_assert_int_eq(wss_page_idle.mark(&subject, &state), 0);
    /* 64, whose tails have no bit of their own, 100 and 101; 128; 300 and 301. */
    ck_assert_uint_eq(bitmap_word(1), 1 | 1ULL << 36 | 1ULL << 37);
    ck_assert_uint_eq(bitmap_word(2), 1);
    ck_assert_uint_eq(bitmap_word(3), 0);
    ck_assert_uint_eq(bitmap_word(4), 1ULL << 44 | 1ULL << 45);
    ck_assert_int_eq(wss_page_idle.read(&subject, state, &reading), 0);
    ck_assert_uint_eq(reading.memory.referenced_bytes, 0);
    touch(300);
    touch(64);
    touch(101);
    touch(301);
    ck_assert_int_eq(wss_page_idle.read(&subject, state, &reading), 0);
    ck_assert_uint_eq(reading.memory.referenced_bytes, 4 * PAGE); /* 300, 301, 65, 66 */
    ck_assert_uint_eq(reading.unmeasurable_bytes, 3 * PAGE);      /* 101, 102, 200 */
    wss_page_idle.forget(state);
}

/* Faulted in just before: it waits in a batch of its CPU's when it is to be marked, and is on a
 * list when it is read. */
TEST(made, a_page_that_comes_to_a_list_after_marking_is_unknown)
{
    void *state = NULL;
    struct wss_reading reading;

    ck_assert_int_eq(wss_page_idle.mark(&subject, &state), 0);
    write_u64("proc/kpageflags", 102, KPF_LRU);
    ck_assert_int_eq(wss_page_idle.read(&subject, state, &reading), 0);
    ck_assert_uint_eq(reading.memory.referenced_bytes, 0);
    ck_assert_uint_eq(reading.unmeasurable_bytes, 2 * PAGE); /* 102, 200 */
    /* Marked anew, it is like any other. */
    write_u64("proc/kpageflags", 102, KPF_LRU | KPF_IDLE);
    ck_assert_int_eq(wss_page_idle.mark(&subject, &state), 0);
    touch(102);
    ck_assert_int_eq(wss_page_idle.read(&subject, state, &reading), 0);
    ck_assert_uint_eq(reading.memory.referenced_bytes, PAGE);
    wss_page_idle.forget(state);
}

/* The pagemap has an entry for each base page, whatever its size: pages 16..31 lie elsewhere. */
TEST_EACH(made, base_pages_are_the_kernels, 0, 3)
{
    static const struct page_sizes kernels[] = {{12, 21}, {14, 25}, {16, 29}};
    const unsigned shift = kernels[_i].base_shift;
    void *state = NULL;
    struct wss_reading reading;

    page_sizes_now = kernels[_i];

    const char *text = TEXT_OF(96, "%x-%x rw-p 00000000 00:00 0\nRss: 640 kB\nVmFlags: rd wr\n",
                               16U << shift, 32U << shift);

    remove_file("proc/7/smaps");
    write_bytes("proc/7/smaps", text, strlen(text));
    ck_assert_int_eq(wss_page_idle.mark(&subject, &state), 0);
    touch(300);
    touch(64);
    touch(101);
    touch(301);
    ck_assert_int_eq(wss_page_idle.read(&subject, state, &reading), 0);
    ck_assert_uint_eq(reading.memory.referenced_bytes, 4ULL << shift); /* 300, 301, 65, 66 */
    ck_assert_uint_eq(reading.unmeasurable_bytes, 3ULL << shift);      /* 101, 102, 200 */
    wss_page_idle.forget(state);
}

TEST(made, without_frame_numbers_nothing_is_claimed)
{
    void *state = NULL;

    write_u64("proc/7/pagemap", 18, PAGEMAP_PRESENT);
    ck_assert_int_eq(wss_page_idle.mark(&subject, &state), -EPERM);
    wss_page_idle.forget(state);
}

static struct watch watch_of(const struct wss_method *method, pid_t other)
{
    struct process process[] = {{.pid = PID, .start_ticks = 55, .name = "x"},
                                {.pid = other, .start_ticks = 55, .name = "y"}};
    struct processes processes = {.process = process, .n = other ? 2 : 1};
    struct watch watch;

    ck_assert_int_eq(watch_begin(&watch, &root, method, &processes, NULL), 0);
    return watch;
}

TEST(made, clear_refs_is_written_and_referenced_is_read)
{
    struct watch watch = watch_of(&wss_clear_refs, 0);
    char text[4] = "";

    ck_assert_int_eq(watch_mark(&watch, NULL), 0);
    ck_assert_int_eq(fsroot_read(&root, text, sizeof(text), "proc/7/clear_refs"), 1);
    ck_assert_str_eq(text, "1");
    ck_assert_int_eq(watch_read(&watch, NULL), 0);
    ck_assert_uint_eq(watch.n, 1);
    ck_assert_uint_eq(watch.watched[0].reading.memory.referenced_bytes, 4096);
    ck_assert_uint_eq(watch.watched[0].reading.memory.pss_bytes, 30720);
    ck_assert_double_ge(watched_est_s(&watch.watched[0]), 0);
    ck_assert_double_ge(watched_duration_s(&watch.watched[0]), watched_est_s(&watch.watched[0]));
    watch_end(&watch);
}

TEST(made, page_idle_has_rss_and_pss_too)
{
    struct watch watch = watch_of(&wss_page_idle, 0);

    ck_assert_int_eq(watch_mark(&watch, NULL), 0);
    touch(300);
    ck_assert_int_eq(watch_read(&watch, NULL), 0);
    ck_assert_uint_eq(watch.watched[0].reading.memory.referenced_bytes, PAGE);
    ck_assert_uint_eq(watch.watched[0].reading.memory.pss_bytes, 30720);
    watch_end(&watch);
}

TEST(made, who_has_ended_is_dropped)
{
    struct watch watch = watch_of(&wss_clear_refs, 8);

    ck_assert_int_eq(watch_mark(&watch, NULL), 0);
    ck_assert_uint_eq(watch.n, 1);
    ck_assert_uint_eq(watch.gone, 1);
    /* The pid is another process's now, which nobody has marked. */
    write_bytes("proc/7/stat", "7 (x) S 1 1 1 0 -1 4194560 5 6 7 8 30 12 0 0 20 0 3 0 56 1000 2",
                strlen(STAT));
    ck_assert_int_eq(watch_read(&watch, NULL), 0);
    ck_assert_uint_eq(watch.n, 0);
    ck_assert_uint_eq(watch.gone, 2);
    watch_end(&watch);
}

TEST(made, an_interruption_ends_it_before_anything_more_is_marked)
{
    struct watch watch = watch_of(&wss_clear_refs, 0);
    struct wss_reading reading;
    char text[4] = "";
    void *state = NULL;

    watch.interrupted = &interrupted;
    interrupted = 1;
    ck_assert_int_eq(watch_mark(&watch, NULL), -EINTR);
    ck_assert_int_eq(fsroot_read(&root, text, sizeof(text), "proc/7/clear_refs"), 1);
    ck_assert_str_eq(text, "-");
    ck_assert_int_eq(watch_read(&watch, NULL), -EINTR);
    ck_assert_uint_eq(watch.n, 1); /* still there, to be freed */
    ck_assert_int_eq(wss_page_idle.mark(&subject, &state), -EINTR);
    ck_assert_uint_eq(bitmap_word(1), 0);
    ck_assert_int_eq(wss_page_idle.read(&subject, state, &reading), -EINTR);
    ck_assert_int_eq(tlb_evict(&interrupted), -EINTR);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    wss_page_idle.forget(state);
    watch_end(&watch);
}

static bool huge(const char *more)
{
    struct watch watch = watch_of(&wss_clear_refs, 0);
    bool answer;
    const char *text = TEXT_OF(256, ROLLUP "%s", more);

    write_bytes("proc/7/smaps_rollup", text, strlen(text));
    ck_assert_int_eq(watch_mark(&watch, NULL), 0);
    ck_assert_int_eq(watch_read(&watch, NULL), 0);
    answer = watched_is_huge(&watch.watched[0]);
    watch_end(&watch);
    return answer;
}

TEST(made, huge_pages_are_told_of)
{
    ck_assert(!huge("AnonHugePages: 0 kB\nShmemPmdMapped: 0 kB\nFilePmdMapped: 0 kB\n"));
    ck_assert(huge("AnonHugePages: 0 kB\nShmemPmdMapped: 2048 kB\nFilePmdMapped: 0 kB\n"));
    ck_assert(huge("AnonHugePages: 2048 kB\nShmemPmdMapped:    0 kB\nFilePmdMapped: 0 kB\n"));
}

static void make_vmstat(unsigned kswapd, unsigned direct)
{
    const char *text = TEXT_OF(96, "pgscan_kswapd %06u\npgscan_direct %06u\npgscan_anon 000007\n",
                               kswapd, direct);

    write_bytes("proc/vmstat", text, strlen(text));
}

TEST(made, who_else_clears_accessed_bits_is_told_of)
{
    struct watch watch = watch_of(&wss_clear_refs, 0);

    make_vmstat(5, 6);
    ck_assert_int_eq(watch_mark(&watch, NULL), 0);
    ck_assert_int_eq(watch_read(&watch, NULL), 0);
    ck_assert(!watch.disturbed.reclaim && !watch.disturbed.damon);
    make_vmstat(5, 7);
    ck_assert_int_eq(watch_read(&watch, NULL), 0);
    ck_assert(watch.disturbed.reclaim && !watch.disturbed.damon);
    write_bytes("proc/vmstat", "pgscan_kswapd 000009\npgscan_unknown 00\n", 39); /* no 0 */
    ck_assert_int_eq(watch_read(&watch, NULL), 0);
    ck_assert(!watch.disturbed.reclaim && watch.disturbed.reclaim_unknown);
    make_vmstat(5, 7);
    /* It is 12 now, of anybody: that was before the next mark. */
    ck_assert_int_eq(watch_mark(&watch, NULL), 0);
    write_bytes("proc/7/comm", "kdamond.0\n", 10); /* who is none, having memory */
    ck_assert_int_eq(watch_read(&watch, NULL), 0);
    ck_assert(!watch.disturbed.reclaim && !watch.disturbed.damon);
    write_bytes("proc/7/statm", "0 0 0 0 0 0 0  \n", 16);
    ck_assert_int_eq(watch_read(&watch, NULL), 0);
    ck_assert(watch.disturbed.damon);
    watch_end(&watch);
}

/* Marking takes long, but for the first process. */
static uint64_t marked_at_ns[8];
static size_t n_marked;

static int mark_slowly(const struct wss_subject *whom, void **state)
{
    (void)whom;
    (void)state;
    marked_at_ns[n_marked] = clock_ns();
    if (n_marked++ > 0)
        virtual_clock_pass_ms(50);
    return 0;
}

static int read_nothing(const struct wss_subject *whom, void *state, struct wss_reading *reading)
{
    (void)whom;
    (void)state;
    *reading = (struct wss_reading){0};
    return 0;
}

TEST(made, each_process_has_its_own_time)
{
    static const struct wss_method slow = {
        .name = "slow", .mark = mark_slowly, .read = read_nothing, .reads_memory = true};
    struct watch watch = watch_of(&slow, PID);

    virtual_clock_start();
    n_marked = 0;
    ck_assert_int_eq(watch_mark(&watch, NULL), 0);

    uint64_t all_marked_ns = clock_ns();

    ck_assert_int_eq(watch_read(&watch, NULL), 0);
    ck_assert_uint_eq(watch.n, 2);
    /* The first was marked when the second began to be. */
    ck_assert_double_ge(watched_est_s(&watch.watched[0]),
                        (double)(all_marked_ns - marked_at_ns[1]) / 1e9);
    watch_end(&watch);
}

TEST(made, what_cannot_be_read_is_not_called_refused)
{
    struct watch watch = watch_of(&wss_page_idle, PID);

    write_bytes("proc/7/smaps", "nonsense", 8);
    ck_assert_int_eq(watch_mark(&watch, NULL), 0);
    ck_assert_uint_eq(watch.n, 0);
    ck_assert_uint_eq(watch.refused, 0);
    ck_assert_uint_eq(watch.unread, 2);
    watch_end(&watch);
}

static const struct wss_method *find(const char *name, struct error *error)
{
    return wss_method_find(&root, name, error);
}

TEST(made, auto_takes_page_idle_where_it_is)
{
    struct error error = {0};

    ck_assert_ptr_eq(find("auto", &error), &wss_page_idle);
    ck_assert_ptr_eq(find("clear_refs", &error), &wss_clear_refs);
    ck_assert_ptr_null(find("magic", &error));
    ck_assert_ptr_nonnull(strstr(error.text, "'magic' is no method"));

    const char *path = TEXT_OF(160, "%s/%s", dir, IDLE_BITMAP_PATH);

    unlink(path);
    ck_assert_ptr_eq(find("auto", &error), &wss_clear_refs);
    ck_assert_ptr_null(find("page_idle", &error));
    ck_assert_ptr_nonnull(strstr(error.text, "CONFIG_IDLE_PAGE_TRACKING"));
}

/* --- the command line ------------------------------------------------------------------------- */

#define ARGUMENTS_MAX 8

static int parse(struct wss_options *options, const char *line)
{
    char text[128];
    char *argv[ARGUMENTS_MAX + 1] = {NULL};
    char *rest = NULL;
    int argc = 0;

    snprintf(text, sizeof(text), "wss %s", line);
    for (char *word = strtok_r(text, " ", &rest); word && argc < ARGUMENTS_MAX;
         word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    optind = 0;
    return wss_options_read(options, argc, argv);
}

TEST(plain, options_are_those_that_people_know)
{
    struct wss_options options;

    ck_assert_int_eq(parse(&options, "-C -d 10 -t 181 1"), 0);
    ck_assert_int_eq(options.plan.kind, PLAN_GROWTH);
    ck_assert_double_eq(options.plan.total_s, 10);
    ck_assert_double_eq(options.plan.duration_s, 1);
    ck_assert(options.output.times && !options.output.names);
    ck_assert_int_eq(options.pid[0], 181);
    ck_assert_int_eq(parse(&options, "-s 0 181,182 0.01"), 0);
    ck_assert_int_eq(options.plan.kind, PLAN_SNAPSHOTS);
    ck_assert_uint_eq(options.n_pids, 2);
    ck_assert(options.output.names);
    ck_assert_int_eq(parse(&options, "-P 10 181 0.01"), 0);
    ck_assert_uint_eq(options.plan.steps, 10);
    ck_assert_int_eq(parse(&options, "--all 2"), 0);
    ck_assert_uint_eq(options.output.top, 20);
    ck_assert_double_eq(options.plan.duration_s, 2);
}

static const char *const wrong[] = {
    "",          "x",          "0",         "-1",        "1,x",    "1 0",         "1 2 3",
    "-P 0 1",    "-P 31 1",    "-C -P 3 1", "-C -s 1 1", "-d 5 1", "-P 3 -d 5 1", "-s x 1",
    "--all 1 2", "-n 0 --all",
};

TEST_EACH(plain, what_makes_no_sense_is_refused, 0, COUNT(wrong))
{
    struct wss_options options;

    ck_assert_int_eq(parse(&options, wrong[_i]), -EINVAL);
}
