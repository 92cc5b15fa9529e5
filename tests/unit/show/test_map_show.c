// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_map_show.c  What vmwss map --over shows of several periods: what is true of any of
 * them is not lost behind the last. */
#include "show/ram_map.h"

#include "fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (1ULL << 20)

static const struct map_style style = {.width = 80};
static const struct map_style half_blocks = {.width = 80, .utf8 = true, .colours = true};
static struct map_series series;
static char text[65536];
static char svg_path[] = "/tmp/vmwss-map-show.XXXXXX";

static void add_period(unsigned flags, time_t end)
{
    struct ram_block block = {.bytes = 8 * MIB, .page_bytes = base_page_bytes()};
    const struct guest_ram ram = {.n_blocks = 1,
                                  .blocks = &block,
                                  .bytes = block.bytes,
                                  .n_pages = block.bytes / base_page_bytes()};
    struct sample_record record = {
        .domain = "web1",
        .time = {end, 0},
        .method = "idle",
        .census = true,
        .ram_bytes = 8 * MIB,
        .resident_bytes = 4 * MIB,
        .vcpu_s = 0.5,
        .cpu_s = 0.25,
        .flags = flags,
        .n_windows = 1,
        .windows[0].window_s = 2,
    };
    struct ram_map map;

    ck_assert_int_eq(ram_map_make(&map, &ram, NULL, 2 * MIB, 1), 0);
    for (size_t c = 0; c < map.n_chunks; c++)
        map.chunks[c].drawn = map.chunks[c].units = map.chunks[c].n_pages;
    ck_assert_int_eq(map_series_add(&series, &map, &record), 0);
}

/* A dump in the second of three periods, and all of them nested. */
static void setup(void)
{
    add_period(FLAG_NESTED, 36000);
    add_period(FLAG_NESTED | FLAG_DUMP | FLAG_THP, 36002);
    add_period(FLAG_NESTED, 36004);
}

static void teardown(void)
{
    map_series_free(&series);
}

static void print_picture(const struct map_style *with)
{
    ck_assert_int_eq(map_series_print(&series, with), 0);
}

static void print_periods(const struct map_style *with)
{
    struct sheet sheet;

    (void)with;
    ram_map_begin(&sheet, SHOW_CSV, true);
    for (size_t i = 0; i < series.n; i++)
        ck_assert_int_eq(ram_map_fill(&sheet, &series.period[i].map, &series.period[i].record), 0);
    sheet_free(&sheet);
}

static void print_one(const struct map_style *with)
{
    struct sheet sheet;

    (void)with;
    ram_map_begin(&sheet, SHOW_CSV, false);
    ck_assert_int_eq(ram_map_fill(&sheet, &series.period[1].map, &series.period[1].record), 0);
    sheet_free(&sheet);
}

/* Returns what @p print writes to standard output. */
static const char *printed(void (*print)(const struct map_style *with),
                           const struct map_style *with)
{
    int fd = memfd_create("out", MFD_CLOEXEC);
    int before = dup(STDOUT_FILENO);

    ck_assert(fd >= 0 && before >= 0 && fflush(stdout) == 0);
    dup2(fd, STDOUT_FILENO);
    print(with);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);

    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

    ck_assert_int_ge(n, 0);
    close(fd);
    text[n] = '\0';
    return text;
}

static void assert_has(const char *word)
{
    ck_assert_msg(strstr(text, word) != NULL, "no '%s' in:\n%s", word, text);
}

static void assert_lacks(const char *word)
{
    ck_assert_msg(strstr(text, word) == NULL, "'%s' in:\n%s", word, text);
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST(cases, the_head_is_of_all_periods)
{
    printed(print_picture, &style);
    assert_has(
        "idle census, thp,nested,dump; vCPUs ran 1.50s, CPU time of this measurement 0.750s\n");
    assert_has("marked with *: thp,dump.\n");
}

TEST(cases, lines_with_a_flag_that_others_have_not_are_marked)
{
    printed(print_picture, &style);
    assert_has("    10:00:00|");
    assert_has("   *10:00:02|");
    assert_has("    10:00:04|");
    printed(print_picture, &half_blocks);
    assert_has("  10:00:00, *10:00:02|");
}

TEST(cases, a_flag_of_all_periods_marks_none)
{
    teardown();
    add_period(FLAG_DUMP, 36000);
    add_period(FLAG_DUMP, 36002);
    printed(print_picture, &style);
    assert_has("idle census, dump; ");
    assert_lacks("*");
}

TEST(cases, each_line_of_csv_has_its_flags)
{
    printed(print_periods, NULL);
    assert_has(",wss_high_bytes,flags\r\n");
    assert_has("1970-01-01T10:00:00.000Z,,0,,,0,2097152,512,0,0,0,0,2,0,0,0,nested\r\n");
    assert_has(
        "1970-01-01T10:00:02.000Z,,0,,,0,2097152,512,0,0,0,0,2,0,0,0,\"thp,nested,dump\"\r\n");
    printed(print_one, NULL); /* that of one measurement stays as it was */
    ck_assert_ptr_eq(strstr(text, "block,dimm,"), text);
    assert_has(",wss_high_bytes\r\n");
    assert_has("\r\n,0,,,0,2097152,512,0,0,0,0,2,0,0,0\r\n");
}

TEST(cases, the_svg_says_so_too)
{
    int fd = mkstemp(svg_path);
    ssize_t n;

    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(map_series_svg_write(&series, svg_path, NULL), 0);
    fd = open(svg_path, O_RDONLY); /* it was replaced */
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    unlink(svg_path);
    ck_assert_int_gt(n, 0);
    text[n] = '\0';
    assert_has("thp,nested,dump (orange: periods with thp,dump)");
    /* A bar beside the second of three. */
    char *bar = strstr(text, "#bc4c00");

    ck_assert_msg(bar != NULL, "%s", text);
    ck_assert_ptr_null(strstr(bar + 1, "#bc4c00"));
    assert_has("y=\"98.0\" width=\"4.0\" height=\"16.0\" fill=\"#bc4c00\"");
}
