// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/kpageflags.h"

#include "measure/kernel/u64_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define BRIDGE 8
#define MAX_ORDER 18 /* 1 GiB of base pages of 4 KiB */

static int open_file(const struct fsroot *root, const char *path, struct error *error)
{
    int fd = fsroot_openf(root, O_RDONLY, "%s", path);

    if (fd < 0)
        return error_set(error, fd, "/%s: %s (needs root and CONFIG_PROC_PAGE_MONITOR)", path,
                         strerror(-fd));
    return fd;
}

int kpagecount_open(const struct fsroot *root, struct error *error)
{
    return open_file(root, "proc/kpagecount", error);
}

int kpageflags_open(const struct fsroot *root, struct error *error)
{
    return open_file(root, "proc/kpageflags", error);
}

int kpageflags_read(int fd, const uint64_t *pfn, uint64_t n, uint64_t *flags)
{
    return u64_file_gather(fd, pfn, n, BRIDGE, flags);
}

/* Returns 1 if every flag of @p wanted is set, 0 if not, or a negative errno. */
static int has_flags(int fd, uint64_t pfn, uint64_t wanted, uint64_t *flags)
{
    int rc = kpageflags_read(fd, &pfn, 1, flags);

    return rc < 0 ? rc : (*flags & wanted) == wanted;
}

static int is_tail(int fd, uint64_t pfn)
{
    uint64_t flags;

    return has_flags(fd, pfn, KPF_COMPOUND_TAIL, &flags);
}

/* Returns true if @p head is the head of a folio of exactly this order. A tail in its middle
 * belongs to a folio larger than half this size. Such a folio begins at a multiple of its own size,
 * so at @p head or before; and at the end of the order there must be no tail. */
static int has_order(int fd, uint64_t head, unsigned order)
{
    if (order == 0 || head % (1ULL << order))
        return 0;

    int rc = is_tail(fd, head + (1ULL << (order - 1)));

    if (rc <= 0)
        return rc;
    rc = is_tail(fd, head + (1ULL << order));
    return rc < 0 ? rc : !rc;
}

static int guess_folio(int fd, uint64_t pfn, unsigned guess, struct folio *folio)
{
    folio->head = pfn & ~((1ULL << guess) - 1);
    folio->order = guess;

    int rc = has_flags(fd, folio->head, KPF_COMPOUND_HEAD, &folio->flags);

    return rc <= 0 ? rc : has_order(fd, folio->head, guess);
}

static int find_head(int fd, uint64_t pfn, struct folio *folio)
{
    for (unsigned k = 1; k <= MAX_ORDER; k++) {
        folio->head = pfn & ~((1ULL << k) - 1);

        int rc = has_flags(fd, folio->head, KPF_COMPOUND_HEAD, &folio->flags);

        if (rc != 0)
            return rc < 0 ? rc : 0;
    }
    return -ENOENT; /* it was split while it was read */
}

/* The tail at head + 2^k exists for every k below the order but not at the order itself: the frame
 * there begins another object, which may be another head but never a tail. */
static int find_order(int fd, struct folio *folio)
{
    for (folio->order = 0; folio->order < MAX_ORDER; folio->order++) {
        int rc = is_tail(fd, folio->head + (1ULL << folio->order));

        if (rc <= 0)
            return rc;
    }
    return 0;
}

int kpageflags_folio(int fd, uint64_t pfn, uint64_t flags, unsigned guess, struct folio *folio)
{
    int rc = guess_folio(fd, pfn, guess, folio);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    *folio = (struct folio){.head = pfn, .flags = flags};
    rc = flags & KPF_COMPOUND_TAIL ? find_head(fd, pfn, folio) : 0;
    return rc < 0 ? rc : find_order(fd, folio);
}
