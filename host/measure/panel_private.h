// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file panel_private.h  A panel's cohorts and ticks, shared among its files: panel.c opens, scans
 * and closes a panel and explains its theory, panel_cohorts.c draws the cohorts one by one and
 * marks and reads them together, panel_answers.c counts the pages touched within given ages. */
#pragma once

#include "guest/domain/qemu_vcpus.h"
#include "measure/page_merge.h"
#include "measure/panel.h"
#include "measure/read_all.h"
#include "measure/witness.h"

#define N_COHORTS 4

struct cohort {
    struct page_set set;
    void *method_state; /* NULL: closed */
    uint64_t born;      /* the tick at which it was first marked */
    uint32_t *last;     /* the tick at which each page was last found touched; 0: never */
    uint32_t *unseen;   /* the tick at which it was last found unmeasurable; 0: never */
};

struct tick {
    uint64_t read_ns;         /* midpoint of reading; for tick 0: of marking */
    uint64_t marked_ns;       /* midpoint of marking again */
    uint64_t vcpu_ns;         /* vCPU time since the first marking */
    uint64_t own_ns;          /* CPU time of QEMU's own threads */
    uint64_t odometer;        /* ageing odometer between reading and marking */
    uint32_t hidden, younger; /* units of the tally; UINT32_MAX: any number */
    float presence;           /* resident / RAM, as in panel_plan */
    uint32_t missed;          /* base pages, of the tally ... */
    uint32_t between;         /* ... and those that may have been written between reading and
                               * marking; UINT32_MAX: any number */
    uint64_t kvm_faults;      /* that KVM had resolved before marking, as for ran_doubt() */
    uint16_t doubts;          /* the method's doubts in this reading */
    struct {
        uint8_t n, both, others, missed, unseen;
        uint8_t part; /* watched_bytes, in 1/255 of guest RAM */
    } witness;        /* a small struct witness_count: there may be thousands of ticks */
    bool disputed;
    bool unmeasurable_otherwise; /* as in struct tally */
};

struct panel {
    const struct target *target;
    struct panel_plan plan;
    uint64_t seed;
    struct panel *writes; /* NULL: they are not followed */
    uint64_t now;         /* the number of the last tick */
    size_t n_ticks;
    struct tick *ticks; /* a ring: tick k is ticks[k % n_ticks] */
    uint64_t began_ns;  /* midpoint of the first marking */
    uint64_t turned_ns; /* time at which a cohort was last replaced */
    uint64_t faults;    /* of QEMU's threads before the last reading */
    size_t oldest;
    /* touched share of all base pages within two ticks: up to the last tick, and up to the previous
     * tick */
    double share[2];
    bool read_all;       /* QEMU seems to have read all of RAM */
    struct own_time own; /* of the tick that will end next, if has_own; else of the last */
    bool has_own;
    struct witness *witness; /* NULL: no witness */
    struct vcpu_clock vcpus;
    int wake_fd;      /* readable when a cohort's descriptor is; -1: the method has none */
    size_t n_cohorts; /* 1 for a census */
    struct cohort cohorts[N_COHORTS];
    struct page_merge order; /* all cohorts' pages in ascending order; empty for a census */
};

static inline struct tick *tick_of(const struct panel *panel, uint64_t number)
{
    return &panel->ticks[number % panel->n_ticks];
}

/** Makes the panel's descriptor readable whenever @p fd is, until that is closed. */
int panel_wake_by(const struct panel *panel, int fd, struct error *error);

/** Opens a cohort whose first period begins at the current tick. */
int cohort_begin(struct panel *panel, struct cohort *cohort, struct error *error);
void cohort_close(const struct panel *panel, struct cohort *cohort);

void cohort_sets(const struct panel *panel, const struct page_set *sets[N_COHORTS]);

/** Rebuilds panel->order. Call it after a cohort was begun, or failed to begin, because its pages
 * have changed. */
int cohorts_put_in_order(struct panel *panel, struct error *error);

/** Reads all cohorts, and records in the present tick which pages were touched. */
int cohorts_read(struct panel *panel, struct error *error);

/** Marks the touched pages of all cohorts again. */
int cohorts_rearm(struct panel *panel, struct error *error);
