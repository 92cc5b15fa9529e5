// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/exporter/web.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/text/json.h"
#include "history/store.h"
#include "programs/exporter/message.h"
#include "programs/exporter/reply.h"
#include "programs/exporter/status_json.h"
#include "programs/exporter/web_assets.h"
#include "show/html_assets.h"
#include "show/html_page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HTML "text/html; charset=utf-8"
#define JSON "application/json"
#define POLICY_MAX 512

#define POLICY_STATUS                                                                        \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri " \
    "'none'; form-action 'none'; frame-ancestors 'none'"
#define POLICY_NOTHING "default-src 'none'; frame-ancestors 'none'"

struct web {
    const struct web_options *options;
    struct web_page *page;
    /* The data of /status, or why there are none: used only by the server's thread. */
    struct body *status;
    unsigned status_code;
    uint64_t status_ns; /* time of reading; 0: never */
    int failing;        /* for message_outcome() */
};

/* --- headers ---------------------------------------------------------------------------------- */

/* No cache may store it, and no other site may embed it. */
#define HEADERS_OF_ALL                                                               \
    {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"}, {"Referrer-Policy", "no-referrer"}, \
        {"Cross-Origin-Resource-Policy", "same-origin"},                             \
    {                                                                                \
        "X-Frame-Options", "DENY"                                                    \
    }

static enum MHD_Result reply_constant(struct MHD_Connection *connection, const char *type,
                                      const char *text)
{
    static const struct reply_header headers[] = {
        HEADERS_OF_ALL, {"Content-Security-Policy", POLICY_STATUS}, {0}};

    return reply_text(connection, &(struct reply){MHD_HTTP_OK, type, headers}, text);
}

static enum MHD_Result reply_refusal(struct MHD_Connection *connection, unsigned status,
                                     const char *text)
{
    static const struct reply_header headers[] = {
        HEADERS_OF_ALL, {"Content-Security-Policy", POLICY_NOTHING}, {0}};
    char line[sizeof(((struct error *)NULL)->text) + 2];

    snprintf(line, sizeof(line), "%s\n", text);
    return reply_text(connection, &(struct reply){status, REPLY_PLAIN, headers}, line);
}

/* --- the report ------------------------------------------------------------------------------- */

/* Sends the policy in the page, and the parts that only a header can have. */
static enum MHD_Result reply_page(struct MHD_Connection *connection, struct body *body)
{
    char policy[POLICY_MAX];
    char more[POLICY_MAX + 32];
    const struct reply_header headers[] = {HEADERS_OF_ALL, {"Content-Security-Policy", more}, {0}};

    if (html_page_policy(body->text, policy, sizeof(policy)) < 0)
        snprintf(policy, sizeof(policy), "default-src 'none'");
    snprintf(more, sizeof(more), "%s; frame-ancestors 'none'", policy);
    return reply_body(connection, &(struct reply){MHD_HTTP_OK, HTML, headers}, body);
}

/* The browser repeats the request by itself. */
static enum MHD_Result reply_being_made(struct MHD_Connection *connection)
{
    static const struct reply_header headers[] = {
        HEADERS_OF_ALL,
        {"Content-Security-Policy", POLICY_NOTHING},
        {MHD_HTTP_HEADER_RETRY_AFTER, "2"},
        {"Refresh", "2"},
        {0},
    };
    static const char text[] =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><title>vmwss: report</title>"
        "<meta name=\"color-scheme\" content=\"light dark\"></head><body>\n"
        "<p role=\"status\">The report is being made; it will be here in some seconds.</p>\n"
        "<p><a href=\"status\">Guests now</a>, <a href=\"metrics\">metrics</a></p>\n"
        "</body></html>\n";

    return reply_text(connection, &(struct reply){MHD_HTTP_SERVICE_UNAVAILABLE, HTML, headers},
                      text);
}

static enum MHD_Result reply_failure(struct MHD_Connection *connection, const char *why)
{
    static const struct reply_header headers[] = {
        HEADERS_OF_ALL,
        {"Content-Security-Policy", POLICY_NOTHING},
        {MHD_HTTP_HEADER_RETRY_AFTER, "10"}, /* WEB_PAGE_RETRY_S */
        {0},
    };
    char line[sizeof(((struct error *)NULL)->text) + 2];

    snprintf(line, sizeof(line), "%s\n", why);
    return reply_text(connection,
                      &(struct reply){MHD_HTTP_SERVICE_UNAVAILABLE, REPLY_PLAIN, headers}, line);
}

static enum MHD_Result answer_report(struct web *web, struct MHD_Connection *connection,
                                     size_t *size)
{
    struct error error = {0};
    struct body *body;
    enum MHD_Result result;
    int rc = web_page_ask(web->page, clock_ns(), &body, &error);

    if (rc == -EAGAIN)
        return reply_being_made(connection);
    if (rc < 0)
        return reply_failure(connection, error.text);
    *size = body->size;
    result = reply_page(connection, body);
    body_release(body);
    return result;
}

/* --- the guests now --------------------------------------------------------------------------- */

static struct body *error_body(const struct error *error)
{
    json_t *object = json_object();
    char *text;

    json_object_set_new(object, "error", json_text(error->text));
    text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return text ? body_new(text, strlen(text)) : NULL;
}

/* Nothing is read unless a client asks. */
static void renew_status(struct web *web)
{
    struct error error = {0};
    const uint64_t now_ns = clock_ns();
    char *text;
    size_t size;
    int rc;

    if (web->status && now_ns - web->status_ns < WEB_STATUS_FRESH_MS * 1000000ULL)
        return;
    body_release(web->status);
    rc = status_json_text(web->options->database, store_clock_now().wall_s, &text, &size, &error);
    message_outcome(&web->failing, rc, &error);
    web->status = rc == 0 ? body_new(text, size) : error_body(&error);
    web->status_code = rc == 0 ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
    web->status_ns = clock_ns(); /* reading a locked history takes time */
}

static enum MHD_Result answer_status(struct web *web, struct MHD_Connection *connection)
{
    static const struct reply_header headers[] = {
        HEADERS_OF_ALL, {"Content-Security-Policy", POLICY_NOTHING}, {0}};

    renew_status(web);
    if (!web->status)
        return MHD_NO;
    return reply_body(connection, &(struct reply){web->status_code, JSON, headers}, web->status);
}

/* --- all of it -------------------------------------------------------------------------------- */

static const char *header_of(struct MHD_Connection *connection, const char *name)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);

    return value ? value : "";
}

/* Refuses a request from an image or a frame of another site, which could make us produce pages. A
 * link there is followed. */
static bool is_embedded(struct MHD_Connection *connection)
{
    const char *as = header_of(connection, "Sec-Fetch-Dest");

    return strcmp(header_of(connection, "Sec-Fetch-Site"), "cross-site") == 0 &&
           (strcmp(header_of(connection, "Sec-Fetch-Mode"), "navigate") != 0 ||
            (*as && strcmp(as, "document") != 0));
}

bool web_has(const char *path)
{
    static const char *const paths[] = {"/", "/status", "/status.css", "/status.js",
                                        "/status.json"};

    for (size_t i = 0; i < COUNT(paths); i++)
        if (strcmp(path, paths[i]) == 0)
            return true;
    return false;
}

enum MHD_Result web_answer(struct web *web, struct MHD_Connection *connection, const char *path,
                           size_t *size)
{
    *size = 0;
    if (is_embedded(connection))
        return reply_refusal(connection, MHD_HTTP_FORBIDDEN, "not for pages of another site");
    if (strcmp(path, "/status") == 0)
        return reply_constant(connection, HTML, web_status_html);
    if (strcmp(path, "/status.js") == 0)
        return reply_constant(connection, "text/javascript; charset=utf-8", web_status_js);
    if (strcmp(path, "/status.css") == 0)
        return reply_constant(connection, "text/css; charset=utf-8", html_page_css);
    return strcmp(path, "/status.json") == 0 ? answer_status(web, connection)
                                             : answer_report(web, connection, size);
}

int web_start(struct web **out, const struct web_options *options, struct error *error)
{
    struct web *web = calloc(1, sizeof(*web));
    int rc;

    if (!web)
        return error_set(error, -ENOMEM, "out of memory");
    web->options = options;
    rc = web_page_start(&web->page, options->make, options->context, clock_ns, error);
    if (rc < 0) {
        free(web);
        return rc;
    }
    *out = web;
    return 0;
}

void web_stop(struct web *web)
{
    if (!web)
        return;
    web_page_stop(web->page);
    body_release(web->status);
    free(web);
}
