// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file question.h  Parses a question of the host, and answers it. */
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

/** Parses a line. Returns false if it cannot be answered: it is not one JSON object, a key appears
 * twice, or the sequence number is missing or negative. */
bool question_parse(struct question *question, const char *line, size_t length);

/** Makes the answer with present data; NULL if out of memory. @p own_set may be NULL. */
json_t *question_answer(const struct question *question, const struct fsroot *root,
                        const struct own_set *own_set);
