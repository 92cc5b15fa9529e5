// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_web_parts.c  Parts of vmwss-exporter --web: whose name a request has, what a program
 * writes within its bounds, and a page that is made while others ask. */
#include "programs/exporter/connections.h"
#include "programs/exporter/request_host.h"
#include "programs/exporter/run.h"
#include "programs/exporter/web_page.h"

#include "page_maker.h"

#include "fixture.h"
#include "virtual_clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define NS 1000000000ULL
#define T0 (1000 * NS) /* of the made-up clock */

/* --- whose name it is ------------------------------------------------------------------------- */

static const struct {
    const char *host;
    bool ours;
} hosts[] = {
    {"127.0.0.1", true},
    {"127.0.0.1:19177", true},
    {"192.0.2.7:1", true},
    {"[::1]", true},
    {"[2001:db8::1]:19177", true},
    {"localhost", true},
    {"LocalHost:19177", true},
    {"hv1", true},
    {"HV1:19177", true},
    {"hv1.example.org", true},
    {"hv1.:80", true},
    {"localhost.", true},
    {"evil.example", false},
    {"evil.example.", false},
    {".", false},
    {"hv1..", false},
    {"hv1.evil.example", false},
    {"localhost.evil.example", false},
    {"127.0.0.1.evil.example", false},
    {"xhv1", false},
    {"", false},
    {":80", false},
    {"hv1:", false},
    {"hv1:80x", false},
    {"hv1:123456", false},
    {"[::1", false},
    {"[::1]evil", false},
    {"[::1]evil:80", false},
    {"[evil]", false},
    {"[]", false},
    {"::1", false},
    {"127.0.0.1@evil.example", false},
    {"127.1", false},
    {"2130706433", false},
    {"hv1\r\nX: y", false},
};

TEST_EACH(plain, only_our_names_are_ours, 0, COUNT(hosts))
{
    const struct request_names names = {
        .own = {"hv1"}, .n_own = 1, .more = {"hv1.example.org"}, .n_more = 1};
    char longest[400];

    ck_assert_msg(request_host_is_ours(hosts[_i].host, &names) == hosts[_i].ours, "%s",
                  hosts[_i].host);
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    ck_assert(!request_host_is_ours(longest, &names));
}

static const struct {
    const char *hosts;
    const char *names; /* those of "hv1" in it */
} files[] = {
    {"127.0.0.1 localhost\n127.0.1.1 hv1.example.org hv1\n", "hv1.example.org hv1"},
    {"127.0.1.1\thv1 \t hv1.a # hv1.b\n#127.0.1.1 hv1 hv1.c\n10.0.0.1 evil.example\n", "hv1 hv1.a"},
    {"hv1 evil.example\n10.0.0.2 xhv1 hv1x evil.example\n", ""},
    {"::1 HV1 hv1.six", "HV1 hv1.six"},
    {"", ""},
    {"127.0.0.1 hv1 a b c d e f g h i j k", "hv1 a b c d e f g"},
};

TEST_EACH(plain, names_beside_ours_in_the_file_are_ours, 0, COUNT(files))
{
    struct request_names names = {0};
    char all[400] = "";

    request_names_in(&names, files[_i].hosts, "hv1");
    for (size_t i = 0; i < names.n_own; i++) {
        strcat(all, i ? " " : "");
        strcat(all, names.own[i]);
    }
    ck_assert_str_eq(all, files[_i].names);
}

/* --- a program's output ----------------------------------------------------------------------- */

static int shell(const char *script, size_t max_bytes, double deadline_s, int ends_fd, char **text,
                 size_t *size, struct error *error)
{
    char words[3][256] = {"sh", "-c"};
    char *const argv[] = {words[0], words[1], words[2], NULL};
    const struct run run = {.path = "/bin/sh",
                            .argv = argv,
                            .max_bytes = max_bytes,
                            .deadline_s = deadline_s,
                            .ends_fd = ends_fd};

    snprintf(words[2], sizeof(words[2]), "%s", script);
    *text = NULL;
    return run_program(&run, text, size, error);
}

TEST(plain, what_a_program_writes_is_taken)
{
    char *text;
    size_t size;

    ck_assert_ok(shell("printf page; echo aside >&2", 1 << 20, 60, -1, &text, &size, &error));
    ck_assert_uint_eq(size, 4);
    ck_assert_str_eq(text, "page");
    free(text);
    ck_assert_ok(shell("head -c 1000000 /dev/zero", 1 << 20, 60, -1, &text, &size, &error));
    ck_assert_uint_eq(size, 1000000);
    free(text);
    ck_assert_ok(shell("exit 0", 1 << 20, 60, -1, &text, &size, &error));
    ck_assert_uint_eq(size, 0);
    free(text);
}

TEST(plain, a_program_that_fails_has_a_reason)
{
    struct error error = {0};
    char *text;
    size_t size;

    ck_assert_int_eq(shell("echo half; printf 'no history\\nmore' >&2; exit 2", 1 << 20, 60, -1,
                           &text, &size, &error),
                     -EIO);
    ck_assert_str_eq(error.text, "no history");
    ck_assert_ptr_null(text);
    ck_assert_int_eq(shell("kill -KILL $$", 1 << 20, 60, -1, &text, &size, &error), -EIO);
    ck_assert_str_eq(error.text, "/bin/sh was ended by signal 9");
    ck_assert_int_eq(shell("exit 3", 1 << 20, 60, -1, &text, &size, &error), -EIO);
    ck_assert_str_eq(error.text, "/bin/sh ended with status 3");
    /* More than a message may have, which is read all the same: it would wait for ever. */
    ck_assert_int_eq(shell("head -c 200000 /dev/zero | tr '\\0' x >&2; exit 2", 1 << 20, 60, -1,
                           &text, &size, &error),
                     -EIO);
    ck_assert_uint_eq(strspn(error.text, "x"), sizeof(error.text) - 1);
}

TEST(plain, a_program_has_bounds)
{
    struct error error = {0};
    char *text;
    size_t size;
    cleanup_close int ends = eventfd(1, EFD_CLOEXEC);

    ck_assert_int_eq(shell("exec cat /dev/zero", 1 << 20, 60, -1, &text, &size, &error), -EFBIG);
    ck_assert_str_eq(error.text, "larger than 1 MiB");
    ck_assert_int_eq(shell("exec sleep 1000", 1 << 20, 0.05, -1, &text, &size, &error), -ETIMEDOUT);
    /* They never rest: there is nearly always something to read. */
    ck_assert_int_eq(
        shell("for i in 1 2 3 4 5 6 7 8; do cat /dev/zero >&2 & done; exec cat /dev/zero >&2",
              1 << 20, 0.05, -1, &text, &size, &error),
        -ETIMEDOUT);
    /* It has said all, and does not end. */
    ck_assert_int_eq(
        shell("exec >&- 2>&-; exec sleep 1000", 1 << 20, 0.05, -1, &text, &size, &error),
        -ETIMEDOUT);
    ck_assert_int_eq(shell("exec sleep 1000", 1 << 20, 1000, ends, &text, &size, &error),
                     -ECANCELED);
    /* How fast stderr flows is up to the scheduler: a moment without data hides that the deadline
     * is ignored. This descriptor is always readable, and the deadline has passed. */
    ck_assert_int_eq(shell("exec sleep 1000", 1 << 20, 0, ends, &text, &size, &error), -ETIMEDOUT);
}

TEST(plain, a_program_begins_without_what_we_have_set)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t blocked;
    cleanup_free char *text;
    size_t size;

    sigaction(SIGPIPE, &ignore, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    ck_assert_int_eq(
        shell("sed -n 's/^Sig\\(Blk\\|Ign\\):.*\\(........\\)$/\\2/p' /proc/self/status;"
              " cat",
              1 << 20, 60, -1, &text, &size, NULL),
        0);
    /* But for those of the C library itself, above 31. */
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        ck_assert_uint_eq(strtoul(line, NULL, 16) & 0x7fffffff, 0);
    ck_assert_uint_eq(size, 18);
}

/* --- how long it may take --------------------------------------------------------------------- */

static bool is_shut(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

TEST(plain, a_large_answer_has_more_time)
{
    struct connections *connections = connections_new();
    struct connection_entry *entry;
    int ends[2];

    for (unsigned s = 10, bytes = 0; s <= 70; s += 30, bytes += 30 * CONNECTION_BYTES_PER_S) {
        /* The last one asks for more than there is. */
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        entry = connections_add(connections, ends[0], NULL, T0);
        connections_allow(connections, entry, s < 70 ? bytes : 10 * bytes);
        connections_expire(connections, T0 + s * NS - 1);
        ck_assert(!is_shut(ends[1]));
        connections_expire(connections, T0 + s * NS);
        ck_assert(is_shut(ends[1]));
        connections_remove(connections, entry);
        close(ends[0]);
        close(ends[1]);
    }
    connections_free(connections);
}

/* --- a page that is made seldom --------------------------------------------------------------- */

static _Atomic uint64_t made_up_ns = T0;

static uint64_t made_up_clock(void)
{
    return made_up_ns;
}

/* The clock is made up, but the threads are to come to rest. */
static void begin_page(void)
{
    virtual_clock_start();
    maker_begin();
}

static struct web_page *start_page(void)
{
    struct web_page *page = NULL;

    ck_assert_int_eq(web_page_start(&page, make, &maker, made_up_clock, NULL), 0);
    return page;
}

/* Returns the page ("page 1"), an error's text, or "" while there is none yet. */
static const char *ask(struct web_page *page, uint64_t now_ns)
{
    static char answer[128];
    struct error error = {0};
    struct body *body = NULL;
    int rc = web_page_ask(page, now_ns, &body, &error);

    if (rc == 0)
        snprintf(answer, sizeof(answer), "%s", strstr(body->text, "page "));
    else
        snprintf(answer, sizeof(answer), "%s", rc == -EAGAIN ? "" : error.text);
    body_release(rc == 0 ? body : NULL);
    return answer;
}

static void await_answer(struct web_page *page, uint64_t now_ns, const char *wanted)
{
    virtual_clock_settle();
    ck_assert_str_eq(ask(page, now_ns), wanted);
}

FIXTURE(page_tests, .setup = begin_page);

TEST(page_tests, a_page_is_made_when_asked_for_and_kept_for_a_minute)
{
    struct web_page *page = start_page();

    ck_assert_str_eq(ask(page, T0), "");
    await_begun(1);
    for (int i = 0; i < 10; i++) /* ten at once: one page is made */
        ck_assert_str_eq(ask(page, T0 + 1), "");
    let_one(0);
    await_answer(page, T0 + 2, "page 1");
    ck_assert_str_eq(ask(page, T0 + WEB_PAGE_FRESH_S * NS - 1), "page 1");
    virtual_clock_settle();
    ck_assert_uint_eq(begun(), 1);

    /* While a new one is made others get the last one, */
    ck_assert_str_eq(ask(page, T0 + WEB_PAGE_FRESH_S * NS), "page 1");
    await_begun(2);
    ck_assert_str_eq(ask(page, T0 + WEB_PAGE_OLD_S * NS - 1), "page 1");
    /* unless that is too old. */
    ck_assert_str_eq(ask(page, T0 + WEB_PAGE_OLD_S * NS), "");
    let_one(0);
    await_answer(page, T0 + WEB_PAGE_FRESH_S * NS + 1, "page 2");
    ck_assert_uint_eq(begun(), 2);
    web_page_stop(page);
}

TEST(page_tests, nobody_asks_and_nothing_is_made)
{
    struct web_page *page = start_page();

    virtual_clock_settle();
    ck_assert_uint_eq(begun(), 0);
    web_page_stop(page);
}

TEST(page_tests, the_reason_is_given_for_a_while_and_then_it_is_tried_again)
{
    struct web_page *page = start_page();
    const uint64_t later = T0 + WEB_PAGE_FRESH_S * NS;

    let_one(0);
    ck_assert_str_eq(ask(page, T0), "");
    await_answer(page, T0 + 1, "page 1");
    /* A page that can no longer be made is not served from memory. */
    ck_assert_str_eq(ask(page, later), "page 1");
    made_up_ns = later + NS;
    let_one(-EUCLEAN);
    await_answer(page, later + NS, "history.db: damaged");
    ck_assert_str_eq(ask(page, later + (1 + WEB_PAGE_RETRY_S) * NS - 1), "history.db: damaged");
    ck_assert_uint_eq(begun(), 2);
    ck_assert_str_eq(ask(page, later + (1 + WEB_PAGE_RETRY_S) * NS), "");
    let_one(0);
    await_answer(page, later + 12 * NS, "page 3");
    web_page_stop(page);
}

static void await_failure(struct web_page *page)
{
    await_answer(page, made_up_ns, "history.db: damaged");
}

TEST(page_tests, what_failed_hours_ago_is_tried_again)
{
    struct web_page *page = start_page();

    let_one(-EUCLEAN);
    ck_assert_str_eq(ask(page, T0), "");
    await_failure(page);
    /* Fails again, but nobody is there to be told. */
    ck_assert_str_eq(ask(page, T0 + WEB_PAGE_RETRY_S * NS), "");
    made_up_ns = T0 + WEB_PAGE_RETRY_S * NS;
    let_one(-EUCLEAN);
    await_begun(2);
    virtual_clock_settle();
    ck_assert_str_eq(ask(page, T0 + 7200 * NS), "");
    await_begun(3);
    let_one(0);
    await_answer(page, T0 + 7201 * NS, "page 3");
    web_page_stop(page);
}

TEST(page_tests, a_page_that_is_being_made_is_given_up_at_the_end)
{
    struct web_page *page = start_page();

    ck_assert_str_eq(ask(page, T0), "");
    await_begun(1);
    web_page_stop(page);
}

TEST(page_tests, a_page_that_is_being_sent_stays)
{
    struct web_page *page = start_page();
    struct body *body = NULL;

    let_one(0);
    ck_assert_str_eq(ask(page, T0), "");
    await_answer(page, T0, "page 1");
    ck_assert_int_eq(web_page_ask(page, T0, &body, NULL), 0);
    web_page_stop(page);
    ck_assert_ptr_nonnull(strstr(body->text, "page 1"));
    body_release(body);
}
