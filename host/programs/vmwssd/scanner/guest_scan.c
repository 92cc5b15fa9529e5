// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/scanner/guest_scan.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/run_lock.h"
#include "guest/domain/qemu_vcpus.h"
#include "measure/neighbour.h"
#include "measure/panel.h"
#include "measure/record/flag_memory.h"
#include "measure/subject.h"
#include "programs/vmwssd/scanner/budget.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number of pages of each panel that a witness watches: in one tick, a few pages are enough to
 * notice another process that touches 6 % of resident memory. If the host clears accessed bits
 * anyway, more pages are sampled, to estimate how many touches that hides. */
#define FEW_WITNESSED 64
#define MANY_WITNESSED 200

struct guest_scan {
    struct subject subject;
    struct target target;
    bool located;
    const struct method *method;
    struct panel *panel; /* NULL: the panel begins anew */
    uint64_t samples;    /* samples that the panel was drawn for */
    unsigned reads;      /* reads of the panel so far */
    bool recorded;       /* a record has been made */
    bool anew;           /* the panel was begun anew: the next record has the flag */
    bool aged;           /* the host hides touches from the method: ageing, or merged pages */
    /* a record had the flag disputed: choose a method that other processes do not mislead ... */
    bool disputed;
    bool no_other;       /* ... but this host has no such method */
    bool method_is_best; /* there is no better method in that case */
    bool void_marks;     /* drop the panel at the next scan, under the lock */
    bool void_method;    /* drop the method at the next scan */
    struct {
        uint64_t layout; /* of the panel; 0: it is not published */
        char file[RUN_DIR_NAME_MAX];
    } published;
    uint64_t reopened_ns; /* when its process had replaced its program; 0: it has not */
    bool reopen;          /* open the guest once more, because it had only begun */
    uint64_t suspended_total_ns;
    unsigned jobs_between; /* jobs seen since the last scan */
    struct flag_memory memory;
    struct run_lock lock;
};

struct guest_scan *guest_scan_new(struct guest *guest, const struct fsroot *root)
{
    struct guest_scan *scan = calloc(1, sizeof(*scan));

    if (!scan)
        return NULL;
    scan->subject.root = root;
    guest_move(&scan->subject.guest, guest);
    scan->lock = RUN_LOCK_NONE;
    return scan;
}

bool guest_scan_has_ram(const struct guest_scan *scan, struct ram_config *xml)
{
    const struct guest *guest = &scan->subject.guest;

    ram_config_refine(xml, &guest->process.config.ram);
    return ram_config_equal(&guest->ram, xml);
}

int guest_scan_open_again(const struct guest_scan *scan, struct guest *out, struct error *error)
{
    const struct guest *guest = &scan->subject.guest;
    struct scan_ram ram;
    int rc = scan_ram_put(&ram, &guest->ram);

    if (rc < 0)
        return error_set(error, rc, "its RAM has too many backends");
    rc = guest_open_pid(scan->subject.root, guest->process.pid, out, error);
    if (rc < 0)
        return rc;
    ram_config_free(&out->ram);
    out->from_libvirt = guest->from_libvirt;
    rc = scan_ram_take(&ram, &out->ram);
    if (rc < 0)
        error_set(error, rc, "out of memory");
    else if (out->process.start_ticks != guest->process.start_ticks)
        rc = error_set(error, -ESRCH, "process %d: the guest has ended", guest->process.pid);
    if (rc < 0)
        guest_close(out);
    return rc;
}

/* --- the panel and the lock ------------------------------------------------------------------- */

static pid_t pid_of(const struct guest_scan *scan)
{
    return scan->subject.guest.process.pid;
}

/* Publishes the panel's pages for other processes that measure the guest while the lock is lent. */
static void publish_panel(struct guest_scan *scan)
{
    uint64_t layout = panel_layout(scan->panel);
    struct neighbour placed = {.method = scan->method};

    if (scan->published.layout == layout)
        return;
    if (panel_taken(scan->panel, &placed.taken, &placed.huge) == 0 &&
        neighbour_publish(scan->subject.root, pid_of(scan), &placed, scan->published.file) == 0)
        scan->published.layout = layout;
    neighbour_free(&placed);
}

/* Restores the guest: only under its lock, because pages that are mapped again would look touched
 * to another process that measures it. */
static void drop_panel(struct guest_scan *scan)
{
    scan->anew |= scan->panel && scan->recorded;
    panel_close(scan->panel);
    scan->panel = NULL;
    if (scan->published.layout)
        neighbour_withdraw(scan->subject.root, scan->published.file);
    scan->published.layout = 0;
}

static void drop_void(struct guest_scan *scan)
{
    if (scan->void_marks || scan->void_method)
        drop_panel(scan);
    if (scan->void_method) {
        scan->method = NULL;
        scan->method_is_best = false;
    }
    scan->void_marks = scan->void_method = false;
}

/* Returns 0 with the lock held, after dropping whatever is no longer valid. */
static int take_lock(struct guest_scan *scan, struct error *error)
{
    const struct subject *subject = &scan->subject;
    const struct lock_wait at_once = {.pidfd = subject->guest.process.pidfd};
    int rc = scan->lock.file_fd < 0
                 ? run_lock_guest(&scan->lock, subject->root, pid_of(scan), &at_once, error)
                 : run_lock_retake(&scan->lock, &scan->void_marks);

    if (rc == 0)
        drop_void(scan);
    return rc < 0 ? error_set(error, rc, "another vmwss is measuring it") : 0;
}

/* Without the lock the guest is left as it is: its next accesses restore it, as after kill -9. */
void guest_scan_free(struct guest_scan *scan)
{
    if (!scan)
        return;
    if (scan->panel && take_lock(scan, NULL) < 0)
        panel_abandon(scan->panel);
    drop_panel(scan);
    run_lock_release(&scan->lock);
    subject_close(&scan->subject);
    free(scan);
}

uint64_t guest_scan_pages(const struct guest_scan *scan)
{
    return scan->panel ? panel_pages(scan->panel) : 0;
}

const char *guest_scan_method(const struct guest_scan *scan)
{
    return scan->method ? scan->method->name : "";
}

int guest_scan_wake_fd(const struct guest_scan *scan)
{
    return scan->panel ? panel_wake_fd(scan->panel) : -1;
}

int guest_scan_poll(struct guest_scan *scan, struct error *error)
{
    return scan->panel ? panel_poll(scan->panel, error) : 0;
}

/* --- a scan ----------------------------------------------------------------------------------- */

static int choose_method(struct guest_scan *scan, const struct scan_sample *params,
                         struct error *error)
{
    const enum method_order order = method_bits_are_taken(&scan->target) ? ORDER_DAEMON_AGEING
                                                                         : ORDER_DAEMON;
    const struct method *method;
    const struct method_needs needs = {.panel = true, .follow = true, .by_vcpus = scan->disputed};
    const struct method *wanted = scan_method_take(params->method);
    struct error reasons = {0};

    for (size_t i = 0; (method = method_at(order, i)); i++) {
        struct error why = {0};
        size_t used = strlen(reasons.text);

        if (wanted && wanted != method)
            continue;
        if (method_try(method, &scan->target, &needs, &why) == 0) {
            scan->method = method;
            return 0;
        }
        snprintf(reasons.text + used, sizeof(reasons.text) - used, "%s %s: %s", used ? ";" : "",
                 method->name, why.text);
    }
    return error_set(error, -ENOTSUP, "no method can follow this guest:%s", reasons.text);
}

/* If the last record was in doubt, the panel is worth less than another method, if there is one.
 * This is determined once. */
static void leave_doubtful_method(struct guest_scan *scan, const struct scan_sample *params)
{
    const struct method *before = scan->method;

    scan->aged = false;
    scan->method_is_best = true;

    if (choose_method(scan, params, NULL) == 0 && scan->method != before)
        drop_panel(scan);
    scan->no_other = scan->disputed && scan->method->sees_qemu;
    scan->disputed = scan->disputed && !scan->no_other;
}

static bool leaves_disputed(const struct guest_scan *scan)
{
    return scan->disputed && !scan->no_other && scan->method->sees_qemu;
}

static int locate(struct guest_scan *scan, struct error *error)
{
    int rc = scan->located ? 0 : subject_locate(&scan->subject, scan->subject.root, error);

    if (rc == 0) {
        scan->located = true;
        scan->target = subject_target(&scan->subject);
    }
    return rc;
}

static uint64_t guest_clock(void *context)
{
    const struct guest_scan *scan = context;

    return clock_ns() - scan->suspended_total_ns;
}

static double presence(const struct guest_scan *scan, const struct resident_now *now)
{
    return (double)population_bytes(scan->method, now) / (double)scan->subject.ram.bytes;
}

static int begin_panel(struct guest_scan *scan, const struct scan_sample *params,
                       const struct resident_now *now, struct error *error)
{
    const struct panel_plan plan = {
        .method = scan->method,
        .samples = params->samples,
        .witness = method_bits_are_taken(&scan->target) ? MANY_WITNESSED : FEW_WITNESSED,
        .presence = presence(scan, now),
        .longest_s = params->window_s[params->n_windows - 1],
        .tick_s = params->tick_s,
        .seed = random_seed(),
        .clock = guest_clock,
        .clock_context = scan,
    };

    scan->samples = params->samples;
    scan->reads = 0;
    return panel_open(&scan->target, &plan, &scan->panel, error);
}

static bool fits(const struct guest_scan *scan, const struct scan_sample *params)
{
    bool young = budget_panel_young(scan->reads, panel_elapsed_s(scan->panel),
                                    params->window_s[params->n_windows - 1]);

    return budget_panel_fits((double)params->samples, (double)scan->samples,
                             (double)panel_pages(scan->panel), young);
}

static int scan_panel(struct guest_scan *scan, const struct scan_sample *params,
                      struct resident_now *now, struct error *error)
{
    int rc;

    if (!scan->panel)
        return begin_panel(scan, params, now, error);
    panel_set_samples(scan->panel, params->samples);
    rc = panel_tick(scan->panel, presence(scan, now), now, error);
    scan->reads++;
    if (rc == 0 && panel_read_all(scan->panel))
        scan->subject.guest.jobs |= QEMU_JOB_DUMP;
    if (rc == 0 && !fits(scan, params)) {
        drop_panel(scan);
        rc = begin_panel(scan, params, now, error);
    }
    return rc;
}

/* Jobs that libvirt reported when the guest was opened count once: from then on its events and
 * QEMU's threads are used. */
static void remember(struct guest_scan *scan, unsigned flags)
{
    struct guest *guest = &scan->subject.guest;

    flag_memory_note(&scan->memory, scan->jobs_between | (guest->migrating ? FLAG_MIGRATING : 0),
                     (double)guest_clock(scan) / 1e9);
    flag_memory_scan(&scan->memory, flags | sample_job_flags(guest->jobs),
                     (double)guest_clock(scan) / 1e9);
    scan->jobs_between = 0;
    guest->migrating = false;
    guest->jobs = 0;
}

/* The threshold is twice the one at which zap is preferred, so that a search for another method
 * then finds zap. */
static bool lacks_merged(const struct sample_record *record)
{
    return (record->flags & FLAG_KSM) &&
           record->unmeasurable_bytes > record->resident_bytes / MUCH_MERGED * 2;
}

static int make_record(struct guest_scan *scan, const struct scan_sample *params,
                       const struct resident_now *now, struct ages_record *record,
                       struct error *error)
{
    struct sample_plan plan = {.method = scan->method, .n_windows = params->n_windows};
    const struct panel_reading reading = {scan->panel, now, params->cpu_s};
    int rc;

    memcpy(plan.window_s, params->window_s, sizeof(plan.window_s));
    rc = ages_record_fill(record, &scan->subject, &plan, &reading, error);
    if (rc < 0)
        return rc;
    remember(scan, record->sample.flags);
    flag_memory_apply_ages(&scan->memory, record, (double)guest_clock(scan) / 1e9);
    if (scan->anew)
        record->sample.flags |= FLAG_NEW_PANEL;
    scan->anew = false;
    scan->aged = (record->sample.flags & FLAG_AGEING) || lacks_merged(&record->sample);
    scan->disputed |= record->sample.flags & FLAG_DISPUTED;
    scan->recorded = true;
    return 0;
}

static int scan_guest(struct guest_scan *scan, const struct scan_sample *params,
                      struct resident_now *now, struct error *error)
{
    int rc = locate(scan, error);

    if (rc == 0 && !scan->method)
        rc = choose_method(scan, params, error);
    else if (rc == 0 && ((scan->aged && !scan->method_is_best) || leaves_disputed(scan)))
        leave_doubtful_method(scan, params);
    if (rc == 0)
        rc = subject_refresh(&scan->subject, now, error);
    if (rc == 0)
        rc = scan_panel(scan, params, now, error);
    return rc;
}

/* A method that has failed may be wrong for the guest by now: pageout is, once there is swap. */
static void give_up(struct guest_scan *scan)
{
    drop_panel(scan);
    scan->method = NULL;
    scan->method_is_best = scan->disputed = scan->no_other = false;
}

/* Time until a starting QEMU has its RAM and its vCPUs. */
#define BEGINS_NS 10000000000ULL

static bool begins(const struct guest_scan *scan)
{
    return scan->reopened_ns > 0 && clock_ns() - scan->reopened_ns < BEGINS_NS;
}

/* The guest continues in another address space: a panel of the earlier one is worthless. */
static int reopen(struct guest_scan *scan, struct error *error)
{
    if (!begins(scan))
        scan->reopened_ns = clock_ns();
    give_up(scan);
    scan->located = false;
    return subject_reopen(&scan->subject, error);
}

/* Otherwise data of a process from before its vCPUs exist would be kept. */
static bool has_begun(const struct guest_scan *scan)
{
    const struct qemu_process *process = &scan->subject.guest.process;

    return process->vcpus_known && process->accel != ACCEL_UNKNOWN;
}

/* Pages read meanwhile may belong to an address space that is gone, in which all are absent. */
static int scan_verified(struct guest_scan *scan, const struct scan_sample *params,
                         struct resident_now *now, struct error *error)
{
    const struct subject *subject = &scan->subject;
    int rc = scan_guest(scan, params, now, error);

    return rc == 0 ? qemu_process_verify(subject->root, &subject->guest.process, error) : rc;
}

static int scan_or_reopen(struct guest_scan *scan, const struct scan_sample *params,
                          struct resident_now *now, struct error *error)
{
    const struct subject *subject = &scan->subject;
    int rc = scan->reopen ? -ESTALE
                          : qemu_process_verify(subject->root, &subject->guest.process, error);

    if (rc == 0)
        rc = scan_verified(scan, params, now, error);
    if (rc == -ESTALE) {
        rc = reopen(scan, error);
        if (rc == 0)
            rc = scan_verified(scan, params, now, error);
    }
    scan->reopen = begins(scan) && (rc < 0 || !has_begun(scan));
    return rc;
}

/* If the RAM could not be located, this is all memory of the process. */
static int read_resident(const struct guest_scan *scan, uint64_t *bytes)
{
    const struct subject *subject = &scan->subject;
    struct resident_now now;
    int rc;

    if (!scan->located)
        return resident_of_process(subject->root, pid_of(scan), bytes);
    rc = resident_meter_read(&subject->resident, subject->root, pid_of(scan), &now);
    *bytes = rc == 0 ? now.resident_bytes : 0;
    return rc;
}

bool guest_scan_size(const struct guest_scan *scan, struct ages_record *record)
{
    const struct guest *guest = &scan->subject.guest;
    uint64_t ram_bytes = scan->located ? scan->subject.ram.bytes : ram_config_bytes(&guest->ram);
    uint64_t resident_bytes;

    if (ram_bytes == 0 || read_resident(scan, &resident_bytes) < 0)
        return false;
    if (scan->located)
        ram_bytes = guest_ram_proved_bytes(&scan->subject.ram, resident_bytes);
    memset(record, 0, sizeof(*record));
    if (resident_bytes > ram_bytes)
        resident_bytes = ram_bytes;
    sample_record_not_measured(&record->sample, guest, ram_bytes, resident_bytes);
    if (scan->located && scan->subject.ram.unproved_bytes > 0)
        record->sample.flags |= FLAG_PARTIAL;
    return true;
}

int guest_scan_sample(struct guest_scan *scan, const struct scan_sample *params,
                      struct ages_record *record, struct error *error)
{
    const struct subject *subject = &scan->subject;
    struct resident_now now;
    int rc = qemu_process_verify(subject->root, &subject->guest.process, error);

    scan->suspended_total_ns = params->suspended_total_ns;
    scan->jobs_between |= params->jobs;
    scan->void_method |= params->anew;
    if (rc == 0 || rc == -ESTALE)
        rc = take_lock(scan, error);
    if (rc < 0)
        return rc;
    rc = scan_or_reopen(scan, params, &now, error);
    if (rc < 0)
        give_up(scan);
    else
        publish_panel(scan);
    run_lock_lend(&scan->lock);
    if (rc == 0)
        rc = make_record(scan, params, &now, record, error);
    if (rc == -EAGAIN)
        remember(scan, 0);
    if (rc == 0 || rc == -EAGAIN)
        return rc;
    scan->void_marks = true;
    /* The files of an ended process read as empty: any error then means that the process has ended.
     */
    if (qemu_process_verify(subject->root, &subject->guest.process, NULL) == -ESRCH)
        return -ESRCH;
    return scan->reopen ? -EAGAIN : rc;
}
