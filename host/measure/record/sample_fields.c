// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file sample_fields.c  The fields of a record, of its windows and of its writes; see field.h. */
#include "measure/record/field.h"

#include "measure/method.h"

#include <assert.h>
#include <string.h>

static_assert(offsetof(struct kept_sample, record) == 0, "see struct kept_sample");
static_assert(offsetof(struct ages_record, sample) == 0, "see struct kept_sample");

/* --- names ------------------------------------------------------------------------------------ */

const char *sample_method_parse(const char *name)
{
    const struct method *method = method_by_name(name);

    if (!strcmp(name, SAMPLE_NO_METHOD))
        return SAMPLE_NO_METHOD;
    return method ? method->name : "unknown";
}

static const char *const modes[] = {"panel", "census"}; /* by sample_record.census */
static const struct names mode_names = NAMES(modes);

/* --- of a record ------------------------------------------------------------------------------ */

#define AT(member) .offset = offsetof(struct kept_sample, record.sample.member)
#define TEXT(member) AT(member), .size = sizeof(((struct sample_record *)NULL)->member)
/* An enum or a bool with names. */
#define NAMED(member) AT(member), .size = sizeof(((struct sample_record *)NULL)->member)
#define KEPT(member) .offset = offsetof(struct kept_sample, member)
#define ROLLED(how, member) \
    .rollup = ROLLUP_##how, .rolled = offsetof(struct record_summary, member)
/* A field of the history's CSV needs a rollup, because that CSV has minutes and hours, too. */
#define CSV(name, how, member) .csv = (name), ROLLED(how, member)
#define COLUMN(name) .home = HOME_SAMPLE, .column = (name)
#define GUEST_COLUMN(name) .home = HOME_GUEST, .column = (name)
#define OWNER_COLUMN(name) .home = HOME_OWNER, .column = (name)

/* In the order of the JSON output. */
static const struct field of_sample[] = {
    {FIELD_TIME, GROUP_WHEN, AT(time), COLUMN("time_ms"), .json = "time",
     .metric = "vmwss_last_scan_timestamp_seconds",
     .help = "When the guest was scanned last, Unix time."},
    {FIELD_REAL, GROUP_WHEN, KEPT(period_s), COLUMN("period_s"),
     .metric = "vmwss_scan_period_seconds",
     .help =
         "The time that the last scan stands for: since the scan before, if its windows reach that far."},
    {FIELD_TEXT, GROUP_GUEST, TEXT(host), GUEST_COLUMN("host"), .json = "host"},
    {FIELD_TEXT, GROUP_GUEST, TEXT(domain), GUEST_COLUMN("name"), .json = "domain"},
    {FIELD_TEXT, GROUP_GUEST, TEXT(uuid), GUEST_COLUMN("uuid"), .json = "uuid"},
    {FIELD_TEXT, GROUP_GUEST, TEXT(owner.manager), OWNER_COLUMN("manager"), .json = "manager"},
    {FIELD_TEXT, GROUP_GUEST, TEXT(owner.name), OWNER_COLUMN("owner"), .json = "owner"},
    {FIELD_PID, GROUP_GUEST, AT(pid), COLUMN("pid"), .json = "pid"},
    {FIELD_NAME, GROUP_GUEST, NAMED(accel), .names = &accel_names, COLUMN("accel"),
     .json = "accel"},
    {FIELD_METHOD, GROUP_METHOD, AT(method), COLUMN("method"), .json = "method",
     CSV("method", LAST, method)},
    {FIELD_NAME, GROUP_METHOD, NAMED(census), .names = &mode_names, COLUMN("mode"), .json = "mode"},
    {FIELD_U64, GROUP_PANEL, AT(samples), COLUMN("samples"), .json = "samples",
     .metric = "vmwss_sampled_pages", .help = "Pages of the panel whose state was known."},
    {FIELD_U64, GROUP_PANEL, AT(granularity_bytes), COLUMN("granularity_bytes"),
     .json = "granularity_bytes", .metric = "vmwss_granularity_bytes",
     .help = "Bytes that one page of the panel stands for: a base page, or a huge page."},
    {FIELD_REAL, GROUP_PANEL, KEPT(precision), COLUMN("precision"),
     CSV("precision", MAX, precision), .metric = "vmwss_precision_ratio",
     .help = "Half-width of the 95 % interval that the budget paid for, as a share of what is "
             "resident."},
    {FIELD_U64, GROUP_SIZE, AT(ram_bytes), COLUMN("ram_bytes"), .json = "ram_bytes",
     CSV("ram_bytes", LAST, ram_bytes), .metric = "vmwss_ram_bytes", .help = "RAM of the guest."},
    {FIELD_U64, GROUP_SIZE, AT(resident_bytes), COLUMN("resident_bytes"), .json = "resident_bytes",
     CSV("resident_bytes", MEAN, resident_bytes), .metric = "vmwss_resident_bytes",
     .help = "Guest RAM that has a host page behind it."},
    {FIELD_U64, GROUP_SIZE, AT(unmeasurable_bytes), COLUMN("unmeasurable_bytes"),
     .json = "unmeasurable_bytes", CSV("unmeasurable_bytes", MEAN, unmeasurable_bytes),
     .metric = "vmwss_unmeasurable_bytes",
     .help = "Resident bytes of which no touch could be seen."},
    {FIELD_REAL, GROUP_COST, AT(vcpu_s), COLUMN("vcpu_s"), .json = "vcpu_seconds", .digit = 0.001,
     ROLLED(SUM, vcpu_s)},
    {FIELD_WINDOWS, GROUP_WINDOWS, COLUMN("windows"), .json = "windows"},
    {FIELD_REAL, GROUP_COST, AT(cpu_s), COLUMN("cpu_s"), .json = "cpu_seconds", .digit = 0.0001,
     CSV("cpu_seconds", SUM, cpu_s), .metric = "vmwss_scan_cpu_seconds",
     .help = "CPU time of the last scan."},
    {FIELD_REAL, GROUP_COST, AT(paused_s), COLUMN("paused_s"), .json = "pause_seconds",
     .digit = 0.0001, ROLLED(SUM, paused_s)},
    {FIELD_SET, GROUP_FLAGS, AT(flags), .names = &sample_flag_names, COLUMN("flags"),
     .json = "flags", CSV("flags", ANY, flags)},
    {FIELD_AGES, GROUP_WINDOWS, COLUMN("ages")},
    {FIELD_REAL, GROUP_COST, AT(marking_s)},
    {FIELD_REAL, GROUP_COST, AT(reading_s)},
    {.type = FIELD_END},
};

const struct field *sample_fields(void)
{
    return of_sample;
}

/* --- of a window ------------------------------------------------------------------------------ */

#define IN(member) .offset = offsetof(struct window_record, member)
#define IN_KEPT(member) IN(member), .home = HOME_WINDOW, .column = #member

/* In the order of the JSON output. */
static const struct field of_window[] = {
    {FIELD_REAL, GROUP_WINDOW, IN_KEPT(window_s), .json = "window_s", .digit = 0.001},
    {FIELD_REAL, GROUP_WINDOW, IN_KEPT(est_window_s), .json = "est_window_s", .digit = 0.0001,
     .metric = "vmwss_window_measured_seconds", .help = "The window that was really measured."},
    {FIELD_REAL, GROUP_RAN, IN_KEPT(vcpu_s), .json = "vcpu_seconds", .digit = 0.001,
     .may_lack = true, .metric = "vmwss_window_vcpu_seconds",
     .help = "Time that the vCPUs ran in the window that was measured, all together."},
    {FIELD_U64, GROUP_WSS, IN_KEPT(wss_bytes), .json = "wss_bytes",
     .metric = "vmwss_working_set_bytes", .help = "Guest RAM touched in the window."},
    {FIELD_U64, GROUP_WSS, IN_KEPT(wss_low_bytes), .json = "wss_low_bytes",
     .metric = "vmwss_working_set_low_bytes",
     .help = "Lower bound of the 95 % interval of the working set; of each huge page touched, one "
             "base page."},
    {FIELD_U64, GROUP_WSS, IN_KEPT(wss_high_bytes), .json = "wss_high_bytes",
     .metric = "vmwss_working_set_high_bytes",
     .help = "Upper bound of the 95 % interval of the working set, and what was unmeasurable."},
    {FIELD_U64, GROUP_UNITS, IN_KEPT(unit_low_bytes), .json = "wss_unit_low_bytes",
     .metric = "vmwss_working_set_unit_low_bytes",
     .help = "Lower bound of the 95 % interval of the working set, huge pages touched counted in "
             "full."},
    {FIELD_REAL, GROUP_TOUCHED, IN_KEPT(touched_fraction), .json = "touched_fraction", .most = 1,
     .digit = 0.00001, .metric = "vmwss_touched_ratio",
     .help = "Share of the measurable resident RAM that was touched in the window."},
    {FIELD_U64, GROUP_TOUCHED, IN(gone_bytes), .json = "gone_bytes", .may_lack = true},
    {FIELD_U64, GROUP_UNITS, IN(unmeasurable_bytes)},
    {FIELD_U64, GROUP_UNITS, IN(resident_high_bytes)},
    {FIELD_BOOL, GROUP_UNITS, IN(unsettled)},
    {.type = FIELD_END},
};

static_assert(sizeof(enum accel) == sizeof(unsigned), "field.c reads an enum as one");
static_assert(GONE_NOT_KEPT == AGENT_UNKNOWN, "no value of a field");

const struct field *window_fields(void)
{
    return of_window;
}

/* --- of the write working set ----------------------------------------------------------------- */

#define OF_CURVE(member) .offset = offsetof(struct write_curve, member)
#define CURVE_COLUMN(name) .home = HOME_WRITE_SET, .column = (name), .json = (name)
#define OF_POINT(member) \
    .offset = offsetof(struct write_point, member), .home = HOME_WINDOW, .column = #member

/* In the order of the JSON output. */
static const struct field of_curve[] = {
    {FIELD_METHOD, GROUP_METHOD, OF_CURVE(method), CURVE_COLUMN("method")},
    {FIELD_U64, GROUP_PANEL, OF_CURVE(granularity_bytes), CURVE_COLUMN("granularity_bytes")},
    {FIELD_U64, GROUP_SIZE, OF_CURVE(sparse_end_bytes), CURVE_COLUMN("sparse_end_bytes")},
    {FIELD_SET, GROUP_FLAGS, OF_CURVE(flags), .names = &sample_flag_names, CURVE_COLUMN("flags")},
    {FIELD_POINTS, GROUP_WINDOWS, CURVE_COLUMN("windows")},
    {.type = FIELD_END},
};

const struct field *write_fields(void)
{
    return of_curve;
}

static const struct field of_point[] = {
    {FIELD_REAL, GROUP_WINDOW, OF_POINT(window_s), .json = "window_s", .digit = 0.001},
    {FIELD_REAL, GROUP_WINDOW, OF_POINT(est_window_s), .json = "est_window_s", .digit = 0.0001},
    {FIELD_U64, GROUP_WSS, OF_POINT(bytes), .json = "write_set_bytes",
     .metric = "vmwss_write_set_bytes",
     .help = "Guest RAM written at least once within the window, when that was measured last."},
    {FIELD_U64, GROUP_WSS, OF_POINT(low_bytes), .json = "write_set_low_bytes",
     .metric = "vmwss_write_set_low_bytes",
     .help = "Lower bound of the write set; of each huge page written, one base page."},
    {FIELD_U64, GROUP_WSS, OF_POINT(high_bytes), .json = "write_set_high_bytes",
     .metric = "vmwss_write_set_high_bytes",
     .help = "Upper bound of the write set, with what was unmeasurable."},
    {.type = FIELD_END},
};

const struct field *write_point_fields(void)
{
    return of_point;
}
