// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file session_private.h  Calls among the files of a session: session.c is its life, and
 * session_plan.c says how it measures its guest: by which method, every page or a panel, and how
 * many pages. */
#pragma once

#include "measure/session/session.h"

/** The method that was asked for, or the first that proves itself on the guest. */
int session_choose_method(struct session *session, const struct sampling_choice *choice,
                          struct error *error);

bool session_wants_census(const struct session *session, const struct sampling_choice *choice);

/** Fills the session's plan; the method is chosen. */
void session_make_plan(struct session *session, const struct sampling_choice *choice);

/** Learns values for the next panel of a precision. */
void session_learn(struct session *session, const struct tally *tally);
