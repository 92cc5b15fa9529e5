// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file oracle.c  Prints what a guest under the oracle plugin really touched, within bounds, for any window. */
#include "layout.h"
#include "map.h"

#include "base/cleanup.h"
#include "show/json.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "Usage: oracle --map FILE (--from TIME --to TIME | --to TIME --window S | --ago S --window S) [--list]\n"
    "\n"
    "Prints, as JSON, which guest pages were touched in a window, from the map of a QEMU started with\n"
    "-plugin oracle-plugin.so,map=FILE[,slot_ms=100][,slots=64].\n"
    "\n"
    "  --from TIME, --to TIME  as vmwss records have it (2026-01-02T03:04:05.678Z), or seconds since 1970\n"
    "  --ago S                 the window ends S seconds before now\n"
    "  --window S              and is S seconds long\n"
    "  --list                  instead: the numbers of the pages of the upper bound, one a line, with d, f\n"
    "                          and t for data, fetch and translate\n"
    "  --help                  print this\n"
    "\n"
    "low counts the slots wholly within the window, high those that overlap it; of each the slots and times\n"
    "are printed. data: loads and stores. fetch: executed instructions. both: data or fetch, the truth.\n"
    "visible: data, or code that the emulator read to translate it: all that a host can see of a TCG guest.\n"
    "pages and bytes are of 4 KiB, huge of 2 MiB: pages of that size within guest RAM of which a part was\n"
    "touched.\n";

enum { DATA = 1 << ORACLE_DATA, FETCH = 1 << ORACLE_FETCH, TRANSLATE = 1 << ORACLE_TRANSLATE };

struct options {
    const char *map;
    double from_s, to_s, ago_s, window_s; /* NAN: not given */
    bool list;
};

static double iso_seconds(const char *text)
{
    struct tm tm = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    double fraction = 0;
    char *end;

    if (!rest)
        return NAN;
    if (*rest == '.') {
        fraction = strtod(rest, &end);
        rest = end;
    }
    return strcmp(rest, "Z") == 0 ? (double)timegm(&tm) + fraction : NAN;
}

static double seconds(const char *text)
{
    char *end;
    double value = strtod(text, &end);

    return end != text && !*end && isfinite(value) && value >= 0 && value < 1e10 ? value : NAN;
}

static bool take_time(const char *text, double *out)
{
    *out = strchr(text, 'T') ? iso_seconds(text) : seconds(text);
    if (isnan(*out))
        fprintf(stderr, "oracle: not a time: %s\n", text);
    return !isnan(*out);
}

static bool parse(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {
        {"map", required_argument, NULL, 'm'},    {"from", required_argument, NULL, 'f'},
        {"to", required_argument, NULL, 't'},     {"ago", required_argument, NULL, 'a'},
        {"window", required_argument, NULL, 'w'}, {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    int c;
    bool good = true;

    while (good && (c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (c == 'h') {
            fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        }
        if (c == 'm')
            o->map = optarg;
        else if (c == 'l')
            o->list = true;
        else
            good = c != '?' && take_time(optarg, c == 'f'   ? &o->from_s
                                                 : c == 't' ? &o->to_s
                                                 : c == 'a' ? &o->ago_s
                                                            : &o->window_s);
    }
    return good && o->map && optind == argc;
}

static bool resolve(struct options *o)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (!isnan(o->ago_s) && isnan(o->to_s))
        o->to_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - o->ago_s;
    if (!isnan(o->window_s) && isnan(o->from_s))
        o->from_s = o->to_s - o->window_s;
    return o->from_s >= 0 && o->from_s < o->to_s; /* false for what was not given */
}

/* As text, with all its digits, and in the form that --from and --to take. */
static json_t *time_text(uint64_t ns)
{
    return json_sprintf("%.6f", (double)ns / 1e9);
}

static json_t *count(const uint8_t *touched, uint64_t pages, unsigned kinds)
{
    uint64_t small = 0, huge = 0, last = UINT64_MAX;
    json_t *object = json_object();

    for (uint64_t page = 0; page < pages; page++) {
        if (!(touched[page] & kinds))
            continue;
        small++;
        huge += page / ORACLE_HUGE_PAGES != last;
        last = page / ORACLE_HUGE_PAGES;
    }
    json_object_set_new(object, "pages", json_integer((json_int_t)small));
    json_object_set_new(object, "bytes", json_integer((json_int_t)(small * ORACLE_PAGE_BYTES)));
    json_object_set_new(object, "huge_pages", json_integer((json_int_t)huge));
    json_object_set_new(object, "huge_bytes",
                        json_integer((json_int_t)(huge * ORACLE_HUGE_PAGES * ORACLE_PAGE_BYTES)));
    return object;
}

static json_t *bound(const uint8_t *touched, uint64_t pages, uint64_t first, uint64_t last,
                     uint64_t from_ns, uint64_t to_ns)
{
    json_t *object = json_object();

    json_object_set_new(object, "slots",
                        json_integer(first > last ? 0 : (json_int_t)(last - first + 1)));
    json_object_set_new(object, "first_slot",
                        first > last ? json_null() : json_integer((json_int_t)first));
    json_object_set_new(object, "last_slot",
                        first > last ? json_null() : json_integer((json_int_t)last));
    json_object_set_new(object, "from", time_text(from_ns));
    json_object_set_new(object, "to", time_text(to_ns));
    json_object_set_new(object, "data", count(touched, pages, DATA));
    json_object_set_new(object, "fetch", count(touched, pages, FETCH));
    json_object_set_new(object, "both", count(touched, pages, DATA | FETCH));
    json_object_set_new(object, "visible", count(touched, pages, DATA | TRANSLATE));
    return object;
}

static void list(const uint8_t *touched, uint64_t pages)
{
    for (uint64_t page = 0; page < pages; page++)
        if (touched[page])
            printf("%llu %s%s%s\n", (unsigned long long)page, touched[page] & DATA ? "d" : "",
                   touched[page] & FETCH ? "f" : "", touched[page] & TRANSLATE ? "t" : "");
}

static int print_window(const struct oracle_map *map, const struct oracle_window *w,
                        const struct options *o, struct error *error)
{
    uint64_t pages = oracle_map_pages(map);
    cleanup_free uint8_t *inner = calloc(pages, 1), *outer = calloc(pages, 1);
    json_t *object;
    int rc;

    if (!inner || !outer)
        return error_set(error, -ENOMEM, "no memory for %llu pages", (unsigned long long)pages);
    rc = oracle_map_touched(map, w->outer_first, w->outer_last, outer, error);
    if (!rc)
        rc = oracle_map_touched(map, w->inner_first, w->inner_last, inner, error);
    if (rc < 0)
        return rc;
    if (o->list) {
        list(outer, pages);
        return 0;
    }
    object = json_object();
    json_object_set_new(object, "schema", json_string("vmwss.oracle.v1"));
    json_object_set_new(object, "from", time_text(w->from_ns));
    json_object_set_new(object, "to", time_text(w->to_ns));
    json_object_set_new(object, "ram_bytes", json_integer((json_int_t)(pages * ORACLE_PAGE_BYTES)));
    json_object_set_new(object, "unresolved", json_integer((json_int_t)oracle_map_unresolved(map)));
    json_object_set_new(
        object, "low",
        bound(inner, pages, w->inner_first, w->inner_last, w->inner_from_ns, w->inner_to_ns));
    json_object_set_new(
        object, "high",
        bound(outer, pages, w->outer_first, w->outer_last, w->outer_from_ns, w->outer_to_ns));
    return json_print_line(object);
}

int main(int argc, char **argv)
{
    struct options o = {.from_s = NAN, .to_s = NAN, .ago_s = NAN, .window_s = NAN};
    struct oracle_map *map = NULL;
    struct oracle_window window = {0};
    struct error error = {0};
    int rc;

    if (!parse(argc, argv, &o) || !resolve(&o)) {
        fputs(usage, stderr);
        return 1;
    }
    window.from_ns = (uint64_t)(o.from_s * 1e9);
    window.to_ns = (uint64_t)(o.to_s * 1e9);
    rc = oracle_map_open(o.map, &map, &error);
    if (!rc)
        rc = oracle_map_find(map, &window, &error);
    if (!rc)
        rc = print_window(map, &window, &o, &error);
    oracle_map_close(map);
    if (rc < 0)
        fprintf(stderr, "oracle: %s\n", error.text);
    return rc < 0 ? 2 : 0;
}
