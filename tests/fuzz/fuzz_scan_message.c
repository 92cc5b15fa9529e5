// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_scan_message.c  What the halves of vmwssd say to each other, of which either may have
 * been taken over. The first byte says which of the two messages it is, and whether it is as long
 * as the second says that its kind is: what is not given is 0. */
#include "daemon/scanner/scan_message.h"

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

static void check_reply(struct scan_reply *reply, size_t size)
{
    if (size < sizeof(reply->op) || !scan_reply_valid(reply, size, reply->op))
        return;
    CLAIM(strlen(reply->error) < sizeof(reply->error));
    if (reply->op == SCAN_SAMPLE && reply->sampled.has_record) {
        const struct ages_record *record = scan_record_take(&reply->sampled);

        CLAIM(record->sample.method && *record->sample.method);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;

    const bool asks = data[0] & 1;
    const bool whole = data[0] & 2;
    const uint32_t op = data[1] % N_SCAN_OPS;
    size_t length = asks ? scan_request_size(op) : scan_reply_size(op);
    size_t given = size - 2;
    uint8_t *bytes = calloc(1, given + sizeof(struct scan_reply)); /* at least what receives it */

    CLAIM(bytes);
    memcpy(bytes, data + 2, given);
    if (whole)
        memcpy(bytes, &op, sizeof(op));
    else
        length = given;
    if (asks)
        check_request((const struct scan_request *)(const void *)bytes, length);
    else
        check_reply((struct scan_reply *)(void *)bytes, length);
    free(bytes);
    return 0;
}
