// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_web.c  vmwss-exporter --web over HTTP: what is answered, with which headers, to whom,
 * and by default; its options. The real page, and browsers: tests/integration/programs/web.sh. */
#include "kept.h"

#include "programs/exporter/http.h"
#include "programs/exporter/listen.h"

#include "page_maker.h"

#include "fixture.h"
#include "virtual_clock.h"

#include <errno.h>
#include <jansson.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- over HTTP -------------------------------------------------------------------------------- */

static struct prometheus_options metrics;
static const struct request_names names = {.own = {"hv1"}, .n_own = 1};
static struct web_options pages;
static struct web *web;
static struct http *http;
static struct sockaddr_in address;

static void begin(void)
{
    virtual_clock_start();
    maker_begin();
    kept = kept_dir_make();
    metrics = (struct prometheus_options){
        .database = kept.path, .stale_s = 300, .plan_window_s = 60};
    pages = (struct web_options){.database = kept.path, .make = make, .context = &maker};
    store_close(kept_open(kept.path));
}

static void serve(bool with_web)
{
    socklen_t size = sizeof(address);
    struct error error = {0};
    int fd = listen_on("127.0.0.1:0", &error);

    ck_assert_msg(fd >= 0, "%s", error.text);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    if (with_web)
        ck_assert_int_eq(web_start(&web, &pages, &error), 0);
    ck_assert_ok(http_start(&http, fd, &(struct http_options){&metrics, web, &names}, &error));
}

static void end(void)
{
    http_stop(http);
    web_stop(web);
    http = NULL;
    web = NULL;
}

/* The whole answer. */
static const char *fetch(const char *request)
{
    static char answer[1 << 16];
    size_t size = 0;
    ssize_t n;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    while ((n = recv(fd, answer + size, sizeof(answer) - size - 1, 0)) > 0)
        size += (size_t)n;
    close(fd);
    answer[size] = '\0';
    return answer;
}

static const char *get(const char *path)
{
    const char *request = TEXT_OF(512, "GET %s HTTP/1.1\r\nHost: hv1:19177\r\n\r\n", path);

    return fetch(request);
}

static void assert_has(const char *answer, const char *text)
{
    ck_assert_msg(strstr(answer, text) != NULL, "no %s in\n%.500s", text, answer);
}

static void assert_status(const char *answer, unsigned status)
{
    const char *line = TEXT_OF(32, "HTTP/1.1 %u ", status);

    ck_assert_msg(strncmp(answer, line, strlen(line)) == 0, "not %u:\n%s", status, answer);
}

static const char *const web_paths[] = {"/status", "/status.css", "/status.js", "/status.json"};

FIXTURE(served, .setup = begin, .teardown = end, .timeout_s = 120);

/* As systemd has it, which starts the next exporter with the same. */
TEST(served, the_socket_listens_on_when_it_ends)
{
    socklen_t size = sizeof(address);
    struct error error = {0};
    int fd = listen_on("127.0.0.1:0", &error);
    int systemds = dup(fd);
    int listens = 0;

    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    ck_assert_ok(http_start(&http, fd, &(struct http_options){&metrics, NULL, &names}, &error));
    assert_status(get("/metrics"), 200);
    http_stop(http);
    size = sizeof(listens);
    ck_assert_int_eq(getsockopt(systemds, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size), 0);
    ck_assert_int_eq(listens, 1);
    ck_assert_ok(
        http_start(&http, systemds, &(struct http_options){&metrics, NULL, &names}, &error));
    assert_status(get("/metrics"), 200);
}

TEST(served, pages_are_off_by_default)
{
    serve(false);
    for (size_t i = 0; i < COUNT(web_paths); i++) {
        assert_status(get(web_paths[i]), 404);
        assert_has(get(web_paths[i]), "\r\n\r\nthere is /metrics only\n");
    }
    assert_status(get("/"), 200);
    assert_has(get("/"), "<a href=\"/metrics\">metrics</a>");
    assert_status(get("/metrics"), 200);
    ck_assert_uint_eq(begun(), 0);
}

static void assert_policy(const char *answer)
{
    assert_has(answer, "\r\nX-Content-Type-Options: nosniff\r\n");
    assert_has(answer, "\r\nCache-Control: no-store\r\n");
    assert_has(answer, "\r\nReferrer-Policy: no-referrer\r\n");
    assert_has(answer, "\r\nCross-Origin-Resource-Policy: same-origin\r\n");
    assert_has(answer, "\r\nContent-Security-Policy: default-src 'none'; ");
    assert_has(answer, "frame-ancestors 'none'\r\n");
    ck_assert_ptr_null(strstr(answer, "Access-Control-Allow"));
}

TEST(served, every_page_has_its_headers)
{
    static const char *const types[COUNT(web_paths)] = {
        "text/html; charset=utf-8", "text/css; charset=utf-8", "text/javascript; charset=utf-8",
        "application/json"};
    char line[64];

    serve(true);
    for (size_t i = 0; i < COUNT(web_paths); i++) {
        const char *answer = get(web_paths[i]);

        assert_status(answer, 200);
        assert_policy(answer);
        snprintf(line, sizeof(line), "\r\nContent-Type: %s\r\n", types[i]);
        assert_has(answer, line);
    }
    assert_has(get("/status"), "script-src 'self'; style-src 'self'; connect-src 'self';");
    assert_status(get("/metrics"), 200);
}

TEST(served, nothing_else_is_served)
{
    static const char *const others[] = {"/status/",           "/status.jso",        "/STATUS",
                                         "/../etc/passwd",     "/status/../metrics", "//",
                                         "/%2e%2e/etc/passwd", "/index.html",        "*"};

    serve(true);
    for (size_t i = 0; i < COUNT(others); i++)
        ck_assert_msg(strncmp(get(others[i]), "HTTP/1.1 404 ", 13) == 0 ||
                          strncmp(get(others[i]), "HTTP/1.1 400 ", 13) == 0,
                      "%s: %s", others[i], get(others[i]));
    /* Not part of the path, and not looked at. */
    assert_status(get("/status?x=%0d%0aX-Evil:%20y"), 200);
    ck_assert_ptr_null(strstr(get("/status?x=%0d%0aX-Evil:%20y"), "X-Evil"));
    ck_assert_ptr_null(strstr(get("/%0d%0aX-Evil:%20y"), "X-Evil"));
}

TEST(served, methods_are_get_and_head)
{
    const char *answer;

    serve(true);
    assert_status(fetch("POST /status.json HTTP/1.1\r\nHost: hv1\r\nContent-Length: 0\r\n\r\n"),
                  405);
    assert_status(fetch("DELETE / HTTP/1.1\r\nHost: hv1\r\n\r\n"), 405);
    assert_has(fetch("OPTIONS /status HTTP/1.1\r\nHost: hv1\r\n\r\n"), "\r\nAllow: GET, HEAD\r\n");
    answer = fetch("HEAD /status HTTP/1.1\r\nHost: hv1\r\n\r\n");
    assert_status(answer, 200);
    assert_policy(answer);
    ck_assert_str_eq(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
}

TEST(served, another_name_is_refused)
{
    char request[256];

    serve(true);
    for (size_t i = 0; i <= COUNT(web_paths); i++) {
        snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: evil.example\r\n\r\n",
                 i < COUNT(web_paths) ? web_paths[i] : "/");
        assert_status(fetch(request), 421);
        ck_assert_ptr_null(strstr(fetch(request), "evil.example"));
    }
    ck_assert_uint_eq(begun(), 0); /* and costs nothing */
    assert_status(fetch("GET /status HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n"), 200);
}

/* Without --web, too: a page of another site would read the metrics. */
TEST_EACH(served, metrics_are_for_our_names, 0, 2)
{
    serve(_i);
    assert_status(fetch("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421);
    assert_status(fetch("GET / HTTP/1.1\r\nHost: evil.example:19177\r\n\r\n"), 421);
    assert_status(fetch("GET /none HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421);
    assert_status(fetch("HEAD /metrics HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n"), 421);
    assert_status(fetch("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:19177\r\n\r\n"), 200);
    assert_status(fetch("GET /metrics HTTP/1.1\r\nHost: localhost:19177\r\n\r\n"), 200);
    assert_status(fetch("GET /metrics HTTP/1.1\r\nHost: [::1]:19177\r\n\r\n"), 200);
    /* one name only, wherever it stands: a proxy may read another one of two */
    assert_status(fetch("GET /metrics HTTP/1.1\r\nHost: hv1\r\nHost: evil.example\r\n\r\n"), 400);
    assert_status(fetch("GET /metrics HTTP/1.1\r\nHost: evil.example\r\nHost: hv1\r\n\r\n"), 400);
    assert_status(fetch("GET /metrics HTTP/1.1\r\nHost: hv1\r\nhOST: hv1\r\n\r\n"), 400);
    /* RFC 9112, 5.1: a server that takes the blank as the end of the name is misled */
    assert_status(fetch("GET /metrics HTTP/1.1\r\nHost : evil.example\r\nHost: hv1\r\n\r\n"), 400);
    assert_status(fetch("GET /metrics HTTP/1.0\r\nHost\t: evil.example\r\n\r\n"), 400);
    assert_status(fetch("GET /metrics HTTP/1.1\r\nHost:\r\n\r\n"), 421);
    assert_status(fetch("GET /metrics HTTP/1.1\r\n\r\n"), 400);
    assert_status(fetch("GET /metrics HTTP/1.0\r\n\r\n"), 200);
    assert_status(fetch("GET http://evil.example/metrics HTTP/1.1\r\nHost: hv1\r\n\r\n"), 404);
    assert_status(fetch("GET http://hv1/metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421);
    assert_status(fetch("GET /metrics HTTP/1.1\r\nHost: [::1%25lo]\r\n\r\n"), 421);
    assert_status(fetch("GET /metrics HTTP/1.1\r\nHost: [::ffff:127.0.0.1]:19177\r\n\r\n"), 200);
    assert_status(fetch("GET /metrics HTTP/1.1\r\nHost: hv1@evil.example\r\n\r\n"), 421);
    assert_status(fetch("GET /metrics HTTP/1.1\r\nHost: evil.example:hv1\r\n\r\n"), 421);
    assert_status(fetch("GET /metrics HTTP/1.1\r\nHost: HV1\r\n\r\n"), 200);
    assert_status(fetch("GET /metrics HTTP/1.0\r\n\r\n"), 200);
}

static const char *fetch_as(const char *path, const char *headers)
{
    static char request[8192];

    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: hv1\r\n%s\r\n", path, headers);
    return fetch(request);
}

#define CROSS "Sec-Fetch-Site: cross-site\r\n"

TEST(served, another_site_embeds_nothing)
{
    serve(true);
    assert_status(fetch_as("/", CROSS "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n"), 403);
    assert_status(fetch_as("/", CROSS "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n"),
                  403);
    assert_status(fetch_as("/status.json", CROSS "Sec-Fetch-Mode: no-cors\r\n"), 403);
    assert_status(fetch_as("/", CROSS), 403);
    ck_assert_uint_eq(begun(), 0); /* and it costs nothing */
    assert_status(fetch_as("/metrics", CROSS), 200);
    assert_status(
        fetch_as("/status", CROSS "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"), 200);
    assert_status(
        fetch_as("/status.json", "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\n"), 200);
    ck_assert_uint_eq(begun(), 0);
}

TEST(served, cookies_of_others_do_no_harm)
{
    char cookie[6200];
    int n = snprintf(cookie, sizeof(cookie), "Cookie: ");

    memset(cookie + n, 'x', 5998);
    strcpy(cookie + n + 5998, "=1\r\n");
    serve(true);
    assert_status(fetch_as("/status", cookie), 200);
    assert_status(fetch_as("/status.json", cookie), 200);
}

TEST(served, a_page_being_made_keeps_nobody_waiting)
{
    const char *answer;

    serve(true);
    answer = get("/");
    assert_status(answer, 503);
    assert_has(answer, "\r\nRetry-After: 2\r\n");
    assert_has(answer, "The report is being made");
    assert_policy(answer);
    await_begun(1);
    for (int i = 0; i < 10; i++)
        assert_status(get("/"), 503);
    assert_status(get("/metrics"), 200);
    assert_status(get("/status.json"), 200);
    ck_assert_uint_eq(begun(), 1);
    let_one(0);
    virtual_clock_settle();
    answer = get("/");
    assert_has(answer, "\r\nContent-Security-Policy: default-src 'none'; script-src 'nonce-1'; "
                       "frame-ancestors 'none'\r\n");
    assert_has(answer, "page 1");
    assert_policy(answer);
}

TEST(served, a_page_that_fails_says_why)
{
    serve(true);
    let_one(-EUCLEAN);
    get("/");
    virtual_clock_settle();
    assert_status(get("/"), 503);
    assert_has(get("/"), "\r\nContent-Type: text/plain; charset=utf-8\r\n");
    assert_has(get("/"), "\r\n\r\nhistory.db: damaged\n");
}

TEST(served, a_history_that_cannot_be_read_says_why)
{
    const char *answer;
    json_t *object;

    unlink(kept.path);
    serve(true);
    answer = get("/status.json");
    assert_status(answer, 503);
    object = json_loads(strstr(answer, "\r\n\r\n") + 4, 0, NULL);
    assert_has(json_string_value(json_object_get(object, "error")), "no history there");
    json_decref(object);
    assert_status(get("/status"), 200);
}

TEST(served, new_records_are_seen_in_time)
{
    struct ages_record record = kept_record("<img src=x onerror=alert(1)>", UUID_1,
                                            store_clock_now().wall_s, 64);
    struct store *store;

    serve(true);
    assert_has(get("/status.json"), "\"guests\":[]");
    store = kept_open(kept.path);
    ck_assert_int_eq(kept_add(store, &record, NULL), 0);
    store_close(store);
    virtual_clock_pass_ms(5000);
    assert_has(get("/status.json"), "<img src=x onerror=alert(1)>");
}
