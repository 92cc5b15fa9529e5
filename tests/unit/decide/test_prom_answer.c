// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_prom_answer.c  What a Prometheus HTTP API answers, and what it must not. */
#include "decide/plan/prom_answer.h"

#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct prom_answer answer;
static struct error error;

static int parse_at(const char *text, const struct prom_span *times)
{
    error = (struct error){0};
    prom_answer_free(&answer);
    return prom_answer_parse(text, strlen(text), times, &answer, &error);
}

static int parse(const char *text)
{
    return parse_at(text, NULL);
}

#define RESULT(result) \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"x\",\"result\":" result "}}"

FIXTURE(cases, .timeout_s = 60);

/* Asserts that these are all amounts of a series. */
#define HAS_POINTS(i, ...)                                                \
    has_points(i, sizeof((double[][2]){__VA_ARGS__}) / sizeof(double[2]), \
               (const double[][2]){__VA_ARGS__})

static void has_points(size_t i, size_t n, const double (*points)[2])
{
    struct prom_series series = answer.series[i];
    double time_s;
    double value;

    for (size_t p = 0; p < n; p++) {
        ck_assert(prom_next(&series, &time_s, &value));
        ck_assert_double_eq(time_s, points[p][0]);
        ck_assert_double_eq(value, points[p][1]);
    }
    ck_assert(!prom_next(&series, &time_s, &value));
}

static const char *label(size_t i, const char *name)
{
    return prom_label(&answer.series[i], name);
}

TEST(cases, a_matrix)
{
    ck_assert_int_eq(parse(RESULT("[{\"metric\":{\"host\":\"a\",\"uuid\":\"u\"},\"values\":"
                                  "[[1700000059.999,\"1.5e9\"],[1700000119.999,\"NaN\"]]}]")),
                     0);
    ck_assert_uint_eq(answer.n, 1);
    ck_assert_uint_eq(answer.n_points, 2);
    ck_assert_str_eq(answer.doubt, "");
    ck_assert_str_eq(label(0, "host"), "a");
    ck_assert_str_eq(label(0, "domain"), "");
    HAS_POINTS(0, {1700000059.999, 1.5e9});
}

/* Times asked for, and those of two points of an answer. */
static const struct {
    struct prom_span times;
    double first_s, second_s;
    bool astray;
} asked[] = {
    {{60000, 3, 300, 0, 0}, 60000, 60300, false},
    {{60000, 3, 300, 0, 0}, 60300, 60600, false},
    {{60000, 3, 300, 0, 0}, 60000, 60040, true},
    {{60000, 3, 300, 0, 0}, 60300, 60300, true},
    {{60000, 3, 300, 0, 0}, 60300, 60000, true},
    {{60000, 3, 300, 0, 0}, 60600, 60900, true},
    {{60000, 3, 300, 0, 0}, 59700, 60000, true},
    {{60059.999, 1, 0, 0, 0}, 60059.999, 60060, false},
    {{60059.999, 1, 0, 0, 0}, 60059.999, 60062, true},
};

TEST_EACH(cases, times_that_were_not_asked_for, 0, COUNT(asked))
{
    char text[256];

    snprintf(text, sizeof(text), RESULT("[{\"metric\":{},\"values\":[[%.3f,\"1\"],[%.3f,\"1\"]]}]"),
             asked[_i].first_s, asked[_i].second_s);
    ck_assert_int_eq(parse_at(text, &asked[_i].times), asked[_i].astray ? -EPROTO : 0);
    ck_assert_int_eq(strstr(error.text, "times that were not asked for") != NULL, asked[_i].astray);
    if (!asked[_i].astray)
        HAS_POINTS(0, {asked[_i].first_s, 1}, {asked[_i].second_s, 1});
}

/* Points are recognised by their key; in labels and in texts it may be anything. */
TEST(cases, several_series_keep_their_own_points)
{
    ck_assert_int_eq(
        parse("{\"status\":\"success\",\"warnings\":[\"\\\"values\\\":[]\"],\"data\":{"
              "\"result\":[{\"values\" : [ ] ,\"metric\":{\"values\":\"values\"}},"
              "{\"metric\":{\"host\":\"\\\\\"},\"values\":[ [ 1 , \"67108864\" ] ,\n"
              "[2.5,\"0.1\"]]},{\"metric\":{},\"values\":[[3,\"12345678901234567\"]]}]}}"),
        0);
    ck_assert_uint_eq(answer.n, 3);
    ck_assert_uint_eq(answer.n_points, 3);
    ck_assert_str_eq(answer.doubt, "warnings: [\"\\\"values\\\":[]\"]");
    has_points(0, 0, NULL);
    ck_assert_str_eq(label(0, "values"), "values");
    ck_assert_str_eq(label(1, "host"), "\\");
    HAS_POINTS(1, {1, 67108864}, {2.5, 0.1});
    HAS_POINTS(2, {3, 12345678901234567.0});
}

static const char *const forged[] = {
    RESULT("[{\"metric\":{},\"values\":0}]"),
    RESULT("[{\"metric\":{},\"values\":1},{\"metric\":{},\"values\":[[1,\"2\"]]}]"),
    RESULT("[{\"metric\":{},\"values\":[[1,\"2\"]]},{\"metric\":{},\"values\":0}]"),
};

TEST_EACH(cases, a_number_in_place_of_points_is_refused, 0, COUNT(forged))
{
    ck_assert_int_eq(parse(forged[_i]), -EPROTO);
}

TEST(cases, a_vector)
{
    ck_assert_int_eq(parse(RESULT("[{\"metric\":{},\"value\":[17,\"3\"]}]")), 0);
    ck_assert_uint_eq(answer.n_points, 1);
    HAS_POINTS(0, {17, 3});
}

static const char *const not_amounts[] = {"NaN", "+Inf",  "-Inf", "",         "1e999", "1 ",
                                          "1,5", "1e3e3", "-",    "infinity", "-3",    "1e30"};

TEST_EACH(cases, what_is_no_amount_is_no_value, 0, COUNT(not_amounts))
{
    const char *text = TEXT_OF(256, RESULT("[{\"metric\":{},\"values\":[[17,\"%s\"],[18,\"2\"]]}]"),
                               not_amounts[_i]);
    struct prom_series series;
    double time_s;
    double value;

    ck_assert_int_eq(parse(text), 0);
    series = answer.series[0];
    ck_assert(prom_next(&series, &time_s, &value));
    ck_assert_msg(time_s == 18 && series.unreadable, "%s", not_amounts[_i]);
}

static const char *const not_answers[] = {
    "",
    "{}",
    "[]",
    "null",
    "{\"status\":\"success\"}",
    "{\"status\":\"great\",\"data\":{\"result\":[]}}",
    "{\"status\":1,\"data\":{\"result\":[]}}",
    RESULT("{}"),
    RESULT("[1]"),
    RESULT("[{\"value\":[1,\"1\"]}]"),
    RESULT("[{\"metric\":{\"a\":1},\"value\":[1,\"1\"]}]"),
    RESULT("[{\"metric\":{},\"value\":[1,1]}]"),
    RESULT("[{\"metric\":{},\"value\":[\"1\",\"1\"]}]"),
    RESULT("[{\"metric\":{},\"value\":[1]}]"),
    RESULT("[{\"metric\":{}}]"),
    RESULT("[{\"metric\":{},\"values\":[[1,\"1\"],[2]]}]"),
    RESULT("[{\"metric\":{},\"values\":[[1,\"1\"],2]}]"),
    RESULT("[{\"metric\":{},\"values\":[[1,\"1\\\"\"]]}]"),
    RESULT("[{\"metric\":{},\"values\":[[NaN,\"1\"]]}]"),
    RESULT("[{\"metric\":{},\"value\":[]}]"),
    RESULT("[{\"metric\":{},\"value\":[[1,\"1\"],[2,\"1\"]]}]"),
    RESULT("[{\"metric\":{},\"value\":[1,\"1\"],\"values\":[]}]"),
    RESULT("[]") "x",
    "{\"status\":\"success\",\"status\":\"success\",\"data\":{\"result\":[]}}",
};

TEST_EACH(cases, another_form_is_refused, 0, COUNT(not_answers))
{
    ck_assert_msg(parse(not_answers[_i]) == -EPROTO, "%s", not_answers[_i]);
    ck_assert_int_eq(error.code, -EPROTO);
    ck_assert_ptr_null(answer.root);
}

TEST(cases, each_shorter_piece_is_refused)
{
    const char *whole = RESULT("[{\"metric\":{\"a\":\"b\"},\"values\":[[1,\"1\"]]}]");

    for (size_t n = 0; n < strlen(whole); n++)
        ck_assert_int_eq(parse(TEXT_OF(256, "%.*s", (int)n, whole)), -EPROTO);
}

TEST(cases, more_than_anything_asked_for_is_refused)
{
    const char *begin = "{\"status\":\"success\",\"data\":{\"result\":[{\"metric\":{},\"values\":[";
    const char *point = "[1,\"1\"]";
    const size_t n = PROM_POINTS_MAX + 1;
    cleanup_free char *text = malloc(strlen(begin) + n * (strlen(point) + 1) + 8);
    char *at = text + sprintf(text, "%s", begin);

    for (size_t i = 0; i < n; i++)
        at += sprintf(at, "%s%s", i ? "," : "", point);
    sprintf(at, "]}]}}");
    ck_assert_int_eq(parse(text), -E2BIG);
}

/* The parser needs a hundred times the size of empty objects, wherever they are. */
TEST_EACH(cases, more_containers_than_an_answer_has_are_refused, 0, 3)
{
    static const char *const pieces[] = {"{}", "[]", "1"};
    const size_t n = 16UL << 20;
    cleanup_free char *text = malloc(n + 200);
    char *at = text + sprintf(text, "{\"status\":\"success\",\"data\":{\"result\":[]},\"x\":[");

    while ((size_t)(at - text) < n)
        at += sprintf(at, "%s,", pieces[_i]);
    sprintf(at, "1]}");
    ck_assert_int_eq(parse(text), -E2BIG);
}

TEST(cases, what_is_within_a_string_is_no_container)
{
    const size_t n = 4UL << 20;
    cleanup_free char *text = malloc(n + 200);
    char *at = text +
               sprintf(text, "{\"status\":\"success\",\"data\":{\"result\":[]},\"x\":\"\\\"");

    memset(at, '{', n);
    sprintf(at + n, "\"}");
    ck_assert_int_eq(parse(text), 0);
}

TEST(cases, an_error_of_the_server_is_its_own_and_fit_to_print)
{
    ck_assert_int_eq(parse("{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"parse "
                           "\\u001b[2J error\"}"),
                     -EIO);
    ck_assert_str_eq(error.text, "bad_data: parse ?[2J error");
    ck_assert_int_eq(parse("{\"status\":\"error\",\"errorType\":7}"), -EIO);
    ck_assert_str_eq(error.text, "error: no reason given");
}

TEST(cases, a_warning_is_kept)
{
    ck_assert_int_eq(parse("{\"status\":\"success\",\"warnings\":[\"a store\\nis gone\",\"b\"],"
                           "\"data\":{\"result\":[]}}"),
                     0);
    ck_assert_str_eq(answer.doubt, "warnings: [\"a store\\nis gone\",\"b\"]");
    ck_assert(answer.partial);
    ck_assert_uint_eq(answer.n, 0);
}

static const struct {
    const char *beside; /* of the data */
    bool partial;
    const char *doubt;
} doubts[] = {
    {"", false, ""},
    {"\"isPartial\":false,", false, ""},
    {"\"isPartial\":true,", true, "isPartial: true"},
    {"\"isPartial\":\"true\",", true, "isPartial: \"true\""},
    {"\"isPartial\":null,", false, ""},
    {"\"is_partial\":true,", true, "is_partial: true"},
    {"\"partialResponse\":false,", false, ""},
    {"\"isPartial\":true,\"warnings\":[\"b is gone\"],", true,
     "isPartial: true, warnings: [\"b is gone\"]"},
    {"\"warnings\":[],", false, ""},
    {"\"warnings\":null,", false, ""},
    {"\"warnings\":[\"\"],", true, "warnings: [\"\"]"},
    {"\"warnings\":[\"\",\"b is gone\",7],", true, "warnings: [\"\",\"b is gone\",7]"},
    {"\"warnings\":\"b is gone\",", true, "warnings: \"b is gone\""},
    {"\"errorType\":\"execution\",\"error\":\"b is gone\",", true, "error: \"b is gone\""},
    {"\"error\":\"\",", false, ""},
    {"\"infos\":[\"PromQL info: metric might not be a counter\"],", false, ""},
};

TEST_EACH(cases, an_answer_is_partial_if_its_server_says_so, 0, COUNT(doubts))
{
    const char *text = TEXT_OF(400, "{\"status\":\"success\",%s\"data\":{\"result\":[]}}",
                               doubts[_i].beside);

    ck_assert_int_eq(parse(text), 0);
    ck_assert_msg(answer.partial == doubts[_i].partial, "%s", text);
    ck_assert_str_eq(answer.doubt, doubts[_i].doubt);
}

TEST(cases, many_warnings_are_kept_as_far_as_there_is_room)
{
    char text[20000];
    char *at = text +
               sprintf(text, "{\"status\":\"success\",\"data\":{\"result\":[]},\"warnings\":[");

    for (unsigned i = 0; i < 1000; i++)
        at += sprintf(at, "\"s%u is gone\",", i);
    sprintf(at, "\"\"]}");
    ck_assert_int_eq(parse(text), 0);
    ck_assert_ptr_eq(strstr(answer.doubt, "warnings: [\"s0 is gone\",\"s1 is gone\","),
                     answer.doubt);
}
