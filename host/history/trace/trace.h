// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trace.h  The content of a trace: the reference set of a guest over time.
 *
 * A trace is a head, then layouts and periods in the order of time, then an end. A layout lists the
 * sampled pages and their addresses. It applies to the following periods until the next layout,
 * which begins when guest RAM is plugged. A period gives the state of each of these pages, and the
 * reading of the period at which the page was first found touched.
 *
 * Theory of operation of the file (format version 1). All numbers are little-endian.
 *
 *   file    = "vmwsstr\n" version:u32 block*
 *   block   = kind:u32 bytes:u32 crc:u32 payload      crc: CRC-32 (IEEE) of kind, bytes, payload
 *   payload = numbers as LEB128, times and seconds as IEEE 754 doubles, texts as length and bytes;
 *             in the order of trace_encode.c
 *
 * Pages have 4096 bytes (TRACE_PAGE_BYTES) on every host that reads the trace. A host with another
 * base page size cannot write a trace.
 *
 * The pages of a period are runs, each a class, which is (order * 64 + reading) * 8 + state, and a
 * length; most runs take two bytes. Each block is written by one write(2), so if the writer was
 * killed or the disk was full, the trace ends with a whole block or with part of one. Readers
 * recognise a partial block by its length, and stop before it.
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
#define TRACE_PAGE_BYTES 4096ULL /* the unit of version 1, by definition */
#define TRACE_MAX_REGIONS 4096

enum trace_kind { TRACE_HEAD = 1, TRACE_LAYOUT, TRACE_PERIOD, TRACE_END };

struct trace_head {
    char host[256];
    char domain[256]; /* empty if unknown */
    char uuid[37];    /* empty if unknown */
    uint64_t pid;
    char accel[16];
    char method[32];
    bool census; /* every page of guest RAM was sampled */
    /* from the start of one period to the next; 0: periods follow each other without a pause */
    double interval_s;
    size_t n_windows;
    /* times of the period's readings, ascending; the last one ends the period */
    double window_s[RUN_MAX_WINDOWS];
};

struct trace_layout {
    uint64_t ram_pages;
    size_t n_regions;
    struct map_region *regions; /* without their chunks */
    uint64_t n;                 /* number of sampled pages */
    uint64_t *page;             /* page numbers, ascending; NULL: page i is page number i */
};

/** One reading for all of guest RAM, with the figures of vmwss measure
 * (measure/record/sample_record.h).
 */
struct trace_reading {
    double est_window_s;
    uint64_t wss_bytes, wss_low_bytes, wss_high_bytes;
};

struct trace_run {
    uint64_t n; /* number of consecutive pages of the layout */
    enum page_state state;
    /* for PAGE_TOUCHED and PAGE_GONE: the reading at which the page was first found touched */
    unsigned reading;
    unsigned order; /* granularity: 2^order pages */
};

struct trace_period {
    double end_unix_s; /* the middle of the last reading */
    double marking_s, reading_s;
    double vcpu_s;
    uint64_t resident_bytes, unmeasurable_bytes;
    char flags[256]; /* names, as sample_flags_text() gives them */
    size_t n_readings;
    struct trace_reading readings[RUN_MAX_WINDOWS];
    size_t n_runs;
    struct trace_run *runs; /* runs over all pages of the layout */
};

struct trace_end {
    char reason[128];
    uint64_t periods;
};

/** Frees the layout's memory, and empties the layout. */
void trace_layout_free(struct trace_layout *layout);
void trace_period_free(struct trace_period *period);

/** Returns the number of page @p i of the layout. */
static inline uint64_t trace_page(const struct trace_layout *layout, uint64_t i)
{
    return layout->page ? layout->page[i] : i;
}

/** Returns the region of page number @p page. */
const struct map_region *trace_region(const struct trace_layout *layout, uint64_t page);

/** Returns when the period began: the middle of its marking. */
double trace_begin_unix_s(const struct trace_period *period);
