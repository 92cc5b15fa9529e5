// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_agent_channel.c  The channel to an agent before a server that says what the test
 * says; the clock is the test's. */
#include "fixture.h"
#include "guest/agent/agent_ask.h"
#include "guest/agent/agent_channel_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define RAM (1ULL << 30)
#define SECOND 1000000000ULL

static struct agent_endpoint endpoint;
static struct agent_channel *channel;
static struct agent_event event;
static int listener = -1, server = -1;
static uint64_t now;
static unsigned long long seq; /* of the last question heard */

static void begin_listening(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(endpoint.path, sizeof(endpoint.path), "/tmp/vmwss-test-%d.sock", (int)getpid());
    unlink(endpoint.path);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", endpoint.path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
}

static void setup(void)
{
    begin_listening();
    channel = agent_channel_new(&endpoint, RAM);
    now = 5 * SECOND;
}

static void teardown(void)
{
    agent_channel_free(channel);
    close(server);
    close(listener);
    unlink(endpoint.path);
}

static enum agent_event_kind next(void)
{
    memset(&event, 0, sizeof(event));
    return agent_channel_next(channel, now, &event);
}

/* Checks that the channel has asked for @p ask. */
static void hear(const char *ask, bool first)
{
    char line[256] = {0};
    char expected[64];

    ck_assert_int_gt(recv(server, line, sizeof(line) - 1, MSG_DONTWAIT), 0);
    snprintf(expected, sizeof(expected), "%s{\"ask\":\"%s\",\"seq\":", first ? "\n" : "", ask);
    ck_assert_msg(strncmp(line, expected, strlen(expected)) == 0, "%s", line);
    seq = strtoull(line + strlen(expected), NULL, 10);
    snprintf(expected + strlen(expected), 32, "%llu}\n", seq);
    ck_assert_str_eq(line, expected);
}

static void say_bytes(const char *bytes, size_t length)
{
    ck_assert_int_eq(send(server, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL), (ssize_t)length);
}

static void say(const char *text)
{
    say_bytes(text, strlen(text));
}

/* To the last question heard; BODY without its braces. */
static void say_answer(const char *body)
{
    const char *line = TEXT_OF(256, "{\"seq\":%llu,%s}\n", seq, body);

    say(line);
}

static void say_hello(void)
{
    say_answer("\"hello\":{\"protocol\":1,\"agent\":\"0.1\"}");
}

static void say_report(double uptime_s)
{
    const char *body = TEXT_OF(64, "\"report\":{\"uptime_s\":%g}", uptime_s);

    say_answer(body);
}

/* Up to the question for a hello. */
static void connect_to_it(void)
{
    ck_assert_int_eq(agent_channel_ask(channel, now), 0);
    ck_assert_int_eq(next(), AGENT_NOTHING);
    close(server);
    server = accept(listener, NULL, NULL);
    ck_assert_int_ge(server, 0);
    hear("hello", true);
}

/* Up to the question for a report. */
static void greet(void)
{
    connect_to_it();
    say_hello();
    ck_assert_int_eq(next(), AGENT_NOTHING);
    hear("report", false);
}

static void expect_report(double uptime_s)
{
    ck_assert_msg(next() == AGENT_REPORT, "%d %s", event.kind, event.error.text);
    ck_assert_double_eq(event.message.report.uptime_s, uptime_s);
    ck_assert_int_eq(next(), AGENT_NOTHING);
}

static void exchange_report(double uptime_s)
{
    say_report(uptime_s);
    expect_report(uptime_s);
}

static void expect_fault(enum agent_event_kind kind, enum agent_fault fault, const char *words)
{
    ck_assert_int_eq(next(), kind);
    ck_assert_msg(event.fault == fault, "%s: %s", agent_fault_name(event.fault), event.error.text);
    ck_assert_msg(strstr(event.error.text, words) != NULL, "'%s'", event.error.text);
    ck_assert_int_lt(event.error.code, 0);
    ck_assert_int_eq(agent_channel_fd(channel) < 0, kind == AGENT_FAILED);
}

FIXTURE(cases_tests, .setup = setup, .teardown = teardown);

TEST(cases_tests, hello_once_and_a_report_each)
{
    ck_assert_ptr_null(agent_channel_hello(channel));
    ck_assert_uint_eq(agent_channel_deadline(channel), UINT64_MAX);
    greet();
    ck_assert_str_eq(agent_channel_hello(channel)->agent, "0.1");
    ck_assert_uint_eq(agent_channel_deadline(channel), now + 2 * SECOND);
    ck_assert_int_eq(agent_channel_ask(channel, now), -EALREADY);
    exchange_report(7);
    ck_assert_uint_eq(agent_channel_deadline(channel), UINT64_MAX);
    ck_assert_int_eq(agent_channel_ask(channel, now), 0);
    hear("report", false);
    exchange_report(8);
}

TEST(cases_tests, an_answer_in_pieces)
{
    greet();
    say("{\"seq\":");
    ck_assert_int_eq(next(), AGENT_NOTHING);
    const char *rest = TEXT_OF(64, "%llu,\"report\":{\"uptime_s\":3}}", seq);

    say(rest);
    ck_assert_int_eq(next(), AGENT_NOTHING);
    say("\n\n\n");
    expect_report(3);
}

/* A thousand of them are part of the daemon's 64 MiB. */
TEST(cases_tests, a_channel_at_rest_is_small)
{
    ck_assert_uint_le(sizeof(*channel), 2560);
    greet();
    ck_assert_ptr_null(channel->inbox);
    say("{\"seq\":");
    ck_assert_int_eq(next(), AGENT_NOTHING);
    ck_assert_ptr_nonnull(channel->inbox); /* a line is under way */
    say("}\n");
    expect_fault(AGENT_FAULT, AGENT_FAULT_MESSAGE, "");
    ck_assert_int_eq(next(), AGENT_NOTHING);
    ck_assert_ptr_null(channel->inbox);
    say_report(3);
    say_report(4); /* nobody asked */
    ck_assert_int_eq(next(), AGENT_REPORT);
    ck_assert_ptr_nonnull(channel->inbox); /* that is still to be told */
    ck_assert_int_eq(next(), AGENT_FAULT);
    ck_assert_int_eq(next(), AGENT_NOTHING);
    ck_assert_ptr_null(channel->inbox);
}

TEST(cases_tests, silence_ends_at_the_deadline)
{
    greet();
    now += 2 * SECOND - 1;
    ck_assert_int_eq(next(), AGENT_NOTHING);
    now += 1;
    expect_fault(AGENT_FAILED, AGENT_FAULT_SILENT, "no answer within 2 s");
    ck_assert_int_eq(next(), AGENT_NOTHING);
}

TEST(cases_tests, failures_in_a_row_back_off)
{
    for (unsigned n = 1; n <= 10; n++) {
        uint64_t seconds = n < 8 ? 1ULL << n : AGENT_BACKOFF_MAX_S;

        connect_to_it();
        now += 2 * SECOND;
        expect_fault(AGENT_FAILED, AGENT_FAULT_SILENT, "no answer");
        ck_assert_uint_eq(channel->backoff_ns, now + seconds * SECOND);
        ck_assert_int_eq(agent_channel_ask(channel, now + seconds * SECOND - 1), -EAGAIN);
        now += seconds * SECOND;
    }
    ck_assert_uint_eq(channel->faults[AGENT_FAULT_SILENT], 10);
    greet();
    exchange_report(1);
    close(server);
    server = -1;
    expect_fault(AGENT_FAILED, AGENT_FAULT_CLOSED, "hung up");
    ck_assert_uint_eq(channel->backoff_ns, now + 2 * SECOND);
}

/* As when it answers a client before us, or late. */
TEST(cases_tests, other_answers_are_ignored)
{
    greet();
    seq--;
    say_report(99);
    seq += 2;
    say_report(98);
    seq--;
    say_report(5);
    expect_fault(AGENT_FAULT, AGENT_FAULT_SEQUENCE, "another question");
    expect_report(5);
    ck_assert_uint_eq(channel->faults[AGENT_FAULT_SEQUENCE], 2);
}

TEST(cases_tests, an_answer_of_another_kind)
{
    connect_to_it();
    say_report(5);
    expect_fault(AGENT_FAULT, AGENT_FAULT_SEQUENCE, "another question");
    now += 2 * SECOND;
    expect_fault(AGENT_FAILED, AGENT_FAULT_SEQUENCE, "what came is wrong: an answer to");
    ck_assert_uint_eq(channel->faults[AGENT_FAULT_SILENT], 0);
}

TEST(cases_tests, garbage_is_skipped_and_told_once)
{
    greet();
    say_bytes("\0\xff{}\n{\"seq\":1,\"seq\":1}\n", 23);
    say_report(5);
    expect_fault(AGENT_FAULT, AGENT_FAULT_MESSAGE, "a control character");
    expect_report(5);
    ck_assert_int_eq(agent_channel_ask(channel, now), 0);
    hear("report", false);
    say("more of it\n");
    exchange_report(6);
    ck_assert_uint_eq(channel->faults[AGENT_FAULT_MESSAGE], 3);
}

TEST(cases_tests, a_lie_fails_by_its_reason)
{
    char line[256];

    greet();
    snprintf(line, sizeof(line),
             "{\"seq\":%llu,\"report\":{\"memory\":{\"total_bytes\":9999999999}}}\n", seq);
    say(line);
    expect_fault(AGENT_FAULT, AGENT_FAULT_MESSAGE, "report.memory.total_bytes: 9999999999");
    now += 2 * SECOND;
    expect_fault(AGENT_FAILED, AGENT_FAULT_MESSAGE, "what came is wrong: report.memory.total");
    agent_channel_set_ram(channel, 1ULL << 40); /* memory was plugged */
    now += 2 * SECOND;
    greet();
    snprintf(line, sizeof(line),
             "{\"seq\":%llu,\"report\":{\"uptime_s\":1,\"memory\":{\"total_bytes\":9999999999}}}\n",
             seq);
    say(line);
    expect_report(1);
}

TEST(cases_tests, a_line_without_end_is_skipped)
{
    static char line[WIRE_LINE_MAX + 100];

    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    greet();
    say_bytes(line, sizeof(line));
    say_report(5);
    ck_assert_int_eq(next(), AGENT_NOTHING);
    expect_fault(AGENT_FAULT, AGENT_FAULT_LONG, "more than 16384 bytes");
    expect_report(5);
    ck_assert_uint_eq(channel->faults[AGENT_FAULT_LONG], 1);
    ck_assert_uint_eq(channel->faults[AGENT_FAULT_MESSAGE], 0);
}

/* Sends until it is cut off; how many bytes it could send. */
static size_t flood(const char *piece, size_t length)
{
    size_t sent = 0;

    for (;;) {
        ssize_t n = send(server, piece, length, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n > 0)
            sent += (size_t)n;
        if (next() == AGENT_FAILED)
            return sent;
        ck_assert_uint_lt(sent, 64 << 20);
    }
}

TEST(cases_tests, bytes_that_nobody_asked_for_have_an_end)
{
    static char piece[4096];

    memset(piece, 'x', sizeof(piece));
    greet();
    ck_assert_uint_lt(flood(piece, sizeof(piece)), AGENT_UNASKED_BYTES + 2 * WIRE_LINE_MAX);
    ck_assert_int_eq(event.fault, AGENT_FAULT_FLOOD);
    ck_assert_ptr_nonnull(strstr(event.error.text, "64 KiB"));
    ck_assert_ptr_nonnull(strstr(event.error.text, "first a line of more than"));
    ck_assert_int_eq(agent_channel_fd(channel), -1);
    /* Eight seconds later the agent's allowance has recovered. */
    now += 8 * SECOND;
    greet();
    ck_assert_uint_ge(flood(piece, sizeof(piece)), AGENT_UNASKED_BYTES);
}

static const char stall[] =
    "{\"stall\":{\"resource\":\"memory\",\"kind\":\"full\",\"uptime_s\":1}}\n";

TEST(cases_tests, stalls_are_told_and_have_an_end)
{
    greet();
    say(stall);
    say_report(5);
    ck_assert_int_eq(next(), AGENT_STALL);
    ck_assert_str_eq(event.message.stall.kind, "full");
    expect_report(5);
    for (int i = 1; i < AGENT_UNASKED_LINES; i++) {
        say(stall);
        ck_assert_int_eq(next(), AGENT_STALL);
        ck_assert_int_eq(next(), AGENT_NOTHING);
    }
    now += SECOND / AGENT_UNASKED_LINES_A_SECOND; /* one more */
    say(stall);
    ck_assert_int_eq(next(), AGENT_STALL);
    say(stall);
    ck_assert_int_eq(next(), AGENT_STALL);
    expect_fault(AGENT_FAILED, AGENT_FAULT_FLOOD, "64 lines");
}

/* Two minutes between two questions, in which it told of a stall every 0.9 s. */
TEST(cases_tests, stalls_that_nobody_read_are_no_flood)
{
    int told = 0;

    greet();
    exchange_report(5);
    for (int i = 0; i < 133; i++)
        say(stall);
    now += 120 * SECOND;
    ck_assert_int_eq(agent_channel_ask(channel, now), 0);
    hear("report", false);
    say_report(125);
    while (next() == AGENT_STALL)
        told++;
    ck_assert_msg(event.kind == AGENT_REPORT, "%d, after %d: %s", event.kind, told,
                  event.error.text);
    ck_assert_int_eq(told, 133);
}

/* As many triggers as an agent has, all of which fire all the time. */
TEST(cases_tests, eight_triggers_are_no_flood)
{
    greet();
    exchange_report(5);
    for (int i = 0; i < 600; i++) {
        now += 9 * SECOND / 10;
        for (int k = 0; k < 8; k++)
            say(stall);
        for (int k = 0; k < 8; k++)
            ck_assert_int_eq(next(), AGENT_STALL);
        ck_assert_int_eq(next(), AGENT_NOTHING);
    }
}

/* After a quiet day the agent may send what the sockets buffered, and no more. */
TEST(cases_tests, a_quiet_day_does_not_pay_for_a_flood)
{
    static char piece[4096];
    int told = 0;

    memset(piece, 'x', sizeof(piece));
    greet();
    exchange_report(5);
    now += 86400 * SECOND;
    ck_assert_uint_lt(flood(piece, sizeof(piece)), AGENT_UNREAD_BYTES + 2 * WIRE_LINE_MAX);
    ck_assert_int_eq(event.fault, AGENT_FAULT_FLOOD);
    now += 86400 * SECOND;
    greet();
    for (;; told++) {
        say(stall);
        if (next() != AGENT_STALL || next() == AGENT_FAILED)
            break;
    }
    ck_assert_int_eq(event.fault, AGENT_FAULT_FLOOD);
    ck_assert_int_le(told, AGENT_UNREAD_LINES);
}

/* Answers are asked for: they cost nothing. */
TEST(cases_tests, an_honest_agent_is_never_a_flood)
{
    static char line[WIRE_LINE_MAX];

    greet();
    for (int i = 0; i < 100; i++) {
        int length = snprintf(line, sizeof(line), "{\"seq\":%llu,\"report\":{\"uptime_s\":1}}",
                              seq);

        memset(line + length, ' ', sizeof(line) - (size_t)length);
        line[sizeof(line) - 1] = '\n';
        say_bytes(line, sizeof(line));
        expect_report(1);
        ck_assert_int_eq(agent_channel_ask(channel, now), 0);
        hear("report", false);
    }
}

TEST(cases_tests, a_slow_drip_has_no_more_time)
{
    greet();
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(next(), AGENT_NOTHING);
        say("{");
        now += SECOND / 10;
    }
    expect_fault(AGENT_FAILED, AGENT_FAULT_SILENT, "no answer within 2 s");
}

TEST(cases_tests, what_nobody_takes_is_busy)
{
    ck_assert_int_eq(agent_channel_ask(channel, now), 0); /* another has its turn */
    ck_assert_int_eq(next(), AGENT_NOTHING);
    now += 2 * SECOND;
    expect_fault(AGENT_FAILED, AGENT_FAULT_BUSY, "by vmwssd or another program");
}

TEST(cases_tests, a_full_queue_is_busy)
{
    struct agent_channel *others[2];

    for (int i = 0; i < 2; i++) {
        others[i] = agent_channel_new(&endpoint, RAM);
        ck_assert_int_eq(agent_channel_ask(others[i], now), 0);
        ck_assert_int_ge(agent_channel_fd(others[i]), 0);
    }
    ck_assert_int_eq(agent_channel_ask(channel, now), 0);
    ck_assert_uint_eq(agent_channel_deadline(channel), 0);
    expect_fault(AGENT_FAILED, AGENT_FAULT_BUSY, "in use");
    for (int i = 0; i < 2; i++)
        agent_channel_free(others[i]);
}

TEST(cases_tests, no_socket_and_nobody_behind_it)
{
    close(listener);
    listener = -1;
    ck_assert_int_eq(agent_channel_ask(channel, now), 0);
    expect_fault(AGENT_FAILED, AGENT_FAULT_CONNECT, "Connection refused");
    ck_assert_ptr_nonnull(strstr(event.error.text, endpoint.path));
    unlink(endpoint.path);
    now += 2 * SECOND;
    ck_assert_int_eq(agent_channel_ask(channel, now), 0);
    expect_fault(AGENT_FAILED, AGENT_FAULT_CONNECT, "No such file");
}

/* By the clock, for a second and less. */
TEST(cases_tests, asked_too_soon_it_fails_for_the_same_reason)
{
    close(listener);
    listener = -1;
    for (int i = 0; i < 2; i++) {
        memset(&event, 0, sizeof(event));
        ck_assert_int_eq(agent_ask(channel, &event, NULL, NULL), -ECONNREFUSED);
        ck_assert_int_eq(event.error.code, -ECONNREFUSED);
        ck_assert_msg(strstr(event.error.text, "Connection refused") != NULL, "%s",
                      event.error.text);
    }
    ck_assert_uint_eq(channel->faults[AGENT_FAULT_CONNECT], 1); /* not asked */
}

/* Its first answer is of less than the uptime before. */
static void expect_greeting_after(double uptime_s, double uptime_then_s)
{
    ck_assert_int_eq(agent_channel_ask(channel, now), 0);
    hear("report", false);
    say_report(uptime_s);
    ck_assert_int_eq(next(), AGENT_NOTHING);
    hear("hello", false);
    say_hello();
    ck_assert_int_eq(next(), AGENT_NOTHING);
    hear("report", false);
    exchange_report(uptime_then_s);
}

TEST(cases_tests, a_restarted_guest_is_greeted_again)
{
    greet();
    exchange_report(1000);
    expect_greeting_after(12, 13);
    /* One whose clock goes back all the time is asked but twice. */
    expect_greeting_after(12, 11);
}

TEST(cases_tests, a_suspended_guest_is_not_to_blame)
{
    greet();
    agent_channel_suspend(channel);
    now += 60 * SECOND;
    ck_assert_int_eq(next(), AGENT_NOTHING);
    ck_assert_int_eq(agent_channel_fd(channel), -1);
    ck_assert_uint_eq(channel->faults[AGENT_FAULT_SILENT], 0);
    greet();
    exchange_report(5);
}

TEST(cases_tests, a_newer_protocol_is_not_guessed_at)
{
    connect_to_it();
    say_answer("\"hello\":{\"protocol\":2}");
    expect_fault(AGENT_FAILED, AGENT_FAULT_REFUSED, "speaks protocol 2, this host 1");
    ck_assert_ptr_null(agent_channel_hello(channel));
}

TEST(cases_tests, a_refusal_fails_in_its_words)
{
    connect_to_it();
    say_answer("\"error\":\"no such question\"");
    expect_fault(AGENT_FAILED, AGENT_FAULT_REFUSED, "refuses the question: no such question");
}

TEST(cases_tests, another_socket_has_no_grudge)
{
    close(listener);
    ck_assert_int_eq(agent_channel_ask(channel, now), 0);
    expect_fault(AGENT_FAILED, AGENT_FAULT_CONNECT, "refused");
    begin_listening();
    agent_channel_redirect(channel, &endpoint);
    ck_assert_int_eq(agent_channel_ask(channel, now), -EAGAIN);
    agent_channel_set_endpoint(channel, &endpoint);
    greet();
    exchange_report(5);
}

/* Makes endpoint that of another process, which listens until the pipe is closed; its pid. */
static pid_t serve_as_another(int *end_fd)
{
    int ready[2];
    int end[2];
    char byte;
    pid_t pid;

    unlink(endpoint.path);

    ck_assert_int_eq(pipe(ready), 0);
    ck_assert_int_eq(pipe(end), 0);
    pid = fork();
    if (pid == 0) {
        close(end[1]);
        begin_listening();
        _exit(write(ready[1], "", 1) == 1 && read(end[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(end[0]);
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    snprintf(endpoint.path, sizeof(endpoint.path), "/tmp/vmwss-test-%d.sock", (int)pid);
    *end_fd = end[1];
    return pid;
}

TEST(cases_tests, a_socket_of_another_process_is_refused)
{
    struct error error = {0};
    int end_fd;
    pid_t pid = serve_as_another(&end_fd);

    strcpy(endpoint.uuid, "0b0b0b0b-1111-2222-3333-444444444444");
    ck_assert_int_eq(agent_endpoint_connect(&endpoint, &error), -EACCES);
    ck_assert_ptr_nonnull(strstr(error.text, endpoint.path));
    ck_assert_ptr_nonnull(strstr(error.text, "not this domain's QEMU"));
    close(end_fd);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* --- what a QEMU serves ----------------------------------------------------------------------- */

#define QEMU_UUID "0b0b0b0b-1111-2222-3333-444444444444"

/* In a process of its own: serves endpoint.path, then is a shell that is called as a QEMU is, with
 * this option ("%s" is that path) and device, and ends with its input. */
static void be_qemu(const char *exe, const char *const option[2], const char *device)
{
    char value[256];

    begin_listening();
    fcntl(listener, F_SETFD, 0);
    snprintf(value, sizeof(value), option[1], endpoint.path); /* NOLINT: the test's own formats */
    execl(exe, exe, "-c", "read _", "-uuid", QEMU_UUID, option[0], value, "-device", device, NULL);
    _exit(1);
}

/* agent_endpoint_connect() to one, whose name at @p exe is. */
static int connect_to_qemu(const char *exe, const char *const option[2], const char *device,
                           struct error *error)
{
    int input[2];
    int begun[2]; /* closed when the shell is there */
    char byte;

    ck_assert_int_eq(pipe2(input, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(begun, O_CLOEXEC), 0);

    pid_t pid = fork();

    if (pid == 0) {
        dup2(input[0], STDIN_FILENO);
        be_qemu(exe, option, device);
    }
    close(input[0]);
    close(begun[1]);
    ck_assert_int_eq(read(begun[0], &byte, 1), 0);
    close(begun[0]);

    struct agent_endpoint qemu = {.uuid = QEMU_UUID};

    snprintf(qemu.path, sizeof(qemu.path), "/tmp/vmwss-test-%d.sock", (int)pid);

    int fd = agent_endpoint_connect(&qemu, error);

    unlink(qemu.path);
    close(input[1]);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    return fd;
}

static void copy_shell(const char *to)
{
    unit_shell("cp -L /bin/sh %s", to);
}

TEST(cases_tests, of_a_qemu_only_the_port_is_taken)
{
    static const char *const other_device = "virtserialport,chardev=c,name=org.qemu.guest_agent.0";
    static const char *const port = "virtserialport,chardev=c,name=org.vmwss.guest.0";
    static const char *const chardev[] = {"-chardev", "socket,id=c,path=%s,server=on"};
    static const char *const passed[] = {"-chardev", "socket,id=c,fd=3,server=on"};
    static const char *const qmp[] = {"-qmp", "unix:%s,server=on,wait=off"};
    static const struct {
        const char *const *option;
        const char *device;
        bool taken;
    } cases[] = {{chardev, port, true},
                 {passed, other_device, true},
                 {chardev, other_device, false},
                 {qmp, port, false}};
    char dir[] = "/tmp/vmwss-qemu.XXXXXX";

    ck_assert_ptr_nonnull(mkdtemp(dir));

    const char *exe = TEXT_OF(64, "%s/qemu-system-x86_64", dir);

    copy_shell(exe);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct error error = {0};
        int fd = connect_to_qemu(exe, cases[i].option, cases[i].device, &error);

        if (cases[i].taken) {
            ck_assert_msg(fd >= 0, "case %zu: %s", i, error.text);
            close(fd);
            continue;
        }
        ck_assert_msg(fd == -EACCES, "case %zu: %d", i, fd);
        ck_assert_ptr_nonnull(strstr(error.text, "QEMU serves no agent's port there"));
    }
    unlink(exe);
    ck_assert_int_eq(rmdir(dir), 0);
}

TEST(cases_tests, what_is_no_socket_is_refused)
{
    struct agent_endpoint other = {0};
    struct error error = {0};

    snprintf(other.path, sizeof(other.path), "%s.link", endpoint.path);
    unlink(other.path);
    ck_assert_int_eq(symlink(endpoint.path, other.path), 0);
    ck_assert_error(agent_endpoint_connect(&other, &error), -ELOOP, other.path);
    unlink(other.path);
    ck_assert_int_eq(agent_endpoint_connect(&other, &error), -ENOENT);
    strcpy(other.path, "/dev/null");
    ck_assert_int_eq(agent_endpoint_connect(&other, &error), -ENOTSOCK);
}

TEST(cases_tests, ways_to_an_agent)
{
    struct agent_endpoint way;
    struct agent_port port = {.present = true, .path = "/run/x", .closed = true, .uuid = "0b"};
    struct error error = {0};

    ck_assert_int_eq(agent_endpoint_choose(&port, &way, &error), 0);
    ck_assert_str_eq(way.path, "/run/x");
    ck_assert_str_eq(way.uuid, "0b");
    ck_assert(way.closed);
    port.vsock_cid = 7;
    ck_assert_int_eq(agent_endpoint_choose(&port, &way, &error), 0);
    ck_assert_str_eq(way.path, "");
    ck_assert_uint_eq(way.vsock_cid, 7);
    port.closed = false;
    ck_assert_int_eq(agent_endpoint_choose(&port, &way, &error), 0);
    ck_assert_str_eq(way.path, "/run/x");
    port = (struct agent_port){.present = true};
    ck_assert_int_eq(agent_endpoint_choose(&port, &way, &error), -EOPNOTSUPP);
    port = (struct agent_port){0};
    ck_assert_error(agent_endpoint_choose(&port, &way, &error), -ENOENT,
                    "<channel type='unix'><target type='virtio' "
                    "name='org.vmwss.guest.0'/></channel>");
}
