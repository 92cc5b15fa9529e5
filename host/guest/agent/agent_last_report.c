// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/agent/agent_last_report.h"

#include "base/cleanup.h"
#include "guest/agent/agent_message.h"
#include "guest/agent/agent_report_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes a line that is an answer; takes the content. */
static char *line_of(unsigned seq, const char *key, json_t *content)
{
    json_t *object = json_pack("{si so}", "seq", seq, key, content);
    char *line = object ? json_dumps(object, JSON_COMPACT) : NULL;

    json_decref(object);
    return line;
}

char *agent_last_report_text(const struct agent_hello *hello, const struct agent_report *report,
                             const struct agent_top *top)
{
    cleanup_free char *first = line_of(1, "hello", agent_hello_json(hello));
    cleanup_free char *second = line_of(2, "report", agent_report_json(report, top));
    char *text = NULL;

    if (!first || !second || asprintf(&text, "%s\n%s", first, second) < 0)
        return NULL;
    return text;
}

static int parse(const char *line, size_t length, enum agent_message_kind kind, uint64_t ram_bytes,
                 struct agent_message *message, struct error *error)
{
    int rc = agent_message_parse(line, length, ram_bytes, message, error);

    return rc == 0 && message->kind != kind ? error_set(error, -EINVAL, "not a hello and a report")
                                            : rc;
}

int agent_last_report_parse(const char *text, uint64_t ram_bytes, struct agent_last_report *out,
                            struct error *error)
{
    const char *end = strchr(text, '\n');
    struct agent_message message;
    int rc;

    if (!end)
        return error_set(error, -EINVAL, "not two lines");
    rc = parse(text, (size_t)(end - text), AGENT_MESSAGE_HELLO, ram_bytes, &message, error);
    if (rc < 0)
        return rc;
    out->hello = message.hello;
    rc = parse(end + 1, strlen(end + 1), AGENT_MESSAGE_REPORT, ram_bytes, &message, error);
    if (rc < 0)
        return rc;
    out->report = message.report;
    out->top = message.top;
    return 0;
}
