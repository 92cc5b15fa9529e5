// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_trace.c  A trace's file, there and back; files that lie, are cut or damaged; and what
 * a trace says, of pages whose past is known. */
#include "history/trace/trace_decode.h"
#include "history/trace/trace_encode.h"
#include "history/trace/trace_reader.h"
#include "history/trace/trace_record.h"
#include "history/trace/trace_stats.h"
#include "history/trace/trace_writer.h"

#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGES 64
#define PLENTY (1ULL << 30)

static const char *dir;
static char path[64];
static struct ram_block block;
static struct guest_ram ram;
static struct page_set set;
static struct trace_recorder recorder;
static struct trace_head head;
static struct trace_layout layout;

static void setup(void)
{
    dir = unit_dir();
    snprintf(path, sizeof(path), "%s/trace", dir);
    block = (struct ram_block){
        .id = "mem", .hva = 1ULL << 40, .bytes = PAGES * 4096, .page_bytes = 4096};
    ram = (struct guest_ram){
        .bytes = PAGES * 4096, .n_pages = PAGES, .n_blocks = 1, .blocks = &block};
    ck_assert_int_eq(page_set_census(&set, &ram), 0);
    head = (struct trace_head){.domain = "web1",
                               .method = "idle",
                               .accel = "kvm",
                               .pid = 42,
                               .census = true,
                               .n_windows = 2,
                               .window_s = {1, 2}};
    ck_assert_int_eq(trace_layout_of(&layout, &set, NULL), 0);
}

static void teardown(void)
{
    page_set_free(&set);
    trace_recorder_free(&recorder);
    trace_layout_free(&layout);
}

/* --- periods ---------------------------------------------------------------------------------- */

/* A period from 10 k to 10 k + 2 seconds in which the pages of @p text are in these states: '.'
 * idle, '1' and '2' touched by the first and second reading, 'u' unmeasurable, '-' absent, 'g' gone
 * after the first reading. */
static struct trace_period period_of(const char *text, unsigned k)
{
    struct sample_record record = {.n_windows = 2,
                                   .time = {.tv_sec = 10 * k + 2},
                                   .windows = {{.est_window_s = 1}, {.est_window_s = 2}},
                                   .resident_bytes = PAGES * 4096,
                                   .flags = FLAG_THP};
    struct trace_period period;

    for (int reading = 0; reading < 2; reading++) {
        uint64_t n = 0;

        for (size_t i = 0; i < set.n; i++) {
            char c = i < strlen(text) ? text[i] : '.';
            bool touched = c == '1' || (c == '2' && reading == 1);

            set.order[i] = 0;
            set.state[i] = touched                    ? PAGE_TOUCHED
                           : c == 'u'                 ? PAGE_UNMEASURABLE
                           : c == '-'                 ? PAGE_ABSENT
                           : c == 'g' && reading == 0 ? PAGE_TOUCHED
                           : c == 'g'                 ? PAGE_GONE
                                                      : PAGE_IDLE;
            n += set.state[i] == PAGE_TOUCHED;
        }
        ck_assert_int_eq(trace_recorder_note(&recorder, &set, (size_t)reading), 0);
        record.windows[reading].wss_bytes = record.windows[reading].wss_low_bytes =
            record.windows[reading].wss_high_bytes = n * 4096;
    }
    ck_assert_int_eq(trace_recorder_finish(&recorder, &set, &record, &period), 0);
    return period;
}

static void write_trace(const char *const *texts, size_t n, uint64_t max_bytes, const char *reason)
{
    struct trace_writer writer;

    ck_assert_ok(trace_writer_open(&writer, path, max_bytes, &head, &error));
    ck_assert_ok(trace_writer_layout(&writer, &layout, &error));
    for (size_t i = 0; i < n; i++) {
        struct trace_period period = period_of(texts[i], (unsigned)i);

        ck_assert_ok(trace_writer_period(&writer, &period, &error));
        trace_period_free(&period);
    }
    if (reason)
        ck_assert_ok(trace_writer_end(&writer, reason, &error));
    else
        close(writer.fd);
}

static const char *const five[] = {"1122..uu--gg", "1.2.", "....1", "11", "2"};
#define N_FIVE 5

/* Reads all; how many periods, or the error. */
static int read_trace(enum trace_part *last, struct error *error)
{
    struct trace_reader reader;
    int rc = trace_reader_open(&reader, path, error);
    int part = TRACE_AT_LAYOUT;

    if (rc < 0)
        return rc;
    while (part == TRACE_AT_LAYOUT || part == TRACE_AT_PERIOD)
        part = trace_reader_next(&reader, error);
    rc = part < 0 ? part : (int)reader.periods;
    if (part >= 0)
        *last = (enum trace_part)part;
    trace_reader_close(&reader);
    return rc;
}

static off_t size_of_file(void)
{
    struct stat status;

    ck_assert_int_eq(stat(path, &status), 0);
    return status.st_size;
}

/* --- the file --------------------------------------------------------------------------------- */

FIXTURE(tc, .setup = setup, .teardown = teardown);

TEST(tc, what_is_written_is_read)
{
    struct trace_reader reader;
    struct error error = {0};

    write_trace(five, N_FIVE, PLENTY, "complete");
    ck_assert_msg(trace_reader_open(&reader, path, &error) == 0, "%s", error.text);
    ck_assert_str_eq(reader.head.domain, "web1");
    ck_assert_str_eq(reader.head.method, "idle");
    ck_assert(reader.head.census);
    ck_assert_double_eq(reader.head.window_s[1], 2);
    ck_assert_int_eq(trace_reader_next(&reader, &error), TRACE_AT_LAYOUT);
    ck_assert_uint_eq(reader.layout.n, PAGES);
    ck_assert_str_eq(reader.layout.regions[0].block, "mem");
    ck_assert_uint_eq(reader.layout.regions[0].gpa, GPA_NONE);
    ck_assert_int_eq(trace_reader_next(&reader, &error), TRACE_AT_PERIOD);
    ck_assert_double_eq(reader.period.end_unix_s, 2);
    ck_assert_double_eq(trace_begin_unix_s(&reader.period), 0);
    ck_assert_str_eq(reader.period.flags, "thp");
    ck_assert_uint_eq(reader.period.readings[0].wss_bytes, 4 * 4096); /* with what is gone later */
    ck_assert_uint_eq(reader.period.readings[1].wss_bytes, 4 * 4096);

    const struct trace_run want[] = {
        {2, PAGE_TOUCHED, 0, 0},       {2, PAGE_TOUCHED, 1, 0}, {2, PAGE_IDLE, 0, 0},
        {2, PAGE_UNMEASURABLE, 0, 0},  {2, PAGE_ABSENT, 0, 0},  {2, PAGE_GONE, 0, 0},
        {PAGES - 12, PAGE_IDLE, 0, 0},
    };

    ck_assert_uint_eq(reader.period.n_runs, 7);
    for (size_t r = 0; r < 7; r++) {
        ck_assert_uint_eq(reader.period.runs[r].n, want[r].n);
        ck_assert_int_eq(reader.period.runs[r].state, want[r].state);
        ck_assert_uint_eq(reader.period.runs[r].reading, want[r].reading);
    }
    for (int i = 1; i < N_FIVE; i++)
        ck_assert_int_eq(trace_reader_next(&reader, &error), TRACE_AT_PERIOD);
    ck_assert_int_eq(trace_reader_next(&reader, &error), TRACE_AT_END);
    ck_assert_str_eq(reader.end.reason, "complete");
    ck_assert_uint_eq(reader.end.periods, N_FIVE);
    trace_reader_close(&reader);
}

TEST(tc, panels_and_regions_are_read)
{
    struct page_set panel;
    struct trace_layout made;
    struct trace_layout back = {0};
    struct trace_out out = {0};
    struct ram_block blocks[] = {block, block};
    struct guest_ram two = {.n_pages = 2 * PAGES, .bytes = 8192 * PAGES, .n_blocks = 2};
    const struct gpa_layout gpa = {
        .boot_bytes = PAGES * 4096, .low_bytes = 40 * 4096, .high_begin = 1ULL << 32};

    two.blocks = blocks;
    blocks[1].first_page = PAGES;
    blocks[1].dimm = true;
    ck_assert_int_eq(page_set_blank(&panel, &two, 3), 0);
    memcpy(panel.page, (const uint64_t[]){0, 41, 127}, 3 * sizeof(uint64_t));
    ck_assert_int_eq(trace_layout_of(&made, &panel, &gpa), 0);
    trace_encode_layout(&out, &made);

    struct trace_in in = {out.bytes + TRACE_BLOCK_HEAD_BYTES, out.bytes + out.n, false};

    ck_assert_int_eq(trace_decode_layout(&in, &back), 0);
    ck_assert_uint_eq(back.n, 3);
    ck_assert_mem_eq(back.page, panel.page, 3 * sizeof(uint64_t));
    ck_assert_uint_eq(back.ram_pages, 2 * PAGES);
    ck_assert_uint_eq(back.n_regions, 3);
    ck_assert_uint_eq(trace_region(&back, 0)->gpa, 0);
    ck_assert_uint_eq(trace_region(&back, 41)->gpa, 1ULL << 32);
    ck_assert(trace_region(&back, 127)->dimm);
    trace_layout_free(&made);
    trace_layout_free(&back);
    page_set_free(&panel);
    free(out.bytes);
}

/* Cut at every byte: as many periods as are whole, and never an error. */
TEST(tc, a_cut_file_is_read_up_to_its_last_period)
{
    enum trace_part last;
    struct error error = {0};
    int before = 0;
    int most = 0;
    off_t header;

    write_trace(five, 0, PLENTY, NULL);
    header = size_of_file();
    unlink(path);
    write_trace(five, N_FIVE, PLENTY, "complete");
    ck_assert_int_eq(read_trace(&last, &error), N_FIVE);
    ck_assert_int_eq(last, TRACE_AT_END);
    for (off_t size = size_of_file() - 1; size >= header; size--) {
        ck_assert_int_eq(truncate(path, size), 0);

        int periods = read_trace(&last, &error);

        ck_assert_msg(periods >= 0, "%s", error.text);
        ck_assert_int_eq(last, TRACE_AT_CUT);
        ck_assert(size < header || periods <= (most ? before : N_FIVE));
        before = periods;
        most = 1;
    }
    ck_assert_int_eq(before, 0);
}

/* After a power failure, a block that was not written may read as zeros. */
TEST(tc, zeros_at_the_end_are_a_cut)
{
    enum trace_part last;
    struct error error = {0};

    write_trace(five, N_FIVE, PLENTY, NULL);
    ck_assert_int_eq(truncate(path, size_of_file() + 100), 0);
    ck_assert_int_eq(read_trace(&last, &error), N_FIVE);
    ck_assert_int_eq(last, TRACE_AT_CUT);
}

/* Each byte made another one: refused, or cut, with a message; never another trace. */
TEST(tc, a_damaged_byte_is_found)
{
    enum trace_part last;
    struct error error = {0};
    off_t size;

    write_trace(five, N_FIVE, PLENTY, "complete");
    size = size_of_file();
    for (off_t at = 0; at < size; at++) {
        uint8_t byte;
        int fd = open(path, O_RDWR);

        ck_assert(pread(fd, &byte, 1, at) == 1);
        byte ^= 0x41;
        ck_assert(pwrite(fd, &byte, 1, at) == 1);
        error = (struct error){0};
        last = TRACE_AT_END;

        int rc = read_trace(&last, &error);

        ck_assert_msg(rc == -EBADMSG || last == TRACE_AT_CUT, "byte %ld: %d", (long)at, rc);
        ck_assert(rc >= 0 || strstr(error.text, path));
        byte ^= 0x41;
        ck_assert(pwrite(fd, &byte, 1, at) == 1);
        close(fd);
    }
}

static void put(const void *bytes, size_t n)
{
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert(write(fd, bytes, n) == (ssize_t)n);
}

/* A file of these blocks after a valid head. */
static int read_blocks(uint32_t kind, const struct trace_out *payload, struct error *error)
{
    struct trace_out out = {0};
    enum trace_part last;

    trace_encode_head(&out, &head);
    trace_encode_block(&out, kind, payload->bytes, payload->n);
    put(out.bytes, out.n);
    free(out.bytes);
    return read_trace(&last, error);
}

TEST(tc, lies_are_refused)
{
    struct error error = {0};
    enum trace_part last;
    struct trace_out none = {0};
    struct trace_out pages = {0};

    put("", 0);
    ck_assert_int_eq(read_trace(&last, &error), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(error.text, "not a trace"));
    put("vmwsstr\n\2\0\0\0", 12);
    ck_assert_int_eq(read_trace(&last, &error), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(error.text, "version 2"));

    ck_assert_int_eq(read_blocks(TRACE_LAYOUT, &none, &error), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(error.text, "not a valid layout"));
    ck_assert_int_eq(read_blocks(TRACE_PERIOD, &none, &error), -EBADMSG); /* no layout yet */
    ck_assert_error(read_blocks(7, &none, &error), -EBADMSG, "no such kind");

    /* A region, and 2^39 pages that were drawn, of which none is there. */
    trace_put_number(&pages, 1);
    trace_put_text(&pages, "mem");
    for (int i = 0; i < 3; i++)
        trace_put_number(&pages, 0);
    trace_put_number(&pages, 1ULL << 39);
    trace_put_number(&pages, 1);
    trace_put_number(&pages, 1ULL << 39);
    ck_assert_int_eq(read_blocks(TRACE_LAYOUT, &pages, &error), -EBADMSG);
    free(pages.bytes);
    ck_assert_int_eq(mkfifo(path, 0600), -1); /* it is there */
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_error(read_trace(&last, &error), -EINVAL, "not a regular file");
}

/* Runs that are of fewer pages, or of more, than the layout has; and an unknown reading. */
TEST(tc, runs_are_of_the_pages_of_the_layout)
{
    const struct {
        uint64_t class, n;
    } tries[] = {
        {PAGE_IDLE, PAGES - 1},        {PAGE_IDLE, PAGES + 1}, {PAGE_STATES, PAGES},
        {2 * 8 + PAGE_TOUCHED, PAGES}, {PAGE_IDLE, 0},
    };

    for (size_t i = 0; i < COUNT(tries); i++) {
        struct trace_out out = {0};
        struct trace_period period = {0};

        for (int r = 0; r < 4; r++)
            trace_put_real(&out, 1);
        trace_put_number(&out, 0);
        trace_put_number(&out, 0);
        trace_put_text(&out, "");
        for (int r = 0; r < 2; r++) {
            trace_put_real(&out, 1);
            for (int k = 0; k < 3; k++)
                trace_put_number(&out, 0);
        }
        trace_put_number(&out, 1);
        trace_put_number(&out, tries[i].class);
        trace_put_number(&out, tries[i].n);

        struct trace_in in = {out.bytes, out.bytes + out.n, false};

        ck_assert_int_eq(trace_decode_period(&in, &head, &layout, &period), -EBADMSG);
        trace_period_free(&period);
        free(out.bytes);
    }
}

/* Whole blocks are missing, or were written twice. */
TEST(tc, an_end_of_other_periods_is_refused)
{
    struct trace_out payload = {0};

    trace_put_text(&payload, "complete");
    trace_put_number(&payload, 1);
    ck_assert_error(read_blocks(TRACE_END, &payload, &error), -EBADMSG,
                    "another number of periods");
    free(payload.bytes);
}

TEST(tc, a_day_of_many_vcpus_is_read)
{
    struct trace_period period = period_of("1", 1);
    struct trace_out block_of = {0};
    struct trace_period back = {0};

    period.vcpu_s = 86400.0 * 512;
    trace_encode_period(&block_of, &period);

    struct trace_in in = {block_of.bytes + TRACE_BLOCK_HEAD_BYTES, block_of.bytes + block_of.n,
                          false};

    ck_assert_int_eq(trace_decode_period(&in, &head, &layout, &back), 0);
    ck_assert_double_eq(back.vcpu_s, period.vcpu_s);
    trace_period_free(&period);
    trace_period_free(&back);
    free(block_of.bytes);
}

TEST(tc, the_file_ends_before_its_limit)
{
    struct trace_writer writer;
    struct error error = {0};
    enum trace_part last;
    int rc = 0;

    ck_assert_int_eq(trace_writer_open(&writer, path, 1000, &head, &error), 0);
    ck_assert_int_eq(trace_writer_layout(&writer, &layout, &error), 0);
    while (rc == 0) {
        struct trace_period period = period_of("1.1.1.1.1.1.1.1.1", 1);

        rc = trace_writer_period(&writer, &period, &error);
        trace_period_free(&period);
    }
    ck_assert_int_eq(rc, -EFBIG);
    ck_assert_uint_gt(writer.periods, 1);
    ck_assert_int_eq(trace_writer_end(&writer, "the size limit was reached", &error), 0);
    ck_assert_int_le(size_of_file(), 1000);
    ck_assert_int_eq(read_trace(&last, &error), (int)writer.periods);
    ck_assert_int_eq(last, TRACE_AT_END);
}

TEST(tc, no_file_is_overwritten_and_none_is_left_empty)
{
    struct trace_writer writer;
    struct error error = {0};

    ck_assert_int_eq(trace_writer_open(&writer, path, PLENTY, &head, &error), 0);
    ck_assert_int_eq(trace_writer_end(&writer, "complete", &error), 0);
    ck_assert_int_eq(access(path, F_OK), -1);
    put("precious", 8);
    ck_assert_int_eq(trace_writer_open(&writer, path, PLENTY, &head, &error), -EEXIST);
    ck_assert_int_eq(size_of_file(), 8);
}

/* --- what it says ----------------------------------------------------------------------------- */

struct summary {
    struct trace_change change[8];
    struct trace_span span[16];
    size_t n_spans;
};

static void summarize(const char *const *texts, size_t n, struct summary *summary)
{
    struct trace_stats *stats = trace_stats_new(&head);

    ck_assert_ptr_nonnull(stats);
    ck_assert_int_eq(trace_stats_layout(stats, &layout), 0);
    for (size_t i = 0; i < n; i++) {
        struct trace_period period = period_of(texts[i], (unsigned)i);

        ck_assert_int_eq(trace_stats_period(stats, &period, &summary->change[i]), 0);
        trace_period_free(&period);
    }
    summary->n_spans = trace_stats_spans(stats, summary->span, 16);
    trace_stats_free(stats);
}

TEST(tc, changes_are_counted)
{
    struct summary summary;

    summarize(five, N_FIVE, &summary);
    ck_assert_uint_eq(summary.change[0].touched, 4);
    ck_assert_uint_eq(summary.change[0].first, 4);
    ck_assert_uint_eq(summary.change[0].gone, 2);
    ck_assert_uint_eq(summary.change[0].unmeasurable, 2);
    ck_assert(!summary.change[0].has_before);
    ck_assert_uint_eq(summary.change[1].touched, 2);
    ck_assert_uint_eq(summary.change[1].kept, 2);
    ck_assert_uint_eq(summary.change[1].departed, 2);
    ck_assert_uint_eq(summary.change[2].touched, 1);
    ck_assert_uint_eq(summary.change[2].kept, 0);
    ck_assert_uint_eq(summary.change[2].first, 1);
    ck_assert_uint_eq(summary.change[2].departed, 2);
    ck_assert_uint_eq(summary.change[3].touched, 2);
    ck_assert_uint_eq(summary.change[3].kept, 0);
    ck_assert_uint_eq(summary.change[3].first, 0); /* both were touched in the first */
    ck_assert_uint_eq(summary.change[4].kept, 1);
}

TEST(tc, departed_pages_say_where_they_are)
{
    const char *const texts[] = {"11111", ".-u1g"};
    struct summary summary;

    summarize(texts, 2, &summary);
    ck_assert_uint_eq(summary.change[1].departed, 4);
    ck_assert_uint_eq(summary.change[1].departed_missing, 2);
    ck_assert_uint_eq(summary.change[1].departed_unmeasurable, 1);
}

/* By hand: sets {0-3}, {0,2}, {4}, {0,1}, {0} of pages; 6 and 7 unmeasurable in the first. */
TEST(tc, windows_of_several_periods_are_unions)
{
    struct summary summary;

    summarize(five, N_FIVE, &summary);
    ck_assert_uint_eq(summary.n_spans, 4);
    /* First readings: 2 and the 2 that went away, 1, 1, 2, 0. */
    ck_assert_uint_eq(summary.span[0].periods, 0);
    ck_assert_double_eq(summary.span[0].window_s, 1);
    ck_assert_uint_eq(summary.span[0].wss.bytes, (4 + 1 + 1 + 2 + 0) * 4096 / 5 + 1);
    /* One: 4, 2, 1, 2, 1. Missed: 0 of 2, 1 of 1, 2 of 2, 0 of 1. */
    ck_assert_uint_eq(summary.span[1].periods, 1);
    ck_assert_uint_eq(summary.span[1].n, 5);
    ck_assert_uint_eq(summary.span[1].wss.bytes, 10 * 4096 / 5);
    ck_assert_uint_eq(summary.span[1].least_bytes, 4096);
    ck_assert_uint_eq(summary.span[1].most_bytes, 4 * 4096);
    ck_assert_uint_eq(summary.span[1].n_after, 4);
    ck_assert_double_eq_tol(summary.span[1].missed, 0.5, 1e-9);
    /* Two: {0-3} 4, {0,2,4} 3, {0,1,4} 3, {0,1} 2. Missed: 1 of 1; 1 of 2; 0 of 1. */
    ck_assert_uint_eq(summary.span[2].periods, 2);
    ck_assert_uint_eq(summary.span[2].n, 4);
    ck_assert_uint_eq(summary.span[2].wss.bytes, 12 * 4096 / 4);
    ck_assert_double_eq(summary.span[2].window_s, 12);
    ck_assert_double_eq(summary.span[2].watched_s, 4);
    ck_assert_double_eq_tol(summary.span[2].missed, 1.5 / 3, 1e-9);
    /* Unmeasurable: two pages, in the one stretch that has the first period. */
    ck_assert_uint_eq(summary.span[2].wss.low_bytes, 12 * 4096 / 4);
    ck_assert_uint_eq(summary.span[2].wss.high_bytes, (12 + 2) * 4096 / 4);
    /* Four: {0-4}, {0,1,2,4}. Missed: 0 of 1. */
    ck_assert_uint_eq(summary.span[3].wss.bytes, 9 * 4096 / 2);
    ck_assert_double_eq_tol(summary.span[3].missed, 0, 1e-9);
}

/* Unmeasurable in the second period, but known to be in the set by the first. */
TEST(tc, what_is_touched_need_not_be_measurable)
{
    const char *const texts[] = {"11", "u1"};
    struct summary summary;

    summarize(texts, 2, &summary);
    ck_assert_uint_eq(summary.span[2].periods, 2);
    ck_assert_uint_eq(summary.span[2].wss.bytes, 2 * 4096);
    ck_assert_uint_eq(summary.span[2].wss.high_bytes, 2 * 4096);
}

/* A flag that widens the bounds of a period widens those of each window that contains it. */
TEST(tc, what_flags_hide_is_in_the_bounds)
{
    struct trace_stats *stats = trace_stats_new(&head);
    struct trace_change change;
    struct trace_span span[16];
    size_t n;

    ck_assert_int_eq(trace_stats_layout(stats, &layout), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct trace_period period = period_of("1111", i);

        if (i == 0) {
            period.readings[1].wss_low_bytes = 0; /* as of a dump */
            period.readings[1].wss_high_bytes = 40 * 4096;
        } else {
            period.readings[1].wss_low_bytes = 3 * 4096;
        }
        ck_assert_int_eq(trace_stats_period(stats, &period, &change), 0);
        trace_period_free(&period);
    }
    n = trace_stats_spans(stats, span, 16);
    ck_assert_uint_eq(span[n - 1].periods, 2);
    ck_assert_uint_eq(span[n - 1].wss.bytes, 4 * 4096);
    ck_assert_uint_eq(span[n - 1].wss.low_bytes, 3 * 4096);
    ck_assert_uint_eq(span[n - 1].wss.high_bytes, 40 * 4096);
    trace_stats_free(stats);
}

/* 32 of 1024 pages were drawn, each a quarter of the time: figures are scaled, with an interval. */
TEST(tc, a_panel_has_intervals)
{
    struct trace_change change;
    struct trace_stats *stats = trace_stats_new(&head);
    struct trace_period period;

    page_set_free(&set);
    trace_layout_free(&layout);
    block.bytes = ram.bytes = 1024 * 4096;
    ram.n_pages = 1024;
    ck_assert_int_eq(page_set_panel(&set, &ram, 32, 1), 0);
    ck_assert_int_eq(trace_layout_of(&layout, &set, NULL), 0);
    ck_assert_int_eq(trace_stats_layout(stats, &layout), 0);
    period = period_of("11111111", 0);
    /* The record's own estimate, of what is resident. */
    period.readings[1].wss_bytes = 200 * 4096;
    ck_assert_int_eq(trace_stats_period(stats, &period, &change), 0);
    ck_assert_double_eq(change.page_bytes, 25 * 4096);

    struct trace_bytes bytes = trace_stats_bytes(&layout, &change, 8);
    struct interval share = trace_stats_share(&layout, &change, 4, 8);

    ck_assert_uint_eq(bytes.bytes, 200 * 4096);
    ck_assert_uint_gt(bytes.low_bytes, 90 * 4096);
    ck_assert_uint_lt(bytes.low_bytes, 120 * 4096);
    ck_assert_uint_gt(bytes.high_bytes, 300 * 4096);
    ck_assert(share.low > 0.15 && share.low < 0.3 && share.high > 0.7 && share.high < 0.85);
    ck_assert(trace_stats_share(&layout, &change, 0, 0).high == 1);
    trace_period_free(&period);
    trace_stats_free(stats);
}

TEST(tc, a_clock_that_was_set_back_makes_no_short_window)
{
    struct trace_stats *stats = trace_stats_new(&head);
    struct trace_change change;
    struct trace_span span[16];
    size_t n;

    ck_assert_int_eq(trace_stats_layout(stats, &layout), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct trace_period period = period_of("1111", 1 - i);

        ck_assert_int_eq(trace_stats_period(stats, &period, &change), 0);
        trace_period_free(&period);
    }
    n = trace_stats_spans(stats, span, 16);
    ck_assert_uint_eq(span[n - 1].periods, 2);
    ck_assert_double_eq(span[n - 1].watched_s, 4);
    ck_assert_double_eq(span[n - 1].window_s, 4);
    trace_stats_free(stats);
}

/* Draws of a huge page are one observation, also of a set of which nothing is touched any more. */
TEST(tc, a_panel_remembers_huge_pages)
{
    struct trace_change change;
    struct trace_stats *stats = trace_stats_new(&head);
    const char *const texts[] = {"11111111", "........"};

    page_set_free(&set);
    trace_layout_free(&layout);
    block.bytes = ram.bytes = 1024 * 4096;
    ram.n_pages = 1024;
    ck_assert_int_eq(page_set_panel(&set, &ram, 32, 1), 0);
    ck_assert_int_eq(trace_layout_of(&layout, &set, NULL), 0);
    ck_assert_int_eq(trace_stats_layout(stats, &layout), 0);
    for (unsigned k = 0; k < 2; k++) {
        struct trace_period period = period_of(texts[k], k);

        for (size_t r = 0; r < period.n_runs; r++)
            period.runs[r].order = 9; /* of 1024 pages these are two */
        ck_assert_int_eq(trace_stats_period(stats, &period, &change), 0);
        ck_assert_double_ge(change.design, 4);
        trace_period_free(&period);
    }
    ck_assert_uint_eq(change.units, 0);
    trace_stats_free(stats);
}

/* Other pages after RAM was plugged: nothing of before is of these. */
TEST(tc, a_new_layout_forgets)
{
    struct trace_stats *stats = trace_stats_new(&head);
    struct trace_change change;

    for (unsigned i = 0; i < 2; i++) {
        struct trace_period period = period_of("1111", i);

        ck_assert_int_eq(trace_stats_layout(stats, &layout), 0);
        ck_assert_int_eq(trace_stats_period(stats, &period, &change), 0);
        ck_assert(!change.has_before);
        ck_assert_uint_eq(change.first, 4);
        trace_period_free(&period);
    }
    trace_stats_free(stats);
}
