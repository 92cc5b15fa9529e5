// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file trace_bytes.h  Writes and reads the bytes of a block. All lengths that are read are
 * checked here, and only here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Grows as bytes are put into it; begins empty ({0}). */
struct trace_out {
    uint8_t *bytes; /* for free() */
    size_t n, room;
    bool failed; /* out of memory: further data is not written */
};

void trace_put(struct trace_out *out, const void *bytes, size_t n);
void trace_put_u32(struct trace_out *out, uint32_t value);
void trace_put_number(struct trace_out *out, uint64_t value);
void trace_put_real(struct trace_out *out, double value);
void trace_put_text(struct trace_out *out, const char *text);

/** The part of a block that is still to be read. */
struct trace_in {
    const uint8_t *at, *end;
    /* the data ended early, or a value was out of its range: all further reads give 0 */
    bool failed;
};

static inline size_t trace_left(const struct trace_in *in)
{
    return (size_t)(in->end - in->at);
}

/** Takes a number of at most @p max. */
uint64_t trace_take_number(struct trace_in *in, uint64_t max);

/** Takes a finite number within 0 .. @p max. */
double trace_take_real(struct trace_in *in, double max);

/** Takes a printable text (base/utf8.h) that fits, with a NUL, into @p size bytes. */
void trace_take_text(struct trace_in *in, char *text, size_t size);

/** Takes the number of elements that follow, each of at least @p least_bytes: at most @p max, and
 * no more than there is room for, so that memory allocated for them is limited by the size of the
 * file. */
size_t trace_take_count(struct trace_in *in, size_t least_bytes, size_t max);

uint32_t trace_u32(const uint8_t *bytes);

/** CRC-32 (IEEE 802.3) of these bytes, continuing from @p crc (0: start). */
uint32_t trace_crc(uint32_t crc, const void *bytes, size_t n);
