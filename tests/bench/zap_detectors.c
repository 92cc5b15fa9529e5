// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file zap_detectors.c  Which way of seeing that a dropped page was touched again is right?
 *
 * zap_detectors PID N <HOT: drops N random pages of a KVM guest whose hot pages (numbers in guest
 * RAM, one a line) are known, waits, and counts for each detector the hot pages seen and the cold
 * pages falsely seen. Run by zap-detectors in the lab; measure/method/zap.c states the result.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "guest/domain/domain.h"
#include "guest/ram/guest_ram.h"
#include "measure/kernel/advise.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/pagemap.h"
#include "measure/method.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define WINDOW_S 3

struct bench {
    struct fsroot root;
    struct guest guest;
    struct guest_ram ram;
    struct target target;
    struct page_set set;
    uint8_t *hot; /* of every page of RAM */
    int pagemap_fd;
};

static void wait_window(void)
{
    nanosleep(&(struct timespec){.tv_sec = WINDOW_S}, NULL);
}

static void report(const struct bench *bench, const char *detector, const uint8_t *seen)
{
    uint64_t hot = 0, hot_seen = 0, cold = 0, cold_seen = 0;

    for (uint64_t i = 0; i < bench->set.n; i++) {
        if (bench->hot[bench->set.page[i]])
            hot++, hot_seen += seen[i];
        else
            cold++, cold_seen += seen[i];
    }
    printf("%-28s hot seen %5" PRIu64 " of %5" PRIu64 "   cold seen %5" PRIu64 " of %5" PRIu64 "\n",
           detector, hot_seen, hot, cold_seen, cold);
}

/* --- the method as it is: faults through perf ------------------------------------------------- */

static int by_faults(struct bench *bench, uint8_t *seen)
{
    struct error error = {0};
    struct tally tally;
    void *state = NULL;
    int rc = method_zap.open(&bench->target, &bench->set, &state, &error);

    if (rc == 0)
        rc = method_zap.mark(state, &error);
    for (int i = 0; rc == 0 && i < WINDOW_S * 50; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        rc = method_zap.wake.poll(state, &error);
    }
    if (rc == 0)
        rc = method_zap.collect(state, &tally, &error);
    if (state)
        method_zap.close(state);
    if (rc < 0)
        fprintf(stderr, "%s\n", error.text);
    for (uint64_t i = 0; i < bench->set.n; i++)
        seen[i] = bench->set.state[i] == PAGE_TOUCHED;
    return rc;
}

/* --- a second drop, and whether KVM's counter of mappings falls ------------------------------- */

static int find_counter(const struct bench *bench, char *path, size_t size)
{
    cleanup_dir DIR *dir = opendir("/sys/kernel/debug/kvm");
    char prefix[32];
    struct dirent *entry;

    snprintf(prefix, sizeof(prefix), "%d-", bench->guest.process.pid);
    while (dir && (entry = readdir(dir)))
        if (!strncmp(entry->d_name, prefix, strlen(prefix))) {
            snprintf(path, size, "sys/kernel/debug/kvm/%s/pages_4k", entry->d_name);
            return 0;
        }
    return -1;
}

/* Opened each time: the file cannot be read twice. */
static int read_counter(const struct bench *bench, const char *path, uint64_t *value)
{
    return fsroot_read_u64(&bench->root, value, "%s", path);
}

static int drop(const struct bench *bench, uint64_t i)
{
    return pagemap_invalidate(bench->pagemap_fd, page_set_hva(&bench->set, i), base_page_bytes());
}

static int by_counter(struct bench *bench, uint8_t *seen)
{
    char path[320];

    if (find_counter(bench, path, sizeof(path)) < 0)
        return -1;
    for (uint64_t i = 0; i < bench->set.n; i++)
        drop(bench, i);
    wait_window();
    for (uint64_t i = 0; i < bench->set.n; i++) {
        uint64_t before = 0;
        uint64_t after = 0;

        if (read_counter(bench, path, &before) < 0 || drop(bench, i) < 0 ||
            read_counter(bench, path, &after) < 0)
            return -1;
        seen[i] = after < before;
    }
    return 0;
}

/* --- a second drop, and whether it left KPF_REFERENCED ---------------------------------------- */

static int read_flags(const struct bench *bench, uint64_t i, uint64_t *flags)
{
    cleanup_close int fd = kpageflags_open(&bench->root, NULL);
    uint64_t entry = 0;
    int rc = pagemap_read(bench->pagemap_fd, &bench->ram, &bench->set.page[i], 1, &entry);
    uint64_t pfn = PAGEMAP_PFN(entry);

    return rc == 0 && fd >= 0 ? kpageflags_read(fd, &pfn, 1, flags) : -1;
}

static int by_flags(struct bench *bench, uint8_t *seen)
{
    for (uint64_t i = 0; i < bench->set.n; i++) {
        struct iovec page = {.iov_base = (void *)(uintptr_t)page_set_hva(&bench->set, i),
                             .iov_len = base_page_bytes()};

        drop(bench, i); /* KVM hands over its accessed bit; then the flags are cleared */
        if (process_advise(bench->guest.process.pidfd, ADVISE_COLD, &page, 1) < 0)
            return -1;
    }
    wait_window();
    for (uint64_t i = 0; i < bench->set.n; i++) {
        uint64_t flags = 0;

        drop(bench, i);
        read_flags(bench, i, &flags);
        seen[i] = (flags & KPF_REFERENCED) != 0;
    }
    return 0;
}

/* ---------------------------------------------------------------------------------------------- */

static int prepare(struct bench *bench, pid_t pid, uint64_t n)
{
    struct error error = {0};
    int rc = fsroot_open(&bench->root, "/");

    if (rc == 0)
        rc = guest_open_pid(&bench->root, pid, &bench->guest, &error);
    if (rc == 0)
        rc = guest_ram_locate(&bench->root, &bench->guest.process, &bench->guest.ram, &bench->ram,
                              &error);
    if (rc == 0) {
        bench->target = (struct target){
            .root = &bench->root, .process = &bench->guest.process, .ram = &bench->ram};
        bench->pagemap_fd = pagemap_open(&bench->target, &error);
        rc = bench->pagemap_fd < 0 ? bench->pagemap_fd
                                   : page_set_panel(&bench->set, &bench->ram, n, 42);
    }
    if (rc == 0)
        bench->hot = calloc(bench->ram.n_pages, 1);
    if (rc < 0)
        fprintf(stderr, "%s\n", error.text);
    return rc < 0 || !bench->hot ? -1 : 0;
}

static void read_hot(struct bench *bench)
{
    uint64_t page;

    while (scanf("%" SCNu64, &page) == 1)
        if (page < bench->ram.n_pages)
            bench->hot[page] = 1;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(struct bench *bench, uint8_t *seen);
    } detectors[] = {
        {"kvm_page_fault (perf)", by_faults},
        {"pages_4k, second drop", by_counter},
        {"KPF_REFERENCED, second drop", by_flags},
    };
    static struct bench bench;

    if (argc != 3 || prepare(&bench, atoi(argv[1]), strtoull(argv[2], NULL, 10)) < 0)
        return 1;
    read_hot(&bench);

    uint8_t *seen = calloc(bench.set.n, 1);

    for (size_t d = 0; seen && d < COUNT(detectors); d++) {
        memset(seen, 0, bench.set.n);
        if (detectors[d].run(&bench, seen) == 0)
            report(&bench, detectors[d].name, seen);
        else
            printf("%-28s cannot be used on this memory\n", detectors[d].name);
        fflush(stdout);
    }
    return 0;
}
