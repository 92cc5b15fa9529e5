// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_stats_names.c  The names of the enums of guest_stats.h: as they are shown, kept and
 * read again. */
#include "measure/estimate/guest_stats.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const sources[] = {"none", "balloon", "agent"};
static const char *const verdicts[] = {"unknown", "below", "near", "above"};
/* Ordered by bit. */
static const char *const reasons_by_bit[] = {"swap-in",  "refaults",       "psi-full", "psi-some",
                                             "oom-kill", "direct-reclaim", "scanning", "available",
                                             "touched",  "untouched"};
static const char *const inconsistencies_by_bit[] = {"total", "used", "touched", "working-set",
                                                     "time"};

static unsigned find_name(const char *name, size_t length, const char *const *names, size_t n)
{
    unsigned i = 0;

    while (i < n && (strlen(names[i]) != length || strncmp(names[i], name, length) != 0))
        i++;
    return i;
}

const char *guest_stats_source_name(enum guest_stats_source source)
{
    return sources[source];
}

const char *guest_stats_verdict_name(enum guest_stats_verdict verdict)
{
    return verdicts[verdict];
}

enum guest_stats_source guest_stats_source_parse(const char *name)
{
    unsigned i = find_name(name, strlen(name), sources, COUNT(sources));

    return i < COUNT(sources) ? (enum guest_stats_source)i : GUEST_STATS_NONE;
}

enum guest_stats_verdict guest_stats_verdict_parse(const char *name)
{
    unsigned i = find_name(name, strlen(name), verdicts, COUNT(verdicts));

    return i < COUNT(verdicts) ? (enum guest_stats_verdict)i : VERDICT_UNKNOWN;
}

static void bits_text(char *text, size_t size, unsigned bits, const char *const *names, size_t n)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < n && used < size; i++)
        if (bits & (1U << i))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", names[i]);
}

static unsigned bits_parse(const char *text, const char *const *names, size_t n)
{
    unsigned bits = 0;

    while (*text) {
        size_t length = strcspn(text, ",");
        unsigned i = find_name(text, length, names, n);

        if (i < n)
            bits |= 1U << i;
        text += length + (text[length] == ',');
    }
    return bits;
}

void guest_stats_reasons_text(char *text, size_t size, unsigned reasons)
{
    bits_text(text, size, reasons, reasons_by_bit, COUNT(reasons_by_bit));
}

void guest_stats_inconsistencies_text(char *text, size_t size, unsigned inconsistencies)
{
    bits_text(text, size, inconsistencies, inconsistencies_by_bit, COUNT(inconsistencies_by_bit));
}

unsigned guest_stats_reasons_parse(const char *text)
{
    return bits_parse(text, reasons_by_bit, COUNT(reasons_by_bit));
}

unsigned guest_stats_inconsistencies_parse(const char *text)
{
    return bits_parse(text, inconsistencies_by_bit, COUNT(inconsistencies_by_bit));
}
