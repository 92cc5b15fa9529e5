// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_list.c  vmwss list: the guests of this host and how each can be measured. */
#include "base/cleanup.h"
#include "base/text/units.h"
#include "guest/domain/pods.h"
#include "guest/ram/resident.h"
#include "programs/vmwss/cli.h"
#include "programs/vmwss/survey.h"
#include "show/sheet.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* One guest of the list; unknown fields stay empty. */
struct row {
    char name[256];
    char uuid[37];
    pid_t pid;
    struct guest_owner owner;
    const char *state;
    const char *accel;
    bool from_libvirt;
    bool surveyed;
    uint64_t process_bytes; /* not surveyed: resident memory of the process; 0: not known */
    struct survey survey;
    struct error problem;
};

/* For a guest that can be measured, REASON is shown only with --verbose: the reasons of all methods
 * that cannot measure it, in one cell. */
static const struct sheet_column columns[] = {
    {"domain", {.name = "DOMAIN", .cut = true}},
    {"pid", {.name = "PID", .right = true, .rank = 4}},
    {"state", {.name = "STATE", .rank = 2}},
    {"accel", {.name = "ACCEL", .rank = 5}},
    {"ram_bytes", {.name = "RAM", .right = true, .rank = 1}},
    {"resident_bytes", {.name = "RESIDENT", .right = true, .rank = 3}},
    {"backing", {.name = "BACKING", .rank = 6}},
    {"page", {.name = "PAGE", .right = true, .rank = 6}},
    {"chosen", {.name = "METHOD"}},
    {"managed", {.name = "OWNER", .cut = true, .rank = 7}},
    {"reason", {.name = "REASON", .last = true}},
};

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

static void fill_reasons(struct sheet *sheet, const struct survey *survey)
{
    sheet_group(sheet, "refused");
    for (size_t v = 0; v < survey->n_verdicts; v++)
        if (survey->verdicts[v].rc < 0)
            sheet_text(sheet, survey->verdicts[v].method->name, survey->verdicts[v].why.text);
    sheet_close(sheet);
    if (survey->busy.code)
        sheet_text(sheet, "error", survey->busy.text);
}

/* Memory that may be RAM that was plugged later. Not for a guest of libvirt, whose configuration
 * includes what was plugged. */
static uint64_t unclaimed_bytes(const struct row *row)
{
    return row->from_libvirt ? 0 : row->survey.ram.unclaimed_bytes;
}

static void fill_surveyed(struct sheet *sheet, const struct row *row, bool verbose)
{
    const struct survey *survey = &row->survey;
    const struct guest_ram *ram = &survey->ram;
    const uint64_t unclaimed = unclaimed_bytes(row);
    const uint64_t page_bytes = largest_page_bytes(ram);
    char backing[64] = "";
    char reasons[2048] = "";

    join_backings(backing, sizeof(backing), ram);
    sheet_bytes(sheet, "ram_bytes", ram->unproved_bytes || unclaimed ? UINT64_MAX : ram->bytes);
    if (unclaimed)
        sheet_bytes(sheet, "unclaimed_bytes", unclaimed);
    sheet_bytes(sheet, "resident_bytes", guest_ram_resident_bytes(ram));
    sheet_count(sheet, "blocks", ram->n_blocks);
    sheet_text(sheet, "backing", backing);
    sheet_bytes(sheet, "page_bytes", page_bytes);
    sheet_cell(sheet, "page", "%lluK%s", (unsigned long long)(page_bytes >> 10),
               has_thp(ram) ? "+THP" : "");
    sheet_bool(sheet, "thp", has_thp(ram));
    sheet_text(sheet, "method", survey->chosen ? survey->chosen->name : NULL);
    sheet_cell(sheet, "chosen", "%s", chosen_name(survey));
    fill_reasons(sheet, survey);
    if (verbose || survey->busy.code || !survey->chosen)
        join_reasons(reasons, sizeof(reasons), survey);
    else if (unclaimed)
        snprintf(reasons, sizeof(reasons), "RAM is %s, or up to %s more: was it plugged?",
                 BYTES_TEXT(ram->bytes), BYTES_TEXT(unclaimed));
    sheet_cell(sheet, "reason", "%s", reasons);
}

static void fill_row(struct sheet *sheet, const struct row *row, bool verbose)
{
    sheet_row(sheet);
    sheet_here_and_now(sheet);
    sheet_text(sheet, "domain", *row->name ? row->name : NULL);
    sheet_text(sheet, "uuid", row->uuid);
    sheet_text(sheet, "manager", *row->owner.manager ? row->owner.manager : NULL);
    sheet_text(sheet, "owner", *row->owner.name ? row->owner.name : NULL);
    if (*row->owner.manager)
        sheet_cell(sheet, "managed", "%s %s", row->owner.manager, row->owner.name);
    sheet_count(sheet, "pid", row->pid ? (uint64_t)row->pid : UINT64_MAX);
    sheet_text(sheet, "state", row->state);
    sheet_text(sheet, "accel", row->accel);
    if (row->surveyed) {
        fill_surveyed(sheet, row, verbose);
    } else {
        if (row->process_bytes)
            sheet_bytes(sheet, "resident_bytes", row->process_bytes);
        sheet_text(sheet, "error", row->problem.text);
        sheet_cell(sheet, "reason", "%s", row->problem.text);
    }
    sheet_row_end(sheet);
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
    row->owner = guest->owner;
    row->from_libvirt = guest->from_libvirt;
    row->surveyed = survey_guest(root, guest, SURVEY_CHECK, &row->survey, &row->problem) == 0;
    if (!row->surveyed)
        note_process(root, row);
    guest_close(guest);
}

struct choice {
    const char *uri;
    bool processes, verbose, json;
};

struct output {
    bool verbose;
    struct sheet sheet;
};

static void emit(struct output *output, struct row *row)
{
    fill_row(&output->sheet, row, output->verbose);
    if (row->surveyed)
        survey_free(&row->survey);
}

static int list_processes(const struct fsroot *root, struct output *output, struct error *error)
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

static void list_domain(const struct fsroot *root, struct domain_connection *connection,
                        const struct domain_info *info, struct output *output)
{
    struct row row = {.pid = info->pid, .state = domain_state_name(info->state)};
    struct guest guest;
    int rc;

    snprintf(row.name, sizeof(row.name), "%s", info->name);
    snprintf(row.uuid, sizeof(row.uuid), "%s", info->uuid);
    if (info->state == DOMAIN_RUNNING)
        rc = guest_open_domain(connection, root, info->uuid, &guest, &row.problem);
    else
        rc = error_set(&row.problem, -ENODEV, "not running");
    survey_row(root, &row, rc, &guest);
    emit(output, &row);
}

static int list_domains(const struct fsroot *root, const char *uri, struct output *output,
                        struct error *error)
{
    struct domain_connection *connection;
    cleanup_free struct domain_info *infos = NULL;
    int rc = domain_connect(uri, &connection, error);

    if (rc < 0)
        return rc;

    ssize_t n = domain_list(connection, root, &infos, error);

    for (ssize_t i = 0; i < n; i++)
        list_domain(root, connection, &infos[i], output);
    domain_disconnect(connection);
    return n < 0 ? (int)n : 0;
}

/* Its libvirt may fail alone; the guest is listed nevertheless. */
static void list_pod(const struct fsroot *root, struct pod_guest *pod, struct output *output)
{
    struct row row = {.pid = pod->pid, .owner = pod->owner};
    struct domain_info info;
    struct guest guest;
    int rc = pods_ask(pod, &info, &guest, &row.problem);

    if (*info.name)
        row.state = domain_state_name(info.state);
    snprintf(row.name, sizeof(row.name), "%s", pod->name);
    snprintf(row.uuid, sizeof(row.uuid), "%s", pod->uuid);
    survey_row(root, &row, rc, &guest);
    emit(output, &row);
}

static int list_pods(const struct fsroot *root, struct output *output, struct error *error)
{
    struct pods pods;
    int rc = pods_find(root, &pods, error);

    if (rc < 0)
        return rc;
    pods_ask_all(&pods, true);
    for (size_t i = 0; i < pods.n; i++)
        list_pod(root, &pods.guests[i], output);
    pods_free(&pods);
    return 0;
}

static int list_guests(const struct fsroot *root, const struct choice *choice,
                       struct output *output, struct error *error)
{
    if (choice->processes)
        return list_processes(root, output, error);
    if (domain_is_pods(choice->uri))
        return list_pods(root, output, error);
    return list_domains(root, choice->uri, output, error);
}

#define AT(member) offsetof(struct choice, member)

static const struct option_line lines[] = {
    {OPTION_TEXT, 'c', "connect", "URI", AT(uri),
     .help = "libvirt connection (qemu:///system), or pods: all those in other process\n"
             "namespaces, as KubeVirt has them"},
    {OPTION_FLAG, 'P', "processes", NULL, AT(processes),
     .help = "look for QEMU processes instead of asking libvirt"},
    {OPTION_FLAG, 'v', "verbose", NULL, AT(verbose),
     .help = "show why each other method cannot measure a guest"},
    {OPTION_FLAG, 'j', "json", NULL, AT(json),
     .help = "one JSON object per line, schema vmwss.list.v1"},
    {.type = OPTION_END},
};

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss list [OPTIONS]\n\n"
        "Lists the domains of a libvirt connection, or all QEMU processes of this host: their RAM, its\n"
        "backing, and the method that `measure` would use. To find it, some pages of running guests are\n"
        "marked, as by `doctor`. For a guest that vmwssd follows, it shows vmwssd's method and tests\n"
        "nothing.\n",
    .lines = lines,
    .no_arguments = true,
};

int cmd_list(int argc, char **argv)
{
    struct choice choice = {0};
    struct output output = {0};
    int rc = options_read(&command_options, &choice, argc, argv);

    if (rc != 0)
        return options_exit(rc);

    cleanup_root struct fsroot root;
    struct error error = {0};

    if (fsroot_open_host(&root, &error) < 0)
        return command_cannot(&error);
    output.verbose = choice.verbose;
    sheet_begin(&output.sheet, choice.json ? SHOW_JSON : SHOW_TABLE, "vmwss.list.v1", NULL);
    sheet_list(&output.sheet, NULL, columns, COUNT(columns));
    rc = list_guests(&root, &choice, &output, &error);
    if (rc == 0) {
        sheet_close(&output.sheet);
        if (choice.processes && geteuid() != 0)
            sheet_note(&output.sheet, "QEMU processes of other users are shown to root only");
        rc = sheet_end(&output.sheet);
    }
    sheet_free(&output.sheet);
    return command_end(rc, &error);
}
