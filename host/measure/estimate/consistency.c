// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/estimate/consistency.h"

#include <math.h>

#define WEIGHT (1 / 8.0)    /* weight of a new report */
#define ALL_WRONG (1 / 4.0) /* an excess over the margin of this share of the RAM scores 0 */
#define MIB (1024.0 * 1024.0)

/* The tolerance of each figure before it is a contradiction, as a share of the RAM. */
#define TOTAL_ABOVE 0.02 /* MemTotal is always below the memory given to the guest */
/* memory kept by its kernel, its firmware, and for a crash kernel */
#define TOTAL_BELOW 0.15
#define USED_ABOVE 0.05    /* time passes between the report and the measurement */
#define TOUCHED_ABOVE 0.10 /* pages that were used, touched and freed within the window */
#define OWN_ABOVE 0.05
/* A kernel of any size reserves at least this before it counts MemTotal: 50 MiB of 256, Debian 12
 * with an initrd. */
#define KERNEL_MIB 32
/* The first of two answers may have arrived this long after the guest collected it. */
#define ANSWER_S (1 + WIRE_DEADLINE_MS / 1000.0)
#define SMALL_MIB 32 /* minimum tolerance, because a small guest's kernel is not smaller */

struct checking {
    double ram, worst;
    unsigned inconsistencies;
    bool any;
};

static void score(struct checking *checking, enum guest_stats_inconsistency inconsistency,
                  double one)
{
    checking->any = true;
    if (one >= 1)
        return;
    checking->inconsistencies |= inconsistency;
    checking->worst = fmin(checking->worst, fmax(one, 0));
}

/* Checks @p bytes, the excess over the possible maximum; a share of the RAM, or SMALL_MIB, is
 * tolerated. */
static void check_excess(struct checking *checking, enum guest_stats_inconsistency inconsistency,
                         double bytes, double margin)
{
    double forgiven = fmax(margin * checking->ram, SMALL_MIB * MIB);

    score(checking, inconsistency, 1 - (bytes - forgiven) / (ALL_WRONG * checking->ram));
}

static void check_memory(struct checking *checking, const struct agent_memory *memory,
                         const struct host_sample *host)
{
    double total = (double)memory->total_bytes;
    double used = total - (double)memory->free_bytes;

    if (memory->total_bytes == AGENT_UNKNOWN)
        return;
    check_excess(checking, INCONSISTENT_TOTAL, total - checking->ram, TOTAL_ABOVE);
    check_excess(checking, INCONSISTENT_TOTAL, checking->ram - total - KERNEL_MIB * MIB,
                 TOTAL_BELOW);
    if (memory->free_bytes == AGENT_UNKNOWN)
        return;
    if (memory->free_bytes > memory->total_bytes)
        score(checking, INCONSISTENT_USED, 0);
    else if (host->resident_whole)
        check_excess(checking, INCONSISTENT_USED, used - (double)host->resident_bytes, USED_ABOVE);
    /* memory outside of MemTotal may be touched as well */
    if (host->window.window_s > 0)
        check_excess(checking, INCONSISTENT_TOUCHED,
                     (double)host->window.wss_low_bytes - used - fmax(checking->ram - total, 0),
                     TOUCHED_ABOVE);
}

static void check_working_set(struct checking *checking, const struct agent_working_set *own,
                              const struct host_sample *host)
{
    if (isnan(own->window_s) || own->anon_bytes == AGENT_UNKNOWN ||
        own->file_bytes == AGENT_UNKNOWN || host->guest_window.window_s < guest_report_own_s(own))
        return;
    check_excess(checking, INCONSISTENT_WORKING_SET,
                 (double)own->anon_bytes + (double)own->file_bytes -
                     (double)host->guest_window.wss_high_bytes,
                 OWN_ABOVE);
}

/* Scores whether @p took_s seconds fit into @p had_s; a tenth of it and @p late_s are tolerated. */
static double time_score(double took_s, double had_s, double late_s)
{
    double beyond = took_s - (1.1 * had_s + late_s);

    return beyond <= 0 ? 1 : 1 - beyond / (had_s + 1);
}

static double stalled_s(const struct agent_stalled *before, const struct agent_stalled *now)
{
    if (before->total_us == AGENT_UNKNOWN || now->total_us == AGENT_UNKNOWN ||
        now->total_us < before->total_us)
        return 0;
    return (double)(now->total_us - before->total_us) / 1e6;
}

/* The clock of a suspended guest may be behind, but never ahead. */
static void check_time(struct checking *checking, const struct guest_report *before,
                       const struct guest_report *now)
{
    double host_s = now->host_s - before->host_s;
    double guest_s = now->report.uptime_s - before->report.uptime_s;

    score(checking, INCONSISTENT_TIME, time_score(guest_s, host_s, ANSWER_S));
    if (before->report.has_pressure && now->report.has_pressure)
        score(checking, INCONSISTENT_TIME,
              time_score(stalled_s(&before->report.memory_pressure.some,
                                   &now->report.memory_pressure.some),
                         guest_s, 1));
}

double consistency_now(const struct guest_report *before, const struct guest_report *now,
                       const struct host_sample *host, unsigned *inconsistencies)
{
    struct checking checking = {.ram = (double)host->ram_bytes, .worst = 1};

    if (host->ram_bytes > 0) {
        check_memory(&checking, &now->report.memory, host);
        check_working_set(&checking, &now->report.working_set, host);
    }
    if (guest_report_follows(before, now) && now->source == GUEST_STATS_AGENT)
        check_time(&checking, before, now);
    *inconsistencies = checking.inconsistencies;
    return checking.any ? checking.worst : NAN;
}

double consistency_fold(double so_far, double now)
{
    if (isnan(now))
        return so_far;
    return isnan(so_far) ? now : so_far + WEIGHT * (now - so_far);
}
