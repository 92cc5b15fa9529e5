// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_status.c  vmwss status: which vmwssd writes a history, which columns fit, and when
 * all is well. */
#include "base/meminfo.h"
#include "programs/vmwss/daemon_process.h"
#include "show/fit.h"
#include "show/host_memory.h"
#include "show/status.h"

#include "caught.h"
#include "fixture.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static const char *dir;
static struct fsroot root;

static void setup(void)
{
    dir = unit_dir();
    ck_assert_int_eq(fsroot_open(&root, dir), 0);
}

static void teardown(void)
{
    fsroot_close(&root);
}

/* A file of the tree, with the directories that it is in. */
static void put(const char *path, const char *text, size_t bytes)
{
    unit_write_bytes(dir, path, text, bytes);
}

static void put_text(const char *path, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put_text(const char *path, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    put(path, text, strlen(text));
}

/* A process that began @p start_ticks after boot, and has used so many ticks. */
static void put_process(int pid, const char *name, unsigned used_ticks, unsigned start_ticks)
{
    char path[64];

    snprintf(path, sizeof(path), "proc/%d/comm", pid);
    put_text(path, "%s\n", name);
    snprintf(path, sizeof(path), "proc/%d/stat", pid);
    put_text(path, "%d (%s) S 1 1 1 0 -1 0 0 0 0 0 %u 0 0 0 20 0 1 0 %u 0 0", pid, name, used_ticks,
             start_ticks);
}

TEST(plain, a_lock_has_an_owner)
{
    pid_t pid = 0;

    ck_assert(daemon_process_parse_lock("1: POSIX  ADVISORY  READ 19503 fe:00:10953542 128 128",
                                        10953542, &pid));
    ck_assert_int_eq(pid, 19503);
    ck_assert(!daemon_process_parse_lock("1: POSIX  ADVISORY  READ 19503 fe:00:10953542 128 128",
                                         1095354, &pid));
    ck_assert(!daemon_process_parse_lock("2: FLOCK  ADVISORY  WRITE 19503 fe:00:7 0 EOF", 7, &pid));
    ck_assert(!daemon_process_parse_lock("3: -> POSIX ADVISORY READ 19503 fe:00:7 0 EOF", 7, &pid));
    ck_assert(!daemon_process_parse_lock("4: POSIX  ADVISORY  READ 0 fe:00:7 0 EOF", 7, &pid));
    ck_assert(!daemon_process_parse_lock("5: OFDLCK ADVISORY  READ -1 fe:00:7 0 EOF", 7, &pid));
    ck_assert(!daemon_process_parse_lock("", 7, &pid));
}

FIXTURE(tree, .setup = setup, .teardown = teardown);

/* A reader holds the same lock; and another vmwssd is there first. */
TEST(tree, the_daemon_is_who_writes)
{
    const long hz = sysconf(_SC_CLK_TCK);
    const char cmdline[] = "vmwssd\0--foreground\0--budget\0002%\0--config\0/dev/null";
    struct status_daemon daemon;

    put_process(10, "vmwssd", 0, 0);
    put_process(20, "vmwss-exporter", 0, 0);
    put_process(30, "vmwssd", (unsigned)(3 * hz), (unsigned)(50 * hz));
    put_process(31, "vmwssd-scanner", (unsigned)(4 * hz), (unsigned)(51 * hz));
    put_process(32, "vmwssd", 0, 0);
    put_text("proc/30/task/30/children", "32 31 ");
    put("proc/30/cmdline", cmdline, sizeof(cmdline));
    put_text("proc/uptime", "150.00 1.00\n");
    put_text("proc/locks", "1: POSIX  ADVISORY  READ 20 fe:00:77 128 128\n"
                           "2: POSIX  ADVISORY  READ 30 fe:00:77 128 128\n"
                           "3: POSIX  ADVISORY  READ 10 fe:00:78 128 128\n");
    ck_assert_ok(daemon_process_find(&root, 77, &daemon, &error));
    ck_assert_int_eq(daemon.pid, 30);
    ck_assert(daemon.writes);
    ck_assert_int_eq(daemon.scanner_pid, 31);
    ck_assert_double_eq_tol(daemon.age_s, 100, 1e-9);
    ck_assert_double_eq_tol(daemon.cpu_s, 7, 1e-9);
    ck_assert_double_eq_tol(daemon.budget, 0.02, 1e-9);
    ck_assert_str_eq(daemon.config, "/dev/null");

    ck_assert_ok(daemon_process_find(&root, 79, &daemon, &error));
    ck_assert_int_eq(daemon.pid, 10); /* one runs, but not for this history */
    ck_assert(!daemon.writes);
    ck_assert_double_lt(daemon.cpu_s, 0); /* without its other half nothing is known of both */
}

TEST(tree, no_daemon)
{
    struct status_daemon daemon;

    put_process(20, "vmwss-exporter", 0, 0);
    put_text("proc/locks", "1: POSIX  ADVISORY  READ 20 fe:00:77 128 128\n");
    ck_assert_ok(daemon_process_find(&root, 77, &daemon, &error));
    ck_assert_int_eq(daemon.pid, 0);
    ck_assert(!daemon.writes);
}

TEST(tree, the_memory_of_a_host)
{
    struct host_memory memory;
    struct error error = {0};

    ck_assert_int_eq(meminfo_read(&root, &memory, &error), -ENOENT);
    put_text("proc/meminfo", "MemFree: 1 kB\n");
    ck_assert_int_eq(meminfo_read(&root, &memory, &error), -EINVAL);
    put_text("proc/meminfo", "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:  600 kB\n"
                             "SwapTotal:  50 kB\nSwapFree:   40 kB\n");
    ck_assert_int_eq(meminfo_read(&root, &memory, &error), 0);
    ck_assert_uint_eq(memory.total_bytes, 1000 * 1024);
    ck_assert_uint_eq(memory.available_bytes, 600 * 1024);
    ck_assert_uint_eq(memory.swap_total_bytes, 50 * 1024);
    ck_assert_uint_eq(memory.swap_free_bytes, 40 * 1024);
}

/* name(6) wss(5) ±(3, with age) age(2) */
static const char *shown(size_t width)
{
    static char text[8];
    struct fit_column columns[] = {
        {.width = 6, .shown = true},
        {.width = 5, .shown = true, .rank = 1},
        {.width = 3, .shown = true, .rank = 2},
        {.width = 2, .shown = true, .rank = 2},
        {.width = 90, .shown = false, .rank = 1},
    };

    fit_columns(columns, 5, width);
    for (size_t i = 0; i < 5; i++)
        text[i] = columns[i].shown ? '1' : '0';
    return text;
}

TEST(plain, columns_go_before_names)
{
    ck_assert_str_eq(shown(0), "11110");
    ck_assert_str_eq(shown(19), "11110");
    ck_assert_str_eq(shown(18), "11000");
    ck_assert_str_eq(shown(12), "11000");
    ck_assert_str_eq(shown(11), "10000");
    ck_assert_str_eq(shown(1), "10000");
}

TEST(plain, columns_are_chosen_by_name)
{
    ck_assert_int_eq(status_columns_check("domain"), 0);
    ck_assert_int_eq(status_columns_check("flags,wss-longest,domain"), 0);
    ck_assert_int_eq(status_columns_check(""), -EINVAL);
    ck_assert_int_eq(status_columns_check("domain,"), -EINVAL);
    ck_assert_int_eq(status_columns_check(",domain"), -EINVAL);
    ck_assert_int_eq(status_columns_check("domains"), -EINVAL);
    ck_assert_int_eq(status_columns_check("dom"), -EINVAL);
}

TEST(plain, a_host_in_one_sentence)
{
    struct host_memory memory = {.total_bytes = 4ULL << 30, .available_bytes = 3ULL << 29};
    char text[HOST_MEMORY_TEXT];
    char name[256] = "";

    ck_assert_str_eq(host_memory_text(text, &memory, 5ULL << 30),
                     "4.0 GiB of RAM, 1.5 GiB available, no swap; assigned 125% of RAM");
    memory.swap_total_bytes = 2ULL << 30;
    memory.swap_free_bytes = 3ULL << 29;
    ck_assert_str_eq(
        host_memory_text(text, &memory, 0),
        "4.0 GiB of RAM, 1.5 GiB available, 512.0 MiB of 2.0 GiB swap used; assigned 0% of RAM");
    gethostname(name, sizeof(name) - 1);
    ck_assert_ptr_nonnull(strstr(host_memory_of(text, name, 0), " of RAM, "));
    strcat(name, "x");
    ck_assert_str_eq(host_memory_of(text, name, 0), "");
}

TEST(plain, when_all_is_well)
{
    struct status_guest guests[2] = {{.measured = true}, {.suspended = true}};
    struct status status = {.daemon = {.pid = 1, .writes = true}, .n = 2, .guests = guests};

    ck_assert(status_is_well(&status));
    guests[1].suspended = false;
    ck_assert(!status_is_well(&status));
    guests[1].measured = true;
    ck_assert(status_is_well(&status));
    status.daemon.writes = false;
    ck_assert(!status_is_well(&status));
    status.daemon.writes = true;
    status.daemon.pid = 0;
    ck_assert(!status_is_well(&status));
    status.daemon.pid = 1;
    strcpy(status.no_history, "damaged");
    ck_assert(!status_is_well(&status));
}

/* A sum of which nothing is known is "-", and that of no guests 0. */
TEST(plain, unmeasured_guests_have_no_sum)
{
    static const char unknown[] =
        "2 guests, 0 measured: assigned 1.0 GiB, resident -, WSS -, reclaimable -\n";
    struct status_guest guests[2];
    struct status status = {.n = 2, .guests = guests};

    for (int i = 0; i < 2; i++)
        guests[i] = (struct status_guest){.assigned_bytes = (uint64_t)512 << 20,
                                          .resident_bytes = STATUS_UNKNOWN};
    catch_output();
    ck_assert_int_eq(status_print(&status, "domain", SHOW_TABLE), 0);
    ck_assert_has(caught_output(), unknown);
    status.n = 0;
    catch_output();
    ck_assert_int_eq(status_print(&status, "domain", SHOW_TABLE), 0);
    ck_assert_has(caught_output(), "0 guests, 0 measured: assigned 0 B, resident 0 B, WSS 0 B");
}

/* A user may read neither the history nor the processes. */
TEST(plain, unseen_guests_are_not_counted)
{
    struct status status = {.memory = {.total_bytes = 1, .available_bytes = 1}};

    strcpy(status.no_history, "Permission denied");
    catch_output();
    ck_assert_int_eq(status_print(&status, "domain", SHOW_TABLE), 0);

    const char *output = caught_output();

    ck_assert_has(output, "host: 1 B of RAM, 1 B available, no swap\n");
    ck_assert_ptr_null(strstr(output, "0 guests"));
    catch_output();
    ck_assert_int_eq(status_print(&status, "domain", SHOW_JSON), 0);
    ck_assert_has(caught_output(), "\"assigned_bytes\":null,\"overcommit\":null");
}
