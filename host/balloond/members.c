// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file members.c  See members.h. */
#include "balloond/members.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "cli/advising.h"

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

/* --- who runs --------------------------------------------------------------------------------- */

static int grow(struct members *members)
{
    size_t room = members->room ? 2 * members->room : 16;
    struct member *more = realloc(members->members, room * sizeof(*more));
    struct control_guest *guests;

    if (!more)
        return -ENOMEM;
    members->members = more;
    guests = realloc(members->guests, room * sizeof(*guests));
    if (!guests)
        return -ENOMEM;
    members->guests = guests;
    members->room = room;
    return 0;
}

static ssize_t add(struct members *members, const struct domain_memory *memory)
{
    if (members->n == members->room && grow(members) < 0)
        return -ENOMEM;

    struct member *member = &members->members[members->n];

    *member = (struct member){.domain_id = memory->id};
    memcpy(member->uuid, memory->uuid, sizeof(member->uuid));
    members->guests[members->n] = (struct control_guest){0};
    return (ssize_t)members->n++;
}

static void forget(struct members *members, size_t i)
{
    members->n--;
    members->members[i] = members->members[members->n];
    members->guests[i] = members->guests[members->n];
}

static void take_sizes(struct member *member, struct control_guest *guest,
                       const struct domain_memory *memory, const struct balloond_config *config)
{
    const struct balloond_guest_config *own = balloond_config_guest(config, memory->name,
                                                                    memory->uuid);
    struct decide_input *input = &guest->input;

    if (member->domain_id != memory->id) {
        *guest = (struct control_guest){0};
        *member = (struct member){.domain_id = memory->id};
        memcpy(member->uuid, memory->uuid, sizeof(member->uuid));
    }
    memcpy(member->name, memory->name, sizeof(member->name));
    member->memory = *memory;
    member->seen = true;
    guest->excluded = own && own->excluded;
    input->reserved_bytes = own ? own->reserved_bytes : 0;
    input->shares = own ? own->shares : 0;
    input->actual_bytes = memory->current_bytes;
    /* Fresher than the record, and only where that has statistics: its consistency was judged. */
    if (input->guest.reported && memory->available_bytes != DOMAIN_MEMORY_UNKNOWN)
        input->guest.available_bytes = memory->available_bytes;
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
            i = add(members, &all[k]);
        if (i < 0)
            return error_set(error, (int)i, "out of memory");
        take_sizes(&members->members[i], &members->guests[i], &all[k], config);
    }
    for (size_t i = members->n; i-- > 0;)
        if (!members->members[i].seen)
            forget(members, i);
    return 0;
}

/* --- what they need --------------------------------------------------------------------------- */

static struct decide_input unmeasured(void)
{
    return (struct decide_input){
        .vetoes = VETO_NOT_MEASURED, .up_s = NAN, .panic_age_s = NAN, .day_bytes = DECIDE_UNKNOWN};
}

/* The advice of what is kept; of a guest that is not kept, none. */
static int measure(struct advising *advising, struct store *store, const struct member *member,
                   struct decide_input *input, struct error *error)
{
    struct history_guest found;
    struct advice advice = {0};
    struct error missing = {0};
    int rc = history_find(store, member->uuid, &found, &missing);

    *input = unmeasured();
    if (rc == -ENOENT)
        return 0;
    if (rc == 0)
        rc = advising_make(advising, store, &found, &advice, &missing);
    if (rc == 1)
        *input = advice.input;
    return rc < 0 ? error_set(error, rc, "%s", missing.text) : 0;
}

static int measure_all(struct members *members, const struct balloond_config *config,
                       struct store *store, struct advising *advising, struct error *error)
{
    for (size_t i = 0; i < members->n; i++) {
        struct control_guest *guest = &members->guests[i];
        struct decide_input input;
        int rc = measure(advising, store, &members->members[i], &input, error);

        if (rc < 0)
            return rc;
        guest->input = input;
        take_sizes(&members->members[i], guest, &members->members[i].memory, config);
        guest->input.assigned_bytes = members->members[i].memory.maximum_bytes;
        if (members->members[i].memory.suspended)
            guest->input.vetoes |= VETO_PAUSED;
    }
    return 0;
}

int members_measure(struct members *members, const struct balloond_config *config,
                    struct error *error)
{
    struct advising advising = {.windows = config->windows};
    struct store *store = NULL;
    int rc = history_open(config->database, &store, error);

    if (rc < 0)
        return rc;
    rc = advising_begin(&advising, NULL, error);
    if (rc == 0)
        rc = measure_all(members, config, store, &advising, error);
    advising_end(&advising);
    store_close(store);
    return rc;
}
