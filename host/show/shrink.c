// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file shrink.c  See shrink.h. */
#include "show/shrink.h"

#include "base/bytes.h"
#include "base/text/json.h"
#include "base/text/units.h"
#include "show/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *shrink_end_name(enum shrink_end end)
{
    static const char *const names[] = {"goes-on", "complaint",   "floor", "no-more",
                                        "silent",  "interrupted", "failed"};

    return names[end];
}

/* --- the knee --------------------------------------------------------------------------------- */

static const struct shrink_step *complaining(const struct shrink_report *report)
{
    const struct shrink_step *last = report->n > 0 ? &report->steps[report->n - 1] : NULL;

    return report->end == SHRINK_COMPLAINT && last && last->complaints ? last : NULL;
}

uint64_t shrink_knee_low(const struct shrink_report *report)
{
    const struct shrink_step *last = complaining(report);

    return last ? smaller(last->actual_bytes, last->target_bytes) : 0;
}

uint64_t shrink_knee_high(const struct shrink_report *report)
{
    return complaining(report) && report->n > 1 ? report->steps[report->n - 2].actual_bytes : 0;
}

/* --- people ----------------------------------------------------------------------------------- */

static char *names_of(char *text, size_t size, unsigned complaints)
{
    size_t used = 0;

    *text = '\0';
    for (unsigned i = 0; i < COMPLAINT_N; i++)
        if (complaints & 1U << i && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "",
                                     shrink_complaint_name(i));
    return text;
}

static const char *bytes_text(char *text, size_t size, uint64_t value)
{
    return value == DECIDE_UNKNOWN ? "-" : show_bytes(text, size, value);
}

static const char *rate(char *text, size_t size, double bytes_s)
{
    if (isnan(bytes_s))
        return "-";
    /* the guest's own figure */
    show_bytes(text, size, bytes_s < 0x1p63 ? (uint64_t)bytes_s : 1ULL << 63);
    strncat(text, "/s", size - strlen(text) - 1);
    return text;
}

static const char *share_text(char *text, size_t size, double value)
{
    if (isnan(value))
        return "-";
    snprintf(text, size, "%.1f%%", 100 * value);
    return text;
}

static const char *rate_text(char *text, size_t size, double per_s)
{
    if (isnan(per_s))
        return "-";
    snprintf(text, size, "%.0f/s", per_s);
    return text;
}

static int add_step(struct table *table, const struct shrink_step *step)
{
    const struct shrink_reading *reading = &step->reading;
    char size[24], available[24], psi[24], refaults[24], swap_in[24], faults[24], complaints[96];
    const char *const cells[] = {
        show_bytes(size, sizeof(size), step->actual_bytes),
        bytes_text(available, sizeof(available), reading->available_bytes),
        share_text(psi, sizeof(psi), reading->psi_some),
        rate(refaults, sizeof(refaults), reading->refault_bytes_s),
        rate(swap_in, sizeof(swap_in), reading->swap_in_bytes_s),
        rate_text(faults, sizeof(faults), reading->major_faults_s),
        names_of(complaints, sizeof(complaints), step->complaints),
    };

    return table_row(table, cells);
}

static void print_windows(const struct sample_record *record)
{
    char flags[SAMPLE_FLAGS_TEXT] = "";

    if (record)
        sample_flags_text(flags, sizeof(flags), record->flags);
    for (size_t w = 0; record && w < record->n_windows; w++) {
        const struct window_record *window = &record->windows[w];
        char span[32], wss[32], low[32], high[32];

        printf("WSS %s: %s (%s to %s)%s%s\n",
               show_seconds_short(span, sizeof(span), window->window_s),
               show_bytes(wss, sizeof(wss), window->wss_bytes),
               show_bytes(low, sizeof(low), window->wss_low_bytes),
               show_bytes(high, sizeof(high), window->wss_high_bytes), *flags ? " " : "", flags);
    }
}

static void print_end(const struct shrink_report *report)
{
    static const char *const why[] = {
        [SHRINK_GOES_ON] = "",
        [SHRINK_COMPLAINT] = "",
        [SHRINK_FLOOR] = "no complaint down to --min, or until nothing was available to take",
        [SHRINK_NO_MORE] = "no complaint: its balloon driver gave no more",
        [SHRINK_SILENT] = "ended: the guest stopped reporting",
        [SHRINK_INTERRUPTED] = "interrupted",
        [SHRINK_FAILED] = "ended before the guest complained",
    };
    char low[32], high[32];

    if (shrink_knee_high(report))
        printf("knee: between %s and %s\n", show_bytes(low, sizeof(low), shrink_knee_low(report)),
               show_bytes(high, sizeof(high), shrink_knee_high(report)));
    else if (report->end == SHRINK_COMPLAINT)
        printf("no knee: the guest complains at its full size\n");
    else
        printf("%s\n", why[report->end]);
    print_windows(report->record);
    if (report->restored_bytes == DECIDE_UNKNOWN)
        puts("not restored: the message says why");
    else if (report->restored_bytes < report->full_bytes)
        printf("restored: %s of %s so far, the rest follows as the guest's driver takes it\n",
               show_bytes(low, sizeof(low), report->restored_bytes),
               show_bytes(high, sizeof(high), report->full_bytes));
    else
        printf("restored: %s\n", show_bytes(high, sizeof(high), report->full_bytes));
}

int shrink_print(const struct shrink_report *report)
{
    static const struct table_column columns[] = {
        {.name = "SIZE", .right = true},
        {.name = "AVAILABLE", .right = true, .rank = 1},
        {.name = "PSI SOME", .right = true, .rank = 2},
        {.name = "REFAULTS", .right = true, .rank = 3},
        {.name = "SWAP IN", .right = true, .rank = 4},
        {.name = "MAJOR FAULTS", .right = true, .rank = 5},
        {.name = "COMPLAINTS", .last = true},
    };
    struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    int rc = table ? 0 : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < report->n; i++)
        rc = add_step(table, &report->steps[i]);
    if (rc == 0)
        table_print(table, true);
    table_free(table);
    if (rc == 0)
        print_end(report);
    return rc;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *known_bytes(uint64_t value)
{
    return value == DECIDE_UNKNOWN ? json_null() : json_integer((json_int_t)value);
}

static json_t *known(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *step_json(const struct shrink_step *step)
{
    const struct shrink_reading *reading = &step->reading;
    json_t *object = json_object();
    json_t *complaints = json_array();

    json_object_set_new(object, "target_bytes", json_integer((json_int_t)step->target_bytes));
    json_object_set_new(object, "actual_bytes", json_integer((json_int_t)step->actual_bytes));
    json_object_set_new(object, "available_bytes", known_bytes(reading->available_bytes));
    json_object_set_new(object, "psi_some", known(reading->psi_some));
    json_object_set_new(object, "psi_full", known(reading->psi_full));
    json_object_set_new(object, "refault_bytes_s", known(reading->refault_bytes_s));
    json_object_set_new(object, "swap_in_bytes_s", known(reading->swap_in_bytes_s));
    json_object_set_new(object, "major_faults_s", known(reading->major_faults_s));
    for (unsigned i = 0; i < COMPLAINT_N; i++)
        if (step->complaints & 1U << i)
            json_array_append_new(complaints, json_string(shrink_complaint_name(i)));
    json_object_set_new(object, "complaints", complaints);
    return object;
}

static json_t *window_json(const struct window_record *window)
{
    return json_pack("{s:f,s:I,s:I,s:I}", "window_s", window->window_s, "wss_bytes",
                     (json_int_t)window->wss_bytes, "wss_low_bytes",
                     (json_int_t)window->wss_low_bytes, "wss_high_bytes",
                     (json_int_t)window->wss_high_bytes);
}

static json_t *found(uint64_t value)
{
    return value ? json_integer((json_int_t)value) : json_null();
}

int shrink_json_print(const struct shrink_report *report)
{
    json_t *object = json_object();
    json_t *steps = json_array();
    json_t *windows = json_array();
    char time[32], flags[SAMPLE_FLAGS_TEXT] = "";

    if (report->record)
        sample_flags_text(flags, sizeof(flags), report->record->flags);
    for (size_t i = 0; i < report->n; i++)
        json_array_append_new(steps, step_json(&report->steps[i]));
    for (size_t w = 0; report->record && w < report->record->n_windows; w++)
        json_array_append_new(windows, window_json(&report->record->windows[w]));
    json_object_set_new(object, "schema", json_string("vmwss.shrink.v1"));
    json_object_set_new(object, "time",
                        json_string(show_time(time, sizeof(time), report->unix_s, 3)));
    json_object_set_new(object, "domain", json_text(report->domain));
    json_object_set_new(object, "uuid", json_text(report->uuid));
    json_object_set_new(object, "statistics", json_text(report->source));
    json_object_set_new(object, "settle_s", json_real(report->settle_s));
    json_object_set_new(object, "end", json_string(shrink_end_name(report->end)));
    json_object_set_new(object, "full_bytes", json_integer((json_int_t)report->full_bytes));
    json_object_set_new(object, "restored_bytes", known_bytes(report->restored_bytes));
    json_object_set_new(object, "knee_low_bytes", found(shrink_knee_low(report)));
    json_object_set_new(object, "knee_high_bytes", found(shrink_knee_high(report)));
    json_object_set_new(object, "steps", steps);
    json_object_set_new(object, "windows", windows);
    json_object_set_new(object, "wss_flags", json_text(flags));
    return json_print_line(object);
}
