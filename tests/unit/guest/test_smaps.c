// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_smaps.c  The parser of /proc/PID/smaps, on real and on hostile text. */
#include "fixture.h"
#include "guest/ram/smaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct error error;
static struct vma seen[8];
static size_t n_seen;

static int collect(const struct vma *vma, void *context)
{
    (void)context;
    if (n_seen < COUNT(seen))
        seen[n_seen] = *vma;
    n_seen++;
    return 0;
}

static int parse(const char *text)
{
    n_seen = 0;
    memset(&error, 0, sizeof(error));
    return smaps_parse(text, strlen(text), collect, NULL, &error);
}

#define ONE_VMA                                                                             \
    "7f3243e00000-7f33c3e00000 rw-p 00000000 00:00 0 \n"                                    \
    "Size:            6291456 kB\nKernelPageSize:        4 kB\nMMUPageSize:         4 kB\n" \
    "Rss:                6144 kB\nReferenced:         2048 kB\nAnonHugePages:    4096 kB\n" \
    "ShmemPmdMapped:       12 kB\nFilePmdMapped:       8 kB\nShared_Hugetlb:       16 kB\n" \
    "Private_Hugetlb:      32 kB\nSwap:               64 kB\nSwapPss:            128 kB\n"  \
    "Locked:              256 kB\nTHPeligible:           1\nProtectionKey:         0\n"     \
    "VmFlags: rd wr mr mw me lo dc ac hg mg \n"

FIXTURE(cases, .timeout_s = 60);

TEST(cases, every_field)
{
    ck_assert_int_eq(parse(ONE_VMA), 0);
    ck_assert_uint_eq(n_seen, 1);
    const struct vma *v = &seen[0];

    ck_assert_uint_eq(v->start, 0x7f3243e00000);
    ck_assert_uint_eq(v->end, 0x7f33c3e00000);
    ck_assert_str_eq(v->perms, "rw-p");
    ck_assert_str_eq(v->path, "");
    ck_assert_uint_eq(v->rss_bytes, 6144 << 10);
    ck_assert_uint_eq(v->referenced_bytes, 2048 << 10);
    ck_assert_uint_eq(v->anon_huge_bytes, 4096 << 10);
    ck_assert_uint_eq(v->shmem_pmd_bytes, 12 << 10);
    ck_assert_uint_eq(v->file_pmd_bytes, 8 << 10);
    ck_assert_uint_eq(v->hugetlb_bytes, 48 << 10);
    ck_assert_uint_eq(v->swap_bytes, 64 << 10);
    ck_assert_uint_eq(v->swap_pss_bytes, 128 << 10);
    ck_assert_uint_eq(v->locked_bytes, 256 << 10);
    ck_assert_uint_eq(v->page_bytes, 4096);
    ck_assert(v->thp_eligible && v->dont_copy && v->mergeable && v->locked);
    ck_assert(!v->hugetlb);
}

TEST(cases, maps_format)
{
    ck_assert_int_eq(
        parse("00400000-00401000 r-xp 00001000 fe:01 4242                       /usr/bin/x y\n"
              "7ffc0000-7ffd0000 rw-p 00000000 00:00 0                          [stack]\n"
              "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0\n"
              "ffffffffff602000-ffffffffff603000 rw-s 1fff000 00:01 18446744073709551615"
              "   /memfd:a (deleted)"),
        0);
    ck_assert_uint_eq(n_seen, 4);
    ck_assert_uint_eq(seen[0].offset, 0x1000);
    ck_assert_uint_eq(seen[0].device.major, 0xfe);
    ck_assert_uint_eq(seen[0].device.minor, 1);
    ck_assert_uint_eq(seen[0].inode, 4242);
    ck_assert_str_eq(seen[0].path, "/usr/bin/x y");
    ck_assert_str_eq(seen[1].path, "[stack]");
    ck_assert_str_eq(seen[2].path, "");
    ck_assert_str_eq(seen[3].path, "/memfd:a (deleted)");
    ck_assert_uint_eq(seen[3].inode, UINT64_MAX);
}

TEST(cases, odd_paths)
{
    cleanup_free char *text = malloc(20000);
    int at = sprintf(
        text,
        "1000-2000 rw-p 00000000 00:2f 7    /a\\012b: c\\\\d\n2000-3000 rw-p 00000000 00:2f 7    ");

    memset(text + at, 'p', 10000);
    strcpy(text + at + 10000, "\n3000-4000 rw-p 00000000 00:2f 7    /Rss: 1\n");
    ck_assert_int_eq(parse(text), 0);
    ck_assert_uint_eq(n_seen, 3);
    ck_assert_str_eq(seen[0].path, "/a\\012b: c\\\\d");
    ck_assert_uint_eq(strlen(seen[1].path), sizeof(seen[1].path) - 1);
    ck_assert_str_eq(seen[2].path, "/Rss: 1");
}

TEST(cases, unknown_fields_and_flags_are_skipped)
{
    ck_assert_int_eq(
        parse("1000-2000 rw-p 00000000 00:00 0 \nNewThing:   many words\nPss_Dirty: 1 kB\n"
              "RssFuture: x\nVmFlags: zz dc qq"),
        0);
    ck_assert(seen[0].dont_copy);
    ck_assert_uint_eq(seen[0].rss_bytes, 0);
    ck_assert_int_eq(parse("1000-2000 rw-p 00000000 00:00 0 \nVmFlags:\nVmFlags: d"), 0);
    ck_assert(!seen[0].dont_copy);
    ck_assert_int_eq(parse(""), 0);
    ck_assert_uint_eq(n_seen, 0);
}

TEST(cases, bad_headers)
{
    static const char *const bad[] = {
        "1000",
        "1000-",
        "1000-2000",
        "1000-2000 ",
        "1000-2000 rw-",
        "1000-2000 rw-p",
        "1000-2000 rw-p 0",
        "1000-2000 rw-p 00000000 00:00",
        "1000-2000 rw-p 00000000 00:00 ",
        "1000-2000 rw-p 00000000 0000 0 ",
        "1000-2000 rw-p 00000000 00:00 7x ",
        "1000-2000 rwqp 00000000 00:00 0 ",
        "1000-2000 rw-pp 00000000 00:00 0 ",
        "1000-1000 rw-p 00000000 00:00 0 ",
        "2000-1000 rw-p 00000000 00:00 0 ",
        "0-10000000000000000 rw-p 00000000 00:00 0 ",
        "1000-2000 rw-p 00000000 100000000:00 0 ",
        "1000-2000 rw-p 00000000 00:00 18446744073709551616 ",
        "1000-2000  rw-p 00000000 00:00 0 ",
        " 1000-2000 rw-p 00000000 00:00 0 ",
        "-2000 rw-p 00000000 00:00 0 ",
        "2000-3000 rw-p 00000000 00:00 0 \n1000-4000 rw-p 00000000 00:00 0 ",
        "1000-3000 rw-p 00000000 00:00 0 \n2000-4000 rw-p 00000000 00:00 0 ",
    };

    for (size_t i = 0; i < COUNT(bad); i++) {
        const int want = i + 2 < COUNT(bad) ? -EBADMSG : -EAGAIN; /* the last two overlap */

        ck_assert_msg(parse(bad[i]) == want, "taken: %s", bad[i]);
        ck_assert_uint_gt(strlen(error.text), 0);
    }
}

TEST(cases, bad_fields)
{
    static const char *const bad[] = {
        "Rss:",
        "Rss: 12",
        "Rss: 12 k",
        "Rss: 12 MB",
        "Rss: -1 kB",
        "Rss: x kB",
        "Rss: 12 kB kB",
        "Rss: 18446744073709551615 kB",
        "Rss: 99999999999999999999999 kB",
        "THPeligible: yes",
        "THPeligible:",
        "no field",
        "lower: 1 kB",
        "Rss",
        "\t",
        "",
        ":",
        "Rss: 18014398509481983 kB\nRss: 18014398509481983 kB",
    };

    for (size_t i = 0; i < COUNT(bad); i++) {
        char text[256];

        snprintf(text, sizeof(text), "1000-2000 rw-p 00000000 00:00 0 \n%s\n", bad[i]);
        ck_assert_msg(parse(text) == -EBADMSG, "taken: %s", bad[i]);
    }
    ck_assert_int_eq(parse("Rss: 1 kB\n"), -EBADMSG); /* of no VMA */
}

TEST(cases, long_lines_and_nuls)
{
    size_t size = 1 << 20;
    cleanup_free char *text = malloc(size + 64);

    memset(text, 'a', size);
    text[size] = '\0';
    ck_assert_int_eq(parse(text), -EBADMSG);
    int at = sprintf(text, "1000-2000 rw-p 00000000 00:00 0 \nX:");

    memset(text + at, ' ', size - (size_t)at);
    ck_assert_int_eq(parse(text), -EBADMSG);
    memcpy(text, "1000-2000 rw-p 00000000 00:00 0  a\0b\n", 38);
    ck_assert_int_eq(smaps_parse(text, 38, collect, NULL, &error), -EBADMSG);
}

/* Truncated or changed smaps give an answer, no crash, and never more VMAs than there are. */
TEST(cases, damaged_real_smaps)
{
    cleanup_root struct fsroot root = fixture_open("memfd");
    cleanup_free char *text;
    ssize_t n = fsroot_read_all(&root, &text, 1 << 20, "proc/%d/smaps", FIXTURE_PID);
    unsigned random = 1;

    ck_assert_int_gt(n, 10000);
    n_seen = 0;
    ck_assert_int_eq(smaps_parse(text, (size_t)n, collect, NULL, &error), 0);
    size_t whole = n_seen;

    for (size_t length = (size_t)n - 3000; length < (size_t)n; length++) {
        n_seen = 0;
        int rc = smaps_parse(text, length, collect, NULL, &error);

        ck_assert(rc == 0 || rc == -EBADMSG);
        ck_assert_uint_le(n_seen, whole);
    }
    for (int round = 0; round < 2000; round++) {
        random = random * 1103515245 + 12345;
        char *at = &text[random % 8000];
        char old = *at;

        *at = (char)(random >> 16);
        int rc = smaps_parse(text, 8000, collect, NULL, &error);

        ck_assert(rc == 0 || rc == -EBADMSG || rc == -EAGAIN);
        *at = old;
    }
}

static int stop_at_second(const struct vma *vma, void *context)
{
    size_t *n = context;

    (void)vma;
    return ++*n == 2 ? 77 : 0;
}

TEST(cases, the_visitor_ends_the_walk)
{
    cleanup_root struct fsroot root = fixture_open("memfd");
    size_t n = 0;

    error.code = 0;
    ck_assert_int_eq(smaps_walk(&root, FIXTURE_PID, stop_at_second, &n, &error), 77);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(error.code, 0);
    ck_assert_int_eq(smaps_walk(&root, 1, stop_at_second, &n, &error), -ESRCH);
}

TEST(cases, a_vma_that_has_grown_is_taken_once)
{
    ck_assert_int_eq(parse("1000-2000 rw-p 00000000 00:00 0 \nRss: 4 kB\n"
                           "1000-3000 rw-p 00000000 00:00 0 \nRss: 8 kB\n"
                           "1000-5000 rw-p 00000000 00:00 0 \nRss: 12 kB\n"
                           "5000-6000 ---p 00000000 00:00 0 \nRss: 0 kB\n"),
                     0);
    ck_assert_uint_eq(n_seen, 2);
    ck_assert_uint_eq(seen[0].end, 0x5000);
    ck_assert_uint_eq(seen[0].rss_bytes, 12 << 10);
    ck_assert_uint_eq(seen[1].start, 0x5000);
}

/* A file of /proc whose VMAs have merged between two reads, so often. */
struct changing {
    const char *dir;
    unsigned changes, begun;
    size_t n;
};

static int see_changing(const struct vma *vma, void *context)
{
    struct changing *changing = context;

    changing->n = vma ? changing->n + 1 : 0;
    if (!vma && ++changing->begun == changing->changes)
        unit_write(changing->dir, "proc/42/smaps", "1000-3000 rw-p 00000000 00:00 0 \n");
    return 0;
}

static int walk_changing(struct changing *changing)
{
    cleanup_root struct fsroot root;

    unit_write(changing->dir, "proc/42/smaps",
               "1000-3000 rw-p 00000000 00:00 0 \n2000-4000 rw-p 00000000 00:00 0 \n");
    ck_assert_int_eq(fsroot_open(&root, changing->dir), 0);
    error.code = 0;
    return smaps_walk(&root, 42, see_changing, changing, &error);
}

TEST(cases, vmas_that_change_are_read_again)
{
    struct changing changing = {.dir = unit_dir(), .changes = 3};

    ck_assert_int_eq(walk_changing(&changing), 0);
    ck_assert_uint_eq(changing.n, 1);
    ck_assert_int_eq(error.code, 0);
    changing = (struct changing){.dir = unit_dir(), .changes = 1000};
    ck_assert_int_eq(walk_changing(&changing), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(error.text, "overlap"));
}

TEST(cases, hugetlb_has_its_own_fields)
{
    cleanup_root struct fsroot root = fixture_open("hugetlb-memfd");
    cleanup_free char *text;
    ssize_t n = fsroot_read_all(&root, &text, 1 << 20, "proc/%d/smaps", FIXTURE_PID);
    char *at = strstr(text, "/memfd:");

    ck_assert_int_gt(n, 0);
    ck_assert_ptr_nonnull(at);
    while (at > text && at[-1] != '\n')
        at--;
    n_seen = 0;
    ck_assert_int_eq(smaps_parse(at, strlen(at), collect, NULL, &error), 0);
    ck_assert(seen[0].hugetlb);
    ck_assert_uint_eq(seen[0].page_bytes, 2 << 20);
    ck_assert_uint_eq(seen[0].rss_bytes, 0);
    ck_assert_uint_eq(seen[0].hugetlb_bytes, 6 << 20);
}
