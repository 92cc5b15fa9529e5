// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_agent_message.c  A guest's line: what is taken is within its ranges, and is taken
 * again when said again. */
#include "base/utf8.h"
#include "fuzz.h"
#include "guest/agent/agent_message.h"
#include "guest/agent/agent_report_json.h"

#include <math.h>
#include <string.h>

#define RAM (1ULL << 30)

static void check_report(const struct agent_report *r)
{
    const uint64_t *memory = (const uint64_t *)&r->memory;

    for (const uint64_t *m = memory; m < &r->memory.swap_total_bytes; m++)
        CLAIM(*m <= RAM || *m == AGENT_UNKNOWN);
    CLAIM(isnan(r->memory_pressure.some.avg10) || r->memory_pressure.some.avg10 <= 100);
    CLAIM(!(r->uptime_s < 0) && !isinf(r->uptime_s));
}

static void check_top(const struct agent_top *top)
{
    CLAIM(top->n <= WIRE_PROCESSES_MAX);
    for (size_t i = 0; i < top->n; i++) {
        CLAIM(memchr(top->process[i].name, 0, AGENT_TEXT));
        CLAIM(utf8_is_printable(top->process[i].name));
    }
}

static void say_again(const struct agent_report *report, const struct agent_top *top)
{
    struct agent_message again;
    struct error error;
    json_t *json = json_pack("{siso}", "seq", 1, "report", agent_report_json(report, top));
    char *line = json_dumps(json, JSON_COMPACT);
    size_t length = strlen(line);

    /* Our own spelling of a number may be longer than the guest's. */
    if (length < WIRE_LINE_MAX) {
        CLAIM(agent_message_parse(line, length, RAM, &again, &error) == 0);
        CLAIM(memcmp(&again.report.memory, &report->memory, sizeof(report->memory)) == 0);
        CLAIM(memcmp(&again.report.paging, &report->paging, sizeof(report->paging)) == 0);
        CLAIM(again.top.n == top->n);
    }
    free(line);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct agent_message message;
    struct error error = {0};
    int rc = agent_message_parse((const char *)data, size, RAM, &message, &error);

    CLAIM((rc < 0) == (error.code < 0) && utf8_is_printable(error.text));
    if (rc == 0 && message.kind == AGENT_MESSAGE_ERROR)
        CLAIM(utf8_is_printable(message.error));
    if (rc == 0 && message.kind == AGENT_MESSAGE_REPORT) {
        check_report(&message.report);
        check_top(&message.top);
        say_again(&message.report, &message.top);
    }
    return 0;
}
