// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/screen/detail.h"

#include "base/text/units.h"
#include "history/kept_age.h"
#include "show/ages.h"
#include "show/guest_stats.h"
#include "show/sample_table.h"
#include "show/screen/layout.h"
#include "show/screen/paint.h"

#include <math.h>
#include <ncurses.h>

#define HOUR_S 3600.0
#define SLOTS 60 /* minutes of the history line */

static int draw_windows(int y, const struct sample_record *sample)
{
    char share[16];

    attron(A_BOLD);
    paint_line(y++, 0, "%10s %10s %10s %10s %8s", "WINDOW", "EST", "WSS", show_plus_minus(),
               "TOUCHED");
    attroff(A_BOLD);
    for (size_t w = 0; w < sample->n_windows; w++) {
        const struct window_record *record = &sample->windows[w];

        paint_line(y++, 0, "%10s %9.2fs %10s %10s %8s", SECONDS_TEXT(record->window_s),
                   record->est_window_s, BYTES_TEXT(record->wss_bytes),
                   BYTES_TEXT(window_half_width(record)),
                   window_share_text(share, sizeof(share), sample, record));
    }
    return y + 1;
}

static int draw_ages(int y, const struct ages_record *record)
{
    const uint64_t resident_bytes = record->sample.resident_bytes;

    attron(A_BOLD);
    paint_line(y++, 0, "%20s %10s %7s", "LAST TOUCHED", "BYTES", "SHARE");
    attroff(A_BOLD);
    for (size_t b = 0; b < record->n_bins; b++) {
        const struct age_bin *bin = &record->bins[b];
        double share = resident_bytes > 0 ? (double)bin->bytes / (double)resident_bytes : 0;
        char name[56];

        age_bin_label(name, sizeof(name), bin);
        paint_line(y++, 0, "%20s %10s %6.1f%% %s", name, BYTES_TEXT(bin->bytes), 100 * share,
                   BAR_TEXT(share));
    }
    return y + 1;
}

static int draw_guest_stats(int y, const struct guest_stats *stats)
{
    char lines[GUEST_STATS_LINES][GUEST_STATS_LINE];
    size_t n = guest_stats_lines(lines, stats);

    for (size_t i = 0; i < n; i++)
        paint_line(y++, 0, "%s", lines[i]);
    return n > 0 ? y + 1 : y;
}

/* The last hour, minute by minute; < 0: no value. */
struct hour {
    double from_s;
    double wss[SLOTS];
    double largest, smallest;
};

static int detail_see(const struct history_point *point, void *context)
{
    struct hour *hour = context;
    double slot = floor((point->time_s - hour->from_s) / (HOUR_S / SLOTS));

    if (slot < 0 || slot >= SLOTS)
        return 0;
    hour->wss[(size_t)slot] = (double)point->wss_bytes;
    hour->largest = fmax(hour->largest, (double)point->wss_max_bytes);
    hour->smallest = fmin(hour->smallest, (double)point->wss_min_bytes);
    return 0;
}

static int draw_hour(int y, struct store *store, const struct sample_record *sample, double now_s)
{
    struct hour hour = {.from_s = now_s - HOUR_S, .smallest = HUGE_VAL};
    const struct history_query query = {BUCKET_MINUTE, hour.from_s, now_s,
                                        sample->windows[0].window_s};
    struct history_guest guest;
    char line[3 * SLOTS + 1];

    for (size_t i = 0; i < SLOTS; i++)
        hour.wss[i] = -1;
    if (!store || history_find(store, sample->uuid, &guest, NULL) < 0 ||
        history_points(store, &guest, &query, detail_see, &hour, NULL) < 0 || hour.largest == 0)
        return y;
    layout_sparkline(hour.wss, SLOTS, COLS > 20 ? (size_t)COLS - 20 : 1, paint_utf8(), line);
    paint_line(y, 0, "the last hour  %s", line);
    paint_line(y + 1, 0, "over %gs: %s to %s", query.window_s, BYTES_TEXT((uint64_t)hour.smallest),
               BYTES_TEXT((uint64_t)hour.largest));
    return y + 3;
}

void detail_draw(struct store *store, const struct kept_sample *kept, double now_s)
{
    const struct sample_record *sample = &kept->record.sample;
    char name[300];
    char text[400];
    uint64_t bytes;
    int y = 0;

    sample_name(name, sizeof(name), sample);
    attron(A_REVERSE);
    paint_line(y++, 0, "%s", name);
    attroff(A_REVERSE);
    sample_subtitle(text, sizeof(text), sample);
    paint_line(y++, 0, "%s", text);
    paint_line(y++, 0, "host %s, %s", sample->host, sample->uuid);
    paint_line(y++, 0, "%s reclaimable; measured %s ago, every %gs",
               sample_reclaimable(sample, &bytes) ? BYTES_TEXT(bytes) : "not known yet what is",
               SECONDS_TEXT((double)(long)kept_age_s(kept, now_s)), kept->period_s);
    y = draw_windows(y + 1, sample);
    y = draw_ages(y, &kept->record);
    y = draw_guest_stats(y, &sample->guest);
    if (sample->n_windows > 0)
        draw_hour(y, store, sample, now_s);
}
