// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/prom_client.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* Its macros would check the arguments of functions that are called by another name. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

/* Otherwise setopt and getinfo are macros, which have no address. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

#define SECRET_MAX 4096
#define CONNECT_TIMEOUT_MS 10000
/* The first wait before a request is repeated, and how often the caller is called meanwhile. */
#define RETRY_FIRST_S 0.25
#define RETRY_TICK_NS 100000000ULL

/* The functions of libcurl that are called, loaded when a URL is to be read: libcurl brings some
 * thirty libraries with it that no other command needs. */
#define CURL_FUNCTIONS(ENTRY)           \
    ENTRY(init, curl_easy_init)         \
    ENTRY(setopt, curl_easy_setopt)     \
    ENTRY(perform, curl_easy_perform)   \
    ENTRY(getinfo, curl_easy_getinfo)   \
    ENTRY(header, curl_easy_header)     \
    ENTRY(cleanup, curl_easy_cleanup)   \
    ENTRY(strerror, curl_easy_strerror) \
    ENTRY(escape, curl_easy_escape)     \
    ENTRY(free, curl_free)

#define CURL_MEMBER(name, function) __typeof__ (&(function))(name);
#define CURL_FIND(name, function) found &= (curl.name = dlsym(library, #function)) != NULL;

static struct {
    CURL_FUNCTIONS(CURL_MEMBER)
} curl;

struct prom_client {
    const char *url;
    const struct prom_options *options;
    CURL *handle;
    long status; /* of the answer */
    char secret[SECRET_MAX];
    struct curl_slist headers[PROM_HEADERS_MAX];
    /* The answer being read: */
    FILE *out;
    char *bytes;
    size_t size;
};

bool prom_is_url(const char *text)
{
    return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

/* --- an answer's bytes ------------------------------------------------------------------------ */

/* Returning less than was passed ends the transfer. */
static size_t take_bytes(char *from, size_t one, size_t n, void *out)
{
    (void)one;
    return (size_t)ftell(out) + n <= PROM_ANSWER_MAX_BYTES ? fwrite(from, 1, n, out) : 0;
}

static int on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct prom_options *options = context;

    (void)a, (void)b, (void)c, (void)d;
    if (options->tick)
        options->tick(options->context);
    return 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Returns the file with the user's credentials; NULL: none. */
static const char *credentials_of(const struct prom_options *options)
{
    return options->user_file ? options->user_file : options->token_file;
}

/* The first line of the file must be valid in a header. */
static int set_credentials(struct prom_client *client, struct error *error)
{
    const bool user = client->options->user_file != NULL;
    const char *path = credentials_of(client->options);
    cleanup_file FILE *file = path ? fopen(path, "re") : NULL;
    char *secret = client->secret;
    bool valid;

    if (!path)
        return 0;
    if (!file)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    if (!fgets(secret, SECRET_MAX, file))
        secret[0] = '\0';
    valid = strlen(secret) < SECRET_MAX - 1;
    secret[strcspn(secret, "\r\n")] = '\0';
    for (const char *c = secret; *c; c++)
        valid &= !iscntrl((unsigned char)*c);
    if (!valid || secret[0] == '\0' || (user && !strchr(secret, ':')))
        return error_set(error, -EINVAL, "%s: its first line must be %s", path,
                         user ? "USER:PASSWORD" : "a token");
    curl.setopt(client->handle, CURLOPT_HTTPAUTH, (long)(user ? CURLAUTH_BASIC : CURLAUTH_BEARER));
    curl.setopt(client->handle, user ? CURLOPT_USERPWD : CURLOPT_XOAUTH2_BEARER, client->secret);
    return 0;
}

/* On a loopback connection compression saves nothing, and costs a server more than half as much as
 * the answer itself (64 ms instead of 41 for 1.5 MB). */
static bool is_loopback(const char *url)
{
    return strstr(url, "//127.") || strcasestr(url, "//localhost") || strstr(url, "//[::1]");
}

static int set_options(struct prom_client *client, struct error *error)
{
    const struct prom_options *options = client->options;
    CURL *handle = client->handle;
    struct curl_slist *headers = NULL;

    for (size_t i = options->n_headers; i-- > 0; headers = &client->headers[i])
        client->headers[i] = (struct curl_slist){(char *)options->headers[i], headers};
    curl.setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl.setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    curl.setopt(handle, CURLOPT_NOSIGNAL, 1L);
    if (!is_loopback(client->url))
        curl.setopt(handle, CURLOPT_ACCEPT_ENCODING, "gzip");
    curl.setopt(handle, CURLOPT_USERAGENT, "vmwss/" VMWSS_VERSION);
    curl.setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl.setopt(handle, CURLOPT_TIMEOUT_MS, (long)(options->timeout_s * 1000));
    curl.setopt(handle, CURLOPT_WRITEFUNCTION, take_bytes);
    curl.setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl.setopt(handle, CURLOPT_XFERINFODATA, options);
    curl.setopt(handle, CURLOPT_NOPROGRESS, 0L);
    if (options->cacert)
        curl.setopt(handle, CURLOPT_CAINFO, options->cacert);
    curl.setopt(handle, CURLOPT_SSLCERT, options->cert);
    curl.setopt(handle, CURLOPT_SSLKEY, options->key);
    return set_credentials(client, error);
}

static int load_curl(struct error *error)
{
    void *library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
    bool found = true;

    if (!library)
        library = dlopen("libcurl-gnutls.so.4", RTLD_LAZY | RTLD_LOCAL);
    if (library) {
        CURL_FUNCTIONS(CURL_FIND)
    }
    return library && found
               ? 0
               : error_set(error, -ENOENT, "libcurl could not be loaded: install it (libcurl4)");
}

int prom_open(const char *url, const struct prom_options *options, struct prom_client **out,
              struct error *error)
{
    struct prom_client *client;
    int rc;

    /* Before the URL is parsed: a password may contain any of these characters. */
    if (strpbrk(url, "@?#"))
        return error_set(error, -EINVAL,
                         "a URL with credentials can be read by everyone: give it without '@', '?' "
                         "and '#', and put USER:PASSWORD into a file for --user-file, or a token "
                         "into one for --token-file");
    rc = load_curl(error);
    if (rc < 0)
        return rc;
    client = calloc(1, sizeof(*client));
    if (!client)
        return error_set(error, -ENOMEM, "out of memory");
    *client = (struct prom_client){.url = url, .options = options, .handle = curl.init()};
    rc = client->handle ? set_options(client, error) : error_set(error, -ENOMEM, "out of memory");
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
        curl.cleanup(client->handle);
    explicit_bzero(client->secret, sizeof(client->secret));
    free(client->bytes);
    free(client);
}

/* --- errors ----------------------------------------------------------------------------------- */

static const struct {
    CURLcode code;
    const char *text;
} remedies[] = {
    {CURLE_PEER_FAILED_VERIFICATION, ": name the certificate of its authority with --cacert"},
    {CURLE_SSL_CACERT_BADFILE, ": name the certificate of its authority with --cacert"},
    {CURLE_SSL_CERTPROBLEM, ": --cert and --key must be PEM files that belong together"},
    {CURLE_RECV_ERROR, ": if it wants a client certificate, name that with --cert and --key"},
    {CURLE_SEND_ERROR, ": if it wants a client certificate, name that with --cert and --key"},
    {CURLE_COULDNT_CONNECT, ": does it run, and is the port right?"},
    {CURLE_COULDNT_RESOLVE_HOST, ": is the name right?"},
    {CURLE_SSL_CONNECT_ERROR, ": does it speak TLS there? If not: http://"},
};

static int no_answer(const struct prom_client *client, CURLcode code, struct error *error)
{
    const char *remedy = "";

    if (code == CURLE_WRITE_ERROR)
        return error_set(error, -EFBIG,
                         "the answer has more than %lu MiB: it is not what was asked for",
                         PROM_ANSWER_MAX_BYTES >> 20);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return error_set(error, -ETIMEDOUT,
                         "no answer within %g s: is it overloaded? Wait longer with --timeout, "
                         "or look less far back with --since",
                         client->options->timeout_s);
    for (size_t i = 0; i < COUNT(remedies); i++)
        if (remedies[i].code == code)
            remedy = remedies[i].text;
    return error_set(error, -ECONNREFUSED, "%s%s", curl.strerror(code), remedy);
}

/* Writes the server's own words: those of the API, or the first line of a text that is no page;
 * "" if there are none. */
static void read_words(const struct prom_client *client, char *words, size_t size)
{
    struct prom_answer answer;
    struct error own = {0};
    char text[200] = "";

    memcpy(text, client->bytes ? client->bytes : "", smaller(client->size, sizeof(text) - 1));
    text[strcspn(text, "\r\n")] = '\0';
    if (prom_answer_parse(client->bytes, client->size, NULL, &answer, &own) == 0)
        prom_answer_free(&answer);
    if (own.code == -EIO)
        snprintf(words, size, "%s", own.text);
    else
        utf8_printable_copy(words, size, *text == '<' || *text == '{' ? "" : text);
}

/* 422 is an error while the query was executed, in most cases a limit: Prometheus
 * (web/api/v1/api.go: errorExec) and Thanos if it "would load too many samples", Mimir for its
 * err-mimir-max-..., VictoriaMetrics for -search.max... A redirection is not followed, so
 * credentials go nowhere else. */
static int check_status(const struct prom_client *client, struct error *error)
{
    const char *file = credentials_of(client->options);
    const long status = client->status;
    char *to = NULL;
    char words[220];

    if (status == 200)
        return 0;
    curl.getinfo(client->handle, CURLINFO_REDIRECT_URL, &to);
    utf8_printable_copy(words, sizeof(words), to ? to : "");
    if (to)
        return error_set(error, -EIO,
                         "it answers %ld, a redirection to %s: give the URL where the API is",
                         status, words);
    read_words(client, words, sizeof(words));
    if (status == 401 || status == 403 || status == 407)
        return error_set(error, -EACCES, "it answers %ld%s%s%s%s%s", status,
                         file ? ", and does not accept what is in "
                              : ": name a password or a token with --user-file or --token-file",
                         file ? file : "", *words ? " (it says: " : "", words, *words ? ")" : "");
    return error_set(error, status == 422 ? -E2BIG : -EIO, "it answers %ld%s%s", status,
                     *words ? ", " : ": ",
                     *words          ? words
                     : status == 404 ? "give the URL up to what stands before /api/v1"
                                     : "its own log says why");
}

/* --- asking ----------------------------------------------------------------------------------- */

/* Returns the whole URL; NULL if out of memory. */
static char *make_url(const struct prom_client *client, const char *query,
                      const struct prom_span *times)
{
    char *escaped = curl.escape(client->handle, query, 0);
    size_t n = strlen(client->url);
    char at[128];
    char *url = NULL;

    while (n > 0 && client->url[n - 1] == '/')
        n--;
    if (times->step_s == 0)
        snprintf(at, sizeof(at), "query?time=%.3f", times->from_s);
    else
        snprintf(at, sizeof(at), "query_range?start=%.3f&end=%.3f&step=%d", times->from_s,
                 times->from_s + (double)(times->n_times - 1) * times->step_s, times->step_s);
    /* Without nocache VictoriaMetrics moves the times to multiples of the step; others ignore it.
     */
    if (escaped &&
        asprintf(&url, "%.*s/api/v1/%s&nocache=1&query=%s", (int)n, client->url, at, escaped) < 0)
        url = NULL;
    curl.free(escaped);
    return url;
}

static CURLcode perform_once(struct prom_client *client)
{
    CURLcode code;

    free(client->bytes);
    client->bytes = NULL;
    client->out = open_memstream(&client->bytes, &client->size);
    if (!client->out)
        return CURLE_OUT_OF_MEMORY;
    curl.setopt(client->handle, CURLOPT_WRITEDATA, client->out);
    code = curl.perform(client->handle);
    curl.getinfo(client->handle, CURLINFO_RESPONSE_CODE, &client->status);
    return fclose(client->out) == 0 ? code : CURLE_OUT_OF_MEMORY;
}

/* Performs the request; again, after waits that double, or as long as the server says, while it is
 * refused for a time, by a gateway that restarts or a limit of requests: within the time for one
 * answer. */
static CURLcode perform(struct prom_client *client)
{
    const double end_s = clock_s(CLOCK_MONOTONIC) + client->options->timeout_s;
    double pause_s = RETRY_FIRST_S;

    for (;;) {
        const CURLcode code = perform_once(client);
        const long status = client->status;
        curl_off_t after_s = 0;
        double until_s;

        curl.getinfo(client->handle, CURLINFO_RETRY_AFTER, &after_s);
        pause_s = fmax(pause_s, (double)after_s);
        until_s = clock_s(CLOCK_MONOTONIC) + pause_s;
        if (code != CURLE_OK || (status != 429 && status != 502 && status != 503) ||
            until_s >= end_s)
            return code;
        while (clock_s(CLOCK_MONOTONIC) < until_s) {
            clock_sleep(RETRY_TICK_NS);
            on_progress((void *)client->options, 0, 0, 0, 0);
        }
        pause_s *= 2;
    }
}

/* M3 says in a header that a limit has cut the answer off, and in another one whether one has:
 * there, src/query/api/v1/handler/prometheus/handleroptions/header.go. */
static void take_limits(const struct prom_client *client, struct prom_answer *answer)
{
    static const char *const names[] = {"M3-Results-Limited", "M3-Returned-Data-Limited"};
    struct curl_header *header;

    for (size_t i = 0; i < COUNT(names); i++) {
        if (curl.header(client->handle, names[i], 0, CURLH_HEADER, -1, &header) == CURLHE_OK &&
            header->value[0] != '\0' && !strstr(header->value, "\"Limited\":false"))
            prom_answer_doubt(answer, names[i], header->value);
    }
}

int prom_query(struct prom_client *client, const char *query, const struct prom_span *times,
               struct prom_answer *answer, struct error *error)
{
    cleanup_free char *url = make_url(client, query, times);
    CURLcode code;
    int rc;

    if (!url)
        return -ENOMEM;
    curl.setopt(client->handle, CURLOPT_URL, url);
    code = perform(client);
    rc = code == CURLE_OK ? check_status(client, error) : no_answer(client, code, error);
    if (rc == 0)
        rc = prom_answer_parse(client->bytes, client->size, times, answer, error);
    if (rc == 0)
        take_limits(client, answer);
    return rc;
}
