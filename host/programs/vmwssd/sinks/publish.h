// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file publish.h  Chooses the records that are worth publishing. No clock, no libvirt.
 *
 * A write makes libvirt store the guest's state and notify every listener, so records without news
 * are not written. But a number that is never renewed looks like that of a daemon that has died:
 * after a while it is published again.
 */
#pragma once

#include "measure/record/sample_record.h"

#define PUBLISH_INTERVAL_S 60 /* minimum time between two writes for one guest */
#define PUBLISH_AGAIN_S 600   /* maximum time between two writes, even without news */

/**
 * Returns true if @p now has news for a reader of @p published, the last record published.
 * @param published  NULL: nothing has been published; then it returns true
 * @return a window's WSS left the published interval and moved by more than 1 % of it; an interval
 *         became half as wide or twice as wide, by more than 1 % of resident memory; another
 *         method, other windows or other flags (but new-panel, which is about one record); resident
 *         or RAM moved by more than 1 % of RAM; PUBLISH_AGAIN_S have passed, or the clock went back
 */
bool publish_is_news(const struct sample_record *published, const struct sample_record *now);
