// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file terms.h  What a user says of a migration: speeds, the allowed downtime, and how QEMU is to
 * converge. The path of a forecast is made of it. */
#pragma once

#include "decide/migrate/forecast.h"

struct migrate_terms {
    /* Speeds; 0: not given */
    double bandwidth_bytes_s;  /* the limit of the rounds */
    double link_bytes_s;       /* the connection without that limit */
    double zeroes_bytes_s;     /* at which both hosts pass over pages of zeroes */
    double switchover_bytes_s; /* by which QEMU decides to stop the guest; 0: as it was sent */
    double downtime_s;         /* allowed */
    double state_s;            /* standstill for all but memory */
    bool auto_converge;
    struct migrate_throttle throttle; /* 0: QEMU's own */
    unsigned unforetold;              /* enum migrate_unforetold */
};

/** Standstill for the devices' state and for starting at the other end: QEMU 7.2, a guest of few
 * devices. */
#define MIGRATE_STATE_DEFAULT_S 0.02

#define MIGRATE_TERMS_DEFAULT                                                        \
    {                                                                                \
        .downtime_s = MIGRATE_DOWNTIME_DEFAULT_S, .state_s = MIGRATE_STATE_DEFAULT_S \
    }

/** Makes the path, with the uncertainties of what was given and of what was not. @p kvm: the guest
 * runs under KVM, which tracks writes in pieces. */
struct migrate_path migrate_path_of(const struct migrate_terms *terms, bool kvm);
