// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file unhurried.h  Asks libvirt about a guest without waiting for a libvirtd that hangs once a
 * signal has come. */
#pragma once

#include "programs/vmwss/cli.h"

/**
 * guest_choice_open() in a thread of its own. When @p interrupted becomes other than 0 the thread
 * is left behind, with what it asked for: libvirt's calls wait for an answer without end, and
 * cannot be ended.
 * @return 0: close the guest; -EINTR; else as guest_choice_open()
 */
int guest_choice_open_unhurried(const struct guest_choice *choice, const volatile int *interrupted,
                                struct guest *guest, struct error *error);
