// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file panel.h  A panel of pages followed over time, each with the age of its last touch.
 *
 * One scan, a tick, finds which pages were touched since the tick before and begins a new period
 * for those. Because every page remembers at which tick it was last found touched, one panel
 * answers the working set of every window that it has been watched for, and the histogram of ages
 * (kstaled's idea: M. Lespinasse, LKML 2011).
 *
 * The panel has four cohorts, each a simple random sample of guest RAM of its own. Every longest
 * window the oldest is replaced by a fresh one, so that no draw, lucky or unlucky, stays for ever,
 * and new RAM comes in; three are always old enough to answer the longest window.
 */
#pragma once

#include "measure/method.h"

struct panel; /* opaque */

/** How many ticks back are remembered: 18 hours of ticks every second. Longer windows cannot be
 * answered. */
#define PANEL_MAX_TICKS 65000

/** Can ticks that come every @p tick_s answer a window, or is none near enough to when it begins?
 * With a window of 1.5 ticks, for example, none is. */
bool panel_ticks_answer(double tick_s, double window_s);

struct panel_plan {
    const struct method *method; /* one with rearm */
    uint64_t samples;            /* present pages wanted for each window */
    uint64_t witness;            /* of its pages a witness watches so many, as for sample_plan */
    double presence;             /* resident / RAM, 0 .. 1, as for sample_plan */
    double longest_s;            /* the longest window that will be asked for */
    double tick_s;               /* about how often panel_tick() will be called */
    uint64_t seed;
    /* The guest's clock in ns, which may stand still while the guest does; NULL: clock_ns() */
    uint64_t (*clock)(void *context);
    void *clock_context;
    /* CPU time of QEMU's own threads in ns; NULL: qemu_process_own_ns() */
    uint64_t (*own_ns)(void *context);
};

/** Draws the panel and begins to watch it. Borrows @p target. 0 or what the method says;
 * panel_close(). */
int panel_open(const struct target *target, const struct panel_plan *plan, struct panel **out,
               struct error *error);
void panel_close(struct panel *panel);

/** To be called between ticks whenever panel_wake_fd() is readable, like method.poll. */
int panel_poll(struct panel *panel, struct error *error);

/** For poll(2), the same from open to close; -1 when the method has nothing to poll. */
int panel_wake_fd(const struct panel *panel);

/**
 * Scans all pages, begins a new period, and replaces a cohort if it is time.
 * @param presence  as of now, for the cohort that may be drawn
 * @param now  what was resident just before; by the target's meter it becomes that of while the
 *             pages were read (resident_meter_read_again()). NULL: not asked for
 */
int panel_tick(struct panel *panel, double presence, struct resident_now *now, struct error *error);

/** How many present pages are wanted from now on; it takes effect in cohorts as they are
 * replaced. */
void panel_set_samples(struct panel *panel, uint64_t samples);

/** Pages in the panel. */
uint64_t panel_pages(const struct panel *panel);

/** Another panel was begun, a cohort replaced, or a page's granularity is another, when this is
 * another number. */
uint64_t panel_layout(const struct panel *panel);

/** Where the panel is, each page with the method's reach; for free(). @p huge: some of its pages
 * are huge ones, which a second panel is likely to draw as well. 0 or -ENOMEM */
int panel_taken(const struct panel *panel, struct taken *out, bool *huge);

/** Before panel_close(): what is marked stays as it is, for another process is measuring the
 * guest. */
void panel_abandon(struct panel *panel);

/** Seconds from the first marking to the last tick. */
double panel_elapsed_s(const struct panel *panel);

/** Can it answer a window that ends with the last tick, or does panel_tally() say -EAGAIN? */
bool panel_answers(const struct panel *panel, double window_s);

/** Which ages are asked for, in seconds before the last tick. */
struct panel_ages {
    double from_s;    /* 0: from the last tick on */
    double to_s;      /* HUGE_VAL: this old, or older */
    double watched_s; /* only pages that were watched for so long: 0 .. the longest window. At least
                         from_s, and to_s unless that is HUGE_VAL */
};

/**
 * Tallies the pages, as touched those whose last touch has such an age.
 * @param est_s  from the midpoint of marking to the midpoint of reading of the period of length
 *               to_s (watched_s when that is HUGE_VAL), to the nearest tick
 * @return 0; -EAGAIN when it has not been watched for so long, or ticks are too far apart: the
 *         nearest is off by more than a quarter of the time; -ENOMEM
 */
int panel_tally(const struct panel *panel, const struct panel_ages *ages, struct tally *tally,
                double *est_s);

/** Has QEMU read all of RAM within the last two ticks (measure/read_all.h)? True at one or two
 * ticks for each job. */
bool panel_read_all(const struct panel *panel);

/** vCPU time within the last @p window_s seconds; 0 when it was not watched for so long. */
double panel_vcpu_s(const struct panel *panel, double window_s);
