// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file session_plan.c  How a session measures its guest: by which method, every page or a panel,
 * and how many pages. */
#include "measure/session/session_private.h"

#include "base/debug.h"
#include "base/interrupt.h"
#include "base/wilson.h"
#include "measure/estimate/precision.h"

#include <errno.h>
#include <string.h>

#define DEFAULT_SAMPLES 2000

/* Dropping this number of pages costs less than a tenth of a default panel, and detects another
 * process that touches 4 % of the resident memory. */
#define WITNESS_PAGES 200

/* Up to this size a census of every page is the default: it has no sampling error, and marking a
 * GiB page by page costs well under a second. Above it, the panel is the default: its cost does not
 * grow with the guest. */
#define CENSUS_UP_TO_BYTES (1ULL << 30)

static int choose_method(struct session *session, const struct sampling_choice *choice,
                         const struct target *target, struct error *error)
{
    const struct method_needs needs = {.proven = session->neighbour.method,
                                       .census = choice->census,
                                       .panel = choice->samples > 0 || choice->precision > 0 ||
                                                choice->fine > 0 || choice->pages,
                                       .pages = choice->pages,
                                       .follow = choice->follow,
                                       .writes = choice->writes,
                                       .beside_writes = choice->watch_writes,
                                       .by_vcpus = session->disputed,
                                       .windows = choice->n_windows};
    struct error why = {0};

    if (!choice->method) {
        const struct method *method = method_auto(target, &needs, error);

        if (!method)
            return -ENOTSUP;
        session->plan.method = method;
        return 0;
    }
    session->plan.method = method_by_name(choice->method);

    int rc = method_try(session->plan.method, target, &needs, &why);

    return rc < 0 ? error_set(error, rc, "%s: %s", choice->method, why.text) : 0;
}

int session_choose_method(struct session *session, const struct sampling_choice *choice,
                          struct error *error)
{
    const struct target target = subject_target(&session->subject);
    const int rc = choose_method(session, choice, &target, error);

    return rc == 0 && choice->watch_writes ? write_watch_check(&target, error) : rc;
}

bool session_wants_census(const struct session *session, const struct sampling_choice *choice)
{
    const struct method *method = session->plan.method;

    if (choice->census || !method->panel)
        return true;
    if (choice->samples || choice->precision > 0 || choice->follow || choice->prefer_panel ||
        !method->census || method->panel_by_default)
        return false;
    return session->subject.ram.bytes <= CENSUS_UP_TO_BYTES;
}

void session_make_plan(struct session *session, const struct sampling_choice *choice)
{
    struct sample_plan *plan = &session->plan;

    plan->census = session_wants_census(session, choice);
    debug_log("%s by %s", plan->census ? "a census" : "a panel", plan->method->name);
    plan->samples = choice->samples ? choice->samples : DEFAULT_SAMPLES;
    session->precision = choice->precision;
    session->likely_fraction = 0.5;
    session->design = 1;
    plan->witness = choice->has_witness ? choice->witness : WITNESS_PAGES;
    plan->n_windows = choice->n_windows;
    memcpy(plan->window_s, choice->window_s, sizeof(plan->window_s));
    plan->interrupted = &interrupted;
    plan->jobs = &session->subject.guest.jobs;
    plan->progress = progress_draw;
    plan->progress_context = &session->progress;
}

void session_size_panel(struct session *session, const struct resident_now *now)
{
    struct sample_plan *plan = &session->plan;
    uint64_t bytes = population_bytes(plan->method, now);

    plan->presence = (double)bytes / (double)session->subject.ram.bytes;
    if (session->precision > 0 && !plan->census)
        plan->samples = precision_samples(session->precision, session->likely_fraction,
                                          base_pages(bytes) + 1, session->design);
}

void session_learn(struct session *session, const struct tally *tally)
{
    double draws = 0;
    double units = 0;
    double touched = 0;

    for (size_t i = 0; i < tally->n_strata; i++) {
        draws += (double)tally->strata[i].draws;
        units += (double)tally->strata[i].units;
        touched += (double)tally->strata[i].touched_units;
    }
    if (units == 0)
        return;

    struct interval bounds = wilson_interval(touched, units, Z_95);

    session->likely_fraction = precision_worst(bounds.low, bounds.high);
    session->design = draws / units;
}
