// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_memory.c  vmwss-guest memory: meminfo for people, and the kernel's own memory. */
#include "command/command.h"
#include "print/record.h"
#include "proc/kernel_memory.h"
#include "proc/meminfo.h"

#include <inttypes.h>

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

/* A list of the kernel's own memory. */
static const struct list {
    const char *name, *heading, *unread, *off; /* off: why there is none */
    int (*read)(const struct fsroot *, struct kernel_items *, struct error *);
} lists[] = {
    {"slab", "SLAB CACHE", "slab_unread", "slab_off", slab_read},
    {"allocations", "ALLOCATED BY", "allocations_unread", "allocations_off", allocinfo_read},
};

static void set_items(struct sheet *sheet, const struct list *list,
                      const struct kernel_items *items, size_t top)
{
    const struct sheet_column columns[] = {{"bytes", {.name = "BYTES", .right = true}},
                                           {"count", {.name = "COUNT", .right = true}},
                                           {"name", {.name = list->heading}},
                                           {"accurate", {.name = "ACCURATE"}}};
    bool accurate = true;

    sheet_note(sheet, "%s", "");
    sheet_list(sheet, list->name, columns, 4);
    for (size_t i = 0; i < items->n && i < top; i++) {
        const struct kernel_item *item = &items->item[i];

        sheet_row(sheet);
        sheet_text(sheet, "name", item->name);
        sheet_json(sheet, "bytes", json_integer(item->bytes));
        sheet_cell_bytes(sheet, "bytes", (double)item->bytes);
        sheet_json(sheet, "count", json_integer(item->count));
        sheet_cell(sheet, "count", "%" PRId64, item->count);
        if (item->inaccurate)
            sheet_bool(sheet, "accurate", false);
        accurate = accurate && !item->inaccurate;
    }
    if (accurate)
        sheet_hide(sheet, "accurate");
    sheet_close(sheet);
    if (items->n_unread == 0)
        return;
    sheet_count(sheet, list->unread, items->n_unread);
    sheet_note(sheet, "lines that are not understood: %zu", items->n_unread);
}

static void set_list(struct sheet *sheet, const struct list *list, const struct fsroot *root,
                     size_t top)
{
    struct kernel_items items;
    struct error error = {0};

    if (list->read(root, &items, &error) < 0) {
        sheet_text(sheet, list->off, error.text);
        sheet_note(sheet, "\n%s: %s", list->name, error.text);
        return;
    }
    set_items(sheet, list, &items, top);
    kernel_items_free(&items);
}

static int show_memory(const struct fsroot *root, void *at, char **operands, struct error *error)
{
    const struct options *options = at;
    struct meminfo meminfo;
    struct sheet sheet;
    int rc = meminfo_read(root, &meminfo, error);

    (void)operands;
    if (rc < 0)
        return rc;
    record_begin(&sheet, options->json ? SHOW_JSON : SHOW_TABLE, "vmwss.guest_memory.v1");
    record_members(&sheet, "memory", meminfo_json(&meminfo), "BYTES");
    for (size_t i = 0; i < COUNT(lists); i++)
        set_list(&sheet, &lists[i], root, options->top);
    return sheet_end(&sheet);
}

int cmd_memory(int argc, char **argv)
{
    return command_run(&command_line, &(struct options){.top = 10}, argc, argv, show_memory);
}
