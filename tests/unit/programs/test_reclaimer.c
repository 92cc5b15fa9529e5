// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_reclaimer.c  The process that reclaims: which guest's group it writes to, what it
 * trusts of a request, and how it ends. */
#include "programs/balloond/reclaimer.h"

#include "fake_kernel.h"
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1ULL << 20)
#define UUID_1 "11111111-1111-4111-8111-111111111111"
#define UUID_2 "22222222-2222-4222-8222-222222222222"
#define SCOPE "machine.slice/machine-qemu-1-web.scope"
#define CGROUP "sys/fs/cgroup/"
#define STAT \
    " (qemu) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

static struct fake_kernel fake;
static struct reclaimer_answer answer;

/* fake_write() ends at the first NUL. */
static void write_cmdline(int pid, const char *const *words, size_t n)
{
    cleanup_close int fd;
    const char *path = TEXT_OF(64, "proc/%d/cmdline", pid);

    fake_write(&fake, path, "");
    fd = fsroot_openf(&fake.root, O_WRONLY, "proc/%d/cmdline", pid);
    ck_assert_int_ge(fd, 0);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(write(fd, words[i], strlen(words[i]) + 1), (ssize_t)strlen(words[i]) + 1);
}

static void make_qemu(int pid, const char *program, const char *uuid)
{
    const char *const words[] = {program, "-name", "guest=web", "-uuid", uuid, "-m", "512"};
    char path[64];

    write_cmdline(pid, words, COUNT(words));
    snprintf(path, sizeof(path), "proc/%d/stat", pid);

    const char *text = TEXT_OF(512, "%d" STAT, pid, 100 + pid);

    fake_write(&fake, path, text);
    snprintf(path, sizeof(path), "proc/%d/cgroup", pid);
    fake_write(&fake, path, "0::/" SCOPE "\n");
}

static void setup(void)
{
    fake_kernel_make(&fake, 1);
    make_qemu(50, "/usr/bin/qemu-system-x86_64", UUID_1);
    fake_write(&fake, CGROUP SCOPE "/cgroup.procs", "50\n");
    fake_write(&fake, CGROUP SCOPE "/memory.current", "419430400\n");
    fake_write(&fake, CGROUP SCOPE "/memory.reclaim", "");
    fake_write(&fake, CGROUP SCOPE "/memory.stat", "workingset_refault_anon 2\n");
    fake_write(&fake, "proc/swaps",
               "Filename Type Size Used Priority\n/dev/zram0 partition 1048576 0 100\n"
               "/dev/sda2 partition 8388608 0 -2\n");
}

/* Returns why it was refused. */
static const char *serve(const char *uuid, uint64_t bytes)
{
    struct reclaimer_request request = {.bytes = bytes};

    snprintf(request.uuid, sizeof(request.uuid), "%s", uuid);
    reclaimer_serve(&fake.root, false, &request, &answer);
    return answer.group.refused;
}

static const char *written(void)
{
    static char text[64];

    ck_assert_int_ge(fsroot_read(&fake.root, text, sizeof(text), CGROUP SCOPE "/memory.reclaim"),
                     0);
    return text;
}

FIXTURE(all, .setup = setup, .timeout_s = 120);

TEST(all, a_look_writes_nothing)
{
    ck_assert_str_eq(serve(UUID_1, 0), "");
    ck_assert_uint_eq(answer.group.swap_room_bytes, 768 * MIB);
    ck_assert_uint_eq(answer.group.refault_bytes, 2 * (uint64_t)sysconf(_SC_PAGESIZE));
    ck_assert_uint_eq(answer.asked_bytes, 0);
    ck_assert_str_eq(written(), "");
}

TEST(all, an_order_is_written)
{
    ck_assert_str_eq(serve(UUID_1, 20 * MIB), "");
    ck_assert_uint_eq(answer.asked_bytes, 20 * MIB);
    ck_assert_str_eq(written(), "20971520");
    ck_assert_str_eq(answer.uuid, UUID_1);
}

TEST(all, no_order_is_for_more_than_its_limits)
{
    serve(UUID_1, UINT64_MAX);
    ck_assert_str_eq(written(), "268435456");
    make_qemu(50, "/usr/bin/qemu-system-x86_64", UUID_2); /* with an allowance of its own */
    fake_write(&fake, CGROUP SCOPE "/memory.reclaim", "");
    fake_write(&fake, CGROUP SCOPE "/memory.swap.max", "4096\n");
    fake_write(&fake, CGROUP SCOPE "/memory.swap.current", "0\n");
    serve(UUID_2, 20 * MIB);
    ck_assert_str_eq(written(), "4096");
    fake_write(&fake, CGROUP SCOPE "/memory.reclaim", "");
    fake_write(&fake, CGROUP SCOPE "/memory.swap.max", "0\n");
    serve(UUID_2, 20 * MIB);
    ck_assert_str_eq(written(), "");
    ck_assert_uint_eq(answer.asked_bytes, 0);
}

/* However often it is asked: so much at once, and then as fast as that is filled. */
TEST(all, a_guest_has_an_allowance)
{
    serve(UUID_1, 200 * MIB);
    ck_assert_uint_eq(answer.asked_bytes, 200 * MIB);
    serve(UUID_1, 200 * MIB);
    ck_assert_uint_ge(answer.asked_bytes, 56 * MIB);
    ck_assert_uint_lt(answer.asked_bytes, 150 * MIB); /* three seconds later */
    ck_assert_str_eq(answer.group.refused, "");
}

/* A UUID may be written in many ways. */
TEST(all, the_same_guest_in_capitals_has_the_same_allowance)
{
    make_qemu(50, "qemu-system-x86_64", "abcdefab-cdef-4abc-8def-abcdefabcdef");
    serve("abcdefab-cdef-4abc-8def-abcdefabcdef", 256 * MIB);
    ck_assert_uint_eq(answer.asked_bytes, 256 * MIB);
    ck_assert_str_eq(serve("ABCDEFAB-cdef-4abc-8def-abcdefabcdef", 256 * MIB), "");
    ck_assert_uint_lt(answer.asked_bytes, 200 * MIB);
}

TEST(all, requests_for_guests_that_do_not_exist_renew_no_allowance)
{
    serve(UUID_1, 256 * MIB);
    for (unsigned i = 0; i < 5000; i++)
        serve(TEXT_OF(40, "%08x-0000-4000-8000-000000000000", i), MIB);
    ck_assert_str_eq(serve(UUID_1, 256 * MIB), "");
    ck_assert_uint_lt(answer.asked_bytes, 200 * MIB);
}

TEST(all, a_quarter_of_the_swap_stays_free)
{
    fake_write(&fake, "proc/swaps",
               "Filename Type Size Used Priority\n/dev/zram0 partition 1048576 776192 100\n");
    serve(UUID_1, 20 * MIB); /* 266 of 1024 MiB are free */
    ck_assert_uint_eq(answer.asked_bytes, 10 * MIB);
    ck_assert_str_eq(written(), "10485760");
    fake_write(&fake, CGROUP SCOPE "/memory.reclaim", "");
    fake_write(&fake, "proc/swaps",
               "Filename Type Size Used Priority\n/dev/zram0 partition 1048576 786432 100\n");
    serve(UUID_1, 20 * MIB);
    ck_assert_uint_eq(answer.group.swap_room_bytes, 0);
    ck_assert_str_eq(written(), "");
}

static void is_refused(const char *uuid, const char *why)
{
    serve(uuid, 20 * MIB);
    ck_assert_msg(strstr(answer.group.refused, why), "%s", answer.group.refused);
    ck_assert_str_eq(written(), "");
}

TEST(all, only_a_qemu_of_that_uuid_is_a_guest)
{
    is_refused(UUID_2, "its QEMU process was not found");
    is_refused("", "was not found");
    make_qemu(60, "/bin/sh", UUID_2); /* that says so */
    is_refused(UUID_2, "was not found");
    make_qemu(70, "/usr/bin/qemu-system-x86_64", UUID_1);
    is_refused(UUID_1, "processes 50 and 70 are both this guest's");
}

static void put_into_group(int pid, const char *group)
{
    const char *path = TEXT_OF(64, "proc/%d/cgroup", pid);
    const char *text = TEXT_OF(256, "0::/%s\n", group);

    fake_write(&fake, path, text);
}

/* Any user can start a process with the name and the UUID of a guest's. */
TEST(all, a_process_of_a_user_is_no_guest)
{
    char path[256];

    make_qemu(70, "/tmp/qemu-kvm", UUID_1);
    put_into_group(70, "user.slice/user-1000.slice/session-3.scope");
    make_qemu(71, "/tmp/qemu-kvm", UUID_1);
    put_into_group(71, "user.slice/user-1000.slice/user@1000.service/app.slice/qemu.scope");
    make_qemu(72, "/tmp/qemu-kvm", UUID_1);
    put_into_group(72, "delegated.scope");
    fake_write(&fake, CGROUP "delegated.scope/cgroup.procs", "72\n");
    snprintf(path, sizeof(path), "%s/" CGROUP "delegated.scope", fake.path);
    if (chown(path, 1000, 1000) < 0) /* only root may */
        put_into_group(72, "user.slice/delegated.scope");
    ck_assert_str_eq(serve(UUID_1, 20 * MIB), "");
    ck_assert_str_eq(written(), "20971520");
    fake_write(&fake, CGROUP SCOPE "/memory.reclaim", "");
    make_qemu(50, "/usr/bin/qemu-system-x86_64", UUID_2);
    is_refused(UUID_1, "its QEMU process was not found");
}

/* A job of cron's, or root of a container, has a group of the system's, but not one that is named
 * after a QEMU, whatever it calls groups below its own. */
static const struct {
    const char *forger;
    bool is_told_apart;
} groups[] = {
    {"system.slice/cron.service", true},
    {"system.slice/docker-0123456789ab.scope", true},
    {"machine.slice/libpod-0123456789ab.scope", true},
    {"machine.slice/libpod-0123456789ab.scope/machine.slice/machine-qemu-1-web.scope", true},
    {"docker/0123456789ab/machine-qemu-1-web.scope", true},
    {"kubepods.slice/pod1.slice/cri-containerd-1.scope", true},
    {"machine.slice/machine-lxc-1-web.scope", true},
    {"machine.slice/machine-qemu-2-web.scope", false},
    {"machine.slice/machine-production.slice/machine-qemu-2-web.scope/libvirt/emulator", false},
    {"machine/qemu-2-web.libvirt-qemu/emulator", false},
    {"production.partition/qemu-2-web.libvirt-qemu", false},
    {"qemu.slice/100.scope", false},
};

TEST_EACH(all, a_group_named_after_a_qemu_tells_a_guest_from_a_forger, 0, COUNT(groups))
{
    make_qemu(40, "/tmp/qemu-kvm", UUID_1); /* found before the guest, and after it */
    put_into_group(40, groups[_i].forger);
    make_qemu(70, "/tmp/qemu-kvm", UUID_1);
    put_into_group(70, groups[_i].forger);
    if (!groups[_i].is_told_apart) {
        is_refused(UUID_1, "are both this guest's");
        return;
    }
    ck_assert_str_eq(serve(UUID_1, 20 * MIB), "");
    ck_assert_str_eq(written(), "20971520");
}

TEST(all, a_request_has_a_size_and_a_uuid)
{
    struct reclaimer_request request = {.uuid = UUID_1};

    ck_assert(reclaimer_request_valid(&request, sizeof(request)));
    ck_assert(!reclaimer_request_valid(&request, sizeof(request) - 1));
    ck_assert(!reclaimer_request_valid(&request, sizeof(request) + 1));
    request.uuid[0] = '/';
    ck_assert(!reclaimer_request_valid(&request, sizeof(request)));
    memset(request.uuid, 'a', sizeof(request.uuid));
    ck_assert(!reclaimer_request_valid(&request, sizeof(request)));
}

/* "" would say that it can be reclaimed from. */
TEST(all, what_cannot_be_read_is_refused_with_a_reason)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/" CGROUP SCOPE "/memory.stat", fake.path);
    ck_assert_int_eq(unlink(path), 0);
    is_refused(UUID_1, SCOPE ": No such file");
    fake_write(&fake, CGROUP SCOPE "/memory.stat", "");
    snprintf(path, sizeof(path), "%s/proc/swaps", fake.path);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    is_refused(UUID_1, "/proc/swaps: ");
}

/* prctl(2), PR_SET_NAME takes any byte. */
TEST(all, a_name_commands_no_terminal)
{
    fake_write(&fake, CGROUP SCOPE "/cgroup.procs", "50\n60\n");
    fake_write(&fake, "proc/60/status", "Name:\t\x1b[2Jx\nVmRSS:\t 8 kB\n");
    is_refused(UUID_1, "process 60 (?[2Jx) is in the group");
}

TEST(all, a_uuid_without_an_end_is_cut)
{
    struct reclaimer_request request = {.bytes = MIB};

    memset(request.uuid, 'x', sizeof(request.uuid));
    reclaimer_serve(&fake.root, false, &request, &answer);
    ck_assert_uint_eq(strlen(answer.uuid), 36);
    ck_assert_str_eq(written(), "");
}

TEST(all, a_long_reason_is_cut)
{
    const char *path = TEXT_OF(600, "0::/%0588d.scope\n", 0);

    fake_write(&fake, "proc/50/cgroup", path);
    serve(UUID_1, MIB);
    ck_assert_uint_eq(strlen(answer.group.refused), sizeof(answer.group.refused) - 1);
}

TEST(all, swap_on_a_disk_only_if_it_is_asked_for)
{
    struct reclaimer_request request = {.uuid = UUID_1};

    reclaimer_serve(&fake.root, true, &request, &answer);
    ck_assert_uint_eq(answer.group.swap_room_bytes, 6912 * MIB);
}

/* --- the process ------------------------------------------------------------------------------ */

static const struct account account; /* as it is */

static void start(struct reclaimer *reclaimer)
{
    const struct reclaimer_plan plan = {.account = &account, .act = true};

    ck_assert_ok(reclaimer_start(reclaimer, &plan, &error));
}

TEST(all, it_answers_one_at_a_time)
{
    const struct reclaimer_request request = {.uuid = UUID_2};
    struct reclaimer reclaimer;

    start(&reclaimer);
    ck_assert_int_eq(reclaimer_hear(&reclaimer, 0, &answer), 0); /* nothing was asked */
    ck_assert_int_eq(reclaimer_ask(&reclaimer, &request, 1), 0);
    ck_assert_int_eq(reclaimer_ask(&reclaimer, &request, 1), -EBUSY);
    ck_assert_int_eq(reclaimer_hear(&reclaimer, 60000, &answer), 1);
    ck_assert_str_eq(answer.uuid, UUID_2);
    ck_assert_str_eq(answer.group.refused, "its QEMU process was not found");
    ck_assert_int_eq(reclaimer_ask(&reclaimer, &request, 2), 0);
    ck_assert_int_eq(reclaimer_hear(&reclaimer, 60000, &answer), 1);
    reclaimer_end(&reclaimer);
    ck_assert_int_eq(reclaimer.fd, -1);
    ck_assert_int_eq(waitpid(reclaimer.pid, NULL, WNOHANG), -1); /* it is no zombie */
    ck_assert_int_eq(reclaimer_ask(&reclaimer, &request, 3), -EPIPE);
}

TEST(all, it_ends_with_what_started_it)
{
    struct reclaimer reclaimer;

    start(&reclaimer);
    close(reclaimer.fd); /* as kill -9 does */
    ck_assert_int_eq(waitpid(reclaimer.pid, NULL, 0), reclaimer.pid);
}

TEST(all, it_ends_at_what_is_no_request)
{
    struct reclaimer reclaimer;

    start(&reclaimer);
    ck_assert_int_eq(send(reclaimer.fd, "nonsense", 8, 0), 8);
    ck_assert_int_eq(waitpid(reclaimer.pid, NULL, 0), reclaimer.pid);
    close(reclaimer.fd);
}

TEST(all, that_it_was_killed_is_noticed)
{
    const struct reclaimer_request request = {.uuid = UUID_2};
    struct reclaimer reclaimer;

    start(&reclaimer);
    ck_assert_int_eq(kill(reclaimer.pid, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(reclaimer.pid, NULL, WUNTRACED),
                     reclaimer.pid); /* else it may answer */
    ck_assert_int_eq(reclaimer_ask(&reclaimer, &request, 1), 0);
    ck_assert_int_eq(reclaimer_hear(&reclaimer, 10, &answer), 0); /* it hangs: nobody waits */
    ck_assert_int_eq(kill(reclaimer.pid, SIGKILL), 0);
    ck_assert_int_eq(reclaimer_hear(&reclaimer, 60000, &answer), -EPIPE);
    reclaimer_end(&reclaimer);
}

/* The lock of vmwss-balloond is one that a child has, too. */
TEST(all, it_keeps_no_descriptor)
{
    struct reclaimer reclaimer;
    struct pollfd gone;
    int pipes[2];

    ck_assert_int_eq(pipe(pipes), 0);
    start(&reclaimer);
    close(pipes[1]);
    gone = (struct pollfd){.fd = pipes[0], .events = POLLIN};
    ck_assert_int_eq(poll(&gone, 1, 60000), 1);
    ck_assert_int_eq(gone.revents & POLLHUP, POLLHUP);
    ck_assert_int_eq(waitpid(reclaimer.pid, NULL, WNOHANG), 0);
    reclaimer_end(&reclaimer);
    close(pipes[0]);
}
