// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_memory.c  vmwss-guest memory: meminfo for people, and the kernel's own memory. */
#include "base/text/json.h"
#include "base/text/units.h"
#include "command/command.h"
#include "print/columns.h"
#include "print/record.h"
#include "proc/kernel_memory.h"
#include "proc/meminfo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct options {
    uint64_t top;
    bool json;
};

#define AT(member) offsetof(struct options, member)
static const struct option_line lines[] = {
    {OPTION_COUNT, 'n', "top", "N", AT(top), .help = "that many of the largest (10)", 1, INT32_MAX,
     "a number from 1"},
    {OPTION_FLAG, 'j', "json", NULL, AT(json),
     .help = "one JSON object, schema vmwss.guest_memory.v1"},
    {.type = OPTION_END},
};
static const struct command_options command_line = {
    .usage =
        "Usage: vmwss-guest memory [OPTIONS]\n\n"
        "The guest's memory as its kernel counts it; the largest of the kernel's slab caches; and, where the kernel has\n"
        "memory allocation profiling, the lines of its code that hold most memory. The latter two are root's to see.\n",
    .lines = lines,
    .no_arguments = true,
};

/* A list of the kernel's own memory, or the reason why there is none. */
struct list {
    const char *name;
    int (*read)(const struct fsroot *, struct kernel_items *, struct error *);
};
static const struct list lists[] = {{"slab", slab_read}, {"allocations", allocinfo_read}};
#define N_LISTS (sizeof(lists) / sizeof(lists[0]))

static int print_memory(json_t *memory)
{
    static const struct column column[] = {{.name = "WHAT"}, {.name = "BYTES", .right = true}};
    struct columns *columns = columns_new(column, 2);
    const char *name;
    json_t *value;

    json_object_foreach(memory, name, value)
    {
        char what[64], bytes[32];

        snprintf(what, sizeof(what), "%.*s", (int)(strlen(name) - strlen("_bytes")), name);
        show_bytes(bytes, sizeof(bytes), (uint64_t)json_integer_value(value));
        columns_row(columns, (const char *[]){what, bytes});
    }
    return columns_end(columns, true, stdout);
}

static const char *signed_bytes(char *text, size_t size, int64_t bytes)
{
    const size_t minus = bytes < 0;

    *text = '-';
    show_bytes(text + minus, size - minus, minus ? -(uint64_t)bytes : (uint64_t)bytes);
    return text;
}

static bool is_any_inaccurate(const struct kernel_items *items, size_t top)
{
    size_t i = 0;

    while (i < items->n && i < top && !items->item[i].inaccurate)
        i++;
    return i < items->n && i < top;
}

static int print_items(const char *name, const struct kernel_items *items, size_t top)
{
    const struct column column[] = {{.name = "BYTES", .right = true},
                                    {.name = "COUNT", .right = true},
                                    {.name = name},
                                    {.name = "ACCURATE"}};
    struct columns *columns = columns_new(column, is_any_inaccurate(items, top) ? 4 : 3);
    int rc;

    for (size_t i = 0; i < items->n && i < top; i++) {
        const struct kernel_item *item = &items->item[i];
        char bytes[32], count[32];

        snprintf(count, sizeof(count), "%" PRId64, item->count);
        columns_row(columns, (const char *[]){signed_bytes(bytes, sizeof(bytes), item->bytes),
                                              count, item->name, item->inaccurate ? "no" : ""});
    }
    putchar('\n');
    rc = columns_end(columns, true, stdout);
    if (items->n_unread > 0)
        printf("lines that are not understood: %zu\n", items->n_unread);
    return rc;
}

static int print_list(const struct list *list, const struct fsroot *root, size_t top)
{
    struct kernel_items items;
    struct error error = {0};
    int rc;

    if (list->read(root, &items, &error) < 0) {
        printf("\n%s: %s\n", list->name, error.text);
        return 0;
    }
    rc = print_items(!strcmp(list->name, "slab") ? "SLAB CACHE" : "ALLOCATED BY", &items, top);
    kernel_items_free(&items);
    return rc;
}

static void add_list(json_t *object, const struct list *list, const struct fsroot *root, size_t top)
{
    struct kernel_items items;
    struct error error = {0};
    char off[32], unread[32];

    if (list->read(root, &items, &error) < 0) {
        snprintf(off, sizeof(off), "%s_off", list->name);
        json_object_set_new(object, off, json_string(error.text));
        return;
    }
    json_object_set_new(object, list->name, kernel_items_json(&items, top));
    snprintf(unread, sizeof(unread), "%s_unread", list->name);
    if (items.n_unread > 0)
        json_object_set_new(object, unread, json_integer((json_int_t)items.n_unread));
    kernel_items_free(&items);
}

static int print_all(const struct fsroot *root, const struct meminfo *meminfo,
                     const struct options *options)
{
    json_t *memory = meminfo_json(meminfo);
    char time[RECORD_TIME];
    json_t *line;
    int rc;

    if (!options->json) {
        rc = print_memory(memory);
        json_decref(memory);
        for (size_t i = 0; rc == 0 && i < N_LISTS; i++)
            rc = print_list(&lists[i], root, options->top);
        return rc;
    }
    line = json_pack("{ss ss so}", "schema", "vmwss.guest_memory.v1", "time", record_time(time),
                     "memory", memory);
    for (size_t i = 0; line && i < N_LISTS; i++)
        add_list(line, &lists[i], root, options->top);
    return json_print_line(line);
}

static int show_memory(const struct fsroot *root, void *options, char **operands,
                       struct error *error)
{
    struct meminfo meminfo;
    int rc = meminfo_read(root, &meminfo, error);

    (void)operands;
    return rc < 0 ? rc : print_all(root, &meminfo, options);
}

int cmd_memory(int argc, char **argv)
{
    return command_run(&command_line, &(struct options){.top = 10}, argc, argv, show_memory);
}
