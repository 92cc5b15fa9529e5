// SPDX-License-Identifier: LGPL-2.1-or-later
#include "command/regrow_output.h"

#include "base/text/json.h"
#include "base/text/units.h"
#include "print/record.h"
#include "proc/keyed.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Size of the text of a number. */
#define TEXT 32
struct text {
    char of[TEXT];
};

static const char *bytes(uint64_t value, struct text *text)
{
    if (value == KEYED_UNKNOWN)
        return "?";
    return show_bytes(text->of, TEXT, value);
}

static const char *seconds(double value, struct text *text)
{
    if (isnan(value))
        return "-";
    return show_seconds(text->of, TEXT, value);
}

static const char *pages(uint64_t value, struct text *text)
{
    if (value == KEYED_UNKNOWN)
        return "an unknown number of";
    snprintf(text->of, TEXT, "%" PRIu64, value);
    return text->of;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? fmin((double)part / (double)whole, 1) : 0;
}

/* --- for people ------------------------------------------------------------------------------- */

void regrow_output_begin(const struct regrow_output *output, const struct regrow_curve *curve)
{
    const struct regrow_reading *first = &curve->point[0].reading;
    struct regrow_result result = regrow_result(curve);
    struct text dropped, before, kept, mapped, dirty;

    if (output->json)
        return;
    printf("Dropped %s of %s of page cache; %s stayed (mapped: %s, dirty: %s).\n",
           bytes(result.dropped_bytes, &dropped),
           bytes(regrow_cache_bytes(&curve->before), &before), bytes(result.kept_bytes, &kept),
           bytes(first->mapped_bytes, &mapped), bytes(first->dirty_bytes, &dirty));
    printf("%-24s %8s %10s %10s %8s %s\n", "TIME", "AFTER", "BACK", "READ", "IO WAIT",
           "OF WHAT WAS DROPPED");
}

void regrow_output_point(const struct regrow_output *output, const struct regrow_curve *curve)
{
    size_t last = curve->n - 1;
    const struct regrow_point *point = &curve->point[last];
    uint64_t back = regrow_back_bytes(curve, last);
    double of_dropped = share(back, regrow_result(curve).dropped_bytes);
    struct text after, back_text, read, wait;

    if (output->json)
        return;
    printf("%-24s %8s %10s %10s %8s %5.1f%% %s\n", TIME_TEXT(point->unix_s, 3),
           seconds(point->after_s, &after), bytes(back, &back_text),
           bytes(regrow_disk_read_bytes(curve, last), &read),
           seconds(regrow_io_wait_s(curve, last), &wait), 100 * of_dropped, BAR_TEXT(of_dropped));
    fflush(stdout); /* the measurement may take long */
}

static void print_end(const struct regrow_output *output, const struct regrow_curve *curve,
                      const struct regrow_result *result, enum regrow_end end)
{
    struct text back, time;

    printf("Came back: %s%s", end == REGROW_SETTLED ? "" : "at least ",
           bytes(result->back_bytes, &back));
    if (end == REGROW_SETTLED)
        printf(", and next to nothing more within %s.\n", seconds(output->settle_s, &time));
    else
        printf("; it %s after %s, before the growth had ended.\n",
               end == REGROW_INTERRUPTED ? "was interrupted" : "was over",
               seconds(curve->point[curve->n - 1].after_s, &time));
}

static void print_knee(const struct regrow_curve *curve)
{
    struct text back, time;
    size_t knee;

    if (regrow_knee(curve, &knee))
        printf("Knee: %s after %s.\n", bytes(regrow_back_bytes(curve, knee), &back),
               seconds(curve->point[knee].after_s, &time));
    else
        puts("Knee: none.");
}

static void print_cost(const struct regrow_curve *curve, const struct regrow_result *result)
{
    double wait_s = regrow_io_wait_s(curve, curve->n - 1);
    struct text read, in_drop, time;

    printf("Cost: %s read from disks", bytes(result->disk_read_bytes, &read));
    if (result->read_in_drop_bytes > 0)
        printf(" (%s of it during the drop, which BACK contains)",
               bytes(result->read_in_drop_bytes, &in_drop));
    if (!isnan(wait_s))
        printf("; tasks waited for I/O for %s", seconds(wait_s, &time));
    puts(".");
}

static void print_result(const struct regrow_output *output, const struct regrow_curve *curve,
                         enum regrow_end end)
{
    struct regrow_result result = regrow_result(curve);
    struct text low, high;

    print_end(output, curve, &result, end);
    print_knee(curve);
    print_cost(curve, &result);
    printf(
        "Page cache needed: %s to %s: what came back after the drop, to all that is there now.\n",
        bytes(result.need_low_bytes, &low), bytes(result.need_high_bytes, &high));
    if (result.written)
        puts("It grew by more than disks delivered, as by files that were written anew: even what "
             "came back may not all be needed.");
    if (result.reclaim)
        printf("Memory was short, here or in a control group: %s pages were scanned for reclaim "
               "(without those of control groups) and %s came back after it, so more page cache "
               "may be needed than came back.\n",
               pages(result.scanned_pages, &low), pages(result.refault_pages, &high));
    if (result.reclaim_unknown)
        puts(
            "Whether memory was short meanwhile is not known: /proc/vmstat does not count scans or "
            "refaults. If it was, more page cache may be needed than came back.");
}

/* --- for scripts ------------------------------------------------------------------------------ */

static json_t *point_json(const struct regrow_curve *curve, size_t i)
{
    const struct regrow_point *point = &curve->point[i];
    double wait_s = regrow_io_wait_s(curve, i);
    json_t *object = json_pack("{ss sf sI sI sI}", "time", TIME_TEXT(point->unix_s, 3), "after_s",
                               point->after_s, "cache_bytes",
                               (json_int_t)regrow_cache_bytes(&point->reading), "back_bytes",
                               (json_int_t)regrow_back_bytes(curve, i), "disk_read_bytes",
                               (json_int_t)regrow_disk_read_bytes(curve, i));

    json_set_known(object, "refault_pages", regrow_refault_pages(curve, i));
    json_set_known(object, "buffers_bytes", point->reading.buffers_bytes);
    if (object && !isnan(wait_s))
        json_object_set_new(object, "io_wait_s", json_real(wait_s));
    return object;
}

static json_t *curve_json(const struct regrow_curve *curve)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < curve->n; i++)
        json_array_append_new(array, point_json(curve, i));
    return array;
}

static json_t *knee_json(const struct regrow_curve *curve)
{
    size_t knee;

    if (!regrow_knee(curve, &knee))
        return json_null();
    return json_pack("{sf sI}", "after_s", curve->point[knee].after_s, "back_bytes",
                     (json_int_t)regrow_back_bytes(curve, knee));
}

/* With the first two flags the need is only a lower bound; with the third it is not even that. */
static json_t *flags_json(const struct regrow_result *result, enum regrow_end end)
{
    return json_pack(
        "[s*s*s*s*]", end != REGROW_SETTLED ? "growing" : NULL, result->reclaim ? "reclaim" : NULL,
        result->reclaim_unknown ? "reclaim-unknown" : NULL, result->written ? "written" : NULL);
}

static int print_json(const struct regrow_output *output, const struct regrow_curve *curve,
                      enum regrow_end end)
{
    static const char *const ends[] = {"settled", "time", "interrupted"};
    struct regrow_result result = regrow_result(curve);
    size_t last = curve->n - 1;
    double wait_s = regrow_io_wait_s(curve, last);
    json_t *line = json_pack(
        "{ss ss ss sf sf sf so so sI sI sI sI sI sI sI so so so}", "schema",
        "vmwss.guest_regrow.v1", "time", RECORD_TIME, "end", ends[end], "window_s",
        output->window_s, "settle_s", output->settle_s, "watched_s", curve->point[last].after_s,
        "before", regrow_reading_json(&curve->before), "dropped",
        regrow_reading_json(&curve->point[0].reading), "dropped_bytes",
        (json_int_t)result.dropped_bytes, "kept_bytes", (json_int_t)result.kept_bytes, "back_bytes",
        (json_int_t)result.back_bytes, "need_low_bytes", (json_int_t)result.need_low_bytes,
        "need_high_bytes", (json_int_t)result.need_high_bytes, "disk_read_bytes",
        (json_int_t)result.disk_read_bytes, "read_in_drop_bytes",
        (json_int_t)result.read_in_drop_bytes, "knee", knee_json(curve), "flags",
        flags_json(&result, end), "curve", curve_json(curve));

    json_set_known(line, "refault_pages", result.refault_pages);
    json_set_known(line, "scanned_pages", result.scanned_pages);
    json_set_known(line, "swap_in_pages", result.swap_in_pages);
    if (line && !isnan(wait_s))
        json_object_set_new(line, "io_wait_s", json_real(wait_s));
    return json_print_line(line);
}

int regrow_output_end(const struct regrow_output *output, const struct regrow_curve *curve,
                      enum regrow_end end)
{
    if (output->json)
        return print_json(output, curve, end);
    print_result(output, curve, end);
    fflush(stdout);
    return 0;
}
