// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_oracle.c  What of the oracle needs no guest: the walk of nested page tables, and
 * answers about a lab's map. */
#include "answer.h"
#include "layout.h"
#include "serve.h"
#include "tables.h"

#include "base/text/json.h"
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* --- page tables ------------------------------------------------------------------------------ */

#define FRAMES 64
#define PRESENT 1ULL
#define LARGE (1ULL << 7)

static uint64_t ram[FRAMES][512];
static uint64_t walked[8];
static unsigned n_walked;

static void note(uint64_t frame)
{
    ck_assert_uint_lt(n_walked, 8);
    walked[n_walked++] = frame;
}

/* The nested tables are frames 1 to 4, and the guest's page N, of its first 16, is frame 16 + N. */
static void make_nested(void)
{
    memset(ram, 0, sizeof(ram));
    for (uint64_t table = 1; table < 4; table++)
        ram[table][0] = (table + 1) << 12 | PRESENT;
    for (uint64_t page = 0; page < 16; page++)
        ram[4][page] = (16 + page) << 12 | PRESENT;
}

static bool walk(uint64_t cr3, uint64_t vaddr)
{
    const struct tables_ram lab = {(const uint8_t *)ram, sizeof(ram)};

    n_walked = 0;
    return tables_walk(&lab, 1 << 12, cr3, vaddr, note);
}

TEST(plain, walks_both_stages)
{
    make_nested();
    /* guest tables: its pages 3, 5, 6, 9 for an address with indices 1, 2, 3, 4 */
    ram[16 + 3][1] = 5 << 12 | PRESENT;
    ram[16 + 5][2] = 6 << 12 | PRESENT;
    ram[16 + 6][3] = 9 << 12 | PRESENT;
    ram[16 + 9][4] = 11 << 12 | PRESENT;
    ck_assert(walk(3 << 12, 1ULL << 39 | 2ULL << 30 | 3ULL << 21 | 4ULL << 12 | 123));
    ck_assert_uint_eq(n_walked, 4);
    ck_assert_uint_eq(walked[0], 19);
    ck_assert_uint_eq(walked[1], 21);
    ck_assert_uint_eq(walked[2], 22);
    ck_assert_uint_eq(walked[3], 25);
}

TEST(plain, a_large_page_ends_the_walk)
{
    make_nested();
    ram[16 + 3][0] = 5 << 12 | PRESENT;
    ram[16 + 5][0] = 6 << 12 | PRESENT;
    ram[16 + 6][0] = 0 | LARGE | PRESENT;
    ck_assert(walk(3 << 12, 4096));
    ck_assert_uint_eq(n_walked, 3);
}

TEST(plain, a_large_page_of_the_lab)
{
    make_nested();
    /* Guest page 1 of 2 MiB lies behind the end of this lab, page 0 is its first. */
    ram[3][0] = 0 | LARGE | PRESENT;
    ram[3][1] = 2 << 20 | LARGE | PRESENT;
    ram[20][0] = 21 << 12 | PRESENT;
    ram[21][0] = 513ULL << 12 | PRESENT;
    ck_assert(!walk(20 << 12, 0));
    ck_assert_uint_eq(n_walked, 3);
    ck_assert_uint_eq(walked[1], 21);
    ck_assert_uint_eq(walked[2], 513);
}

TEST(plain, a_table_that_is_not_mapped)
{
    make_nested();
    ram[16 + 3][0] = 5 << 12 | PRESENT;
    ram[4][5] = 0;
    ck_assert(!walk(3 << 12, 0));
    ck_assert_uint_eq(n_walked, 1);
}

/* --- answers ---------------------------------------------------------------------------------- */

#define SLOTS 4
#define PAGES 1024
#define SECOND 1000000000ULL

static char map_path[] = "/tmp/vmwss-test-oracle.XXXXXX";
static struct oracle_header *header;

static uint8_t *touch(uint64_t slot, enum oracle_kind kind, uint64_t frame)
{
    uint8_t *maps = (uint8_t *)header + header->maps_at + slot * ORACLE_KINDS * PAGES;

    maps[(uint64_t)kind * PAGES + frame] = 1;
    return maps;
}

/* Slots 1, 2, 3 are the seconds 101, 102, 103. */
static void make_map(void)
{
    size_t bytes = oracle_file_bytes(SLOTS, PAGES);
    int fd;

    strcpy(map_path + strlen(map_path) - 6, "XXXXXX");
    fd = mkstemp(map_path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
    header = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(header, MAP_FAILED);
    close(fd);
    *header = (struct oracle_header){.magic = ORACLE_MAGIC,
                                     .kinds = ORACLE_KINDS,
                                     .pages = PAGES,
                                     .slots = SLOTS,
                                     .slot_ns = SECOND,
                                     .maps_at = oracle_maps_at(SLOTS),
                                     .lab = 1,
                                     .noted_since_ns = 101 * SECOND};
    for (uint64_t i = 1; i < SLOTS; i++)
        header->slot[i] = (struct oracle_slot){.sequence = i,
                                               .begin_realtime_ns = (100 + i) * SECOND,
                                               .end_realtime_ns = (101 + i) * SECOND};
}

static void remove_map(void)
{
    munmap(header, oracle_file_bytes(SLOTS, PAGES));
    unlink(map_path);
}

/* The answer to one request. */
static json_t *served(const char *line, const uint32_t *frame, size_t n, int want)
{
    int in[2], out[2];
    char answer[8192];
    ssize_t got;

    ck_assert_int_eq(pipe(in), 0);
    ck_assert_int_eq(pipe(out), 0);
    ck_assert_int_eq(write(in[1], line, strlen(line)), (ssize_t)strlen(line));
    ck_assert_int_eq(write(in[1], frame, n * sizeof(*frame)), (ssize_t)(n * sizeof(*frame)));
    close(in[1]);
    ck_assert_int_eq(oracle_serve(map_path, in[0], out[1]), want);
    got = read(out[0], answer, sizeof(answer));
    close(out[0]);
    return got > 0 ? json_loadb(answer, (size_t)got, 0, NULL) : NULL;
}

static json_int_t pages_of(const json_t *answer, const char *bound, const char *kind)
{
    return json_integer_value(
        json_object_get(json_object_get(json_object_get(answer, bound), kind), "pages"));
}

TEST(plain, counts_the_frames_of_a_guest)
{
    /* Page 0 absent, 1 data, 2 walked, 3 cold, 4 by QEMU, 5 moved, 6 fetched and walked; frame 99
     * is not the guest's. */
    const uint32_t frame[] = {0, 500, 501, 502, 503, 504 | ORACLE_FRAME_MOVED, 505};
    json_t *answer;

    make_map();
    touch(1, ORACLE_DATA, 500);
    touch(2, ORACLE_WALK, 501);
    touch(2, ORACLE_HOST, 503);
    touch(2, ORACLE_DATA, 504);
    touch(2, ORACLE_FETCH, 505);
    touch(2, ORACLE_WALK, 505);
    touch(2, ORACLE_DATA, 99);
    touch(3, ORACLE_DATA, 502);
    answer = served("count 101000000000 101000000000 103000000000 103000000000 7\n", frame, 7, 0);
    ck_assert_int_eq(pages_of(answer, "low", "data"), 1);
    ck_assert_int_eq(pages_of(answer, "low", "both"), 2);
    ck_assert_int_eq(pages_of(answer, "low", "tables"), 1);
    ck_assert_int_eq(pages_of(answer, "low", "host"), 1);
    ck_assert_int_eq(pages_of(answer, "low", "visible"), 4);
    ck_assert_int_eq(pages_of(answer, "high", "visible"), 5);
    ck_assert_int_eq(json_integer_value(json_object_get(answer, "moved_pages")), 1);
    json_decref(answer);
    remove_map();
}

/* Four pages present, marked from 101 to 102, read from 103 to 104: the first from 101 to 103, the
 * last from 101.75 to 103.75. */
TEST(plain, counts_each_page_in_its_own_window)
{
    const uint32_t frame[] = {500, 0, 501, 502, 503};
    const char *line = "count 101000000000 102000000000 103000000000 104000000000 5\n";
    json_t *answer;

    make_map();
    touch(1, ORACLE_DATA, 500); /* certain of this page alone, which was marked first */
    touch(1, ORACLE_DATA, 502);
    touch(2, ORACLE_DATA, 501);
    touch(3, ORACLE_DATA, 503); /* only until 103.75 */
    answer = served(line, frame, 5, 0);
    ck_assert_int_eq(pages_of(answer, "low", "both"), 1);
    ck_assert_int_eq(pages_of(answer, "own_low", "both"), 2);
    ck_assert_int_eq(pages_of(answer, "own_high", "both"), 4);
    ck_assert_int_eq(pages_of(answer, "high", "both"), 4);
    json_decref(answer);

    /* After this page was read. */
    touch(1, ORACLE_DATA, 500)[500] = 0;
    touch(3, ORACLE_DATA, 500);
    answer = served(line, frame, 5, 0);
    ck_assert_int_eq(pages_of(answer, "own_low", "both"), 1);
    ck_assert_int_eq(pages_of(answer, "own_high", "both"), 3);
    ck_assert_int_eq(pages_of(answer, "high", "both"), 4);
    json_decref(answer);
    answer = served("count 101000000000 101000000000 104000000000 104000000000 5\n", frame, 5, 0);
    ck_assert_ptr_null(json_object_get(answer, "own_low"));
    json_decref(answer);
    remove_map();
}

static void expect_error(const char *line, const uint32_t *frame, size_t n, const char *part)
{
    cleanup_json json_t *answer = served(line, frame, n, 0);
    const char *text = json_string_value(json_object_get(answer, "error"));

    ck_assert_ptr_nonnull(text);
    ck_assert_msg(strstr(text, part), "%s", text);
}

#define SECOND_101 "count 101000000000 101000000000 102000000000 102000000000 1\n"

TEST(plain, refuses_what_it_cannot_count)
{
    const uint32_t beyond = PAGES, good = 5;

    make_map();
    expect_error(SECOND_101, &beyond, 1, "frame 1024 is not of the lab");
    expect_error("count 110000000000 110000000000 111000000000 111000000000 1\n", &good, 1,
                 "does not cover");
    header->noted_since_ns = 102 * SECOND;
    expect_error(SECOND_101, &good, 1, "before anything was noted");
    header->noted_since_ns = 0;
    expect_error(SECOND_101, &good, 1, "before anything was noted");
    header->lab = 0;
    expect_error(SECOND_101, &good, 1, "not of a lab");
    remove_map();
    expect_error(SECOND_101, &good, 1, "No such file");
    ck_assert_ptr_null(served("count 1 1 2 2\n", NULL, 0, -EPROTO));
    ck_assert_ptr_null(served("count 1 1 2 2 3\n", &good, 1, -EPROTO));
    ck_assert_ptr_null(served("count 1 3 2 4 1\n", &good, 1, -EPROTO));
}

/* The plugin of this map: begins to note when it is wanted. */
static void *begin_when_wanted(void *unused)
{
    while (!__atomic_load_n(&header->wanted, __ATOMIC_ACQUIRE))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    __atomic_store_n(&header->noted_since_ns, 101 * SECOND, __ATOMIC_RELEASE);
    return unused;
}

TEST(plain, has_the_plugin_begin)
{
    const uint32_t frame = 5;
    pthread_t plugin;
    json_t *answer;

    make_map();
    header->noted_since_ns = 0;
    ck_assert_int_eq(pthread_create(&plugin, NULL, begin_when_wanted, NULL), 0);
    answer = served("begin\n", NULL, 0, 0);
    ck_assert(json_is_true(json_object_get(answer, "begun")));
    json_decref(answer);
    pthread_join(plugin, NULL);
    answer = served(SECOND_101, &frame, 1, 0);
    ck_assert_int_eq(pages_of(answer, "low", "visible"), 0);
    json_decref(answer);
    remove_map();
    expect_error("begin\n", NULL, 0, "No such file");
}

TEST(plain, tells_the_time)
{
    cleanup_json json_t *answer = served("time\n", NULL, 0, 0);

    ck_assert_int_gt(json_integer_value(json_object_get(answer, "time_ns")), 0);
}
