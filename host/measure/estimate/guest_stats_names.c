// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_stats_names.c  The names of the enums of guest_stats.h, for output, for the history,
 * and for parsing. */
#include "measure/estimate/guest_stats.h"

static const char *const sources[] = {"none", "balloon", "agent"};
static const char *const verdicts[] = {"unknown", "below", "near", "above"};
static const char *const reasons[] = {"swap-in",  "refaults",       "psi-full", "psi-some",
                                      "oom-kill", "direct-reclaim", "scanning", "available",
                                      "touched",  "untouched",      "oom-limit"};
static const char *const inconsistencies[] = {"total", "used", "touched", "working-set", "time"};

const struct names guest_stats_source_names = NAMES(sources);
const struct names guest_stats_verdict_names = NAMES(verdicts);
const struct names guest_stats_reason_names = NAMES(reasons);
const struct names guest_stats_inconsistency_names = NAMES(inconsistencies);

const char *guest_stats_source_name(enum guest_stats_source source)
{
    return sources[source];
}

const char *guest_stats_verdict_name(enum guest_stats_verdict verdict)
{
    return verdicts[verdict];
}

void guest_stats_reasons_text(char *text, size_t size, unsigned bits)
{
    names_bits_text(&guest_stats_reason_names, text, size, bits);
}

void guest_stats_inconsistencies_text(char *text, size_t size, unsigned bits)
{
    names_bits_text(&guest_stats_inconsistency_names, text, size, bits);
}
