// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/exporter/http.h"

#include "base/clock.h"
#include "programs/exporter/connections.h"
#include "programs/exporter/message.h"
#include "programs/exporter/reply.h"
#include "show/metrics/exposition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Leaves room while a connection that made room is being closed. */
#define MHD_CONNECTIONS (2 * CONNECTIONS_MAX)
/* Limit for a request's headers. A browser sends the cookies of all servers under this name,
 * whatever their port. */
#define CONNECTION_BYTES ((size_t)8 << 10)
#define CONNECTION_BYTES_WEB ((size_t)32 << 10)

struct http {
    struct MHD_Daemon *daemon;
    struct connections *connections;
    const struct prometheus_options *metrics;
    struct web *web; /* NULL: no pages are wanted */
    const struct request_names *names;
    int failing; /* for message_outcome(); used only by the thread */
};

static const char page[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><title>vmwss-exporter</title></head><body>\n"
    "<h1>vmwss-exporter " VMWSS_VERSION "</h1>\n"
    "<p>Working set sizes of this host's virtual machines: <a href=\"/metrics\">metrics</a></p>\n"
    "</body></html>\n";

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status,
                                 const char *text)
{
    return reply_text(connection, &(struct reply){.status = status, .type = REPLY_PLAIN}, text);
}

static enum MHD_Result refuse_method(struct MHD_Connection *connection)
{
    static const struct reply_header headers[] = {{MHD_HTTP_HEADER_ALLOW, "GET, HEAD"}, {0}};

    return reply_text(connection,
                      &(struct reply){MHD_HTTP_METHOD_NOT_ALLOWED, REPLY_PLAIN, headers},
                      "GET or HEAD only\n");
}

static enum MHD_Result send_metrics(struct http *http, struct MHD_Connection *connection)
{
    struct error error = {0};
    char line[sizeof(error.text) + 2];
    char *text;
    size_t size;
    int rc = prometheus_text(http->metrics, &text, &size, &error);

    message_outcome(&http->failing, rc, &error);
    if (rc < 0) {
        snprintf(line, sizeof(line), "%s\n", error.text);
        return send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, line);
    }
    return reply_memory(connection, &(struct reply){MHD_HTTP_OK, EXPOSITION_CONTENT_TYPE, NULL},
                        text, size);
}

static enum MHD_Result send_web(struct http *http, struct MHD_Connection *connection,
                                const char *url)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    size_t size;
    enum MHD_Result result = web_answer(http->web, connection, url, &size);

    connections_allow(http->connections, info ? info->socket_context : NULL, size);
    return result;
}

struct host {
    int n;
    const char *name; /* NULL: of another length than its text, or its key has blanks */
};

/* libmicrohttpd leaves a blank before the colon in the name, where RFC 9112 (5.1) allows none. */
static bool is_host_key(const char *key)
{
    const size_t n = strlen(MHD_HTTP_HEADER_HOST);

    return strncasecmp(key, MHD_HTTP_HEADER_HOST, n) == 0 &&
           key[n + strspn(key + n, " \t")] == '\0';
}

static enum MHD_Result find_host(void *context, enum MHD_ValueKind kind, const char *key,
                                 size_t key_size, const char *value, size_t size)
{
    struct host *host = context;

    (void)kind, (void)key_size;
    if (is_host_key(key)) {
        host->n++;
        host->name = value && strlen(value) == size && !strpbrk(key, " \t") ? value : NULL;
    }
    return MHD_YES;
}

/* Returns 0, or the status of a refusal (RFC 9112, 3.2). HTTP/1.0 has no Host. */
static unsigned check_host(struct http *http, struct MHD_Connection *connection,
                           const char *version)
{
    struct host host = {0};

    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, find_host, &host);
    if (host.n == 0 && strcmp(version, MHD_HTTP_VERSION_1_0) == 0)
        return 0;
    if (host.n != 1 || !host.name)
        return MHD_HTTP_BAD_REQUEST;
    return request_host_is_ours(host.name, http->names) ? 0 : MHD_HTTP_MISDIRECTED_REQUEST;
}

/* The return type is libmicrohttpd's. */
static enum MHD_Result answer_request(void *context, struct MHD_Connection *connection,
                                      const char *url, const char *method, const char *version,
                                      const char *upload, size_t *upload_size, void **state)
{
    struct http *http = context;
    const unsigned refusal = check_host(http, connection, version);

    (void)upload, (void)upload_size, (void)state;
    if (refusal == MHD_HTTP_BAD_REQUEST)
        return send_text(connection, refusal, "a request has one header Host\n");
    if (refusal)
        return send_text(connection, refusal,
                         "this host is not known by the name in the request: use its address, or "
                         "start vmwss-exporter with --web-host NAME\n");
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return refuse_method(connection);
    if (strcmp(url, "/metrics") == 0)
        return send_metrics(http, connection);
    if (http->web && web_has(url))
        return send_web(http, connection, url);
    if (strcmp(url, "/") == 0)
        return reply_text(
            connection, &(struct reply){.status = MHD_HTTP_OK, .type = "text/html; charset=utf-8"},
            page);
    return send_text(connection, MHD_HTTP_NOT_FOUND,
                     http->web ? "there are /, /status and /metrics only\n"
                               : "there is /metrics only\n");
}

static void http_note(void *context, struct MHD_Connection *connection, void **entry,
                      enum MHD_ConnectionNotificationCode code)
{
    struct http *http = context;
    const union MHD_ConnectionInfo *fd = MHD_get_connection_info(connection,
                                                                 MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *address = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

    if (code == MHD_CONNECTION_NOTIFY_CLOSED)
        connections_remove(http->connections, *entry);
    else if (fd)
        *entry = connections_add(http->connections, fd->connect_fd,
                                 address ? address->client_addr : NULL, clock_ns());
}

void http_expire(struct http *http)
{
    connections_expire(http->connections, clock_ns());
}

int http_start(struct http **out, int fd, const struct http_options *options, struct error *error)
{
    struct http *http = calloc(1, sizeof(*http));

    if (!http)
        return error_set(error, -ENOMEM, "out of memory");
    http->metrics = options->metrics;
    http->web = options->web;
    http->names = options->names;
    http->connections = connections_new();
    if (!http->connections) {
        free(http);
        return error_set(error, -ENOMEM, "out of memory");
    }
    http->daemon = MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC, 0, NULL, NULL, answer_request,
        http, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, MHD_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_DEADLINE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        options->web ? CONNECTION_BYTES_WEB : CONNECTION_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
        http_note, http, MHD_OPTION_END);
    if (!http->daemon) {
        connections_free(http->connections);
        free(http);
        return error_set(error, -EIO, "the HTTP server does not start");
    }
    *out = http;
    return 0;
}

void http_stop(struct http *http)
{
    if (!http)
        return;

    /* MHD would shut the socket down, also for systemd if it comes from there: the next process
     * that systemd starts could not listen. */
    MHD_socket fd = MHD_quiesce_daemon(http->daemon);

    MHD_stop_daemon(http->daemon);
    if (fd != MHD_INVALID_SOCKET)
        close(fd);
    connections_free(http->connections);
    free(http);
}
