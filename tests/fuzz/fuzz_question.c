// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_question.c  The agent's side of the wire: lines out of a stream, and a question out
 * of a line. */
#include "base/wire/inbox.h"
#include "fuzz.h"
#include "no_report.h"
#include "serve/question.h"
#include "stream.h"

static void take(struct inbox *inbox)
{
    struct question question;
    const char *line;
    size_t length;

    while (inbox_line(inbox, &line, &length)) {
        CLAIM(length < WIRE_LINE_MAX);
        if (question_parse(&question, line, length)) {
            CLAIM(question.seq >= 0);
            json_decref(question_answer(&question, NULL, NULL));
        }
    }
    CLAIM(inbox->length <= sizeof(inbox->text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct inbox inbox;

    inbox_reset(&inbox);
    stream_begin(0);
    for (size_t at = 0; at < size; at += 4096) { /* as a pipe gives it */
        stream_put(data + at, size - at < 4096 ? size - at : 4096);
        CLAIM(inbox_fill(&inbox, STREAM_FD) > 0);
        take(&inbox);
    }
    return 0;
}
