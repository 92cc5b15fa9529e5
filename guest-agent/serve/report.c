// SPDX-License-Identifier: LGPL-2.1-or-later
#include "serve/report.h"

#include "base/error.h"
#include "base/page_sizes.h"
#include "base/wire/wire.h"
#include "proc/hidden.h"
#include "proc/keyed.h"
#include "proc/meminfo.h"
#include "proc/paging.h"
#include "proc/pressure.h"
#include "serve/apart.h"

#include <stdio.h>
#include <string.h>

/* Truncates text to WIRE_TEXT_MAX bytes; texts here are the kernel's or ours, so they are ASCII. */
static json_t *short_text(const char *text)
{
    char cut[WIRE_TEXT_MAX + 1];

    snprintf(cut, sizeof(cut), "%s", text);
    return json_string(cut);
}

static void add_file(json_t *object, const char *key, const struct fsroot *root, const char *path)
{
    char text[WIRE_TEXT_MAX + 1];

    if (fsroot_read(root, text, sizeof(text), "%s", path) > 0)
        json_object_set_new(object, key, json_string(text));
}

json_t *report_hello(const struct fsroot *root)
{
    json_t *hello = json_pack("{si ss}", "protocol", WIRE_PROTOCOL, "agent", VMWSS_VERSION);

    if (!hello)
        return NULL;
    add_file(hello, "kernel", root, "proc/sys/kernel/osrelease");
    add_file(hello, "boot_id", root, "proc/sys/kernel/random/boot_id");
    json_object_set_new(hello, "page_bytes", json_integer((json_int_t)base_page_bytes()));
    return hello;
}

static void add_uptime(json_t *object, const struct fsroot *root)
{
    char text[64];
    double uptime_s;

    if (fsroot_read(root, text, sizeof(text), "proc/uptime") > 0 &&
        sscanf(text, "%lf", &uptime_s) == 1)
        json_object_set_new(object, "uptime_s", json_real(uptime_s));
}

json_t *report_stall(const struct fsroot *root, const struct stall_trigger *trigger)
{
    struct pressure pressure;
    json_t *stall = json_pack("{ss ss sI sI}", "resource", trigger->resource, "kind", trigger->kind,
                              "threshold_us", (json_int_t)trigger->threshold_us, "window_us",
                              (json_int_t)trigger->window_us);

    add_uptime(stall, root);
    if (stall && pressure_read(root, NULL, trigger->resource, &pressure, NULL) == 0) {
        bool full = !strcmp(trigger->kind, "full");
        uint64_t total_us = full ? pressure.full.total_us : pressure.some.total_us;

        if (total_us != KEYED_UNKNOWN)
            json_object_set_new(stall, "total_us", json_integer((json_int_t)total_us));
    }
    return json_pack("{so}", "stall", stall);
}

static void add_pressure(json_t *report, const struct fsroot *root)
{
    struct error error = {0};
    json_t *all = json_object();

    for (size_t i = 0; all && pressure_resources[i]; i++) {
        struct pressure pressure;

        if (pressure_read(root, NULL, pressure_resources[i], &pressure, &error) == 0)
            json_object_set_new(all, pressure_resources[i], pressure_json(&pressure));
    }
    if (json_object_size(all) > 0) {
        json_object_set_new(report, "pressure", all);
        return;
    }
    json_decref(all);
    json_object_set_new(report, "pressure_off", short_text(error.text));
}

/* Well below WIRE_DEADLINE_MS, because the rest has to be read and sent within that time, too. */
#define PROCESSES_MS 1000

json_t *report_now(const struct fsroot *root, const struct own_set *own_set)
{
    json_t *report = json_object();
    struct meminfo meminfo;
    struct paging paging;

    if (!report)
        return NULL;
    add_uptime(report, root);
    if (meminfo_read(root, &meminfo, NULL) == 0)
        json_object_set_new(report, "memory", meminfo_json(&meminfo));
    add_pressure(report, root);
    if (paging_read(root, &paging, NULL) == 0)
        json_object_set_new(report, "paging", paging_json(&paging));
    if (processes_hidden(root))
        json_object_set_new(report, "processes_hidden", json_true());
    if (!own_set || !own_set_add(own_set, report))
        json_object_set_new(report, "processes", apart_processes(root, PROCESSES_MS));
    return report;
}
