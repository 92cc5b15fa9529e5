// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_choice.h  The guest that a command works on: given by its name, or by its
 * process. */
#pragma once

#include "guest/domain/domain.h"

struct guest_choice {
    const char *uri;    /* --connect; NULL: qemu:///system */
    const char *domain; /* DOMAIN; NULL if --pid was given */
    pid_t pid;          /* --pid; 0 if DOMAIN was given */
};

/** Opens the guest without printing. Errors as guest_open_domain() and guest_open_pid(). */
int guest_choice_open(const struct guest_choice *choice, const struct fsroot *root,
                      struct guest *guest, struct error *error);

/**
 * Runs guest_choice_open() in a thread of its own. If @p interrupted becomes other than 0, the
 * thread is left behind with its request: libvirt's calls wait for an answer without limit, and
 * cannot be ended.
 * @return 0: close the guest; -EINTR; else as guest_choice_open()
 */
int guest_choice_open_unhurried(const struct guest_choice *choice, const volatile int *interrupted,
                                struct guest *guest, struct error *error);
