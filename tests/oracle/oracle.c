// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file oracle.c  Prints what a guest under the oracle plugin really touched, within bounds, for
 * any window. */
#include "answer.h"
#include "layout.h"
#include "map.h"
#include "serve.h"

#include "base/cleanup.h"
#include "base/text/json.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "Usage: oracle --map FILE (--from TIME --to TIME | --to TIME --window S | --ago S --window S) [--list]\n"
    "       oracle --map FILE --serve\n"
    "\n"
    "Prints, as JSON, which guest pages were touched in a window, from the map of a QEMU started with\n"
    "-plugin oracle-plugin.so,map=FILE[,slot_ms=100][,slots=64][,lab=on].\n"
    "\n"
    "  --from TIME, --to TIME  as vmwss records have it (2026-01-02T03:04:05.678Z), or seconds since 1970\n"
    "  --ago S                 the window ends S seconds before now\n"
    "  --window S              and is S seconds long\n"
    "  --list                  instead: the numbers of the pages of the upper bound, one a line, with d, s,\n"
    "                          f and t for data, stores, fetch and translate, of a lab h for host, w for walk\n"
    "  --serve                 answer the lab whose map it is, from standard input to standard output (serve.h)\n"
    "  --help                  print this\n"
    "\n"
    "low counts the slots wholly within the window, high those that overlap it; of each the slots and times\n"
    "are printed. data: loads and stores. stores: the latter alone. fetch: executed instructions. both: data or fetch, the truth.\n"
    "visible: data, or code that the emulator read to translate it: all that a host can see of a TCG guest.\n"
    "Of a lab (lab=on) data and fetch are those of its KVM guests. host: by QEMU for them. tables: page tables of\n"
    "theirs that the MMU walked. Both without what is in data or fetch; visible is all of it.\n"
    "pages and bytes are of 4 KiB, huge of 2 MiB: pages of that size within guest RAM of which a part was\n"
    "touched.\n";

struct options {
    const char *map;
    double from_s, to_s, ago_s, window_s; /* NAN: not given */
    bool list, serve;
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
    static const struct option known[] = {{"map", required_argument, NULL, 'm'},
                                          {"from", required_argument, NULL, 'f'},
                                          {"to", required_argument, NULL, 't'},
                                          {"ago", required_argument, NULL, 'a'},
                                          {"window", required_argument, NULL, 'w'},
                                          {"list", no_argument, NULL, 'l'},
                                          {"serve", no_argument, NULL, 's'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
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
        else if (c == 's')
            o->serve = true;
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

static const char *letter(uint8_t touched, enum oracle_kind kind, const char *of)
{
    return touched >> kind & 1 ? of : "";
}

static void list(const uint8_t *touched, uint64_t pages)
{
    for (uint64_t page = 0; page < pages; page++)
        if (touched[page])
            printf("%llu %s%s%s%s%s%s\n", (unsigned long long)page,
                   letter(touched[page], ORACLE_DATA, "d"),
                   letter(touched[page], ORACLE_FETCH, "f"),
                   letter(touched[page], ORACLE_TRANSLATE, "t"),
                   letter(touched[page], ORACLE_HOST, "h"), letter(touched[page], ORACLE_WALK, "w"),
                   letter(touched[page], ORACLE_STORE, "s"));
}

static int print_list(const struct oracle_map *map, const struct oracle_window *w,
                      struct error *error)
{
    uint64_t pages = oracle_map_pages(map);
    cleanup_free uint8_t *touched = calloc(pages, 1);
    int rc;

    if (!touched)
        return error_set(error, -ENOMEM, "no memory for %llu pages", (unsigned long long)pages);
    rc = oracle_map_touched(map, w->outer_first, w->outer_last, touched, error);
    if (!rc)
        list(touched, pages);
    return rc;
}

static int print_window(const struct oracle_map *map, const struct oracle_window *w,
                        struct error *error)
{
    json_t *object;
    int rc = oracle_answer(map, w, NULL, &object, error);

    return rc < 0 ? rc : json_print_line(object);
}

static int print(const struct options *o, struct error *error)
{
    struct oracle_window window = {.from_ns = (uint64_t)(o->from_s * 1e9),
                                   .to_ns = (uint64_t)(o->to_s * 1e9)};
    struct oracle_map *map = NULL;
    int rc = oracle_map_open(o->map, &map, error);

    if (!rc)
        rc = oracle_map_find(map, &window, error);
    if (!rc)
        rc = o->list ? print_list(map, &window, error) : print_window(map, &window, error);
    oracle_map_close(map);
    return rc;
}

int main(int argc, char **argv)
{
    struct options o = {.from_s = NAN, .to_s = NAN, .ago_s = NAN, .window_s = NAN};
    struct error error = {0};
    int rc;

    if (!parse(argc, argv, &o) || (!o.serve && !resolve(&o))) {
        fputs(usage, stderr);
        return 1;
    }
    if (o.serve) {
        rc = oracle_serve(o.map, STDIN_FILENO, STDOUT_FILENO);
        if (rc < 0)
            error_set(&error, rc, "--serve: %s", strerror(-rc));
    } else {
        rc = print(&o, &error);
    }
    if (rc < 0)
        fprintf(stderr, "oracle: %s\n", error.text);
    return rc < 0 ? 2 : 0;
}
