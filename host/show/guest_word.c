// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_word.c  See guest_word.h. */
#include "show/guest_word.h"

#include "base/utf8.h"
#include "show/field_json.h"
#include "show/json.h"
#include "show/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool word_was_asked(const struct guest_word *word)
{
    return word->source != WORD_NONE || *word->missing;
}

/* --- JSON ------------------------------------------------------------------------------------- */

json_t *word_json(const struct guest_word *word)
{
    json_t *object = json_object();

    for (const struct field *field = word_fields(); field->type; field++) {
        bool said = word->source != WORD_NONE || field->group == GROUP_SOURCE;
        bool there = field->group != GROUP_SPLIT || word->window_s > 0;

        if (field->json && said && there)
            field_json_set(object, field, word);
    }
    if (word->source == WORD_NONE)
        json_object_set_new(object, "missing", json_text(word->missing));
    return object;
}

/* --- text ------------------------------------------------------------------------------------- */

char *word_bytes_text(char *text, size_t size, uint64_t bytes)
{
    if (bytes == AGENT_UNKNOWN)
        snprintf(text, size, "-");
    else
        show_bytes(text, size, bytes);
    return text;
}

char *word_share_text(char *text, size_t size, double share)
{
    if (isfinite(share))
        snprintf(text, size, "%.1f%%", 100 * share);
    else
        snprintf(text, size, "-");
    return text;
}

char *word_verdict_text(char *text, size_t size, const struct guest_word *word)
{
    const char *verdict = word->verdict == VERDICT_UNKNOWN ? "-" : word_verdict_name(word->verdict);

    snprintf(text, size, "%s", word->at_least_allocation ? ">= RAM" : verdict);
    return text;
}

/* "12.0 KiB/s"; "-" */
static char *rate_text(char *text, size_t size, double bytes_s)
{
    char bytes[32];

    if (isfinite(bytes_s))
        snprintf(text, size, "%s/s",
                 show_bytes(bytes, sizeof(bytes),
                            bytes_s < 0x1p63 ? (uint64_t)bytes_s : (uint64_t)1 << 63));
    else
        snprintf(text, size, "-");
    return text;
}

static void memory_lines(char lines[2][WORD_LINE], const struct guest_word *word)
{
    char a[32];
    char b[32];
    char c[32];

    snprintf(lines[0], WORD_LINE, "the guest says (%s): %s used, %s available of %s",
             word_source_name(word->source), word_bytes_text(a, sizeof(a), word->used_bytes),
             word_bytes_text(b, sizeof(b), word->available_bytes),
             word_bytes_text(c, sizeof(c), word->total_bytes));
    snprintf(lines[1], WORD_LINE, "  page cache %s warm, %s cold",
             word_bytes_text(a, sizeof(a), word->cache_warm_bytes),
             word_bytes_text(b, sizeof(b), word->cache_cold_bytes));
}

static void rate_lines(char *line, const struct guest_word *word)
{
    char a[32];
    char b[32];
    char c[32];
    char d[32];

    snprintf(line, WORD_LINE, "  waits for memory: some %s, all %s; swap in %s, refaults %s",
             word_share_text(a, sizeof(a), word->psi_some),
             word_share_text(b, sizeof(b), word->psi_full),
             rate_text(c, sizeof(c), word->swap_in_bytes_s),
             rate_text(d, sizeof(d), word->refault_bytes_s));
}

static void split_line(char *line, const struct guest_word *word)
{
    char a[32];
    char b[32];
    char c[32];
    char d[32];

    snprintf(line, WORD_LINE, "  of the WSS over %gs: page cache %s to %s, processes %s to %s",
             word->window_s, word_bytes_text(a, sizeof(a), word->wss_cache_low_bytes),
             word_bytes_text(b, sizeof(b), word->wss_cache_high_bytes),
             word_bytes_text(c, sizeof(c), word->wss_anon_low_bytes),
             word_bytes_text(d, sizeof(d), word->wss_anon_high_bytes));
}

/* Of another window than the host's, which has the page cache that only read(2) and write(2) touch,
 * and the kernel, too. */
static void own_line(char *line, const struct guest_word *word)
{
    char a[32];
    char b[32];

    snprintf(line, WORD_LINE, "  touched by its processes in %.3gs: anonymous %s, mapped files %s",
             word->own_window_s, word_bytes_text(a, sizeof(a), word->own_anon_bytes),
             word_bytes_text(b, sizeof(b), word->own_file_bytes));
}

static void judgement_lines(char lines[2][WORD_LINE], const struct guest_word *word)
{
    char reasons[128];
    char doubts[64];
    char share[32];

    word_reasons_text(reasons, sizeof(reasons), word->reasons);
    word_doubts_text(doubts, sizeof(doubts), word->doubts);
    snprintf(lines[0], WORD_LINE, "  its working set is %s its memory%s%s%s%s",
             word->at_least_allocation ? "at least" : word_verdict_name(word->verdict),
             *reasons ? " (" : "", reasons, *reasons ? ")" : "",
             word->verdict == VERDICT_UNKNOWN ? ": it has not told enough" : "");
    snprintf(lines[1], WORD_LINE, "  agrees with what the host sees: %s%s%s%s",
             word_share_text(share, sizeof(share), word->agreement), *doubts ? " (not with: " : "",
             doubts, *doubts ? ")" : "");
}

size_t word_lines(char lines[WORD_LINES][WORD_LINE], const struct guest_word *word)
{
    size_t n = 3;

    if (word->source == WORD_NONE) {
        snprintf(lines[0], WORD_LINE, "the guest says nothing: %s", word->missing);
        utf8_printable(lines[0]);
        return word_was_asked(word);
    }
    memory_lines(lines, word);
    rate_lines(lines[2], word);
    if (word->window_s > 0)
        split_line(lines[n++], word);
    if (word->own_window_s > 0)
        own_line(lines[n++], word);
    judgement_lines(&lines[n], word);
    return n + 2;
}
