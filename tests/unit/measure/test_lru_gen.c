// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_lru_gen.c  MGLRU's generations: their parser, over texts as the lab's kernels print
 * them, and the bookkeeping of
 *  `mglru`, with what it refuses, in made trees. */
#include "fake_kernel.h"
#include "fixture.h"
#include "measure/kernel/lru_gen.h"
#include "measure/kernel/memcg.h"
#include "measure/kernel/ram_smaps.h"
#include "measure/method.h"
#include "measure/method/mglru_count.h"
#include "measure/method/mglru_trial.h"

#include <errno.h>

#define MIB (1ULL << 20)
#define GROUP "sys/fs/cgroup/guest"
#define ENABLED "sys/kernel/mm/lru_gen/enabled"
#define LRU_GEN "sys/kernel/debug/lru_gen"

static const char plain_file[] =
    "memcg     1 /\n node     0\n          0      22076          7           9 \n"
    "memcg     2 /guest\n node     0\n"
    "          2      26008          2         262 \n"
    "          3      26008      39691        9728 \n"
    "          4       3364       9734           0 \n"
    "          5        344          3           0 \n"
    "memcg     3 /guest-more\n node     0\n"
    "          8      26008          5           5 \n";

/* lru_gen_full of Linux 6.12 without CONFIG_LRU_GEN_STATS. */
#define TIERS(mark)                                                                     \
    "                     0          0" mark "          0e          0p          0" mark \
    "          0e          0p\n"                                                        \
    "                     1          0" mark "          0e          0p          0" mark \
    "          0e          0p\n"
static const char full[] =
    "memcg     2 /guest\n node     0\n"
    "          2      26636          0x        262 \n" TIERS(
        "r") "                                0x          0x          0x          0x\n"
             "          3      26636      39691        9728 \n" TIERS(
                 "x") "                                0x          0x          0x          0x\n"
                      "          4       3992       9734           0 \n" TIERS(
                          "x") "                                0x          0x          0x          0x\n"
                               "          5        972          0           0 \n" TIERS(
                                   "R") "                           128470T      59823Y        264F        127A\n";

/* With CONFIG_LRU_GEN_STATS, on two nodes. */
static const char with_stats[] =
    "memcg     2 /guest\n node     0\n"
    "          4       3992       9734           0 \n" TIERS(
        "r") "                            64235t       9823y          1f          1a\n"
             "          5        972          0           0 \n" TIERS(
                 "R") "                                0x          0x          0x          0x\n"
                      " node     1\n"
                      "          7        972          1           0 \n" TIERS(
                          "R") "                                0x          0x          0x          0x\n";

/* The format of Linux 6.1, which prints spaces where there is no letter. */
static const char old[] =
    "memcg     2 /guest\n node     0\n"
    "          0     151112          0         137 \n"
    "                     0          0r          0e          0p          0r          0e          0p\n"
    "                                0           0           0           0           0           0 \n"
    "          1     151112      24890        9728 \n"
    "                     0          0           0           0           0           0           0 \n"
    "                                0           0           0           0           0           0 \n"
    "          2        344          0           0 \n"
    "                     0          0R          0T          0           0R          0T          0 \n"
    "                            64235L      39691O       9823Y        264N        127F        100A\n";

static struct lru_gen gens;

static uint64_t number(const char *text, const char *path)
{
    ck_assert_int_eq(lru_gen_parse(text, path, &gens), 0);
    return lru_gen_youngest(&gens.nodes[0])->number;
}

TEST(plain, finds_the_group)
{
    ck_assert_uint_eq(number(plain_file, "/guest"), 5);
    ck_assert_uint_eq(gens.memcg_id, 2);
    ck_assert_uint_eq(gens.n_nodes, 1);
    ck_assert_uint_eq(gens.nodes[0].n, 4);
    ck_assert_uint_eq(gens.nodes[0].generations[2].anon_pages, 9734);
    ck_assert_uint_eq(gens.nodes[0].generations[1].file_pages, 9728);
    ck_assert_uint_eq(gens.nodes[0].generations[0].age_ms, 26008);
    ck_assert(!gens.nodes[0].has_leaves);
    ck_assert_uint_eq(number(plain_file, "/guest-more"), 8);
    ck_assert_uint_eq(number(plain_file, "/"), 0);
    ck_assert_int_eq(lru_gen_parse(plain_file, "/gues", &gens), -ENOENT);
    ck_assert_int_eq(lru_gen_parse("", "/guest", &gens), -ENOENT);
}

/* The page cache of a guest's disk keeps the group of its last run. */
TEST(plain, takes_the_newest_group_of_that_path)
{
    static const char twice[] = "memcg     2 /guest\n node     0\n"
                                "          2      26008          2         262 \n"
                                "memcg     9 /guest\n node     0\n"
                                "          7      26008          4         262 \n";
    struct lru_gen gen;

    ck_assert_int_eq(lru_gen_parse(twice, "/guest", &gen), 0);
    ck_assert_uint_eq(gen.memcg_id, 9);
    ck_assert_uint_eq(gen.n_nodes, 1);
    ck_assert_uint_eq(lru_gen_youngest(&gen.nodes[0])->number, 7);
}

TEST(plain, reads_the_full_file)
{
    ck_assert_uint_eq(number(full, "/guest"), 5);
    ck_assert_uint_eq(gens.nodes[0].n, 4);
    ck_assert_uint_eq(gens.nodes[0].generations[0].file_pages, 262);
    ck_assert_uint_eq(gens.nodes[0].generations[2].anon_pages, 9734);
    ck_assert_uint_eq(gens.nodes[0].leaves, 128470);

    struct lru_gen_node before = gens.nodes[0];

    gens.nodes[0].leaves += 70000;
    ck_assert_uint_eq(lru_gen_walked(&before, &gens.nodes[0]), 70000);
    before.has_leaves = false;
    ck_assert_uint_eq(lru_gen_walked(&before, &gens.nodes[0]), UINT64_MAX);
}

TEST(plain, reads_stats_of_each_generation)
{
    ck_assert_uint_eq(number(with_stats, "/guest"), 5);
    ck_assert_uint_eq(gens.n_nodes, 2);
    ck_assert_uint_eq(gens.nodes[1].id, 1);
    ck_assert_uint_eq(lru_gen_youngest(&gens.nodes[1])->number, 7);
    ck_assert_uint_eq(lru_gen_walked(&gens.nodes[0], &gens.nodes[0]), 64235);
    ck_assert_uint_eq(lru_gen_walked(&gens.nodes[1], &gens.nodes[1]), UINT64_MAX);
}

TEST(plain, reads_the_full_file_of_linux_6_1)
{
    ck_assert_uint_eq(number(old, "/guest"), 2);
    ck_assert_uint_eq(gens.nodes[0].n, 3);
    ck_assert_uint_eq(gens.nodes[0].generations[1].anon_pages, 24890);
    ck_assert_uint_eq(gens.nodes[0].leaves, 64235);
    ck_assert(gens.nodes[0].leaves_sum);
}

TEST(plain, refuses_what_it_does_not_understand)
{
    static const char *const bad[] = {
        "memcg 2 /guest\n",
        "memcg 2 /guest\n node 0\n",
        "memcg 2 /guest\n          2      26008          2         262 \n",
        "memcg 2 /guest\n node 0\n          2      26008          2\n",
        "memcg 2 /guest\n node 0\n          3 1 2 3\n          3 1 2 3\n",
        "memcg 2 /guest\n node 0\n          3 1 -2 3\n",
        "memcg 2 /guest\n node 0\n          18446744073709551615 1 2 3\n",
        "memcg 2 /guest\n node 4294967296\n          3 1 2 3\n",
        "memcg 2 /guest\n node 0\n 1 1 1 1\n 2 1 1 1\n 3 1 1 1\n 4 1 1 1\n 5 1 1 1\n 6 1 1 1\n 7 1 1 1\n"
        " 8 1 1 1\n 9 1 1 1\n",
    };

    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(lru_gen_parse(bad[i], "/guest", &gens) == -EBADMSG, "%s", bad[i]);
}

/* --- bookkeeping ------------------------------------------------------------------------------ */

static struct lru_gen marked, now;
static struct mglru_figure figure;

/* Generations first .. first + n - 1 with so many pages each. */
static void put(struct lru_gen *out, uint64_t first, unsigned n, const uint64_t *pages)
{
    *out = (struct lru_gen){.memcg_id = 2, .n_nodes = 1, .nodes[0].n = n};
    for (unsigned i = 0; i < n; i++)
        out->nodes[0].generations[i] = (struct lru_generation){.number = first + i,
                                                               .anon_pages = pages[i]};
}

TEST(plain, counts_what_the_window_touched)
{
    const unsigned one = 1;
    const unsigned two = 2;

    put(&marked, 1, 4, (uint64_t[]){0, 10, 1000, 3});
    put(&now, 2, 4, (uint64_t[]){10, 700, 300, 5});
    ck_assert_int_eq(mglru_figure(&marked, &now, &one, &figure), 0);
    ck_assert_uint_eq(figure.touched_pages, 300);
    ck_assert_uint_eq(figure.listed_pages, 1015);
    ck_assert_uint_eq(figure.foreign + figure.merged_pages, 0);

    /* A second window, as long as the first and more. */
    put(&now, 3, 4, (uint64_t[]){610, 100, 300, 5});
    ck_assert_int_eq(mglru_figure(&marked, &now, &two, &figure), 0);
    ck_assert_uint_eq(figure.touched_pages, 400);
    ck_assert_uint_eq(figure.foreign + figure.merged_pages, 0);
}

TEST(plain, foreign_generations)
{
    const unsigned one = 1;

    put(&marked, 1, 4, (uint64_t[]){0, 10, 1000, 3});
    put(&now, 3, 4, (uint64_t[]){610, 100, 300, 5});
    ck_assert_int_eq(mglru_figure(&marked, &now, &one, &figure), 0);
    ck_assert_uint_eq(figure.foreign, 1);
    ck_assert_uint_eq(figure.touched_pages, 400); /* all the same: it is all there */
    ck_assert_uint_eq(figure.merged_pages, 0);

    /* One more, and the old ones are merged into the first of the window's. */
    put(&now, 4, 4, (uint64_t[]){710, 0, 300, 5});
    ck_assert_int_eq(mglru_figure(&marked, &now, &one, &figure), 0);
    ck_assert_uint_eq(figure.foreign, 2);
    ck_assert_uint_eq(figure.touched_pages, 1010);
    ck_assert_uint_eq(figure.merged_pages, 710 + 10); /* and may be, the oldest into the youngest */
    now.memcg_id = 3;
    ck_assert_int_eq(mglru_figure(&marked, &now, &one, &figure), -ESTALE);
}

/* Without swap the oldest pages stay where they are, and their place becomes the youngest's. */
TEST(plain, oldest_pages_that_an_ageing_by_others_folds)
{
    const unsigned one = 1;

    put(&marked, 1, 4, (uint64_t[]){900, 10, 100, 3});
    put(&now, 3, 4, (uint64_t[]){100, 50, 903, 5});
    ck_assert_int_eq(mglru_figure(&marked, &now, &one, &figure), 0);
    ck_assert_uint_eq(figure.touched_pages, 953);
    ck_assert_uint_eq(figure.merged_pages, 900); /* so the lower bound goes without */
}

TEST(plain, bounds_hold_what_is_not_the_guests)
{
    const struct ram_smaps sums = {.resident_bytes = 100 * MIB,
                                   .hugetlb_bytes = 2 * MIB,
                                   .own_bytes = 12 * MIB,
                                   .own_referenced_bytes = 2 * MIB,
                                   .own_doubtful_bytes = MIB,
                                   .own_mapped_bytes = 4 * MIB};
    struct mglru_beside beside = {.others_bytes = MIB};
    struct tally tally;

    figure = (struct mglru_figure){.touched_pages = 40 * 256, .listed_pages = 110 * 256};
    mglru_tally(&figure, &sums, &beside, &tally);
    ck_assert_uint_eq(tally.touched_bytes, 38 * MIB);
    ck_assert_uint_eq(tally.missed_bytes, 2 * MIB);
    ck_assert_uint_eq(tally.surplus_bytes, 6 * MIB);
    ck_assert_uint_eq(tally.unmeasurable_bytes, 5 * MIB); /* 110 - 13 of 100 are listed */
    ck_assert_uint_eq(tally.resident_bytes, 102 * MIB);
    ck_assert_uint_eq(tally.doubts, 0);

    /* QEMU's own pages that were referenced when the window began may have been touched since, or
     * not. */
    beside.own_before_bytes = MIB + MIB / 2;
    mglru_tally(&figure, &sums, &beside, &tally);
    ck_assert_uint_eq(tally.touched_bytes, 39 * MIB + MIB / 2);
    ck_assert_uint_eq(tally.missed_bytes, MIB / 2);
    ck_assert_uint_eq(tally.surplus_bytes, 7 * MIB + MIB / 2);
    beside.own_before_bytes = 3 * MIB;
    mglru_tally(&figure, &sums, &beside, &tally);
    ck_assert_uint_eq(tally.touched_bytes, 40 * MIB);
    ck_assert_uint_eq(tally.surplus_bytes, 8 * MIB);
    beside.own_before_bytes = 0;

    /* Pages that were merged, put back, moved or collapsed need not have been touched. */
    beside.scanned_pages = 256;
    mglru_tally(&figure, &sums, &beside, &tally);
    ck_assert_uint_eq(tally.surplus_bytes, 6 * MIB);
    figure.foreign = 1;
    figure.merged_pages = 512;
    beside.moved_pages = 256;
    beside.collapses = 1;
    mglru_tally(&figure, &sums, &beside, &tally);
    ck_assert_uint_eq(tally.surplus_bytes, 12 * MIB);
    ck_assert_uint_eq(tally.doubts, DOUBT_AGEING);
}

/* --- QEMU's own memory ------------------------------------------------------------------------ */

static struct fake_kernel fake;

#define VMA(range, perms, file, rss, anon, referenced, flags)                              \
    range " " perms " 00000000 00:00 0 " file "\nRss: " rss " kB\nReferenced: " referenced \
          " kB\nAnonymous: " anon " kB\nVmFlags: rd wr mr mw me " flags "\n"

static struct ram_smaps own_sums(const char *text)
{
    struct error why = {0};
    struct ram_smaps sums;

    fake_write(&fake, "proc/4242/smaps", text);
    ck_assert_msg(ram_smaps_read_own(&fake.target, &sums, &why) == 0, "%s", why.text);
    return sums;
}

static void setup(void);
FIXTURE(checks, .setup = setup);

/* As smaps had them in the lab, but for the last: of what was referenced the generations had the
 * page of the heap. kvm-vcpu is on no list, and of libfuse3 and libcapstone pages of the files had
 * PG_referenced. */
TEST(checks, own_memory_that_generations_do_not_count)
{
    const struct ram_smaps sums = own_sums(
        VMA("7e0000000000-7e0000800000", "rw-p", "", "12", "12", "4", "nh")
            VMA("7e0001000000-7e0001012000", "r--p", "/usr/lib/libfuse3.so", "52", "12", "40", "ac")
                VMA("7e0002000000-7e000206d000", "rw-p", "/usr/lib/libcapstone.so", "68", "52",
                    "16", "ac") VMA("7e0003000000-7e0003003000", "rw-s", "anon_inode:kvm-vcpu:0",
                                    "12", "0", "12", "sh")
                    VMA("7e0004000000-7e0004003000", "rw-s", "/[aio] (deleted)", "12", "0", "12",
                        "sh"));

    ck_assert_uint_eq(sums.own_bytes, 76 << 10);
    ck_assert_uint_eq(sums.own_referenced_bytes, 4 << 10);
    ck_assert_uint_eq(sums.own_doubtful_bytes, 28 << 10);
}

/* More is referenced than there are pages of the file, or all of it is shared memory. */
TEST(checks, own_memory_that_they_do)
{
    const struct ram_smaps sums = own_sums(
        VMA("7e0001000000-7e0001012000", "rw-p", "/usr/lib/libc.so", "52", "40", "48", "ac")
            VMA("7e0003000000-7e0003010000", "rw-s", "/memfd:vga.ram (deleted)", "64", "0", "20",
                "dc") VMA("7e0004000000-7e0004010000", "rw-s", "/srv/file", "64", "0", "8", "sh"));

    ck_assert_uint_eq(sums.own_bytes, (40 + 64 + 64) << 10);
    ck_assert_uint_eq(sums.own_referenced_bytes, (36 + 20) << 10);
    ck_assert_uint_eq(sums.own_doubtful_bytes, (4 + 8) << 10);
    ck_assert_uint_eq(sums.own_mapped_bytes, 64 << 10);
}

/* Text behind guest RAM is not even parsed. */
TEST(checks, ram_alone_needs_no_look_at_the_rest)
{
    static const char format[] = VMA("1000-3000", "rw-p", "", "8", "8", "8", "ac")
        VMA("%llx-%llx", "rw-p", "", "64", "64", "32", "ac")
            VMA("7ffffffd0000-7ffffffe0000", "rw-p", "", "64", "64", "4", "ac")
                VMA("7fffffff0000-7fffffff1000", "rw-p", "", "4", "4", "4", "ac") "not smaps\n";
    const unsigned long long hva = fake.block.hva;
    struct error why = {0};
    struct ram_smaps sums;
    const char *text = TEXT_OF(1024, format, hva, hva + fake.block.bytes);

    fake_write(&fake, "proc/4242/smaps", text);
    ck_assert_int_eq(ram_smaps_read_own(&fake.target, &sums, &why), -EBADMSG);
    memset(&why, 0, sizeof(why));
    ck_assert_msg(ram_smaps_read(&fake.target, &sums, &why) == 0, "%s", why.text);
    ck_assert_uint_eq(sums.resident_bytes, 64 << 10);
    ck_assert_uint_eq(sums.referenced_bytes, 32 << 10);
    ck_assert_uint_eq(sums.own_bytes, 0);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void setup(void)
{
    fake_kernel_make(&fake, 4096);
    fake.block.resident_bytes = fake.block.mapped_bytes = 8 * MIB;
    fake_write(&fake, ENABLED, "0x0007\n");
    fake_write(&fake, LRU_GEN, plain_file);
    fake_write(&fake, "proc/sys/kernel/osrelease", "6.12.94+deb13-amd64\n");
    fake_write(&fake, "proc/4242/cgroup", "0::/guest/libvirt/emulator\n");
    fake_write(&fake, GROUP "/memory.stat", "anon 0\npgscan 5\npgrefill 2\n");
    fake_write(&fake, GROUP "/cgroup.procs", "4242\n4300\n");
    fake_write(&fake, "proc/4300/status",
               "Name:\tswtpm\nRssAnon:\t     512 kB\nRssShmem:\t     512 kB\n");
}

static void refused(const char *reason)
{
    struct error why = {0};

    ck_assert_int_lt(method_mglru.probe(&fake.target, &why), 0);
    ck_assert_msg(strstr(why.text, reason) != NULL, "%s", why.text);
}

TEST(checks, takes_a_guest_in_a_group_of_its_own)
{
    struct error why = {0};
    const struct method_needs needs = {.census = true, .windows = 3};

    ck_assert_msg(method_mglru.probe(&fake.target, &why) == 0, "%s", why.text);
    ck_assert_int_eq(method_try(&method_mglru, &fake.target, &needs, &why), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(why.text, "at most 2 windows"));
    /* Version 1. */
    fake_write(&fake, "proc/4242/cgroup", "4:memory:/guest\n0::/\n");
    fake_write(&fake, "sys/fs/cgroup/memory/guest/memory.stat", "pgpgin 5\n");
    ck_assert_int_eq(method_mglru.probe(&fake.target, &why), 0);
}

TEST(checks, needs_mglru)
{
    fake_write(&fake, ENABLED, "0x0000\n");
    refused("MGLRU is off");
    fake_write(&fake, ENABLED, "0x0005\n");
    refused("lacks 0x2");
}

/* As arm64 kernels say it where the CPU has no hardware access flag, also after "echo y". An ageing
 * then begins a generation without a walk, and what the guest touched is in none of the window's:
 * 0 pages. For `doctor` the host is refused, whatever the guest. */
TEST(checks, needs_accessed_bits_that_the_cpu_sets)
{
    struct error why = {0};

    ck_assert_msg(method_host(&method_mglru, &fake.root, &why) == 0, "%s", why.text);
    fake_write(&fake, ENABLED, "0x0001\n");
    refused("no hardware access flag");
    ck_assert_int_eq(method_host(&method_mglru, &fake.root, &why), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(why.text, "lacks 0x2"));
}

TEST(checks, needs_a_group)
{
    fake_write(&fake, "proc/4242/cgroup", "0::/other\n");
    refused("no memory control group");
    fake_write(&fake, "sys/fs/cgroup/other/memory.stat", "anon 0\n");
    refused("no entry for control group /other");
    fake_write(&fake, "proc/4242/cgroup", "0::/\n");
    fake_write(&fake, "sys/fs/cgroup/memory.stat", "anon 0\n");
    refused("root control group");
}

/* Also in a group below, if it has no memory controller of its own. */
TEST(checks, needs_the_group_for_itself)
{
    fake_write(&fake, GROUP "/below/cgroup.procs", "4301\n");
    fake_write(&fake, "proc/4301/status",
               "Name:\tqemu\nRssAnon:\t    1024 kB\nRssShmem:\t       0 kB\n");
    fake_write(&fake, "proc/4301/comm", "qemu\n");
    refused("2 MiB (most of it pid 430");
    fake_write(&fake, GROUP "/below/memory.stat", "anon 0\n");

    struct error why = {0};

    ck_assert_msg(method_mglru.probe(&fake.target, &why) == 0, "%s", why.text);
}

TEST(checks, needs_memory_on_the_lists)
{
    fake.block.backing = RAM_BACKING_HUGETLB;
    refused("hugetlb or locked");
    fake.block.backing = RAM_BACKING_ANON;
    fake.block.locked = true;
    refused("hugetlb or locked");
    fake.block.backing = RAM_BACKING_FILE;
    refused("in a file on a disk");
}

TEST(checks, older_kernels_must_prove_it)
{
    ck_assert(mglru_ages_kvm("6.12.117+deb12-amd64"));
    ck_assert(mglru_ages_kvm("7.0.1"));
    ck_assert(!mglru_ages_kvm("6.11.9"));
    ck_assert(!mglru_ages_kvm("?"));
    fake.process.accel = ACCEL_TCG;
    fake_write(&fake, "proc/sys/kernel/osrelease", "6.1.0\n");

    struct error why = {0};

    ck_assert_int_eq(method_mglru.probe(&fake.target, &why), 0); /* no bits of KVM's */
}
