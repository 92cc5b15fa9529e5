// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_doctor.c  vmwss doctor: lists what can be measured here, and remedies for the rest. */
#include "base/distribution.h"
#include "measure/cache/measure.h"
#include "measure/kernel/damon_sysfs.h"
#include "measure/kernel/host_fix.h"
#include "measure/kernel/numa_balancing.h"
#include "measure/record/disturbance.h"
#include "programs/vmwss/cli.h"
#include "programs/vmwss/denial.h"
#include "programs/vmwss/survey.h"
#include "show/sheet.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* --- --fix ------------------------------------------------------------------------------------ */

/* vmwss doctor --fix: settings of the host, printed, changed or restored. */

enum doctor_fix {
    DOCTOR_FIX_PRINT,
    DOCTOR_FIX_APPLY,
    DOCTOR_FIX_UNDO,
};

static const char *const state_names[] = {
    [HOST_FIX_NEEDED] = "needed", [HOST_FIX_BY_HAND] = "by-hand", [HOST_FIX_APPLIED] = "applied",
    [HOST_FIX_UNDONE] = "undone", [HOST_FIX_LEFT] = "left",       [HOST_FIX_FAILED] = "failed",
};

static size_t count(const struct host_fix_line *lines, size_t n, enum host_fix_state state)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += lines[i].state == state;
    return found;
}

static void add_notes(struct sheet *sheet, const struct host_fix_line *lines, size_t n,
                      enum doctor_fix what)
{
    for (size_t i = 0; i < n; i++)
        if (lines[i].state == HOST_FIX_NEEDED || lines[i].state == HOST_FIX_BY_HAND)
            sheet_note(sheet, "%s: %s.", lines[i].what, lines[i].purpose);
    if (what == DOCTOR_FIX_UNDO && n == 0)
        sheet_note(sheet, "There is nothing to undo.");
    else if (n == 0)
        sheet_note(sheet, "There is nothing to fix on this host.");
    if (count(lines, n, HOST_FIX_NEEDED) > 0)
        sheet_note(sheet, "As root, `vmwss doctor --fix --apply` does what is needed, "
                          "until --undo or the next boot.");
    if (count(lines, n, HOST_FIX_BY_HAND) > 0)
        sheet_note(sheet, "by-hand: it changes how all guests run, so only you can decide.");
    if (count(lines, n, HOST_FIX_APPLIED) > 0)
        sheet_note(sheet, "applied: `vmwss doctor --fix --undo` restores it.");
    if (count(lines, n, HOST_FIX_LEFT) > 0)
        sheet_note(sheet, "left: something else has changed it since --apply.");
}

static void print_lines(const struct host_fix_line *lines, size_t n, enum doctor_fix what,
                        enum show_format format)
{
    static const struct sheet_column columns[] = {{"what", {.name = "WHAT"}},
                                                  {"state", {.name = "STATE"}},
                                                  {"command", {.name = "COMMAND", .last = true}}};
    struct sheet sheet;

    sheet_begin(&sheet, format, "vmwss.fix.v1", NULL);
    sheet_here_and_now(&sheet);
    sheet_list(&sheet, "fixes", columns, COUNT(columns));
    for (size_t i = 0; i < n; i++) {
        sheet_row(&sheet);
        sheet_text(&sheet, "what", lines[i].what);
        sheet_text(&sheet, "state", state_names[lines[i].state]);
        sheet_text(&sheet, "command", lines[i].command);
        sheet_text(&sheet, "purpose", lines[i].purpose);
    }
    sheet_close(&sheet);
    add_notes(&sheet, lines, n, what);
    sheet_end(&sheet);
}

/* Prints what was done; returns the exit status. */
static int doctor_fix(enum doctor_fix what, enum show_format format)
{
    struct host_fix_line lines[HOST_FIX_MAX];
    struct error error = {0};
    cleanup_root struct fsroot root;
    size_t n = 0;
    int rc = 0;

    if (fsroot_open_host(&root, &error) < 0)
        return command_cannot(&error);
    if (what == DOCTOR_FIX_APPLY)
        rc = host_fix_apply(&root, NULL, lines, &n, &error);
    else if (what == DOCTOR_FIX_UNDO)
        rc = host_fix_undo(&root, NULL, lines, &n, &error);
    else
        n = host_fix_list(&root, lines);
    if (rc == 0 || n > 0)
        print_lines(lines, n, what, format);
    if (rc < 0)
        command_error("%s", error.text);
    return rc < 0 ? EXIT_CANNOT : 0;
}

enum outcome {
    OUTCOME_YES,
    OUTCOME_NO,
    OUTCOME_WARNING,
};

static const char *const outcome_names[] = {"yes", "no", "warning"};

struct finding {
    const char *what;
    enum outcome outcome;
    char text[640];
};

#define MAX_FINDINGS 24

struct report {
    size_t n;
    struct finding findings[MAX_FINDINGS];
};

static void add_finding(struct report *report, const char *what, enum outcome outcome,
                        const char *text)
{
    if (report->n == MAX_FINDINGS)
        return;

    struct finding *finding = &report->findings[report->n++];

    finding->what = what;
    finding->outcome = outcome;
    snprintf(finding->text, sizeof(finding->text), "%s", text);
}

/* --- findings --------------------------------------------------------------------------------- */

/* Adds the last finding, for a user who may not read other users' processes. */
static void limit_to_own(struct report *report)
{
    struct finding *finding = &report->findings[report->n - 1];
    size_t length = strlen(finding->text);

    snprintf(finding->text + length, sizeof(finding->text) - length,
             "; without root only for this user's own guests");
}

static bool check_methods(struct report *report, const struct fsroot *root)
{
    bool any = false;

    for (size_t i = 0; methods[i]; i++) {
        struct error why = {0};
        int rc = method_host(methods[i], root, &why);

        any |= rc == 0;
        add_finding(report, methods[i]->name, rc == 0 ? OUTCOME_YES : OUTCOME_NO,
                    rc == 0 ? methods[i]->summary : why.text);
        if (rc == 0 && geteuid() != 0)
            limit_to_own(report);
    }
    return any;
}

/* Checks for vmwss cache, which does not measure how much memory is used: it is not a method. */
static void check_cache(struct report *report, const struct fsroot *root)
{
    struct error no_counters = {0};
    struct error no_monitor = {0};
    const bool any = cache_check_host(root, &no_counters, &no_monitor) == 0;
    const bool both = !no_counters.code && !no_monitor.code;
    char text[sizeof(report->findings[0].text)];

    snprintf(text, sizeof(text), "%s%s%s",
             both ? "last-level cache: performance counters and resctrl" : no_counters.text,
             *no_counters.text && *no_monitor.text ? "; " : "", no_monitor.text);
    add_finding(report, "cache", both ? OUTCOME_YES : any ? OUTCOME_WARNING : OUTCOME_NO, text);
}

static void check_damon(struct report *report, const struct fsroot *root)
{
    const char *module = damon_module_on(root);
    char text[sizeof(report->findings[0].text)] =
        "a kdamond is running: it also clears accessed bits if it watches the same memory; the upper "
        "bounds include what it may hide";

    if (!disturbance_damon(root))
        return;
    if (module)
        snprintf(
            text, sizeof(text),
            "the kernel's module %s watches all memory and clears accessed bits; the upper "
            "bounds include what it may hide. With it off (echo N > "
            "/sys/module/%s/parameters/enabled) `damon` works, `auto` prefers `idle` or `damon` "
            "to `zap`, and long windows have narrower bounds (vmwss doctor --fix)",
            module, module);
    add_finding(report, "damon-active", OUTCOME_WARNING, text);
}

static void check_denials(struct report *report, const struct fsroot *root)
{
    char text[DENIAL_TEXT];

    if (denial_find(root, text) > 0)
        add_finding(report, "denied", OUTCOME_WARNING, text);
}

static void check_disturbances(struct report *report, const struct fsroot *root)
{
    if (geteuid() != 0)
        add_finding(
            report, "root", OUTCOME_WARNING,
            "not running as root: frame numbers, page flags and other users' processes are not visible");
    check_denials(report, root);
    check_damon(report, root);
    if (numa_balancing_on(root))
        add_finding(
            report, "numa-balancing", OUTCOME_WARNING,
            "NUMA balancing is on: it unmaps pages now and then (sysctl kernel.numa_balancing)");
    if (disturbance_ksm(root))
        add_finding(
            report, "ksm", OUTCOME_WARNING,
            "KSM is running: idle cannot measure merged pages, because others touch them, too; zap can");
}

static int add_verdicts(struct report *report, const struct survey *survey, struct error *error)
{
    if (survey->busy.code)
        return error_set(error, survey->busy.code, "%s", survey->busy.text);

    bool followed = false;

    for (size_t v = 0; v < survey->n_verdicts; v++) {
        const struct method_verdict *verdict = &survey->verdicts[v];

        followed |= verdict->rc == 0 && verdict->method->rank[ORDER_DAEMON] > 0;
        add_finding(report, verdict->method->name, verdict->rc == 0 ? OUTCOME_YES : OUTCOME_NO,
                    verdict->rc == 0 ? verdict->method->summary : verdict->why.text);
    }
    add_finding(report, "auto", survey->chosen ? OUTCOME_YES : OUTCOME_NO,
                survey->chosen ? survey->chosen->name : "no method can measure this guest");
    add_finding(report, "vmwssd", followed ? OUTCOME_YES : OUTCOME_NO,
                followed ? "can follow this guest"
                         : "cannot follow this guest: it does so by idle, pageout or zap only");
    return survey->chosen ? 0 : -ENOTSUP;
}

static int check_guest(struct report *report, const struct fsroot *root,
                       const struct guest_choice *choice, struct error *error)
{
    struct guest guest;
    struct survey survey;
    int rc = guest_choice_open(choice, root, &guest, error);

    if (rc < 0)
        return rc;
    rc = survey_guest(root, &guest, SURVEY_TRY, &survey, error);
    if (rc == 0) {
        rc = add_verdicts(report, &survey, error);
        survey_free(&survey);
    }
    guest_close(&guest);
    return rc;
}

/* --- output ----------------------------------------------------------------------------------- */

static void print_report(const struct report *report, enum show_format format)
{
    static const struct sheet_column columns[] = {
        {"what", {.name = "WHAT"}},
        {"outcome", {.name = "WORKS"}},
        {"text", {.name = "WHAT IT IS, OR WHAT IS MISSING", .last = true}}};
    struct sheet sheet;

    sheet_begin(&sheet, format, "vmwss.doctor.v1", NULL);
    sheet_here_and_now(&sheet);
    sheet_list(&sheet, "findings", columns, COUNT(columns));
    for (size_t i = 0; i < report->n; i++) {
        sheet_row(&sheet);
        sheet_text(&sheet, "what", report->findings[i].what);
        sheet_text(&sheet, "outcome", outcome_names[report->findings[i].outcome]);
        sheet_text(&sheet, "text", report->findings[i].text);
    }
    sheet_close(&sheet);
    sheet_end(&sheet);
}

static bool check_host(struct report *report, const struct fsroot *root)
{
    bool works = check_methods(report, root);
    char remedy[DISTRIBUTION_TEXT];

    /* A user without the most accurate method most likely wants to know which kernel has it. */
    if (!fsroot_exists(root, "sys/kernel/mm/page_idle/bitmap") &&
        *distribution_remedy(root, remedy))
        add_finding(report, "kernel", OUTCOME_WARNING, remedy);
    check_cache(report, root);
    return works;
}

static int examine(struct report *report, const struct guest_choice *choice)
{
    cleanup_root struct fsroot root;
    struct error error = {0};
    bool works;

    if (fsroot_open_host(&root, &error) < 0)
        return command_cannot(&error);
    if (choice->domain || choice->pid)
        works = check_guest(report, &root, choice, &error) == 0;
    else
        works = check_host(report, &root);
    check_disturbances(report, &root);
    if (*error.text) {
        add_finding(report, "guest", OUTCOME_NO, error.text);
        command_error("%s", error.text);
    }
    return works ? 0 : EXIT_CANNOT;
}

struct choice {
    struct guest_choice guest;
    bool json;
    bool fix, apply, undo;
};

static const struct option_line lines[] = {
    OPTION_PID(offsetof(struct choice, guest)),
    OPTION_CONNECT(offsetof(struct choice, guest)),
    {OPTION_FLAG, 'j', "json", NULL, offsetof(struct choice, json),
     .help = "one JSON object, schema vmwss.doctor.v1, or vmwss.fix.v1 with --fix"},
    {OPTION_FLAG, 0, "fix", NULL, offsetof(struct choice, fix),
     .help = "instead, the commands that would help on this host; changes nothing"},
    {OPTION_FLAG, 0, "apply", NULL, offsetof(struct choice, apply),
     .help = "with --fix: run those that are safe, until the next boot"},
    {OPTION_FLAG, 0, "undo", NULL, offsetof(struct choice, undo),
     .help = "with --fix: restore what --apply changed, unless others have changed it since"},
    {.type = OPTION_END},
};

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss doctor [DOMAIN | --pid PID] [OPTIONS]\n"
        "       vmwss doctor --fix [--apply | --undo] [--json]\n\n"
        "Tests whether each method works on this host and, if a guest is named, on that guest, and lists what\n"
        "else on this host disturbs a measurement. It tests the guest for real: it marks some of its pages,\n"
        "and drops all of its mappings once if its working set is tiny.\n",
    .lines = lines,
    .after = "Exit status: 0 some method works, 2 none does or the guest cannot be opened.\n",
};

static int fix(const struct choice *choice, int arguments)
{
    if (!choice->fix || (choice->apply && choice->undo) || arguments > 0 || choice->guest.pid) {
        command_error("--apply and --undo need --fix; give one of them, and no guest");
        return EXIT_USAGE;
    }
    return doctor_fix(choice->apply  ? DOCTOR_FIX_APPLY
                      : choice->undo ? DOCTOR_FIX_UNDO
                                     : DOCTOR_FIX_PRINT,
                      choice->json ? SHOW_JSON : SHOW_TABLE);
}

int cmd_doctor(int argc, char **argv)
{
    struct choice choice = {0};
    struct report report = {0};
    int rc = options_read(&command_options, &choice, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    if (choice.fix || choice.apply || choice.undo)
        return fix(&choice, argc - optind);
    if (guest_choice_take(&choice.guest, argc, argv, "doctor") < 0)
        return EXIT_USAGE;

    int code = examine(&report, &choice.guest);

    print_report(&report, choice.json ? SHOW_JSON : SHOW_TABLE);
    return code;
}
