// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file error.h  One error object, for messages that a person must read.
 *
 * Functions return 0 or a negative errno. For a message to a person, the caller passes a struct
 * error; the message names the object ("domain web1: ...", "/proc/42/smaps: ...") and the remedy,
 * if there is one. On success the object is untouched; NULL is allowed everywhere.
 */
#pragma once

struct error {
    int code;       /* negative errno; 0 while no error is set */
    char text[640]; /* one line, no newline at its end */
};

/** Sets @p e (if not NULL) to @p code (a negative errno) and the formatted text; returns @p
 * code. */
#define error_set(e, code, ...)                        \
    ({                                                 \
        const int error_code_ = (code);                \
        error_write(e, error_code_, __VA_ARGS__);      \
        error_code_; /* lets analysers see the code */ \
    })

/** Called by error_set(). */
void error_write(struct error *e, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Puts "prefix: " before the text of an error already set; returns its code (0 if @p e is
 * NULL). */
int error_prefix(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
