// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file statistics.h  Has balloon drivers asked for statistics where no other program does.
 *
 * A balloon driver reports only while QEMU asks it, which is not libvirt's default, and nothing is
 * taken from a guest that reports nothing. For a guest on which vmwss-balloond acts, the period of
 * the running domain is set from 0, which means never, to the configured one, and back to 0 at the
 * end. The journal has the period before it is set (journal_balloon.asked_s), so the next start
 * takes it over after kill -9. A period that another program has set, before or meanwhile, stays.
 */
#pragma once

#include "programs/balloond/context.h"

#define STATISTICS_TEXT 320
/** A driver that has not answered for this long is reported. */
#define STATISTICS_SILENT_S 60

/** Has drivers asked, and logs once which guests report nothing, and what helps. Call after each
 * decision. Failures are logged once, and tried again. */
void statistics_step(struct balloond *balloond);

/** Restores each period that is ours; with restore = hold, none. Returns how many could not be
 * restored; they stay in the journal. */
size_t statistics_end(struct balloond *balloond);

/** Writes why the guest reports nothing, and what helps; "": it reports, or may soon. */
void statistics_explain(char text[STATISTICS_TEXT], const struct balloond *balloond, size_t i);

/** Returns what could be taken from the guest at most if its balloon driver were asked;
 * DECIDE_UNKNOWN: it reports, or is asked already. */
uint64_t statistics_win(const struct balloond *balloond, size_t i);
