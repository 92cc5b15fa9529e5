// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prom_client.c  See prom_client.h. */
#include "decide/plan/prom_client.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "decide/plan/curl_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define SECRET_MAX 4096
#define CONNECT_TIMEOUT_MS 10000
/* The first wait before a request is repeated, and how often the caller is called meanwhile. */
#define RETRY_FIRST_S 0.25
#define RETRY_TICK_NS 100000000L

struct prom_client {
    const char *url;
    const struct prom_options *options;
    const struct curl_functions *curl;
    CURL *handle;
    char secret[SECRET_MAX];
    struct curl_slist *headers;
    /* The answer being read: */
    FILE *out;
    char *bytes;
    size_t size;
    size_t room; /* how many bytes more it may have */
    bool too_large;
    char limited[160]; /* its header that says that series are missing; "": none */
};

bool prom_is_url(const char *text)
{
    return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

/* --- an answer's bytes ------------------------------------------------------------------------ */

/* Returning less than was passed ends the transfer. */
static size_t take_bytes(char *from, size_t one, size_t n, void *context)
{
    struct prom_client *client = context;

    (void)one;
    client->too_large = n > client->room;
    if (client->too_large)
        return 0;
    client->room -= n;
    return fwrite(from, 1, n, client->out);
}

/* M3 says in a header that a limit has cut the answer off, and in another one whether one has:
 * there, src/query/api/v1/handler/prometheus/handleroptions/header.go. */
static size_t take_header(char *from, size_t one, size_t n, void *context)
{
    static const char *const names[] = {"M3-Results-Limited:", "M3-Returned-Data-Limited:"};
    struct prom_client *client = context;
    char text[sizeof(client->limited)];

    (void)one;
    snprintf(text, sizeof(text), "%.*s", (int)n, from);
    text[strcspn(text, "\r\n")] = '\0';
    for (size_t i = 0; i < COUNT(names); i++) {
        const size_t name = strlen(names[i]);

        if (strncasecmp(text, names[i], name) == 0 &&
            text[name + strspn(text + name, " ")] != '\0' && !strstr(text, "\"Limited\":false"))
            memcpy(client->limited, text, sizeof(text));
    }
    return n;
}

static int on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct prom_options *options = ((struct prom_client *)context)->options;

    (void)a, (void)b, (void)c, (void)d;
    if (options->tick)
        options->tick(options->context);
    return 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Reads the first line of the file, which must be valid in a header. */
static int read_secret(const char *path, const char *what, char secret[SECRET_MAX],
                       struct error *error)
{
    cleanup_file FILE *file = fopen(path, "re");
    size_t n;

    if (!file)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    if (!fgets(secret, SECRET_MAX, file))
        secret[0] = '\0';
    n = strcspn(secret, "\r\n");
    secret[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)secret[i] < ' ' || secret[i] == 0x7f)
            n = 0;
    return n > 0 && n < SECRET_MAX - 1
               ? 0
               : error_set(error, -EINVAL, "%s: its first line must be %s", path, what);
}

static int set_credentials(struct prom_client *client, struct error *error)
{
    const char *user_file = client->options->user_file;
    const char *path = user_file ? user_file : client->options->token_file;
    int rc = path
                 ? read_secret(path, user_file ? "USER:PASSWORD" : "a token", client->secret, error)
                 : 0;

    if (!path || rc < 0)
        return rc;
    if (user_file && !strchr(client->secret, ':'))
        return error_set(error, -EINVAL, "%s: its first line must be USER:PASSWORD", path);
    client->curl->setopt(client->handle, CURLOPT_HTTPAUTH,
                         (long)(user_file ? CURLAUTH_BASIC : CURLAUTH_BEARER));
    client->curl->setopt(client->handle, user_file ? CURLOPT_USERPWD : CURLOPT_XOAUTH2_BEARER,
                         client->secret);
    return 0;
}

/* On a loopback connection compression saves nothing, and costs a server more than half as much as
 * the answer itself (64 ms instead of 41 for 1.5 MB). */
static bool is_loopback(const char *url)
{
    static const char *const hosts[] = {"127.", "localhost:", "localhost/", "[::1]"};
    const char *host = strstr(url, "//");

    for (size_t i = 0; host && i < COUNT(hosts); i++)
        if (strncasecmp(host + 2, hosts[i], strlen(hosts[i])) == 0)
            return true;
    return false;
}

static int set_headers(struct prom_client *client, struct error *error)
{
    for (size_t i = 0; i < client->options->n_headers; i++) {
        struct curl_slist *more = client->curl->slist_append(client->headers,
                                                             client->options->headers[i]);

        if (!more)
            return error_set(error, -ENOMEM, "%s: out of memory", client->url);
        client->headers = more;
    }
    if (client->headers)
        client->curl->setopt(client->handle, CURLOPT_HTTPHEADER, client->headers);
    return 0;
}

static int set_options(struct prom_client *client, struct error *error)
{
    const struct curl_functions *curl = client->curl;
    const struct prom_options *options = client->options;
    CURL *handle = client->handle;

    curl->setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    curl->setopt(handle, CURLOPT_NOSIGNAL, 1L);
    if (!is_loopback(client->url))
        curl->setopt(handle, CURLOPT_ACCEPT_ENCODING, "gzip");
    curl->setopt(handle, CURLOPT_USERAGENT, "vmwss/" VMWSS_VERSION);
    curl->setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl->setopt(handle, CURLOPT_TIMEOUT_MS, (long)(options->timeout_s * 1000));
    curl->setopt(handle, CURLOPT_WRITEFUNCTION, take_bytes);
    curl->setopt(handle, CURLOPT_WRITEDATA, client);
    curl->setopt(handle, CURLOPT_HEADERFUNCTION, take_header);
    curl->setopt(handle, CURLOPT_HEADERDATA, client);
    curl->setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl->setopt(handle, CURLOPT_XFERINFODATA, client);
    curl->setopt(handle, CURLOPT_NOPROGRESS, 0L);
    if (options->cacert)
        curl->setopt(handle, CURLOPT_CAINFO, options->cacert);
    curl->setopt(handle, CURLOPT_SSLCERT, options->cert);
    curl->setopt(handle, CURLOPT_SSLKEY, options->key);
    return set_credentials(client, error);
}

/* Checks the URL before it is parsed: a password may contain any of these characters. */
static bool may_have_credentials(const char *url)
{
    return strpbrk(url, "@?#") != NULL;
}

int prom_open(const char *url, const struct prom_options *options, struct prom_client **out,
              struct error *error)
{
    const struct curl_functions *curl;
    struct prom_client *client;
    int rc;

    if (may_have_credentials(url))
        return error_set(error, -EINVAL,
                         "a URL with credentials can be read by everyone: give it without '@', '?' "
                         "and '#', and put USER:PASSWORD into a file for --user-file, or a token "
                         "into one for --token-file");
    if (!(curl = curl_load(error)))
        return -ENOENT;
    client = calloc(1, sizeof(*client));
    if (!client)
        return error_set(error, -ENOMEM, "%s: out of memory", url);
    *client = (struct prom_client){
        .url = url, .options = options, .curl = curl, .handle = curl->init()};
    rc = client->handle ? set_options(client, error)
                        : error_set(error, -ENOMEM, "%s: no memory", url);
    if (rc == 0)
        rc = set_headers(client, error);
    if (rc < 0)
        prom_close(client);
    else
        *out = client;
    return rc;
}

void prom_close(struct prom_client *client)
{
    if (!client)
        return;
    if (client->handle)
        client->curl->cleanup(client->handle);
    client->curl->slist_free_all(client->headers);
    explicit_bzero(client->secret, sizeof(client->secret));
    free(client->bytes);
    free(client);
}

const char *prom_url(const struct prom_client *client)
{
    return client->url;
}

/* --- errors ----------------------------------------------------------------------------------- */

static const char *remedy_of(CURLcode code)
{
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return ": name the certificate of its authority with --cacert";
    case CURLE_SSL_CERTPROBLEM:
        return ": --cert and --key must be PEM files that belong together";
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return ": if it wants a client certificate, name that with --cert and --key";
    case CURLE_COULDNT_CONNECT:
        return ": does it run, and is the port right?";
    case CURLE_COULDNT_RESOLVE_HOST:
        return ": is the name right?";
    case CURLE_SSL_CONNECT_ERROR:
        return ": does it speak TLS there? If not: http://";
    default:
        return "";
    }
}

static int no_answer(const struct prom_client *client, CURLcode code, struct error *error)
{
    if (client->too_large)
        return error_set(error, -EFBIG,
                         "%s: the answer has more than %lu MiB: it is not what was asked for",
                         client->url, PROM_ANSWER_MAX_BYTES >> 20);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return error_set(error, -ETIMEDOUT,
                         "%s: no answer within %g s: is it overloaded? Wait longer with --timeout, "
                         "or look less far back with --since",
                         client->url, client->options->timeout_s);
    return error_set(error, -ECONNREFUSED, "%s: %s%s", client->url, client->curl->strerror(code),
                     remedy_of(code));
}

static int redirected(const struct prom_client *client, long status, struct error *error)
{
    char *to = NULL;
    char text[200];

    client->curl->getinfo(client->handle, CURLINFO_REDIRECT_URL, &to);
    return error_set(error, -EIO,
                     "%s: it answers %ld, a redirection to %s: give the URL where the "
                     "API is",
                     client->url, status,
                     utf8_printable_copy(text, sizeof(text), to ? to : "nowhere"));
}

/* Writes the server's own words: those of the API, or the first line of a text that is no page.
 * Returns false if there are none. */
static bool read_words(const struct prom_client *client, char *words, size_t size)
{
    struct prom_answer answer;
    struct error own = {0};
    char text[200] = "";

    memcpy(text, client->bytes ? client->bytes : "", smaller(client->size, sizeof(text) - 1));
    text[strcspn(text, "\r\n")] = '\0';
    utf8_printable_copy(words, size, text);
    if (prom_answer_parse(client->bytes, client->size, &answer, &own) == 0)
        prom_answer_free(&answer);
    if (own.code == -EIO)
        snprintf(words, size, "%s", own.text);
    return own.code == -EIO || (text[0] != '\0' && text[0] != '<' && text[0] != '{');
}

static int refused(const struct prom_client *client, long status, struct error *error)
{
    const struct prom_options *options = client->options;
    const char *file = options->user_file ? options->user_file : options->token_file;
    char words[220] = "";
    char said[250] = "";

    if (read_words(client, words, sizeof(words)))
        snprintf(said, sizeof(said), " (it says: %s)", words);
    if (file)
        return error_set(error, -EACCES, "%s: it answers %ld, and does not accept what is in %s%s",
                         client->url, status, file, said);
    return error_set(error, -EACCES,
                     "%s: it answers %ld: name a password or a token with "
                     "--user-file or --token-file%s",
                     client->url, status, said);
}

/* 422 is an error while the query was executed, in most cases a limit: Prometheus
 * (web/api/v1/api.go: errorExec) and Thanos if it "would load too many samples", Mimir for its
 * err-mimir-max-..., VictoriaMetrics for -search.max... */
static int status_error(const struct prom_client *client, long status, struct error *error)
{
    const int rc = status == 422 ? -E2BIG : -EIO;
    char words[220];

    if (read_words(client, words, sizeof(words)))
        return error_set(error, rc, "%s: it answers %ld, %s", client->url, status, words);
    return error_set(error, rc, "%s: it answers %ld: %s", client->url, status,
                     status == 404 ? "give the URL up to what stands before /api/v1"
                                   : "its own log says why");
}

static int check_status(const struct prom_client *client, struct error *error)
{
    long status = 0;

    client->curl->getinfo(client->handle, CURLINFO_RESPONSE_CODE, &status);
    if (status == 200)
        return 0;
    if (status >= 300 && status < 400)
        return redirected(client, status, error);
    if (status == 401 || status == 403 || status == 407)
        return refused(client, status, error);
    return status_error(client, status, error);
}

/* --- asking ----------------------------------------------------------------------------------- */

/* Returns the whole URL; NULL if out of memory. */
static char *make_url(const struct prom_client *client, const char *query,
                      const struct prom_times *times)
{
    char *escaped = client->curl->escape(client->handle, query, 0);
    size_t n = strlen(client->url);
    char at[128];
    char *url = NULL;

    while (n > 0 && client->url[n - 1] == '/')
        n--;
    if (times->step_s == 0)
        snprintf(at, sizeof(at), "query?time=%.3f", times->from_s);
    else
        snprintf(at, sizeof(at), "query_range?start=%.3f&end=%.3f&step=%d", times->from_s,
                 times->to_s, times->step_s);
    /* Without nocache VictoriaMetrics moves the times to multiples of the step; others ignore it.
     */
    if (escaped &&
        asprintf(&url, "%.*s/api/v1/%s&nocache=1&query=%s", (int)n, client->url, at, escaped) < 0)
        url = NULL;
    client->curl->free(escaped);
    return url;
}

/* A gateway that restarts, and a limit of requests, pass. */
static bool may_pass(const struct prom_client *client)
{
    long status = 0;

    client->curl->getinfo(client->handle, CURLINFO_RESPONSE_CODE, &status);
    return status == 429 || status == 502 || status == 503;
}

/* Waits, and lets the caller show that. */
static void wait_s(const struct prom_options *options, double for_s)
{
    const double until_s = clock_s(CLOCK_MONOTONIC) + for_s;

    while (clock_s(CLOCK_MONOTONIC) < until_s) {
        nanosleep(&(struct timespec){.tv_nsec = RETRY_TICK_NS}, NULL);
        if (options->tick)
            options->tick(options->context);
    }
}

static CURLcode perform_once(struct prom_client *client)
{
    CURLcode code;

    free(client->bytes);
    client->bytes = NULL;
    client->limited[0] = '\0';
    client->room = PROM_ANSWER_MAX_BYTES;
    client->out = open_memstream(&client->bytes, &client->size);
    if (!client->out)
        return CURLE_OUT_OF_MEMORY;
    code = client->curl->perform(client->handle);
    return fclose(client->out) == 0 ? code : CURLE_OUT_OF_MEMORY;
}

/* Performs the request; again, after waits that double, while it is refused for a time: within
 * the time for one answer. */
static CURLcode perform(struct prom_client *client)
{
    const double until_s = clock_s(CLOCK_MONOTONIC) + client->options->timeout_s;
    double pause_s = RETRY_FIRST_S;
    CURLcode code;

    for (;;) {
        code = perform_once(client);
        if (code != CURLE_OK || !may_pass(client) || clock_s(CLOCK_MONOTONIC) + pause_s >= until_s)
            return code;
        wait_s(client->options, pause_s);
        pause_s *= 2;
    }
}

static int ask(struct prom_client *client, const char *url, struct prom_answer *answer,
               struct error *error)
{
    CURLcode code;
    int rc;

    client->curl->setopt(client->handle, CURLOPT_URL, url);
    code = perform(client);
    if (code != CURLE_OK)
        return no_answer(client, code, error);
    rc = check_status(client, error);
    if (rc < 0)
        return rc;
    rc = prom_answer_parse(client->bytes, client->size, answer, error);
    if (rc == -EPROTO)
        return error_set(error, rc,
                         "%s: what came is not an answer of the Prometheus HTTP API: give the URL "
                         "up to what stands before /api/v1",
                         client->url);
    if (rc < 0)
        error_prefix(error, "%s", client->url);
    else if (client->limited[0] != '\0')
        prom_answer_doubt(answer, client->limited);
    return rc;
}

int prom_query(struct prom_client *client, const char *query, const struct prom_times *times,
               struct prom_answer *answer, struct error *error)
{
    cleanup_free char *url = make_url(client, query, times);

    int rc = url ? ask(client, url, answer, error)
                 : error_set(error, -ENOMEM, "%s: out of memory", client->url);

    answer->times = times;
    return rc;
}
