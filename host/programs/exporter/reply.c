// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/exporter/reply.h"

#include <stdbool.h>
#include <string.h>

static bool add_headers(struct MHD_Response *response, const struct reply_header *headers)
{
    for (; headers && headers->name; headers++)
        if (MHD_add_response_header(response, headers->name, headers->value) != MHD_YES)
            return false;
    return true;
}

static enum MHD_Result send_response(struct MHD_Connection *connection, const struct reply *reply,
                                     struct MHD_Response *response)
{
    const struct reply_header always[] = {
        {MHD_HTTP_HEADER_CONTENT_TYPE, reply->type},
        {"X-Content-Type-Options", "nosniff"},
        {MHD_HTTP_HEADER_CONNECTION, "close"},
        {0},
    };
    enum MHD_Result result = MHD_NO;

    if (!response)
        return MHD_NO;
    if (add_headers(response, always) && add_headers(response, reply->headers))
        result = MHD_queue_response(connection, reply->status, response);
    MHD_destroy_response(response);
    return result;
}

enum MHD_Result reply_text(struct MHD_Connection *connection, const struct reply *reply,
                           const char *text)
{
    return send_response(
        connection, reply,
        MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY));
}

enum MHD_Result reply_memory(struct MHD_Connection *connection, const struct reply *reply,
                             char *text, size_t size)
{
    return send_response(connection, reply,
                         MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE));
}

static void release(void *body)
{
    body_release(body);
}

enum MHD_Result reply_body(struct MHD_Connection *connection, const struct reply *reply,
                           struct body *body)
{
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        body->size, body->text, release, body_hold(body));

    if (!response)
        body_release(body);
    return send_response(connection, reply, response);
}
