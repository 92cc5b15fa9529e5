// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file run.h  One measurement: mark, wait, collect for each window, restore.
 *
 * Est window is what was really measured: from the midpoint of marking to the midpoint of reading,
 * as in wss.pl (Gregg, 2018). It is on the guest's clock, which stands still while the guest does:
 * of a guest that is paused for marking and for reading it is exact, from the end of the first
 * pause to the beginning of the second.
 */
#pragma once

#include "measure/method.h"

#define RUN_MAX_WINDOWS 64

/** Something that has the guest stand still while it is marked and read; guest/domain/pause.h. */
struct sample_pause {
    /** 0: it stands still. */
    int (*begin)(void *context, struct error *error);
    /** Called after every begin that succeeded. @p paused_ns: how long it stood; *cut: it ran on
     * before this call. */
    int (*end)(void *context, uint64_t *paused_ns, bool *cut, struct error *error);
    void *context;
};

struct sample_plan {
    const struct method *method;
    bool census;
    uint64_t samples; /* of a panel: present pages wanted */
    double presence;  /* resident / RAM, 0 .. 1: more pages are drawn where many are absent */
    uint64_t seed;
    uint64_t
        witness; /* pages that a witness watches (measure/witness.h), where one applies; 0: none */
    size_t n_windows;
    double window_s[RUN_MAX_WINDOWS]; /* ascending */
    const volatile int *interrupted;  /* not 0: stop and restore; may be NULL */
    void (*progress)(double elapsed_s, double total_s, void *context); /* may be NULL */
    void *progress_context;
    const struct sample_pause *pause; /* NULL: the guest runs on */
    unsigned *jobs;                   /* as of struct wait */
    /* NULL, or called when a window has been read, with the pages, each of which has its state. Not
     * of a method that works without pages. */
    void (*collected)(const struct page_set *set, size_t window, void *context);
    void *collected_context;
};

struct sample_window {
    double est_window_s;
    double reading_s; /* how long all pages took, on the guest's clock; est_window_s is to its
                         middle */
    double vcpu_s;    /* so long the vCPUs ran in the est window: of marking and of reading half
                         counts */
    struct tally tally;
    struct resident_now now; /* what was resident while its pages were read, by the target's meter:
                                windows that are hours apart need not have the same population */
};

struct sample_result {
    struct sample_window windows[RUN_MAX_WINDOWS];
    double marking_s;   /* as reading_s, before the first window */
    uint64_t ended_ns;  /* the end of the last reading, CLOCK_MONOTONIC */
    double vcpu_s;      /* vCPU time from before marking to after the last reading */
    double cpu_s;       /* our own, and that of kernel threads that worked for us alone */
    uint64_t paused_ns; /* how long the guest was made to stand still, in sum */
    bool pause_cut;     /* it ran on before a marking or reading was done */
};

/**
 * @return 0; -ESRCH the guest vanished; -EINTR interrupted; -ENOMSG the method saw nothing of a
 *         guest that ran, for which a series goes on; else what the method says. Whatever the
 *         outcome, the method was closed.
 */
int sample_run(const struct target *target, const struct sample_plan *plan,
               struct sample_result *result, struct error *error);

/** The pages of a measurement: drawn or all, as the plan says; none for a method that works
 * without. 0, or -ENOMEM with the message; free with page_set_free(). */
int sample_make_set(const struct target *target, const struct sample_plan *plan,
                    struct page_set *set, struct error *error);

/** sample_run() on pages that the caller chose and can look at afterwards. */
int sample_run_set(const struct target *target, const struct sample_plan *plan,
                   struct page_set *set, struct sample_result *result, struct error *error);
