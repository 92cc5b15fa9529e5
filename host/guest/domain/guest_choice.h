// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_choice.h  The guest that a command works on, given by name or by process. */
#pragma once

#include "guest/domain/domain.h"

struct guest_choice {
    const char *uri;    /* --connect; NULL: qemu:///system; see also pods.h */
    const char *domain; /* DOMAIN; NULL if --pid was given */
    pid_t pid;          /* --pid; 0 if DOMAIN was given */
};

struct chosen_domain {
    struct domain_connection *connection;
    const char *name; /* for functions that take the connection: the DOMAIN given, or uuid */
    char uuid[37];
};

/** Connects to the libvirt that has the DOMAIN. Errors as domain_connect() and pods_connect_to().
 */
int guest_choice_connect(const struct guest_choice *choice, const struct fsroot *root,
                         struct chosen_domain *out, struct error *error);

/** Opens the guest without printing. Errors as guest_choice_connect(), guest_open_domain() and
 * guest_open_pid(). */
int guest_choice_open(const struct guest_choice *choice, const struct fsroot *root,
                      struct guest *guest, struct error *error);

/**
 * Runs guest_choice_open() in a separate thread. If *interrupted becomes nonzero, the thread is
 * abandoned, because libvirt's calls may wait for ever and cannot be cancelled.
 * @return 0: close the guest; -EINTR; else as guest_choice_open()
 */
int guest_choice_open_unhurried(const struct guest_choice *choice, const volatile int *interrupted,
                                struct guest *guest, struct error *error);
