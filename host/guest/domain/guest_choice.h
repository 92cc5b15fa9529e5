// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_choice.h  The guest that a command works on, given by name or by process. */
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
 * Runs guest_choice_open() in a separate thread. If *interrupted becomes nonzero, the thread is
 * abandoned, because libvirt's calls may wait for ever and cannot be cancelled.
 * @return 0: close the guest; -EINTR; else as guest_choice_open()
 */
int guest_choice_open_unhurried(const struct guest_choice *choice, const volatile int *interrupted,
                                struct guest *guest, struct error *error);
