// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file reply.h  Answers to a request, and the common headers of all answers. */
#pragma once

#include "programs/exporter/body.h"

#include <microhttpd.h>

#define REPLY_PLAIN "text/plain; charset=utf-8"

struct reply_header {
    const char *name, *value;
};

struct reply {
    unsigned status;
    const char *type; /* Content-Type */
    /* Additional headers, terminated by one without a name; NULL: none. They must not contain any
     * part of a request. */
    const struct reply_header *headers;
};

/** Sends a copy of @p text. MHD_NO, which closes the connection: out of memory. */
enum MHD_Result reply_text(struct MHD_Connection *connection, const struct reply *reply,
                           const char *text);

/** Sends @p text, and frees it. */
enum MHD_Result reply_memory(struct MHD_Connection *connection, const struct reply *reply,
                             char *text, size_t size);

/** Sends the body, which is held until the last of it is sent. */
enum MHD_Result reply_body(struct MHD_Connection *connection, const struct reply *reply,
                           struct body *body);
