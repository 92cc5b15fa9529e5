// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_trace_pages.c  A trace of a host with base pages of 4 KiB, read where they are
 * larger: its unit is its own. */
#include "history/trace/trace_reader.h"
#include "history/trace/trace_stats.h"
#include "history/trace/trace_writer.h"

#include "base/page_sizes.h"
#include "caught.h"
#include "fixture.h"
#include "show/trace.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PAGES 64
#define PLENTY (1ULL << 30)

static const struct page_sizes small = {.base_shift = 12, .huge_shift = 21};
static const struct page_sizes others[] = {{12, 21}, {14, 25}, {16, 29}};

static struct page_sizes of_host;
static const char *dir;
static char path[64];
static struct error error;
static struct trace_head head;
static struct trace_reader reader;

static void setup(void)
{
    dir = unit_dir();
    snprintf(path, sizeof(path), "%s/trace", dir);
    head = (struct trace_head){
        .method = "idle", .accel = "kvm", .census = true, .n_windows = 1, .window_s = {1}};
    of_host = page_sizes_now;
}

static void teardown(void)
{
    page_sizes_now = of_host;
}

/* Two periods, in each of which pages 8 and 9 are touched; flags of the first hide all of RAM. */
static void write_trace(void)
{
    struct map_region region = {.block = "mem", .node = -1, .gpa = 1ULL << 32, .n_pages = PAGES};
    const struct trace_layout layout = {
        .ram_pages = PAGES, .n_regions = 1, .regions = &region, .n = PAGES};
    struct trace_run runs[] = {
        {8, PAGE_IDLE, 0, 0}, {2, PAGE_TOUCHED, 0, 0}, {PAGES - 10, PAGE_IDLE, 0, 0}};
    struct trace_period period = {
        .n_readings = 1, .readings = {{1, 8192, 8192, PLENTY}}, .n_runs = 3, .runs = runs};
    struct trace_writer writer;

    page_sizes_now = small;
    ck_assert_int_eq(trace_writer_open(&writer, path, PLENTY, &head, &error), 0);
    ck_assert_int_eq(trace_writer_layout(&writer, &layout, &error), 0);
    period.end_unix_s = 10;
    ck_assert_int_eq(trace_writer_period(&writer, &period, &error), 0);
    period.end_unix_s = 20;
    period.readings[0].wss_high_bytes = 8192;
    ck_assert_int_eq(trace_writer_period(&writer, &period, &error), 0);
    ck_assert_int_eq(trace_writer_end(&writer, "complete", &error), 0);
}

/* Up to the first period, on a host with pages of other sizes. */
static void read_on(int host)
{
    write_trace();
    page_sizes_now = others[host];
    ck_assert_msg(trace_reader_open(&reader, path, &error) == 0, "%s", error.text);
    ck_assert_int_eq(trace_reader_next(&reader, &error), TRACE_AT_LAYOUT);
    ck_assert_int_eq(trace_reader_next(&reader, &error), TRACE_AT_PERIOD);
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST_EACH(cases, figures_are_of_the_traces_own_pages, 0, 3)
{
    struct trace_stats *stats = trace_stats_new(&head);
    struct trace_change change;
    struct trace_span span[16];

    read_on(_i);
    ck_assert_uint_eq(trace_region(&reader.layout, 8)->gpa, 1ULL << 32);
    ck_assert_int_eq(trace_stats_layout(stats, &reader.layout), 0);
    ck_assert_int_eq(trace_stats_period(stats, &reader.period, &change), 0);
    ck_assert_uint_eq(trace_stats_bytes(&reader.layout, &change, change.touched).bytes, 8192);
    ck_assert_int_eq(trace_reader_next(&reader, &error), TRACE_AT_PERIOD);
    ck_assert_int_eq(trace_stats_period(stats, &reader.period, &change), 0);

    size_t n = trace_stats_spans(stats, span, 16);

    ck_assert_uint_eq(span[n - 1].periods, 2);
    ck_assert_uint_eq(span[n - 1].wss.bytes, 8192);
    ck_assert_uint_eq(span[n - 1].wss.high_bytes, PAGES * 4096); /* no more than there is */
    trace_stats_free(stats);
    trace_reader_close(&reader);
}

TEST_EACH(cases, csv_is_of_the_traces_own_pages, 0, 3)
{
    struct sheet sheet;
    const char *text;

    read_on(_i);
    catch_output();
    trace_csv_begin(&sheet);
    ck_assert_int_eq(trace_csv_period(&sheet, &reader.layout, &reader.period, 1), 0);
    sheet_free(&sheet);
    text = caught_output();
    /* gpa, offset, bytes, granularity_bytes */
    ck_assert_has(text, ",4295000064,32768,8192,4096,touched,");
    trace_reader_close(&reader);
}

TEST_EACH(cases, json_is_of_the_traces_own_pages, 0, 3)
{
    struct trace_stats *stats = trace_stats_new(&head);
    struct trace_printer *printer = trace_printer_new(&reader, stats, true);
    struct trace_change change;
    const char *text;

    read_on(_i);
    ck_assert_int_eq(trace_stats_layout(stats, &reader.layout), 0);
    ck_assert_int_eq(trace_stats_period(stats, &reader.period, &change), 0);
    trace_printer_period(printer, &change);
    catch_output();
    ck_assert_int_eq(trace_printer_end(printer, false), 0);
    text = caught_output();
    ck_assert_has(text, "\"ram_bytes\":262144,");
    trace_printer_free(printer);
    trace_stats_free(stats);
    trace_reader_close(&reader);
}

/* ... and the file does not say that they were larger. */
TEST_EACH(cases, other_pages_are_not_written, 1, 3)
{
    struct trace_writer writer;

    page_sizes_now = others[_i];
    ck_assert_error(trace_writer_open(&writer, path, PLENTY, &head, &error), -ENOTSUP,
                    _i == 1 ? "16 KiB" : "64 KiB");
    ck_assert_int_eq(access(path, F_OK), -1);
}
