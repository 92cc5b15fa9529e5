// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file session.h  One guest, opened and ready to be sampled: the common part of measure, profile,
 * grow and ages.
 *
 * session_run() opens the guest and passes it to the command's work, which calls session_measure()
 * as often as needed.
 */
#pragma once

#include "base/progress.h"
#include "base/run_lock.h"
#include "guest/domain/guest_choice.h"
#include "guest/domain/pause.h"
#include "measure/neighbour.h"
#include "measure/record/sample_record.h"
#include "measure/subject.h"

/** The command line's choice of the guest and of the way to sample it. */
struct sampling_choice {
    struct guest_choice guest;
    const char *method; /* --method; NULL: auto */
    bool census;        /* --census */
    uint64_t samples;   /* --samples; 0: not given */
    double precision;   /* --precision, as a fraction of the resident memory; 0: not given */
    uint64_t witness;   /* --witness: number of pages that a witness watches ... */
    bool has_witness;   /* ... if that was given */
    /* --pause: the longest time for which the guest is suspended at a time; 0: never */
    unsigned pause_ms;
    double wait_s; /* --wait: the longest wait while another vmwss is measuring the guest */
    /* the default if neither was requested: reading a census takes longer than the windows last */
    bool prefer_panel;
    /* --fine: number of huge pages that are split and measured by base pages; 0: none */
    uint64_t fine;
    /* the command needs the state of each page: methods that do not work on pages are excluded */
    bool pages;
    /* the command measures the same pages again and again, wherever vmwssd's panel moves: they are
     * not kept apart from that panel */
    bool same_pages;
    bool writes; /* --writes: the write working set instead of the working set */
    /* --writes: also see what is written; how is the command's to choose (write_watch.h, panel.h)
     */
    bool watch_writes;
    bool follow;      /* the command follows a panel over time */
    bool json;        /* --json */
    bool quiet;       /* no progress on standard error: other measurements run at the same time */
    size_t n_windows; /* ascending; the command's to set */
    double window_s[RUN_MAX_WINDOWS];
    const char *svg; /* --svg; NULL: no picture */
};

struct session {
    const struct sampling_choice *choice; /* borrowed */
    bool found;                           /* the guest was there */
    struct fsroot root;
    struct subject subject;
    struct sample_plan plan;
    double precision; /* for a panel; 0: plan.samples stays as it is */
    /* touched fraction, as far as it is known: the value that needs the most draws */
    double likely_fraction;
    double design; /* draws per observation in the last measurement */
    struct progress progress;
    uint64_t fine; /* huge pages that each measurement splits; 0: none */
    /* held from the moment when the guest was found until the end or session_yield() */
    struct run_lock lock;
    struct neighbour neighbour; /* vmwssd's panel when it was locked */
    bool beside;                /* the measurement leaves that panel alone */
    bool disputed;              /* a record had the flag */
    double wait_s;
    struct guest_pause *pause; /* NULL: the guest is not suspended */
    struct sample_pause pause_hooks;
    struct ram_config new_ram; /* from session_ram_changed(); empty: it did not change */
};

/** Lets another vmwss use the guest between two measurements. */
void session_yield(struct session *session);

/** Sets the number of pages that the plan draws, for the memory resident now and the requested
 * precision. */
void session_size_panel(struct session *session, const struct resident_now *now);

/**
 * For a guest that is sampled for long: if its RAM may have changed since it was located, queries
 * libvirt again. With --pid there is no libvirt to query: QEMU's command line has the RAM with
 * which it began.
 * @param now  from the last subject_refresh()
 * @return true if it changed; then call session_relocate(), once nothing samples the old RAM any
 * more
 */
bool session_ram_changed(struct session *session, const struct resident_now *now);

/** Locates the present RAM, chooses the method anew, and refreshes @p now. Errors as when the
 * session began. */
int session_relocate(struct session *session, struct resident_now *now, struct error *error);

/** Checks whether RAM was plugged, draws a panel (if the plan has one), samples the plan's windows,
 * and fills the record. After session_yield() it locks the guest again first; -EBUSY if another
 * vmwss kept it for longer than the time to wait. */
int session_measure(struct session *session, struct sample_record *record, struct error *error);

/**
 * As session_measure(), on pages that stay the same from one measurement to the next:
 * session_ready(), then, for the first and whenever the RAM was relocated, session_draw(), then
 * session_measure_pages().
 *
 * session_ready() locks the guest if it is not locked, and checks whether RAM was plugged, which
 * changes all pages. Errors as session_measure(), of which these are the parts.
 */
int session_ready(struct session *session, struct resident_now *now, bool *relocated,
                  struct error *error);

/** Draws all pages or a panel, by the plan; free with page_set_free(). At its first use the method
 * may drop pages of a panel that it cannot sample side by side. */
int session_draw(struct session *session, const struct resident_now *now, struct page_set *set,
                 struct error *error);
int session_measure_pages(struct session *session, struct page_set *set, struct resident_now *now,
                          struct sample_record *record, struct error *error);

/** Sleeps until @p until_ns (clock_ns()), a signal, or the end of the guest. */
void session_wait(const struct session *session, uint64_t until_ns);

/**
 * A command's life with one guest: opens the session, does the command's @p work, prints the error,
 * if any (with the reason if the guest is gone), and closes it. Catches SIGINT, SIGTERM and SIGHUP
 * from here on: see interrupt.h.
 * @param options  the command's own, handed to @p work
 * @return the exit code for main()
 */
int session_run(const struct sampling_choice *choice,
                int (*work)(struct session *session, const void *options, struct error *error),
                const void *options);
