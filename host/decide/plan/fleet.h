// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fleet.h  The input of a plan: hosts, and for each guest the upper bound of its WSS over
 * time. Plain data, the same from files, from a time series database and in simulation.
 *
 * Each guest has a series because needs of guests must be added up moment by moment. For 20 guests
 * that burst independently, the p99 of the sum is 27 GiB and the sum of the p99s is 47; if cron
 * starts them together it is 46 against 51, and drawing an hour of each independently gives 31.
 * With series the sum on any host is known for any placement.
 *
 * A series has one byte for each step: a share of the guest's RAM, rounded up (0.2 % of RAM too
 * much on average). The step is a minute while the fleet fits into PLAN_SERIES_BYTES, then longer;
 * the cell of a longer step has the maximum of its minutes, so a sum is never too low for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The hours of a weekday, then those of Saturdays and Sundays; UTC. */
#define PLAN_SLOTS 48
/** Memory limit for the series of all guests; with a URL, also the number of values requested. */
#define PLAN_SERIES_BYTES (320ULL << 20)
/** With less history a host's need is also derived from mean and deviation: plan_is_short(). */
#define PLAN_DAYS_ENOUGH 14

/** How long before the time of a plan a need is looked for that is not in it: a job of each month.
 */
#define PLAN_BEFORE_S (31 * 86400.0)

/** A code of a series counts parts of ram_bytes / PLAN_CODE_MAX; or it is PLAN_CODE_NONE. */
#define PLAN_CODE_MAX 254
#define PLAN_CODE_NONE 255

/** One guest in one of the slots, in bytes. */
struct plan_slot {
    float p95_bytes, mean_bytes, variance; /* variance: bytes squared */
};

/** The largest need in the PLAN_BEFORE_S before the time that is read; or in it, if that is above
 * the RAM of a guest. */
struct plan_before {
    double bytes;  /* 0: not known */
    double time_s; /* Unix time of it, or up to a day later */
};

/** A guest that needs a place. */
struct plan_guest {
    char name[256];
    char uuid[37];
    size_t host;        /* its current host: index in plan_fleet.hosts */
    uint64_t ram_bytes; /* assigned; above 0 */
    /* memory in use as the guest reports it, if it cannot swap; 0: not known, or it can swap */
    uint64_t used_bytes;
    double size_window_s;      /* its longest window, up to an hour; 0: none */
    double size_bytes;         /* quantile of its WSS's upper bound at that window; 0: not known */
    uint64_t apart;            /* bit set: two guests with a common bit may not be on one host */
    double cpus;               /* CPUs that it uses at most times; NAN: not known */
    size_t together;           /* guests with the same number belong on one host; 0: none */
    bool pinned;               /* the guest may not be moved */
    bool unmeasured;           /* no method can follow it: its need is its resident memory */
    bool suspended, unwatched; /* it therefore has no records: its need is as it was before */
    struct plan_before before;

    /* Set by plan_profile(), for the series as read: */
    double days; /* days of history */
    double p50_bytes, p95_bytes, p99_bytes, max_bytes;
    /* right size; 0: not known; and the share of the steps in which it needed more */
    double right_size_bytes, right_size_risk;
    double trend_bytes_day; /* nonzero only if the trend has 95 % confidence */
    /* Set by plan_prepare(), for the series used in planning: */
    double factor; /* factor for a short history and the trend */
    struct plan_slot slots[PLAN_SLOTS];
};

struct plan_host {
    char name[256];
    uint64_t capacity_bytes; /* memory for guests */
    uint64_t reserve_bytes;  /* part of capacity_bytes that is kept free */
    double cpus;             /* CPUs for guests; 0: not limited */
#define PLAN_RESERVE_UNKNOWN UINT64_MAX
    double last_s; /* Unix time of its last record; 0: none in the span */
    /* the last record is too long ago, though the host should have newer ones */
    bool stale;
    bool drain; /* all its guests are to leave it */
    /* some of its data, or of its guests', is missing: the source had an answer that is partial */
    bool partial;
    /* Share, 0 .. 1, of the minutes in known steps that are not known themselves: a peak in them is
     * missing from the maximum of the step. 0 if the step is a minute. */
    double missed_share;
    double days; /* from plan_profile(): the longest history of one of its guests; of all guests if
                    it has none */
};

/** The joint need of a host's guests that have ended: past.h. */
struct plan_past {
    size_t n_guests; /* of which something is known */
    double max_bytes;
    double days;       /* since the first of them was known */
    double unit_bytes; /* of a code of its series */
    double cpus;       /* most that they used in one hour, as far as that is known */
    struct plan_before before;
    /* set by plan_prepare(); a left-out past is not planned, by --running-only */
    bool left_out;
    struct plan_slot slots[PLAN_SLOTS];
};

/** A guest that has ended, while the fleet is read: past.h. */
struct plan_ended {
    size_t host;
    size_t first, n; /* its cells */
    float *bytes;    /* negative: not known */
};

struct plan_fleet {
    size_t n_hosts, n_guests, n_times;
    double from_s; /* Unix time of the first cell */
    int step_s;
    double size_margin; /* of right sizes */
    struct plan_host *hosts;
    struct plan_guest *guests;
    uint8_t *series;          /* n_times codes of each guest */
    uint8_t *slot_of;         /* slot of each time */
    struct plan_past *past;   /* of each host */
    uint8_t *past_series;     /* n_times codes of each host */
    struct plan_ended *ended; /* guests that have ended, while the fleet is read */
    size_t n_ended;
    struct plan_writes **writes; /* of each guest: writes.h; NULL: not known */
    struct plan_price *prices;   /* of each guest: price.h; NULL: none was asked for */
};

/** Returns the step for a fleet: 60 s, or the shortest one that fits PLAN_SERIES_BYTES. */
int plan_step_s(double span_s, size_t n_guests);

/** Returns true if a fleet may have that step. */
bool plan_is_step(double step_s);

/** Makes an empty fleet without known series. Returns 0 or -ENOMEM; free it with plan_fleet_free().
 */
int plan_fleet_make(struct plan_fleet *fleet, size_t n_hosts, size_t n_guests, double from_s,
                    double to_s, int step_s);
void plan_fleet_free(struct plan_fleet *fleet);
void plan_ended_free(struct plan_fleet *fleet);

/** Takes a host without guests out of the fleet. */
void plan_fleet_drop_host(struct plan_fleet *fleet, size_t host);

/** Returns true if nothing may be moved from or to the host: it is stale, or partly known. */
bool plan_is_fixed(const struct plan_host *host);

/** Returns true if any host is partly known: then it is not known whether hosts may fail. */
bool plan_is_partial(const struct plan_fleet *fleet);

/** Returns the slot of a Unix time, 0 .. PLAN_SLOTS - 1. */
unsigned plan_slot(double time_s);

/** Returns the guest's series. */
uint8_t *plan_series(const struct plan_fleet *fleet, size_t guest);

/** Returns the bytes that one code of its series stands for. */
double plan_unit(const struct plan_guest *guest);

/** Notes a guest's need from @p time_s on for @p for_s; a cell that already has a value keeps the
 * larger one. Times outside of the fleet's time are ignored. */
void plan_note(struct plan_fleet *fleet, size_t guest, double time_s, double for_s, double bytes);

/** Notes a need from before the fleet's time. */
void plan_note_before(struct plan_before *before, double time_s, double bytes);

/** Returns true if far more was needed before the fleet's time than @p max_bytes, in it. */
bool plan_needed_more(const struct plan_before *before, double max_bytes);

/** Returns the length of the fleet's time in days. */
double plan_days(const struct plan_fleet *fleet);

/** Returns true if the number of days, rounded, is less than PLAN_DAYS_ENOUGH. */
bool plan_is_short(double days);
