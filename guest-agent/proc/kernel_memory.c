// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kernel_memory.c  See kernel_memory.h. */
#include "proc/kernel_memory.h"

#include "base/cleanup.h"
#include "base/page_sizes.h"
#include "proc/rights.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Some 5,000 lines of code allocate, at 80 bytes a line; slabinfo is far smaller. */
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

/* "dentry 5000 5103 192 21 1 : tunables 0 0 0 : slabdata 243 243 0" */
static bool parse_slab(const char *line, struct kernel_item *item)
{
    uint64_t pages, slabs;

    if (sscanf(line,
               "%127s %*u %" SCNu64 " %*u %*u %" SCNu64
               " : tunables %*u %*u %*u : slabdata %*u %" SCNu64,
               item->name, &item->count, &pages, &slabs) != 4)
        return false;
    item->bytes = pages * slabs * base_page_bytes();
    return true;
}

/* "  4096  1 mm/filemap.c:1919 [module] func:name" */
static bool parse_allocation(const char *line, struct kernel_item *item)
{
    if (sscanf(line, "%" SCNu64 " %" SCNu64 " %127[^\n]", &item->bytes, &item->count, item->name) !=
        3)
        return false;
    for (size_t end = strlen(item->name); end > 0 && item->name[end - 1] == ' '; end--)
        item->name[end - 1] = '\0';
    return true;
}

/* Lines that are no items, such as the headings, are passed over. */
static int parse_lines(char *text, bool (*parse)(const char *, struct kernel_item *),
                       struct kernel_items *items)
{
    size_t room = 0;
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct kernel_item item;

        if (!parse(line, &item) || item.bytes == 0)
            continue;
        if (items->n == room) {
            struct kernel_item *grown;

            room = room ? 2 * room : 256;
            grown = reallocarray(items->item, room, sizeof(*grown));
            if (!grown)
                return -ENOMEM;
            items->item = grown;
        }
        items->item[items->n++] = item;
    }
    if (items->n > 0)
        qsort(items->item, items->n, sizeof(*items->item), largest_first);
    return 0;
}

static int read_items(const struct fsroot *root, const char *path,
                      bool (*parse)(const char *, struct kernel_item *), struct kernel_items *items,
                      struct error *error)
{
    cleanup_free char *text = NULL;
    ssize_t rc = fsroot_read_all(root, &text, FILE_MAX, "%s", path);

    *items = (struct kernel_items){0};
    if (rc >= 0)
        rc = parse_lines(text, parse, items);
    if (rc < 0) {
        kernel_items_free(items);
        return error_set(error, (int)rc, "/%s: %s%s%s", path, strerror((int)-rc),
                         rc == -EACCES || rc == -EPERM ? "; " : "",
                         rc == -EACCES || rc == -EPERM ? RIGHTS_REMEDY(CAP_DAC_READ_SEARCH) : "");
    }
    return 0;
}

int slab_read(const struct fsroot *root, struct kernel_items *items, struct error *error)
{
    return read_items(root, "proc/slabinfo", parse_slab, items, error);
}

int allocinfo_read(const struct fsroot *root, struct kernel_items *items, struct error *error)
{
    uint64_t on = 1;

    *items = (struct kernel_items){0};
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
    return read_items(root, "proc/allocinfo", parse_allocation, items, error);
}

json_t *kernel_items_json(const struct kernel_items *items, size_t top)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < items->n && i < top; i++)
        json_array_append_new(array, json_pack("{ss sI sI}", "name", items->item[i].name, "bytes",
                                               (json_int_t)items->item[i].bytes, "count",
                                               (json_int_t)items->item[i].count));
    return array;
}
