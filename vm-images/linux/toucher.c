// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file toucher.c  A process with a known working set: the bare payload's region, inside Linux.
 *
 * It spins instead of sleeping between passes: a nested Linux guest may lose its timer and would
 * then sleep for ever.
 */
#include "params.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <x86intrin.h>

static const char usage[] =
    "Usage: toucher [--KEY VALUE]...\n"
    "\n"
    "Touches one word in each page of a known set, for ever.\n"
    "\n"
    "  --total SIZE     memory to allocate (default 512M)\n"
    "  --hot SIZE       of it, what is touched for ever (default 64M)\n"
    "  --pattern NAME   contiguous, strided or random (default contiguous)\n"
    "  --stride SIZE    for strided: distance of hot pages (default 64K)\n"
    "  --run SIZE       for strided: how much is hot at each of these places (default 4K)\n"
    "  --seed N         for random (default 1)\n"
    "  --op NAME        read or write (default read)\n"
    "  --populate NAME  what is written to once at first: all, hot or none (default all)\n"
    "  --help           print this\n";

/** Each page's word is in another cache line, as in the payload. */
static volatile uint64_t *word_of(char *region, uint64_t page)
{
    return (volatile uint64_t *)(void *)(region + page * PARAMS_PAGE_SIZE + (page % 64) * 64);
}

static void populate(const struct params *params, char *region)
{
    for (uint64_t page = 0; page < params->total_pages; page++)
        if (params->populate == POPULATE_ALL ||
            (params->populate == POPULATE_HOT &&
             pattern_is_hot(&params->pattern, page, params->hot_pages)))
            *word_of(region, page) = page + 1;
}

/* Both as in the payload's spin.c. */
#define LEAVE_EVERY_CYCLES (UINT64_C(1) << 25)
#define ACCESSES_PER_LOOK 4096

/** QEMU's emulated SVM may have entered the guest deaf to interrupts, its own timer's too: see
 * there. */
static void leave_now_and_then(uint64_t *next)
{
    uint32_t leaf = 0, subleaf = 0;

    if (__rdtsc() < *next)
        return;
    __asm__ volatile("cpuid" : "+a"(leaf), "+c"(subleaf) : : "ebx", "edx");
    *next = __rdtsc() + LEAVE_EVERY_CYCLES;
}

static void touch_for_ever(const struct params *params, char *region)
{
    uint64_t next_leave = 0;

    for (uint64_t loop = 0;; loop++) {
        for (uint64_t j = 0; j < params->hot_pages; j++) {
            volatile uint64_t *word = word_of(region, pattern_page(&params->pattern, j));

            if (j < params->write_pages)
                *word = loop;
            else
                (void)*word;
            if (j % ACCESSES_PER_LOOK == ACCESSES_PER_LOOK - 1)
                leave_now_and_then(&next_leave);
        }
        leave_now_and_then(&next_leave);
    }
}

/** "--total 256M --hot 64M" as "total=256M hot=64M "; NULL when that is not what the arguments are.
 */
static char *parameters_text(int argc, char **argv)
{
    size_t length = 1, used = 0;
    char *text;

    for (int i = 1; i < argc; i++)
        length += strlen(argv[i]) + 1;
    text = calloc(length, 1);
    for (int i = 1; text && i < argc; i += 2) {
        if (strncmp(argv[i], "--", 2) || i + 1 == argc) {
            free(text);
            return NULL;
        }
        used += (size_t)snprintf(text + used, length - used, "%s=%s ", argv[i] + 2, argv[i + 1]);
    }
    return text;
}

int main(int argc, char **argv)
{
    struct params params;
    const char *where, *wrong;
    char *region, *text = argc == 1 ? calloc(1, 1) : parameters_text(argc, argv);

    if (!text) {
        bool help = argc == 2 && strcmp(argv[1], "--help") == 0;

        fputs(usage, help ? stdout : stderr);
        return help ? 0 : 2;
    }
    wrong = params_parse(&params, text, &where);
    if (!wrong && (params.phase_count || params.balloon_pages))
        wrong = "phases= and balloon= are for the payload only";
    if (wrong) {
        fprintf(stderr, "toucher: %.*s%s%s\n", (int)strcspn(where, " "), where, *where ? " " : "",
                wrong);
        free(text);
        return 2;
    }
    free(text);
    region = mmap(NULL, params.total_pages * PARAMS_PAGE_SIZE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) {
        perror("toucher: mmap");
        return 1;
    }
    populate(&params, region);
    printf("vmwss-toucher ready total=%" PRIu64 " hot_pages=%" PRIu64 "\n",
           params.total_pages * PARAMS_PAGE_SIZE, params.hot_pages);
    fflush(stdout);
    touch_for_ever(&params, region);
}
