// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_scanner.c  The wall between vmwssd's halves, with a scanner of a captured tree in a
 * process of its own. */
#include "daemon/scanner/scan_socket.h"
#include "daemon/scanner/scanner_process.h"

#include "fixture.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#define UUID "0b0b0b0b-1111-2222-3333-444444444444"
#define MILLISECOND 1000000ULL

static struct fsroot root;
static struct run_lock lock = RUN_LOCK_NONE;
static struct scanner *scanner;
static pid_t pid;

static void start(uint64_t patience_ns)
{
    const struct scanner_plan plan = {.root = &root,
                                      .lock = &lock,
                                      .agents = true,
                                      .log_level = LOG_CRIT,
                                      .patience_ns = patience_ns};
    struct error error = {0};

    root = fixture_open("libvirt");
    ck_assert_msg(scanner_start(&scanner, &plan, &pid, &error) == 0, "%s", error.text);
}

static void setup(void)
{
    start(SCANNER_PATIENCE_NS);
}

START_TEST(a_guest_is_found_and_opened_beyond_the_wall)
{
    const struct domain_name name = {"", "sys1", UUID};
    struct scan_guest_ref guest;
    struct error error = {0};
    pid_t *pids = NULL;
    uint64_t start_ticks;

    ck_assert_int_eq(scanner_list(scanner, &pids), 1);
    ck_assert_int_eq(pids[0], FIXTURE_PID);
    free(pids);
    ck_assert_int_eq(scanner_find(&name, scanner), FIXTURE_PID);
    ck_assert_int_eq(scanner_start_ticks(scanner, FIXTURE_PID, &start_ticks), 0);
    ck_assert_msg(scanner_open_process(scanner, FIXTURE_PID, &guest, &error) == 0, "%s",
                  error.text);
    ck_assert_str_eq(guest.name, "sys1");
    ck_assert_str_eq(guest.uuid, UUID);
    ck_assert_int_eq(guest.pid, FIXTURE_PID);
    ck_assert_uint_eq(guest.start_ticks, start_ticks);
    scanner_close(scanner, &guest);
    ck_assert(guest.guest == 0);
    scanner_leave(scanner);
    ck_assert_int_eq(scanner_wait(pid), 0);
}
END_TEST

START_TEST(what_is_no_qemu_is_not_opened)
{
    const struct scan_sample sample = {
        .samples = 100, .n_windows = 1, .window_s = {1}, .tick_s = 1};
    struct scan_guest_ref guest;
    struct scan_sampled sampled;
    struct error error = {0};

    ck_assert_int_eq(scanner_open_process(scanner, 1, &guest, &error), -ESRCH);
    ck_assert_ptr_nonnull(strstr(error.text, "process 1"));
    ck_assert_int_eq(scanner_sample(scanner, 12345, &sample, &sampled, &error), -ESRCH);
}
END_TEST

/* A socket that this process, the other half, serves; the scanner takes that for ours. */
static int serve_agent(char path[32])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    strcpy(path, "/tmp/vmwss-agent.XXXXXX");
    ck_assert_int_eq(close(mkstemp(path)), 0);
    unlink(path);
    strcpy(address.sun_path, path);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    return fd;
}

/* What a domain's XML says is the host's, but a guest's owner may write it. */
START_TEST(a_channel_that_is_none_does_not_end_the_others)
{
    static const char *const paths[] = {"/x/monitor.sock", "monitor.sock", "relative"};
    struct agent_endpoint endpoint = {.uuid = UUID};
    struct error error = {0};
    char path[32];
    int served = serve_agent(path);

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        strcpy(endpoint.path, paths[i]);
        ck_assert_int_eq(scanner_connect(&endpoint, scanner, &error), -EINVAL);
        ck_assert_ptr_nonnull(strstr(error.text, paths[i]));
    }
    strcpy(endpoint.path, path);

    int fd = scanner_connect(&endpoint, scanner, &error);

    unlink(path);
    ck_assert_msg(fd >= 0, "%s", error.text);
    close(fd);
    close(served);
}
END_TEST

static void *list_once(void *context)
{
    pid_t *pids = NULL;
    ssize_t n = scanner_list(scanner, &pids);

    (void)context;
    free(pids);
    return n == 1 ? &root : NULL;
}

/* More than there may be at once. */
START_TEST(a_channel_ends_with_its_thread)
{
    for (int i = 0; i < 600; i++) {
        pthread_t thread;
        void *done;

        ck_assert_int_eq(pthread_create(&thread, NULL, list_once, NULL), 0);
        ck_assert_int_eq(pthread_join(thread, &done), 0);
        ck_assert_msg(done != NULL, "thread %d", i);
    }
}
END_TEST

static void *ask_often(void *context)
{
    (void)context;
    for (int i = 0; i < 30; i++) {
        pid_t *pids = NULL;

        ck_assert_int_eq(scanner_list(scanner, &pids), 1);
        free(pids);
        ck_assert_int_eq(scanner_alive(scanner, SCANNER_PATIENCE_NS), 0);
    }
    return NULL;
}

START_TEST(many_threads_ask_at_once)
{
    pthread_t threads[8];

    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_often, NULL), 0);
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}
END_TEST

START_TEST(a_scanner_that_is_killed_is_missed)
{
    const struct domain_name name = {"", "sys1", UUID};
    pid_t *pids = NULL;

    ck_assert_int_eq(scanner_list(scanner, &pids), 1);
    free(pids);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(scanner_list(scanner, &pids), -EPIPE);
    ck_assert_int_eq(scanner_find(&name, scanner), DOMAIN_PID_UNKNOWN); /* not: it has none */
    ck_assert_int_eq(scanner_alive(scanner, SCANNER_PATIENCE_NS), -EPIPE);
}
END_TEST

/* As a loop does, until it is missed. */
static int ask_on(void)
{
    int rc = 0;

    for (int i = 0; i < 100 && rc == 0; i++) {
        usleep(20000);
        rc = scanner_alive(scanner, 100 * MILLISECOND);
    }
    return rc;
}

START_TEST(a_scanner_that_hangs_is_missed)
{
    kill(pid, SIGSTOP);
    ck_assert_int_eq(scanner_alive(scanner, 100 * MILLISECOND), 0);
    ck_assert_int_eq(ask_on(), -ETIMEDOUT);
    kill(pid, SIGKILL);
}
END_TEST

/* A freezer stops both; who did not turn cannot tell what the other did meanwhile. */
START_TEST(it_is_not_missed_by_who_was_stopped_as_well)
{
    kill(pid, SIGSTOP);
    ck_assert_int_eq(scanner_alive(scanner, 100 * MILLISECOND), 0);
    usleep(SCANNER_STOPPED_NS / 1000 + 200000);
    ck_assert_int_eq(scanner_alive(scanner, 100 * MILLISECOND), 0);
    ck_assert_int_eq(ask_on(), -ETIMEDOUT);
    kill(pid, SIGKILL);
}
END_TEST

static void *ask_once(void *context)
{
    pid_t *pids = NULL;

    (void)context;
    ck_assert_int_eq(scanner_list(scanner, &pids), -EPIPE);
    return NULL;
}

/* A thread that waits for a channel of its own has the first one. */
START_TEST(it_is_missed_while_a_thread_waits_for_a_channel)
{
    pthread_t thread;

    kill(pid, SIGSTOP);
    ck_assert_int_eq(pthread_create(&thread, NULL, ask_once, NULL), 0);
    ck_assert_int_eq(ask_on(), -ETIMEDOUT);
    kill(pid, SIGKILL);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

START_TEST(what_is_no_request_ends_it)
{
    const struct scan_request too_long = {.op = SCAN_ALIVE};
    bool long_one = _i;

    ck_assert_int_eq(
        scan_socket_send(scanner_fd(scanner), &too_long, long_one ? sizeof(too_long) : 1, -1), 0);
    ck_assert_int_eq(scanner_wait(pid), 0);
}
END_TEST

START_TEST(it_ends_when_nobody_asks_any_more)
{
    start(200 * MILLISECOND);
    ck_assert_int_eq(scanner_alive(scanner, SCANNER_PATIENCE_NS), 0);
    ck_assert_int_eq(scanner_wait(pid), SCANNER_EXIT_HUNG);
}
END_TEST

START_TEST(it_does_not_end_for_having_been_stopped)
{
    const uint64_t stopped_ns = SCANNER_STOPPED_NS + 400 * MILLISECOND;

    start(SCANNER_STOPPED_NS + 200 * MILLISECOND);
    ck_assert_int_eq(scanner_alive(scanner, SCANNER_PATIENCE_NS), 0);
    usleep(100000);
    kill(pid, SIGSTOP);
    usleep(stopped_ns / 1000);
    kill(pid, SIGCONT);
    usleep(200000);
    ck_assert_int_eq(scanner_alive(scanner, SCANNER_PATIENCE_NS), 0);
    scanner_leave(scanner);
    ck_assert_int_eq(scanner_wait(pid), 0);
}
END_TEST

/* A history of an older version is brought up to date first, however long that takes. */
START_TEST(it_waits_for_the_other_half_to_begin)
{
    pid_t *pids = NULL;

    start(200 * MILLISECOND);
    usleep(1500000);
    ck_assert_int_eq(scanner_list(scanner, &pids), 1);
    free(pids);
    scanner_leave(scanner);
    ck_assert_int_eq(scanner_wait(pid), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scanner");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, a_guest_is_found_and_opened_beyond_the_wall);
    tcase_add_test(tcase, what_is_no_qemu_is_not_opened);
    tcase_add_test(tcase, a_channel_that_is_none_does_not_end_the_others);
    tcase_add_test(tcase, a_channel_ends_with_its_thread);
    tcase_add_test(tcase, many_threads_ask_at_once);
    tcase_add_test(tcase, a_scanner_that_is_killed_is_missed);
    tcase_add_test(tcase, a_scanner_that_hangs_is_missed);
    tcase_add_test(tcase, it_is_not_missed_by_who_was_stopped_as_well);
    tcase_add_test(tcase, it_is_missed_while_a_thread_waits_for_a_channel);
    tcase_add_loop_test(tcase, what_is_no_request_ends_it, 0, 2);
    tcase_set_timeout(tcase, 30);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("patience");
    tcase_add_test(tcase, it_ends_when_nobody_asks_any_more);
    tcase_add_test(tcase, it_does_not_end_for_having_been_stopped);
    tcase_add_test(tcase, it_waits_for_the_other_half_to_begin);
    tcase_set_timeout(tcase, 30);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
