// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_guest_cache.c  What vmwss-guest finds of the page cache: over a made cache, and over
 * files of tmpfs, whose pages
 *  stay where they are. */
#include "base/page_sizes.h"
#include "cache/maps.h"
#include "cache/survey.h"
#include "cache/total.h"
#include "print/escape.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static void expect_name(const char *name, const char *want, bool want_escaped)
{
    bool escaped;
    cleanup_free char *text = escape_name(name, &escaped);

    ck_assert_str_eq(text, want);
    ck_assert_int_eq(escaped, want_escaped);
}

TEST(plain, names_are_escaped_only_where_they_must)
{
    expect_name("", "", false);
    expect_name("a b,\"d\"", "a b,\"d\"", false);
    expect_name("\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7",
                false);
    expect_name("a\nb\\", "a\\x0ab\\\\", true);
    expect_name("\x1b[31m\x7f", "\\x1b[31m\\x7f", true);
    expect_name("\xc2\x9b\xc2\xa0", "\\xc2\\x9b\xc2\xa0",
                true); /* CSI of C1; a no-break space is none */
}

/* A file may be called what another's escape looks like. */
TEST(plain, an_escape_stands_for_one_name)
{
    expect_name("a\nb", "a\\x0ab", true);
    expect_name("a\\x0ab", "a\\\\x0ab", true);
    expect_name("a\\b", "a\\\\b", true);
}

TEST(plain, what_a_terminal_reorders_hides_or_breaks_is_escaped)
{
    expect_name("\xe2\x80\xae", "\\xe2\\x80\\xae", true);          /* U+202E, right to left */
    expect_name("\xe2\x80\xa8", "\\xe2\\x80\\xa8", true);          /* U+2028, a line's end */
    expect_name("\xe2\x81\xa6", "\\xe2\\x81\\xa6", true);          /* U+2066, an isolate */
    expect_name("\xef\xbb\xbf", "\\xef\\xbb\\xbf", true);          /* U+FEFF, no width */
    expect_name("\xc2\xad", "\\xc2\\xad", true);                   /* U+00AD, a soft hyphen */
    expect_name("\xf3\xa0\x80\xa0", "\\xf3\\xa0\\x80\\xa0", true); /* U+E0020, a tag */
    expect_name("\xe2\x80\x90\xe2\x80\xaf", "\xe2\x80\x90\xe2\x80\xaf", false); /* beside them */
}

TEST(plain, what_is_no_utf8_is_escaped)
{
    expect_name("\xff\x80", "\\xff\\x80", true);
    expect_name("\xc0\xaf", "\\xc0\\xaf", true);                   /* longer than need be */
    expect_name("\xe0\x80\xaf", "\\xe0\\x80\\xaf", true);          /* the same */
    expect_name("\xed\xa0\x80", "\\xed\\xa0\\x80", true);          /* a surrogate */
    expect_name("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", true); /* behind U+10FFFF */
    expect_name("\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80", true); /* five bytes */
    expect_name("ab\xe2\x82", "ab\\xe2\\x82", true);                        /* ends within */
}

TEST(plain, lines_of_maps)
{
    char whole[] = "7f00-7fff000 r-xp 0001f000 fe:1a 131      /usr/lib/a b\\012c (deleted)";
    char anon[] = "55c7f8192000-55c7f8321000 rw-p 00000000 00:00 0 ";
    char *const broken[] = {(char[]){""},
                            (char[]){"7f00"},
                            (char[]){"7f00-8000"},
                            (char[]){"7f00-8000 r-xp"},
                            (char[]){"7f00-8000 r-xp 0 fe"},
                            (char[]){"7f00-8000 r-xp 0 fe:00 12x /a"},
                            (char[]){"-7f00-8000 r-xp 0 fe:00 12 /a"},
                            (char[]){"7f00--1 r-xp 0 fe:00 12 /a"},
                            (char[]){"7f00-8000 r-xp 0 fe:00 -1 /a"}};
    struct maps_line line;

    ck_assert(maps_parse(whole, &line));
    ck_assert_uint_eq(line.start, 0x7f00);
    ck_assert_uint_eq(line.end, 0x7fff000);
    ck_assert_uint_eq(line.device, makedev(0xfe, 0x1a));
    ck_assert_uint_eq(line.inode, 131);
    ck_assert_str_eq(line.path, "/usr/lib/a b\\012c (deleted)");
    ck_assert(maps_parse(anon, &line));
    ck_assert_uint_eq(line.inode, 0);
    ck_assert_str_eq(line.path, "");
    for (size_t i = 0; i < COUNT(broken); i++)
        ck_assert(!maps_parse(broken[i], &line));
}

/* A cache of our own: these runs, by a descriptor that nobody opens. */
static const struct cache_run made[] = {{3, 5}, {100, 1}, {1ULL << 40, 70000}};
static unsigned n_asked;

static int made_count(const struct cache_target *target, uint64_t first, uint64_t pages,
                      struct cache_count *count)
{
    *count = CACHE_COUNT_UNKNOWN;
    count->cached = 0;
    n_asked++;
    for (size_t i = 0; i < 3; i++) {
        uint64_t from = made[i].first > first ? made[i].first : first;
        uint64_t end = made[i].first + made[i].pages;

        end = end < first + pages ? end : first + pages;
        count->cached += end > from ? end - from : 0;
    }
    return target->fd < 0 ? -EIO : 0;
}

static const struct cache_method made_method = {.name = "made", .count = made_count};

TEST(plain, runs_are_found_in_few_calls)
{
    struct cache_runs runs;

    n_asked = 0;
    ck_assert_zero(
        cache_runs_find(&made_method, &(struct cache_target){0, 1ULL << 41, NULL}, &runs));
    ck_assert_uint_eq(runs.n, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(runs.run[i].first, made[i].first);
        ck_assert_uint_eq(runs.run[i].pages, made[i].pages);
    }
    /* Five borders that need halving down to a page, 41 levels, two calls each. */
    ck_assert_uint_lt(n_asked, 5 * 41 * 2);
    free(runs.run);
    ck_assert_int_eq(cache_runs_find(&made_method, &(struct cache_target){0, 0, NULL}, &runs), 0);
    ck_assert_uint_eq(runs.n, 0);
    ck_assert_int_eq(cache_runs_find(&made_method, &(struct cache_target){-1, 10, NULL}, &runs),
                     -EIO);
    ck_assert_ptr_null(runs.run);
}

TEST(plain, parts_cover_a_file_once)
{
    uint64_t cached[CACHE_PARTS_MAX];
    const uint64_t sizes[] = {1, 7, 16, 104, 1ULL << 51};

    for (size_t s = 0; s < COUNT(sizes); s++)
        for (unsigned n = 2; n <= CACHE_PARTS_MAX; n++) {
            ck_assert_uint_eq(cache_part_first(sizes[s], 0, n), 0);
            ck_assert_uint_eq(cache_part_first(sizes[s], n, n), sizes[s]);
            for (unsigned i = 0; i < n; i++)
                ck_assert_uint_le(cache_part_first(sizes[s], i, n),
                                  cache_part_first(sizes[s], i + 1, n));
        }
    ck_assert_zero(cache_parts_count(&made_method, &(struct cache_target){0, 104, NULL}, cached,
                                     13)); /* 8 pages each */
    ck_assert_uint_eq(cached[0], 5);
    ck_assert_uint_eq(cached[12], 1);
    ck_assert_uint_eq(cached[1] + cached[11], 0);
}

static struct cache_total total_of(const struct cache_file *file, size_t n)
{
    struct cache_total total = {0};

    for (size_t i = 0; i < n; i++)
        cache_total_add(&total, &file[i]);
    return total;
}

TEST(plain, unknown_is_not_summed_and_comes_last)
{
    struct cache_file file[] = {
        {.name = "lied",
         .size_bytes = 900000,
         .pages = 220,
         .count = CACHE_COUNT_UNKNOWN,
         .unknown = "why"},
        {.name = "half", .size_bytes = 8192, .pages = 2, .count = {1, 1, 0, 1, 0}},
        {.name = "core", .size_bytes = 40960, .pages = 10, .count = {4, 0, 0, 0, 0}},
        {.name = "none"},
    };
    struct cache_total total = total_of(file, 4);

    ck_assert_uint_eq(total.files, 4);
    ck_assert_uint_eq(total.unknown_files, 1);
    ck_assert_uint_eq(total.unknown_bytes, 900000);
    ck_assert_str_eq(total.reason[0].text, "why");
    ck_assert_uint_eq(total.reason[0].files, 1);
    ck_assert_ptr_null(total.reason[1].text);
    ck_assert_uint_eq(total.pages, 12);
    ck_assert_uint_eq(total.count.cached, 5);
    ck_assert_uint_eq(total.count.dirty, 1);
    file[2].count.dirty = CACHE_UNKNOWN;
    ck_assert_uint_eq(total_of(file, 4).count.dirty, CACHE_UNKNOWN);

    ck_assert(cache_sort(file, 4, "cached"));
    ck_assert_str_eq(file[0].name, "core");
    ck_assert_str_eq(file[3].name, "lied");
    ck_assert(cache_sort(file, 4, "percent"));
    ck_assert_str_eq(file[0].name, "half");
    ck_assert_str_eq(file[3].name, "lied");
    ck_assert(cache_sort(file, 4, "size"));
    ck_assert_str_eq(file[0].name, "lied");
    ck_assert(cache_sort(file, 4, "name"));
    ck_assert_str_eq(file[3].name, "none");
    ck_assert(!cache_sort(file, 4, "age"));
}

TEST(plain, a_number_does_not_say_where)
{
    struct cache_run run = {0, 2};
    struct cache_file file = {.pages = 1024, .count.cached = 512, .method = "blocks"};

    ck_assert(!cache_places_known(&file));
    file.count.cached = 0;
    ck_assert(cache_places_known(&file));
    file.runs = (struct cache_runs){.run = &run, .n = 1};
    file.count.cached = 2;
    ck_assert(cache_places_known(&file));
    file.unknown = "why";
    ck_assert(!cache_places_known(&file));
}

/* A file of tmpfs of which just these pages were written. */
static int sparse_memfd(uint64_t pages, const uint64_t *written, size_t n)
{
    int fd = memfd_create("cache", MFD_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)(pages * base_page_bytes())), 0);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(pwrite(fd, "x", 1, (off_t)(written[i] * base_page_bytes())), 1);
    return fd;
}

/* Whether the kernel has cachestat: a test of it says which of the two it was. */
static bool has_cachestat(int fd)
{
    struct cache_count count;
    int rc = cache_cachestat.count(&(struct cache_target){.fd = fd}, 0, 1, &count);

    ck_assert(rc == 0 || rc == -ENOSYS);
    if (rc < 0)
        puts("this kernel has no cachestat: only mincore was tested");
    return rc == 0;
}

TEST(plain, both_methods_find_the_pages_of_a_file)
{
    static const uint64_t written[] = {0, 3, 4, 5, 70000, 140000};
    cleanup_close int fd = sparse_memfd(140001, written, 6); /* three windows of mincore */
    const struct cache_method *const methods[] = {&cache_mincore, &cache_cachestat};
    const struct cache_target target = {fd, 140001, NULL};

    for (size_t i = 0; i < (has_cachestat(fd) ? 2 : 1); i++) {
        struct cache_count count;
        struct cache_runs runs;

        ck_assert_int_eq(methods[i]->count(&target, 0, 140001, &count), 0);
        ck_assert_uint_eq(count.cached, 6);
        ck_assert_int_eq(methods[i]->count(&target, 1, 4, &count), 0);
        ck_assert_uint_eq(count.cached, 2);
        ck_assert_int_eq(cache_runs_find(methods[i], &target, &runs), 0);
        ck_assert_uint_eq(runs.n, 4);
        ck_assert_uint_eq(runs.run[1].first, 3);
        ck_assert_uint_eq(runs.run[1].pages, 3);
        ck_assert_uint_eq(runs.run[3].first, 140000);
        free(runs.run);
    }
}

/* Says so many times yes. */
static bool so_often(void *context, double position)
{
    unsigned *times = context;

    ck_assert_double_ge(position, 0);
    ck_assert_double_lt(position, 1);
    return (*times)-- > 0;
}

/* A hole of 8 TiB, which would take mincore a minute. */
TEST(plain, patience_ends_within_a_file)
{
    cleanup_close int fd = sparse_memfd(1ULL << 31, NULL, 0);
    unsigned times = 3;
    const struct cache_patience patience = {so_often, &times};
    struct cache_target target = {fd, 1ULL << 31, &patience};
    struct cache_count count;

    ck_assert_int_eq(cache_mincore.count(&target, 0, target.pages, &count), -EINTR);
    ck_assert_uint_eq(times, UINT32_MAX);
}

/* As of a huge page of tmpfs of which the file fills a part; and of one that is empty. */
TEST(plain, pages_behind_the_end_of_the_file_are_counted_apart)
{
    static const uint64_t written[] = {0};
    cleanup_close int fd = sparse_memfd(1, written, 1);
    const struct cache_method *const methods[] = {&cache_mincore, &cache_cachestat};
    /* mincore does not report pages as resident that were never written. */
    const uint64_t all[] = {1, 8};
    struct cache_target target = {fd, 1, NULL};

    ck_assert_int_eq(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)(8 * base_page_bytes())), 0);
    for (size_t i = 0; i < (has_cachestat(fd) ? 2 : 1); i++)
        for (target.pages = 0; target.pages < 2; target.pages++) {
            struct cache_count count;
            struct cache_runs runs;

            ck_assert_int_eq(cache_count_file(methods[i], &target, &count), 0);
            ck_assert_uint_eq(count.cached, all[i]);
            ck_assert_uint_eq(count.beyond_eof, all[i] - target.pages);
            ck_assert_uint_eq(cache_within_eof(&count), target.pages);
            ck_assert_int_eq(cache_runs_find(methods[i], &target, &runs), 0);
            ck_assert_uint_eq(runs.n, target.pages);
            free(runs.run);
        }
}

/* Every other page of a mebibyte of pages, and how often the kernel is asked for it. */
static unsigned n_vectors;

static int made_vector(const struct cache_target *target, uint64_t first, uint64_t pages,
                       unsigned char *vector)
{
    (void)target;
    n_vectors++;
    for (uint64_t i = 0; i < pages; i++)
        vector[i] = (first + i) % 2 == 0;
    return 0;
}

TEST(plain, single_pages_are_read_once)
{
    const struct cache_method method = {.name = "made", .count = made_count, .vector = made_vector};
    const struct cache_target target = {0, (1U << 20) + 1, NULL};
    struct cache_runs runs;

    n_asked = 0;
    ck_assert_int_eq(cache_runs_find(&method, &target, &runs), 0);
    ck_assert_uint_eq(runs.n, (1U << 19) + 1);
    ck_assert_uint_eq(runs.run[runs.n - 1].first, 1U << 20);
    ck_assert_uint_eq(runs.run[7].pages, 1);
    ck_assert_uint_eq(n_asked, 0);
    ck_assert_uint_eq(n_vectors, (1U << 20) / CACHE_VECTOR_MAX + 1);
    free(runs.run);
}

TEST(plain, a_file_that_shrank_has_no_pages_there)
{
    static const uint64_t written[] = {0, 9};
    cleanup_close int fd = sparse_memfd(10, written, 2);
    struct cache_count count;

    ck_assert_int_eq(ftruncate(fd, 1), 0);
    ck_assert_int_eq(cache_mincore.count(&(struct cache_target){fd, 10, NULL}, 0, 10, &count), 0);
    ck_assert_uint_eq(count.cached, 1);
}

static char dir[] = "/tmp/test_guest_cache.XXXXXX";
static unsigned n_faults;
static char last_fault[1024];

static void note_fault(const char *name, const char *why)
{
    n_faults++;
    snprintf(last_fault, sizeof(last_fault), "%s: %s", name, why);
}

static void make_tree(void)
{
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    unit_shell("cd %s && mkdir a a/b && echo x >a/one && ln a/one a/b/same && ln -s one a/link && "
               "mkfifo a/pipe && : >a/b/empty && ln -s a tree",
               dir);
}

static void remove_tree(void)
{
    unit_shell("rm -rf %s", dir);
}

/* Surveys DIR/NAME with the rest of *survey as it is. */
static void survey_at(struct survey *survey, const struct fsroot *root, const char *name)
{
    survey->question.root = root;
    survey->fault = note_fault;
    n_faults = 0;

    const char *path = TEXT_OF(128, "%s/%s", dir, name);

    ck_assert_int_eq(survey_path(survey, path), 0);
}

/* Files of 1 .. n pages in DIR/many, named so that the largest do not come first. */
static void make_many(unsigned n)
{
    unit_shell(
        "mkdir %s/many && for i in $(seq %u); do head -c $((4096 * i)) /dev/zero >%s/many/$((i * 7 %% 10))-$i; done",
        dir, n, dir);
}

TEST(plain, of_many_files_the_first_are_kept_and_all_are_in_the_total)
{
    struct survey survey = {.at_most = 3, .order = "size"};
    struct fsroot root;

    make_tree();
    ck_assert_int_eq(fsroot_open(&root, "/"), 0);
    make_many(20);
    survey_at(&survey, &root, "many");
    ck_assert_uint_eq(survey.total.files, 20);
    ck_assert_uint_eq(survey.total.pages, 20 * 21 / 2);
    ck_assert_uint_lt(survey.n, 6);
    ck_assert(cache_sort(survey.file, survey.n, "size"));
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(survey.file[i].pages, 20 - i);
    survey_free(&survey);
    fsroot_close(&root);
    remove_tree();
}

TEST(plain, patience_ends_between_files)
{
    struct survey survey = {.fault = note_fault};
    unsigned times = 5; /* the directory, and two files of one piece each */
    const struct cache_patience patience = {so_often, &times};
    struct fsroot root;

    make_tree();
    ck_assert_int_eq(fsroot_open(&root, "/"), 0);
    make_many(9);
    survey.question.root = &root;
    survey.question.method = &cache_mincore;
    survey.question.patience = &patience;

    const char *path = TEXT_OF(96, "%s/many", dir);

    ck_assert_int_eq(survey_path(&survey, path), -EINTR);
    ck_assert_uint_eq(survey.total.files, 2);
    ck_assert_uint_eq(survey.total.unknown_files, 0);
    survey_free(&survey);
    fsroot_close(&root);
    remove_tree();
}

TEST(plain, a_tree_has_each_file_once)
{
    struct fsroot root;
    struct survey survey = {0};

    make_tree();
    ck_assert_int_eq(fsroot_open(&root, "/"), 0);
    survey_at(&survey, &root, "a");
    survey_at(&survey, &root, "a/one");
    ck_assert_uint_eq(survey.n, 2);
    ck_assert_uint_eq(survey.n_faults, 0);
    ck_assert(cache_sort(survey.file, survey.n, "size"));
    ck_assert_uint_eq(survey.file[0].size_bytes, 2);
    ck_assert_uint_eq(survey.file[0].pages, 1);
    ck_assert_uint_eq(survey.file[0].count.cached, 1);
    ck_assert_uint_eq(survey.file[1].pages, 0);
    ck_assert_str_eq(survey.file[1].method, "");
    survey_free(&survey);
    fsroot_close(&root);
    remove_tree();
}

TEST(plain, named_links_are_followed_only_when_told)
{
    struct fsroot root;
    struct survey survey = {0};
    struct survey following = {.follow = true};

    make_tree();
    ck_assert_int_eq(fsroot_open(&root, "/"), 0);
    survey_at(&survey, &root, "tree");
    ck_assert_uint_eq(n_faults, 1);
    ck_assert_ptr_nonnull(strstr(last_fault, "--follow"));
    survey_at(&survey, &root, "a/pipe");
    ck_assert_uint_eq(n_faults, 1);
    survey_at(&survey, &root, "not there");
    ck_assert_uint_eq(survey.n_faults, 3);
    ck_assert_uint_eq(survey.n, 0);
    survey_at(&following, &root, "tree");
    ck_assert_uint_eq(following.n, 2);
    survey_free(&survey);
    survey_free(&following);
    fsroot_close(&root);
    remove_tree();
}

TEST(plain, a_bottomless_tree_ends)
{
    struct fsroot root;
    struct survey survey = {0};

    make_tree();
    for (int fd = open(dir, O_PATH), level = 0; level < 140; level++) {
        int next = mkdirat(fd, "d", 0755) == 0 ? openat(fd, "d", O_PATH) : -1;

        ck_assert_int_ge(next, 0);
        close(fd);
        fd = next;
        if (level == 139)
            close(fd);
    }
    ck_assert_int_eq(fsroot_open(&root, "/"), 0);
    survey_at(&survey, &root, "d");
    ck_assert_uint_eq(n_faults, 1);
    ck_assert_ptr_nonnull(strstr(last_fault, "too deep"));
    survey_free(&survey);
    fsroot_close(&root);
    remove_tree();
}

TEST(plain, our_own_mapped_files)
{
    static const uint64_t written[] = {2, 7};
    struct error error = {0};
    struct fsroot root;
    struct survey survey = {.fault = note_fault, .question.runs = true};
    cleanup_close int fd = sparse_memfd(10, written, 2);
    void *at = mmap(NULL, 10 * base_page_bytes(), PROT_READ, MAP_SHARED, fd, 0);
    const struct cache_file *found = NULL;

    ck_assert_ptr_ne(at, MAP_FAILED);
    ck_assert_int_eq(fsroot_open(&root, "/"), 0);
    survey.question.root = &root;
    ck_assert_int_eq(survey_process(&survey, getpid(), &error), 0);
    for (size_t i = 0; i < survey.n; i++)
        if (strstr(survey.file[i].name, "memfd:cache"))
            found = &survey.file[i];
    /* Without root a memfd, which has no name, cannot be reached: then that is a fault. */
    if (geteuid() == 0) {
        ck_assert_ptr_nonnull(found);
        ck_assert_uint_eq(found->count.cached, 2);
        ck_assert_uint_eq(found->runs.n, 2);
        ck_assert_uint_eq(found->runs.run[1].first, 7);
    } else {
        ck_assert_uint_gt(survey.n_faults, 0);
    }
    ck_assert_error(survey_process(&survey, 0x3fffffff, &error), -ESRCH, "there is none");
    survey_free(&survey);
    fsroot_close(&root);
    munmap(at, 10 * base_page_bytes());
}
