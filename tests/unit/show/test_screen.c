// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_screen.c  The live table without a terminal: rows, their order, and which columns
 * fit. */
#include "history/kept_age.h"
#include "show/guest_stats.h"
#include "show/screen/layout.h"
#include "show/screen/rows.h"

#include "fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ULL << 20)
#define NOW 1700000000.0

static struct rows rows;
static const struct layout_choice none;

static void teardown(void)
{
    rows_free(&rows);
}

/* A guest of 1 GiB, 512 MiB resident, with as many windows as @p n; the longest touched twice as
 * much. */
static void put(const char *name, const char *uuid, uint64_t wss_mib, double age_s, size_t n)
{
    static const double window_s[] = {10, 60, 600, 3600, 86400};
    cleanup_free struct kept_sample *kept = calloc(1, sizeof(*kept));
    struct sample_record *sample;

    ck_assert(kept);
    sample = &kept->record.sample;
    snprintf(sample->domain, sizeof(sample->domain), "%s", name);
    snprintf(sample->uuid, sizeof(sample->uuid), "%s", uuid);
    sample->time.tv_sec = (time_t)(NOW - age_s);
    sample->method = "idle";
    sample->samples = 2000;
    sample->ram_bytes = 1024 * MIB;
    sample->resident_bytes = 512 * MIB;
    sample->n_windows = n;
    for (size_t w = 0; w < n; w++) {
        uint64_t bytes = wss_mib * MIB * (w + 1 == n && n > 1 ? 2 : 1);

        sample->windows[w] = (struct window_record){.window_s = window_s[w],
                                                    .est_window_s = window_s[w],
                                                    .wss_bytes = bytes,
                                                    .wss_low_bytes = bytes - MIB,
                                                    .wss_high_bytes = bytes + 2 * MIB};
    }
    kept->period_s = 30;
    ck_assert_int_eq(rows_put(&rows, kept), 0);
}

static const char *order(void)
{
    static char text[256];

    *text = '\0';
    for (size_t i = 0; i < rows.n; i++)
        strcat(strcat(text, i > 0 ? " " : ""), rows.at[i].record.sample.domain);
    return text;
}

FIXTURE(cases, .teardown = teardown);

TEST(cases, a_guest_has_one_row)
{
    put("web1", "1", 10, 60, 2);
    put("db1", "2", 20, 60, 2);
    put("web1-renamed", "1", 30, 0, 2);
    ck_assert_uint_eq(rows.n, 2);
    ck_assert_str_eq(rows.at[0].record.sample.domain, "web1-renamed");
    ck_assert_uint_eq(rows.at[0].record.sample.windows[0].wss_bytes, 30 * MIB);
}

TEST(cases, rows_are_sorted)
{
    put("b", "1", 10, 20, 2);
    put("a", "2", 30, 30, 2);
    put("gone", "3", 90, 1000, 2); /* not measured any more: last, whatever the key */
    put("c", "4", 20, 10, 2);
    rows_sort(&rows, ROW_BY_WSS, false, NOW);
    ck_assert_str_eq(order(), "a c b gone");
    rows_sort(&rows, ROW_BY_WSS, true, NOW);
    ck_assert_str_eq(order(), "b c a gone");
    rows_sort(&rows, ROW_BY_NAME, false, NOW);
    ck_assert_str_eq(order(), "a b c gone");
    rows_sort(&rows, ROW_BY_AGE, false, NOW);
    ck_assert_str_eq(order(), "a b c gone");
    rows_sort(&rows, ROW_BY_BACK, false, NOW);
    ck_assert_str_eq(order(), "b c a gone");
    rows_sort(&rows, ROW_BY_RAM, false, NOW); /* all alike: by name */
    ck_assert_str_eq(order(), "a b c gone");
}

TEST(cases, what_could_be_given_back)
{
    put("a", "1", 100, 0, 3); /* at most 200 + 2 MiB in the longest window */
    put("b", "2", 400, 0, 3); /* more than what is resident */
    put("c", "3", 1, 0, 0);   /* no window known */
    uint64_t bytes;

    ck_assert(sample_reclaimable(&rows.at[0].record.sample, &bytes));
    ck_assert_uint_eq(bytes, 310 * MIB);
    ck_assert(sample_reclaimable(&rows.at[1].record.sample, &bytes));
    ck_assert_uint_eq(bytes, 0);
    ck_assert(!sample_reclaimable(&rows.at[2].record.sample, &bytes));
    rows.at[0].record.sample.flags = FLAG_YOUNG_PANEL;
    ck_assert(!sample_reclaimable(&rows.at[0].record.sample, &bytes));
}

TEST(cases, a_record_from_the_future_is_of_now)
{
    put("a", "1", 1, -500, 1);
    ck_assert_double_eq(kept_age_s(&rows.at[0], NOW), 0);
    ck_assert(kept_is_current(&rows.at[0], NOW));
}

TEST(cases, windows_are_shortest_between_and_longest)
{
    double window_s[ROWS_MAX_WINDOWS];

    ck_assert_uint_eq(rows_windows(&rows, window_s), 0);
    put("young", "1", 1, 0, 1);
    ck_assert_uint_eq(rows_windows(&rows, window_s), 1);
    ck_assert_double_eq(window_s[0], 10);
    put("old", "2", 1, 0, 5);
    ck_assert_uint_eq(rows_windows(&rows, window_s), 3);
    ck_assert_double_eq(window_s[0], 10);
    ck_assert_double_eq(window_s[1], 600);
    ck_assert_double_eq(window_s[2], 86400);
}

TEST(cases, columns_fit_any_width)
{
    struct layout layout;
    size_t before = 0;

    put("a-guest-with-a-rather-long-name", "1", 1, 0, 3);
    for (int width = 1; width <= 300; width++) {
        int sum = -1;

        layout_make(&layout, &rows, &none, width);
        ck_assert_uint_ge(layout.n, 1);
        ck_assert_int_eq(layout.at[0].column, COLUMN_DOMAIN);
        for (size_t c = 0; c < layout.n; c++)
            sum += layout.at[c].width + 1;
        ck_assert_msg(sum <= width, "%d columns of %d", sum, width);
        ck_assert_uint_ge(layout.n, before); /* more room, no fewer columns */
        before = layout.n;
    }
    ck_assert_uint_eq(before, N_COLUMNS - 2); /* nobody asked the guest */
    guest_stats_unavailable(&rows.at[0].record.sample.guest, "no port");
    layout_make(&layout, &rows, &none, 300);
    ck_assert_uint_eq(layout.n, N_COLUMNS);
}

static const char *columns_of(const struct layout *layout)
{
    static char text[512];
    char heading[64];

    *text = '\0';
    for (size_t c = 0; c < layout->n; c++) {
        layout_heading(layout, layout->at[c].column, heading, sizeof(heading));
        strcat(strcat(text, c > 0 ? "|" : ""), heading);
    }
    return text;
}

/* Thirty of OpenStack's are not thirty times "instance". */
TEST(cases, columns_go_before_names)
{
    struct layout layout;

    put("instance-0000001a", "1", 1, 0, 3);
    for (int width = 28; width <= 300; width++) {
        layout_make(&layout, &rows, &none, width);
        ck_assert_int_eq(layout.at[0].width, (int)strlen("instance-0000001a"));
        ck_assert_int_eq(layout.at[1].column, COLUMN_WSS_1);
    }
    put("a-name-that-goes-on-and-on-for-more-than-a-line", "2", 1, 0, 3);
    layout_make(&layout, &rows, &none, 300);
    ck_assert_int_eq(layout.at[0].width, 32);
    layout_make(&layout, &rows, &none, 30);
    ck_assert_int_eq(layout.at[0].width, 19); /* the working set has the rest */
    ck_assert_uint_eq(layout.n, 2);
}

TEST(cases, columns_may_be_chosen)
{
    struct layout_choice choice;
    struct layout layout;
    char names[256];

    put("web1", "1", 1, 0, 3);
    ck_assert_int_eq(layout_choose(&choice, "flags,domain,wss-longest"), 0);
    layout_make(&layout, &rows, &choice, 80);
    ck_assert_str_eq(columns_of(&layout), "FLAGS|DOMAIN|WSS 10m");
    for (int width = 1; width < 80; width++) {
        int sum = -1;

        layout_make(&layout, &rows, &choice, width);
        ck_assert_uint_ge(layout.n, 1);
        for (size_t c = 0; c < layout.n; c++)
            sum += layout.at[c].width + 1;
        ck_assert_int_le(sum, width);
    }
    ck_assert_int_eq(layout_choose(&choice, layout_column_names(names, sizeof(names))), -EINVAL);
    for (char *blank; (blank = strchr(names, ' '));)
        memmove(blank, blank + 1, strlen(blank));
    ck_assert_int_eq(layout_choose(&choice, names), 0);
    ck_assert_uint_eq(choice.n, N_COLUMNS);
    ck_assert_int_eq(layout_choose(&choice, ""), -EINVAL);
    ck_assert_int_eq(layout_choose(&choice, "domain,"), -EINVAL);
    ck_assert_int_eq(layout_choose(&choice, "dom"), -EINVAL);
    strcat(names, ",domain");
    ck_assert_int_eq(layout_choose(&choice, names), -EINVAL); /* more than there are */
}

TEST(cases, guests_are_filtered)
{
    char *patterns[] = {"web*", "0000000A-1111-4111-8111-111111111111"};
    struct rows all = {0};
    struct rows_filter named = {.patterns = patterns, .n_patterns = 2};
    struct rows_filter above = {.above = 0.1};

    put("web1", "1", 100, 0, 1);
    put("db1", "2", 103, 0, 1);
    put("mail", "0000000a-1111-4111-8111-111111111111", 90, 0, 1);
    put("young", "3", 90, 0, 0);
    for (size_t i = 0; i < rows.n; i++)
        ck_assert_int_eq(rows_put_wanted(&all, &named, &rows.at[i]), 0);
    ck_assert_uint_eq(all.n, 2);
    ck_assert_str_eq(all.at[0].record.sample.domain, "web1");
    ck_assert_str_eq(all.at[1].record.sample.domain, "mail");
    rows_free(&all);
    for (size_t i = 0; i < rows.n; i++)
        ck_assert_int_eq(rows_put_wanted(&all, &above, &rows.at[i]), 0);
    ck_assert_uint_eq(all.n, 1); /* 103 of 1024 MiB */
    ck_assert_str_eq(all.at[0].record.sample.domain, "db1");
    put("db1", "2", 102, 0, 1);
    ck_assert_int_eq(rows_put_wanted(&all, &above, &rows.at[1]), 0);
    ck_assert_uint_eq(all.n, 0); /* it fell below */
    rows_free(&all);
}

/* A cell of the first row. */
static const char *cell(const struct layout *layout, enum column column)
{
    static char text[64];

    layout_cell(layout, column, &rows.at[0], NOW, text, sizeof(text));
    return text;
}

TEST(cases, the_guests_word)
{
    struct layout layout;
    struct guest_stats *stats;
    char lines[GUEST_STATS_LINES][GUEST_STATS_LINE];

    put("web1", "1", 100, 42, 3);
    stats = &rows.at[0].record.sample.guest;
    ck_assert_uint_eq(guest_stats_lines(lines, stats), 0);
    guest_stats_unavailable(stats, "no port");
    ck_assert_uint_eq(guest_stats_lines(lines, stats), 1);
    ck_assert_str_eq(lines[0], "the guest says nothing: no port");
    layout_make(&layout, &rows, &none, 300);
    ck_assert_str_eq(cell(&layout, COLUMN_AVAIL), "-");
    stats->source = GUEST_STATS_AGENT;
    stats->total_bytes = 470 * MIB;
    stats->available_bytes = 64 * MIB;
    stats->used_bytes = 406 * MIB;
    stats->psi_some = 0.4;
    stats->window_s = 10;
    stats->wss_cache_high_bytes = 20 * MIB;
    stats->verdict = VERDICT_ABOVE;
    stats->reasons = REASON_SWAP_IN | REASON_PSI_SOME;
    stats->consistency = 0.75;
    stats->inconsistencies = INCONSISTENT_USED;
    ck_assert_str_eq(cell(&layout, COLUMN_AVAIL), "64.0 MiB");
    ck_assert_str_eq(cell(&layout, COLUMN_NEEDS), "above");
    ck_assert_uint_eq(guest_stats_lines(lines, stats), 6);
    ck_assert_str_eq(lines[0],
                     "the guest says (agent): 406.0 MiB used, 64.0 MiB available of 470.0 MiB");
    ck_assert_str_eq(lines[2], "  waits for memory: some 40.0%, all -; swap in -, refaults -");
    ck_assert_str_eq(lines[3], "  of the WSS over 10s: page cache - to 20.0 MiB, processes - to -");
    ck_assert_str_eq(lines[4], "  its working set is above its memory (swap-in,psi-some)");
    ck_assert_str_eq(lines[5], "  agrees with what the host sees: 75.0% (not with: used)");
    stats->at_least_allocation = true;
    ck_assert_str_eq(cell(&layout, COLUMN_NEEDS), ">= RAM");
}

TEST(cases, cells_and_headings)
{
    struct layout layout;
    char text[64];

    put("web1", "1", 100, 42, 3);
    layout_make(&layout, &rows, &none, 200);
    layout_heading(&layout, COLUMN_WSS_3, text, sizeof(text));
    ck_assert_str_eq(text, "WSS 10m");
    ck_assert_str_eq(cell(&layout, COLUMN_WSS_3), "200.0 MiB");
    ck_assert_str_eq(cell(&layout, COLUMN_HALF), "2.0 MiB");
    ck_assert_str_eq(cell(&layout, COLUMN_SHARE), "9.8%");
    ck_assert_str_eq(cell(&layout, COLUMN_AGE), "42s");
    rows.at[0].record.sample.n_windows = 1; /* this one has not been watched for long */
    ck_assert_str_eq(cell(&layout, COLUMN_WSS_3), "-");
}

TEST(cases, a_line_of_values)
{
    static const double values[] = {0, 25, -1, 50, 100};
    static const double nothing[] = {-1, -1};
    char text[64];

    layout_sparkline(values, 5, 10, false, text);
    ck_assert_str_eq(text, "_. -#");             /* eighths of 100 */
    layout_sparkline(values, 5, 2, false, text); /* the newest */
    ck_assert_str_eq(text, "-#");
    layout_sparkline(values, 5, 10, true, text);
    ck_assert_str_eq(text, "▁▂ ▄█");
    layout_sparkline(nothing, 2, 10, false, text);
    ck_assert_str_eq(text, "  ");
    layout_sparkline(values, 0, 10, false, text);
    ck_assert_str_eq(text, "");
}
