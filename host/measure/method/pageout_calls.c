// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/pageout_calls.h"

#include "base/cleanup.h"
#include "base/kernel_version.h"
#include "measure/kernel/advise.h"
#include "measure/kernel/pagemap_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Tries several pages, and more than once: the kernel skips pages that wait in another CPU's batch
 * for their LRU list, as they do if this thread was just moved from that CPU. */
#define PAGES 16
#define ATTEMPTS 3

static int count_mapped(const char *page)
{
    cleanup_close int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t entry[PAGES];
    int mapped = 0;

    if (fd < 0 || pread(fd, entry, sizeof(entry),
                        (off_t)(base_pages((uintptr_t)page) * sizeof(*entry))) != sizeof(entry))
        return PAGES;
    for (int i = 0; i < PAGES; i++)
        mapped += (entry[i] & PAGEMAP_PRESENT) != 0;
    return mapped;
}

/* 1: most of the pages at @p page are unmapped after two calls; 0: most stay mapped. */
static int are_unmapped(int self, char *page)
{
    struct iovec range = {.iov_base = page, .iov_len = PAGES * base_page_bytes()};

    for (size_t i = 0; i < PAGES; i++)
        *(volatile char *)(page + i * base_page_bytes()) = 1;
    for (int call = 0; call < 2; call++) {
        int rc = process_advise(self, ADVISE_PAGEOUT, &range, 1);

        if (rc < 0)
            return rc;
    }
    return count_mapped(page) < PAGES / 2;
}

/* Tries fresh pages. */
static int try_once(void)
{
    cleanup_close int fd = memfd_create("vmwss-pageout-trial", MFD_CLOEXEC);
    cleanup_close int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    const size_t bytes = PAGES * base_page_bytes();

    if (fd < 0 || self < 0 || ftruncate(fd, (off_t)bytes) < 0)
        return -errno;

    char *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (page == MAP_FAILED)
        return -errno;

    int rc = are_unmapped(self, page);

    munmap(page, bytes);
    return rc;
}

static int find_calls(void)
{
    struct utsname name;

    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        int rc = try_once();

        if (rc < 0)
            return rc;
        if (rc > 0)
            return uname(&name) == 0 && kernel_version(name.release) >= KERNEL(6, 9) ? 1 : 2;
    }
    return -ENOTSUP;
}

int pageout_calls(struct error *error)
{
    static atomic_int known;
    int calls = atomic_load(&known);

    if (calls == 0)
        calls = find_calls();
    if (calls < 0)
        return error_set(error, calls, "MADV_PAGEOUT does not unmap shared memory here: %s",
                         strerror(-calls));
    atomic_store(&known, calls);
    return calls;
}
