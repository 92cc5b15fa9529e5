// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file counted.c  Work of a guest in units that are counted, so that a host can tell how much it
 * has done, and how much it had to wait for memory.
 *
 * counted run COMMAND...            a unit is one run of the command
 * counted heap TOTAL HOT [RISE PERIOD BEGIN LENGTH]
 *                                   a heap of TOTAL MiB, all touched once; a unit is 100,000
 * accesses to random pages of HOT MiB of it. From second BEGIN to BEGIN + LENGTH of each PERIOD
 * there are RISE MiB more, 8 of them each half second, and the accesses are to them as well.
 * Seconds of CLOCK_REALTIME.
 *
 * After each unit one line: vmwss-work UNITS SOME FULL REFAULTS SWAP-INS OOM-KILLS READS RISEN.
 * SOME and FULL are the totals of /proc/pressure/memory in microseconds, READS those that the disks
 * have completed, RISEN the MiB that are there beside TOTAL.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1UL << 20)
#define PAGE 4096UL
#define ACCESSES 100000
#define PIECE_MIB 8UL
#define WORDS_READ 64

static unsigned long number_after(const char *path, const char *key)
{
    static char text[65536];
    FILE *file = fopen(path, "r");
    const char *at;
    size_t n;

    if (!file)
        return 0;
    n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    at = strstr(text, key);
    return at ? strtoul(at + strlen(key), NULL, 10) : 0;
}

static unsigned long pressure(const char *kind)
{
    static char text[512];
    FILE *file = fopen("/proc/pressure/memory", "r");
    const char *at;
    size_t n;

    if (!file)
        return 0;
    n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    at = strstr(text, kind);
    at = at ? strstr(at, "total=") : NULL;
    return at ? strtoul(at + 6, NULL, 10) : 0;
}

static unsigned long disk_reads(void)
{
    return number_after("/sys/block/vda/stat", "") + number_after("/sys/block/vdb/stat", "");
}

static void unit_done(unsigned long risen_mib)
{
    static unsigned long units;
    const char *vmstat = "/proc/vmstat";
    unsigned long refaults = number_after(vmstat, "workingset_refault_anon ") +
                             number_after(vmstat, "workingset_refault_file ");

    printf("vmwss-work %lu %lu %lu %lu %lu %lu %lu %lu\n", ++units, pressure("some"),
           pressure("full"), refaults, number_after(vmstat, "pswpin "),
           number_after(vmstat, "oom_kill "), disk_reads(), risen_mib);
    fflush(stdout);
}

static void run_once(char **command)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        execvp(command[0], command);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        printf("vmwss-work failed: %s: status %d\n", command[0], status);
        exit(1);
    }
}

/* --- the heap --------------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252ULL;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* A quarter of it is random, so that compressed swap has something to do. */
static void fill(char *begin, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = at % 32 ? at : next_random();

        memcpy(begin + at, &word, sizeof(word));
    }
}

static char *allocate(size_t bytes)
{
    char *begin = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (begin == MAP_FAILED) {
        puts("vmwss-work failed: no memory");
        exit(1);
    }
    return begin;
}

struct heap {
    char *base, *risen;
    unsigned long hot_mib, risen_mib;
    volatile uint64_t sum;
};

static char *random_page(const struct heap *heap)
{
    unsigned long page = next_random() % ((heap->hot_mib + heap->risen_mib) * (MIB / PAGE));
    unsigned long hot_pages = heap->hot_mib * (MIB / PAGE);

    return page < hot_pages ? heap->base + page * PAGE : heap->risen + (page - hot_pages) * PAGE;
}

static void heap_unit(struct heap *heap)
{
    for (int i = 0; i < ACCESSES; i++) {
        uint64_t *words = (uint64_t *)(void *)random_page(heap);
        uint64_t sum = 0;

        for (int k = 0; k < WORDS_READ; k++)
            sum += words[k * 8];
        words[8] = sum;
        heap->sum += sum;
    }
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct rise {
    unsigned long mib, period_s, begin_s, length_s;
};

static int is_up(const struct rise *rise)
{
    unsigned long at;

    if (rise->mib == 0 || rise->period_s == 0)
        return 0;
    at = (unsigned long)now_s() % rise->period_s;
    return at >= rise->begin_s && at < rise->begin_s + rise->length_s;
}

static void rise_or_fall(struct heap *heap, const struct rise *rise, double *next_s)
{
    if (!is_up(rise)) {
        if (heap->risen_mib > 0)
            madvise(heap->risen, rise->mib * MIB, MADV_DONTNEED);
        heap->risen_mib = 0;
    } else if (heap->risen_mib + PIECE_MIB <= rise->mib && now_s() >= *next_s) {
        fill(heap->risen + heap->risen_mib * MIB, PIECE_MIB * MIB);
        heap->risen_mib += PIECE_MIB;
        *next_s = now_s() + 0.5;
    }
}

static void run_heap(unsigned long total_mib, unsigned long hot_mib, const struct rise *rise)
{
    struct heap heap = {.base = allocate(total_mib * MIB), .hot_mib = hot_mib};
    double next_s = 0;

    heap.risen = rise->mib ? allocate(rise->mib * MIB) : NULL;
    fill(heap.base, total_mib * MIB);
    puts("vmwss-work ready");
    for (;;) {
        rise_or_fall(&heap, rise, &next_s);
        heap_unit(&heap);
        unit_done(heap.risen_mib);
    }
}

static unsigned long number(int argc, char **argv, int i)
{
    return i < argc ? strtoul(argv[i], NULL, 10) : 0;
}

int main(int argc, char **argv)
{
    if (argc >= 4 && !strcmp(argv[1], "heap") && number(argc, argv, 3) > 0) {
        run_heap(number(argc, argv, 2), number(argc, argv, 3),
                 &(struct rise){number(argc, argv, 4), number(argc, argv, 5), number(argc, argv, 6),
                                number(argc, argv, 7)});
    } else if (argc >= 3 && !strcmp(argv[1], "run")) {
        run_once(argv + 2);
        puts("vmwss-work ready");
        for (;;) {
            run_once(argv + 2);
            unit_done(0);
        }
    }
    fprintf(stderr, "Usage: counted run COMMAND... | heap TOTAL HOT [RISE PERIOD BEGIN LENGTH]\n");
    return 2;
}
