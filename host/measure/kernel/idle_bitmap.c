// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/idle_bitmap.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define MAX_WORDS 512 /* 4096 bytes */

/* Bridging a gap: a word of zeros costs a write 64 loop iterations, less than a system call; a word
 * without our pages costs a read 64 page look-ups, more than a system call. */
#define WRITE_BRIDGE 2
#define READ_BRIDGE 0

static int kept_fd = -EPERM; /* or another negative errno */

void idle_bitmap_keep(const struct fsroot *root)
{
    kept_fd = fsroot_openf(root, O_RDWR, IDLE_BITMAP_PATH);
}

static int open_bitmap(const struct fsroot *root)
{
    int fd;

    if (kept_fd < 0) {
        fd = fsroot_openf(root, O_RDWR, IDLE_BITMAP_PATH);
        /* A process that has given up its privileges may open no file for writing. */
        return fd == -EPERM ? kept_fd : fd;
    }
    fd = fcntl(kept_fd, F_DUPFD_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
}

int idle_bitmap_open(const struct fsroot *root, struct error *error)
{
    int fd = open_bitmap(root);

    if (fd == -ENOENT)
        return error_set(error, fd,
                         "this kernel has no page_idle (/%s is missing): it needs "
                         "CONFIG_IDLE_PAGE_TRACKING=y",
                         IDLE_BITMAP_PATH);
    if (fd < 0)
        return error_set(error, fd, "/%s: %s; run as root", IDLE_BITMAP_PATH, strerror(-fd));
    return fd;
}

/* The number of frames in pfn[0..n) that fit into one transfer beginning at the word of pfn[0]. */
static uint64_t transfer_length(const uint64_t *pfn, uint64_t n, uint64_t bridge)
{
    uint64_t first = pfn[0] / 64;
    uint64_t end = 1;

    while (end < n && pfn[end] / 64 - pfn[end - 1] / 64 <= bridge + 1 &&
           pfn[end] / 64 - first < MAX_WORDS)
        end++;
    return end;
}

/* The kernel counts a word as transferred once it reaches the word's last bit. If memory does not
 * end at a multiple of 64 frames, it never reaches that bit of the last word, although it has
 * handled the frames in it. */
static int transferred(ssize_t done, size_t wanted)
{
    if (done < 0)
        return -errno;
    return (size_t)done + sizeof(uint64_t) >= wanted ? 0 : -EIO;
}

int idle_bitmap_mark(int fd, const uint64_t *pfn, uint64_t n)
{
    uint64_t words[MAX_WORDS];

    for (uint64_t at = 0; at < n;) {
        uint64_t count = transfer_length(pfn + at, n - at, WRITE_BRIDGE);
        uint64_t first = pfn[at] / 64;
        size_t bytes = (pfn[at + count - 1] / 64 - first + 1) * sizeof(*words);

        memset(words, 0, bytes);
        for (uint64_t i = at; i < at + count; i++)
            words[pfn[i] / 64 - first] |= 1ULL << (pfn[i] % 64);

        int rc = transferred(pwrite(fd, words, bytes, (off_t)(first * sizeof(*words))), bytes);

        if (rc < 0)
            return rc;
        at += count;
    }
    return 0;
}

int idle_bitmap_read(int fd, const uint64_t *pfn, uint64_t n, uint8_t *idle)
{
    uint64_t words[MAX_WORDS];

    for (uint64_t at = 0; at < n;) {
        uint64_t count = transfer_length(pfn + at, n - at, READ_BRIDGE);
        uint64_t first = pfn[at] / 64;
        size_t bytes = (pfn[at + count - 1] / 64 - first + 1) * sizeof(*words);
        ssize_t done = pread(fd, words, bytes, (off_t)(first * sizeof(*words)));
        int rc = transferred(done, bytes);

        if (rc < 0)
            return rc;
        for (uint64_t i = at; i < at + count; i++) {
            uint64_t word = pfn[i] / 64 - first;

            idle[i] = word < (uint64_t)done / sizeof(*words) ? (words[word] >> (pfn[i] % 64)) & 1
                                                             : IDLE_BITMAP_UNKNOWN;
        }
        at += count;
    }
    return 0;
}
