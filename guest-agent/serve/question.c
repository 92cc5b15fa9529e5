// SPDX-License-Identifier: LGPL-2.1-or-later
#include "serve/question.h"

#include "serve/report.h"

#include <string.h>

static enum ask ask_of(const char *name)
{
    if (name && !strcmp(name, "hello"))
        return ASK_HELLO;
    if (name && !strcmp(name, "report"))
        return ASK_REPORT;
    return ASK_UNKNOWN;
}

bool question_parse(struct question *question, const char *line, size_t length)
{
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *seq = json_object_get(object, "seq");
    bool valid = json_is_integer(seq) && json_integer_value(seq) >= 0;

    if (valid) {
        question->seq = json_integer_value(seq);
        question->ask = ask_of(json_string_value(json_object_get(object, "ask")));
    }
    json_decref(object);
    return valid;
}

json_t *question_answer(const struct question *question, const struct fsroot *root,
                        const struct own_set *own_set)
{
    switch (question->ask) {
    case ASK_HELLO:
        return json_pack("{sI so}", "seq", question->seq, "hello", report_hello(root));
    case ASK_REPORT:
        return json_pack("{sI so}", "seq", question->seq, "report", report_now(root, own_set));
    case ASK_UNKNOWN:
    case ASK_KINDS:
        break;
    }
    return json_pack("{sI ss}", "seq", question->seq, "error", "unknown question");
}
