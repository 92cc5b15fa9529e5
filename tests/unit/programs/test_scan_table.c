// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_scan_table.c  The scanner's guests, between threads that scan, restore and end. */
#include "base/clock.h"
#include "guest/agent/agent_endpoint.h"
#include "programs/vmwssd/scanner/guest_scan.h"
#include "programs/vmwssd/scanner/scan_table.h"

#include "fixture.h"
#include "virtual_clock.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define SECOND_NS 1000000000ULL

static struct fsroot root;
static struct scan_table *table; /* threads may use it until the process ends */

/* --- what ld --wrap puts in between ----------------------------------------------------------- */

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
void __real_guest_scan_free(struct guest_scan *scan);
void __wrap_guest_scan_free(struct guest_scan *scan);
bool __wrap_guest_scan_has_ram(const struct guest_scan *scan, struct ram_config *xml);
int __wrap_guest_scan_sample(struct guest_scan *scan, const struct scan_sample *params,
                             struct ages_record *record, struct error *error);
int __wrap_agent_endpoint_connect(const struct agent_endpoint *endpoint, struct error *error);

/* When told to, restoring a guest hangs after it has freed all there is of the guest. */
static struct {
    atomic_bool on, begun;
    sem_t go_on;
} restoring;

void __wrap_guest_scan_free(struct guest_scan *scan)
{
    __real_guest_scan_free(scan);
    if (!atomic_load(&restoring.on))
        return;
    atomic_store(&restoring.begun, true);
    sem_wait(&restoring.go_on);
}

/* When told to, a scan hangs. */
static struct {
    atomic_bool begun;
    sem_t go_on;
} scanning;

int __wrap_guest_scan_sample(struct guest_scan *scan, const struct scan_sample *params,
                             struct ages_record *record, struct error *error)
{
    (void)scan;
    (void)params;
    (void)record;
    atomic_store(&scanning.begun, true);
    sem_wait(&scanning.go_on);
    return error_set(error, -EAGAIN, "hung");
}

static pid_t believed; /* who was ours when an agent was connected to */

int __wrap_agent_endpoint_connect(const struct agent_endpoint *endpoint, struct error *error)
{
    believed = endpoint->ours;
    return error_set(error, -ECONNREFUSED, "not now");
}

static atomic_uint compared;

bool __wrap_guest_scan_has_ram(const struct guest_scan *scan, struct ram_config *xml)
{
    (void)scan;
    (void)xml;
    atomic_fetch_add(&compared, 1);
    return true;
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* --- requests --------------------------------------------------------------------------------- */

static struct scan_reply answer(const struct scan_request *request)
{
    struct scan_reply reply;
    int fd;

    scan_reply_begin(&reply, request->op);
    scan_table_answer(table, request, &reply, &fd);
    return reply;
}

static uint64_t open_one(void)
{
    const struct scan_request request = {.op = SCAN_OPEN, .open.pid = FIXTURE_PID};
    const struct scan_reply reply = answer(&request);

    ck_assert_msg(reply.rc == 0, "%s", reply.error);
    return reply.opened.guest;
}

static bool has_ram(uint64_t guest)
{
    const struct scan_request request = {.op = SCAN_HAS_RAM, .guest = guest};

    return answer(&request).has_ram;
}

static void *close_one(void *guest)
{
    const struct scan_request request = {.op = SCAN_CLOSE, .guest = *(uint64_t *)guest};

    answer(&request);
    return NULL;
}

static int sample_one(uint64_t guest)
{
    const struct scan_request request = {
        .op = SCAN_SAMPLE,
        .guest = guest,
        .sample = {.samples = 100, .n_windows = 1, .window_s = {1}, .tick_s = 1}};

    return answer(&request).rc;
}

static void *sample(void *guest)
{
    sample_one(*(uint64_t *)guest);
    return NULL;
}

/* Each lives as long as its process: this one is not lost. */
struct scan_table *first_table;

static void setup(void)
{
    virtual_clock_start();
    root = fixture_open("libvirt");
    table = scan_table_new(&root, getppid());
    ck_assert_ptr_nonnull(table);
    sem_init(&restoring.go_on, 0, 0);
    sem_init(&scanning.go_on, 0, 0);
}

FIXTURE(cases_tests, .setup = setup, .timeout_s = 60);

/* Nobody waits for a guest to be restored in order to compare it. */
TEST(cases_tests, what_is_being_restored_is_not_compared)
{
    uint64_t guest = open_one();
    pthread_t thread;

    ck_assert(has_ram(guest));
    ck_assert_uint_eq(atomic_load(&compared), 1);
    atomic_store(&restoring.on, true);
    ck_assert_int_eq(pthread_create(&thread, NULL, close_one, &guest), 0);
    virtual_clock_settle();
    ck_assert(atomic_load(&restoring.begun));
    ck_assert(!has_ram(guest));
    ck_assert_uint_eq(atomic_load(&compared), 1);
    sem_post(&restoring.go_on);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert(!has_ram(guest));
}

/* The other half has waited for it as well. */
TEST_EACH(cases_tests, a_scan_that_hangs_is_left_five_seconds_after_its_begin, 0, 3)
{
    static const struct {
        unsigned before_s, left_s;
    } cases[] = {{0, 5}, {3, 2}, {60, 0}};
    uint64_t guest = open_one();
    pthread_t thread;
    uint64_t end_ns;

    ck_assert_int_eq(pthread_create(&thread, NULL, sample, &guest), 0);
    virtual_clock_settle();
    ck_assert(atomic_load(&scanning.begun));
    virtual_clock_pass_ms(cases[_i].before_s * 1000);
    end_ns = clock_ns();
    ck_assert_uint_eq(scan_table_end(table), 1);
    ck_assert_uint_eq(clock_ns() - end_ns, cases[_i].left_s * SECOND_NS);
}

/* A child that ends with a scanner is no guest. */
TEST(cases_tests, a_scanner_that_has_ended_says_so)
{
    uint64_t guest = open_one();

    ck_assert_int_eq(sample_one(guest + 1), -ESRCH);
    ck_assert_uint_eq(scan_table_end(table), 0);
    for (unsigned op = SCAN_LIST; op < N_SCAN_OPS; op++) {
        const struct scan_request request = {.op = op, .guest = guest};

        ck_assert_int_eq(answer(&request).rc, -ESHUTDOWN);
    }
}

/* When the other half has ended, our parent is another process, here the first one, which serves
 * sockets. */
TEST(cases_tests, sockets_are_ours_as_long_as_the_other_half_lives)
{
    const struct scan_request request = {.op = SCAN_CONNECT, .connect.path = "/x"};

    answer(&request);
    ck_assert_int_eq(believed, getppid());
    first_table = table;
    table = scan_table_new(&root, getppid() + 1);
    answer(&request);
    ck_assert_int_eq(believed, 0);
}
