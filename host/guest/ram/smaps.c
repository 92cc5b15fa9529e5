// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file smaps.c  See smaps.h.
 *
 * A VMA is one header line ("7f00-7f01 rw-p 00000000 00:00 0   PATH") and its fields ("Rss:  4
 * kB"). Fields begin with a capital letter, headers with a lower-case hexadecimal digit. Fields
 * that are not listed below are skipped, so that a newer kernel may have more.
 */
#include "guest/ram/smaps.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SMAPS_BYTES                                                      \
    (256UL << 20) /* some 300,000 VMAs; the kernel's default limit is 65,530 \
                   */
#define MAX_LINE_BYTES \
    (20UL << 10) /* a path of PATH_MAX, every byte written as \ooo, and a header */
#define KIB 1024ULL
#define PIECE_BYTES (32UL << 10) /* more than the longest line */

/* The kernel prints whole VMAs into a buffer of one page until it has the requested number of
 * bytes. It walks a VMA page by page, and drops its text if that does not fit; the next read walks
 * it again, so guest RAM would be walked twice. Half a page leaves room for any VMA with a short
 * path. */
#define READ_BYTES 2048

/* One line, without its newline. */
struct line {
    const char *at;
    const char *end;
};

/* The destination of a field. A field named twice here adds up (hugetlb). */
struct field {
    const char *name;
    size_t length; /* length of the name */
    size_t offset;
};

#define FIELD(name, member)                                  \
    {                                                        \
        name, sizeof(name) - 1, offsetof(struct vma, member) \
    }

static const struct field fields[] = {
    FIELD("Rss", rss_bytes),
    FIELD("Pss", pss_bytes),
    FIELD("Anonymous", anon_bytes),
    FIELD("Referenced", referenced_bytes),
    FIELD("Shared_Clean", shared_bytes),
    FIELD("Shared_Dirty", shared_bytes),
    FIELD("Swap", swap_bytes),
    FIELD("SwapPss", swap_pss_bytes),
    FIELD("Locked", locked_bytes),
    FIELD("AnonHugePages", anon_huge_bytes),
    FIELD("ShmemPmdMapped", shmem_pmd_bytes),
    FIELD("FilePmdMapped", file_pmd_bytes),
    FIELD("Private_Hugetlb", hugetlb_bytes),
    FIELD("Shared_Hugetlb", hugetlb_bytes),
    FIELD("KernelPageSize", page_bytes),
};

static int line_error(struct error *error, int code, const struct line *line, const char *what)
{
    size_t length = (size_t)(line->end - line->at);

    return error_set(error, code, "smaps: %s: \"%.*s\"", what, (int)(length < 120 ? length : 120),
                     line->at);
}

static int bad_line(struct error *error, const struct line *line, const char *what)
{
    return line_error(error, -EBADMSG, line, what);
}

/* Returns -1 if it is not a digit of @p base (10 or 16, lower case). */
static int digit_value(char c, unsigned base)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return base == 16 && c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes digits; false if there are no digits, or if the number does not fit in 64 bits. */
static bool take_digits(struct line *rest, unsigned base, uint64_t *number)
{
    const char *begin = rest->at;
    uint64_t value = 0;

    for (int digit; rest->at < rest->end && (digit = digit_value(*rest->at, base)) >= 0; rest->at++)
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, (unsigned)digit, &value))
            return false;
    *number = value;
    return rest->at > begin;
}

/* Takes a number and the character @p after behind it. */
static bool take_number(struct line *rest, unsigned base, char after, uint64_t *number)
{
    return take_digits(rest, base, number) && rest->at < rest->end && *rest->at++ == after;
}

static void skip_spaces(struct line *rest)
{
    while (rest->at < rest->end && *rest->at == ' ')
        rest->at++;
}

static bool take_perms(struct line *rest, char perms[5])
{
    if (rest->end - rest->at < 5 || rest->at[4] != ' ')
        return false;
    memcpy(perms, rest->at, 4);
    perms[4] = '\0';
    rest->at += 5;
    return strspn(perms, "rwxps-") == 4;
}

/* The inode, and behind spaces the path, if any. */
static bool take_file(struct line *rest, struct vma *vma)
{
    if (!take_digits(rest, 10, &vma->inode) || (rest->at < rest->end && *rest->at != ' '))
        return false;
    skip_spaces(rest);
    size_t length = (size_t)(rest->end - rest->at);

    if (length >= sizeof(vma->path))
        length = sizeof(vma->path) - 1;
    memcpy(vma->path, rest->at, length);
    vma->path[length] = '\0';
    return true;
}

static int parse_header(const struct line *line, struct vma *vma, struct error *error)
{
    struct line rest = *line;
    uint64_t major;
    uint64_t minor;

    memset(vma, 0, sizeof(*vma));
    if (!take_number(&rest, 16, '-', &vma->start) || !take_number(&rest, 16, ' ', &vma->end) ||
        !take_perms(&rest, vma->perms) || !take_number(&rest, 16, ' ', &vma->offset) ||
        !take_number(&rest, 16, ':', &major) || !take_number(&rest, 16, ' ', &minor) ||
        major > UINT32_MAX || minor > UINT32_MAX || !take_file(&rest, vma))
        return bad_line(error, line, "not the header of a VMA");
    if (vma->end <= vma->start)
        return bad_line(error, line, "the VMA ends before it begins");
    vma->device = (struct device_number){(unsigned)major, (unsigned)minor};
    return 0;
}

/* "       123 kB" */
static bool take_kib(struct line *rest, uint64_t *bytes)
{
    uint64_t kib;

    skip_spaces(rest);
    if (!take_number(rest, 10, ' ', &kib) || rest->end - rest->at != 2 ||
        memcmp(rest->at, "kB", 2) != 0)
        return false;
    return !__builtin_mul_overflow(kib, KIB, bytes);
}

/* Two letters each, separated by spaces. */
static void parse_flags(struct line rest, struct vma *vma)
{
    for (skip_spaces(&rest); rest.end - rest.at >= 2; skip_spaces(&rest)) {
        vma->dont_copy |= memcmp(rest.at, "dc", 2) == 0;
        vma->mergeable |= memcmp(rest.at, "mg", 2) == 0;
        vma->locked |= memcmp(rest.at, "lo", 2) == 0;
        vma->hugetlb |= memcmp(rest.at, "ht", 2) == 0;
        rest.at += 2;
    }
}

/* Returns true if the name before @p colon is @p name. A walk calls this for a dozen names a line,
 * on thousands of lines. */
static inline bool named(const struct line *line, const char *colon, const char *name,
                         size_t length)
{
    return (size_t)(colon - line->at) == length && *line->at == *name &&
           memcmp(line->at, name, length) == 0;
}

#define NAMED(line, colon, name) named(line, colon, name, sizeof(name) - 1)

static const struct field *find_field(const struct line *line, const char *colon)
{
    for (size_t i = 0; i < COUNT(fields); i++)
        if (named(line, colon, fields[i].name, fields[i].length))
            return &fields[i];
    return NULL;
}

static int parse_size_field(const struct line *line, const char *colon, struct vma *vma,
                            struct error *error)
{
    const struct field *field = find_field(line, colon);
    struct line rest = {colon + 1, line->end};
    uint64_t bytes;

    if (!field)
        return 0;

    uint64_t *sum = (uint64_t *)(void *)((char *)vma + field->offset);

    if (!take_kib(&rest, &bytes) || __builtin_add_overflow(*sum, bytes, sum))
        return bad_line(error, line, "not a size in kB");
    return 0;
}

static int parse_field(const struct line *line, struct vma *vma, struct error *error)
{
    const char *colon = memchr(line->at, ':', (size_t)(line->end - line->at));

    if (!colon || *line->at < 'A' || *line->at > 'Z')
        return bad_line(error, line, "neither a VMA nor one of its fields");

    struct line rest = {colon + 1, line->end};
    uint64_t eligible;

    if (NAMED(line, colon, "VmFlags")) {
        parse_flags(rest, vma);
        return 0;
    }
    if (!NAMED(line, colon, "THPeligible"))
        return parse_size_field(line, colon, vma, error);
    skip_spaces(&rest);
    if (!take_digits(&rest, 10, &eligible) || rest.at < rest.end)
        return bad_line(error, line, "not a number");
    vma->thp_eligible = eligible != 0;
    return 0;
}

/* @p newline: the end of the line, or of the text. */
static int take_line(const char *at, const char *newline, struct line *line, struct error *error)
{
    *line = (struct line){at, newline};
    if (line->end - line->at > (ptrdiff_t)MAX_LINE_BYTES)
        return bad_line(error, line, "a line is too long");
    if (memchr(line->at, '\0', (size_t)(line->end - line->at)))
        return bad_line(error, line, "a NUL in a line");
    return 0;
}

static bool is_header(const struct line *line)
{
    return line->at < line->end && digit_value(*line->at, 16) >= 0;
}

/* A walk over a text, with the VMA whose lines are read; its end is 0 before the first. */
struct walk {
    struct vma vma;
    vma_visitor visit;
    void *context;
    struct error *error;
};

/* A header ends the VMA before it. If that one has grown since it was read, as a heap does all the
 * time, the kernel goes on inside of it and prints it again, whole: the first text is dropped. */
static int parse_line(const struct line *line, struct walk *walk)
{
    const uint64_t before = walk->vma.end;
    struct vma next;

    if (!is_header(line)) {
        if (before == 0)
            return bad_line(walk->error, line, "a field before any VMA");
        return parse_field(line, &walk->vma, walk->error);
    }

    int rc = parse_header(line, &next, walk->error);
    const bool grown = rc == 0 && next.start == walk->vma.start && next.end > before;

    if (rc == 0 && next.start < before && !grown)
        rc = line_error(walk->error, -EAGAIN, line,
                        "VMAs overlap (they changed while they were read)");
    if (rc == 0 && before && !grown)
        rc = walk->visit(&walk->vma, walk->context);
    walk->vma = next;
    return rc;
}

/* Parses the complete lines, or all of them when no more text will come. */
static int parse_lines(struct walk *walk, const char **at, const char *end, bool all)
{
    while (*at < end) {
        const char *newline = memchr(*at, '\n', (size_t)(end - *at));
        struct line line;

        if (!newline && !all)
            return 0;

        int rc = take_line(*at, newline ? newline : end, &line, walk->error);

        *at = newline ? newline + 1 : end;
        if (rc == 0)
            rc = parse_line(&line, walk);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Ends the last VMA. */
static int end_walk(const struct walk *walk, int rc)
{
    return rc == 0 && walk->vma.end ? walk->visit(&walk->vma, walk->context) : rc;
}

int smaps_parse(const char *text, size_t length, vma_visitor visit, void *context,
                struct error *error)
{
    struct walk walk = {.visit = visit, .context = context, .error = error};
    const char *at = text;

    return end_walk(&walk, parse_lines(&walk, &at, text + length, true));
}

static ssize_t read_some(int fd, char *text, size_t size)
{
    ssize_t n;

    do
        n = read(fd, text, size < READ_BYTES ? size : READ_BYTES);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

/* Reads in pieces, so that a visitor who ends the walk also ends the kernel's walk over every page
 * of each VMA. */
static int parse_file(int fd, vma_visitor visit, void *context, struct error *error)
{
    cleanup_free char *text = malloc(PIECE_BYTES);
    struct walk walk = {.visit = visit, .context = context, .error = error};
    size_t have = 0;
    size_t sum = 0;
    ssize_t n = text ? 1 : -ENOMEM;
    int rc = 0;

    while (rc == 0 && n > 0) {
        const char *at = text;

        n = read_some(fd, text + have, PIECE_BYTES - have);
        if (n < 0)
            break;
        have += (size_t)n;
        sum += (size_t)n;
        rc = parse_lines(&walk, &at, text + have, n == 0);
        if (rc == 0 && at == text && have == PIECE_BYTES) /* no line at all: it is too long */
            rc = parse_lines(&walk, &at, text + have, true);
        have -= (size_t)(at - text);
        memmove(text, at, have);
        if (sum > MAX_SMAPS_BYTES)
            n = -EFBIG;
    }
    if (n < 0)
        return error_set(error, (int)n, "%s", strerror((int)-n));
    return end_walk(&walk, rc);
}

static int walk_once(const struct fsroot *root, pid_t pid, const char *file, vma_visitor visit,
                     void *context, struct error *failed)
{
    cleanup_close int fd = fsroot_openf(root, O_RDONLY, "proc/%d/%s", (int)pid, file);

    return fd < 0 ? error_set(failed, fd, "%s", strerror(-fd))
                  : parse_file(fd, visit, context, failed);
}

/* A process that begins maps memory all the time, but each change must fall between two read(2). */
#define WALKS_MAX 10

static int walk_vmas(const struct fsroot *root, pid_t pid, const char *file, vma_visitor visit,
                     void *context, struct error *error)
{
    struct error failed = {0};
    int rc = walk_once(root, pid, file, visit, context, &failed);

    for (unsigned walks = 1; rc == -EAGAIN && walks < WALKS_MAX; walks++) {
        failed = (struct error){0};
        rc = visit(NULL, context);
        if (rc == 0)
            rc = walk_once(root, pid, file, visit, context, &failed);
    }

    if (failed.code == -ENOENT || failed.code == -ESRCH)
        return error_set(error, -ESRCH, "process %d: there is no such process", (int)pid);
    if (failed.code == -EACCES || failed.code == -EPERM)
        return error_set(error, -EACCES, "/proc/%d/%s: not permitted; run as root", (int)pid, file);
    if (failed.code == -EBADMSG || failed.code == -EAGAIN)
        return error_set(error, -EBADMSG, "/proc/%d: %s", (int)pid, failed.text);
    if (failed.code < 0)
        return error_set(error, failed.code, "/proc/%d/%s: %s", (int)pid, file, failed.text);
    return rc;
}

int smaps_walk(const struct fsroot *root, pid_t pid, vma_visitor visit, void *context,
               struct error *error)
{
    return walk_vmas(root, pid, "smaps", visit, context, error);
}

int smaps_walk_thread(const struct fsroot *root, pid_t pid, pid_t tid, vma_visitor visit,
                      void *context, struct error *error)
{
    char file[32];

    snprintf(file, sizeof(file), "task/%d/smaps", (int)tid);
    return walk_vmas(root, pid, file, visit, context, error);
}

int maps_walk(const struct fsroot *root, pid_t pid, vma_visitor visit, void *context,
              struct error *error)
{
    return walk_vmas(root, pid, "maps", visit, context, error);
}
