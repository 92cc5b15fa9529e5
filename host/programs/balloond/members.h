// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file members.h  The running guests and what is known of each: sizes from libvirt, working sets
 * and statistics from vmwssd's history.
 */
#pragma once

#include "decide/journal/journal.h"
#include "guest/domain/domain_memory.h"
#include "guest/domain/domain_virtio_mem.h"
#include "programs/balloond/config.h"

#define MEMBER_AFTERS 3
/** A stall that the guest's agent reported counts as pressure of a panic for so long. */
#define MEMBER_STALL_S 10

/** Beside its control_guest, which has the same number. */
struct balloon_guest {
    char uuid[37];
    char name[256];
    int domain_id; /* another one: another run, and all is forgotten */
    bool seen;
    bool fresh;     /* whether the journal knows its balloon has not been looked up yet */
    bool owned;     /* it is in the journal */
    bool ambiguous; /* it has two sections in the configuration */
    struct decide_input measured; /* by the history, at measured_s, Unix time */
    double measured_s;
    double stalled_s; /* its last stall, Unix time; 0: none */
    struct domain_memory memory;
    struct domain_virtio_mem plug;
    bool plug_unknown;          /* it could not be read */
    uint64_t plug_before_bytes; /* what was requested of it before our first target; 0: none */
    bool failing;               /* its balloon could not be set, and that was logged */
    bool unmarked;              /* likewise, its mark (domain_mark.h) */
    struct {
        char key[128]; /* what the last row says, in short */
        int64_t id;    /* of the last row of a balloon that was set; 0: it was not set by it */
        double at_s;   /* when */
        double paid_until_s; /* rows that were added too early */
        double short_s;      /* when the guest was short of memory last; 0: never */
    } recorded;
    struct {
        uint64_t order_bytes;        /* to be asked for; 0: nothing */
        double ordered_s, renewed_s; /* by the first and the last decision */
        uint64_t sent_bytes;         /* asked for, and not answered yet */
        int64_t id;                  /* of that order in the journal; 0: it is not there */
        double asked_s;              /* when its group was asked about last; 0: never */
        bool failing;                /* nothing could be reclaimed, and that was logged */
    } reclaim;
    struct {
        int64_t id; /* of the journal; 0: none */
        double at_s;
        unsigned step; /* 0, 1, 2: 5, 30, 60 s */
    } after;
};

struct members {
    struct balloon_guest *members;
    struct control_guest *guests;
    size_t n, room;
};

void members_free(struct members *members);

/** Sizes, from libvirt: guests that came and went. 0 or negative with the message. */
int members_follow(struct members *members, struct domain_connection *libvirt,
                   const struct balloond_config *config, struct error *error);

/** What is known @p since_s seconds after @p measured: with the statistics that libvirt has at
 * @p wall_s, Unix time, where those are newer than the record's. Of a record that is old nothing
 * else that the guest reported stands then. */
struct decide_input members_input(const struct decide_input *measured, double since_s,
                                  const struct domain_memory *memory, double wall_s);

/** One of them: what libvirt says of it now, and what is configured, into the input. */
void members_take_sizes(struct balloon_guest *member, struct control_guest *guest,
                        const struct domain_memory *memory, const struct balloond_config *config);

/** Working sets, from the history. A guest that is not in it, and without the history every guest,
 * keeps what it has, but for what libvirt's statistics say. 0; or negative with the message of the
 * first that could not be read. */
int members_measure(struct members *members, const struct balloond_config *config,
                    struct error *error);

/** Reads stalls that vmwssd has kept since the last call; the inputs have them with the next
 * members_follow(). Is there any? What fails counts as none: members_measure() says so. */
bool members_hear_stalls(struct members *members, const struct balloond_config *config);

/** The number of that guest; -1: it does not run. */
ssize_t members_find(const struct members *members, const char *uuid);
