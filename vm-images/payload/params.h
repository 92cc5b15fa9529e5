/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file params.h  The payload's parameters: one text, read alike by the payload and by host tools.
 *
 * Words of the form key=value, separated by blanks. Sizes are bytes, with an optional K, M, G or T
 * (powers of 1024), or hexadecimal after 0x. No allocation, no library.
 */
#ifndef VMWSS_PARAMS_H
#define VMWSS_PARAMS_H

#include "pattern.h"

#include <stddef.h>

#define PARAMS_PAGE_SIZE UINT64_C(4096)
#define PARAMS_HUGE_SIZE (UINT64_C(2) << 20)
#define PARAMS_MAX_PHASES 16

enum populate { POPULATE_ALL, POPULATE_HOT, POPULATE_NONE };

struct phase {
    uint64_t duration_s;
    uint64_t hot_pages;
};

struct params {
    uint64_t total_pages;
    uint64_t hot_pages; /**< of the first phase, when there are phases */
    uint64_t start;     /**< counted from where RAM begins: on pc and q35 a GPA */
    uint64_t seed;
    uint64_t run_pages;     /**< of the strided pattern */
    uint64_t balloon_pages; /**< given back to the host before the steady state */
    bool balloon_follows;   /**< the host's wishes, from then on */
    bool balloon_keeps;     /**< it says so and gives no page */
    bool idle;              /**< touches nothing once it is ready: its vCPU halts */
    bool rests;             /**< halts for most of each 10 ms, between two passes */
    uint64_t write_pages;   /**< of the hot set, its first ones; the others are read */
    enum populate populate;
    unsigned int phase_count;
    struct phase phases[PARAMS_MAX_PHASES];
    struct pattern pattern;
    /** For host tools, which cannot see the guest's memory map: -m and -machine of QEMU. */
    uint64_t memory_bytes;
    bool q35;
    bool virt; /**< of arm64 */
};

/** Whether *text starts with word; then *text moves behind it. */
static inline bool params_take(const char **text, const char *word)
{
    const char *p = *text;

    while (*word)
        if (*p++ != *word++)
            return false;
    *text = p;
    return true;
}

static inline bool params_at_end(const char *text)
{
    return *text == '\0' || *text == ' ';
}

/** Reads a number; false when there is none or it does not fit. */
static inline bool params_take_number(const char **text, uint64_t *number)
{
    unsigned int base = params_take(text, "0x") ? 16 : 10;
    const char *p = *text;
    uint64_t value = 0;

    for (;; p++) {
        unsigned int digit;

        if (*p >= '0' && *p <= '9')
            digit = (unsigned int)(*p - '0');
        else if (base == 16 && (*p | 0x20) >= 'a' && (*p | 0x20) <= 'f')
            digit = (unsigned int)((*p | 0x20) - 'a') + 10;
        else
            break;
        if (value > (UINT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
    }
    if (p == *text)
        return false;
    *text = p;
    *number = value;
    return true;
}

/** Reads a size with its unit; false when it is none or 2^56 or more. */
static inline bool params_take_size(const char **text, uint64_t *bytes)
{
    static const char unit[] = "KMGT";
    unsigned int shift = 0;

    if (!params_take_number(text, bytes))
        return false;
    for (unsigned int i = 0; i < 4; i++)
        if ((**text & ~0x20) == unit[i])
            shift = 10 * (i + 1);
    if (shift)
        (*text)++;
    if (*bytes >= UINT64_C(1) << (56 - shift))
        return false;
    *bytes <<= shift;
    return true;
}

static inline bool params_take_pages(const char **text, uint64_t *pages)
{
    uint64_t bytes;

    if (!params_take_size(text, &bytes) || bytes % PARAMS_PAGE_SIZE)
        return false;
    *pages = bytes / PARAMS_PAGE_SIZE;
    return true;
}

static inline bool params_take_phases(const char **text, struct params *params)
{
    for (params->phase_count = 0; params->phase_count < PARAMS_MAX_PHASES;) {
        struct phase *phase = &params->phases[params->phase_count++];

        if (!params_take_number(text, &phase->duration_s) || phase->duration_s == 0 ||
            phase->duration_s > 1000000 || !params_take(text, ":") ||
            !params_take_pages(text, &phase->hot_pages))
            return false;
        if (!params_take(text, ","))
            return true;
    }
    return false;
}

static inline bool params_take_pattern(const char **text, enum pattern_kind *kind)
{
    if (params_take(text, "contiguous"))
        *kind = PATTERN_CONTIGUOUS;
    else if (params_take(text, "strided"))
        *kind = PATTERN_STRIDED;
    else if (params_take(text, "random"))
        *kind = PATTERN_RANDOM;
    else
        return false;
    return true;
}

static inline bool params_take_populate(const char **text, enum populate *populate)
{
    if (params_take(text, "all"))
        *populate = POPULATE_ALL;
    else if (params_take(text, "hot"))
        *populate = POPULATE_HOT;
    else if (params_take(text, "none"))
        *populate = POPULATE_NONE;
    else
        return false;
    return true;
}

static inline bool params_take_either(const char **text, const char *no, const char *yes, bool *is)
{
    *is = params_take(text, yes);
    return *is || params_take(text, no);
}

static inline bool params_take_op(const char **text, uint64_t *write_pages)
{
    *write_pages = params_take(text, "write") ? UINT64_MAX : 0;
    return *write_pages || params_take(text, "read");
}

static inline bool params_take_machine(const char **text, struct params *params)
{
    params->q35 = params_take(text, "q35");
    params->virt = !params->q35 && params_take(text, "virt");
    return params->q35 || params->virt || params_take(text, "pc");
}

/** Reads one key=value; false when it is not valid. */
static inline bool params_take_word(const char **text, struct params *params)
{
    if (params_take(text, "total="))
        return params_take_pages(text, &params->total_pages);
    if (params_take(text, "hot="))
        return params_take_pages(text, &params->hot_pages);
    if (params_take(text, "start="))
        return params_take_size(text, &params->start);
    if (params_take(text, "stride="))
        return params_take_pages(text, &params->pattern.stride_pages);
    if (params_take(text, "run="))
        return params_take_pages(text, &params->run_pages);
    if (params_take(text, "balloon=host")) {
        params->balloon_follows = true;
        return true;
    }
    if (params_take(text, "balloon=keeps")) {
        params->balloon_follows = params->balloon_keeps = true;
        return true;
    }
    if (params_take(text, "balloon="))
        return params_take_pages(text, &params->balloon_pages);
    if (params_take(text, "seed="))
        return params_take_number(text, &params->seed);
    if (params_take(text, "pattern="))
        return params_take_pattern(text, &params->pattern.kind);
    if (params_take(text, "populate="))
        return params_take_populate(text, &params->populate);
    if (params_take(text, "op="))
        return params_take_op(text, &params->write_pages);
    if (params_take(text, "write="))
        return params_take_pages(text, &params->write_pages);
    if (params_take(text, "idle="))
        return params_take_either(text, "no", "yes", &params->idle);
    if (params_take(text, "rest="))
        return params_take_either(text, "no", "yes", &params->rests);
    if (params_take(text, "phases="))
        return params_take_phases(text, params);
    if (params_take(text, "memory="))
        return params_take_size(text, &params->memory_bytes);
    if (params_take(text, "machine="))
        return params_take_machine(text, params);
    return false;
}

/** Returns what is wrong with parameters that are valid one by one, or NULL. Completes them on the
 * way. */
static inline const char *params_complete(struct params *params, bool hot_given)
{
    struct pattern *pattern = &params->pattern;

    if (params->total_pages == 0)
        return "total= must not be 0";
    if (pattern->stride_pages == 0)
        return "stride= must not be 0";
    if (params->run_pages == 0 || params->run_pages > pattern->stride_pages)
        return "run= must be at least one page and at most stride=";
    if (params->start % PARAMS_HUGE_SIZE)
        return "start= must be a multiple of 2M";
    if (params->idle && (params->phase_count || params->balloon_follows))
        return "idle=yes goes with neither phases= nor balloon=host";
    pattern_init(pattern, pattern->kind, params->total_pages, pattern->stride_pages, params->seed);
    pattern->run_pages = params->run_pages;
    if (params->idle)
        params->hot_pages = 0;
    else if (params->phase_count)
        params->hot_pages = params->phases[0].hot_pages;
    else if (!hot_given && params->hot_pages > pattern_capacity(pattern))
        params->hot_pages = pattern_capacity(pattern);
    if (params->hot_pages > pattern_capacity(pattern))
        return "hot= is more than the pattern has pages in total=";
    for (unsigned int i = 0; i < params->phase_count; i++)
        if (params->phases[i].hot_pages > pattern_capacity(pattern))
            return "phases= is more than the pattern has pages in total=";
    return NULL;
}

/**
 * Reads a whole text.
 * @return NULL, or what is wrong; then *where is the word it is wrong about, or "".
 */
static inline const char *params_parse(struct params *params, const char *text, const char **where)
{
    bool hot_given = false;

    *params = (struct params){
        .total_pages = (UINT64_C(512) << 20) / PARAMS_PAGE_SIZE,
        .hot_pages = (UINT64_C(64) << 20) / PARAMS_PAGE_SIZE,
        .start = UINT64_C(16) << 20,
        .seed = 1,
        .run_pages = 1,
        .pattern.stride_pages = (UINT64_C(64) << 10) / PARAMS_PAGE_SIZE,
#ifdef __aarch64__
        .virt = true,
#endif
    };
    for (;;) {
        while (*text == ' ')
            text++;
        if (*text == '\0')
            break;
        *where = text;
        hot_given |= text[0] == 'h';
        if (!params_take_word(&text, params) || !params_at_end(text))
            return "not a valid parameter";
    }
    *where = text;
    return params_complete(params, hot_given);
}

#endif
