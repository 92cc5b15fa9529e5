// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file panel.h  A panel of pages followed over time, each with the age of its last touch.
 *
 * One scan, a tick, finds the pages that were touched since the previous tick and begins a new
 * period for them. Every page remembers the tick at which it was last found touched, so one panel
 * gives the working set of every window up to the time that it has been watched, and the histogram
 * of ages (kstaled's idea: M. Lespinasse, LKML 2011).
 *
 * The panel has four cohorts, each an independent simple random sample of guest RAM. Whenever the
 * longest window has passed, the oldest cohort is replaced by a new draw, so that no lucky or
 * unlucky draw stays for ever, and new RAM is included. Three cohorts are always old enough to
 * answer the longest window.
 */
#pragma once

#include "measure/method.h"
#include "measure/read_all.h"

struct panel; /* opaque */

/** Maximum number of stored ticks: 18 hours with a tick every second. Longer windows cannot be
 * answered. */
#define PANEL_MAX_TICKS 65000

/** Returns true if ticks every @p tick_s can answer a window, because some tick is near enough to
 * the window's begin. A window of 1.5 ticks, for example, cannot be answered. */
bool panel_ticks_answer(double tick_s, double window_s);

struct panel_plan {
    const struct method *method; /* a method with rearm */
    uint64_t samples;            /* present pages wanted for each window */
    uint64_t witness;            /* number of pages that a witness watches, as in sample_plan */
    double presence;             /* resident / RAM, 0 .. 1, as in sample_plan */
    double longest_s;            /* the longest window that will be requested */
    double tick_s;               /* the approximate interval between calls of panel_tick() */
    uint64_t seed;
    bool census; /* follow every page instead; the method takes a census, and has no reach */
    /* also follow which pages are written: panel_writes(). Checked by write_watch_check() */
    bool writes;
    /* The guest's clock in ns, which may stop while the guest is suspended; NULL: clock_ns() */
    uint64_t (*clock)(void *context);
    void *clock_context;
    /* CPU time of QEMU's own threads in ns; NULL: qemu_process_own_ns() */
    uint64_t (*own_ns)(void *context);
};

/** Draws the panel and begins to watch it. Borrows @p target. 0, or the method's error; close it
 * with panel_close(). */
int panel_open(const struct target *target, const struct panel_plan *plan, struct panel **out,
               struct error *error);
void panel_close(struct panel *panel);

/** Call it between ticks whenever panel_wake_fd() is readable, like method.wake.poll. */
int panel_poll(struct panel *panel, struct error *error);

/** A descriptor for poll(2), the same from open to close; -1 if the method has nothing to poll. */
int panel_wake_fd(const struct panel *panel);

/**
 * Scans all pages, begins a new period, and replaces a cohort if one is due.
 * @param presence  the present value, for the cohort that may be drawn
 * @param now  resident memory just before; the target's meter changes it to the value while the
 *             pages were read (resident_meter_read_again()). NULL: not needed
 */
int panel_tick(struct panel *panel, double presence, struct resident_now *now, struct error *error);

/** Sets the number of present pages wanted from now on; it takes effect in each cohort when that is
 * replaced. */
void panel_set_samples(struct panel *panel, uint64_t samples);

/** Pages in the panel. */
uint64_t panel_pages(const struct panel *panel);

/** A number that changes when another panel is opened, a cohort is replaced, or a page's
 * granularity changes. */
uint64_t panel_layout(const struct panel *panel);

/** The location of the panel, each page with the method's reach; free with free(). @p huge: some of
 * its pages are huge ones, which a second panel is likely to draw as well. 0 or -ENOMEM */
int panel_taken(const struct panel *panel, struct taken *out, bool *huge);

/** Lets panel_close() leave the marks as they are. Call it before, if another process is measuring
 * the guest. */
void panel_abandon(struct panel *panel);

/** Seconds from the first marking to the last tick. */
double panel_elapsed_s(const struct panel *panel);

/** Returns true if the panel can answer a window that ends with the last tick; false if
 * panel_tally() would return -EAGAIN. */
bool panel_answers(const struct panel *panel, double window_s);

/** The requested ages, in seconds before the last tick. */
struct panel_ages {
    double from_s; /* 0: including the last tick */
    double to_s;   /* HUGE_VAL: all pages that are at least from_s old */
    /* count only pages watched for this long: 0 .. the longest window. At least from_s, and at
     * least to_s unless that is HUGE_VAL */
    double watched_s;
};

/**
 * Tallies the pages; a page counts as touched if its last touch has a requested age.
 * @param est_s  from the midpoint of marking to the midpoint of reading of the period of length
 *               to_s (watched_s when that is HUGE_VAL), to the nearest tick
 * @return 0; -EAGAIN if the panel has not been watched for long enough, or if ticks are too far
 *         apart: the nearest one is off by more than a quarter of the time; -ENOMEM
 */
int panel_tally(const struct panel *panel, const struct panel_ages *ages, struct tally *tally,
                double *est_s);

/**
 * Every page of guest RAM and the tick at which it was last found written, by method soft-dirty;
 * NULL without panel_plan.writes. It is read and marked with the panel, and closed with it. Its
 * tallies are those of a census for windows that end with the last tick (from_s = 0).
 *
 * A page that is written between a reading and the next marking, and never again, is not seen. The
 * page faults of QEMU's threads meanwhile limit the number of such pages: each is a first write.
 * They count in tally.missed_bytes of windows that include that time.
 */
const struct panel *panel_writes(const struct panel *panel);

/** Call it before panel_tick(), with the steps of the tick that ends, if there were any. */
void panel_note_own(struct panel *panel, const struct own_time *own);

/** Returns true if QEMU has read all of RAM within the last two ticks (measure/read_all.h). Each
 * job shows at one or two ticks. */
bool panel_read_all(const struct panel *panel);

/** vCPU time within the last @p window_s seconds; 0 if the panel was not watched for that long. */
double panel_vcpu_s(const struct panel *panel, double window_s);
