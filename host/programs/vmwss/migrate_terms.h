// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file migrate_terms.h  The options of migrate and plan that say how guests are migrated. */
#pragma once

#include "decide/migrate/terms.h"
#include "programs/vmwss/cli.h"

/* The options, of a struct migrate_terms at offset @p terms of the command's struct. */
#define MIGRATE_TERMS_AT(terms, member) ((terms) + offsetof(struct migrate_terms, member))
#define MIGRATE_TERMS(terms)                                                                    \
    {OPTION_SPEED,                                                                              \
     'b',                                                                                       \
     "bandwidth",                                                                               \
     "SPEED",                                                                                   \
     MIGRATE_TERMS_AT(terms, bandwidth_bytes_s),                                                \
     .help = "the limit of the migration's bandwidth, with its unit: 1192MiB/s, 10Gbit/s\n"     \
             "(128MiB/s, as QEMU without libvirt)"},                                            \
        {OPTION_SPEED,                                                                          \
         'l',                                                                                   \
         "link",                                                                                \
         "SPEED",                                                                               \
         MIGRATE_TERMS_AT(terms, link_bytes_s),                                                 \
         .help =                                                                                \
             "the connection without that limit, at which the last pages are sent (the same)"}, \
        {OPTION_SECONDS,                                                                        \
         'd',                                                                                   \
         "downtime",                                                                            \
         "TIME",                                                                                \
         MIGRATE_TERMS_AT(terms, downtime_s),                                                   \
         .help = "the longest standstill that is allowed (300ms, as QEMU)"},                    \
        {OPTION_SECONDS,                                                                        \
         0,                                                                                     \
         "state",                                                                               \
         "TIME",                                                                                \
         MIGRATE_TERMS_AT(terms, state_s),                                                      \
         .help = "standstill for all but memory (20ms)"},                                       \
        {OPTION_SPEED,                                                                          \
         0,                                                                                     \
         "zeroes",                                                                              \
         "SPEED",                                                                               \
         MIGRATE_TERMS_AT(terms, zeroes_bytes_s),                                               \
         .help = "how fast both hosts pass over memory that is zero or absent (4GB/s)"},        \
    {                                                                                           \
        OPTION_FLAG, 0, "auto-converge", NULL, MIGRATE_TERMS_AT(terms, auto_converge),          \
            .help = "QEMU slows the guest down while it does not converge"                      \
    }

/** Checks what the options do not check each by itself. Returns 0; -EINVAL after printing. */
int migrate_terms_check(const struct migrate_terms *terms);
