// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_web_guests.c  What vmwss-exporter --web shows: the guests now, and the report; names
 * that a page must not obey. */
#include "kept.h"

#include "base/text/json.h"
#include "history/event.h"
#include "programs/exporter/status_json.h"
#include "programs/exporter/web_report.h"
#include "show/html_page.h"

#include "fixture.h"

#include <errno.h>
#include <jansson.h>

#define UUID_3 "33333333-3333-4333-8333-333333333333"
#define HOSTILE "</script><img src=x onerror=alert(1)>\"'"

static void begin(void)
{
    kept = kept_dir_make();
    store_close(kept_open(kept.path));
}

static void assert_has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "no %s in\n%.500s", part, text);
}

/* --- the guests now --------------------------------------------------------------------------- */

#define NOW 1700002800.0

static void add(const char *name, const char *uuid, double at_s)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct ages_record record = kept_record(name, uuid, at_s, 64);

    ck_assert_ok(kept_add(store, &record, &error));
}

static void add_event(const char *uuid, double at_s, enum event_kind kind)
{
    cleanup_store struct store *store = kept_open(kept.path);
    struct store_event event = {.host = "testhost", .kind = kind, .time_s = at_s};

    snprintf(event.uuid, sizeof(event.uuid), "%s", uuid);
    ck_assert_int_eq(store_add_event(store, &event, NULL), 0);
}

/* Returns the status of all guests, freed by the caller. */
static json_t *status_at(double now_s)
{
    char *text;
    size_t size;
    json_t *object;

    ck_assert_ok(status_json_text(kept.path, now_s, &text, &size, &error));
    ck_assert_uint_eq(size, strlen(text));
    object = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(object);
    free(text);
    return object;
}

static json_t *guest_of(json_t *status, size_t i)
{
    return json_array_get(json_object_get(status, "guests"), i);
}

static const char *text_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

FIXTURE(shown, .setup = begin, .timeout_s = 120);

TEST(shown, a_guest_is_its_last_record)
{
    cleanup_json json_t *status;
    json_t *guest;

    add("web1", UUID_1, NOW - 40);
    add("web1", UUID_1, NOW - 10);
    status = status_at(NOW);
    ck_assert_str_eq(text_of(status, "schema"), "vmwss.current.v1");
    ck_assert_str_eq(text_of(status, "host"), "testhost");
    ck_assert_uint_eq(json_array_size(json_object_get(status, "guests")), 1);
    guest = guest_of(status, 0);
    ck_assert_str_eq(text_of(guest, "domain"), "web1");
    ck_assert_str_eq(text_of(guest, "uuid"), UUID_1);
    ck_assert(json_is_true(json_object_get(guest, "measured")));
    ck_assert(json_is_null(json_object_get(guest, "reason")));
    ck_assert(json_real_value(json_object_get(guest, "age_seconds")) == 10);
    ck_assert_int_eq(json_integer_value(json_object_get(guest, "ram_bytes")), 1024 * MIB);
    ck_assert_int_eq(json_integer_value(json_object_get(
                         json_array_get(json_object_get(guest, "windows"), 0), "wss_bytes")),
                     64 * MIB);
    ck_assert(json_is_integer(json_object_get(guest, "reclaimable_bytes")));
}

TEST(shown, a_guest_that_is_not_measured_has_a_reason)
{
    cleanup_json json_t *status;

    add("a", UUID_1, NOW - 7200);
    add("b", UUID_2, NOW - 7200);
    add("c", UUID_3, NOW - 7200);
    add_event(UUID_2, NOW - 7190, EVENT_SUSPEND);
    add_event(UUID_3, NOW - 7190, EVENT_UNWATCH);
    status = status_at(NOW);
    ck_assert_str_eq(text_of(guest_of(status, 0), "reason"),
                     "last measured 2h ago, though a record came every 30s before");
    ck_assert(json_is_false(json_object_get(guest_of(status, 0), "measured")));
    ck_assert(json_is_null(json_object_get(guest_of(status, 0), "reclaimable_bytes")));
    assert_has(text_of(guest_of(status, 1), "reason"), "suspended for ");
    ck_assert(json_is_true(json_object_get(guest_of(status, 1), "suspended")));
    assert_has(text_of(guest_of(status, 2), "reason"), "not watched for ");
    ck_assert(json_is_false(json_object_get(guest_of(status, 2), "suspended")));
}

TEST(shown, a_guest_that_has_ended_or_is_long_gone_is_left_out)
{
    cleanup_json json_t *status;

    add("ended", UUID_1, NOW - 100);
    add_event(UUID_1, NOW - 90, EVENT_END);
    add("gone", UUID_2, NOW - STATUS_STALE_S - 1);
    add("here", UUID_3, NOW - 10);
    status = status_at(NOW);
    ck_assert_uint_eq(json_array_size(json_object_get(status, "guests")), 1);
    ck_assert_str_eq(text_of(guest_of(status, 0), "domain"), "here");
}

TEST(shown, a_hostile_name_stays_one_string)
{
    cleanup_json json_t *status;

    add(HOSTILE "\n\r\x01", UUID_1, NOW - 10);
    add("not\xff utf8", UUID_2, NOW - 10);
    status = status_at(NOW);
    ck_assert_str_eq(text_of(guest_of(status, 0), "domain"), HOSTILE "\n\r\x01");
    ck_assert_str_eq(text_of(guest_of(status, 1), "domain"), "not? utf8");
}

/* --- the report ------------------------------------------------------------------------------- */

static char *report_of(const char *database, double window_s, struct error *error)
{
    const struct web_report options = {
        .database = database, .since_s = 86400, .window_s = window_s, .capacity_bytes = 1ULL << 36};
    char *text = NULL;
    size_t size;
    int rc = web_report_text(&options, &text, &size, error);

    ck_assert_int_eq(rc == 0, text != NULL);
    ck_assert(rc < 0 || size == strlen(text));
    return text;
}

static char *report(const char *database, struct error *error)
{
    return report_of(database, 60, error);
}

TEST(shown, the_report_takes_a_window_that_is_kept)
{
    static const struct {
        double asked_s;
        const char *taken;
    } windows[] = {{1, "10s"}, {10, "10s"}, {11, "1m"}, {60, "1m"}, {3600, "1m"}};
    const double now_s = store_clock_now().wall_s;
    char words[64];
    char *text;

    add("web1", UUID_1, now_s - 120);
    add("web1", UUID_1, now_s - 60);
    for (size_t i = 0; i < COUNT(windows); i++) {
        text = report_of(kept.path, windows[i].asked_s, NULL);
        snprintf(words, sizeof(words), "the memory touched within %s.", windows[i].taken);
        assert_has(text, words);
        free(text);
    }
}

TEST(shown, the_report_is_a_page_with_a_policy)
{
    const double now_s = store_clock_now().wall_s;
    char policy[256];
    char little[8];
    cleanup_free char *text;

    for (int i = 0; i < 10; i++)
        add(HOSTILE, UUID_1, now_s - 600 + 60 * i);
    text = report(kept.path, NULL);
    ck_assert_int_eq(strncmp(text, "<!DOCTYPE html>", 15), 0);
    assert_has(text, "<a href=\"status\">Guests now</a>");
    assert_has(text, "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&quot;&#39;");
    ck_assert_ptr_null(strstr(text, "<img"));
    ck_assert_int_eq(html_page_policy(text, policy, sizeof(policy)), 0);
    ck_assert_int_eq(strncmp(policy, "default-src 'none'; ", 20), 0);
    assert_has(policy, "; script-src 'nonce-");
    ck_assert_ptr_null(strpbrk(policy, "\r\n\"<>"));
    ck_assert_int_eq(html_page_policy(text, little, sizeof(little)), -EINVAL);
    ck_assert_int_eq(html_page_policy("<p>no page", policy, sizeof(policy)), -EINVAL);
}

TEST(shown, the_report_is_of_the_host_that_writes_now)
{
    const double now_s = store_clock_now().wall_s;
    struct ages_record record = kept_record("web2", UUID_2, now_s - 60, 64);
    struct store *store;
    cleanup_free char *text;

    add("web1", UUID_1, now_s - 1200);
    add("web1", UUID_1, now_s - 1140);
    snprintf(record.sample.host, sizeof(record.sample.host), "renamed");
    store = kept_open(kept.path);
    ck_assert_int_eq(kept_add(store, &record, NULL), 0);
    store_close(store);
    text = report(kept.path, NULL);
    assert_has(text, "<title>vmwss: renamed</title>");
}

TEST(shown, no_report_has_a_reason)
{
    struct error error = {0};

    ck_assert_ptr_null(report("/nonexistent/history.db", &error));
    assert_has(error.text, "/nonexistent/history.db: no history there");
    ck_assert_ptr_null(report(kept.path, &error)); /* nothing is kept */
    ck_assert_int_eq(error.code, -ENODATA);
}
