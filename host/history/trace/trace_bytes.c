// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/trace/trace_bytes.h"

#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- writing ---------------------------------------------------------------------------------- */

void trace_put(struct trace_out *out, const void *bytes, size_t n)
{
    if (!out->failed && out->n + n > out->room) {
        size_t room = 2 * (out->n + n) + 64;
        uint8_t *more = realloc(out->bytes, room);

        out->failed = !more;
        if (more) {
            out->bytes = more;
            out->room = room;
        }
    }
    if (out->failed || n == 0)
        return;
    memcpy(out->bytes + out->n, bytes, n);
    out->n += n;
}

void trace_put_u32(struct trace_out *out, uint32_t value)
{
    const uint8_t bytes[] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                             (uint8_t)(value >> 24)};

    trace_put(out, bytes, sizeof(bytes));
}

void trace_put_number(struct trace_out *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    trace_put(out, bytes, n);
}

void trace_put_real(struct trace_out *out, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    trace_put_u32(out, (uint32_t)bits);
    trace_put_u32(out, (uint32_t)(bits >> 32));
}

void trace_put_text(struct trace_out *out, const char *text)
{
    size_t n = strlen(text);

    trace_put_number(out, n);
    trace_put(out, text, n);
}

/* --- reading ---------------------------------------------------------------------------------- */

static uint64_t fail_read(struct trace_in *in)
{
    in->failed = true;
    in->at = in->end;
    return 0;
}

/* Returns the next @p n bytes; NULL if there are fewer. */
static const uint8_t *take_bytes(struct trace_in *in, size_t n)
{
    const uint8_t *bytes = in->at;

    if (in->failed || trace_left(in) < n) {
        fail_read(in);
        return NULL;
    }
    in->at += n;
    return bytes;
}

uint64_t trace_take_number(struct trace_in *in, uint64_t max)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *byte = take_bytes(in, 1);

        if (!byte || (shift == 63 && *byte > 1))
            return fail_read(in);
        value |= (uint64_t)(*byte & 0x7f) << shift;
        if (*byte < 0x80)
            return value <= max ? value : fail_read(in);
    }
    return fail_read(in);
}

uint32_t trace_u32(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

double trace_take_real(struct trace_in *in, double max)
{
    const uint8_t *bytes = take_bytes(in, 8);
    double value = 0;

    if (!bytes)
        return 0;

    const uint64_t bits = trace_u32(bytes) | (uint64_t)trace_u32(bytes + 4) << 32;

    memcpy(&value, &bits, sizeof(value));
    if (isfinite(value) && value >= 0 && value <= max)
        return value;
    fail_read(in);
    return 0;
}

void trace_take_text(struct trace_in *in, char *text, size_t size)
{
    size_t n = (size_t)trace_take_number(in, size - 1);
    const uint8_t *bytes = take_bytes(in, n);

    *text = '\0';
    if (!bytes)
        return;
    memcpy(text, bytes, n);
    text[n] = '\0';
    if (memchr(bytes, '\0', n) || !utf8_is_printable(text)) {
        *text = '\0';
        fail_read(in);
    }
}

size_t trace_take_count(struct trace_in *in, size_t least_bytes, size_t max)
{
    size_t n = (size_t)trace_take_number(in, max);

    return n <= trace_left(in) / least_bytes ? n : (size_t)fail_read(in);
}

/* --- the checksum ----------------------------------------------------------------------------- */

static void make_table(uint32_t *table)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
        table[i] = crc;
    }
}

uint32_t trace_crc(uint32_t crc, const void *bytes, size_t n)
{
    static uint32_t table[256];
    const uint8_t *at = bytes;

    if (table[1] == 0)
        make_table(table);
    crc = ~crc;
    for (size_t i = 0; i < n; i++)
        crc = crc >> 8 ^ table[(crc ^ at[i]) & 0xff];
    return ~crc;
}
