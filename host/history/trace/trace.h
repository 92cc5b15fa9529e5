// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trace.h  The reference set of a guest over time: what a trace holds.
 *
 * A trace is a head, then layouts and periods in the order of time, then an end. A layout says
 * which pages are looked at, and where they are; it stands for the periods that follow it, until
 * the next: guest RAM may be plugged meanwhile. A period says of each of these pages what became of
 * it, and at which of the period's readings it was first found touched.
 *
 * Theory of operation of the file (format version 1). All numbers are little-endian.
 *
 *   file    = "vmwsstr\n" version:u32 block*
 *   block   = kind:u32 bytes:u32 crc:u32 payload      crc: CRC-32 (IEEE) of kind, bytes, payload
 *   payload = numbers as LEB128, times and seconds as IEEE 754 doubles, texts as length and bytes;
 *             in their order as trace_encode.c has them
 *
 * Pages are of 4096 bytes, whatever those of the host are that reads them: TRACE_PAGE_BYTES. A host
 * with base pages of another size writes none.
 *
 * The pages of a period are runs of a class, which is (order * 64 + reading) * 8 + state, and a
 * length: two bytes for most. Each block is written by one write(2), so a trace whose writer was
 * killed, or whose disk was full, ends with a whole block or with a part of one, which readers know
 * by its length. They read up to there.
 */
#pragma once

#include "measure/record/ram_map.h"
#include "measure/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_MAGIC "vmwsstr\n"
#define TRACE_MAGIC_BYTES 8
#define TRACE_VERSION 1
#define TRACE_BLOCK_HEAD_BYTES 12
#define TRACE_MAX_BLOCK_BYTES (1U << 30)
#define TRACE_MAX_ORDER 18
#define TRACE_PAGE_BYTES 4096ULL /* version 1's unit, by definition */
#define TRACE_MAX_REGIONS 4096

enum trace_kind { TRACE_HEAD = 1, TRACE_LAYOUT, TRACE_PERIOD, TRACE_END };

struct trace_head {
    char host[256];
    char domain[256]; /* empty if unknown */
    char uuid[37];    /* likewise */
    uint64_t pid;
    char accel[16];
    char method[32];
    bool census;       /* every page of guest RAM was looked at */
    double interval_s; /* from one period to the next; 0: without a pause */
    size_t n_windows;
    double window_s[RUN_MAX_WINDOWS]; /* when each period is read, ascending; the last ends it */
};

struct trace_layout {
    uint64_t ram_pages;
    size_t n_regions;
    struct map_region *regions; /* without their chunks */
    uint64_t n;                 /* pages that are looked at */
    uint64_t *page;             /* their numbers, ascending; NULL: page i is page number i */
};

/** One reading. Of all of guest RAM, as vmwss measure has it (measure/record/sample_record.h). */
struct trace_reading {
    double est_window_s;
    uint64_t wss_bytes, wss_low_bytes, wss_high_bytes;
};

struct trace_run {
    uint64_t n; /* pages of the layout, one after the other */
    enum page_state state;
    unsigned reading; /* of PAGE_TOUCHED and PAGE_GONE: at which it was first found touched */
    unsigned order;   /* granularity: 2^order pages */
};

struct trace_period {
    double end_unix_s; /* the middle of its last reading */
    double marking_s, reading_s;
    double vcpu_s;
    uint64_t resident_bytes, unmeasurable_bytes;
    char flags[256]; /* names, as of sample_flags_text() */
    size_t n_readings;
    struct trace_reading readings[RUN_MAX_WINDOWS];
    size_t n_runs;
    struct trace_run *runs; /* of all pages of the layout */
};

struct trace_end {
    char reason[128];
    uint64_t periods;
};

/** Frees what it holds, and makes it empty. */
void trace_layout_free(struct trace_layout *layout);
void trace_period_free(struct trace_period *period);

/** The number of page @p i of the layout. */
static inline uint64_t trace_page(const struct trace_layout *layout, uint64_t i)
{
    return layout->page ? layout->page[i] : i;
}

/** The region of page number @p page. */
const struct map_region *trace_region(const struct trace_layout *layout, uint64_t page);

/** When the period began: the middle of its marking. */
double trace_begin_unix_s(const struct trace_period *period);
