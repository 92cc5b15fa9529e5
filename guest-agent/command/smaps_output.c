// SPDX-License-Identifier: LGPL-2.1-or-later
#include "command/smaps_output.h"

#include "print/record.h"
#include "proc/keyed.h"

#include <string.h>

#define AT(member) offsetof(struct process_memory, member)
#define VALUE(text)                   \
    {                                 \
        .name = (text), .right = true \
    }
/* The columns, and the offsets of those that are values in struct process_memory. */
static const struct value {
    struct sheet_column column;
    size_t offset;
    bool split; /* only in a split table */
} values[] = {
    {{"rss_bytes", VALUE("RSS")}, AT(rss_bytes), false},
    {{"pss_bytes", VALUE("PSS")}, AT(pss_bytes), false},
    {{"pss_anon_bytes", VALUE("ANON")}, AT(pss_anon_bytes), true},
    {{"pss_file_bytes", VALUE("FILE")}, AT(pss_file_bytes), true},
    {{"pss_shmem_bytes", VALUE("SHMEM")}, AT(pss_shmem_bytes), true},
    {{"uss_bytes", VALUE("USS")}, AT(uss_bytes), false},
    {{"referenced_bytes", VALUE("REF")}, AT(referenced_bytes), false},
    {{"swap_bytes", VALUE("SWAP")}, AT(swap_bytes), false},
};
#define N_VALUES COUNT(values)
#define N_COLUMNS (N_VALUES + 2)

static void set_columns(const struct smaps_output *output, struct sheet_column columns[N_COLUMNS])
{
    const bool grouped = output->by != GROUP_NONE;

    columns[0] = (struct sheet_column){grouped ? "processes" : "pid",
                                       VALUE(grouped ? "PROCESSES" : "PID")};
    for (size_t i = 0; i < N_VALUES; i++)
        columns[i + 1] = values[i].column;
    columns[N_COLUMNS - 1] = (struct sheet_column){
        "name", {.name = output->by == GROUP_USER ? "USER" : "NAME"}};
}

/* @p unknown: the cell of an unknown value. @p bound: the sums lack some values (but not the RSS,
 * which any user may read), so they are lower bounds. */
static void set_memory(struct sheet *sheet, const struct process_memory *memory,
                       const char *unknown, bool bound)
{
    for (size_t i = 0; i < N_VALUES; i++) {
        const char *key = values[i].column.key;
        uint64_t bytes = process_memory_at(memory, values[i].offset);

        sheet_bytes(sheet, key, bytes);
        if (bytes == KEYED_UNKNOWN)
            sheet_cell(sheet, key, "%s", unknown);
        else if (bound && values[i].offset != AT(rss_bytes))
            sheet_cell(sheet, key, ">%s", BYTES_TEXT(bytes));
    }
}

static void set_process(struct sheet *sheet, const struct process *process)
{
    sheet_row(sheet);
    sheet_count(sheet, "pid", (uint64_t)process->pid);
    sheet_put(sheet, "name", json_string(process->name), process->name);
    set_memory(sheet, &process->memory, process->counted ? "-" : "?", false);
    if (!process->counted)
        return;
    sheet_cell(sheet, "name", "%s (in memory of %d)", process->name, (int)process->shares_with);
    sheet_count(sheet, "same_memory_as", (uint64_t)process->shares_with);
}

static void set_group(struct sheet *sheet, const struct process_group *group)
{
    sheet_row(sheet);
    sheet_put(sheet, "name", json_string(group->name), group->name);
    sheet_count(sheet, "processes", group->n);
    sheet_count(sheet, "unread", group->unread);
    set_memory(sheet, &group->memory, "?", group->unread > 0);
}

int smaps_output_print(const struct smaps_output *output, const struct processes *processes,
                       const struct process_groups *groups)
{
    const size_t n = groups ? groups->n : processes->n;
    struct sheet_column columns[N_COLUMNS];
    struct sheet sheet;

    record_begin(&sheet, output->json ? SHOW_JSON : SHOW_TABLE, "vmwss.guest_smaps.v1");
    sheet_count(&sheet, "ended", processes->ended);
    if (processes->hidden)
        sheet_unknown(&sheet, "refused");
    else
        sheet_count(&sheet, "refused", processes->refused);
    sheet_bool(&sheet, "hidden", processes->hidden);
    sheet_bool(&sheet, "sharing_unknown", processes->sharing_unknown);
    sheet_count(&sheet, "failed", processes->failed);
    if (groups)
        sheet_text(&sheet, "by", output->by == GROUP_USER ? "user" : "program");
    set_columns(output, columns);
    sheet_list(&sheet, groups ? "groups" : "processes", columns, N_COLUMNS);
    for (size_t i = 0; i < N_VALUES && !output->split; i++)
        if (values[i].split)
            sheet_hide(&sheet, values[i].column.key);
    for (size_t i = 0; i < n && (output->top == 0 || i < output->top); i++)
        if (groups)
            set_group(&sheet, &groups->group[i]);
        else
            set_process(&sheet, &processes->process[i]);
    sheet_close(&sheet);
    return sheet_end(&sheet);
}
