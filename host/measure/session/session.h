// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file session.h  One guest, opened and ready to be sampled: what measure, profile, grow and ages
 * share.
 *
 * session_run() opens the guest and hands it to the command's work, which calls session_measure()
 * as often as wanted.
 */
#pragma once

#include "base/progress.h"
#include "base/run_lock.h"
#include "guest/domain/guest_choice.h"
#include "guest/domain/pause.h"
#include "measure/neighbour.h"
#include "measure/record/sample_record.h"
#include "measure/subject.h"

/** What the command line says of the guest and of how it is to be sampled. */
struct sampling_choice {
    struct guest_choice guest;
    const char *method; /* --method; NULL: auto */
    bool census;        /* --census */
    uint64_t samples;   /* --samples; 0: not given */
    double precision;   /* --precision, as a fraction of what is resident; 0: not given */
    uint64_t witness;   /* --witness: so many of the pages are watched by a witness ... */
    bool has_witness;   /* ... if that was given */
    unsigned pause_ms; /* --pause: the guest is suspended for at most so long at a time; 0: never */
    double wait_s;     /* --wait: how long, if another vmwss is measuring the guest */
    bool prefer_panel; /* where neither was asked for: a census is slower to read than windows last
                        */
    uint64_t fine; /* --fine: how many huge pages are split and measured by base pages; 0: none */
    bool pages; /* the command wants the verdict on each page: methods that have none do not do */
    bool same_pages; /* the command measures the same pages again and again, wherever vmwssd's panel
                        moves: it is not kept off */
    bool follow;     /* the command follows a panel over time */
    bool json;       /* --json */
    bool quiet;      /* no progress on standard error: others are at work beside */
    size_t n_windows; /* ascending; the command's to set */
    double window_s[RUN_MAX_WINDOWS];
    const char *svg; /* --svg; NULL: no picture */
    const char *png; /* --png, likewise */
};

struct session {
    const struct sampling_choice *choice; /* borrowed */
    bool found;                           /* the guest was there */
    struct fsroot root;
    struct subject subject;
    struct sample_plan plan;
    double precision;       /* of a panel; 0: plan.samples stands as it is */
    double likely_fraction; /* touched, as far as is known: the one that needs the most draws */
    double design;          /* draws per observation, as of the last measurement */
    struct progress progress;
    uint64_t fine;        /* huge pages that each measurement splits; 0: none */
    struct run_lock lock; /* held from when the guest was found to the end or session_yield() */
    struct neighbour neighbour; /* vmwssd's panel, as of when it was locked */
    bool beside;                /* that panel was left alone */
    bool disputed;              /* a record had the flag */
    double wait_s;
    struct guest_pause *pause; /* NULL: the guest runs on */
    struct sample_pause pause_hooks;
    struct ram_config new_ram; /* of session_ram_changed(); empty: it did not */
};

/** Lets another vmwss have the guest between two measurements. */
void session_yield(struct session *session);

/** Sets how many pages the plan draws, for what is resident now and for the precision that was
 * asked for. */
void session_size_panel(struct session *session, const struct resident_now *now);

/**
 * For a guest that is sampled for long: when its RAM may have changed since it was located, libvirt
 * is asked again. By --pid there is no libvirt to ask: QEMU's command line has the RAM that it
 * began with.
 * @param now  of the last subject_refresh()
 * @return whether it did change; then session_relocate() is due, when nothing samples the old RAM
 * any more
 */
bool session_ram_changed(struct session *session, const struct resident_now *now);

/** Locates the RAM as it is now, chooses the method anew, and refreshes @p now. Errors as when the
 * session began. */
int session_relocate(struct session *session, struct resident_now *now, struct error *error);

/** Looks whether RAM was plugged, draws a panel (if it is one), samples the plan's windows, and
 * fills the record. After session_yield() the guest is locked again first; -EBUSY when another
 * vmwss kept it for longer than the time to wait. */
int session_measure(struct session *session, struct sample_record *record, struct error *error);

/**
 * The same on pages that stay the same from one measurement to the next: session_ready(), then, for
 * the first and whenever the RAM was relocated, session_draw(), then session_measure_pages().
 *
 * session_ready() locks the guest if it is not, and looks whether RAM was plugged: then all pages
 * are other ones. Errors as session_measure(), of which these are the parts.
 */
int session_ready(struct session *session, struct resident_now *now, bool *relocated,
                  struct error *error);

/** All pages or a panel, as the plan says; page_set_free(). The method may drop pages from a panel
 * that it cannot look at side by side, when it is first used. */
int session_draw(struct session *session, const struct resident_now *now, struct page_set *set,
                 struct error *error);
int session_measure_pages(struct session *session, struct page_set *set, struct resident_now *now,
                          struct sample_record *record, struct error *error);

/** Sleeps until @p until_ns (clock_ns()), a signal, or the end of the guest. */
void session_wait(const struct session *session, uint64_t until_ns);

/**
 * A command's life with one guest: opens the session, does the command's @p work, prints the error,
 * if any (a guest that is gone is named as the reason), and closes it. Catches SIGINT, SIGTERM and
 * SIGHUP from here on: see interrupt.h.
 * @param options  the command's own, handed to @p work
 * @return the exit code for main()
 */
int session_run(const struct sampling_choice *choice,
                int (*work)(struct session *session, const void *options, struct error *error),
                const void *options);
