// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file watched.c  See watched.h. */
#include "daemon/watched.h"

#include "base/clock.h"
#include "base/random.h"
#include "daemon/budget.h"
#include "domain/qemu_vcpus.h"
#include "record/flag_memory.h"
#include "sample/follow.h"
#include "sample/neighbour.h"
#include "sample/run_lock.h"
#include "sample/subject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct watched {
    struct subject subject;
    struct target target;
    bool located;
    const struct method *method;
    struct follower *follower; /* NULL: the panel is to begin anew */
    uint64_t samples;          /* it was drawn for */
    unsigned reads;            /* of it so far */
    bool told;                 /* there was a record */
    bool anew;                 /* it was begun anew: the next record says so */
    bool aged;                 /* the last record has the flag ageing */
    bool method_is_best;       /* there is no better one where that is so */
    bool void_marks;           /* it is to be dropped at the next look, under the lock */
    bool void_method;          /* likewise the method */
    uint64_t published;        /* its layout when it was published; 0: it is not */
    uint64_t stood_still_ns;
    unsigned jobs_between; /* that were seen since the last look */
    struct flag_memory memory;
    struct run_lock lock;
};

struct watched *watched_new(struct guest *guest, const struct fsroot *root)
{
    struct watched *watched = calloc(1, sizeof(*watched));

    if (!watched)
        return NULL;
    watched->subject.root = root;
    guest_move(&watched->subject.guest, guest);
    watched->lock = RUN_LOCK_NONE;
    return watched;
}

bool watched_has_ram(const struct watched *watched, struct ram_config *xml)
{
    const struct guest *guest = &watched->subject.guest;

    ram_config_refine(xml, &guest->process.config.ram);
    return ram_config_equal(&guest->ram, xml);
}

/* --- the panel and the lock ------------------------------------------------------------------- */

static pid_t pid_of(const struct watched *watched)
{
    return watched->subject.guest.process.pid;
}

/* Where the panel is, for whoever measures the guest while the lock is lent. */
static void publish_panel(struct watched *watched)
{
    uint64_t layout = follower_layout(watched->follower);
    struct neighbour panel = {.method = watched->method};

    if (watched->published == layout)
        return;
    if (follower_taken(watched->follower, &panel.taken, &panel.huge) == 0 &&
        neighbour_publish(watched->subject.root, pid_of(watched), &panel) == 0)
        watched->published = layout;
    neighbour_free(&panel);
}

/* Restores the guest: only under its lock, for what is mapped again would seem touched to somebody
 * else who measures it. */
static void drop_panel(struct watched *watched)
{
    watched->anew |= watched->follower && watched->told;
    follower_close(watched->follower);
    watched->follower = NULL;
    if (watched->published)
        neighbour_withdraw(watched->subject.root, pid_of(watched));
    watched->published = 0;
}

static void drop_void(struct watched *watched)
{
    if (watched->void_marks || watched->void_method)
        drop_panel(watched);
    if (watched->void_method) {
        watched->method = NULL;
        watched->method_is_best = false;
    }
    watched->void_marks = watched->void_method = false;
}

/* 0: it is locked, and what does not hold any more is dropped. */
static int take_lock(struct watched *watched, struct error *error)
{
    const struct subject *subject = &watched->subject;
    const struct lock_wait at_once = {.pidfd = -1};
    int rc = watched->lock.file_fd < 0
                 ? run_lock_guest(&watched->lock, subject->root, pid_of(watched), &at_once, error)
                 : run_lock_retake(&watched->lock, &watched->void_marks);

    if (rc == 0)
        drop_void(watched);
    return rc < 0 ? error_set(error, rc, "another vmwss is measuring it") : 0;
}

/* Without the lock the guest is left as it is: its next accesses restore it, as after kill -9. */
void watched_free(struct watched *watched)
{
    if (!watched)
        return;
    if (watched->follower && take_lock(watched, NULL) < 0)
        follower_abandon(watched->follower);
    drop_panel(watched);
    run_lock_release(&watched->lock);
    subject_close(&watched->subject);
    free(watched);
}

void watched_stood_still(struct watched *watched, uint64_t total_ns)
{
    watched->stood_still_ns = total_ns;
}

void watched_note_jobs(struct watched *watched, unsigned flags)
{
    watched->jobs_between |= flags;
}

void watched_begin_anew(struct watched *watched)
{
    watched->void_method = true;
}

uint64_t watched_pages(const struct watched *watched)
{
    return watched->follower ? follower_pages(watched->follower) : 0;
}

const char *watched_method(const struct watched *watched)
{
    return watched->method ? watched->method->name : "";
}

int watched_wake_fd(const struct watched *watched)
{
    return watched->follower ? follower_wake_fd(watched->follower) : -1;
}

int watched_poll(struct watched *watched, struct error *error)
{
    return watched->follower ? follower_poll(watched->follower, error) : 0;
}

/* --- a look ----------------------------------------------------------------------------------- */

static int choose_method(struct watched *watched, const struct watch_rules *rules,
                         struct error *error)
{
    const enum method_order order = method_bits_are_taken(&watched->target) ? ORDER_DAEMON_AGEING
                                                                            : ORDER_DAEMON;
    const struct method *method;
    const struct method_needs needs = {.panel = true, .follow = true};
    struct error reasons = {0};

    for (size_t i = 0; (method = method_at(order, i)); i++) {
        struct error why = {0};
        size_t used = strlen(reasons.text);

        if (rules->method && rules->method != method)
            continue;
        if (method_try(method, &watched->target, &needs, &why) == 0) {
            watched->method = method;
            return 0;
        }
        snprintf(reasons.text + used, sizeof(reasons.text) - used, "%s %s: %s", used ? ";" : "",
                 method->name, why.text);
    }
    return error_set(error, -ENOTSUP, "no method can follow this guest:%s", reasons.text);
}

/* The last record was in doubt: then its panel is worth less than another method, if there is one.
 * Found out once. */
static void leave_aged_method(struct watched *watched, const struct watch_rules *rules)
{
    const struct method *before = watched->method;

    watched->aged = false;
    watched->method_is_best = true;

    if (choose_method(watched, rules, NULL) == 0 && watched->method != before)
        drop_panel(watched);
}

static int locate(struct watched *watched, struct error *error)
{
    int rc = watched->located ? 0 : subject_locate(&watched->subject, watched->subject.root, error);

    if (rc == 0) {
        watched->located = true;
        watched->target = subject_target(&watched->subject);
    }
    return rc;
}

static uint64_t guest_clock(void *context)
{
    const struct watched *watched = context;

    return clock_ns() - watched->stood_still_ns;
}

static double presence(const struct watched *watched, const struct resident_now *now)
{
    return (double)population_bytes(watched->method, now) / (double)watched->subject.ram.bytes;
}

static int begin_panel(struct watched *watched, const struct watch_rules *rules, uint64_t samples,
                       const struct resident_now *now, struct error *error)
{
    const struct follow_plan plan = {
        .method = watched->method,
        .samples = samples,
        .presence = presence(watched, now),
        .longest_s = rules->window_s[rules->n_windows - 1],
        .tick_s = rules->tick_s,
        .seed = random_seed(),
        .clock = guest_clock,
        .clock_context = watched,
    };

    watched->samples = samples;
    watched->reads = 0;
    return follower_open(&watched->target, &plan, &watched->follower, error);
}

static bool fits(const struct watched *watched, const struct watch_rules *rules, uint64_t samples)
{
    bool young = budget_panel_young(watched->reads, follower_elapsed_s(watched->follower),
                                    rules->window_s[rules->n_windows - 1]);

    return budget_panel_fits((double)samples, (double)watched->samples,
                             (double)follower_pages(watched->follower), young);
}

static int look_at_panel(struct watched *watched, const struct watch_rules *rules, uint64_t samples,
                         const struct resident_now *now, struct error *error)
{
    int rc;

    if (!watched->follower)
        return begin_panel(watched, rules, samples, now, error);
    follower_set_samples(watched->follower, samples);
    rc = follower_tick(watched->follower, presence(watched, now), error);
    watched->reads++;
    if (rc == 0 && follower_read_all(watched->follower))
        watched->subject.guest.jobs |= QEMU_JOB_DUMP;
    if (rc == 0 && !fits(watched, rules, samples)) {
        drop_panel(watched);
        rc = begin_panel(watched, rules, samples, now, error);
    }
    return rc;
}

/* What libvirt said when the guest was opened counts once: from then on its events and QEMU's
 * threads tell. */
static void remember(struct watched *watched, unsigned flags)
{
    struct guest *guest = &watched->subject.guest;

    flag_memory_note(&watched->memory,
                     watched->jobs_between | (guest->migrating ? FLAG_MIGRATING : 0),
                     (double)guest_clock(watched) / 1e9);
    flag_memory_look(&watched->memory, flags | sample_job_flags(guest->jobs),
                     (double)guest_clock(watched) / 1e9);
    watched->jobs_between = 0;
    guest->migrating = false;
    guest->jobs = 0;
}

static int tell(struct watched *watched, const struct watch_rules *rules, double cpu_s,
                const struct resident_now *now, struct ages_record *record, struct error *error)
{
    struct sample_plan plan = {.method = watched->method, .n_windows = rules->n_windows};
    int rc;

    memcpy(plan.window_s, rules->window_s, sizeof(plan.window_s));
    rc = ages_record_fill(record, watched->subject.root, &watched->subject.guest,
                          &watched->subject.ram, &plan, watched->follower, cpu_s, now, error);
    if (rc < 0)
        return rc;
    remember(watched, record->sample.flags);
    flag_memory_apply_ages(&watched->memory, record, (double)guest_clock(watched) / 1e9);
    if (watched->anew)
        record->sample.flags |= FLAG_NEW_PANEL;
    watched->anew = false;
    watched->aged = record->sample.flags & FLAG_AGEING;
    watched->told = true;
    return 0;
}

static int look(struct watched *watched, const struct watch_rules *rules, uint64_t samples,
                struct resident_now *now, struct error *error)
{
    int rc = locate(watched, error);

    if (rc == 0 && !watched->method)
        rc = choose_method(watched, rules, error);
    else if (rc == 0 && watched->aged && !watched->method_is_best)
        leave_aged_method(watched, rules);
    if (rc == 0)
        rc = subject_refresh(&watched->subject, now, error);
    if (rc == 0)
        rc = look_at_panel(watched, rules, samples, now, error);
    return rc;
}

/* Of RAM that could not be located it is what the process holds. */
static int read_resident(const struct watched *watched, uint64_t *bytes)
{
    const struct subject *subject = &watched->subject;
    struct resident_now now;
    int rc;

    if (!watched->located)
        return resident_of_process(subject->root, pid_of(watched), bytes);
    rc = resident_meter_read(&subject->resident, subject->root, pid_of(watched), &now);
    *bytes = rc == 0 ? now.resident_bytes : 0;
    return rc;
}

bool watched_size(const struct watched *watched, struct ages_record *record)
{
    const struct guest *guest = &watched->subject.guest;
    uint64_t ram_bytes = watched->located ? watched->subject.ram.bytes : guest->ram.total_bytes;
    uint64_t resident_bytes;

    if (ram_bytes == 0 || read_resident(watched, &resident_bytes) < 0)
        return false;
    memset(record, 0, sizeof(*record));
    if (resident_bytes > ram_bytes)
        resident_bytes = ram_bytes;
    sample_record_not_measured(&record->sample, guest, ram_bytes, resident_bytes);
    return true;
}

/* What has failed need not be right for the guest any more: pageout is not once there is swap. */
static void give_up(struct watched *watched)
{
    drop_panel(watched);
    watched->method = NULL;
    watched->method_is_best = false;
}

int watched_look(struct watched *watched, const struct watch_rules *rules, uint64_t samples,
                 double cpu_s, struct ages_record *record, struct error *error)
{
    const struct subject *subject = &watched->subject;
    struct resident_now now;
    int rc = qemu_process_verify(subject->root, &subject->guest.process, error);

    if (rc == 0)
        rc = take_lock(watched, error);
    if (rc < 0)
        return rc;
    rc = look(watched, rules, samples, &now, error);
    if (rc < 0)
        give_up(watched);
    else
        publish_panel(watched);
    run_lock_lend(&watched->lock);
    if (rc == 0)
        rc = tell(watched, rules, cpu_s, &now, record, error);
    if (rc == -EAGAIN)
        remember(watched, 0);
    if (rc == 0 || rc == -EAGAIN)
        return rc;
    watched->void_marks = true;
    /* The files of a process that ended read as empty: whatever went wrong then is that it
     * ended. */
    return qemu_process_verify(subject->root, &subject->guest.process, NULL) < 0 ? -ESRCH : rc;
}
