// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file trace_bytes.h  Writes and reads the bytes of a block. Only this file checks lengths that
 * are read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** An output buffer, which grows as needed; initialise it with {0}. */
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
    /* the data ended early, or a value was out of its range; all further reads give 0 */
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

/** Takes the number of the following elements, each of at least @p least_bytes. It fails above @p
 * max, or if the rest of the data is too short for them, so that the size of the file limits memory
 * allocated for them. */
size_t trace_take_count(struct trace_in *in, size_t least_bytes, size_t max);

uint32_t trace_u32(const uint8_t *bytes);

/** CRC-32 (IEEE 802.3) of the bytes; @p crc is the CRC of the preceding bytes, or 0. */
uint32_t trace_crc(uint32_t crc, const void *bytes, size_t n);
