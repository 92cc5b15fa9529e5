// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/migrate_terms.h"

#define AT(member) offsetof(struct migrate_terms, member)

const struct option_line migrate_terms_lines[] = {
    {OPTION_SPEED, 'b', "bandwidth", "SPEED", AT(bandwidth_bytes_s),
     .help = "the limit of the migration's bandwidth, with its unit: 1192MiB/s, 10Gbit/s\n"
             "(the guest's own, if it can be asked; 128MiB/s, as QEMU without libvirt)"},
    {OPTION_SPEED, 'l', "link", "SPEED", AT(link_bytes_s),
     .help = "the connection without that limit, at which the last pages are sent (the same)"},
    {OPTION_SECONDS, 'd', "downtime", "TIME", AT(downtime_s),
     .help = "the longest standstill that is allowed (the guest's own; 300ms, as QEMU)"},
    {OPTION_SECONDS, 0, "state", "TIME", AT(state_s),
     .help = "standstill for all but memory (20ms)"},
    {OPTION_SPEED, 0, "zeroes", "SPEED", AT(zeroes_bytes_s),
     .help = "how fast both hosts pass over memory that is zero or absent (4GB/s)"},
    {OPTION_FLAG, 0, "auto-converge", NULL, AT(auto_converge),
     .help = "QEMU slows the guest down while it does not converge"},
    {.type = OPTION_END},
};

int migrate_terms_check(const struct migrate_terms *terms)
{
    return terms->downtime_s > MIGRATE_DOWNTIME_MAX_S
               ? command_refuse("--downtime: QEMU allows at most %d s", MIGRATE_DOWNTIME_MAX_S)
               : 0;
}
