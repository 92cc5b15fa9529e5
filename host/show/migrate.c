// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/migrate.h"

#include "base/plural.h"
#include "base/text/units.h"
#include "measure/record/sample_record.h"
#include "show/note.h"

#include <math.h>
#include <stdio.h>

/* --- texts ------------------------------------------------------------------------------------ */

static char *bytes_text(char *text, size_t size, double bytes)
{
    return show_bytes(text, size, bytes < 0x1p63 ? (uint64_t)bytes : 1ULL << 63);
}

/* "14s [12s, 17s]", "120ms [80ms, 200ms]" */
static char *seconds_text(char *text, size_t size, double seconds)
{
    if (!isfinite(seconds))
        snprintf(text, size, "never");
    else if (seconds < 1)
        snprintf(text, size, "%.0fms", 1000 * seconds);
    else
        show_seconds(text, size, seconds);
    return text;
}

typedef char *write_value(char *text, size_t size, double value);

static char *range_text(char *text, size_t size, const struct migrate_range *range,
                        write_value *write)
{
    char value[32], low[32], high[32];

    snprintf(text, size, "%s [%s, %s]", write(value, sizeof(value), range->value),
             write(low, sizeof(low), range->low),
             isfinite(range->high) ? write(high, sizeof(high), range->high) : "no end");
    return text;
}

char *migrate_seconds_text(char *text, size_t size, const struct migrate_range *seconds)
{
    return range_text(text, size, seconds, seconds_text);
}

/* --- the sheet -------------------------------------------------------------------------------- */

static const struct sheet_column columns[] = {
    {"round", {.name = "ROUND", .right = true}},
    {"begin_s", {.name = "BEGINS", .right = true}},
    {"seconds", {.name = "TAKES", .right = true}},
    {"sent_bytes", {.name = "SENT", .right = true}},
    {"left_bytes", {.name = "LEFT", .right = true}},
};

void migrate_fill_range(struct sheet *sheet, const char *key, const struct migrate_range *range,
                        double unit)
{
    sheet_group(sheet, key);
    sheet_real(sheet, "value", sheet_rounded(range->value, unit));
    sheet_real(sheet, "low", sheet_rounded(range->low, unit));
    sheet_real(sheet, "high", sheet_rounded(range->high, unit));
    sheet_close(sheet);
}

static void fill_points(struct sheet *sheet, const struct migrate_guest *guest)
{
    const struct write_curve *writes = &guest->writes;

    sheet_group(sheet, "writes");
    sheet_text(sheet, "method", writes->method);
    sheet_bytes(sheet, "granularity_bytes", writes->granularity_bytes);
    sheet_bytes(sheet, "sparse_end_bytes", writes->sparse_end_bytes);
    sheet_count(sheet, "markings", guest->n_markings);
    sheet_bits(sheet, "flags", writes->flags, sample_flag_name);
    sheet_list(sheet, "windows", NULL, 0);
    for (size_t i = 0; i < writes->n; i++) {
        const struct write_point *point = &writes->points[i];

        sheet_row(sheet);
        sheet_real(sheet, "window_s", point->window_s);
        sheet_real(sheet, "est_window_s", sheet_rounded(point->est_window_s, 1e-6));
        sheet_bytes(sheet, "write_set_bytes", point->bytes);
        sheet_bytes(sheet, "write_set_low_bytes", point->low_bytes);
        sheet_bytes(sheet, "write_set_high_bytes", point->high_bytes);
    }
    sheet_close(sheet);
    sheet_close(sheet);
}

static void fill_path(struct sheet *sheet, const struct migrate_path *path, bool assumed)
{
    migrate_fill_range(sheet, "bandwidth_bytes_per_second", &path->bandwidth_bytes_s, 1);
    sheet_bool(sheet, "bandwidth_assumed", assumed);
    migrate_fill_range(sheet, "link_bytes_per_second", &path->link_bytes_s, 1);
    sheet_real(sheet, "allowed_downtime_s", path->downtime_s);
    migrate_fill_range(sheet, "state_seconds", &path->device_s, 1e-6);
    migrate_fill_range(sheet, "zero_page_seconds", &path->zero_page_s, 1e-9);
    sheet_bool(sheet, "auto_converge", path->auto_converge);
}

static void fill_settings(struct sheet *sheet, const struct migrate_settings *settings)
{
    sheet_group(sheet, "settings");
    sheet_text(sheet, "source", settings->source);
    sheet_real(sheet, "bandwidth_bytes_per_second", settings->bandwidth_bytes_s);
    sheet_real(sheet, "switchover_bytes_per_second", settings->switchover_bytes_s);
    sheet_real(sheet, "downtime_s", settings->downtime_s);
    sheet_bool(sheet, "under_way", settings->under_way);
    sheet_text(sheet, "blocked_reason", *settings->blocked ? settings->blocked : NULL);
    if (settings->has_capabilities)
        sheet_bits(sheet, "capabilities", settings->capabilities, migrate_capability_name);
    else
        sheet_json(sheet, "capabilities", json_null());
    sheet_close(sheet);
}

static void fill_rounds(struct sheet *sheet, const struct migrate_forecast *forecast)
{
    sheet_list(sheet, "rounds", columns, COUNT(columns));
    for (unsigned i = 0; i < forecast->n_rounds && i < MIGRATE_ROUNDS_KEPT; i++) {
        const struct migrate_round *round = &forecast->rounds[i];

        sheet_row(sheet);
        sheet_count(sheet, "round", i + 1);
        sheet_seconds(sheet, "begin_s", sheet_rounded(round->begin_s, 1e-3));
        sheet_seconds(sheet, "seconds", sheet_rounded(round->seconds, 1e-3));
        sheet_bytes_real(sheet, "sent_bytes", round->sent_bytes);
        sheet_bytes_real(sheet, "left_bytes", round->left_bytes);
    }
    sheet_close(sheet);
}

static void fill(struct sheet *sheet, const struct migrate_report *report)
{
    const struct migrate_guest *guest = report->guest;
    const struct migrate_forecast *forecast = report->forecast;

    sheet_here_and_now(sheet);
    sheet_text(sheet, "domain", guest->domain);
    sheet_text(sheet, "uuid", guest->uuid);
    sheet_text(sheet, "verdict", migrate_verdict_name(forecast->verdict));
    sheet_bytes(sheet, "ram_bytes", guest->ram_bytes);
    sheet_bytes(sheet, "resident_bytes", guest->resident_bytes);
    migrate_fill_range(sheet, "filled_bytes", &report->filled_bytes, 1);
    sheet_bytes(sheet, "wss_bytes", guest->wss_bytes ? guest->wss_bytes : UINT64_MAX);
    migrate_fill_range(sheet, "total_seconds", &forecast->total_s, 1e-3);
    migrate_fill_range(sheet, "downtime_seconds", &forecast->downtime_s, 1e-6);
    migrate_fill_range(sheet, "sent_bytes", &forecast->sent_bytes, 1);
    migrate_fill_range(sheet, "enough_bandwidth_bytes_per_second",
                       &forecast->enough_bandwidth_bytes_s, 1);
    migrate_fill_range(sheet, "enough_downtime_seconds", &forecast->enough_downtime_s, 1e-3);
    migrate_fill_range(sheet, "postcopy_bytes", &forecast->postcopy_bytes, 1);
    migrate_fill_range(sheet, "postcopy_seconds", &forecast->postcopy_s, 1e-3);
    sheet_real(sheet, "throttle", forecast->throttle);
    fill_path(sheet, report->path, report->bandwidth_assumed);
    fill_settings(sheet, report->settings);
    fill_points(sheet, guest);
    sheet_real(sheet, "cpu_seconds", report->cpu_s);
    sheet_count(sheet, "n_rounds", forecast->n_rounds);
    fill_rounds(sheet, forecast);
}

/* --- sentences -------------------------------------------------------------------------------- */

static void print_guest(const struct migrate_guest *guest)
{
    const char *flags = SAMPLE_FLAGS(guest->writes.flags);

    note("%s: %s resident of %s; written", *guest->domain ? guest->domain : "guest",
         BYTES_TEXT(guest->resident_bytes), BYTES_TEXT(guest->ram_bytes));
    for (size_t i = 0; i < guest->writes.n; i++) {
        note("%s %s in %s", i ? "," : "", BYTES_TEXT(guest->writes.points[i].bytes),
             SECONDS_SHORT_TEXT(guest->writes.points[i].window_s));
    }
    note(" (%s", guest->writes.method);
    if (guest->n_markings > 1)
        note(", %u markings", guest->n_markings);
    note("%s%s)\n", *flags ? ", " : "", flags);
}

static void print_enough(const struct migrate_forecast *forecast, const struct migrate_path *path)
{
    const bool link_binds = forecast->enough_bandwidth_bytes_s.value > path->link_bytes_s.value;
    char bandwidth[128] = "", downtime[128] = "";

    if (isfinite(forecast->enough_bandwidth_bytes_s.value))
        range_text(bandwidth, sizeof(bandwidth), &forecast->enough_bandwidth_bytes_s, bytes_text);
    if (isfinite(forecast->enough_downtime_s.value))
        range_text(downtime, sizeof(downtime), &forecast->enough_downtime_s, seconds_text);
    if (*bandwidth)
        note("least bandwidth%s that converges with this downtime: %s a second\n",
             link_binds ? ", also of the connection," : "", bandwidth);
    else
        note("no bandwidth converges with this downtime\n");
    if (*downtime)
        note("least downtime that converges with this bandwidth: %s\n", downtime);
    else
        note("no downtime converges with this bandwidth\n");
}

static void print_verdict(const struct migrate_report *report)
{
    const struct migrate_forecast *forecast = report->forecast;
    char total[128], downtime[128], speed[32];

    bytes_text(speed, sizeof(speed),
               fmin(report->path->bandwidth_bytes_s.value, report->path->link_bytes_s.value));
    seconds_text(downtime, sizeof(downtime), report->path->downtime_s);
    if (forecast->verdict == MIGRATE_DIVERGES) {
        note("does not converge at %s/s with %s of downtime\n", speed, downtime);
    } else if (!isfinite(forecast->total_s.value)) {
        note("may not converge at %s/s with %s of downtime; at best in %s\n", speed, downtime,
             seconds_text(total, sizeof(total), forecast->total_s.low));
    } else {
        range_text(total, sizeof(total), &forecast->total_s, seconds_text);
        range_text(downtime, sizeof(downtime), &forecast->downtime_s, seconds_text);
        note("%s in %s, downtime %s\n",
             forecast->verdict == MIGRATE_CONVERGES ? "converges" : "probably converges", total,
             downtime);
        if (forecast->throttle > 0)
            note("auto-converge takes %.0f %% of the guest's CPU time in the end\n",
                 100 * forecast->throttle);
    }
}

static void print_postcopy(const struct migrate_forecast *forecast)
{
    char seconds[128], bytes[128];

    note("post-copy after the first round: %s to come, full speed after %s\n",
         range_text(bytes, sizeof(bytes), &forecast->postcopy_bytes, bytes_text),
         range_text(seconds, sizeof(seconds), &forecast->postcopy_s, seconds_text));
}

static void print_capabilities(const struct migrate_settings *settings)
{
    for (unsigned i = 0; migrate_capability_name(i); i++)
        if (settings->capabilities & (1U << i))
            note("%s is on: %s\n", migrate_capability_name(i), migrate_capability_effect(i));
}

/* "128.0 MiB/s", "-" */
static char *speed_text(char *text, size_t size, double bytes_s)
{
    char bytes[32];

    if (isnan(bytes_s))
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%s/s", bytes_text(bytes, sizeof(bytes), bytes_s));
    return text;
}

static void explain_settings(const struct migrate_settings *settings)
{
    char bandwidth[48], switchover[48], downtime[32];

    note("set for this guest (%s): max-bandwidth %s, avail-switchover-bandwidth %s, "
         "downtime-limit %s; capabilities %s\n",
         settings->source ? settings->source : "not known",
         speed_text(bandwidth, sizeof(bandwidth), settings->bandwidth_bytes_s),
         speed_text(switchover, sizeof(switchover), settings->switchover_bytes_s),
         isnan(settings->downtime_s)
             ? "-"
             : seconds_text(downtime, sizeof(downtime), settings->downtime_s),
         !settings->has_capabilities ? "-"
         : settings->capabilities    ? "as above"
                                     : "none of note");
}

static void explain(const struct migrate_report *report)
{
    const struct migrate_path *path = report->path;
    char filled[128], bandwidth[128], link[128], state[128], rest[32];

    note(
        "memory: %s hold something. QEMU sends other pages with 9 bytes. No page is looked at: of "
        "what is resident, %u pages that firmware leaves and %.0f %% are taken for zeroes, for the "
        "lower bound %.0f %%, or %.0f %% with huge pages, or, as above, all that was not written.\n",
        range_text(filled, sizeof(filled), &report->filled_bytes, bytes_text),
        MIGRATE_FIRMWARE_ZEROES, 100 * MIGRATE_ZEROES_SHARE, 100 * MIGRATE_ZEROES_SHARE_MOST,
        100 * MIGRATE_HUGE_ZEROES_SHARE_MOST);
    note("rounds: QEMU sends at %s a second, and asks for the pages written meanwhile when less "
         "than %s is left, which is what it could send within the downtime. If less is left then, "
         "too, it stops the guest and sends the rest, at %s a second, without a limit, and the "
         "state of the devices, in %s.\n",
         range_text(bandwidth, sizeof(bandwidth), &path->bandwidth_bytes_s, bytes_text),
         bytes_text(rest, sizeof(rest), migrate_threshold_bytes(path)),
         range_text(link, sizeof(link), &path->link_bytes_s, bytes_text),
         range_text(state, sizeof(state), &path->device_s, seconds_text));
    explain_settings(report->settings);
    note("not seen: what devices write by themselves (VFIO, vhost), and what QEMU writes.\n");
}

void migrate_note_assumed(const struct migrate_path *path)
{
    char speed[32];

    note(
        "the bandwidth is assumed, as none was given or is known to be set: %s/s; see --bandwidth\n",
        bytes_text(speed, sizeof(speed), path->bandwidth_bytes_s.value));
}

/* Flags that say more about a migration than about the numbers beside them. */
static const struct {
    unsigned flags;
    const char *sentence;
} doubts[] = {
    {FLAG_PAUSED | FLAG_IDLE_GUEST,
     "the guest hardly ran while it was measured: when it works, that is another forecast"},
    {FLAG_MIGRATING, "a migration, save or dump of this guest is under way"},
    {FLAG_THP | FLAG_HUGETLB,
     "with huge pages a write counts for all of one, of which QEMU sends 4 KiB: it may take less"},
    {FLAG_VFIO, "what devices of the host write into its memory is not seen"},
    {FLAG_SWAP, "a part of its memory is swapped out: it is sent, too, as fast as it is read back"},
};

static void print_doubts(const struct migrate_report *report)
{
    const struct migrate_guest *guest = report->guest;

    if (*report->settings->blocked)
        note("QEMU refuses to migrate this guest: %s\n", report->settings->blocked);
    for (size_t i = 0; i < COUNT(doubts); i++)
        if (guest->writes.flags & doubts[i].flags ||
            (doubts[i].flags == FLAG_MIGRATING && report->settings->under_way))
            note("%s\n", doubts[i].sentence);
    if (guest->vhost_user)
        note("what processes of its vhost-user devices write into its memory is not seen\n");
    if (guest->arrived ||
        migrate_is_populated((double)guest->ram_bytes, (double)guest->resident_bytes))
        note("nearly all of its memory is resident, or it has arrived by a migration: what of that "
             "is zero, and was not written, takes no time\n");
    if (report->bandwidth_assumed)
        migrate_note_assumed(report->path);
}

static void print_sentences(const struct migrate_report *report)
{
    const struct migrate_forecast *forecast = report->forecast;

    if (forecast->n_rounds > MIGRATE_ROUNDS_KEPT)
        note("and %u more round%s\n", forecast->n_rounds - MIGRATE_ROUNDS_KEPT,
             plural(forecast->n_rounds - MIGRATE_ROUNDS_KEPT));
    print_verdict(report);
    print_doubts(report);
    print_enough(forecast, report->path);
    print_postcopy(forecast);
    print_capabilities(report->settings);
    if (report->explain)
        explain(report);
}

int migrate_print(const struct migrate_report *report, enum show_format format)
{
    struct sheet sheet;

    if (format == SHOW_TABLE)
        print_guest(report->guest);
    sheet_begin(&sheet, format, "vmwss.migrate.v1", NULL);
    fill(&sheet, report);
    if (format == SHOW_TABLE)
        print_sentences(report);
    return sheet_end(&sheet);
}
