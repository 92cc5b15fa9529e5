// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file reader_group.h  The group that may read the history. */
#pragma once

/** The package makes it, with the user of that name, who writes the history
 * (daemon/service/account.h). */
#define READER_GROUP "vmwss"

/**
 * For who was started by root and is about to give up its capabilities: without these root may not
 * read what belongs to another user, unless it is of the group. Adds it to the supplementary
 * groups; where there is no such group, or CAP_SETGID is gone already (a unit gives the group),
 * nothing changes.
 */
void reader_group_join(void);
