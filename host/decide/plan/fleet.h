// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fleet.h  What a plan is made from: hosts, and of each guest the upper bound of its WSS over
 * time. Plain data, the same from files, from a time series database and in simulation.
 *
 * Why a series of every guest: needs of guests must be added up moment by moment. Of 20 guests that
 * burst independently the p99 of the sum is 27 GiB and the sum of the p99s 47; where cron starts
 * them together it is 46 of 51, and drawing an hour of each independently says 31. With a series
 * the sum on any host is known for any placement.
 *
 * A series is one byte a step, a share of the guest's RAM that is rounded up (0.2 % of RAM too
 * much on average). The step is a minute while the fleet fits into PLAN_SERIES_BYTES, then longer;
 * the cell of a longer step has the maximum of its minutes, so a sum is never too low for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The hours of a weekday, then those of a Saturday or Sunday; UTC. */
#define PLAN_SLOTS 48
/** What the series of all guests may take; from a URL, how many values are asked for. */
#define PLAN_SERIES_BYTES (320ULL << 20)
/** With less history a host's need is taken from mean and deviation as well: plan_is_short(). */
#define PLAN_DAYS_ENOUGH 14

/** Codes of a series: 0 .. PLAN_CODE_MAX times ram_bytes / PLAN_CODE_MAX, or not known. */
#define PLAN_CODE_MAX 254
#define PLAN_CODE_NONE 255

/** One guest in one of the slots, bytes. */
struct plan_slot {
    float p95_bytes, mean_bytes, variance; /* variance: bytes squared */
};

/** A guest that is to have a place. */
struct plan_guest {
    char name[256];
    char uuid[37];
    size_t host;          /* where it is: of plan_fleet.hosts */
    uint64_t ram_bytes;   /* assigned; above 0 */
    uint64_t used_bytes;  /* in use as the guest says, if it cannot swap; 0: not known, or it can */
    double size_window_s; /* the longest window up to an hour that it has; 0: none */
    double size_p99_bytes;     /* p99 of the WSS's upper bound at that; 0: not known */
    uint64_t apart;            /* bits: no two guests that have one in common on one host */
    bool pinned;               /* stays where it is */
    bool unmeasured;           /* no method can follow it: its need is what is resident */
    bool suspended, unwatched; /* so it has no records: its need is as it was before */

    /* From plan_profile(), of the series as it was read: */
    double days; /* of history */
    double p50_bytes, p95_bytes, p99_bytes, max_bytes;
    double trend_bytes_day; /* above 0 only if it is so with 95 % confidence */
    /* From plan_prepare(), of what is planned with: */
    double factor; /* for a short history and the trend */
    struct plan_slot slots[PLAN_SLOTS];
};

struct plan_host {
    char name[256];
    uint64_t capacity_bytes; /* memory for guests */
    uint64_t reserve_bytes;  /* of it, kept free */
    double last_s;           /* Unix time of its last record; 0: none in the span */
    bool stale;              /* which is too long ago, though it should have some */
    /* Of the minutes in steps that are known, those that are not themselves, 0 .. 1: a peak in them
     * is not in the maximum of the step. 0 if the step is a minute. */
    double missed_share;
    double
        days; /* from plan_profile(): the most that one of its guests has; of all, if it has none */
};

struct plan_fleet {
    size_t n_hosts, n_guests, n_times;
    double from_s; /* Unix time of the first cell */
    int step_s;
    struct plan_host *hosts;
    struct plan_guest *guests;
    uint8_t *series;  /* n_times codes of each guest */
    uint8_t *slot_of; /* of each time */
};

/** The step that a fleet is kept at: 60 s, or the shortest one that fits PLAN_SERIES_BYTES. */
int plan_step_s(double span_s, size_t n_guests);

/** Is it one of the steps that a fleet may be kept at? */
bool plan_is_step(double step_s);

/** An empty fleet, no series known. 0; -ENOMEM; free it with plan_fleet_free(). */
int plan_fleet_make(struct plan_fleet *fleet, size_t n_hosts, size_t n_guests, double from_s,
                    double to_s, int step_s);
void plan_fleet_free(struct plan_fleet *fleet);

/** 0 .. PLAN_SLOTS - 1 of a Unix time. */
unsigned plan_slot(double time_s);

/** The guest's series. */
uint8_t *plan_series(const struct plan_fleet *fleet, size_t guest);

/** Bytes that one code of its series stands for. */
double plan_unit(const struct plan_guest *guest);

/** Notes what a guest needed from @p time_s on for @p for_s: of a cell that has a value the larger
 * one stays. Outside of the fleet's time nothing is noted. */
void plan_note(struct plan_fleet *fleet, size_t guest, double time_s, double for_s, double bytes);

/** How many days the fleet's time has. */
double plan_days(const struct plan_fleet *fleet);

/** Are these days, rounded, less than PLAN_DAYS_ENOUGH? */
bool plan_is_short(double days);
