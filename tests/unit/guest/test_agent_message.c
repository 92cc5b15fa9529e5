// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_agent_message.c  The parser of a guest's bytes: what it takes whole, and what it
 * refuses whole. */
#include "fixture.h"
#include "guest/agent/agent_last_report.h"
#include "guest/agent/agent_message.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RAM (1ULL << 30)

static struct agent_message message;
static struct error error;

static int parse_bytes(const char *line, size_t length)
{
    memset(&message, 0x5a, sizeof(message));
    error = (struct error){0};
    return agent_message_parse(line, length, RAM, &message, &error);
}

static int parse(const char *line)
{
    return parse_bytes(line, strlen(line));
}

/* Refused with that code and those words, and nothing of it let out. */
static void refuses(const char *line, size_t length, int code, const char *words)
{
    static struct agent_message untouched;

    memset(&untouched, 0x5a, sizeof(untouched));
    ck_assert_msg(parse_bytes(line, length) == code, "%s: %d %s", words, error.code, error.text);
    ck_assert_msg(strstr(error.text, words) != NULL, "'%s', not '%s'", error.text, words);
    ck_assert_mem_eq(&message, &untouched, sizeof(message));
}

#define REFUSES(line, code, words) refuses(line, sizeof(line) - 1, code, words)

TEST(plain, hello_is_read)
{
    ck_assert_int_eq(
        parse("{\"seq\":1,\"hello\":{\"protocol\":1,\"agent\":\"0.1.0\",\"kernel\":\"6.1.0\","
              "\"boot_id\":\"b\",\"page_bytes\":4096,\"novel\":[1,{\"x\":null}]}}"),
        0);
    ck_assert_int_eq(message.kind, AGENT_MESSAGE_HELLO);
    ck_assert_uint_eq(message.seq, 1);
    ck_assert_uint_eq(message.hello.protocol, 1);
    ck_assert_str_eq(message.hello.agent, "0.1.0");
    ck_assert_str_eq(message.hello.boot_id, "b");
    ck_assert_uint_eq(message.hello.page_bytes, 4096);
}

TEST(plain, report_is_read)
{
    ck_assert_int_eq(
        parse(
            "{\"seq\":2,\"report\":{\"uptime_s\":812.34,"
            "\"memory\":{\"total_bytes\":1000000,\"free_bytes\":1,\"swap_total_bytes\":99},"
            "\"pressure\":{\"memory\":{\"some\":{\"avg10\":1.5,\"avg60\":0,\"total_us\":7},"
            "\"full\":{\"avg10\":100}},\"cpu\":{\"some\":{\"total_us\":8}}},"
            "\"paging\":{\"swap_in_pages\":9223372036854775807,\"oom_kills\":0},"
            "\"processes\":[{\"pid\":1,\"name\":\"ré dis\",\"rss_bytes\":3000000000},{}],"
            "\"working_set\":{\"anon_bytes\":5,\"window_s\":10,\"age_s\":2.5,\"how\":\"clear_refs\"}}}"),
        0);
    const struct agent_report *r = &message.report;
    const struct agent_top *top = &message.top;

    ck_assert_int_eq(message.kind, AGENT_MESSAGE_REPORT);
    ck_assert_double_eq(r->uptime_s, 812.34);
    ck_assert_uint_eq(r->memory.total_bytes, 1000000);
    ck_assert_uint_eq(r->memory.available_bytes, AGENT_UNKNOWN);
    ck_assert_uint_eq(r->memory.swap_total_bytes, 99);
    ck_assert(r->has_pressure);
    ck_assert_double_eq(r->memory_pressure.some.avg10, 1.5);
    ck_assert(isnan(r->memory_pressure.some.avg300));
    ck_assert_double_eq(r->memory_pressure.full.avg10, 100);
    ck_assert_uint_eq(r->memory_pressure.full.total_us, AGENT_UNKNOWN);
    ck_assert_uint_eq(r->cpu_pressure.some.total_us, 8);
    ck_assert(isnan(r->io_pressure.some.avg10));
    ck_assert_uint_eq(r->paging.swap_in_pages, INT64_MAX);
    ck_assert_uint_eq(r->paging.oom_kills, 0);
    ck_assert_uint_eq(r->paging.major_faults, AGENT_UNKNOWN);
    ck_assert_uint_eq(top->n, 2);
    ck_assert_str_eq(top->process[0].name, "ré dis");
    ck_assert_uint_eq(top->process[0].rss_bytes, 3000000000); /* mapped three times */
    ck_assert_uint_eq(top->process[1].pid, AGENT_UNKNOWN);
    ck_assert_uint_eq(r->working_set.anon_bytes, 5);
    ck_assert_double_eq(r->working_set.window_s, 10);
    ck_assert_double_eq(r->working_set.age_s, 2.5);
    ck_assert_str_eq(r->working_set.how, "clear_refs");
}

TEST(plain, what_is_not_told_is_unknown)
{
    ck_assert_zero(parse("{\"seq\":2,\"report\":{\"pressure_off\":\"psi=0\"}}"));
    ck_assert(isnan(message.report.uptime_s));
    ck_assert_uint_eq(message.report.memory.total_bytes, AGENT_UNKNOWN);
    ck_assert(!message.report.has_pressure);
    ck_assert_str_eq(message.report.pressure_off, "psi=0");
    ck_assert_uint_eq(message.top.n, 0);
    ck_assert(isnan(message.report.working_set.window_s));
}

TEST(plain, hidden_processes_are_read)
{
    struct agent_last_report last_report;
    struct agent_hello hello = {.protocol = 1, .page_bytes = 4096};
    char *text;

    ck_assert_zero(parse("{\"seq\":2,\"report\":{}}"));
    ck_assert(!message.report.processes_hidden);
    ck_assert_zero(parse("{\"seq\":2,\"report\":{\"processes_hidden\":false}}"));
    ck_assert(!message.report.processes_hidden);
    ck_assert_zero(parse("{\"seq\":2,\"report\":{\"processes_hidden\":true,"
                         "\"working_set\":{\"window_s\":9,\"unread\":3}}}"));
    ck_assert(message.report.processes_hidden);
    text = agent_last_report_text(&hello, &message.report, &message.top);
    ck_assert_zero(agent_last_report_parse(text, RAM, &last_report, &error));
    ck_assert(last_report.report.processes_hidden);
    ck_assert_uint_eq(last_report.report.working_set.unread, 3);
    free(text);
    REFUSES("{\"seq\":2,\"report\":{\"processes_hidden\":1}}", -EINVAL,
            "report.processes_hidden: neither true nor false");
}

TEST(plain, stall_and_error_are_read)
{
    ck_assert_zero(parse("{\"stall\":{\"resource\":\"memory\",\"kind\":\"some\",\"threshold_us\":"
                         "150000,\"window_us\":1000000,\"uptime_s\":813.01,\"total_us\":4}}"));
    ck_assert_int_eq(message.kind, AGENT_MESSAGE_STALL);
    ck_assert_uint_eq(message.seq, AGENT_UNKNOWN);
    ck_assert_str_eq(message.stall.resource, "memory");
    ck_assert_uint_eq(message.stall.threshold_us, 150000);
    ck_assert_zero(parse("{\"seq\":3,\"error\":\"no such question\"}"));
    ck_assert_int_eq(message.kind, AGENT_MESSAGE_ERROR);
    ck_assert_str_eq(message.error, "no such question");
    ck_assert_zero(parse("{\"error\":\"what?\"}"));
    REFUSES("{\"stall\":{\"resource\":\"disk\",\"kind\":\"some\"}}", -EINVAL, "stall.resource");
    REFUSES("{\"stall\":{\"resource\":\"io\",\"kind\":\"all\"}}", -EINVAL, "stall.kind");
}

TEST(plain, hostile_json_is_refused)
{
    REFUSES("", -EINVAL, "ends too early");
    REFUSES("{\"seq\":1", -EINVAL, "ends too early");
    REFUSES("[1]", -EINVAL, "not a JSON object");
    REFUSES("{\"seq\":1,\"seq\":2,\"error\":\"x\"}", -EINVAL, "a key twice");
    REFUSES("{\"seq\":1,\"report\":{\"uptime_s\":1e999}}", -EINVAL, "a number too large");
    REFUSES("{\"seq\":1,\"report\":{\"uptime_s\":99999999999999999999}}", -EINVAL,
            "a number too large");
    REFUSES("{\"seq\":1,\"report\":{\"uptime_s\":NaN}}", -EINVAL, "not JSON");
    REFUSES("{\"seq\":1,\"error\":\"a\\u0000b\"}", -EINVAL, "a NUL in a string");
    REFUSES("{\"seq\":1,\"error\":\"a\0b\"}", -EINVAL, "a control character, at byte 20");
    REFUSES("{}\0", -EINVAL, "a control character, at byte 3");
    REFUSES("{\"seq\":1,\"error\":\"\xff\xfe\"}", -EINVAL, "invalid UTF-8");
    REFUSES("{\"seq\":1,\"error\":\"\xc0\xaf\"}", -EINVAL, "invalid UTF-8"); /* overlong */
    REFUSES("{\"seq\":1,\"error\":\"\\ud800\"}", -EINVAL, "not JSON");
    REFUSES("{\"seq\":1,\"error\":\"x\"}{}", -EINVAL, "goes on after its end");
}

/* jansson's own messages quote what they read; ours must not. */
TEST(plain, nothing_of_the_guest_gets_into_an_error)
{
    REFUSES("{\"seq\":1,[2Jevil", -EINVAL, "not JSON");
    ck_assert_ptr_null(strstr(error.text, "evil"));
    REFUSES("{\"seq\":1,\x1b[2Jevil", -EINVAL, "a control character");
    ck_assert_ptr_null(strstr(error.text, "evil"));
    ck_assert_ptr_null(strchr(error.text, '\x1b'));
}

TEST(plain, text_is_printable_or_refused)
{
    REFUSES("{\"seq\":1,\"error\":\"\\u001b[2J\"}", -EINVAL, "message.error: has control");
    REFUSES("{\"seq\":1,\"error\":\"\\u007f\"}", -EINVAL, "control");
    REFUSES("{\"seq\":1,\"error\":\"\\u009b\"}", -EINVAL, "control");
    REFUSES("{\"seq\":1,\"error\":\"\\u202e\"}", -EINVAL, "control");
    REFUSES("{\"seq\":1,\"error\":\"\\u2028\"}", -EINVAL, "control");
    ck_assert_zero(parse("{\"seq\":1,\"error\":\"ä\\ud83d\\ude00\"}"));
    REFUSES("{\"seq\":2,\"report\":{\"processes\":[{},{\"name\":\"a\\nb\"}]}}", -EINVAL,
            "report.processes[1].name: has control");
}

TEST(plain, text_has_an_end)
{
    char line[512];
    char text[256];

    memset(text, 'x', sizeof(text));
    snprintf(line, sizeof(line), "{\"seq\":1,\"error\":\"%.*s\"}", WIRE_TEXT_MAX, text);
    ck_assert_zero(parse(line));
    ck_assert_uint_eq(strlen(message.error), WIRE_TEXT_MAX);
    snprintf(line, sizeof(line), "{\"seq\":1,\"error\":\"%.*s\"}", WIRE_TEXT_MAX + 1, text);
    refuses(line, strlen(line), -ERANGE, "longer than 128");
}

TEST(plain, forms_that_are_no_message)
{
    REFUSES("{}", -EINVAL, "neither");
    REFUSES("{\"seq\":1,\"hello\":{\"protocol\":1},\"error\":\"x\"}", -EINVAL, "two messages");
    REFUSES("{\"hello\":{\"protocol\":1}}", -EINVAL, "without seq");
    REFUSES("{\"seq\":-1,\"error\":\"x\"}", -ERANGE, "message.seq: less than 0");
    REFUSES("{\"seq\":1.0,\"error\":\"x\"}", -EINVAL, "message.seq: not a whole number");
    REFUSES("{\"seq\":1,\"report\":7}", -EINVAL, "report: not an object");
    REFUSES("{\"seq\":1,\"error\":7}", -EINVAL, "message.error: not text");
    REFUSES("{\"seq\":1,\"hello\":{}}", -EINVAL, "hello.protocol");
    REFUSES("{\"seq\":1,\"hello\":{\"protocol\":0}}", -EINVAL, "hello.protocol");
    REFUSES("{\"seq\":1,\"report\":{\"memory\":[]}}", -EINVAL, "report.memory: not an object");
    REFUSES("{\"seq\":1,\"report\":{\"processes\":{}}}", -EINVAL, "not an array");
    REFUSES("{\"seq\":1,\"report\":{\"processes\":[1]}}", -EINVAL, "processes[0]: not an object");
    REFUSES("{\"seq\":1,\"report\":{\"processes\":[{},{},{},{},{},{},{},{},{}]}}", -E2BIG,
            "more than 8");
    REFUSES("{\"seq\":1,\"report\":{\"pressure\":{\"io\":{\"full\":3}}}}", -EINVAL,
            "report.pressure.io.full: not an object");
}

TEST(plain, numbers_that_cannot_be)
{
    REFUSES("{\"seq\":1,\"report\":{\"memory\":{\"total_bytes\":1073741825}}}", -ERANGE,
            "report.memory.total_bytes: 1073741825 bytes, but the domain's configuration has "
            "1073741824");
    REFUSES("{\"seq\":1,\"report\":{\"memory\":{\"anon_bytes\":1073741825}}}", -ERANGE,
            "anon_bytes");
    REFUSES("{\"seq\":1,\"report\":{\"memory\":{\"total_bytes\":9,\"available_bytes\":10}}}",
            -ERANGE, "available_bytes: more than total_bytes");
    REFUSES("{\"seq\":1,\"report\":{\"memory\":{\"swap_total_bytes\":9,\"swap_free_bytes\":10}}}",
            -ERANGE, "swap_free_bytes");
    REFUSES("{\"seq\":1,\"report\":{\"memory\":{\"free_bytes\":-1}}}", -ERANGE, "less than 0");
    REFUSES("{\"seq\":1,\"report\":{\"memory\":{\"free_bytes\":1e3}}}", -EINVAL, "whole number");
    REFUSES("{\"seq\":1,\"report\":{\"memory\":{\"swap_free_bytes\":9000000000000000}}}", -ERANGE,
            "more than");
    REFUSES("{\"seq\":1,\"report\":{\"uptime_s\":-0.1}}", -ERANGE, "uptime_s");
    REFUSES("{\"seq\":1,\"report\":{\"uptime_s\":\"1\"}}", -EINVAL, "not a number");
    REFUSES("{\"seq\":1,\"report\":{\"pressure\":{\"io\":{\"full\":{\"avg10\":100.1}}}}}", -ERANGE,
            "report.pressure.io.full.avg10: not within 0 and 100");
    REFUSES("{\"seq\":1,\"report\":{\"processes\":[{\"pid\":0}]}}", -ERANGE, "less than 1");
    REFUSES("{\"seq\":1,\"report\":{\"processes\":[{\"pss_bytes\":1073741825}]}}", -ERANGE, "pss");
    REFUSES("{\"seq\":1,\"report\":{\"paging\":{\"oom_kills\":null}}}", -EINVAL, "oom_kills");
}

/* The sign would be printed. */
TEST(plain, minus_zero_is_zero)
{
    ck_assert_zero(parse("{\"seq\":1,\"report\":{\"uptime_s\":-0.0,\"paging\":{"
                         "\"oom_kills\":-0}}}"));
    ck_assert_double_eq(message.report.uptime_s, 0);
    ck_assert(!signbit(message.report.uptime_s));
    ck_assert_uint_eq(message.report.paging.oom_kills, 0);
}

/* @p n brackets deep. */
static void deep(char *line, size_t n)
{
    size_t at = (size_t)sprintf(line, "{\"seq\":1,\"error\":\"]]\\\"[[\",\"x\":");

    memset(line + at, '[', n);
    memset(line + at + n, ']', n);
    strcpy(line + at + 2 * n, "}");
}

TEST(plain, depth_is_bounded)
{
    static char line[WIRE_LINE_MAX];

    deep(line, AGENT_MESSAGE_DEPTH - 1);
    ck_assert_zero(parse(line));
    deep(line, AGENT_MESSAGE_DEPTH);
    refuses(line, strlen(line), -E2BIG, "levels deep");
    deep(line, 8000);
    refuses(line, strlen(line), -E2BIG, "levels deep");
}

TEST(plain, length_and_number_are_bounded)
{
    static char line[WIRE_LINE_MAX + 1];
    size_t at = (size_t)sprintf(line, "{\"seq\":1,\"error\":\"x\",\"y\":[0");

    memset(line + at, ' ', WIRE_LINE_MAX - at);
    memcpy(line + WIRE_LINE_MAX - 3, "]}", 2);
    ck_assert_zero(parse_bytes(line, WIRE_LINE_MAX - 1));
    refuses(line, WIRE_LINE_MAX, -E2BIG, "a line of more than 16384 bytes");
    for (size_t i = 0; i < AGENT_MESSAGE_VALUES; i++)
        memcpy(line + at + 2 * i, ",0", 2);
    refuses(line, WIRE_LINE_MAX - 1, -E2BIG, "more than 512 values");
}

TEST(plain, unknown_ram_is_no_limit_but_sense)
{
    const char *line = "{\"seq\":1,\"report\":{\"memory\":{\"total_bytes\":1125899906842624}}}";
    const char *more = "{\"seq\":1,\"report\":{\"memory\":{\"total_bytes\":1125899906842625}}}";

    ck_assert_zero(agent_message_parse(line, strlen(line), AGENT_UNKNOWN, &message, &error));
    ck_assert_int_eq(agent_message_parse(more, strlen(more), AGENT_UNKNOWN, &message, &error),
                     -ERANGE);
}

/* A stored report reads as it was sent. */
TEST(plain, told_is_read_again)
{
    struct agent_last_report last_report;
    struct agent_hello hello;
    char *text;

    ck_assert_zero(parse("{\"seq\":1,\"hello\":{\"protocol\":1,\"agent\":\"0.1.0\",\"kernel\":"
                         "\"6.1.0\",\"boot_id\":\"b\",\"page_bytes\":4096}}"));
    hello = message.hello;
    ck_assert_int_eq(
        parse("{\"seq\":2,\"report\":{\"uptime_s\":81.5,\"memory\":{\"total_bytes\":4096},"
              "\"pressure\":{\"memory\":{\"some\":{\"avg10\":0.5,\"total_us\":7}}},"
              "\"working_set\":{\"anon_bytes\":1024,\"window_s\":3.5,\"how\":\"clear_refs\"},"
              "\"processes\":[{\"pid\":1,\"name\":\"a \\\"b\\\" c\",\"pss_bytes\":2048}]}}"),
        0);
    text = agent_last_report_text(&hello, &message.report, &message.top);
    ck_assert_ptr_nonnull(text);
    ck_assert_zero(agent_last_report_parse(text, RAM, &last_report, &error));
    ck_assert_str_eq(last_report.hello.kernel, "6.1.0");
    ck_assert_double_eq(last_report.report.uptime_s, 81.5);
    ck_assert_uint_eq(last_report.report.memory.total_bytes, 4096);
    ck_assert_uint_eq(last_report.report.memory.free_bytes, AGENT_UNKNOWN);
    ck_assert(last_report.report.has_pressure);
    ck_assert_uint_eq(last_report.report.memory_pressure.some.total_us, 7);
    ck_assert_double_eq(last_report.report.working_set.window_s, 3.5);
    ck_assert_uint_eq(last_report.top.n, 1);
    ck_assert_str_eq(last_report.top.process[0].name, "a \"b\" c");
    ck_assert_int_eq(agent_last_report_parse(text, 4095, &last_report, &error), -ERANGE);
    *strchr(text, '\n') = ' ';
    ck_assert_int_eq(agent_last_report_parse(text, RAM, &last_report, &error), -EINVAL);
    free(text);
    ck_assert_int_eq(
        agent_last_report_parse("{\"seq\":1,\"error\":\"x\"}\n{}", RAM, &last_report, &error),
        -EINVAL);
}
