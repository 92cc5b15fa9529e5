// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/balloond/statistics.h"

#include "base/bytes.h"
#include "base/service/log.h"
#include "programs/balloond/adoption.h"

#include <errno.h>
#include <stdio.h>

#define ASK_IT "virsh dommemstat %s --period 10 --live, or <stats period='10'/> in <memballoon>"

/* --- who reports nothing ---------------------------------------------------------------------- */

static bool is_unreported(const struct control_guest *guest)
{
    return !guest->excluded && !guest->input.guest.reported && guest->input.guest.ahead_s <= 0 &&
           !(guest->decision.vetoes & (VETO_YOUNG | VETO_PAUSED));
}

static uint64_t wanted_s(const struct balloond *balloond, size_t i)
{
    const struct balloon_guest *member = &balloond->members.members[i];

    return balloond->members.guests[i].excluded
               ? 0
               : balloond_config_guest(balloond->config, member->name, member->uuid)->statistics_s;
}

/* No program asks the driver, and this one could. */
static bool is_unasked(const struct balloond *balloond, size_t i)
{
    const struct balloon_guest *member = &balloond->members.members[i];

    return is_unreported(&balloond->members.guests[i]) && !member->report.asking.done &&
           !member->report.asking.refused &&
           !(balloond->members.guests[i].acts && wanted_s(balloond, i) > 0);
}

uint64_t statistics_win(const struct balloond *balloond, size_t i)
{
    const struct control_guest *guest = &balloond->members.guests[i];
    const struct decide_decision *decision = &guest->decision;
    uint64_t least = larger(larger(decision->demand_bytes, decision->memory.past_bytes),
                            larger(decision->memory.learned_bytes, guest->input.reserved_bytes));

    if (!is_unasked(balloond, i))
        return DECIDE_UNKNOWN;
    return decision->measured ? less(decide_actual(&guest->input), least) : 0;
}

void statistics_explain(char text[STATISTICS_TEXT], const struct balloond *balloond, size_t i)
{
    const struct balloon_guest *member = &balloond->members.members[i];
    double for_s = balloond_now_s() - member->report.asking.at_s;

    text[0] = 0;
    if (!is_unreported(&balloond->members.guests[i]))
        return;
    if (member->report.asking.refused)
        snprintf(
            text, STATISTICS_TEXT,
            "libvirt cannot ask its balloon driver: <memballoon model='virtio'/> in its domain "
            "helps, or vmwss-guest-serve in the guest");
    else if (is_unasked(balloond, i))
        snprintf(text, STATISTICS_TEXT, "its balloon driver is not asked %s",
                 wanted_s(balloond, i) > 0 ? "in a dry run" : "(statistics = keep)");
    else if (member->report.asking.others_s > DOMAIN_MEMORY_MAX_AGE_S / 2)
        snprintf(text, STATISTICS_TEXT,
                 "another program has its balloon driver asked every %llu s, and reports of more "
                 "than a minute ago do not count",
                 (unsigned long long)member->report.asking.others_s);
    else if (member->report.asking.done && for_s >= STATISTICS_SILENT_S)
        snprintf(
            text, STATISTICS_TEXT,
            "its balloon driver is asked every %llu s%s, and has not answered within a minute: "
            "load virtio_balloon in the guest, or run vmwss-guest-serve there",
            (unsigned long long)larger(member->report.asking.period_s,
                                       member->report.asking.others_s),
            member->report.asking.others_s > 0 ? " by another program" : "");
}

/* One line for all that are not asked, and one for each that cannot be, or does not answer. */
static void note_unreported(struct balloond *balloond)
{
    uint64_t win_bytes = 0;
    size_t n = 0, first = 0;
    char text[STATISTICS_TEXT];

    for (size_t i = 0; i < balloond->members.n; i++) {
        struct balloon_guest *member = &balloond->members.members[i];

        if (is_unasked(balloond, i)) {
            first = n++ == 0 ? i : first;
            win_bytes += statistics_win(balloond, i);
            continue;
        }
        statistics_explain(text, balloond, i);
        if (*text && !member->report.asking.logged)
            log_line(LOG_CLASS_GUEST, LOG_WARNING,
                     "domain %s: it reports no statistics, and nothing is taken from it: %s",
                     member->name, text);
        member->report.asking.logged = member->report.asking.logged || *text;
    }
    if (n > balloond->n_unreported)
        log_line(
            LOG_CLASS_GUEST, LOG_WARNING,
            "%zu of %zu guests report no statistics, and nothing is taken from them; at most "
            "%llu MiB could be if their balloon drivers were asked, as with act = yes and without "
            "statistics = keep: " ASK_IT,
            n, balloond->members.n, win_bytes / DECIDE_MIB, balloond->members.members[first].name);
    balloond->n_unreported = larger(n, balloond->n_unreported);
}

/* --- asking ----------------------------------------------------------------------------------- */

static void log_failure(struct balloon_guest *member, const struct error *error)
{
    if (!member->report.asking.failing)
        log_line(LOG_CLASS_GUEST, LOG_WARNING,
                 "domain %s: the period of its balloon driver's statistics cannot be set: %s",
                 member->name, error->text);
    member->report.asking.failing = true;
}

/* The journal has the period before the domain has it, and as long as the domain has it. */
static int write_period(struct balloond *balloond, size_t i, uint64_t period_s, struct error *error)
{
    uint64_t *own = &balloond->members.members[i].report.asking.period_s;
    uint64_t before_s = *own;
    int rc;

    *own = period_s;
    rc = period_s == before_s ? 0 : adoption_write(balloond, i, error);
    if (rc < 0)
        *own = before_s;
    return rc;
}

/* A failure of libvirt, as when libvirtd ends, may come after the domain was changed. */
static int ask(struct balloond *balloond, size_t i, uint64_t period_s, struct error *error)
{
    struct balloon_guest *member = &balloond->members.members[i];
    uint64_t found_s;
    int rc = domain_balloon_period(balloond->libvirt, member->uuid, &found_s, error);

    member->report.asking.refused = rc == -EOPNOTSUPP;
    if (rc < 0)
        return rc == -EOPNOTSUPP ? write_period(balloond, i, 0, error) : rc;
    member->report.asking.at_s = balloond_now_s();
    if (found_s > 0) { /* ours, of before a kill -9, or another program's */
        bool ours = found_s == member->report.asking.period_s;

        member->report.asking.done = true;
        member->report.asking.others_s = ours ? 0 : found_s;
        return write_period(balloond, i, ours ? found_s : 0, error);
    }
    rc = write_period(balloond, i, period_s, error);
    if (rc == 0)
        rc = domain_balloon_ask(balloond->libvirt, member->uuid, 0, period_s, error);
    member->report.asking.refused = rc == -EOPNOTSUPP;
    member->report.asking.done = rc == 0;
    if (rc == 0)
        log_line(
            LOG_CLASS_GUEST, LOG_INFO,
            "domain %s: its balloon driver is asked for statistics every %llu s, as no program does",
            member->name, (unsigned long long)period_s);
    if (member->report.asking.refused)
        rc = write_period(balloond, i, 0, error);
    return rc;
}

static int stop(struct balloond *balloond, size_t i, struct error *error)
{
    struct balloon_guest *member = &balloond->members.members[i];
    int rc = domain_balloon_ask(balloond->libvirt, member->uuid, member->report.asking.period_s, 0,
                                error);

    if (rc < 0 && rc != -ENOENT)
        return rc;
    member->report.asking.done = false;
    return write_period(balloond, i, 0, error);
}

static void step_one(struct balloond *balloond, size_t i)
{
    struct balloon_guest *member = &balloond->members.members[i];
    const uint64_t wanted = wanted_s(balloond, i), ours = member->report.asking.period_s;
    struct error error = {0};
    int rc = 0;

    if (!balloond->members.guests[i].acts || member->fresh || member->memory.arriving ||
        member->memory.busy || member->report.asking.refused)
        return;
    if (ours > 0 && ours != wanted)
        rc = stop(balloond, i, &error);
    if (rc == 0 && wanted > 0 && !member->report.asking.done)
        rc = ask(balloond, i, wanted, &error);
    if (rc == 0)
        member->report.asking.failing = false;
    else if (rc != -ENOENT) /* it has just ended */
        log_failure(member, &error);
}

void statistics_step(struct balloond *balloond)
{
    for (size_t i = 0; i < balloond->members.n; i++)
        step_one(balloond, i);
    if (balloond->config->policy.decide.needs_statistics)
        note_unreported(balloond);
}

size_t statistics_end(struct balloond *balloond)
{
    size_t failed = 0;

    for (size_t i = 0; i < balloond->members.n; i++) {
        struct balloon_guest *member = &balloond->members.members[i];
        struct error error = {0};

        if (balloond->config->restore == RESTORE_HOLD || member->report.asking.period_s == 0 ||
            stop(balloond, i, &error) == 0)
            continue;
        log_failure(member, &error);
        failed++;
    }
    return failed;
}
