// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_scanner.c  The wall between vmwssd's halves, with a scanner of a captured tree in a
 * process of its own. */
#include "programs/vmwssd/scanner/scan_socket.h"
#include "programs/vmwssd/scanner/scanner_private.h"
#include "programs/vmwssd/scanner/scanner_process.h"

#include "fixture.h"
#include "virtual_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
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

/* A copy, because the scanner makes a directory in run/. */
static struct fsroot copied_fixture(void)
{
    const char *dir = unit_dir();
    struct fsroot copy;

    unit_shell("cp -r %s/libvirt/proc %s && mkdir %s/run", FIXTURES, dir, dir);
    ck_assert_int_eq(fsroot_open(&copy, dir), 0);
    return copy;
}

static void start(uint64_t patience_ns)
{
    const struct scanner_plan plan = {.root = &root,
                                      .lock = &lock,
                                      .agents = true,
                                      .log_level = LOG_CRIT,
                                      .patience_ns = patience_ns};

    virtual_clock_start();
    root = copied_fixture();
    ck_assert_ok(scanner_start(&scanner, &plan, &pid, &error));
}

static void setup(void)
{
    start(SCANNER_PATIENCE_NS);
}

/* Until it has stopped it may answer yet. */
static void stop_scanner(void)
{
    kill(pid, SIGSTOP);
    ck_assert_int_eq(waitpid(pid, NULL, WUNTRACED), pid);
}

/* Returns the scanner's status, after it was asked to end or its time has passed. This waits in
 * real time: at exit AddressSanitizer searches for leaks in another process, which has no virtual
 * clock. */
static int status_at_end(void)
{
    siginfo_t ended;

    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
    return scanner_wait(pid);
}

FIXTURE(cases, .setup = setup, .timeout_s = 30);

TEST(cases, a_guest_is_found_and_opened_beyond_the_wall)
{
    const struct domain_name name = {"", "sys1", UUID, 0};
    struct scan_guest_ref guest;
    pid_t *pids = NULL;
    uint64_t start_ticks;

    ck_assert_int_eq(scanner_list(scanner, &pids), 1);
    ck_assert_int_eq(pids[0], FIXTURE_PID);
    free(pids);
    ck_assert_int_eq(scanner_find(&name, scanner), FIXTURE_PID);
    ck_assert_int_eq(scanner_start_ticks(scanner, FIXTURE_PID, &start_ticks), 0);
    ck_assert_ok(scanner_open_process(scanner, FIXTURE_PID, &guest, &error));
    ck_assert_str_eq(guest.name, "sys1");
    ck_assert_str_eq(guest.uuid, UUID);
    ck_assert_int_eq(guest.pid, FIXTURE_PID);
    ck_assert_uint_eq(guest.start_ticks, start_ticks);
    scanner_close(scanner, &guest);
    ck_assert(guest.guest == 0);
    scanner_leave(scanner);
    ck_assert_int_eq(status_at_end(), 0);
}

TEST(cases, what_is_no_qemu_is_not_opened)
{
    struct scan_guest_ref guest;

    ck_assert_error(scanner_open_process(scanner, 1, &guest, &error), -ESRCH, "process 1");
}

static struct scanner_batch batch_of(size_t n)
{
    struct scanner_batch batch = {.n = n};

    for (size_t i = 0; i < n; i++) {
        batch.of[i].guest = 12345 + i;
        batch.of[i].sample = (struct scan_sample){
            .samples = 100, .n_windows = 1, .window_s = {1}, .tick_s = 1};
    }
    return batch;
}

/* One after the other over one channel, with other questions in between. */
TEST(cases, the_answers_about_a_batch_come_in_turn)
{
    struct scan_sampled sampled;
    pid_t *pids = NULL;

    for (size_t n = 1; n <= SCANNER_BATCH; n++) {
        struct scanner_batch batch = batch_of(n);

        scanner_batch_send(scanner, &batch);
        for (size_t i = 0; i < n; i++) {
            struct error error = {0};

            ck_assert_int_eq(
                scanner_batch_receive(scanner, &batch, SCANNER_BATCH_WAIT_MS, &sampled, &error),
                -ESRCH);
            ck_assert_uint_eq(batch.answered, i + 1);
        }
        scanner_batch_end(scanner, &batch);
        ck_assert_int_eq(scanner_list(scanner, &pids), 1);
        free(pids);
    }
}

/* Not before: who waits for it sleeps through all of the others. All answers are there then. */
TEST(cases, the_bell_rings_when_a_batch_was_answered)
{
    struct scanner_batch batch = batch_of(SCANNER_BATCH);
    struct scan_sampled sampled;

    for (int round = 0; round < 3; round++) {
        scanner_batch_send(scanner, &batch);

        const struct scanner_lane *lane = pthread_getspecific(scanner->lane);
        struct pollfd bell = {.fd = lane->bell_fd, .events = POLLIN};

        ck_assert_int_eq(poll(&bell, 1, 20000), 1);
        for (size_t i = 0; i < batch.n; i++)
            ck_assert_int_eq(scanner_batch_receive(scanner, &batch, 0, &sampled, NULL), -ESRCH);
        ck_assert_int_eq(read(lane->bell_fd, &(uint64_t){0}, sizeof(uint64_t)), sizeof(uint64_t));
        virtual_clock_settle();
        ck_assert_int_eq(poll(&bell, 1, 0), 0); /* once */
        scanner_batch_end(scanner, &batch);
    }
}

static void *let_it_go_on(void *context)
{
    (void)context;
    virtual_clock_pass_ms(300);
    kill(pid, SIGCONT);
    return NULL;
}

/* A reader that takes the answers at once need not wait for the bell; the next batch is not given
 * up because of it. */
TEST(cases, a_bell_that_nobody_waited_for_is_not_the_next_ones)
{
    struct scanner_batch batch = batch_of(1);
    struct scan_sampled sampled;
    pthread_t thread;

    scanner_batch_send(scanner, &batch);

    const struct scanner_lane *lane = pthread_getspecific(scanner->lane);
    struct pollfd bell = {.fd = lane->bell_fd, .events = POLLIN};

    ck_assert_int_eq(poll(&bell, 1, 20000), 1);
    ck_assert_int_eq(scanner_batch_receive(scanner, &batch, 0, &sampled, NULL), -ESRCH);
    scanner_batch_end(scanner, &batch);
    ck_assert_int_eq(poll(&bell, 1, 0), 1);
    stop_scanner();
    scanner_batch_send(scanner, &batch);
    ck_assert_int_eq(pthread_create(&thread, NULL, let_it_go_on, NULL), 0);
    ck_assert_int_eq(scanner_batch_receive(scanner, &batch, 20000, &sampled, NULL), -ESRCH);
    scanner_batch_end(scanner, &batch);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/* As of a batch that was cut: the kernel speaks of what was not read before it gives what was
 * sent. */
TEST(cases, what_was_sent_is_received_though_its_sender_has_left_something)
{
    int fds[2];
    int number = 0;

    ck_assert_int_eq(scan_socket_pair(fds), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(scan_socket_send(fds[0], &number, sizeof(number), -1), 0);
    for (int i = 1; i <= 2; i++)
        ck_assert_int_eq(scan_socket_send(fds[1], &i, sizeof(i), -1), 0);
    close(fds[1]);
    for (int i = 1; i <= 2; i++) {
        ck_assert_int_eq(
            scan_socket_receive(fds[0], &number, sizeof(number), NULL, i == 1 ? MSG_DONTWAIT : 0),
            sizeof(number));
        ck_assert_int_eq(number, i);
    }
    ck_assert_int_eq(scan_socket_receive(fds[0], &number, sizeof(number), NULL, 0), -EPIPE);
    close(fds[0]);
}

/* The lowest number of a file that process @p of does not have open. */
static rlim_t lowest_free(pid_t of)
{
    char path[64];
    rlim_t number = 0;

    do
        snprintf(path, sizeof(path), "/proc/%d/fd/%llu", of, (unsigned long long)number++);
    while (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    return number - 1;
}

/* The scanner has room for a bell, but not for a second descriptor of it; or this half has none for
 * that. */
TEST_EACH(cases, a_bell_that_cannot_be_made_is_made_for_the_next_batch, 0, 2)
{
    const pid_t short_of_files = _i == 0 ? pid : getpid();
    struct scanner_batch batch = batch_of(2);
    struct scan_sampled sampled;
    struct rlimit limit;
    struct rlimit before;
    struct error error = {0};
    pid_t *pids = NULL;

    ck_assert_int_eq(scanner_list(scanner, &pids), 1); /* so there is a channel */
    free(pids);
    virtual_clock_settle(); /* the thread that handed it out has closed its own descriptor of it */
    ck_assert_int_eq(prlimit(short_of_files, RLIMIT_NOFILE, NULL, &before), 0);
    limit = before;
    limit.rlim_cur = lowest_free(short_of_files) + (_i == 0);
    ck_assert_int_eq(prlimit(short_of_files, RLIMIT_NOFILE, &limit, NULL), 0);
    scanner_batch_send(scanner, &batch);
    ck_assert_int_eq(prlimit(short_of_files, RLIMIT_NOFILE, &before, NULL), 0);
    ck_assert_int_eq(scanner_batch_receive(scanner, &batch, 20000, &sampled, &error),
                     _i == 0 ? -EMFILE : -EBADMSG);
    scanner_batch_end(scanner, &batch);
    scanner_batch_send(scanner, &batch);
    for (size_t i = 0; i < batch.n; i++)
        ck_assert_int_eq(scanner_batch_receive(scanner, &batch, 20000, &sampled, &error), -ESRCH);
    scanner_batch_end(scanner, &batch);
}

/* An invalid answer yields nothing: neither a time that is not a number nor a record that nothing
 * has checked. */
TEST(cases, what_is_no_answer_is_not_handed_out)
{
    static struct scan_reply reply = {.op = SCAN_SAMPLE, .sampled.has_record = 1};
    static struct scan_sampled sampled;
    struct scanner_lane *lane = malloc(sizeof(*lane));
    struct scanner_batch batch = batch_of(1);
    struct error error = {0};
    int fds[2];

    reply.sampled.cpu_s = NAN;
    ck_assert_int_eq(scan_socket_pair(fds), 0);
    *lane = (struct scanner_lane){.fd = fds[0], .bell_fd = eventfd(0, EFD_CLOEXEC)};
    pthread_setspecific(scanner->lane, lane);
    scanner_batch_send(scanner, &batch);
    ck_assert_int_eq(scan_socket_send(fds[1], &reply, scan_reply_size(&reply), -1), 0);
    ck_assert_int_eq(scanner_batch_receive(scanner, &batch, 20000, &sampled, &error), -EBADMSG);
    ck_assert(sampled.cpu_s == 0);
    ck_assert_uint_eq(sampled.has_record, 0);
    scanner_batch_end(scanner, &batch);
    close(fds[1]);
}

/* Nothing of it is taken for the answer to the next question. */
TEST(cases, a_batch_that_is_not_read_leaves_nothing_behind)
{
    struct scanner_batch batch = batch_of(SCANNER_BATCH);
    struct scan_sampled sampled;
    pid_t *pids = NULL;

    for (int cut = 0; cut < 2; cut++) {
        scanner_batch_send(scanner, &batch);
        ck_assert_int_eq(
            scanner_batch_receive(scanner, &batch, SCANNER_BATCH_WAIT_MS, &sampled, NULL), -ESRCH);
        if (cut)
            scanner_batch_cut(&batch);
        scanner_batch_end(scanner, &batch);
        ck_assert_int_eq(scanner_list(scanner, &pids), 1);
        free(pids);
    }
}

TEST(cases, a_batch_ends_with_a_scanner_that_is_killed)
{
    struct scanner_batch batch = batch_of(SCANNER_BATCH);
    struct scan_sampled sampled;
    struct error error = {0};
    int rc = -ETIME;

    for (size_t i = 0; i < batch.n; i++) { /* so there is a channel */
        if (i == 0)
            scanner_batch_send(scanner, &batch);
        ck_assert_int_eq(
            scanner_batch_receive(scanner, &batch, SCANNER_BATCH_WAIT_MS, &sampled, &error),
            -ESRCH);
    }
    scanner_batch_end(scanner, &batch);
    stop_scanner();
    scanner_batch_send(scanner, &batch);
    ck_assert_int_eq(unit_kill(pid), pid);
    for (int i = 0; i < 3 && rc == -ETIME; i++)
        rc = scanner_batch_receive(scanner, &batch, SCANNER_BATCH_WAIT_MS, &sampled, &error);
    ck_assert(scanner_is_gone(rc));
    ck_assert(scanner_is_gone(
        scanner_batch_receive(scanner, &batch, SCANNER_BATCH_WAIT_MS, &sampled, &error)));
    scanner_batch_end(scanner, &batch);
}

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

/* A domain's XML belongs to the host, but a guest's owner may write it. */
TEST(cases, a_channel_that_is_none_does_not_end_the_others)
{
    static const char *const paths[] = {"/x/monitor.sock", "monitor.sock", "relative"};
    struct agent_endpoint endpoint = {.uuid = UUID};
    struct error error = {0};
    char path[32];
    cleanup_close int served = serve_agent(path);

    for (size_t i = 0; i < COUNT(paths); i++) {
        strcpy(endpoint.path, paths[i]);
        ck_assert_error(scanner_connect(&endpoint, scanner, &error), -EINVAL, paths[i]);
    }
    strcpy(endpoint.path, path);

    cleanup_close int fd = scanner_connect(&endpoint, scanner, &error);

    unlink(path);
    ck_assert_msg(fd >= 0, "%s", error.text);
}

static void *list_once(void *context)
{
    pid_t *pids = NULL;
    ssize_t n = scanner_list(scanner, &pids);

    (void)context;
    free(pids);
    return n == 1 ? &root : NULL;
}

/* More than there may be at once. */
TEST(cases, a_channel_ends_with_its_thread)
{
    for (int i = 0; i < 600; i++) {
        pthread_t thread;
        void *done;

        ck_assert_int_eq(pthread_create(&thread, NULL, list_once, NULL), 0);
        ck_assert_int_eq(pthread_join(thread, &done), 0);
        ck_assert_msg(done != NULL, "thread %d", i);
    }
}

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

TEST(cases, many_threads_ask_at_once)
{
    pthread_t threads[8];

    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_often, NULL), 0);
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}

TEST(cases, a_scanner_that_is_killed_is_missed)
{
    const struct domain_name name = {"", "sys1", UUID, 0};
    pid_t *pids = NULL;

    ck_assert_int_eq(scanner_list(scanner, &pids), 1);
    free(pids);
    ck_assert_int_eq(unit_kill(pid), pid);
    ck_assert_int_eq(scanner_list(scanner, &pids), -EPIPE);
    ck_assert_int_eq(scanner_find(&name, scanner), DOMAIN_PID_UNKNOWN); /* not: it has none */
    ck_assert_int_eq(scanner_alive(scanner, SCANNER_PATIENCE_NS), -EPIPE);
}

/* As a loop does, until it is missed. */
static int ask_on(void)
{
    int rc = 0;

    for (int i = 0; i < 100 && rc == 0; i++) {
        virtual_clock_pass_ms(20);
        rc = scanner_alive(scanner, 100 * MILLISECOND);
    }
    return rc;
}

TEST(cases, a_scanner_that_hangs_is_missed)
{
    stop_scanner();
    ck_assert_int_eq(scanner_alive(scanner, 100 * MILLISECOND), 0);
    ck_assert_int_eq(ask_on(), -ETIMEDOUT);
    kill(pid, SIGKILL);
}

/* A freezer stops both; who did not turn cannot tell what the other did meanwhile. */
TEST(cases, it_is_not_missed_by_who_was_stopped_as_well)
{
    stop_scanner();
    ck_assert_int_eq(scanner_alive(scanner, 100 * MILLISECOND), 0);
    virtual_clock_pass_ms(SCANNER_STOPPED_NS / MILLISECOND + 200);
    ck_assert_int_eq(scanner_alive(scanner, 100 * MILLISECOND), 0);
    ck_assert_int_eq(ask_on(), -ETIMEDOUT);
    kill(pid, SIGKILL);
}

static void *ask_once(void *context)
{
    pid_t *pids = NULL;

    (void)context;
    ck_assert_int_eq(scanner_list(scanner, &pids), -EPIPE);
    return NULL;
}

/* A thread that waits for a channel of its own has the first one. */
TEST(cases, it_is_missed_while_a_thread_waits_for_a_channel)
{
    pthread_t thread;

    stop_scanner();
    ck_assert_int_eq(pthread_create(&thread, NULL, ask_once, NULL), 0);
    ck_assert_int_eq(ask_on(), -ETIMEDOUT);
    kill(pid, SIGKILL);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

TEST_EACH(cases, what_is_no_request_ends_it, 0, 2)
{
    const struct scan_request too_long = {.op = SCAN_ALIVE};
    bool long_one = _i;

    ck_assert_zero(
        scan_socket_send(scanner_fd(scanner), &too_long, long_one ? sizeof(too_long) : 1, -1));
    ck_assert_int_eq(status_at_end(), 0);
}

FIXTURE(cases_tests, .timeout_s = 30);

TEST(cases_tests, it_ends_when_nobody_asks_any_more)
{
    start(200 * MILLISECOND);
    ck_assert_int_eq(scanner_alive(scanner, SCANNER_PATIENCE_NS), 0);
    virtual_clock_pass_ms(2000);
    ck_assert_int_eq(status_at_end(), SCANNER_EXIT_HUNG);
}

TEST(cases_tests, it_does_not_end_for_having_been_stopped)
{
    const uint64_t stopped_ns = SCANNER_STOPPED_NS + 400 * MILLISECOND;

    start(SCANNER_STOPPED_NS + 200 * MILLISECOND);
    ck_assert_int_eq(scanner_alive(scanner, SCANNER_PATIENCE_NS), 0);
    virtual_clock_pass_ms(100);
    stop_scanner();
    virtual_clock_pass_ms(stopped_ns / MILLISECOND);
    kill(pid, SIGCONT);
    virtual_clock_pass_ms(200);
    ck_assert_int_eq(scanner_alive(scanner, SCANNER_PATIENCE_NS), 0);
    scanner_leave(scanner);
    ck_assert_int_eq(status_at_end(), 0);
}

/* A history of an older version is brought up to date first, however long that takes. */
TEST(cases_tests, it_waits_for_the_other_half_to_begin)
{
    pid_t *pids = NULL;

    start(200 * MILLISECOND);
    virtual_clock_pass_ms(1500);
    ck_assert_int_eq(scanner_list(scanner, &pids), 1);
    free(pids);
    scanner_leave(scanner);
    ck_assert_int_eq(status_at_end(), 0);
}
