// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_cache_show.c  What vmwss cache prints: what is not known is no number. */
#include "show/cache.h"

#include "caught.h"
#include "fixture.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define MIB (1ULL << 20)

static struct cache_result result;
static const struct cache_report report = {
    .host = "host1", .domain = "web\x1b[1m", .uuid = "", .pid = 42, .result = &result};

static void begin_case(void)
{
    result = (struct cache_result){
        .unix_s = 1.5,
        .seen = {.window_s = 10,
                 .est_window_s = 10,
                 .n_vcpus = 2,
                 .n_ran = 1,
                 .ran_s = 4,
                 .guest_share = NAN,
                 .counts = {true, COUNTED_L2, 1000, 250, 3000, 2000, 0.5},
                 .monitored = true,
                 .n_caches = 2,
                 .flags = CACHE_MULTIPLEXED | CACHE_HOST_MODE},
        .verdict = {CACHE_ANSWER_UNKNOWN, "for a reason"},
    };
    result.seen.caches[0] = (struct cache_use){.id = 3,
                                               .bytes = 32 * MIB,
                                               .usable_bytes = 8 * MIB,
                                               .occupied_bytes = 4 * MIB,
                                               .loaded_bytes = 100 * MIB,
                                               .local_bytes = CACHE_UNKNOWN,
                                               .loaded_while_full_bytes = CACHE_UNKNOWN};
    result.seen.caches[1] = (struct cache_use){.id = 7, .bytes = CACHE_UNKNOWN};
}

static const char *printed(enum show_format format)
{
    catch_output();
    ck_assert_int_eq(cache_print(&report, format), 0);
    return caught_output();
}

TEST(plain, people_see_numbers_and_the_reason)
{
    begin_case();

    const char *text = printed(SHOW_TABLE);

    ck_assert_has(text, "web?[1m");
    ck_assert_has(text, "1/2");
    ck_assert_has(text, "25.0%");
    ck_assert_has(text, "1.50");
    ck_assert_has(text, "multiplexed,host-mode");
    ck_assert_has(text, "8.0 MiB");
    ck_assert_has(text, "10.0 MiB/s");
    ck_assert_has(text, "unknown: for a reason\n");
    ck_assert_ptr_null(strstr(text, "\n    7 ")); /* of many, those that were not used */
}

TEST(plain, what_was_not_counted_is_no_number)
{
    begin_case();
    result.seen.counts.counted_share = 0;
    result.no_counters = (struct error){-1, "thread\033[1m"};
    result.no_monitor = (struct error){-1, "resctrl: none of 'x\xff'"};
    result.seen.monitored = false;
    result.seen.n_caches = 0;

    const char *text = printed(SHOW_TABLE);

    ck_assert_ptr_null(strstr(text, "25.0%"));
    ck_assert_ptr_null(strstr(text, "1000"));
    ck_assert_ptr_null(strstr(text, "OCCUPIED"));
    ck_assert_has(text, "not counted: thread?[1m\n");
    ck_assert_has(text, "not monitored: resctrl: none of 'x?'\n");
}

TEST(plain, scripts_get_null_for_what_is_unknown)
{
    json_t *object, *use;

    begin_case();
    object = json_loads(printed(SHOW_JSON), 0, NULL);
    ck_assert_ptr_nonnull(object);
    ck_assert_str_eq(json_string_value(json_object_get(object, "schema")), "vmwss.cache.v1");
    ck_assert_str_eq(json_string_value(json_object_get(object, "answer")), "unknown");
    ck_assert(json_is_null(json_object_get(object, "uuid")));
    ck_assert(json_is_null(json_object_get(object, "guest_share")));
    ck_assert(json_is_null(json_object_get(object, "not_counted")));
    ck_assert_uint_eq(json_array_size(json_object_get(object, "flags")), 2);
    ck_assert_uint_eq(json_array_size(json_object_get(object, "caches")), 2);
    use = json_array_get(json_object_get(object, "caches"), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(use, "usable_bytes")), 8 * MIB);
    ck_assert(json_is_null(json_object_get(use, "loaded_local_bytes")));
    ck_assert(json_is_null(json_object_get(use, "loaded_while_full_bytes")));
    json_decref(object);
    result.seen.counts.known = false;
    object = json_loads(printed(SHOW_JSON), 0, NULL);
    ck_assert(json_is_null(json_object_get(object, "counts")));
    json_decref(object);
}
