// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file nested_truth.c  In the lab: prints what a KVM guest really touched in a window, as the
 * lab's own oracle saw it. */
#include "port.h"

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/text/json.h"
#include "guest/domain/domain.h"
#include "measure/kernel/pagemap.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "Usage: nested-truth --pid PID [--window S]\n"
    "\n"
    "In a lab that was started with --oracle: prints as JSON which pages of the RAM of the KVM guest with this QEMU\n"
    "process were touched. With --window S: in the S seconds from now. Else it reads commands from standard input and\n"
    "answers each with one line:\n"
    "\n"
    "  mark           notes the frames of the guest's RAM, and what time it is here and outside\n"
    "  count FROM TO  counts a window between the last two marks, times as seconds since 1970 by the lab's clock\n"
    "  count FROM MARKED READ TO\n"
    "                 likewise, where a measurement marked its pages one after the other until MARKED, and read them\n"
    "                 since READ: own_low and own_high count each page in its own window (sweep.h)\n"
    "\n"
    "  --port FILE    the oracle's port; else $VMWSS_LAB_ORACLE\n"
    "  --help         print this\n"
    "\n"
    "The answer is that of oracle (see its --help): data and fetch are the guest's, visible has also what QEMU touched\n"
    "for it. moved_pages were in other frames at the two marks, or are gone: not in low, in high. new_pages were absent\n"
    "at the first: in a frame that was none of the guest's they are counted like others. shared_pages\n"
    "have a frame with others (the zero page), and are taken for moved. swapped_pages were swapped out at the end.\n"
    "clock_error_s: how well the lab's time is known outside.\n"
    "\n"
    "The first of them in a lab has the oracle begin: from then on the lab is some four times slower. Of what was touched\n"
    "before nothing is known.\n";

struct options {
    uint64_t pid;
    double window_s; /* 0: commands */
    const char *port;
};

struct mark {
    struct oracle_moment moment;
    uint64_t *entries; /* of pagemap, of each page */
};

struct nested {
    struct fsroot root;
    struct guest guest;
    struct guest_ram ram;
    int port, pagemap;
    struct mark before, last;
};

static int locate(struct nested *n, pid_t pid, struct error *error)
{
    const struct target target = {.root = &n->root, .process = &n->guest.process, .ram = &n->ram};
    int rc = guest_open_pid(&n->root, pid, &n->guest, error);

    if (!rc)
        rc = guest_ram_locate(&n->root, &n->guest.process, &n->guest.ram, &n->ram, error);
    if (rc < 0)
        return rc;
    n->pagemap = pagemap_open(&target, error);
    n->before.entries = calloc(n->ram.n_pages, sizeof(uint64_t));
    n->last.entries = calloc(n->ram.n_pages, sizeof(uint64_t));
    if (!n->before.entries || !n->last.entries)
        return error_set(error, -ENOMEM, "no memory for %llu pages",
                         (unsigned long long)n->ram.n_pages);
    return n->pagemap < 0 ? n->pagemap : 0;
}

static int read_entries(struct nested *n, uint64_t *entries, struct error *error)
{
    cleanup_free uint64_t *page = calloc(n->ram.n_pages, sizeof(*page));
    int rc;

    if (!page)
        return error_set(error, -ENOMEM, "no memory");
    for (uint64_t i = 0; i < n->ram.n_pages; i++)
        page[i] = i;
    rc = pagemap_read(n->pagemap, &n->ram, page, n->ram.n_pages, entries);
    return rc < 0 ? error_set(error, rc, "pagemap of process %d: %s", (int)n->guest.process.pid,
                              strerror(-rc))
                  : 0;
}

static int take_mark(struct nested *n, struct error *error)
{
    struct mark oldest = n->before;
    int rc;

    n->before = n->last;
    n->last = oldest;
    rc = read_entries(n, n->last.entries, error);
    return rc < 0 ? rc : oracle_port_moment(n->port, &n->last.moment, error);
}

/* --- the window between two marks ------------------------------------------------------------- */

struct counts {
    uint64_t swapped, shared, came;
};

/* The guest's frames at the first mark, ascending. */
struct frames_before {
    uint64_t *pfn;
    uint64_t n;
};

static int compare_pfns(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static int make_before(const struct nested *n, struct frames_before *out)
{
    out->pfn = calloc(n->ram.n_pages + 1, sizeof(*out->pfn));
    out->n = 0;
    if (!out->pfn)
        return -ENOMEM;
    for (uint64_t i = 0; i < n->ram.n_pages; i++)
        if (n->before.entries[i] & PAGEMAP_PRESENT)
            out->pfn[out->n++] = PAGEMAP_PFN(n->before.entries[i]);
    qsort(out->pfn, out->n, sizeof(*out->pfn), compare_pfns);
    return 0;
}

static bool was_used(const struct frames_before *before, uint64_t pfn)
{
    return bsearch(&pfn, before->pfn, before->n, sizeof(pfn), compare_pfns) != NULL;
}

/* One page, from its entries at both marks. A page that came meanwhile, into a frame that had been
 * none of this guest's, did not move: whatever the guest touched there it touched in this page. */
static uint32_t frame_of(uint64_t before, uint64_t last, const struct frames_before *used)
{
    bool was = before & PAGEMAP_PRESENT, is = last & PAGEMAP_PRESENT;

    if (!was && !is)
        return 0;

    uint64_t pfn = PAGEMAP_PFN(is ? last : before);
    bool stayed = was && is && PAGEMAP_PFN(before) == pfn;
    bool came = !was && !(before & PAGEMAP_SWAPPED) && !was_used(used, pfn);

    return ((uint32_t)pfn & ~ORACLE_FRAME_MOVED) | (stayed || came ? 0 : ORACLE_FRAME_MOVED);
}

static int compare_frames(const void *a, const void *b)
{
    const uint32_t *const *left = a, *const *right = b;

    return (**left > **right) - (**left < **right);
}

/* Touches through one of several pages with the same frame cannot be told from touches through
 * another. */
static int flag_shared(uint32_t *frame, uint64_t n, uint64_t *shared)
{
    cleanup_free uint32_t **sorted = calloc(n, sizeof(*sorted));

    if (!sorted)
        return -ENOMEM;
    for (uint64_t i = 0; i < n; i++)
        sorted[i] = &frame[i];
    qsort(sorted, n, sizeof(*sorted), compare_frames);
    for (uint64_t i = 0, last; i < n; i = last) {
        uint32_t value = *sorted[i];

        for (last = i + 1; last < n && *sorted[last] == value; last++)
            ;
        if (value == 0 || last == i + 1)
            continue;
        *shared += last - i;
        for (uint64_t j = i; j < last; j++)
            *sorted[j] |= ORACLE_FRAME_MOVED;
    }
    return 0;
}

static int make_frames(const struct nested *n, uint32_t *frame, struct counts *counts)
{
    struct frames_before used;

    if (make_before(n, &used) < 0)
        return -ENOMEM;
    for (uint64_t i = 0; i < n->ram.n_pages; i++) {
        uint64_t before = n->before.entries[i], last = n->last.entries[i];

        frame[i] = frame_of(before, last, &used);
        counts->swapped += (last & PAGEMAP_SWAPPED) != 0;
        counts->came += !(before & PAGEMAP_PRESENT) && (last & PAGEMAP_PRESENT);
    }
    free(used.pfn);
    return flag_shared(frame, n->ram.n_pages, &counts->shared);
}

/* The lab's clock need not be as fast as the one outside. */
static uint64_t outside_ns(const struct nested *n, uint64_t lab_ns)
{
    const struct oracle_moment *a = &n->before.moment, *b = &n->last.moment;
    double share = ((double)lab_ns - (double)a->lab_ns) / ((double)b->lab_ns - (double)a->lab_ns);

    return a->outside_ns + (uint64_t)(share * (double)(b->outside_ns - a->outside_ns));
}

/* @p lab: by the lab's clock. */
static int print_count(struct nested *n, const struct oracle_window *lab, struct error *error)
{
    const struct oracle_window outside = {
        .from_ns = outside_ns(n, lab->from_ns),
        .marked_ns = outside_ns(n, lab->marked_ns),
        .read_ns = outside_ns(n, lab->read_ns),
        .to_ns = outside_ns(n, lab->to_ns),
    };
    cleanup_free uint32_t *frame = calloc(n->ram.n_pages, sizeof(*frame));
    const struct oracle_frames frames = {n->ram.n_pages, frame};
    struct counts counts = {0};
    json_t *answer = NULL;
    int rc;

    if (lab->from_ns < n->before.moment.lab_ns || lab->to_ns > n->last.moment.lab_ns ||
        lab->from_ns > lab->marked_ns || lab->marked_ns >= lab->read_ns ||
        lab->read_ns > lab->to_ns)
        return error_set(error, -ERANGE, "not a window between the last two marks");
    if (!frame || make_frames(n, frame, &counts) < 0)
        return error_set(error, -ENOMEM, "no memory for %llu pages",
                         (unsigned long long)n->ram.n_pages);
    rc = oracle_port_count(n->port, &outside, &frames, &answer, error);
    if (rc < 0)
        return rc;
    json_object_set_new(answer, "shared_pages", json_integer((json_int_t)counts.shared));
    json_object_set_new(answer, "new_pages", json_integer((json_int_t)counts.came));
    json_object_set_new(answer, "swapped_pages", json_integer((json_int_t)counts.swapped));
    json_object_set_new(
        answer, "clock_error_s",
        json_real((double)(n->before.moment.error_ns + n->last.moment.error_ns) / 1e9));
    return json_print_line(answer);
}

/* --- commands --------------------------------------------------------------------------------- */

static int print_plain(struct nested *n, uint64_t from_ns, uint64_t to_ns, struct error *error)
{
    return print_count(
        n,
        &(struct oracle_window){
            .from_ns = from_ns, .marked_ns = from_ns, .read_ns = to_ns, .to_ns = to_ns},
        error);
}

static uint64_t ns(double seconds)
{
    return (uint64_t)(seconds * 1e9);
}

static int count_line(struct nested *n, const char *line, struct error *error)
{
    double at[4];
    int given = sscanf(line, "count %lf %lf %lf %lf", &at[0], &at[1], &at[2], &at[3]);

    if (given == 2)
        return print_plain(n, ns(at[0]), ns(at[1]), error);
    if (given != 4)
        return error_set(error, -EINVAL, "not a command: %.*s", (int)strcspn(line, "\n"), line);
    return print_count(
        n,
        &(struct oracle_window){
            .from_ns = ns(at[0]), .marked_ns = ns(at[1]), .read_ns = ns(at[2]), .to_ns = ns(at[3])},
        error);
}

static int one_window(struct nested *n, double seconds, struct error *error)
{
    int rc = take_mark(n, error);

    if (!rc) {
        nanosleep(&(struct timespec){.tv_sec = (time_t)seconds,
                                     .tv_nsec = (long)(fmod(seconds, 1) * 1e9)},
                  NULL);
        rc = take_mark(n, error);
    }
    return rc < 0 ? rc : print_plain(n, n->before.moment.lab_ns, n->last.moment.lab_ns, error);
}

static int obey(struct nested *n, const char *line, struct error *error)
{
    if (strcmp(line, "mark\n") == 0) {
        int rc = take_mark(n, error);

        return rc < 0 ? rc
                      : json_print_line(
                            json_pack("{s:f}", "time_s", (double)n->last.moment.lab_ns / 1e9));
    }
    return count_line(n, line, error);
}

/* A window that cannot be counted is answered with an error; the next may be. */
static int obey_all(struct nested *n)
{
    char line[128];
    int rc = 0;

    while (!rc && fgets(line, sizeof(line), stdin)) {
        struct error error = {0};

        if (obey(n, line, &error) < 0)
            rc = json_print_line(json_pack("{s:s}", "error", error.text));
    }
    return rc;
}

static int run(const struct options *o, struct error *error)
{
    struct nested n = {.port = -1, .pagemap = -1};
    int rc = fsroot_open(&n.root, "/");

    if (rc < 0)
        return error_set(error, rc, "/: %s", strerror(-rc));
    rc = locate(&n, (pid_t)o->pid, error);
    if (!rc)
        rc = n.port = oracle_port_open(o->port, error);
    if (rc >= 0)
        rc = oracle_port_begin(n.port, error);
    if (rc >= 0)
        rc = o->window_s > 0 ? one_window(&n, o->window_s, error) : obey_all(&n);
    if (n.port >= 0)
        close(n.port);
    if (n.pagemap >= 0)
        close(n.pagemap);
    free(n.before.entries);
    free(n.last.entries);
    guest_ram_free(&n.ram);
    guest_close(&n.guest);
    fsroot_close(&n.root);
    return rc;
}

static bool parse(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {{"pid", required_argument, NULL, 'p'},
                                          {"window", required_argument, NULL, 'w'},
                                          {"port", required_argument, NULL, 'P'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    bool good = true;
    int c;

    while (good && (c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (c == 'h') {
            fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        }
        if (c == 'P')
            o->port = optarg;
        else
            good = (c == 'p' && parse_u64(optarg, 1, INT32_MAX, &o->pid) == 0) ||
                   (c == 'w' && parse_seconds(optarg, &o->window_s) == 0);
    }
    return good && o->pid && optind == argc;
}

int main(int argc, char **argv)
{
    struct options o = {.port = getenv("VMWSS_LAB_ORACLE")};
    struct error error = {0};
    int rc;

    if (!parse(argc, argv, &o)) {
        fputs(usage, stderr);
        return 1;
    }
    rc = o.port
             ? run(&o, &error)
             : error_set(&error, -ENODEV, "no port of an oracle here: start the lab with --oracle");
    if (rc < 0)
        fprintf(stderr, "nested-truth: %s\n", error.text);
    return rc < 0 ? 2 : 0;
}
