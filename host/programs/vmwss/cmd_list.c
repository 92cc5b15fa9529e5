// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_list.c  vmwss list: the guests of this host and how each can be measured. */
#include "base/cleanup.h"
#include "base/text/json.h"
#include "base/text/units.h"
#include "guest/ram/resident.h"
#include "programs/vmwss/cli.h"
#include "programs/vmwss/survey.h"
#include "show/table.h"

#include <errno.h>
#include <string.h>

/* One guest of the list; unknown fields stay empty. */
struct row {
    char name[256];
    char uuid[37];
    pid_t pid;
    const char *state;
    const char *accel;
    bool surveyed;
    uint64_t process_bytes; /* not surveyed: resident memory of the process; 0: not known */
    struct survey survey;
    struct error problem;
};

/* For a guest that can be measured, REASON is shown only with --verbose: the reasons of all methods
 * that cannot measure it, in one cell. */
static const struct table_column columns[] = {
    {.name = "DOMAIN", .cut = true},
    {.name = "PID", .right = true, .rank = 4},
    {.name = "STATE", .rank = 2},
    {.name = "ACCEL", .rank = 5},
    {.name = "RAM", .right = true, .rank = 1},
    {.name = "RESIDENT", .right = true, .rank = 3},
    {.name = "BACKING", .rank = 6},
    {.name = "PAGE", .right = true, .rank = 6},
    {.name = "METHOD"},
    {.name = "REASON", .last = true},
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* "anon", "anon+hugetlb": the kinds of backing among the blocks */
static void join_backings(char *text, size_t size, const struct guest_ram *ram)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t b = 0; b < ram->n_blocks; b++) {
        const char *name = ram_backing_name(ram->blocks[b].backing);

        if (!strstr(text, name) && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "+" : "", name);
    }
}

static uint64_t largest_page_bytes(const struct guest_ram *ram)
{
    uint64_t largest = 0;

    for (size_t b = 0; b < ram->n_blocks; b++)
        if (ram->blocks[b].page_bytes > largest)
            largest = ram->blocks[b].page_bytes;
    return largest;
}

static bool has_thp(const struct guest_ram *ram)
{
    for (size_t b = 0; b < ram->n_blocks; b++)
        if (ram->blocks[b].backing != RAM_BACKING_HUGETLB && ram->blocks[b].huge_bytes > 0)
            return true;
    return false;
}

static const char *chosen_name(const struct survey *survey)
{
    if (survey->busy.code)
        return "busy";
    return survey->chosen ? survey->chosen->name : "none";
}

static void join_reasons(char *text, size_t size, const struct survey *survey)
{
    size_t used = 0;

    snprintf(text, size, "%s", survey->busy.text);
    for (size_t v = 0; v < survey->n_verdicts && used < size; v++)
        if (survey->verdicts[v].rc < 0)
            used += (size_t)snprintf(text + used, size - used, "%s%s: %s", used ? "; " : "",
                                     survey->verdicts[v].method->name,
                                     survey->verdicts[v].why.text);
}

static void add_row(struct table *table, const struct row *row, bool verbose)
{
    char cell[N_COLUMNS][2048] = {{0}};
    const char *cells[N_COLUMNS];
    const size_t size = sizeof(cell[0]);
    const struct guest_ram *ram = &row->survey.ram;

    snprintf(cell[0], size, "%s", *row->name ? row->name : "-");
    snprintf(cell[1], size, row->pid ? "%d" : "-", row->pid);
    snprintf(cell[2], size, "%s", row->state);
    snprintf(cell[3], size, "%s", row->accel ? row->accel : "-");
    if (row->surveyed) {
        show_bytes(cell[4], size, ram->bytes);
        show_bytes(cell[5], size, guest_ram_resident_bytes(ram));
        join_backings(cell[6], size, ram);
        snprintf(cell[7], size, "%lluK%s", (unsigned long long)(largest_page_bytes(ram) >> 10),
                 has_thp(ram) ? "+THP" : "");
        snprintf(cell[8], size, "%s", chosen_name(&row->survey));
        if (verbose || row->survey.busy.code || !row->survey.chosen)
            join_reasons(cell[9], size, &row->survey);
    } else {
        if (row->process_bytes)
            show_bytes(cell[5], size, row->process_bytes);
        snprintf(cell[9], size, "%s", row->problem.text);
    }
    for (size_t i = 0; i < N_COLUMNS; i++)
        cells[i] = cell[i];
    table_row(table, cells);
}

static json_t *reasons_json(const struct survey *survey)
{
    json_t *object = json_object();

    for (size_t v = 0; v < survey->n_verdicts; v++)
        if (survey->verdicts[v].rc < 0)
            json_object_set_new(object, survey->verdicts[v].method->name,
                                json_text(survey->verdicts[v].why.text));
    return object;
}

static void print_json(const struct row *row)
{
    json_t *object = json_object();
    const struct guest_ram *ram = &row->survey.ram;
    char backing[64] = "";

    json_object_set_new(object, "schema", json_string("vmwss.list.v1"));
    json_set_here_and_now(object);
    json_object_set_new(object, "domain", json_text(row->name));
    json_object_set_new(object, "uuid", json_text(row->uuid));
    json_object_set_new(object, "pid", row->pid ? json_integer(row->pid) : json_null());
    json_object_set_new(object, "state", json_text(row->state));
    json_object_set_new(object, "accel", json_text(row->accel));
    if (row->surveyed) {
        join_backings(backing, sizeof(backing), ram);
        json_object_set_new(object, "ram_bytes", json_integer((json_int_t)ram->bytes));
        json_object_set_new(object, "resident_bytes",
                            json_integer((json_int_t)guest_ram_resident_bytes(ram)));
        json_object_set_new(object, "blocks", json_integer((json_int_t)ram->n_blocks));
        json_object_set_new(object, "backing", json_string(backing));
        json_object_set_new(object, "page_bytes",
                            json_integer((json_int_t)largest_page_bytes(ram)));
        json_object_set_new(object, "thp", json_boolean(has_thp(ram)));
        json_object_set_new(object, "method",
                            json_text(row->survey.chosen ? row->survey.chosen->name : NULL));
        json_object_set_new(object, "refused", reasons_json(&row->survey));
        if (row->survey.busy.code)
            json_object_set_new(object, "error", json_text(row->survey.busy.text));
    } else {
        if (row->process_bytes)
            json_object_set_new(object, "resident_bytes",
                                json_integer((json_int_t)row->process_bytes));
        json_object_set_new(object, "error", json_text(row->problem.text));
    }
    json_print_line(object);
}

static void note_process(const struct fsroot *root, struct row *row)
{
    if (row->pid && resident_of_process(root, row->pid, &row->process_bytes) < 0)
        row->process_bytes = 0;
}

static void survey_row(const struct fsroot *root, struct row *row, int opened, struct guest *guest)
{
    if (opened < 0) {
        note_process(root, row);
        return;
    }
    row->accel = accel_name(guest->process.accel);
    row->surveyed = survey_guest(root, guest, SURVEY_CHECK, &row->survey, &row->problem) == 0;
    if (!row->surveyed)
        note_process(root, row);
    guest_close(guest);
}

struct output {
    bool json, verbose;
    struct table *table;
};

static void emit(const struct output *output, struct row *row)
{
    if (output->json)
        print_json(row);
    else
        add_row(output->table, row, output->verbose);
    if (row->surveyed)
        survey_free(&row->survey);
}

static int list_processes(const struct fsroot *root, const struct output *output,
                          struct error *error)
{
    cleanup_free pid_t *pids = NULL;
    ssize_t n = qemu_process_find_all(root, true, &pids);

    if (n < 0)
        return error_set(error, (int)n, "/proc: %s", strerror((int)-n));
    for (ssize_t i = 0; i < n; i++) {
        struct row row = {.pid = pids[i], .state = "running"};
        struct guest guest;
        int rc = guest_open_pid(root, pids[i], &guest, &row.problem);

        if (rc == 0) {
            snprintf(row.name, sizeof(row.name), "%s", guest.name);
            snprintf(row.uuid, sizeof(row.uuid), "%s", guest.uuid);
        }
        survey_row(root, &row, rc, &guest);
        emit(output, &row);
    }
    return 0;
}

static int list_domains(const struct fsroot *root, const char *uri, const struct output *output,
                        struct error *error)
{
    struct domain_connection *connection;
    cleanup_free struct domain_info *infos = NULL;
    int rc = domain_connect(uri, &connection, error);

    if (rc < 0)
        return rc;

    ssize_t n = domain_list(connection, root, &infos, error);

    for (ssize_t i = 0; i < n; i++) {
        struct row row = {.pid = infos[i].pid, .state = domain_state_name(infos[i].state)};
        struct guest guest;

        snprintf(row.name, sizeof(row.name), "%s", infos[i].name);
        snprintf(row.uuid, sizeof(row.uuid), "%s", infos[i].uuid);
        if (infos[i].state == DOMAIN_RUNNING)
            rc = guest_open_domain(connection, root, infos[i].uuid, &guest, &row.problem);
        else
            rc = error_set(&row.problem, -ENODEV, "not running");
        survey_row(root, &row, rc, &guest);
        emit(output, &row);
    }
    domain_disconnect(connection);
    return n < 0 ? (int)n : 0;
}

struct choice {
    const char *uri;
    bool processes, verbose, json;
};

#define AT(member) offsetof(struct choice, member)

static const struct option_line lines[] = {
    {OPTION_TEXT, 'c', "connect", "URI", AT(uri), .help = "libvirt connection (qemu:///system)"},
    {OPTION_FLAG, 'P', "processes", NULL, AT(processes),
     .help = "look for QEMU processes instead of asking libvirt"},
    {OPTION_FLAG, 'v', "verbose", NULL, AT(verbose),
     .help = "of guests that can be measured too, why not by the other methods"},
    {OPTION_FLAG, 'j', "json", NULL, AT(json),
     .help = "one JSON object per line, schema vmwss.list.v1"},
    {.type = OPTION_END},
};

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss list [OPTIONS]\n\n"
        "Lists the domains of a libvirt connection, or all QEMU processes of this host: their RAM, how it\n"
        "is backed, and the method that `measure` would take. Running guests are tried out for that:\n"
        "some of their pages are marked, as by `doctor`. Where vmwssd follows a guest, its method is shown,\n"
        "and nothing is tried.\n",
    .lines = lines,
};

int cmd_list(int argc, char **argv)
{
    struct choice choice = {0};
    struct output output = {0};
    int rc = options_read(&command_options, &choice, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    if (optind < argc) {
        command_error("list takes no argument ('%s')", argv[optind]);
        return EXIT_USAGE;
    }

    struct fsroot root;
    struct error error = {0};

    output.json = choice.json;
    output.verbose = choice.verbose;
    output.table = table_new(columns, N_COLUMNS);
    if (!output.table || fsroot_open(&root, "/") < 0)
        return EXIT_CANNOT;

    rc = choice.processes ? list_processes(&root, &output, &error)
                          : list_domains(&root, choice.uri, &output, &error);
    if (rc == 0 && !output.json)
        table_print(output.table, true);
    table_free(output.table);
    fsroot_close(&root);
    return rc < 0 ? command_cannot(&error) : EXIT_DONE;
}
