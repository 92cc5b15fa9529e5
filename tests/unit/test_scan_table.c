// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_scan_table.c  The scanner's guests, between threads that scan, restore and end. */
#include "daemon/scan_table.h"
#include "daemon/watched.h"

#include "fixture.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static struct fsroot root;
static struct scan_table *table; /* threads may use it until the process ends */

/* --- what ld --wrap puts in between ----------------------------------------------------------- */

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
void __real_watched_free(struct watched *watched);
void __wrap_watched_free(struct watched *watched);
bool __wrap_watched_has_ram(const struct watched *watched, struct ram_config *xml);

/* When told to, restoring a guest hangs after it has freed all there is of the guest. */
static struct {
    atomic_bool on, begun;
    sem_t go_on;
} restoring;

void __wrap_watched_free(struct watched *watched)
{
    __real_watched_free(watched);
    if (!atomic_load(&restoring.on))
        return;
    atomic_store(&restoring.begun, true);
    sem_wait(&restoring.go_on);
}

static atomic_uint compared;

bool __wrap_watched_has_ram(const struct watched *watched, struct ram_config *xml)
{
    (void)watched;
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

    memset(&reply, 0, scan_reply_size(request->op));
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

static void setup(void)
{
    root = fixture_open("libvirt");
    table = scan_table_new(&root);
    ck_assert_ptr_nonnull(table);
    sem_init(&restoring.go_on, 0, 0);
}

/* Nobody waits for a guest to be restored in order to compare it. */
START_TEST(what_is_being_restored_is_not_compared)
{
    uint64_t guest = open_one();
    pthread_t thread;

    ck_assert(has_ram(guest));
    ck_assert_uint_eq(atomic_load(&compared), 1);
    atomic_store(&restoring.on, true);
    ck_assert_int_eq(pthread_create(&thread, NULL, close_one, &guest), 0);
    while (!atomic_load(&restoring.begun))
        usleep(1000);
    ck_assert(!has_ram(guest));
    ck_assert_uint_eq(atomic_load(&compared), 1);
    sem_post(&restoring.go_on);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert(!has_ram(guest));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scan_table");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, what_is_being_restored_is_not_compared);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
