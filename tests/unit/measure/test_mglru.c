// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_mglru.c  A window of `mglru` from its first ageing to its last, over a made kernel:
 * pages that wait for their list, and folios of several pages. */
#include "fake_kernel.h"
#include "fixture.h"
#include "measure/estimate/least.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/large_folios.h"
#include "measure/kernel/lru_gen.h"
#include "measure/method.h"

#include <string.h>
#include <unistd.h>

#define MIB (1ULL << 20)

static struct fake_kernel fake;

static void setup(void)
{
    fake_kernel_make(&fake, 4096);
    fake.block.resident_bytes = fake.block.mapped_bytes = 8 * MIB;
    fake_write(&fake, "sys/kernel/mm/lru_gen/enabled", "0x0007\n");
    fake_write(&fake, "proc/4242/cgroup", "0::/guest\n");
    fake_write(&fake, "sys/fs/cgroup/guest/memory.stat", "anon 0\npgscan 5\npgrefill 2\n");
    fake_write(&fake, "sys/fs/cgroup/guest/cgroup.procs", "4242\n");
}

/* --- new pages -------------------------------------------------------------------------------- */

/* A kernel with four generations, and pages that wait to come to them. */
static struct {
    uint64_t youngest;
    uint64_t pages[4]; /* of generation number modulo 4 */
    uint64_t waiting;
} host;

static void show_generations(void)
{
    char text[512];
    int end = snprintf(text, sizeof(text), "memcg     2 /guest\n node     0\n");

    for (uint64_t i = host.youngest - 3; i <= host.youngest; i++)
        end += snprintf(text + end, sizeof(text) - (size_t)end, " %llu 1000 %llu 0 \n",
                        (unsigned long long)i, (unsigned long long)host.pages[i % 4]);
    fake_write(&fake, "sys/kernel/debug/lru_gen", text);
}

bool __wrap_lru_batches_drain(void);
bool __wrap_lru_batches_drain(void)
{
    host.pages[host.youngest % 4] += host.waiting;
    host.waiting = 0;
    show_generations();
    return true;
}

int __wrap_lru_gen_age(const struct fsroot *root, uint64_t memcg_id,
                       const struct lru_gen_node *node);
int __wrap_lru_gen_age(const struct fsroot *root, uint64_t memcg_id,
                       const struct lru_gen_node *node)
{
    (void)root, (void)memcg_id, (void)node;
    host.youngest++;
    host.pages[(host.youngest + 1) % 4] += host.pages[host.youngest % 4];
    host.pages[host.youngest % 4] = 0;
    show_generations();
    return 0;
}

/* A window in which @p touched pages are touched that come from batches; 13 wait when it begins. */
static void one_window(uint64_t touched, struct tally *tally)
{
    static const char format[] =
        "%llx-%llx rw-p 00000000 00:00 0 \nRss: 8192 kB\nReferenced: 32 kB\n"
        "Anonymous: 8192 kB\nVmFlags: rd wr mr mw me ac\n";
    const unsigned long long hva = fake.block.hva;
    struct error why = {0};
    void *state = NULL;
    const char *text = TEXT_OF(512, format, hva, hva + fake.block.bytes);

    fake_write(&fake, "proc/4242/smaps", text);
    host.youngest = 5;
    memset(host.pages, 0, sizeof(host.pages));
    host.pages[3] = 2019;
    host.waiting = 13;
    show_generations();

    ck_assert_msg(method_mglru.open(&fake.target, NULL, &state, &why) == 0, "%s", why.text);
    ck_assert_msg(method_mglru.mark(state, &why) == 0, "%s", why.text);
    host.waiting += touched;
    ck_assert_msg(method_mglru.collect(state, tally, &why) == 0, "%s", why.text);
    method_mglru.close(state);
}

FIXTURE(cases, .setup = setup);

/* 13 wait when the window begins, and count with the pages before it; 16 are touched within it. */
TEST(cases, new_pages_count_in_the_window_that_touched_them)
{
    struct tally tally;

    one_window(16, &tally);
    ck_assert_uint_eq(tally.touched_bytes, 16 * base_page_bytes());
}

/* --- large folios ----------------------------------------------------------------------------- */

#define SIZES "sys/kernel/mm/transparent_hugepage/hugepages-"

/* Counters of a kernel since 6.12, of folios of 64 KiB and of huge pages; all of these that are
 * mapped whole are others'. */
static void count_folios(const char *of_64k, const char *huge)
{
    fake_write(&fake, "proc/meminfo", "MemTotal: 8000000 kB\nAnonHugePages: 4096 kB\n");
    fake_write(&fake, SIZES "64kB/enabled", "always\n");
    fake_write(&fake, SIZES "64kB/stats/nr_anon", of_64k);
    fake_write(&fake, SIZES "2048kB/enabled", "always\n");
    fake_write(&fake, SIZES "2048kB/stats/nr_anon", huge);
}

/* Two folios of 16 pages, of the second only the last five mapped, and three single pages. */
static void map_folios(void)
{
    for (uint64_t i = 0; i < 32; i++) {
        uint64_t flags = KPF_LRU | KPF_THP | (i % 16 ? KPF_COMPOUND_TAIL : KPF_COMPOUND_HEAD);

        fake_set_u64(&fake, "proc/kpageflags", 4096 + i, flags);
        if (i < 16 || i >= 27)
            fake_map(&fake, 100 + i, 4096 + i, flags);
    }
    for (uint64_t i = 0; i < 3; i++)
        fake_map(&fake, 200 + i, 5000 + i, KPF_LRU);
}

/* A touch in one page of a folio moved all 16 to the youngest generation: one of them is sure. */
TEST(cases, folios_that_are_mapped_page_by_page)
{
    struct tally tally;

    map_folios();
    count_folios("2\n", "2\n");
    one_window(16, &tally);
    ck_assert_uint_eq(tally.touched_bytes, 16 * base_page_bytes());
    ck_assert_uint_eq(tally.n_strata, 2);
    ck_assert_uint_eq(tally_stratum(&tally, 65536)->draws, 32);
    ck_assert_uint_eq(tally_stratum(&tally, base_page_bytes())->draws, 3);
    ck_assert(least_differs(&tally));
    ck_assert_uint_eq(least_of_census(&tally), base_page_bytes());
    one_window(33, &tally);
    ck_assert_uint_eq(least_of_census(&tally), 3 * base_page_bytes());
}

/* Hugetlb, locked pages and the huge zero page are in no generation: none of what was touched. */
TEST_EACH(cases, frames_that_are_on_no_list, 0, 3)
{
    static const uint64_t flags[] = {KPF_HUGE, KPF_LRU | KPF_THP | KPF_UNEVICTABLE,
                                     KPF_THP | KPF_ZERO_PAGE};
    struct tally tally;

    for (uint64_t i = 0; i < 64; i++)
        fake_set_u64(&fake, "proc/kpageflags", 8192 + i,
                     flags[_i] | (i ? KPF_COMPOUND_TAIL : KPF_COMPOUND_HEAD));
    for (uint64_t i = 0; i < 64; i++)
        fake_map(&fake, 1024 + i, 8192 + i,
                 flags[_i] | (i ? KPF_COMPOUND_TAIL : KPF_COMPOUND_HEAD));
    fake_map(&fake, 200, 5000, KPF_LRU);
    count_folios("2\n", "2\n");
    one_window(16, &tally);
    ck_assert(!least_differs(&tally));
    ck_assert_uint_eq(least_of_census(&tally), 16 * base_page_bytes());
}

/* Taken off its list for a moment, as by migration: it may be what was touched. */
TEST(cases, a_folio_on_its_way_counts)
{
    struct tally tally;

    for (uint64_t i = 0; i < 16; i++)
        fake_map(&fake, 100 + i, 4096 + i, KPF_THP | (i ? KPF_COMPOUND_TAIL : KPF_COMPOUND_HEAD));
    count_folios("2\n", "2\n");
    one_window(16, &tally);
    ck_assert_uint_eq(least_of_census(&tally), base_page_bytes());
}

/* Then no frame is looked at. */
TEST(cases, no_such_folios_by_the_kernels_counters)
{
    struct tally tally;

    map_folios();
    count_folios("0\n", "2\n");
    one_window(16, &tally);
    ck_assert(!least_differs(&tally));
    ck_assert_uint_eq(least_of_census(&tally), 16 * base_page_bytes());

    fake_write(&fake, SIZES "64kB/stats/shmem_alloc", "1\n");
    one_window(16, &tally);
    ck_assert(least_differs(&tally));
}

/* Whole ones, and of shared memory such as are mapped page by page from the first. */
static void huge_pages_were_taken_apart(void)
{
    fake_write(&fake, "proc/vmstat", "thp_split_page 3\nthp_split_pmd 0\nthp_file_alloc 0\n");
    ck_assert(!large_folios_exist(&fake.root));
    fake_write(&fake, "proc/vmstat", "thp_split_page 3\nthp_split_pmd 1\nthp_file_alloc 0\n");
    ck_assert(large_folios_exist(&fake.root));
    fake_write(&fake, "proc/vmstat", "thp_split_page 3\nthp_split_pmd 0\nthp_file_alloc 1\n");
    ck_assert(large_folios_exist(&fake.root));
}

/* A huge page more than are mapped whole; a kernel without these counters; and one without other
 * sizes, by what was split since boot. */
TEST(cases, folios_of_huge_pages_and_older_kernels)
{
    char path[128];

    count_folios("0\n", "2\n");
    ck_assert(!large_folios_exist(&fake.root));
    count_folios("0\n", "3\n");
    ck_assert(large_folios_exist(&fake.root));
    count_folios("0\n", "2\n");
    snprintf(path, sizeof(path), "%s/" SIZES "64kB/stats/nr_anon", fake.path);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert(large_folios_exist(&fake.root));
    setup();
    huge_pages_were_taken_apart();
}

/* Linux 6.8 to 6.11 have the sizes, and do not count how many folios there are. */
TEST(cases, folios_of_kernels_that_do_not_count_them)
{
    fake_write(&fake, SIZES "64kB/enabled", "always inherit madvise [never]\n");
    fake_write(&fake, SIZES "2048kB/enabled", "always [inherit] madvise never\n");
    huge_pages_were_taken_apart();

    fake_write(&fake, "proc/vmstat", "thp_split_pmd 0\n");
    fake_write(&fake, SIZES "64kB/enabled", "always inherit [madvise] never\n");
    ck_assert(large_folios_exist(&fake.root));
    fake_write(&fake, SIZES "64kB/stats/anon_fault_alloc", "0\n");
    ck_assert(!large_folios_exist(&fake.root));
    fake_write(&fake, SIZES "64kB/enabled", "always inherit madvise [never]\n");
    fake_write(&fake, SIZES "64kB/stats/anon_fault_alloc", "1\n");
    ck_assert(large_folios_exist(&fake.root));
}

/* The counters say that there are folios, and frames cannot be read: all may be huge. */
TEST(cases, folios_that_cannot_be_read)
{
    struct tally tally;
    char path[128];

    count_folios("2\n", "2\n");
    snprintf(path, sizeof(path), "%s/proc/kpageflags", fake.path);
    ck_assert_int_eq(unlink(path), 0);
    one_window(700, &tally);
    ck_assert_uint_eq(least_of_census(&tally), 2 * base_page_bytes());
}
