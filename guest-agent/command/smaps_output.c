// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file smaps_output.c  See smaps_output.h. */
#include "command/smaps_output.h"

#include "base/text/json.h"
#include "base/text/units.h"
#include "print/columns.h"
#include "print/record.h"
#include "proc/keyed.h"

#include <stdio.h>

#define CELL 32

/* The values of a row, with their names in JSON and in a table. */
static const struct value {
    const char *key, *heading;
    size_t offset;
    bool split; /* only in a split table */
} values[] = {
    {"rss_bytes", "RSS", offsetof(struct process_memory, rss_bytes), false},
    {"pss_bytes", "PSS", offsetof(struct process_memory, pss_bytes), false},
    {"pss_anon_bytes", "ANON", offsetof(struct process_memory, pss_anon_bytes), true},
    {"pss_file_bytes", "FILE", offsetof(struct process_memory, pss_file_bytes), true},
    {"pss_shmem_bytes", "SHMEM", offsetof(struct process_memory, pss_shmem_bytes), true},
    {"uss_bytes", "USS", offsetof(struct process_memory, uss_bytes), false},
    {"referenced_bytes", "REF", offsetof(struct process_memory, referenced_bytes), false},
    {"swap_bytes", "SWAP", offsetof(struct process_memory, swap_bytes), false},
};
#define N_VALUES (sizeof(values) / sizeof(values[0]))

static bool is_shown(const struct smaps_output *output, size_t i)
{
    return output->split || !values[i].split;
}

static size_t rows_shown(const struct smaps_output *output, size_t n)
{
    return output->top > 0 && output->top < n ? output->top : n;
}

static struct columns *make_columns(const struct smaps_output *output,
                                    struct column column[N_VALUES + 2])
{
    size_t n = 0;

    column[n++] = (struct column){.name = output->by == GROUP_NONE ? "PID" : "PROCESSES",
                                  .right = true};
    for (size_t i = 0; i < N_VALUES; i++)
        if (is_shown(output, i))
            column[n++] = (struct column){.name = values[i].heading, .right = true};
    column[n++] = (struct column){.name = output->by == GROUP_USER ? "USER" : "NAME"};
    return columns_new(column, n);
}

/* A process, or a group. */
struct row {
    size_t number;
    const struct process_memory *memory;
    const char *name;
    const char *unknown; /* text for unknown values */
    /* the sums lack some values (but not the RSS, which any user may read), so they are lower
     * bounds */
    bool bound;
};

static void value_cell(char cell[CELL], const struct row *row, size_t i)
{
    uint64_t bytes = process_memory_at(row->memory, values[i].offset);
    bool bound = row->bound && values[i].offset != offsetof(struct process_memory, rss_bytes);

    if (bytes == KEYED_UNKNOWN)
        snprintf(cell, CELL, "%s", row->unknown);
    else
        show_bytes(cell + bound, CELL - bound, bytes);
    if (bytes != KEYED_UNKNOWN && bound)
        *cell = '>';
}

static void add_row(struct columns *columns, const struct smaps_output *output,
                    const struct row *row)
{
    char cell[N_VALUES + 1][CELL];
    const char *text[N_VALUES + 2] = {cell[0]};
    size_t n = 1;

    snprintf(cell[0], CELL, "%zu", row->number);
    for (size_t i = 0; i < N_VALUES; i++) {
        if (!is_shown(output, i))
            continue;
        value_cell(cell[n], row, i);
        text[n] = cell[n];
        n++;
    }
    text[n] = row->name;
    columns_row(columns, text);
}

static void add_process(struct columns *columns, const struct smaps_output *output,
                        const struct process *process)
{
    char name[PROCESS_NAME_MAX + 32];
    int length = snprintf(name, sizeof(name), "%s", process->name);

    if (process->counted)
        snprintf(name + length, sizeof(name) - (size_t)length, " (in memory of %d)",
                 (int)process->shares_with);
    add_row(columns, output,
            &(struct row){(size_t)process->pid, &process->memory, name,
                          process->counted ? "-" : "?", false});
}

static int print_table(const struct smaps_output *output, const struct processes *processes,
                       const struct process_groups *groups)
{
    struct column column[N_VALUES + 2];
    struct columns *columns = make_columns(output, column);

    for (size_t i = 0; groups && i < rows_shown(output, groups->n); i++) {
        const struct process_group *group = &groups->group[i];

        add_row(columns, output,
                &(struct row){group->n, &group->memory, group->name, "?", group->unread > 0});
    }
    for (size_t i = 0; !groups && i < rows_shown(output, processes->n); i++)
        add_process(columns, output, &processes->process[i]);
    return columns_end(columns, true, stdout);
}

static json_t *with_memory(json_t *object, const struct process_memory *memory)
{
    for (size_t i = 0; i < N_VALUES; i++)
        json_set_known(object, values[i].key, process_memory_at(memory, values[i].offset));
    return object;
}

static json_t *processes_list_json(const struct smaps_output *output,
                                   const struct processes *processes)
{
    json_t *array = json_array();

    for (size_t i = 0; i < rows_shown(output, processes->n); i++) {
        const struct process *process = &processes->process[i];
        json_t *object = with_memory(
            json_pack("{si ss}", "pid", (int)process->pid, "name", process->name),
            &process->memory);

        if (process->counted)
            json_object_set_new(object, "same_memory_as", json_integer(process->shares_with));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *groups_list_json(const struct smaps_output *output,
                                const struct process_groups *groups)
{
    json_t *array = json_array();

    for (size_t i = 0; i < rows_shown(output, groups->n); i++) {
        const struct process_group *group = &groups->group[i];

        json_array_append_new(array,
                              with_memory(json_pack("{ss si si}", "name", group->name, "processes",
                                                    (int)group->n, "unread", (int)group->unread),
                                          &group->memory));
    }
    return array;
}

static int print_json(const struct smaps_output *output, const struct processes *processes,
                      const struct process_groups *groups)
{
    char time[RECORD_TIME];
    json_t *line = json_pack("{ss ss si so sb sb si}", "schema", "vmwss.guest_smaps.v1", "time",
                             record_time(time), "ended", (int)processes->ended, "refused",
                             processes->hidden ? json_null()
                                               : json_integer((json_int_t)processes->refused),
                             "hidden", processes->hidden, "sharing_unknown",
                             processes->sharing_unknown, "failed", (int)processes->failed);

    if (line && groups) {
        json_object_set_new(line, "by", json_string(output->by == GROUP_USER ? "user" : "program"));
        json_object_set_new(line, "groups", groups_list_json(output, groups));
    } else if (line) {
        json_object_set_new(line, "processes", processes_list_json(output, processes));
    }
    return json_print_line(line);
}

int smaps_output_print(const struct smaps_output *output, const struct processes *processes,
                       const struct process_groups *groups)
{
    return output->json ? print_json(output, processes, groups)
                        : print_table(output, processes, groups);
}
