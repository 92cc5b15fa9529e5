// SPDX-License-Identifier: LGPL-2.1-or-later
#include "proc/kernel_memory.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/kernel_number.h"
#include "base/page_sizes.h"
#include "proc/hidden.h"
#include "proc/rights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Some 5,000 call sites allocate, with 80 bytes a line; slabinfo is far smaller. */
#define FILE_MAX ((size_t)8 << 20)

void kernel_items_free(struct kernel_items *items)
{
    free(items->item);
    *items = (struct kernel_items){0};
}

static int largest_first(const void *a, const void *b)
{
    const struct kernel_item *x = (const struct kernel_item *)a, *y = (const struct kernel_item *)b;

    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : strcmp(x->name, y->name);
}

/* Returns where the last @p n words of text[0 .. length) begin. */
static size_t last_words(const char *text, size_t length, unsigned n)
{
    for (; n > 0; n--) {
        while (length > 0 && text[length - 1] == ' ')
            length--;
        while (length > 0 && text[length - 1] != ' ')
            length--;
    }
    return length;
}

static void take_name(struct kernel_item *item, const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == ' ')
        length--;
    snprintf(item->name, sizeof(item->name), "%.*s", (int)length, text);
}

/* A file of items, and the number of numeric columns in a line, not counting those after a ':'. */
struct file {
    const char *path;
    bool (*parse)(const char *line, unsigned columns, struct kernel_item *item);
    unsigned columns;
    unsigned lines; /* number of lines taken */
};

/* Finds the last @p mark, because a name may contain it, too. */
static const char *last_mark(const char *line, const char *mark)
{
    const char *last = NULL;

    for (const char *at = strstr(line, mark); at; at = strstr(at + 1, mark))
        last = at;
    return last;
}

/* "dentry 5000 5103 192 21 1 : tunables 0 0 0 : slabdata 243 243 0": a name may contain blanks, so
 * the columns after it are found from the end. */
static bool parse_slab(const char *line, unsigned columns, struct kernel_item *item)
{
    const char *tunables = last_mark(line, " : tunables ");
    const char *slabdata = tunables ? strstr(tunables, " : slabdata ") : NULL;
    size_t begin = tunables ? last_words(line, (size_t)(tunables - line), columns) : 0;
    int64_t active, object_bytes, objects, pages, slabs;
    const char *rest = kernel_s64(kernel_s64(line + begin, &active), &item->count);

    if (begin == 0 || !slabdata ||
        !kernel_s64(kernel_s64(kernel_s64(rest, &object_bytes), &objects), &pages) ||
        !kernel_s64(kernel_s64(slabdata + strlen(" : slabdata "), &active), &slabs) ||
        __builtin_mul_overflow(pages, slabs, &item->bytes) ||
        __builtin_mul_overflow(item->bytes, (int64_t)base_page_bytes(), &item->bytes))
        return false;
    take_name(item, line, begin);
    return *item->name != '\0';
}

/* "  4096  1 mm/filemap.c:1919 [module] func:name", since version 2.0 followed by pairs such as
 * "accurate:no" (lib/alloc_tag.c, alloc_tag_to_text()). */
static bool parse_allocation(const char *line, unsigned columns, struct kernel_item *item)
{
    const char *name = kernel_s64(kernel_s64(line, &item->bytes), &item->count);
    int64_t more;

    for (; columns > 2; columns--)
        name = kernel_s64(name, &more);
    if (!name || *name != ' ')
        return false;
    name += strspn(name, " ");

    const char *function = strstr(name, " func:");
    const char *last = function ? function + 1 : name;
    size_t length = (size_t)(last - name) + strcspn(last, " ");

    take_name(item, name, length);
    item->inaccurate = strstr(name + length, " accurate:no") != NULL;
    return *item->name != '\0';
}

/* The first line, "slabinfo - version: 2.1", and the second, "# name <active_objs> <num_objs> ... :
 * tunables ..." or "#     <size>  <calls> <tag info>", which names the columns (a kernel may have
 * more). A later line that looks like these belongs to an item with such a name. */
static bool take_heading(const char *line, struct file *file)
{
    const char *end = line + strcspn(line, ":");
    const char *tag = strstr(line, "<tag");
    unsigned columns = 0, before = file->lines++;

    if (*line != '#' || before > 1)
        return before == 0 && strstr(line, " - version: ");
    for (const char *at = line; at < end && at != tag; at++)
        columns += *at == '<';
    file->columns = columns > file->columns ? columns : file->columns;
    return true;
}

static int parse_lines(char *text, struct file file, struct kernel_items *items)
{
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct kernel_item item = {0};

        if (take_heading(line, &file))
            continue;
        if (!file.parse(line, file.columns, &item)) {
            items->n_unread++;
            continue;
        }
        if (item.bytes != 0 && array_put(&items->item, &items->n, &item, sizeof(item)) < 0)
            return -ENOMEM;
    }
    if (items->n > 0)
        qsort(items->item, items->n, sizeof(*items->item), largest_first);
    return 0;
}

static int read_items(const struct fsroot *root, struct file file, struct kernel_items *items,
                      struct error *error)
{
    cleanup_free char *text = NULL;
    ssize_t rc = fsroot_read_all(root, &text, FILE_MAX, "%s", file.path);

    *items = (struct kernel_items){0};
    if (rc >= 0)
        rc = parse_lines(text, file, items);
    if (rc < 0) {
        kernel_items_free(items);
        if (rc == -ENOENT && !proc_file_missing(root))
            return error_set(error, (int)rc, "no /%s: the kernel has none (CONFIG_SLUB_DEBUG)",
                             file.path);
        if (rc == -ENOENT)
            return proc_error(root, error, (int)rc, file.path);
        return error_set(error, (int)rc, "/%s: %s%s%s", file.path, strerror((int)-rc),
                         rc == -EACCES || rc == -EPERM ? "; " : "",
                         rc == -EACCES || rc == -EPERM ? RIGHTS_REMEDY(CAP_DAC_READ_SEARCH) : "");
    }
    return 0;
}

int slab_read(const struct fsroot *root, struct kernel_items *items, struct error *error)
{
    return read_items(root, (struct file){"proc/slabinfo", parse_slab, 5, 0}, items, error);
}

int allocinfo_read(const struct fsroot *root, struct kernel_items *items, struct error *error)
{
    uint64_t on = 1;

    *items = (struct kernel_items){0};
    if (proc_file_missing(root))
        return proc_error(root, error, -ENOENT, "proc/allocinfo");
    if (!fsroot_exists(root, "proc/allocinfo"))
        return error_set(error, -ENOTSUP,
                         "no /proc/allocinfo: the kernel has no memory allocation profiling "
                         "(CONFIG_MEM_ALLOC_PROFILING, Linux 6.10), or was booted with "
                         "sysctl.vm.mem_profiling=never");
    if (fsroot_read_u64(root, &on, "proc/sys/vm/mem_profiling") == 0 && on == 0)
        return error_set(
            error, -ENOTSUP,
            "/proc/allocinfo: memory allocation profiling is off: "
            "echo 1 >/proc/sys/vm/mem_profiling, or, where that is not permitted, boot with "
            "sysctl.vm.mem_profiling=1");
    return read_items(root, (struct file){"proc/allocinfo", parse_allocation, 2, 0}, items, error);
}
