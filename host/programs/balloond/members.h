// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file members.h  The running guests and their data: sizes from libvirt, working sets and
 * statistics from vmwssd's history.
 */
#pragma once

#include "decide/journal/journal.h"
#include "guest/domain/domain_memory.h"
#include "measure/record/guest_tracker.h"
#include "programs/balloond/config.h"

/** A stall that the guest's agent reported counts as pressure of a panic for this long. */
#define MEMBER_STALL_S 10

/** Data beside the control_guest with the same index. */
struct balloon_guest {
    char uuid[37];
    char name[256];
    int domain_id; /* a new ID is a new run, and everything is forgotten */
    bool seen;
    bool fresh;     /* its balloon has not been looked up in the journal yet */
    bool owned;     /* it is in the journal */
    bool ambiguous; /* it has two sections in the configuration */
    double begun_s; /* it began then, by the monotonic clock; 0: earlier than it was followed */
    uint64_t owned_assigned_bytes; /* M in the journal's row; 0: none */
    struct decide_input measured;  /* from the history, made at measured_s, by the monotonic */
    double measured_s;             /* clock, as a step of the other would make it older */
    struct decide_past past;       /* replayed at past_s, by the monotonic clock; 0: not yet */
    double past_s;
    double unmeasured_s; /* it has had no numbers since, by the monotonic clock; 0: it has them */
    struct {
        double time_s; /* Unix time; 0: none */
        double at_s;   /* the same by the monotonic clock */
    } stall;           /* the last one */
    struct domain_memory memory;
    struct {
        uint64_t updated_s; /* Unix time by the host's clock then; */
        double seen_s;      /* first seen at, by the monotonic clock; 0: none */
        /* the driver's first one was seen at; -INFINITY: it had reported before; INFINITY: none */
        double began_s;
        struct {
            uint64_t period_s; /* the driver is asked by us that often; 0: it is not */
            uint64_t others_s; /* it is asked by another program that often; 0: it is not */
            double at_s;       /* when that was found or done, by the monotonic clock */
            bool done;         /* the period is ours, or another's */
            bool refused;      /* libvirt cannot have it asked */
            bool failing;      /* it could not be asked, and that was logged */
            bool logged;       /* it does not answer, and that was logged */
        } asking;
    } report;                                    /* the driver's last one */
    struct actuator_device devices[N_ACTUATORS]; /* of actuators that have one */
    struct {
        struct guest_tracker tracker; /* of its balloon driver's reports, if QEMU is asked */
        bool missing;                 /* QEMU did not report them, and that was logged */
    } counters;
    bool failing;   /* its balloon could not be set, and that was logged */
    bool contested; /* another controller works against this one, and that was logged */
    bool unmarked;  /* the same for its mark (domain_mark.h) */
    struct {
        char key[128]; /* short form of the last row */
        int64_t id;    /* ID of the last row of a balloon that was set; 0: the last row set none */
        double at_s;   /* time of that row */
        double paid_until_s; /* time up to which early rows have been used up */
        double short_s;      /* last time at which the guest was short of memory; 0: never */
    } recorded;
    struct {
        uint64_t order_bytes;        /* amount to request; 0: nothing */
        double ordered_s, renewed_s; /* time of the first and of the last decision */
        uint64_t sent_bytes;         /* requested, but not answered yet */
        int64_t id;                  /* ID of that order in the journal; 0: it is not there */
        double asked_s;              /* last request for its group; 0: never */
        bool failing;                /* nothing could be reclaimed, and this was logged */
    } reclaim;
    struct {
        int64_t id; /* ID in the journal; 0: none */
        double at_s;
        unsigned step; /* 0, 1, 2: after 5, 30, 60 s */
    } after;
};

struct members {
    struct balloon_guest *members;
    struct control_guest *guests;
    size_t n;
    bool follows; /* guests that are new have just begun */
};

void members_free(struct members *members);

/** Updates sizes from libvirt, and adds and removes guests. Returns 0 or negative with the message.
 */
int members_follow(struct members *members, struct domain_connection *libvirt,
                   const struct balloond_config *config, struct error *error);

/** Makes the input @p since_s seconds after @p measured: with the statistics that libvirt has
 * at @p wall_s, Unix time, if those are newer than the record's and not later than now. If the
 * record is stale, all other guest-reported fields are cleared. */
struct decide_input members_input(const struct decide_input *measured, double since_s,
                                  const struct domain_memory *memory, double wall_s);

/** Sets one guest's input from libvirt's current data and the configuration. */
void members_take_sizes(struct balloon_guest *member, struct control_guest *guest,
                        const struct domain_memory *memory, const struct balloond_config *config);

/** Updates working sets from the history. A guest that is not in the history, or every guest if
 * there is no history, keeps its values, except for libvirt's statistics. Returns 0; or negative
 * with the message of the first guest that could not be read. */
int members_measure(struct members *members, const struct balloond_config *config,
                    struct error *error);

/** Reads the stalls that vmwssd has stored since the last call; the next members_follow() passes
 * them to the inputs. Returns true if there are any. Errors count as no stalls: members_measure()
 * reports them. */
bool members_hear_stalls(struct members *members, const struct balloond_config *config);

/** Returns the index of that guest; -1: it does not run. */
ssize_t members_find(const struct members *members, const char *uuid);
