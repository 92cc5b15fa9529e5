// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file kernel_floor.c  What the kernel itself takes for a census by page_idle, whoever asks for
 * it.
 *
 * kernel_floor PID WINDOW_MS ROUNDS: for all pages of a guest in bulk one pagemap read, one
 * kpageflags read, one marking (an rmap walk for each page) and, after the window, one reading
 * (another). Prints for each round the system time of each in ms, and their sum: no tool that looks
 * at every page by page_idle can do with less. Run by kernel-floor.
 */
#include "guest/domain/domain.h"
#include "guest/ram/guest_ram.h"
#include "measure/kernel/idle_bitmap.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/pagemap.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum step { STEP_PAGEMAP, STEP_FLAGS, STEP_MARK, STEP_READ, N_STEPS };

struct bench {
    struct fsroot root;
    struct guest guest;
    struct guest_ram ram;
    int pagemap_fd, flags_fd, bitmap_fd;
    uint64_t n;
    uint64_t *page, *entry, *pfn, *flags;
    uint8_t *idle;
    double system_s[N_STEPS];
};

static double system_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int prepare(struct bench *bench, pid_t pid)
{
    struct error error = {0};
    int rc = fsroot_open(&bench->root, "/");

    if (rc == 0)
        rc = guest_open_pid(&bench->root, pid, &bench->guest, &error);
    if (rc == 0)
        rc = guest_ram_locate(&bench->root, &bench->guest.process, &bench->guest.ram, &bench->ram,
                              &error);
    if (rc < 0)
        return fprintf(stderr, "kernel_floor: %s\n", error.text), -1;

    const struct target target = {
        .root = &bench->root, .process = &bench->guest.process, .ram = &bench->ram};
    const size_t pages = bench->ram.n_pages;

    bench->pagemap_fd = pagemap_open(&target, &error);
    bench->flags_fd = kpageflags_open(&bench->root, &error);
    bench->bitmap_fd = idle_bitmap_open(&bench->root, &error);
    bench->page = calloc(pages, sizeof(*bench->page));
    bench->entry = calloc(pages, sizeof(*bench->entry));
    bench->pfn = calloc(pages, sizeof(*bench->pfn));
    bench->flags = calloc(pages, sizeof(*bench->flags));
    bench->idle = calloc(pages, 1);
    if (bench->pagemap_fd < 0 || bench->flags_fd < 0 || bench->bitmap_fd < 0 || !bench->page ||
        !bench->entry || !bench->pfn || !bench->flags || !bench->idle)
        return fprintf(stderr, "kernel_floor: %s\n", error.text), -1;
    for (size_t i = 0; i < pages; i++)
        bench->page[i] = i;
    return 0;
}

static int run_step(struct bench *bench, enum step step)
{
    double begin_s = system_s();
    int rc = 0;

    switch (step) {
    case STEP_PAGEMAP:
        rc = pagemap_read(bench->pagemap_fd, &bench->ram, bench->page, bench->ram.n_pages,
                          bench->entry);
        break;
    case STEP_FLAGS:
        rc = kpageflags_read(bench->flags_fd, bench->pfn, bench->n, bench->flags);
        break;
    case STEP_MARK:
        rc = idle_bitmap_mark(bench->bitmap_fd, bench->pfn, bench->n);
        break;
    default:
        rc = idle_bitmap_read(bench->bitmap_fd, bench->pfn, bench->n, bench->idle);
        break;
    }
    bench->system_s[step] = system_s() - begin_s;
    return rc;
}

/* Its sorting is user time, which does not count here. */
static void take_frames(struct bench *bench)
{
    bench->n = 0;
    for (uint64_t i = 0; i < bench->ram.n_pages; i++)
        if (bench->entry[i] & PAGEMAP_PRESENT)
            bench->pfn[bench->n++] = PAGEMAP_PFN(bench->entry[i]);
    qsort(bench->pfn, bench->n, sizeof(*bench->pfn), by_value);
}

static int round_once(struct bench *bench, useconds_t window_us)
{
    double sum_s = 0;
    int rc = run_step(bench, STEP_PAGEMAP);

    take_frames(bench);
    if (rc == 0)
        rc = run_step(bench, STEP_FLAGS);
    if (rc == 0)
        rc = run_step(bench, STEP_MARK);
    usleep(window_us);
    if (rc == 0)
        rc = run_step(bench, STEP_READ);
    if (rc < 0)
        return rc;
    for (int step = 0; step < N_STEPS; step++)
        sum_s += bench->system_s[step];
    printf("%llu %.1f %.1f %.1f %.1f %.1f\n", (unsigned long long)bench->n,
           1000 * bench->system_s[STEP_PAGEMAP], 1000 * bench->system_s[STEP_FLAGS],
           1000 * bench->system_s[STEP_MARK], 1000 * bench->system_s[STEP_READ], 1000 * sum_s);
    return 0;
}

int main(int argc, char **argv)
{
    struct bench bench = {.pagemap_fd = -1, .flags_fd = -1, .bitmap_fd = -1};

    if (argc != 4) {
        fprintf(stderr, "usage: kernel_floor PID WINDOW_MS ROUNDS\n");
        return 1;
    }
    if (prepare(&bench, (pid_t)strtol(argv[1], NULL, 10)) < 0)
        return 2;
    for (long round = strtol(argv[3], NULL, 10); round > 0; round--)
        if (round_once(&bench, 1000 * (useconds_t)strtol(argv[2], NULL, 10)) < 0)
            return 2;
    return 0;
}
