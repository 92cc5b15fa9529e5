// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/balloond/unmeasured.h"

#include "base/service/log.h"

#include <stdio.h>

/* If tasks wait for a CPU for this share of the time, a lack of CPUs is given as the reason. */
#define CPU_SOME_MUCH 0.2
/* Decisions that are late by so many intervals are reported. */
#define LATE_INTERVALS 3

static bool has_no_numbers(const struct control_guest *guest)
{
    return !guest->excluded && (guest->decision.vetoes & (VETO_NOT_MEASURED | VETO_STALE));
}

static void write_reason(char *text, size_t size, const struct balloon_guest *member,
                         const struct control_guest *guest)
{
    if (member->measured.period_s <= 0)
        snprintf(text, size, "vmwssd has no record of it");
    else if (guest->input.age_s < -DECIDE_SKEW_S)
        snprintf(text, size, "its last record is dated %.0f s later than now", -guest->input.age_s);
    else if (guest->decision.vetoes & VETO_STALE)
        snprintf(text, size, "its last record is %.0f s old", guest->input.age_s);
    else
        snprintf(text, size, "no method of vmwssd can measure it");
}

static void write_cpu(char *text, size_t size, const struct control_host *host)
{
    text[0] = 0;
    if (host->cpu_some >= CPU_SOME_MUCH)
        snprintf(text, size,
                 "; the CPUs are short: in %.0f %% of the last minute tasks waited for one",
                 100 * host->cpu_some);
}

size_t unmeasured_explain(char *text, size_t size, const struct members *members,
                          const struct control_host *host)
{
    char reason[96] = "", cpu[96];
    const char *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < members->n; i++) {
        const struct balloon_guest *member = &members->members[i];

        if (member->unmeasured_s == 0 || host->now_s - member->unmeasured_s < UNMEASURED_S)
            continue;
        if (n++ > 0)
            continue;
        first = member->name;
        write_reason(reason, sizeof(reason), member, &members->guests[i]);
    }
    write_cpu(cpu, sizeof(cpu), host);
    snprintf(
        text, size,
        "%zu of %zu guests have no current working set, and nothing is taken from them; domain "
        "%s: %s%s",
        n, members->n, first ? first : "-", reason, cpu);
    return n;
}

static void note_late(struct balloond *balloond, const struct control_host *host)
{
    double gone_s = host->now_s - balloond->decided_s;
    bool late = balloond->decided_s > 0 && gone_s > LATE_INTERVALS * balloond->config->interval_s;
    char cpu[96];

    write_cpu(cpu, sizeof(cpu), host);
    if (late && !balloond->was_late)
        log_line(LOG_CLASS_DAEMON, LOG_WARNING,
                 "the last decision was made %.0f s ago, in place of %.0f%s", gone_s,
                 balloond->config->interval_s, cpu);
    balloond->was_late = late;
}

void unmeasured_note(struct balloond *balloond, const struct control_host *host)
{
    struct members *members = &balloond->members;
    char text[512];
    size_t n;

    note_late(balloond, host);
    for (size_t i = 0; i < members->n; i++) {
        double *since_s = &members->members[i].unmeasured_s;

        if (!has_no_numbers(&members->guests[i]))
            *since_s = 0;
        else if (*since_s == 0)
            *since_s = host->now_s;
    }
    n = unmeasured_explain(text, sizeof(text), members, host);
    if (n > 0 && balloond->n_unmeasured == 0)
        log_line(LOG_CLASS_HISTORY, LOG_WARNING, "%s", text);
    if (n == 0 && balloond->n_unmeasured > 0)
        log_line(LOG_CLASS_HISTORY, LOG_NOTICE, "all guests have a current working set again");
    balloond->n_unmeasured = n;
}
