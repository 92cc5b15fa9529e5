// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/shrink_guest.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "measure/record/guest_tracker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Tries while libvirt does not answer. A job that holds the domain, such as a migration, is waited
 * for. */
#define RESTORE_TRIES 60

/* --- the balloon ------------------------------------------------------------------------------ */

/* Data for the guardian; armed is set last. */
struct shared {
    volatile bool armed;
    uint64_t full_bytes;
    int id; /* another ID is another run, which has its own balloon */
    char uuid[37];
    char uri[1024];
};

/* Leaves a guest alone that was restarted: its size may be another now. */
static int set_full(struct domain_connection *libvirt, const struct shared *shared,
                    struct error *error)
{
    struct domain_memory memory;
    int rc = domain_memory_fetch(libvirt, shared->uuid, &memory, error);

    if (rc < 0)
        return rc;
    if (memory.id != shared->id)
        return error_set(error, -ENOENT, "domain %s: it was restarted meanwhile", memory.name);
    return domain_memory_set(libvirt, shared->uuid, shared->full_bytes, error);
}

static int give_back(const struct shared *shared)
{
    struct domain_connection *libvirt = NULL;
    int rc = domain_connect_writable(*shared->uri ? shared->uri : NULL, &libvirt, NULL);

    if (rc < 0)
        return rc;
    rc = set_full(libvirt, shared, NULL);
    domain_disconnect(libvirt);
    return rc;
}

/* The lock was taken before the guardian was forked, so the guardian holds a copy of it. */
static void undo(void *area, void *context)
{
    const struct shared *shared = area;
    struct shrink_guest *guest = context;

    for (int failed = 0; shared->armed && failed < RESTORE_TRIES;) {
        int rc = give_back(shared);

        if (rc == 0 || rc == -ENOENT)
            break;
        failed += rc != -EBUSY;
        clock_sleep(1000000000);
    }
    run_lock_release(&guest->lock);
}

/* Jobs of others that only query or set something, as vmwssd's when it publishes, are over sooner.
 */
#define JOB_TRIES 20

/* Three seconds, and the deadlines of two requests. */
#define AGENT_TRIES 12

static void wait_a_while(void)
{
    clock_sleep(250000000);
}

int shrink_guest_set(struct shrink_guest *guest, uint64_t bytes, struct error *error)
{
    struct shared *shared = guardian_shared(guest->guardian);
    const bool was_armed = shared->armed;
    int rc = -EBUSY;

    shared->full_bytes = guest->full_bytes;
    shared->id = guest->memory.id;
    snprintf(shared->uuid, sizeof(shared->uuid), "%s", guest->memory.uuid);
    shared->armed = true;
    for (int i = 0; i < JOB_TRIES; i++) {
        rc = domain_memory_set(guest->libvirt, guest->memory.uuid, bytes, error);
        if (rc != -EBUSY)
            break;
        wait_a_while();
    }
    if (rc == -EBUSY || rc == -EOPNOTSUPP || rc == -ENOENT) /* no change was made */
        shared->armed = was_armed;
    return rc;
}

int shrink_guest_restore(struct shrink_guest *guest, struct error *error)
{
    struct shared *shared = guest->guardian ? guardian_shared(guest->guardian) : NULL;
    int rc;

    if (!shared || !shared->armed)
        return 0;
    rc = set_full(guest->libvirt, shared, error);
    if (rc == 0 || rc == -ENOENT)
        shared->armed = false;
    return rc;
}

/* --- its statistics --------------------------------------------------------------------------- */

static int ask_agent(struct shrink_guest *guest, struct guest_report *report)
{
    struct agent_event event;
    int rc = agent_way_ask(&guest->way, guest->libvirt, guest->memory.uuid, &event);

    if (rc == 0)
        guest_report_of_agent(report, agent_channel_hello(guest->way.channel),
                              &event.message.report, (double)clock_ns() / 1e9);
    return rc;
}

/* Without this value a guest without swap would be shrunk until it kills processes. */
static bool tells_available(const struct guest_report *report)
{
    return report->report.memory.available_bytes != AGENT_UNKNOWN;
}

int shrink_guest_refresh(struct shrink_guest *guest, struct error *error)
{
    struct domain_memory memory;
    int rc = domain_memory_fetch(guest->libvirt, guest->memory.uuid, &memory, error);

    if (rc < 0)
        return rc;
    if (memory.id != guest->memory.id)
        return error_set(error, -ENOENT, "domain %s: it was restarted meanwhile", memory.name);
    guest->memory = memory;
    return 0;
}

static int look_at_agent(struct shrink_guest *guest, struct guest_report *report,
                         struct error *error)
{
    int rc = ask_agent(guest, report);

    /* After a failure it is not asked for two seconds: one answer may be late on a busy host. */
    for (int i = 0; rc < 0 && !interrupted && i < AGENT_TRIES; i++) {
        wait_a_while();
        rc = ask_agent(guest, report);
    }
    if (rc < 0)
        return error_set(error, -ENODATA, "domain %s: %s", guest->memory.name,
                         guest->way.missing.text);
    return tells_available(report)
               ? 0
               : error_set(error, -ENODATA,
                           "domain %s: its agent does not report any more what is "
                           "available",
                           guest->memory.name);
}

int shrink_guest_look(struct shrink_guest *guest, struct guest_report *report, struct error *error)
{
    const struct domain_memory *memory = &guest->memory;
    int rc = shrink_guest_refresh(guest, error);

    if (rc < 0)
        return rc;
    if (guest->source == GUEST_STATS_AGENT)
        return look_at_agent(guest, report, error);
    for (int i = 0; rc == 0 && memory->busy && !interrupted && i < JOB_TRIES; i++) {
        wait_a_while();
        rc = shrink_guest_refresh(guest, error);
    }
    if (rc < 0)
        return rc;
    if (memory->busy) /* libvirt has no statistics of the guest then */
        return error_set(error, -EBUSY, "domain %s: another job runs on it", memory->name);
    if (guest_report_of_balloon(report, memory, (double)clock_ns() / 1e9) &&
        tells_available(report))
        return 0;
    return error_set(error, -ENODATA,
                     "domain %s: its balloon driver stopped reporting: enable its statistics "
                     "(virsh dommemstat %s --period 1)",
                     memory->name, memory->name);
}

struct shrink_reading shrink_guest_reading(const struct shrink_guest *guest,
                                           const struct guest_report *before,
                                           const struct guest_report *now)
{
    const struct host_sample host = {.ram_bytes = guest->memory.current_bytes};
    bool follows = before && guest_report_follows(before, now);
    struct guest_stats stats;

    guest_stats_make(&stats, follows ? before : NULL, now, &host);
    return (struct shrink_reading){
        .available_bytes = stats.available_bytes == AGENT_UNKNOWN ? DECIDE_UNKNOWN
                                                                  : stats.available_bytes,
        .psi_some = stats.psi_some,
        .psi_full = stats.psi_full,
        .refault_bytes_s = stats.refault_bytes_s,
        .swap_in_bytes_s = stats.swap_in_bytes_s,
        .major_faults_s = stats.major_faults_s,
        .oom_kill = (stats.reasons & REASON_OOM_KILL) != 0,
    };
}

/* The agent reports more, but serves only one client, which may be vmwssd. */
static int find_source(struct shrink_guest *guest, struct error *error)
{
    struct guest_report report;

    guest->source = GUEST_STATS_AGENT;
    if (ask_agent(guest, &report) == 0 && tells_available(&report))
        return 0;
    guest->source = GUEST_STATS_BALLOON;
    if (guest_report_of_balloon(&report, &guest->memory, 0) && tells_available(&report))
        return 0;
    return error_set(error, -ENODATA,
                     "domain %s: it does not report its available memory, so it cannot "
                     "complain in time: enable its balloon statistics (virsh dommemstat %s "
                     "--period 1), or run its agent, see vmwss-guest-serve(1) (%s)",
                     guest->memory.name, guest->memory.name,
                     guest->way.missing.code < 0 ? guest->way.missing.text
                                                 : "its agent does not report it");
}

/* --- beginning and end ------------------------------------------------------------------------ */

static int check_balloon(const struct shrink_guest *guest, struct error *error)
{
    const struct domain_memory *memory = &guest->memory;

    if (memory->suspended)
        return error_set(error, -EAGAIN, "domain %s: it is suspended, and its balloon cannot move",
                         memory->name);
    if (memory->current_bytes == DOMAIN_MEMORY_UNKNOWN)
        return error_set(error, -EOPNOTSUPP,
                         "domain %s: it has no balloon (<memballoon model='virtio'/>)",
                         memory->name);
    return 0;
}

/* The guardian is started before libvirt, which has threads; it holds the lock while it lives. */
static int secure(struct shrink_guest *guest, const struct fsroot *root, struct error *error)
{
    static const struct lock_wait at_once = {.pidfd = -1};
    int rc = run_lock_host(&guest->lock, root, "balloond", &at_once, error);

    if (rc == 0)
        rc = guardian_post(&guest->guardian, sizeof(struct shared), undo, guest, error);
    if (rc < 0)
        return rc;

    struct shared *shared = guardian_shared(guest->guardian);

    if (guest->uri && strlen(guest->uri) >= sizeof(shared->uri))
        return error_set(error, -ENAMETOOLONG, "%s: the URI is too long", guest->uri);
    snprintf(shared->uri, sizeof(shared->uri), "%s", guest->uri ? guest->uri : "");
    return 0;
}

int shrink_guest_begin(struct shrink_guest *guest, const struct fsroot *root, const char *domain,
                       struct error *error)
{
    int rc;

    guest->lock = RUN_LOCK_NONE;
    rc = secure(guest, root, error);
    if (rc == 0)
        rc = domain_connect_writable(guest->uri, &guest->libvirt, error);
    if (rc == 0)
        rc = domain_memory_fetch(guest->libvirt, domain, &guest->memory, error);
    if (rc == 0)
        rc = check_balloon(guest, error);
    if (rc < 0)
        return rc;
    guest->full_bytes = guest->memory.current_bytes;
    return find_source(guest, error);
}

/* A guardian that is still armed continues its work, with the lock: it takes our exit for our
 * death. */
void shrink_guest_end(struct shrink_guest *guest)
{
    struct shared *shared = guest->guardian ? guardian_shared(guest->guardian) : NULL;

    agent_way_end(&guest->way);
    domain_disconnect(guest->libvirt);
    if (shared && shared->armed)
        return;
    guardian_dismiss(guest->guardian);
    run_lock_release(&guest->lock);
}
