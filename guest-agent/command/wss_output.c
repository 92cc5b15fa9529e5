// SPDX-License-Identifier: LGPL-2.1-or-later
#include "command/wss_output.h"

#include "base/text/json.h"
#include "base/text/units.h"
#include "print/record.h"
#include "proc/keyed.h"

#include <inttypes.h>
#include <stdio.h>

#define MIB 1048576.0

/* Only page_idle has unmeasurable pages. */
static bool has_unmeasurable(const struct watch *watch)
{
    return !watch->method->reads_memory;
}

static size_t rows_shown(const struct wss_output *output, const struct watch *watch)
{
    return output->top > 0 && output->top < watch->n ? output->top : watch->n;
}

static void print_heading(const struct wss_output *output, const struct watch *watch)
{
    static const char *const names[] = {"RSS", "PSS", "Ref", "Unknown"};

    if (output->times)
        printf("%-8s %-8s ", "Slp(s)", "Dur(s)");
    printf("%-8s", "Est(s)");
    for (size_t i = 0; i < (has_unmeasurable(watch) ? 4 : 3); i++) {
        char name[16];

        snprintf(name, sizeof(name), "%s(%s)", names[i], output->bytes ? "B" : "MiB");
        printf(" %12s", name);
    }
    puts(output->names ? " Flags     PID NAME" : " Flags");
}

void wss_output_begin(const struct wss_output *output, const struct watch *watch, double seconds)
{
    char text[32];

    if (output->json || watch->n == 0)
        return;
    show_seconds(text, sizeof(text), seconds);
    if (watch->n > 1)
        printf("Watching %zu processes by %s, %s...\n", watch->n, watch->method->name, text);
    else
        printf("Watching PID %d (%s) by %s, %s...\n", (int)watch->watched[0].process.pid,
               watch->watched[0].process.name, watch->method->name, text);
    print_heading(output, watch);
    fflush(stdout);
}

static void print_bytes(const struct wss_output *output, uint64_t bytes)
{
    if (bytes == KEYED_UNKNOWN)
        printf(" %12s", "?");
    else if (output->bytes)
        printf(" %12" PRIu64, bytes);
    else
        printf(" %12.2f", (double)bytes / MIB);
}

static void print_row(const struct wss_output *output, const struct watch *watch,
                      const struct watched_process *watched, double slept_s)
{
    const struct process_memory *memory = &watched->reading.memory;

    if (output->times)
        printf("%-8.3f %-8.3f ", slept_s, watched_duration_s(watched));
    printf("%-8.3f", watched_est_s(watched));
    print_bytes(output, memory->rss_bytes);
    print_bytes(output, memory->pss_bytes);
    print_bytes(output, memory->referenced_bytes);
    if (has_unmeasurable(watch))
        print_bytes(output, watched->reading.unmeasurable_bytes);
    printf(output->names ? " %-5s" : " %s", watched_is_huge(watched) ? "thp" : "-");
    if (output->names)
        printf(" %7d %s", (int)watched->process.pid, watched->process.name);
    if (watched->process.shares_with)
        printf(" (in memory of %d)", (int)watched->process.shares_with);
    putchar('\n');
}

static json_t *watched_json(const struct watch *watch, const struct watched_process *watched)
{
    const struct process_memory *memory = &watched->reading.memory;
    json_t *object = json_pack("{si ss sf sf}", "pid", (int)watched->process.pid, "name",
                               watched->process.name, "est_s", watched_est_s(watched), "duration_s",
                               watched_duration_s(watched));

    json_set_known(object, "rss_bytes", memory->rss_bytes);
    json_set_known(object, "pss_bytes", memory->pss_bytes);
    json_set_known(object, "referenced_bytes", memory->referenced_bytes);
    if (has_unmeasurable(watch))
        json_set_known(object, "unmeasurable_bytes", watched->reading.unmeasurable_bytes);
    json_set_known(object, "huge_bytes", memory->huge_bytes);
    if (watched->process.shares_with)
        json_object_set_new(object, "same_memory_as", json_integer(watched->process.shares_with));
    json_object_set_new(object, "flags",
                        watched_is_huge(watched) ? json_pack("[s]", "thp") : json_array());
    return object;
}

static json_t *disturbed_json(const struct disturbed *disturbed)
{
    return json_pack("[s*s*s*s*]", disturbed->reclaim ? "reclaim" : NULL,
                     disturbed->reclaim_unknown ? "reclaim-unknown" : NULL,
                     disturbed->damon_unknown ? "damon-unknown" : NULL,
                     disturbed->damon ? "damon-active" : NULL);
}

static int print_json(const struct wss_output *output, const struct watch *watch, double slept_s)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < rows_shown(output, watch); i++)
        json_array_append_new(array, watched_json(watch, &watch->watched[i]));
    return json_print_line(json_pack(
        "{ss ss ss sf so si so si so}", "schema", "vmwss.guest_wss.v1", "time", RECORD_TIME,
        "method", watch->method->name, "sleep_s", slept_s, "flags",
        disturbed_json(&watch->disturbed), "ended", (int)watch->gone, "refused",
        watch->hidden ? json_null()
                      : json_integer((json_int_t)watch->refused + (json_int_t)watch->unlisted),
        "failed", (int)watch->unread, "processes", array));
}

int wss_output_reading(const struct wss_output *output, const struct watch *watch, double slept_s)
{
    if (output->json)
        return print_json(output, watch, slept_s);
    for (size_t i = 0; i < rows_shown(output, watch); i++)
        print_row(output, watch, &watch->watched[i], slept_s);
    fflush(stdout); /* a reader at the other end of a pipe needs it at once */
    return 0;
}
