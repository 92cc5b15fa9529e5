// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_pictures.c  Pictures of profile, grow, ages and map say of which host and time they
 * are, and no title runs out of them. */
#include "show/ages.h"
#include "show/chart.h"
#include "show/curve.h"
#include "show/ram_map.h"
#include "show/sample_table.h"

#include "fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (1ULL << 20)

static char path[] = "/tmp/vmwss-pictures.XXXXXX";
static char text[65536];
static struct ages_record record;
static const struct sample_record *const one = &record.sample;

static void setup(void)
{
    close(mkstemp(path));
    record = (struct ages_record){.n_bins = 1, .bins = {{0, 10, MIB, MIB, MIB}}};
    record.sample = (struct sample_record){
        .host = "host<1>",
        .domain = "web1",
        .time = {1773144000, 0}, /* 2026-03-10T12:00:00Z */
        .method = "idle",
        .census = true,
        .ram_bytes = 8 * MIB,
        .resident_bytes = 4 * MIB,
        .n_windows = 1,
        .windows = {{.window_s = 1, .est_window_s = 1, .wss_bytes = MIB, .wss_high_bytes = MIB}},
    };
}

static void teardown(void)
{
    unlink(path);
}

static void draw_curve(void)
{
    ck_assert_int_eq(curve_svg_write(&one, 1, "WSS", false, path, NULL), 0);
}

static void draw_ages(void)
{
    ck_assert_int_eq(ages_svg_write(&record, path, NULL), 0);
}

static void draw_map(void)
{
    struct ram_block block = {.bytes = 8 * MIB, .page_bytes = base_page_bytes()};
    const struct guest_ram ram = {.n_blocks = 1,
                                  .blocks = &block,
                                  .bytes = block.bytes,
                                  .n_pages = block.bytes / base_page_bytes()};
    struct ram_map map;

    ck_assert_int_eq(ram_map_make(&map, &ram, NULL, 2 * MIB, 1), 0);
    ck_assert_int_eq(ram_map_svg_write(&map, &record.sample, path, NULL), 0);
    ram_map_free(&map);
}

static void (*const pictures[])(void) = {draw_curve, draw_ages, draw_map};
#define N_PICTURES 3

static const char *drawn(int which)
{
    FILE *file;

    pictures[which]();
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

/* As on a full disk: no file may be larger than 100 bytes. */
TEST(cases, a_picture_that_cannot_be_written_leaves_the_one_before)
{
    struct error error = {0};
    struct stat status;
    size_t before = strlen(drawn(0));
    int rc;

    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, RLIM_INFINITY});
    rc = curve_svg_write(&one, 1, "WSS", false, path, &error);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    ck_assert_int_eq(rc, -EFBIG);
    ck_assert_ptr_nonnull(strstr(error.text, path));
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq((size_t)status.st_size, before);
}

TEST_EACH(cases, of_which_host_and_time, 0, N_PICTURES)
{
    ck_assert_ptr_nonnull(
        strstr(drawn(_i), ">host&lt;1&gt;, 2026-03-10T12:00:00Z: 4.0 MiB resident of 8.0 MiB, "));
    ck_assert_ptr_nonnull(strstr(text, ">web1: "));
    ck_assert_ptr_null(strstr(text, "textLength"));
}

TEST_EACH(cases, nothing_is_cut, 0, N_PICTURES)
{
    memset(record.sample.domain, 'n', 200);
    record.sample.domain[200] = '\0';
    record.sample.flags = ~0U >> 8;
    ck_assert_ptr_nonnull(strstr(drawn(_i), record.sample.domain));

    char flags[SAMPLE_FLAGS_TEXT];

    sample_flags_text(flags, sizeof(flags), record.sample.flags);
    ck_assert_ptr_nonnull(strstr(text, flags));
    ck_assert_ptr_nonnull(strstr(text, "lengthAdjust"));
    ck_assert_ptr_nonnull(
        strstr(strstr(text, "lengthAdjust") + 1, "lengthAdjust")); /* both lines */
}

/* Prints into text[]. */
static void catch_output(void (*print)(void))
{
    cleanup_close int fd = memfd_create("out", MFD_CLOEXEC);
    cleanup_close int before = dup(STDOUT_FILENO);
    ssize_t n;

    ck_assert(fd >= 0 && before >= 0 && fflush(stdout) == 0);
    dup2(fd, STDOUT_FILENO);
    print();
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    n = pread(fd, text, sizeof(text) - 1, 0);
    ck_assert_int_ge(n, 0);
    text[n] = '\0';
}

static void print_csv(void)
{
    curve_print(&one, 1, SHOW_CSV);
}

static void print_table(void)
{
    sample_table_print(one, true);
}

static void print_curve(void)
{
    curve_print(&one, 1, SHOW_TABLE);
}

static void print_ages(void)
{
    ages_print(&record, SHOW_TABLE);
}

static void have_writes(void)
{
    record.sample.writes = (struct write_curve){
        .method = "soft-dirty", .n = 1, .points = {{1, 1.5, MIB / 2, MIB / 4, MIB}}};
}

/* The writes have a table of their own, since WSS and WRITTEN would be one column. */
TEST(cases, written_beside_touched)
{
    have_writes();
    catch_output(print_ages);

    const char *wss = strstr(text, " WSS ");
    const char *written = strstr(text, " WRITTEN ");

    ck_assert(wss && written && wss < written && written < strstr(text, "LAST TOUCHED"));
    ck_assert_ptr_nonnull(strstr(wss, "1.0 MiB"));
    ck_assert_ptr_nonnull(strstr(written, "512.0 KiB"));
    ck_assert_ptr_nonnull(strstr(written, "soft-dirty"));
    ck_assert_ptr_null(strstr(drawn(1), "last written"));
    record.n_bins = 2;
    ck_assert_ptr_nonnull(strstr(drawn(1), "last written"));
}

static void print_series(void)
{
    sample_table_print_series(one, true);
}

/* In a series each line continues the heading above; that of vmwss watch is of the working set. */
TEST(cases, a_series_is_of_one_kind)
{
    have_writes();
    catch_output(print_series);
    ck_assert_ptr_nonnull(strstr(text, " WSS "));
    ck_assert_ptr_null(strstr(text, "WRITTEN"));
    record.sample.n_windows = 0;
    catch_output(print_series);
    ck_assert_ptr_nonnull(strstr(text, "WRITTEN"));
}

TEST(cases, a_curve_of_writes)
{
    have_writes();
    record.sample.n_windows = 0;
    catch_output(print_csv);
    ck_assert_str_eq(
        text,
        "time,host,domain,uuid,method,window_s,est_window_s,write_set_bytes,write_set_low_bytes,"
        "write_set_high_bytes,resident_bytes,vcpu_seconds\r\n"
        "2026-03-10T12:00:00.000Z,host<1>,web1,,idle,1,1.5,524288,262144,1048576,4194304,0\r\n");
    catch_output(print_curve);
    ck_assert_ptr_nonnull(strstr(text, "WRITTEN"));
    ck_assert_ptr_null(strstr(text, "WSS"));
    ck_assert_ptr_nonnull(strstr(drawn(0), "write working set, MiB"));
}

TEST(cases, a_curve_for_gnuplot)
{
    strcpy(record.sample.domain, "a,b");
    record.sample.n_windows = 2;
    record.sample.windows[1] = (struct window_record){.window_s = 2,
                                                      .est_window_s = 2.25,
                                                      .wss_bytes = 3,
                                                      .wss_low_bytes = 2,
                                                      .wss_high_bytes = 4};
    catch_output(print_csv);
    ck_assert_str_eq(
        text, "time,host,domain,uuid,method,window_s,est_window_s,wss_bytes,wss_low_bytes,"
              "wss_high_bytes,resident_bytes,vcpu_seconds\r\n"
              "2026-03-10T12:00:00.000Z,host<1>,\"a,b\",,idle,1,1,1048576,0,1048576,4194304,0\r\n"
              "2026-03-10T12:00:00.000Z,host<1>,\"a,b\",,idle,2,2.25,3,2,4,4194304,0\r\n");
}

/* Nearly all of what could be measured was touched; beside WSS and RESIDENT that would read as if
 * all of the guest was. Of a window that was read before memory left the share is of another
 * size. */
TEST(cases, touched_is_a_share_of_the_resident_beside_it)
{
    record.sample.unmeasurable_bytes = 3 * MIB;
    record.sample.windows[0].touched_fraction = 0.996;
    catch_output(print_table);
    ck_assert_ptr_nonnull(strstr(text, " 25.0% "));
    ck_assert_ptr_null(strstr(text, "99.6%"));
    catch_output(print_curve);
    ck_assert_ptr_nonnull(strstr(text, " 25.0% "));
    ck_assert_ptr_null(strstr(text, "99.6%"));
    record.sample.resident_bytes = MIB / 2;
    catch_output(print_table);
    ck_assert_ptr_null(strchr(text, '%'));
}

static const char *drawn_of(const struct sample_record *const *records, size_t n)
{
    ck_assert_int_eq(curve_svg_write(records, n, "WSS", true, path, NULL), 0);

    FILE *file = fopen(path, "r");

    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

static unsigned count_of(const char *in, const char *what)
{
    unsigned n = 0;

    while ((in = strstr(in, what))) {
        n++;
        in++;
    }
    return n;
}

TEST(cases, curves_of_several_guests)
{
    struct sample_record others[CHART_CURVES];
    const struct sample_record *records[CHART_CURVES];

    for (unsigned i = 0; i < CHART_CURVES; i++) {
        others[i] = *one;
        snprintf(others[i].domain, sizeof(others[i].domain), "<g%u>", i);
        snprintf(others[i].uuid, sizeof(others[i].uuid), "%u", i);
        others[i].windows[0].est_window_s = 1 << i;
        records[i] = &others[i];
    }
    drawn_of(records, CHART_CURVES);
    ck_assert_uint_eq(count_of(text, "<polygon "), CHART_CURVES);
    ck_assert_uint_eq(count_of(text, "<polyline "), CHART_CURVES);
    ck_assert_uint_eq(count_of(text, "2026-03-10T12:00:00Z<"), CHART_CURVES); /* the legend */
    ck_assert_uint_eq(count_of(text, ">&lt;g7&gt;, "), 1);
    ck_assert_uint_eq(count_of(text, ">resident<"), 0); /* each has another */
    ck_assert_uint_eq(count_of(text, ">WSS<"), 1);
    ck_assert_uint_eq(count_of(text, ">host&lt;1&gt;; bands are 95 % intervals<"), 1);
    /* The axis holds the shortest and the longest window: at its left end, and at its right. */
    ck_assert_ptr_nonnull(strstr(text, "points=\"70.0,"));
    ck_assert_ptr_nonnull(strstr(text, "points=\"700.0,"));
    drawn_of(records, 1);
    ck_assert_uint_eq(count_of(text, ">resident<"), 1);
    ck_assert_uint_eq(count_of(text, "&lt;g0&gt;"), 1); /* no legend */
}

TEST(cases, curves_of_one_guest_at_several_times)
{
    struct sample_record later = *one;
    const struct sample_record *const records[] = {one, &later};

    later.time.tv_sec += 3600;
    drawn_of(records, 2);
    ck_assert_uint_eq(count_of(text, ">web1: WSS<"), 1);
    ck_assert_uint_eq(count_of(text, ">2026-03-10T12:00:00Z<"), 1);
    ck_assert_uint_eq(count_of(text, ">2026-03-10T13:00:00Z<"), 1);
}

TEST(cases, flags_are_in_a_picture_of_several)
{
    struct sample_record other = *one;
    const struct sample_record *const records[] = {one, &other};

    snprintf(other.uuid, sizeof(other.uuid), "2");
    other.flags |= FLAG_DUMP;
    drawn_of(&records[1], 1);
    ck_assert_ptr_nonnull(strstr(text, "dump"));
    drawn_of(records, 2);
    ck_assert_ptr_nonnull(strstr(text, "dump"));
}
