// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_smaps.c  /proc/PID/smaps of what says that it is a QEMU, as one text and in pieces as
 * they are read. */
#include "guest/ram/smaps.c" /* NOLINT(bugprone-suspicious-include): its piecewise reading, too */

#include "fuzz.h"

#include <sys/socket.h>

/* Result of the walk: the number of VMAs, and a sum over all their members. */
struct walked {
    uint64_t n, sum, end;
};

static int see(const struct vma *vma, void *context)
{
    struct walked *walked = context;
    const uint64_t *number = (const uint64_t *)(const void *)&vma->rss_bytes;

    CLAIM(vma->start < vma->end && walked->end <= vma->start);
    CLAIM(strlen(vma->perms) == 4 && memchr(vma->path, 0, sizeof(vma->path)));
    walked->n++;
    walked->end = vma->end;
    for (size_t i = 0;
         i < (offsetof(struct vma, thp_eligible) - offsetof(struct vma, rss_bytes)) / 8; i++)
        walked->sum = walked->sum * 31 + number[i];
    walked->sum = walked->sum * 31 + vma->inode + vma->offset + strlen(vma->path) + vma->dont_copy +
                  2U * vma->hugetlb + 4U * vma->locked + 8U * vma->mergeable;
    return 0;
}

/* Each send is what one read gets, as from the kernel; the first byte of the input decides how long
 * they are. */
static int parse_pieces(const uint8_t *data, size_t size, struct walked *walked)
{
    size_t piece = 1 + size / 64 + (size ? data[0] : 0);
    struct error error = {0};
    int ends[2];

    CLAIM(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    for (size_t at = 0; at < size; at += piece)
        CLAIM(send(ends[1], data + at, piece < size - at ? piece : size - at, MSG_DONTWAIT) > 0);
    close(ends[1]);

    int rc = parse_file(ends[0], see, walked, &error);

    close(ends[0]);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct walked whole = {0};
    struct walked pieces = {0};
    struct error error = {0};
    int rc = smaps_parse((const char *)data, size, see, &whole, &error);

    CLAIM(rc == 0 || ((rc == -EBADMSG || rc == -EAGAIN) && *error.text));
    CLAIM(parse_pieces(data, size, &pieces) == rc);
    CLAIM(memcmp(&whole, &pieces, sizeof(whole)) == 0);
    return 0;
}
