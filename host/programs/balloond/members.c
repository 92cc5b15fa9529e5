// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/balloond/members.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/service/log.h"
#include "decide/advice/advising.h"
#include "guest/domain/balloon_counters.h"
#include "history/event.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void members_free(struct members *members)
{
    free(members->members);
    free(members->guests);
    *members = (struct members){0};
}

ssize_t members_find(const struct members *members, const char *uuid)
{
    for (size_t i = 0; i < members->n; i++)
        if (!strcmp(members->members[i].uuid, uuid))
            return (ssize_t)i;
    return -1;
}

/* --- one member ------------------------------------------------------------------------------- */

/* libvirt's statistics are at most a minute old (DOMAIN_MEMORY_MAX_AGE_S). */
#define LIBVIRT_PERIOD_S (DOMAIN_MEMORY_MAX_AGE_S / 3.0)

static struct decide_input unmeasured(void)
{
    return (struct decide_input){
        .vetoes = VETO_NOT_MEASURED, .up_s = NAN, .panic_age_s = NAN, .day_bytes = DECIDE_UNKNOWN};
}

static void forget_report(struct decide_guest *guest)
{
    *guest = (struct decide_guest){
        .ahead_s = guest->ahead_s,
        .consistency = guest->reported ? guest->consistency : (double)NAN,
        .total_bytes = DECIDE_UNKNOWN,
        .swap_total_bytes = DECIDE_UNKNOWN,
        .swap_free_bytes = DECIDE_UNKNOWN,
        .cold_anon_bytes = DECIDE_UNKNOWN,
        .psi_some = NAN,
        .psi_full = NAN,
        .refault_bytes_s = NAN,
        .swap_in_bytes_s = NAN,
        .stalls_s = NAN,
    };
}

struct decide_input members_input(const struct decide_input *measured, double since_s,
                                  const struct domain_memory *memory, double wall_s)
{
    struct decide_input input = *measured;
    struct decide_guest *guest = &input.guest;
    double age_s = wall_s - (double)memory->updated_s;

    input.age_s += since_s;
    input.up_s += since_s;
    guest->age_s += since_s;
    guest->ahead_s = memory->updated_s > 0 && age_s < -DECIDE_SKEW_S ? -age_s : 0;
    if (memory->available_bytes == DOMAIN_MEMORY_UNKNOWN || memory->updated_s == 0 ||
        guest->ahead_s > 0 || (guest->reported && age_s >= guest->age_s + guest->late_s))
        return input;
    if (!guest->reported || guest->age_s > decide_policy_default.stale_periods * input.period_s)
        forget_report(guest);
    guest->reported = true;
    guest->available_bytes = memory->available_bytes;
    guest->total_bytes = memory->total_bytes;
    guest->age_s = fmax(age_s, 0);
    guest->late_s = 0;
    guest->period_s = LIBVIRT_PERIOD_S;
    return input;
}

static void begin_run(struct balloon_guest *member, struct control_guest *guest,
                      const struct domain_memory *memory)
{
    *guest = (struct control_guest){0};
    *member = (struct balloon_guest){.domain_id = memory->id,
                                     .fresh = true,
                                     .measured = unmeasured(),
                                     .begun_s = (double)clock_ns() / 1e9};
    memcpy(member->uuid, memory->uuid, sizeof(member->uuid));
    guest_tracker_init(&member->counters.tracker, "");
}

/* --- running guests --------------------------------------------------------------------------- */

static ssize_t add_member(struct members *members, const struct domain_memory *memory)
{
    void *more = array_grow(members->members, members->n, sizeof(*members->members));

    members->members = more ? more : members->members;
    if (more)
        more = array_grow(members->guests, members->n, sizeof(*members->guests));
    if (!more)
        return -ENOMEM;
    members->guests = more;

    begin_run(&members->members[members->n], &members->guests[members->n], memory);
    if (!members->follows)
        members->members[members->n].begun_s = 0;
    return (ssize_t)members->n++;
}

static void remove_member(struct members *members, size_t i)
{
    members->n--;
    members->members[i] = members->members[members->n];
    members->guests[i] = members->guests[members->n];
}

/* Forgets everything if this is another run. */
static void begin_if_new(struct balloon_guest *member, struct control_guest *guest,
                         const struct domain_memory *memory)
{
    if (member->domain_id != memory->id)
        begin_run(member, guest, memory);
}

/* --- devices ---------------------------------------------------------------------------------- */

/* A change in the domain may have changed its maximum. */
static bool may_have_device(const struct balloon_guest *member,
                            const struct actuator_device *device,
                            const struct domain_memory *memory)
{
    return member->fresh || device->found.n > 0 || device->unknown ||
           member->memory.maximum_bytes != memory->maximum_bytes;
}

/* Returns 0; or -ENOTCONN. Any other read error may mean that the guest has ended. */
static int read_devices(struct balloon_guest *member, const struct domain_memory *memory,
                        struct domain_connection *libvirt, struct error *error)
{
    for (size_t a = 0; a < N_ACTUATORS; a++) {
        struct actuator_device *device = &member->devices[a];
        struct error failed = {0};
        int rc;

        if (!actuators[a]->read || !may_have_device(member, device, memory))
            continue;
        rc = actuators[a]->read(libvirt, memory->uuid, &device->found, &failed);
        device->unknown = rc < 0;
        if (rc == -ENOTCONN)
            return error_set(error, rc, "%s", failed.text);
    }
    return 0;
}

/* Devices that may not be changed count with their present size. */
static void take_limits(struct balloon_guest *member, struct control_guest *guest,
                        const struct balloond_config *config)
{
    uint64_t base = member->memory.maximum_bytes, most = 0, current = 0;
    struct actuator all[N_ACTUATORS] = {0};
    const struct domain_virtio_mem *found = NULL;
    bool uses = false;

    for (size_t a = 0; a < N_ACTUATORS; a++) {
        const struct actuator_device *device = &member->devices[a];
        const char *refusal;

        if (device->found.n == 0)
            continue;
        found = &device->found;
        refusal = actuators[a]->limits(device, config->uses[a], &all[a]);
        base = less(base, found->size_bytes);
        most += all[a].most_bytes;
        current += found->current_bytes;
        uses = uses || !refusal;
        guest->refused[a] = refusal && *refusal ? refusal : NULL;
        if (refusal)
            all[a] = (struct actuator){0};
    }
    if (!found)
        return;
    all[ACTUATOR_BALLOON] = (struct actuator){
        .least_bytes = found->balloon ? 0 : base,
        .most_bytes = base,
        .current_bytes = found->balloon ? found->total_bytes - current : base};
    guest->input.assigned_bytes = base + most;
    guest->input.actual_bytes = all[ACTUATOR_BALLOON].current_bytes + current;
    member->memory.current_bytes = guest->input.actual_bytes;
    if (uses)
        memcpy(guest->limits, all, sizeof(all));
}

static void take_devices(struct balloon_guest *member, struct control_guest *guest,
                         const struct balloond_config *config)
{
    struct decide_input *input = &guest->input;

    memset(guest->limits, 0, sizeof(guest->limits));
    memset(guest->refused, 0, sizeof(guest->refused));
    for (size_t a = 0; a < N_ACTUATORS; a++)
        if (!member->fresh && guest->state.before_bytes == 0)
            member->devices[a].before_bytes = 0;
    if (input->actual_bytes != DECIDE_UNKNOWN)
        take_limits(member, guest, config);
    for (size_t a = 0; a < N_ACTUATORS; a++)
        if (member->devices[a].unknown)
            input->actual_bytes = DECIDE_UNKNOWN;
}

/* Without a period the driver reports only once, and if the host's clock is set back meanwhile that
 * report looks new: by the monotonic clock it is not. */
static struct domain_memory without_frozen_report(struct balloon_guest *member,
                                                  const struct domain_memory *memory, double now_s)
{
    struct domain_memory current = *memory;

    if (member->report.seen_s == 0)
        member->report.began_s = memory->updated_s > 0 ? -INFINITY : INFINITY;
    else if (member->report.updated_s == 0 && memory->updated_s > 0)
        member->report.began_s = now_s;
    if (member->report.seen_s == 0 || member->report.updated_s != memory->updated_s) {
        member->report.updated_s = memory->updated_s;
        member->report.seen_s = now_s;
    }
    if (now_s - member->report.seen_s > DOMAIN_MEMORY_MAX_AGE_S)
        current.available_bytes = DOMAIN_MEMORY_UNKNOWN;
    return current;
}

void members_take_sizes(struct balloon_guest *member, struct control_guest *guest,
                        const struct domain_memory *memory, const struct balloond_config *config)
{
    const struct balloond_guest_config *own = balloond_config_guest(config, memory->name,
                                                                    memory->uuid);
    const double wall_s = store_clock_now().wall_s, now_s = (double)clock_ns() / 1e9;
    struct decide_input *input = &guest->input;
    struct domain_memory current;

    begin_if_new(member, guest, memory);
    current = without_frozen_report(member, memory, now_s);
    memcpy(member->name, memory->name, sizeof(member->name));
    member->memory = *memory;
    member->seen = true;
    member->ambiguous = balloond_config_is_ambiguous(config, memory->name, memory->uuid);
    guest->busy = memory->busy || member->reclaim.sent_bytes > 0;
    guest->excluded = member->ambiguous || own->excluded;
    guest->acts = balloond_config_acts(config, own);
    *input = members_input(&member->measured,
                           member->measured_s > 0 ? now_s - member->measured_s : 0, &current,
                           wall_s);
    decide_add_counters(&input->guest, &member->counters.tracker, now_s);
    /* Records of before the host's clock was set make it look older. */
    if (member->begun_s > 0)
        input->up_s = fmin(input->up_s, now_s - member->begun_s);
    input->stalled = member->stall.time_s > 0 && now_s - member->stall.at_s <= MEMBER_STALL_S;
    input->guest.starting = now_s - member->report.began_s < config->policy.balloon.start_s;
    input->assigned_bytes = memory->maximum_bytes;
    input->actual_bytes = member->fresh && memory->arriving ? DECIDE_UNKNOWN
                                                            : memory->current_bytes;
    input->reserved_bytes = balloond_config_reservation(own, input->assigned_bytes);
    input->shares = (double)own->shares;
    guest->allowed_bytes = own->has_limit ? own->limit_bytes : config->limit_bytes;
    input->vetoes |= memory->suspended ? VETO_PAUSED : 0;
    take_devices(member, guest, config);
}

/* Is called once for each report. */
static void read_counters(struct balloon_guest *member, struct domain_connection *libvirt,
                          struct domain_memory *memory)
{
    struct error error = {0};
    int rc;

    if (memory->busy || memory->suspended || memory->updated_s == 0 ||
        member->counters.tracker.now.report.uptime_s >= (double)memory->updated_s)
        return;
    rc = balloon_counters_read(libvirt, memory, &error);
    if (rc == 0)
        guest_tracker_update_balloon(&member->counters.tracker, memory, (double)clock_ns() / 1e9);
    else if (rc != -EBUSY && rc != -EAGAIN && !member->counters.missing)
        log_line(LOG_CLASS_GUEST, LOG_WARNING, "domain %s: QEMU does not tell its counters: %s",
                 memory->name, error.code ? error.text : "it has no balloon0");
    member->counters.missing = rc != 0 && rc != -EBUSY && rc != -EAGAIN;
}

int members_follow(struct members *members, struct domain_connection *libvirt,
                   const struct balloond_config *config, struct error *error)
{
    cleanup_free struct domain_memory *all = NULL;
    ssize_t n = domain_memory_all(libvirt, &all, error);

    if (n < 0)
        return (int)n;
    for (size_t i = 0; i < members->n; i++)
        members->members[i].seen = false;
    for (ssize_t k = 0; k < n; k++) {
        ssize_t i = members_find(members, all[k].uuid);

        if (all[k].maximum_bytes == DOMAIN_MEMORY_UNKNOWN || all[k].maximum_bytes == 0)
            continue;
        if (i < 0)
            i = add_member(members, &all[k]);
        if (i < 0)
            return error_set(error, (int)i, "out of memory");
        begin_if_new(&members->members[i], &members->guests[i], &all[k]);
        if (config->qemu_statistics)
            read_counters(&members->members[i], libvirt, &all[k]);
        if (read_devices(&members->members[i], &all[k], libvirt, error) < 0)
            return -ENOTCONN;
        members_take_sizes(&members->members[i], &members->guests[i], &all[k], config);
    }
    for (size_t i = members->n; i-- > 0;)
        if (!members->members[i].seen)
            remove_member(members, i);
    members->follows = true;
    return 0;
}

/* --- stalls ----------------------------------------------------------------------------------- */

struct hearing {
    struct members *members;
    double now_s;
    bool news;
};

/* The clock was set back since that time. */
static bool is_ahead(double time_s, double now_s)
{
    return time_s > now_s + MEMBER_STALL_S;
}

static int receive_stall(const char *uuid, double time_s, void *context)
{
    struct hearing *hearing = context;
    ssize_t i = members_find(hearing->members, uuid);

    if (i < 0 || is_ahead(time_s, hearing->now_s))
        return 0;

    struct balloon_guest *member = &hearing->members->members[i];

    if (time_s <= member->stall.time_s && !is_ahead(member->stall.time_s, hearing->now_s))
        return 0;
    member->stall.time_s = time_s;
    member->stall.at_s = (double)clock_ns() / 1e9 - fmax(hearing->now_s - time_s, 0);
    hearing->news = true;
    return 0;
}

bool members_hear_stalls(struct members *members, const struct balloond_config *config)
{
    struct hearing hearing = {members, store_clock_now().wall_s, false};
    struct store *store = NULL;

    if (members->n > 0 && history_open(config->database, &store, NULL) == 0)
        history_stalls(store, hearing.now_s - MEMBER_STALL_S, receive_stall, &hearing, NULL);
    store_close(store);
    return hearing.news;
}

/* --- needs ------------------------------------------------------------------------------------ */

/* Makes the input from the history; there is none for a guest without history. */
static int read_history(struct advising *advising, struct store *store, const char *uuid,
                        struct decide_input *input, struct error *error)
{
    struct history_guest found;
    struct advice advice = {0};
    struct error missing = {0};
    int rc = history_find(store, uuid, &found, &missing);

    if (rc == -ENOENT)
        return 0;
    if (rc == 0)
        rc = advising_make(advising, store, &found, &advice, &missing);
    if (rc == 1)
        *input = advice.input;
    return rc < 0 ? error_set(error, rc, "%s", missing.text) : 0;
}

static void begin_measuring(struct members *members)
{
    for (size_t i = 0; i < members->n; i++) {
        members->members[i].measured = unmeasured();
        members->members[i].measured_s = (double)clock_ns() / 1e9;
    }
}

/* Replays take long, so the oldest ones are made first, as long as there is time. */
#define PAST_EVERY_S 3600
#define PAST_TIME_S 0.5

static struct balloon_guest *next_to_replay(struct members *members, double now_s)
{
    struct balloon_guest *next = NULL;

    for (size_t i = 0; i < members->n; i++) {
        struct balloon_guest *member = &members->members[i];

        if ((member->past_s == 0 || now_s >= member->past_s + PAST_EVERY_S) &&
            (!next || member->past_s < next->past_s))
            next = member;
    }
    return next;
}

static int replay_one(struct advising *advising, struct store *store,
                      const struct balloond_config *config, struct balloon_guest *member,
                      struct error *error)
{
    const struct balloond_guest_config *own = balloond_config_guest(config, member->name,
                                                                    member->uuid);
    struct replayed replayed = {.past.tested = true};
    struct history_guest found;
    int rc = history_find(store, member->uuid, &found, error);

    advising->reserved_bytes = balloond_config_reservation(own, member->memory.maximum_bytes);
    if (rc == 0)
        rc = advising_replay(advising, store, &found, ADVISING_BACKTEST_S, &replayed, error);
    if (rc < 0 && rc != -ENOENT)
        return rc;
    member->past = replayed.past;
    member->past_s = (double)clock_ns() / 1e9;
    return 0;
}

static int replay_pasts(struct members *members, struct store *store, struct advising *advising,
                        const struct balloond_config *config, struct error *error)
{
    const double began_s = (double)clock_ns() / 1e9;
    struct balloon_guest *member;
    int rc = 0;

    while (rc == 0 && (double)clock_ns() / 1e9 < began_s + PAST_TIME_S &&
           (member = next_to_replay(members, began_s)) != NULL) {
        struct error why = {0};

        rc = replay_one(advising, store, config, member, &why);
        if (rc < 0)
            error_set(error, rc, "domain %s: %s", member->name, why.text);
    }
    return rc;
}

static int measure_all(struct members *members, struct store *store, struct advising *advising,
                       struct error *error)
{
    int first = 0;

    for (size_t i = 0; i < members->n; i++) {
        struct balloon_guest *member = &members->members[i];
        struct error why = {0};
        int rc = read_history(advising, store, member->uuid, &member->measured, &why);

        if (rc < 0 && first == 0)
            first = error_set(error, rc, "domain %s: %s", member->name, why.text);
        member->measured.past = member->past;
    }
    return first;
}

int members_measure(struct members *members, const struct balloond_config *config,
                    struct error *error)
{
    struct advising advising = {.windows = config->windows, .day_min_s = ADVISING_DAY_S};
    struct store *store = NULL;
    int rc = history_open(config->database, &store, error);

    begin_measuring(members);
    if (rc == 0)
        rc = advising_begin(&advising, NULL, error);
    if (rc == 0)
        rc = replay_pasts(members, store, &advising, config, error);
    if (rc == 0)
        rc = measure_all(members, store, &advising, error);
    advising_end(&advising);
    store_close(store);
    for (size_t i = 0; i < members->n; i++)
        members_take_sizes(&members->members[i], &members->guests[i], &members->members[i].memory,
                           config);
    return rc;
}
