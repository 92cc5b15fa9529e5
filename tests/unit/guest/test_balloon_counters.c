// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_balloon_counters.c  QEMU's answers about a balloon driver's counters, hostile ones
 * too. */
#include "guest/domain/balloon_counters.h"

#include "base/random.h"

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct domain_memory memory;

static void setup(void)
{
    memset(&memory, 0xff, sizeof(memory));
    memory.updated_s = 1795963594;
    memory.maximum_bytes = 4096ULL << 20;
    memory.total_bytes = 3900ULL << 20;
}

/* QEMU 10.0 with a guest of Linux 6.12. */
static const char answer[] =
    "{\"return\": {\"stats\": {\"stat-htlb-pgalloc\": 0, \"stat-swap-out\": 0, "
    "\"stat-available-memory\": 3512344576, \"stat-htlb-pgfail\": 0, \"stat-oom-kills\": 2, "
    "\"stat-alloc-stalls\": 117, \"stat-async-scans\": 19136512, \"stat-direct-scans\": 786432, "
    "\"stat-async-reclaims\": 4000, \"stat-direct-reclaims\": 7000, \"stat-swap-in\": 0}, "
    "\"last-update\": 1795963594}, \"id\": \"libvirt-412\"}";

static int parse(const char *text)
{
    return balloon_counters_parse(text, strlen(text), &memory);
}

static void all_are_unknown(void)
{
    ck_assert_uint_eq(memory.oom_kills, DOMAIN_MEMORY_UNKNOWN);
    ck_assert_uint_eq(memory.alloc_stalls, DOMAIN_MEMORY_UNKNOWN);
    ck_assert_uint_eq(memory.async_scan_bytes, DOMAIN_MEMORY_UNKNOWN);
    ck_assert_uint_eq(memory.direct_scan_bytes, DOMAIN_MEMORY_UNKNOWN);
    ck_assert_uint_eq(memory.async_reclaim_bytes, DOMAIN_MEMORY_UNKNOWN);
    ck_assert_uint_eq(memory.direct_reclaim_bytes, DOMAIN_MEMORY_UNKNOWN);
    ck_assert_uint_eq(memory.total_bytes, 3900ULL << 20);
}

FIXTURE(answers, .setup = setup);

TEST(answers, all_counters_are_read)
{
    ck_assert_int_eq(parse(answer), 0);
    ck_assert_uint_eq(memory.oom_kills, 2);
    ck_assert_uint_eq(memory.alloc_stalls, 117);
    ck_assert_uint_eq(memory.async_scan_bytes, 19136512);
    ck_assert_uint_eq(memory.direct_scan_bytes, 786432);
    ck_assert_uint_eq(memory.async_reclaim_bytes, 4000);
    ck_assert_uint_eq(memory.direct_reclaim_bytes, 7000);
}

/* As QEMU 7.2 prints them, without the counters, and 2^64 - 1 for what is not reported. */
TEST(answers, what_an_older_qemu_does_not_have_is_unknown)
{
    ck_assert_int_eq(
        parse("{\"return\": {\"stats\": {\"stat-htlb-pgalloc\": 18446744073709551615, "
              "\"stat-swap-out\": 18446744073709551615, \"stat-total-memory\": 4089446400}, "
              "\"last-update\": 1795963594}}"),
        0);
    all_are_unknown();
    ck_assert_int_eq(parse("{\"return\": {\"stats\": {\"stat-oom-kills\": 18446744073709551615, "
                           "\"stat-alloc-stalls\": 0, \"stat-async-scans\": 9007199254740993}, "
                           "\"last-update\": 1795963594}}"),
                     0);
    ck_assert_uint_eq(memory.oom_kills, DOMAIN_MEMORY_UNKNOWN);
    ck_assert_uint_eq(memory.alloc_stalls, 0);
    ck_assert_uint_eq(memory.async_scan_bytes, DOMAIN_MEMORY_UNKNOWN);
}

TEST(answers, those_of_another_report_do_not_count)
{
    memory.updated_s++;
    ck_assert_int_eq(parse(answer), -EAGAIN);
    all_are_unknown();
    memory.updated_s = 0; /* the driver has never reported */
    ck_assert_int_eq(parse("{\"return\": {\"stats\": {\"stat-oom-kills\": 1}, "
                           "\"last-update\": 0}}"),
                     -EAGAIN);
    all_are_unknown();
}

TEST(answers, hostile_ones_are_unknown)
{
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"return\": []}",
        "{\"return\": {\"stats\": [1, 2]}}",
        "{\"error\": {\"class\": \"DeviceNotFound\", \"desc\": \"no such device\"}}",
        "{\"return\": {\"stats\": \"stat-oom-kills\", \"last-update\": 1795963594}}",
    };
    static const char *const values[] = {"-1",    "1e400", "\"7\"", "null", "true",
                                         "[[1]]", "{}",    "1e17",  "-0.5"};
    char text[256];

    for (size_t i = 0; i < COUNT(texts); i++) {
        ck_assert_int_eq(parse(texts[i]), -EPROTO);
        all_are_unknown();
    }
    for (size_t i = 0; i < COUNT(values); i++) {
        snprintf(text, sizeof(text),
                 "{\"return\": {\"stats\": {\"stat-oom-kills\": %s}, \"last-update\": 1795963594}}",
                 values[i]);
        parse(text);
        all_are_unknown();
    }
    for (size_t n = 0; n < sizeof(answer) - 1; n++) {
        ck_assert_int_eq(balloon_counters_parse(answer, n, &memory), -EPROTO);
        all_are_unknown();
    }
}

TEST(answers, long_ones_are_not_read)
{
    const size_t length = 20000;
    char *text = malloc(length);

    ck_assert_ptr_nonnull(text);
    memset(text, ' ', length);
    memcpy(text, answer, sizeof(answer) - 1);
    ck_assert_int_eq(balloon_counters_parse(text, 16384, &memory), 0);
    setup();
    ck_assert_int_eq(balloon_counters_parse(text, length, &memory), -EPROTO);
    all_are_unknown();
    free(text);
}

TEST(answers, no_byte_does_harm)
{
    uint64_t random = 5;
    char text[sizeof(answer)];

    for (int i = 0; i < 20000; i++) {
        memcpy(text, answer, sizeof(answer));
        for (int k = 0; k < 3; k++)
            text[random_below(&random, sizeof(answer) - 1)] = (char)random_below(&random, 256);
        balloon_counters_parse(text, sizeof(answer) - 1, &memory);
        ck_assert(memory.alloc_stalls == DOMAIN_MEMORY_UNKNOWN ||
                  memory.alloc_stalls < (1ULL << 53));
        ck_assert_uint_eq(memory.total_bytes, 3900ULL << 20);
    }
}
