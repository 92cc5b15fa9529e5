// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file question.h  A request of the host, and the answer to it. */
#pragma once

#include "base/fsroot.h"
#include "serve/own_set.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ask {
    ASK_HELLO,
    ASK_UNKNOWN,
    ASK_REPORT,
    ASK_KINDS,
};

struct question {
    enum ask ask;
    json_int_t seq;
};

/** Parses a line. False when it is no question that could be answered: not one JSON object, a key
 * twice, no sequence number, or a negative one. */
bool question_parse(struct question *question, const char *line, size_t length);

/** The answer, as of now; NULL when out of memory. @p own_set may be NULL. */
json_t *question_answer(const struct question *question, const struct fsroot *root,
                        const struct own_set *own_set);
