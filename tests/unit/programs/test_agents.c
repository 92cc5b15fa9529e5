// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_agents.c  What vmwssd's log is told of an agent that does as it likes. */
#include "base/clock.h"
#include "fixture.h"
#include "programs/vmwssd/agents/agents_private.h"
#include "virtual_clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SECOND 1000000000ULL
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

static struct agents agents;
static struct agent_peer peer;
static struct agent_endpoint endpoint;
static int listener = -1, server = -1, said_fd = -1, stderr_fd = -1;

static void setup(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    virtual_clock_start();
    snprintf(endpoint.path, sizeof(endpoint.path), "/tmp/vmwss-agents-%d.sock", (int)getpid());
    unlink(endpoint.path);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", endpoint.path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(listener, 1), 0);

    agents = (struct agents){
        .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .list = &peer, .n = 1};
    pthread_mutex_init(&agents.mutex, NULL);
    peer = (struct agent_peer){.name = "g", .channel = agent_channel_new(&endpoint, 1 << 30)};
    guest_tracker_init(&peer.tracker, "not asked yet");

    said_fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_ge(said_fd, 0);
    stderr_fd = dup(STDERR_FILENO);
    dup2(said_fd, STDERR_FILENO);
}

static void teardown(void)
{
    dup2(stderr_fd, STDERR_FILENO);
    close(stderr_fd);
    close(said_fd);
    agent_channel_free(peer.channel);
    free(agents.fds);
    close(agents.wake_fd);
    close(server);
    close(listener);
    unlink(endpoint.path);
}

/* How many lines of the log have these words. */
static unsigned logged(const char *words)
{
    static char text[65536];
    ssize_t length = pread(said_fd, text, sizeof(text) - 1, 0);
    unsigned n = 0;

    ck_assert_int_ge(length, 0);
    text[length] = '\0';
    for (const char *at = text; (at = strstr(at, words)); at += strlen(words))
        n++;
    return n;
}

static void listen_once(void)
{
    agents_listen(&agents, clock_ns() + SECOND, false);
}

static void say(const char *text)
{
    ck_assert_int_eq(send(server, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void answer(const char *body)
{
    char line[256] = {0};
    const char *at;

    ck_assert_int_gt(recv(server, line, sizeof(line) - 1, 0), 0);
    at = strstr(line, "\"seq\":");
    ck_assert_ptr_nonnull(at);
    snprintf(line, sizeof(line), "{\"seq\":%llu,%s}\n", strtoull(at + 6, NULL, 10), body);
    say(line);
    listen_once();
}

/* Up to its report. */
static void greet(void)
{
    ck_assert_int_eq(agent_channel_ask(peer.channel, clock_ns()), 0);
    server = accept(listener, NULL, NULL);
    listen_once();
    answer("\"hello\":{\"protocol\":1,\"agent\":\"0.1\",\"kernel\":\"6.1\"}");
    answer("\"report\":{\"uptime_s\":1}");
    ck_assert(peer.tracker.updated);
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

/* After each failure it is there again; the grudge is left out, which would take two seconds
 * each. */
TEST(cases, one_that_alternates_does_not_fill_the_log)
{
    for (int i = 0; i < 5; i++) {
        greet();
        close(server);
        listen_once();
        ck_assert_int_lt(agent_channel_fd(peer.channel), 0);
        agent_channel_set_endpoint(peer.channel, &endpoint);
    }
    greet();
    ck_assert_uint_eq(logged("<6>domain g: its agent answers (0.1, Linux 6.1)\n"), 1);
    ck_assert_uint_eq(logged("<5>domain g: its agent (closed): "), 1);
    ck_assert_uint_eq(logged("domain g: "), 2);
}

/* Asked after each, it does not say each. */
TEST(cases, stalls_do_not_fill_the_log)
{
    greet();
    for (int i = 0; i < 5; i++) {
        peer.asked_ns = 0;
        say("{\"stall\":{\"resource\":\"memory\",\"kind\":\"full\",\"uptime_s\":1}}\n");
        listen_once();
        ck_assert_uint_gt(peer.asked_ns, clock_ns());
        answer("\"report\":{\"uptime_s\":2}");
    }
    ck_assert_uint_eq(logged("<6>domain g: reports a stall for memory (full)"), 1);
}

static const char severe[] = "{\"stall\":{\"resource\":\"memory\",\"kind\":\"some\",\"uptime_s\":1,"
                             "\"threshold_us\":100000,\"window_us\":1000000}}\n";

/* With the budget used up: who drives balloons waits for it. */
TEST(cases, a_stall_is_heard_while_the_ledger_has_all_wait)
{
    greet();
    agents_listen(&agents, clock_ns(), true);
    say(severe);
    agents_listen(&agents, clock_ns(), true); /* not each time */
    ck_assert_uint_eq(peer.stall_ns, 0);
    agents.listened_ns -= HELD_LISTEN_NS;
    agents_listen(&agents, clock_ns() + HOUR, true);
    ck_assert_uint_gt(peer.stall_ns, 0);
    ck_assert_uint_eq(agent_channel_deadline(peer.channel), UINT64_MAX); /* asking waits */
}

TEST(cases, stalls_that_are_not_said_are_counted)
{
    greet();
    for (int i = 0; i < 5; i++)
        say("{\"stall\":{\"resource\":\"io\",\"kind\":\"some\",\"uptime_s\":1}}\n");
    listen_once();
    peer.log_limit.stall_ns -= LOG_LIMIT_STALL_NS;
    say("{\"stall\":{\"resource\":\"memory\",\"kind\":\"full\",\"uptime_s\":2}}\n");
    listen_once();
    ck_assert_uint_eq(logged("<6>domain g: reports a stall for io (some)\n"), 1);
    ck_assert_uint_eq(
        logged(
            "<6>domain g: reports a stall for memory (full); 4 more since the last such message"),
        1);
    ck_assert_uint_eq(logged("reports a stall"), 2);
}

TEST(cases, who_answers_is_said_once)
{
    struct log_limit log_limit = {0};
    const struct agent_hello hello = {.agent = "0.1", .kernel = "6.1", .boot_id = "b1"};
    const struct agent_hello other = {.agent = "0.1", .kernel = "6.12", .boot_id = "b2"};
    uint64_t now = HOUR;
    unsigned n = 0;

    ck_assert(log_limit_answer(&log_limit, &hello, now));
    ck_assert(!log_limit_answer(&log_limit, &hello, now + 2 * HOUR));
    now += 3 * HOUR;
    ck_assert(log_limit_answer(&log_limit, &other, now)); /* the guest booted another kernel */
    for (int i = 1; i <= 10 * 60; i++) /* and now every half a minute another one */
        n += log_limit_answer(&log_limit, i % 2 ? &hello : &other, now + (uint64_t)i * MINUTE / 2);
    ck_assert_uint_le(n, 5);
    now += 6 * HOUR;
    n = 0;
    for (int i = 0; i < 60; i++) /* one of them it stays: within an hour that is said */
        n += log_limit_answer(&log_limit, &hello, now + (uint64_t)i * MINUTE);
    ck_assert_uint_le(n, 1);
    ck_assert_str_eq(log_limit.hello.kernel, "6.1");
}

TEST(cases, a_fault_is_said_again_when_it_comes_back_later)
{
    struct log_limit log_limit = {0};
    const struct agent_hello hello = {.agent = "0.1"};
    uint64_t now = HOUR;

    ck_assert(log_limit_fault(&log_limit, AGENT_FAULT_BUSY, now));
    ck_assert(!log_limit_fault(&log_limit, AGENT_FAULT_BUSY,
                               now + 100 * HOUR)); /* nobody ever answered */
    ck_assert(log_limit_fault(&log_limit, AGENT_FAULT_SILENT, now + 100 * HOUR));
    now += 101 * HOUR;
    ck_assert(log_limit_answer(&log_limit, &hello, now));
    ck_assert(log_limit_fault(&log_limit, AGENT_FAULT_BUSY, now + SECOND));
    ck_assert(!log_limit_answer(&log_limit, &hello, now + 2 * SECOND));
    ck_assert(!log_limit_fault(&log_limit, AGENT_FAULT_BUSY, now + 3 * SECOND));
    ck_assert(
        log_limit_answer(&log_limit, &hello, now + HOUR)); /* the last that was said is a fault */
    ck_assert(!log_limit_answer(&log_limit, &hello, now + 3 * HOUR));
    ck_assert(log_limit_fault(&log_limit, AGENT_FAULT_BUSY, now + 3 * HOUR));
}

/* A day of failures and reports, each second. */
TEST(cases, a_day_has_so_many_lines)
{
    struct log_limit log_limit = {0};
    const struct agent_hello hello = {.agent = "0.1"};
    unsigned answers = 0, faults = 0, stalls = 0;
    uint64_t suppressed = 0, all = 0;

    for (uint64_t now = HOUR; now < 25 * HOUR; now += SECOND) {
        answers += log_limit_answer(&log_limit, &hello, now);
        faults += log_limit_fault(&log_limit, (enum agent_fault)(now / SECOND % AGENT_FAULTS), now);
        if (log_limit_stall(&log_limit, now, &suppressed)) {
            stalls++;
            all += suppressed + 1;
        }
    }
    ck_assert_uint_eq(answers, 24);
    ck_assert_uint_le(faults, 24 * AGENT_FAULTS);
    ck_assert_uint_eq(stalls, 24 * 60);
    ck_assert_uint_eq(all + log_limit.stalls, 86400);
}
