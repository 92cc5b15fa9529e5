// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/agent/agent_message.h"

#include "base/array.h"
#include "base/text/json.h"
#include "guest/agent/agent_tables.h"
#include "guest/domain/ram_config.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* --- before jansson --------------------------------------------------------------------------- */

/* Refuses control characters, because jansson takes a NUL for the end. Limits depth and number of
 * values by the brackets and commas outside of strings; for text that is not JSON, any result will
 * do. */
static int check_shape(const char *line, size_t length, struct error *error)
{
    size_t depth = 0, values = 0;
    bool in_string = false;

    for (size_t i = 0; i < length; i++) {
        char c = line[i];

        if ((unsigned char)c < ' ' && c != '\t' && c != '\r')
            return error_set(error, -EINVAL, "a control character, at byte %zu", i + 1);
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (in_string)
            continue;
        else if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && depth > 0)
            depth--;
        values += !in_string && (c == ',' || c == '{' || c == '[');
        if (depth > AGENT_MESSAGE_DEPTH)
            return error_set(error, -E2BIG, "more than %d levels deep", AGENT_MESSAGE_DEPTH);
        if (values > AGENT_MESSAGE_VALUES)
            return error_set(error, -E2BIG, "more than %d values", AGENT_MESSAGE_VALUES);
    }
    return 0;
}

/* Our message replaces jansson's, which quotes the guest. */
static const char *what_is_wrong(const json_error_t *error)
{
    switch (json_error_code(error)) {
    case json_error_invalid_utf8:
        return "invalid UTF-8";
    case json_error_premature_end_of_input:
        return "ends too early";
    case json_error_end_of_input_expected:
        return "goes on after its end";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "a NUL in a string";
    case json_error_duplicate_key:
        return "a key twice";
    case json_error_numeric_overflow:
        return "a number too large";
    case json_error_out_of_memory:
        return "out of memory";
    default:
        return "not JSON";
    }
}

static int load_line(const char *line, size_t length, json_t **out, struct error *error)
{
    json_error_t failed;

    if (length >= WIRE_LINE_MAX)
        return error_set(error, -E2BIG, "a line of more than %d bytes", WIRE_LINE_MAX);

    int rc = check_shape(line, length, error);

    if (rc < 0)
        return rc;
    *out = json_loadb(line, length, JSON_REJECT_DUPLICATES, &failed);
    if (!*out)
        return error_set(error, -EINVAL, "%s, at byte %d", what_is_wrong(&failed), failed.position);
    return json_is_object(*out) ? 0 : error_set(error, -EINVAL, "not a JSON object");
}

/* --- the messages ----------------------------------------------------------------------------- */

static int read_hello(const json_t *object, uint64_t ram_bytes, struct agent_hello *hello,
                      struct error *error)
{
    const json_t *protocol = json_object_get(object, "protocol");

    if (!json_is_integer(protocol) || json_integer_value(protocol) < 1 ||
        json_integer_value(protocol) > UINT16_MAX)
        return error_set(error, -EINVAL, "hello.protocol: not the number of a protocol");
    hello->protocol = (unsigned)json_integer_value(protocol);
    return agent_fields_read(object, "hello", &agent_hello_fields, ram_bytes, hello, error);
}

/* Checks that a part is not larger than the whole. */
static int check_memory(const struct agent_memory *memory, struct error *error)
{
    const struct agent_field *field = agent_memory_fields.field;

    if (memory->total_bytes != AGENT_UNKNOWN)
        for (size_t i = 1; i < agent_memory_fields.n; i++) {
            uint64_t bytes = *(const uint64_t *)((const char *)memory + field[i].offset);

            if (field[i].value == VALUE_RAM_BYTES && bytes != AGENT_UNKNOWN &&
                bytes > memory->total_bytes)
                return error_set(error, -ERANGE, "report.memory.%s: more than total_bytes",
                                 field[i].key);
        }
    if (memory->swap_total_bytes != AGENT_UNKNOWN && memory->swap_free_bytes != AGENT_UNKNOWN &&
        memory->swap_free_bytes > memory->swap_total_bytes)
        return error_set(error, -ERANGE, "report.memory.swap_free_bytes: more than all swap");
    return 0;
}

static int read_processes(const json_t *report, uint64_t ram_bytes, struct agent_top *out,
                          struct error *error)
{
    const json_t *array = json_object_get(report, "processes");
    size_t n = json_array_size(array);

    if (array && !json_is_array(array))
        return error_set(error, -EINVAL, "report.processes: not an array");
    if (n > WIRE_PROCESSES_MAX)
        return error_set(error, -E2BIG, "report.processes: more than %d", WIRE_PROCESSES_MAX);
    for (size_t i = 0; i < n; i++) {
        const json_t *process = json_array_get(array, i);
        char where[64];

        snprintf(where, sizeof(where), "report.processes[%zu]", i);
        if (!json_is_object(process))
            return error_set(error, -EINVAL, "%s: not an object", where);

        int rc = agent_fields_read(process, where, &agent_process_fields, ram_bytes,
                                   &out->process[i], error);

        if (rc < 0)
            return rc;
    }
    out->n = n;
    return 0;
}

static int read_report(const json_t *object, uint64_t ram_bytes, struct agent_report *out,
                       struct error *error)
{
    int rc = agent_fields_read(object, "report", &agent_report_fields, ram_bytes, out, error);

    out->has_pressure = json_object_get(object, "pressure") != NULL;
    return rc < 0 ? rc : check_memory(&out->memory, error);
}

static int read_stall(const json_t *object, struct agent_stall *stall, struct error *error)
{
    int rc = agent_fields_read(object, "stall", &agent_stall_fields, 0, stall, error);

    if (rc < 0)
        return rc;
    if (strcmp(stall->resource, "memory") != 0 && strcmp(stall->resource, "io") != 0 &&
        strcmp(stall->resource, "cpu") != 0)
        return error_set(error, -EINVAL, "stall.resource: not memory, io or cpu");
    if (strcmp(stall->kind, "some") != 0 && strcmp(stall->kind, "full") != 0)
        return error_set(error, -EINVAL, "stall.kind: not some or full");
    return 0;
}

static int read_error(const json_t *root, char *text, struct error *error)
{
    static const struct agent_field field = {"error", VALUE_TEXT, 0, NULL};
    static const struct agent_fields words = {&field, 1};

    return agent_fields_read(root, "message", &words, 0, text, error);
}

/* Finds which of the four messages it is; none or two give -EINVAL. */
static int find_kind(const json_t *root, enum agent_message_kind *kind, const json_t **content,
                     struct error *error)
{
    static const char *const names[] = {
        [AGENT_MESSAGE_HELLO] = "hello",
        [AGENT_MESSAGE_REPORT] = "report",
        [AGENT_MESSAGE_STALL] = "stall",
        [AGENT_MESSAGE_ERROR] = "error",
    };

    *content = NULL;
    for (unsigned i = 0; i < COUNT(names); i++) {
        const json_t *member = json_object_get(root, names[i]);

        if (member && *content)
            return error_set(error, -EINVAL, "two messages in one line");
        if (!member)
            continue;
        *content = member;
        *kind = i;
    }
    if (!*content)
        return error_set(error, -EINVAL, "neither hello, report, stall nor error");
    if (*kind == AGENT_MESSAGE_ERROR || json_is_object(*content))
        return 0;
    return error_set(error, -EINVAL, "%s: not an object", names[*kind]);
}

static int read_seq(const json_t *root, struct agent_message *message, struct error *error)
{
    static const struct agent_field field = {"seq", VALUE_COUNT, 0, NULL};
    static const struct agent_fields seq = {&field, 1};
    int rc = agent_fields_read(root, "message", &seq, 0, &message->seq, error);

    if (rc < 0)
        return rc;
    if (message->seq == AGENT_UNKNOWN &&
        (message->kind == AGENT_MESSAGE_HELLO || message->kind == AGENT_MESSAGE_REPORT))
        return error_set(error, -EINVAL, "an answer without seq");
    return 0;
}

static int read_content(const json_t *root, const json_t *content, uint64_t ram_bytes,
                        struct agent_message *message, struct error *error)
{
    int rc;

    switch (message->kind) {
    case AGENT_MESSAGE_HELLO:
        return read_hello(content, ram_bytes, &message->hello, error);
    case AGENT_MESSAGE_REPORT:
        rc = read_report(content, ram_bytes, &message->report, error);
        return rc < 0 ? rc : read_processes(content, ram_bytes, &message->top, error);
    case AGENT_MESSAGE_STALL:
        return read_stall(content, &message->stall, error);
    case AGENT_MESSAGE_ERROR:
        return read_error(root, message->error, error);
    }
    return -EINVAL;
}

int agent_message_parse(const char *line, size_t length, uint64_t ram_bytes,
                        struct agent_message *out, struct error *error)
{
    cleanup_json json_t *root = NULL;
    struct agent_message message = {0};
    const json_t *content;
    int rc = load_line(line, length, &root, error);

    if (rc == 0)
        rc = find_kind(root, &message.kind, &content, error);
    if (rc == 0)
        rc = read_seq(root, &message, error);
    if (rc == 0)
        rc = read_content(root, content,
                          ram_bytes < RAM_CONFIG_MAX_BYTES ? ram_bytes : RAM_CONFIG_MAX_BYTES,
                          &message, error);
    if (rc == 0)
        *out = message;
    return rc;
}
