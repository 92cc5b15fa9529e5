// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file made_up_fleet.h  A fleet and the scanner's process, with its own channels; but instead of
 * guest_scan.c, which would touch processes, there is what is made up here. What it is to do, and
 * what it did, is in memory that both share. */
#pragma once

#include "programs/vmwssd/scan/fleet_private.h"

#include "virtual_clock.h"

#include <stdatomic.h>

#define SECOND 1000000000ULL
#define N 8 /* guests */
#define MANY 64
#define LOGGED 65536

struct made_up {
    struct {
        atomic_bool hangs;         /* a scan of it, as long as this is so */
        atomic_bool restore_hangs; /* likewise what restores it */
        atomic_uint begun, scans, anew, freed;
        atomic_uint jobs; /* flags that a scan was told of */
        atomic_uint measured;
    } of[MANY];
    atomic_uint slow_us; /* every scan */
    /* Measurements of writes: how long each takes, what it costs, and whether none succeeds. */
    atomic_uint writes_us, writes_cpu_ms;
    atomic_bool blind;
    atomic_uint measured, measuring, measuring_most; /* all; at this time; at any time */
    atomic_uint n;                                   /* scans that were begun */
    struct {
        int guest;
        pid_t thread;
    } log[LOGGED];
};

extern struct made_up *shared;
extern struct fleet *fleet; /* threads may use it until the process ends */
extern struct scanner *scanner;
extern pid_t scanner_pid;
extern struct config config;

extern atomic_uint batches, guests_sent;
extern atomic_int hung;        /* the guest that was made to hang; -1: none was */
extern atomic_bool hang_first; /* the first one of the next batch that has others is made to */
extern atomic_bool hang_last;  /* or the last one */
extern atomic_bool wakes_late; /* nobody wakes of himself who has more than five seconds to wait */
/* How often a worker went to sleep, and how often of these none was left to wake for the first
 * deadline. */
extern atomic_uint sleeps, overslept;

/** Makes the /proc entries of @p n guests; start() calls it if the test has not. */
void make_processes(int n);

/** Starts a fleet of at most @p n guests. */
void start(int n, double period_s);

void uuid_of(int i, char uuid[37]);

void add(int i);

/** Guests 0 .. @p n - 1, which are due at the same time from then on. */
void add_at_once(int n);

void let_go(int i);

unsigned scans(int i);

/* The functions below wait for at most half a minute of virtual time. */

/** All of 0 .. n - 1 but @p but have been scanned @p more times. */
bool are_scanned(int n, int but, unsigned more);

/** It is @p value. */
bool becomes(atomic_uint *number, unsigned value);

/** The fleet has made so many records, and not more. */
bool has_records(uint64_t n);

/** All of N guests have been scanned, and both workers wait for what is due in minutes. How often
 * each was. */
void settle(unsigned before[N]);

/** A scan hangs that others of its batch come after; of which guest. */
int have_one_hang(int n);

/** Threads whose scan, or what restores a guest, hangs. */
size_t hanging(void);
