// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_guest_serve.c  The agent at one end of a socket, all kinds of hosts at the other. */
#include "base/clock.h"
#include "base/text/json.h"
#include "base/wire/inbox.h"
#include "base/wire/wire.h"
#include "fixture.h"
#include "serve/agent.h"
#include "serve/apart.h"
#include "serve/endpoint.h"
#include "serve/outbox.h"
#include "serve/report.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct fsroot root;
static struct agent *agent;
static int host; /* our end */

static void setup_with(const char *fixture)
{
    int pair[2];

    root = fixture_open(fixture);
    ck_assert_int_eq(agent_new(&agent, &root, NULL), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    ck_assert_int_eq(agent_attach(agent, pair[1]), 0);
    host = pair[0];
}

static void setup(void)
{
    setup_with("guest-6.12");
}

static void teardown(void)
{
    agent_free(agent);
    close(host);
    fsroot_close(&root);
}

FIXTURE(cases, .setup = setup, .teardown = teardown, .timeout_s = 60);

static void turns(int n)
{
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(agent_turn(agent, 0), 0);
}

/* Sends @p text and takes what the host's side reads; the rest is lost, as when the host is too
 * slow. */
static size_t ask(const char *text)
{
    ssize_t n = write(host, text, strlen(text));

    return n > 0 ? (size_t)n : 0;
}

static const char *heard(void)
{
    static char text[1 << 20];
    size_t length = 0;
    ssize_t n;

    while ((n = read(host, text + length, sizeof(text) - 1 - length)) > 0) {
        length += (size_t)n;
        turns(2);
    }
    text[length] = '\0';
    return text;
}

/* The answer to one question. */
static json_t *answer_to(const char *question)
{
    json_t *answer;

    ask(question);
    turns(4);
    answer = json_loads(heard(), JSON_REJECT_DUPLICATES, NULL);
    ck_assert_msg(answer != NULL, "no one JSON object for %s", question);
    return answer;
}

static json_int_t number(const json_t *object, const char *a, const char *b)
{
    const json_t *inner = json_object_get(object, a);
    const json_t *value = json_object_get(inner, b);

    ck_assert_msg(json_is_integer(value), "no %s.%s", a, b);
    return json_integer_value(value);
}

/* All lines of @p text are whole; the seq of the last. */
static json_int_t last_seq(const char *text, int *n_lines)
{
    json_int_t seq = -1;

    for (*n_lines = 0; *text; (*n_lines)++) {
        const char *end = strchr(text, '\n');

        ck_assert_msg(end != NULL, "a line without an end");

        json_t *answer = json_loadb(text, (size_t)(end - text), JSON_REJECT_DUPLICATES, NULL);

        ck_assert_msg(answer != NULL, "half a line: %.80s", text);
        seq = json_integer_value(json_object_get(answer, "seq"));
        json_decref(answer);
        text = end + 1;
    }
    return seq;
}

TEST(cases, hello_says_who_it_is)
{
    cleanup_json json_t *answer = answer_to("{\"ask\":\"hello\",\"seq\":7}\n");
    const json_t *hello = json_object_get(answer, "hello");

    ck_assert_int_eq(json_integer_value(json_object_get(answer, "seq")), 7);
    ck_assert_int_eq(number(answer, "hello", "protocol"), WIRE_PROTOCOL);
    ck_assert_int_eq(number(answer, "hello", "page_bytes"), sysconf(_SC_PAGESIZE));
    ck_assert_str_eq(json_string_value(json_object_get(hello, "kernel")), "6.12.9-amd64");
    ck_assert_str_eq(json_string_value(json_object_get(hello, "agent")), VMWSS_VERSION);
    ck_assert_int_eq((int)json_string_length(json_object_get(hello, "boot_id")), 36);
}

TEST(cases, a_report_says_what_proc_does)
{
    cleanup_json json_t *answer = answer_to("{\"ask\":\"report\",\"seq\":0}\n");
    json_t *report = json_object_get(answer, "report");
    double avg10;
    json_int_t total_us;

    ck_assert_double_eq(json_real_value(json_object_get(report, "uptime_s")), 812.34);
    ck_assert_int_eq(number(report, "memory", "total_bytes"), 1014576 * 1024);
    ck_assert_int_eq(number(report, "memory", "anon_bytes"), 263640 * 1024);
    ck_assert_int_eq(number(report, "paging", "refault_anon_pages"), 210);
    ck_assert_zero(json_unpack(report, "{s{s{s{sF sI}}}}", "pressure", "memory", "full", "avg10",
                               &avg10, "total_us", &total_us));
    ck_assert_double_eq(avg10, 0.75);
    ck_assert_int_eq(total_us, 2100456);
    ck_assert_ptr_null(json_object_get(report, "pressure_off"));
    ck_assert(json_is_array(json_object_get(report, "processes")));
    ck_assert_ptr_null(json_object_get(report, "working_set"));
}

TEST(cases, why_there_is_no_pressure_is_said)
{
    teardown();
    setup_with("guest-4.19");

    cleanup_json json_t *answer = answer_to("{\"ask\":\"report\",\"seq\":1}\n");
    const json_t *report = json_object_get(answer, "report");
    const char *why = json_string_value(json_object_get(report, "pressure_off"));

    ck_assert_ptr_null(json_object_get(report, "pressure"));
    ck_assert_ptr_nonnull(why);
    ck_assert_ptr_nonnull(strstr(why, "psi=1"));
    ck_assert_uint_le(strlen(why), WIRE_TEXT_MAX);
}

TEST(cases, what_is_no_question_is_not_answered)
{
    ask("\n{}\nnonsense\n[1]\n{\"ask\":\"hello\"}\n{\"ask\":\"hello\",\"seq\":-1}\n"
        "{\"ask\":\"hello\",\"seq\":1.5}\n{\"ask\":\"hello\",\"seq\":1,\"seq\":2}\n"
        "{\"ask\":\"hello\",\"seq\":99999999999999999999}\n{\"ask\":\"\\u0000\",\"seq\":4}\n\xff\n");
    turns(8);
    ck_assert_str_eq(heard(), "");

    cleanup_json json_t *answer = answer_to("{\"ask\":\"format\",\"seq\":5,\"new\":[{}]}\n");

    ck_assert_int_eq(json_integer_value(json_object_get(answer, "seq")), 5);
    ck_assert(json_is_string(json_object_get(answer, "error")));
}

TEST(cases, of_each_kind_the_newest_is_answered)
{
    int n_lines;

    ask("{\"ask\":\"report\",\"seq\":1}\n{\"ask\":\"report\",\"seq\":2}\n{\"ask\":\"hello\",\"seq\":3}\n"
        "{\"ask\":\"x\",\"seq\":4}\n{\"ask\":\"report\",\"seq\":5}\n");
    turns(8);

    const char *text = heard();

    ck_assert_int_eq(last_seq(text, &n_lines), 5);
    ck_assert_int_eq(n_lines, 3);
    ck_assert_ptr_nonnull(strstr(text, "{\"seq\":3,\"hello\":"));
    ck_assert_ptr_nonnull(strstr(text, "{\"seq\":4,\"error\":"));
}

TEST(cases, a_question_may_come_in_pieces)
{
    ask("{\"ask\":\"he");
    turns(3);
    ck_assert_str_eq(heard(), "");
    ask("llo\",\"se");
    turns(3);
    json_decref(answer_to("q\":3}\n"));
}

TEST(cases, a_line_of_10_mib_is_thrown_away)
{
    static char piece[65536];
    size_t sent = 0;

    memset(piece, '[', sizeof(piece) - 1);
    while (sent < (size_t)10 << 20) {
        sent += ask(piece);
        turns(8);
    }
    ck_assert_str_eq(heard(), "");
    ask("\n");
    json_decref(answer_to("{\"ask\":\"hello\",\"seq\":3}\n"));
}

TEST(cases, the_longest_line_is_taken)
{
    char line[WIRE_LINE_MAX + 1];
    static const char question[] = "{\"ask\":\"hello\",\"seq\":1}";

    memset(line, ' ', sizeof(line));
    memcpy(line, question, sizeof(question) - 1);
    line[WIRE_LINE_MAX - 1] = '\n';
    line[WIRE_LINE_MAX] = '\0';
    json_decref(answer_to(line));
    line[WIRE_LINE_MAX - 1] = ' ';
    ask(line);
    ask("\n");
    turns(6);
    ck_assert_str_eq(heard(), "");
    json_decref(answer_to("{\"ask\":\"hello\",\"seq\":2}\n"));
}

TEST(cases, a_flood_that_nobody_reads_leaves_the_newest)
{
    const int small = 4096; /* so that lines are cut by the buffer, too */
    const int n = 20000;
    char question[64];
    int n_lines;

    setsockopt(host, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    for (int i = 0; i < n; i++) {
        snprintf(question, sizeof(question), "{\"ask\":\"hello\",\"seq\":%d}\n", i);
        while (ask(question) == 0)
            turns(1);
        turns(1);
    }
    turns(8);

    /* Lines queued in the sockets are old; the last one is the newest, and few are between. */
    ck_assert_int_eq(last_seq(heard(), &n_lines), n - 1);
    ck_assert_int_lt(n_lines, n / 4);
    json_decref(answer_to("{\"ask\":\"report\",\"seq\":1}\n"));
}

TEST(cases, what_was_cut_is_followed_by_a_newline)
{
    struct outbox outbox = {0};
    char filler[4096] = {0}, text[8192];
    const int small = 4096;
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    ck_assert_int_eq(outbox_put(&outbox, json_pack("{si}", "a", 1)), 0);
    outbox.written = 3; /* as after a write that took but these */
    outbox.cut = true;
    outbox_drop(&outbox);
    ck_assert_ptr_null(outbox.line);
    ck_assert_int_eq(outbox_put(&outbox, json_pack("{si}", "b", 2)), 0);
    ck_assert_int_eq(outbox_write(&outbox, pair[1]), 0);
    ck_assert_int_eq(outbox_put(&outbox, json_pack("{si}", "c", 3)), 0);
    ck_assert_int_eq(outbox_write(&outbox, pair[1]), 0);

    ssize_t n = read(pair[0], text, sizeof(text) - 1);

    text[n > 0 ? n : 0] = '\0';
    ck_assert_str_eq(text, "\n{\"b\":2}\n{\"c\":3}\n");

    while (write(pair[1], filler, sizeof(filler)) > 0)
        ;
    ck_assert_int_eq(outbox_put(&outbox, json_pack("{si}", "d", 4)), 0);
    ck_assert_int_eq(outbox_write(&outbox, pair[1]), -EAGAIN);
    ck_assert_ptr_nonnull(outbox.line);
    close(pair[0]);
    ck_assert_int_eq(outbox_write(&outbox, pair[1]), -EPIPE);
    outbox_drop(&outbox);
    close(pair[1]);
}

TEST(cases, too_long_an_answer_is_refused)
{
    static char text[WIRE_LINE_MAX];
    struct outbox outbox = {0};

    memset(text, 'x', sizeof(text) - 1);
    ck_assert_int_eq(outbox_put(&outbox, json_pack("[s]", text)), -EMSGSIZE);
    ck_assert_ptr_null(outbox.line);
    ck_assert_int_eq(outbox_put(&outbox, NULL), -ENOMEM);
}

/* By differences of the uptime the host divides, also after years. */
TEST(cases, numbers_keep_their_digits)
{
    static const double uptimes[] = {0, 0.01, 773.5, 200000773.41, 3155760000.99, 99999999999.98};

    for (size_t i = 0; i < COUNT(uptimes); i++) {
        struct outbox outbox = {0};
        json_t *again;

        ck_assert_int_eq(outbox_put(&outbox, json_pack("{sf}", "uptime_s", uptimes[i])), 0);
        again = json_loads(outbox.line, 0, NULL);
        ck_assert_double_eq(json_number_value(json_object_get(again, "uptime_s")), uptimes[i]);
        ck_assert_uint_lt(strlen(outbox.line), 32);
        json_decref(again);
        outbox_drop(&outbox);
    }
}

/* No uptime in /proc, and before Linux 5.13 no "full" of the CPU: left out, not 0 and -1. */
TEST(cases, what_is_not_known_is_left_out)
{
    const struct fsroot empty = {.dirfd = open("/proc/self/fdinfo", O_PATH | O_DIRECTORY)};
    struct fsroot old = fixture_open("guest-5.10");
    const struct stall_trigger cpu = {"cpu", "full", 150000, 1000000};
    json_t *report = report_now(&empty, NULL), *told = report_stall(&old, &cpu);
    json_t *stall = json_object_get(told, "stall");

    ck_assert_ptr_null(json_object_get(report, "uptime_s"));
    ck_assert_ptr_null(json_object_get(report, "memory"));
    ck_assert_ptr_null(json_object_get(report, "paging"));
    ck_assert_ptr_nonnull(stall);
    ck_assert_ptr_null(json_object_get(stall, "total_us"));
    json_decref(report);
    json_decref(told);
    fsroot_close(&old);
    close(empty.dirfd);
}

TEST(cases, a_connection_that_is_closed_is_over)
{
    close(host);
    turns(3);
    ck_assert(!agent_attached(agent));
    host = -1;
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

TEST(cases, who_connected_first_keeps_the_agent)
{
    const char *dir = unit_dir();
    const char *path = TEXT_OF(64, "%s/socket", dir);

    close(host);

    int listener = endpoint_listen_unix(path, NULL);

    ck_assert_int_ge(listener, 0);
    ck_assert_int_lt(endpoint_listen_unix(path, NULL), 0);
    ck_assert_int_eq(agent_listen(agent, listener), 0);
    turns(3);
    ck_assert(!agent_attached(agent));

    int first = connect_to(path);

    turns(3);
    host = first;
    json_decref(answer_to("{\"ask\":\"hello\",\"seq\":1}\n"));

    int second = connect_to(path);
    char byte;

    turns(3);
    ck_assert_int_eq(read(second, &byte, 1), 0);
    close(second);
    json_decref(answer_to("{\"ask\":\"hello\",\"seq\":2}\n"));
    close(first);
    turns(3);
    host = connect_to(path);
    turns(3);
    json_decref(answer_to("{\"ask\":\"hello\",\"seq\":1}\n"));
}

/* Without a descriptor for who connects it waits a while, and does not turn and turn; then it takes
 * him. */
/* Before the agent's turn comes: closed, with or without questions left behind, or closed in one
 * direction only while its answer is awaited. */
TEST(cases, the_next_host_is_answered_directly_after_the_one_before)
{
    static const char *const left[] = {"", "{\"ask\":\"hel", "{\"ask\":\"report\",\"seq\":3}\n"};
    const char *dir = unit_dir();
    char text[WIRE_LINE_MAX];
    const char *path = TEXT_OF(64, "%s/socket", dir);

    close(host);
    ck_assert_int_eq(agent_listen(agent, endpoint_listen_unix(path, NULL)), 0);
    host = connect_to(path);
    turns(3);
    for (size_t i = 0; i < 12; i++) {
        bool half = i % 4 == 3;
        int before = host;

        if (half)
            ask("{\"ask\":\"hello\",\"seq\":5}\n");
        else
            for (size_t many = 0; many < (i < 4 ? 1 : 3000); many++)
                ask(left[i % 4]);
        if (half)
            shutdown(before, SHUT_WR);
        else
            close(before);
        host = connect_to(path);
        json_decref(answer_to("{\"ask\":\"hello\",\"seq\":1}\n"));
        if (half) {
            ck_assert_int_gt(read(before, text, sizeof(text)), 0);
            ck_assert_ptr_eq(strstr(text, "{\"seq\":5,"), text);
            close(before);
        }
    }
}

TEST(cases, without_descriptors_it_rests)
{
    const char *dir = unit_dir();
    struct rlimit before, none;
    int listener, n = 0;
    const char *path = TEXT_OF(64, "%s/socket", dir);

    listener = endpoint_listen_unix(path, NULL);
    ck_assert_int_eq(agent_listen(agent, listener), 0);
    close(host);
    turns(3);
    host = connect_to(path);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    /* By the real time, as the virtual clock needs descriptors: the busier the machine, the fewer
     * turns there are. */
    for (uint64_t until_ns = clock_ns() + 300000000; clock_ns() < until_ns; n++)
        ck_assert_int_eq(agent_turn(agent, 100), 0);
    ck_assert_int_lt(n, 20);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (int i = 0; i < 10 && !agent_attached(agent); i++)
        ck_assert_int_eq(agent_turn(agent, -1), 0);
    ck_assert(agent_attached(agent));
    json_decref(answer_to("{\"ask\":\"hello\",\"seq\":1}\n"));
}

/* A trigger that fires: out-of-band data is what else poll() reports as POLLPRI. */
static int fake_trigger(int *fire)
{
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    *fire = pair[0];
    return pair[1];
}

static const struct stall_trigger trigger = {"memory", "full", 150000, 1000000};

TEST(cases, a_stall_is_told_once_and_first)
{
    int fire, n_lines, fd = fake_trigger(&fire);

    ck_assert_int_eq(agent_watch(agent, &trigger, fd), 0);
    turns(3);
    ck_assert_str_eq(heard(), "");
    ask("{\"ask\":\"hello\",\"seq\":1}\n");
    ck_assert_int_eq(send(fire, "!", 1, MSG_OOB), 1);
    turns(6);

    const char *text = heard();

    ck_assert_ptr_eq(
        strstr(text, "{\"stall\":{\"resource\":\"memory\",\"kind\":\"full\",\"threshold_us\":"
                     "150000,\"window_us\":1000000,\"uptime_s\":812.34,\"total_us\":"
                     "2100456}}\n"),
        text);
    last_seq(text, &n_lines);
    ck_assert_int_eq(n_lines, 2);
    close(fire);
}

TEST(cases, a_stall_while_nobody_listens_is_not_told)
{
    int fire, pair[2], fd = fake_trigger(&fire);

    ck_assert_int_eq(agent_watch(agent, &trigger, fd), 0);
    close(host);
    turns(3);
    ck_assert_int_eq(send(fire, "!", 1, MSG_OOB), 1);
    turns(3);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    ck_assert_int_eq(agent_attach(agent, pair[1]), 0);
    host = pair[0];
    turns(3);
    ck_assert_str_eq(heard(), "");
    close(fire);
}

TEST(cases, there_is_an_end_to_triggers)
{
    int fire, fd = fake_trigger(&fire);

    for (int i = 0; i < AGENT_TRIGGERS_MAX; i++)
        ck_assert_int_eq(agent_watch(agent, &trigger, dup(fd)), 0);
    ck_assert_int_eq(agent_watch(agent, &trigger, fd), -E2BIG);
    close(fire);
    close(fd);
}

/* Somebody holds the lock of a process's mappings: the report comes all the same, without what
 * needs that lock. */
TEST(cases, a_process_that_cannot_be_looked_at_delays_nobody)
{
    const char *dir = unit_dir();
    cleanup_root struct fsroot tree;
    cleanup_json json_t *all;

    unit_shell("cp -r %s/guest-processes-6.18/proc %s/", FIXTURES, dir);
    ck_assert_int_eq(fsroot_open(&tree, dir), 0);
    all = apart_processes(&tree, 5000);
    ck_assert_uint_gt(json_array_size(all), 0);
    ck_assert_ptr_nonnull(json_object_get(json_array_get(all, 0), "pss_bytes"));

    /* Opening a FIFO waits for a writer. */
    unit_shell("cd %s/proc && rm 42/smaps_rollup && mkfifo 42/smaps_rollup", dir);
    for (int i = 0; i < 2; i++) {
        json_t *some = apart_processes(&tree, 100);

        ck_assert_uint_eq(json_array_size(some), json_array_size(all));
        ck_assert_ptr_null(json_object_get(json_array_get(some, 0), "pss_bytes"));
        ck_assert_ptr_nonnull(json_object_get(json_array_get(some, 0), "rss_bytes"));
        json_decref(some);
    }
}

int unit_begin(void)
{
    signal(SIGPIPE, SIG_IGN);
    return 0;
}
