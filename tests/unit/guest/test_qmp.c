// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_qmp.c  The QMP client before a server that says what the test says, hostile things
 * too. */
#include "base/clock.h"
#include "fixture.h"
#include "guest/domain/qmp.h"
#include "virtual_clock.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GREETING "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n"
#define CAPABLE "{\"return\": {}, \"id\": 1}\r\n"

static int server; /* the other end of the last client's socket */
static struct qmp *qmp;
static struct error error;

/* A client for which @p said is waiting already. */
static int greet(const char *said, size_t length)
{
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    server = ends[1];
    ck_assert_int_eq(setsockopt(server, SOL_SOCKET, SO_SNDBUF, &(int){1 << 20}, sizeof(int)), 0);
    ck_assert_int_eq(send(server, said, length, 0), (ssize_t)length);
    error = (struct error){0};
    return qmp_greet(ends[0], 200, &qmp, &error);
}

static int greet_text(const char *said)
{
    return greet(said, strlen(said));
}

static void part(void)
{
    qmp_close(qmp);
    qmp = NULL;
    close(server);
}

FIXTURE(cases, .setup = virtual_clock_start);

TEST(cases, answers_among_events)
{
    json_t *result = NULL;

    ck_assert_int_eq(
        greet_text(GREETING CAPABLE
                   "{\"event\": \"STOP\", \"data\": {\"id\": 2}}\n"
                   "{\"return\": {\"late\": true}, \"id\": 1}\n"
                   "{\"return\": {\"status\": \"paused\"}, \"id\": 2}\n"
                   "{\"id\": 3, \"error\": {\"class\": \"X\", \"desc\": \"no\\u001b[2Jway\"}}\n"),
        0);
    ck_assert_int_eq(qmp_execute(qmp, "query-status", 200, &result, &error), 0);
    ck_assert_str_eq(json_string_value(json_object_get(result, "status")), "paused");
    json_decref(result);
    ck_assert_int_eq(qmp_execute(qmp, "stop", 200, NULL, &error), -EIO);
    ck_assert_str_eq(error.text, "QMP stop: no?[2Jway");
    part();
}

TEST(cases, sends_one_line_per_command)
{
    char sent[256] = {0};

    ck_assert_int_eq(greet_text(GREETING CAPABLE "{\"return\": {}, \"id\": 2}\n"), 0);
    ck_assert_int_eq(qmp_execute(qmp, "cont", 200, NULL, &error), 0);
    ck_assert_int_gt(recv(server, sent, sizeof(sent) - 1, 0), 0);
    ck_assert_str_eq(sent, "{\"execute\": \"qmp_capabilities\", \"id\": 1}\n"
                           "{\"execute\": \"cont\", \"id\": 2}\n");
    part();
}

TEST(cases, silence_ends_in_time)
{
    uint64_t began_ns = clock_ns();

    ck_assert_int_eq(greet_text(""), -ETIMEDOUT);
    close(server);
    ck_assert_int_eq(greet_text(GREETING CAPABLE "{\"return\": "), 0);
    ck_assert_int_eq(qmp_execute(qmp, "stop", 200, NULL, &error), -ETIMEDOUT);
    part();
    ck_assert_uint_eq(clock_ns() - began_ns, 2 * 200000000);
}

TEST(cases, what_is_not_qmp)
{
    static const char *const said[] = {
        "\n",
        "{}\n",
        "[]\n",
        "SSH-2.0\n",
        "{\"QMP\": 1", /* times out */
        GREETING "{\"return\": {}, \"id\": 1, \"id\": 1}\n",
        GREETING "nonsense\n",
    };

    for (size_t i = 0; i < COUNT(said); i++) {
        ck_assert_int_lt(greet_text(said[i]), 0);
        ck_assert_int_ne(error.text[0], 0);
        close(server);
    }
}

TEST(cases, a_line_has_a_limit)
{
    size_t length = 40000;
    cleanup_free char *flood = malloc(length);

    memset(flood, ' ', length);
    ck_assert_int_eq(greet(flood, length), -EPROTO);
    close(server);
    memset(flood, '[', length); /* and no depth of recursion */
    flood[16000] = '\n';
    ck_assert_int_eq(greet(flood, 16001), -EPROTO);
    close(server);
}

TEST(cases, the_other_end_closes)
{
    ck_assert_int_eq(greet_text(GREETING CAPABLE), 0);
    close(server);
    ck_assert_int_eq(qmp_execute(qmp, "stop", 200, NULL, &error), -EPIPE);
    server = -1;
    part();
}
