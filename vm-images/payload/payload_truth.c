// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file payload_truth.c  Says what the payload with the same parameters touches. */
#include "layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGES_PER_HUGE (PARAMS_HUGE_SIZE / PARAMS_PAGE_SIZE)
#define GIB (UINT64_C(1) << 30)
#define GIB_PER_TABLE 512
/* Code, state, page map level 4: see own_pages() in payload.c. */
#define OWN_BASE_PAGES 3
/* The only one of these that it writes. KVM counts tables that the CPU walks as written, too. */
#define STATE_PAGES 1

static const char usage[] =
    "Usage: payload-truth [--list | --list-ram] [KEY=VALUE...]\n"
    "\n"
    "Prints what a payload with these parameters touches in steady state, as JSON.\n"
    "\n"
    "  --list      print the hot pages' numbers in the region instead\n"
    "  --list-ram  print their numbers in guest RAM (offset in its memory backend / 4096)\n"
    "  --help      print this\n"
    "\n"
    "The parameters are the payload's. memory=SIZE and machine=pc|q35|virt say how QEMU was\n"
    "started; they are needed only when the region may pass the PCI hole, or for virt, which is\n"
    "arm64's. start= is counted from where RAM begins.\n";

struct count {
    uint64_t huge_pages;
    uint64_t tables; /**< of pages that the walk to hot pages and to the code uses */
};

/** Which of them were counted: a bit for each. */
struct seen {
    unsigned char *huge;
    unsigned char *directories;
    unsigned char *tables;
};

/** Marks one bit; says whether it was clear. */
static bool mark(unsigned char *bits, uint64_t number)
{
    unsigned char bit = (unsigned char)(1 << number % 8);
    bool fresh = !(bits[number / 8] & bit);

    bits[number / 8] |= bit;
    return fresh;
}

static void mark_walk(const struct seen *seen, uint64_t gpa, struct count *count)
{
    uint64_t gib = gpa / GIB;

    count->tables += mark(seen->directories, gib);
    count->tables += mark(seen->tables, gib / GIB_PER_TABLE);
}

static void count_hot(const struct params *params, const struct layout *layout, uint64_t hot_pages,
                      const struct seen *seen, struct count *count)
{
    mark_walk(seen, layout->ram_begin, count);
    for (uint64_t j = 0; j < hot_pages; j++) {
        uint64_t page = pattern_page(&params->pattern, j);

        count->huge_pages += mark(seen->huge, page / PAGES_PER_HUGE);
        mark_walk(seen, layout_gpa(layout, page), count);
    }
}

static int count_all(const struct params *params, const struct layout *layout, uint64_t hot_pages,
                     struct count *count)
{
    uint64_t last = layout_gpa(layout, params->total_pages - 1) / GIB;
    struct seen seen = {.huge = calloc(params->total_pages / PAGES_PER_HUGE / 8 + 1, 1),
                        .directories = calloc(last / 8 + 1, 1),
                        .tables = calloc(last / GIB_PER_TABLE / 8 + 1, 1)};
    bool enough = seen.huge && seen.directories && seen.tables;

    *count = (struct count){0};
    if (enough)
        count_hot(params, layout, hot_pages, &seen, count);
    free(seen.huge);
    free(seen.directories);
    free(seen.tables);
    return enough ? 0 : -1;
}

/** The members that depend on the size of the hot set. */
static int print_truth(const struct params *params, const struct layout *layout, uint64_t hot_pages)
{
    struct count count;

    if (count_all(params, layout, hot_pages, &count))
        return -1;
    uint64_t own_pages = params->idle ? 0 : OWN_BASE_PAGES + count.tables;
    uint64_t written_pages = params->write_pages < hot_pages ? params->write_pages : hot_pages;

    printf("\"hot_pages\":%" PRIu64 ",\"hot_bytes\":%" PRIu64 ",\"hot_huge_pages\":%" PRIu64
           ",\"own_pages\":%" PRIu64 ",\"truth_bytes\":%" PRIu64 ",\"written_bytes\":%" PRIu64,
           hot_pages, hot_pages * PARAMS_PAGE_SIZE, count.huge_pages, own_pages,
           (hot_pages + own_pages) * PARAMS_PAGE_SIZE,
           (written_pages + (params->idle ? 0 : STATE_PAGES)) * PARAMS_PAGE_SIZE);
    return 0;
}

static int print_json(const struct params *params, const struct layout *layout)
{
    printf("{\"total_pages\":%" PRIu64 ",", params->total_pages);
    if (print_truth(params, layout, params->hot_pages))
        return -1;
    if (params->phase_count)
        printf(",\"phases\":[");
    for (unsigned int i = 0; i < params->phase_count; i++) {
        printf("%s{\"seconds\":%" PRIu64 ",", i ? "," : "", params->phases[i].duration_s);
        if (print_truth(params, layout, params->phases[i].hot_pages))
            return -1;
        printf("}");
    }
    printf("%s}\n", params->phase_count ? "]" : "");
    return 0;
}

static void print_list(const struct params *params, const struct layout *layout, bool in_ram)
{
    for (uint64_t j = 0; j < params->hot_pages; j++) {
        uint64_t page = pattern_page(&params->pattern, j);

        if (in_ram)
            page = layout_ram_offset(layout, page) / PARAMS_PAGE_SIZE;
        printf("%" PRIu64 "\n", page);
    }
}

/** The arguments from the given one on as one text, as QEMU's -append would have it. */
static char *join(char *const *words)
{
    size_t length = 1, used = 0;
    char *text;

    for (char *const *word = words; *word; word++)
        length += strlen(*word) + 1;
    text = calloc(length, 1);
    for (char *const *word = words; text && *word; word++)
        used += (size_t)snprintf(text + used, length - used, "%s ", *word);
    return text;
}

static int run(const char *text, bool list, bool list_ram)
{
    struct params params;
    const char *where, *wrong = params_parse(&params, text, &where);
    struct layout layout;

    if (wrong) {
        fprintf(stderr, "payload-truth: %.*s%s%s\n", (int)strcspn(where, " "), where,
                *where ? " " : "", wrong);
        return 1;
    }
    layout = layout_of(&params);
    if (!layout_fits(&layout, params.total_pages)) {
        fprintf(stderr, "payload-truth: total= is more than the guest's usable RAM\n");
        return 1;
    }
    if (list || list_ram) {
        print_list(&params, &layout, list_ram);
    } else if (print_json(&params, &layout)) {
        fprintf(stderr, "payload-truth: out of memory\n");
        return 2;
    }
    if (fflush(stdout) || ferror(stdout)) {
        perror("payload-truth");
        return 2;
    }
    return 0;
}

int main(int argc, char **argv)
{
    bool list = argc > 1 && strcmp(argv[1], "--list") == 0;
    bool list_ram = argc > 1 && strcmp(argv[1], "--list-ram") == 0;
    char *text;
    int status;

    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    text = join(argv + 1 + (list || list_ram));
    if (!text) {
        fprintf(stderr, "payload-truth: out of memory\n");
        return 2;
    }
    status = run(text, list, list_ram);
    free(text);
    return status;
}
