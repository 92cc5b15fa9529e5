// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_lock_keeper.c  What the scanner's keeper of locks and tracepoints serves. */
#include "programs/vmwssd/scanner/lock_keeper.h"

#include "fake_kernel.h"
#include "fixture.h"
#include "measure/kernel/trace_event.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct fake_kernel fake;

static void setup(void)
{
    fake_kernel_make(&fake, 16);
}

FIXTURE(keeper, .setup = setup);

TEST(plain, valid_requests)
{
    static const struct {
        struct lock_keeper_request request;
        bool valid;
    } cases[] = {
        {{.op = LOCK_KEEPER_CREATE, .file = "vmwssd.lock"}, true},
        {{.op = LOCK_KEEPER_REMOVE, .file = "guest-42.lock"}, true},
        {{.op = LOCK_KEEPER_CREATE, .file = "guest-42.panel"}, true},
        {{.op = LOCK_KEEPER_CREATE, .file = "guest-42-4026532500.panel"}, true},
        {{.op = LOCK_KEEPER_REMOVE, .file = "guest-42-4026532500.lock"}, true},
        {{.op = LOCK_KEEPER_CREATE, .file = "guest-42-4026532500x.lock"}, false},
        {{.op = LOCK_KEEPER_CREATE, .file = "guest-42-04.lock"}, false},
        {{.op = LOCK_KEEPER_CREATE, .file = "guest-042.lock"}, false},
        {{.op = LOCK_KEEPER_CREATE, .file = "../vmwssd.lock"}, false},
        {{.op = LOCK_KEEPER_CREATE, .file = ""}, false},
        {{.op = 0, .file = "vmwssd.lock"}, false},
        {{.op = LOCK_KEEPER_TRACE + 1, .file = "vmwssd.lock", .tid = 1}, false},
        {{.op = LOCK_KEEPER_TRACE, .tid = 1}, true},
        {{.op = LOCK_KEEPER_TRACE, .tid = 0}, false},  /* the keeper */
        {{.op = LOCK_KEEPER_TRACE, .tid = -1}, false}, /* a CPU */
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct lock_keeper_request *request = &cases[i].request;

        ck_assert_msg(lock_keeper_valid(request, sizeof(*request)) == cases[i].valid, "case %zu",
                      i);
        ck_assert(!lock_keeper_valid(request, sizeof(*request) - 1));
    }

    struct lock_keeper_request endless = {.op = LOCK_KEEPER_TRACE, .tid = 1};

    memset(endless.file, 'x', sizeof(endless.file));
    ck_assert(!lock_keeper_valid(&endless, sizeof(endless)));
}

/* The kernel itself refuses an event that it does not have, and one on a thread that has ended, by
 * other numbers. */
TEST(keeper, only_its_tracepoints_are_opened)
{
    static const char *const formats[] = {"damon/damon_aggregated", "kvm/kvm_age_hva"};
    struct error error = {0};

    for (int i = 0; i < 2; i++) {
        char path[128];
        char id[8];

        snprintf(path, sizeof(path), "sys/kernel/tracing/events/%s/id", formats[i]);
        snprintf(id, sizeof(id), "6500%d\n", i);
        fake_write(&fake, path, id);
        snprintf(path, sizeof(path), "sys/kernel/tracing/events/%s/format", formats[i]);
        fake_write(&fake, path, "\tfield:u64 x;\toffset:8;\tsize:8;\tsigned:0;\n");
    }
    fake_write(&fake, "run/vmwss/vmwssd.lock", "");
    ck_assert_msg(lock_keeper_start(&fake.root, &error) >= 0, "%s", error.text);

    struct trace_ring ring;

    ck_assert_int_eq(trace_ring_open(&ring, 64999, getpid(), NULL, 4096, -1), -EACCES);
    for (uint64_t id = 65000; id < 65002; id++) {
        int rc = trace_ring_open(&ring, id, getpid(), NULL, 4096, -1);

        ck_assert_msg(rc < 0 && rc != -EACCES && rc != -EPIPE && rc != -EPERM, "%d", rc);
    }
    fake_write(&fake, "sys/kernel/tracing/events/kvm/kvm_age_hva/id", "64999\n");
    ck_assert_int_eq(trace_ring_open(&ring, 65001, getpid(), NULL, 4096, -1), -EACCES);
    /* a bad request ends it, and with it what the scanner may open */
    ck_assert_int_eq(trace_ring_open(&ring, 65000, -1, NULL, 4096, -1), -EPIPE);
    ck_assert_int_eq(trace_ring_open(&ring, 65000, getpid(), NULL, 4096, -1), -EPIPE);
    trace_event_keep(NULL);
    run_dir_keep(NULL);
}
