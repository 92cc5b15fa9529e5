// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_scan_message.c  What the halves of vmwssd say to each other, of which either may have
 * been taken over. The first byte says which of the two messages it is, and whether it is as long
 * as its kind, which the second says, and its own counts say: what is not given is 0. What is valid
 * has exactly that length, and no byte behind it is read: there the memory ends. */
#include "programs/vmwssd/scanner/scan_message.h"

#include "fuzz.h"

#include <stdbool.h>
#include <string.h>

static void take_ram(const struct scan_ram *ram)
{
    struct ram_config config;

    CLAIM(scan_ram_take(ram, &config) == 0);
    CLAIM(config.n_backends == ram->n_backends && config.total_bytes <= RAM_CONFIG_MAX_BYTES);
    ram_config_free(&config);
}

static void check_request(const struct scan_request *request, size_t size)
{
    if (!scan_request_valid(request, size))
        return;
    if (request->op == SCAN_HAS_RAM)
        take_ram(&request->has_ram);
    if (request->op == SCAN_OPEN && request->open.pid == 0)
        take_ram(&request->open.ram);
    if (request->op == SCAN_OPEN && request->open.pid == 0)
        CLAIM(strlen(request->open.domain.name) < sizeof(request->open.domain.name));
    if (request->op == SCAN_SAMPLE)
        CLAIM(request->sample.n_windows <= RUN_MAX_WINDOWS);
}

static void check_record(const struct scan_sampled *sampled)
{
    struct ages_record record;

    scan_record_take(sampled, &record);
    CLAIM(record.sample.method && *record.sample.method);
    CLAIM(record.sample.n_windows <= RUN_MAX_WINDOWS && record.n_bins <= SCAN_MAX_BINS);
    for (size_t i = 0; i < record.sample.n_windows; i++)
        CLAIM(record.sample.windows[i].wss_low_bytes <= record.sample.windows[i].wss_high_bytes);
    for (size_t i = 0; i < record.n_bins; i++)
        CLAIM(record.bins[i].to_s >= record.bins[i].from_s);
}

static void check_curve(const struct scan_written *written)
{
    struct write_curve curve;

    scan_curve_take(written, &curve);
    CLAIM(curve.method && *curve.method && curve.n > 0 && curve.n <= WRITE_POINTS_MAX);
    for (size_t i = 0; i < curve.n; i++)
        CLAIM(curve.points[i].low_bytes <= curve.points[i].high_bytes &&
              curve.points[i].est_window_s > 0);
}

static void check_reply(const struct scan_reply *reply, size_t size)
{
    if (size < sizeof(reply->op) || !scan_reply_valid(reply, size, reply->op))
        return;
    CLAIM(size == scan_reply_size(reply) && size <= sizeof(*reply));
    CLAIM(!scan_reply_valid(reply, size - 1, reply->op));
    CLAIM(!scan_reply_valid(reply, size + 1, reply->op));
    CLAIM(strlen(reply->error) < sizeof(reply->error));
    if (reply->op == SCAN_SAMPLE && reply->sampled.has_record)
        check_record(&reply->sampled);
    if (reply->op == SCAN_WRITES && reply->rc == 0)
        check_curve(&reply->written);
}

/* In memory that ends where the message does. */
static void check(const uint8_t *bytes, size_t size, bool asks)
{
    uint8_t *exact = malloc(size);

    CLAIM(exact || size == 0);
    if (size > 0)
        memcpy(exact, bytes, size);
    if (asks)
        check_request((const struct scan_request *)(const void *)exact, size);
    else
        check_reply((const struct scan_reply *)(const void *)exact, size);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static union {
        struct scan_request request;
        struct scan_reply reply;
        uint8_t bytes[sizeof(struct scan_reply)];
    } message;

    if (size < 2)
        return 0;

    const bool asks = data[0] & 1;
    const bool whole = data[0] & 2;
    const uint32_t op = data[1] % N_SCAN_OPS;
    const size_t given = size - 2 < sizeof(message) ? size - 2 : sizeof(message);

    memset(&message, 0, sizeof(message));
    memcpy(message.bytes, data + 2, given);
    if (!whole) {
        check(data + 2, size - 2, asks);
        return 0;
    }
    memcpy(message.bytes, &op, sizeof(op));
    check(message.bytes, asks ? scan_request_size(op) : scan_reply_size(&message.reply), asks);
    return 0;
}
