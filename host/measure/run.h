// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file run.h  One measurement: mark, wait, collect for each window, restore.
 *
 * The est window is the time that was really measured: from the midpoint of marking to the midpoint
 * of reading, as in wss.pl (Gregg, 2018). It is measured by the guest's clock, which stops while
 * the guest is suspended. If the guest is paused for marking and for reading, the est window is
 * exact: from the end of the first pause to the beginning of the second.
 */
#pragma once

#include "measure/method.h"
#include "measure/write_watch.h"

#define RUN_MAX_WINDOWS 64

/** Suspends the guest while it is marked and read; guest/domain/pause.h. */
struct sample_pause {
    /** Suspends the guest. 0: it is suspended. */
    int (*begin)(void *context, struct error *error);
    /** Called after every successful begin. @p paused_ns: how long the guest was suspended; *cut:
     * it resumed before this call. */
    int (*end)(void *context, uint64_t *paused_ns, bool *cut, struct error *error);
    void *context;
};

struct sample_plan {
    const struct method *method;
    bool census;
    uint64_t samples; /* for a panel: wanted number of present pages */
    double presence;  /* resident / RAM, 0 .. 1: more pages are drawn if many are absent */
    uint64_t seed;
    /* number of pages that a witness watches (measure/witness.h), if one applies; 0: no witness */
    uint64_t witness;
    size_t n_windows;
    double window_s[RUN_MAX_WINDOWS]; /* ascending */
    const volatile int *interrupted;  /* not 0: stop and restore; may be NULL */
    void (*progress)(double elapsed_s, double total_s, void *context); /* may be NULL */
    void *progress_context;
    const struct sample_pause *pause; /* NULL: the guest runs on */
    unsigned *jobs;                   /* as in struct wait */
    /* NULL, or called when a window has been read, with the pages and their states. Not called for
     * a method that works without pages. */
    void (*collected)(const struct page_set *set, size_t window, void *context);
    void *collected_context;
    /* NULL, or also sees which pages are written: open while the plan runs, and read before
     * collected() is called */
    struct write_watch *writes;
};

struct sample_window {
    double est_window_s;
    /* duration of reading all pages, on the guest's clock; est_window_s ends at its middle */
    double reading_s;
    /* vCPU time in the est window, including half of that during marking and reading */
    double vcpu_s;
    struct tally tally;
    /* resident memory while the pages were read, by the target's meter: windows that are hours
     * apart need not have the same population */
    struct resident_now now;
};

struct sample_result {
    struct sample_window windows[RUN_MAX_WINDOWS];
    double marking_s;  /* duration of marking, before the first window */
    uint64_t ended_ns; /* the end of the last reading, CLOCK_MONOTONIC */
    double vcpu_s;     /* vCPU time from before marking until after the last reading */
    /* CPU time of this process, and of kernel threads that worked only for it */
    double cpu_s;
    uint64_t paused_ns; /* how long the guest was suspended, in sum */
    bool pause_cut;     /* the guest resumed before marking or reading was done */
};

/**
 * @return 0; -ESRCH the guest vanished; -EINTR interrupted; -ENOMSG the guest ran, but the method
 *         saw no touch (a series continues nevertheless); else the method's error. The method is
 *         closed in every case.
 */
int sample_run(const struct target *target, const struct sample_plan *plan,
               struct sample_result *result, struct error *error);

/** Makes the page set of a measurement, drawn or complete as planned; an empty set for a method
 * that works without pages. 0, or -ENOMEM with the message; free with page_set_free(). */
int sample_make_set(const struct target *target, const struct sample_plan *plan,
                    struct page_set *set, struct error *error);

/** As sample_run(), on pages that the caller chose and can examine afterwards. */
int sample_run_set(const struct target *target, const struct sample_plan *plan,
                   struct page_set *set, struct sample_result *result, struct error *error);
