// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_fleet.c  The threads of a fleet, with guests at whom nobody can look: what there is
 * of them in /proc are pipes that nobody writes to, as a read waits there while somebody holds the
 * lock of a process's mappings. */
#include "base/clock.h"
#include "kept.h"
#include "programs/vmwssd/scan/fleet_private.h"
#include "programs/vmwssd/scanner/budget.h"
#include "programs/vmwssd/scanner/guest_scan.h"
#include "programs/vmwssd/sources/connection.c" /* its hang_up() */
#include "programs/vmwssd/sources/processes.h"

#include "fixture.h"
#include "virtual_clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECOND 1000000000ULL
#define FIRST_PID 100
#define UUID "00000000-0000-4000-8000-000000000001"

static const char *dir;
static struct fsroot root;
static struct fleet *fleet; /* threads may use it until the process ends */

static void start(struct writer *writer)
{
    struct fleet_sinks sinks = {.writer = writer};
    static struct config config;

    config_init(&config);
    ck_assert_int_eq(publisher_start(&sinks.publisher, NULL), 0);
    ck_assert_int_eq(scanner_local(&sinks.scanner, &root), 0);
    ck_assert_int_eq(agents_start(&sinks.agents, sinks.scanner, NULL), 0);
    ck_assert_int_eq(fleet_start(&fleet, &root, &config, &sinks, NULL), 0);
}

static void setup_root(void)
{
    virtual_clock_start();
    dir = unit_dir();

    const char *path = TEXT_OF(64, "%s/proc", dir);

    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert_int_eq(fsroot_open(&root, dir), 0);
}

static void setup(void)
{
    setup_root();
    start(NULL);
}

/* --- what ld --wrap puts in between ----------------------------------------------------------- */

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __real_guest_scan_sample(struct guest_scan *scan, const struct scan_sample *params,
                             struct ages_record *record, struct error *error);
int __wrap_guest_scan_sample(struct guest_scan *scan, const struct scan_sample *params,
                             struct ages_record *record, struct error *error);
uint64_t __real_guest_scan_pages(const struct guest_scan *scan);
uint64_t __wrap_guest_scan_pages(const struct guest_scan *scan);
bool __real_guest_scan_has_ram(const struct guest_scan *scan, struct ram_config *xml);
bool __wrap_guest_scan_has_ram(const struct guest_scan *scan, struct ram_config *xml);
int __real_store_check(struct store *store, int (*ends)(void *context), void *context,
                       struct error *error);
int __wrap_store_check(struct store *store, int (*ends)(void *context), void *context,
                       struct error *error);

/* A scan that begins the panel again hangs while this pipe is open and empty. */
static int restored[2] = {-1, -1};

/* When told to, a scan takes a while, and has counted so many pages. */
static struct {
    bool on;
    uint64_t pages;
    int result; /* of a scan */
    double cpu_s;
    atomic_int scans;
} slow;

int __wrap_guest_scan_sample(struct guest_scan *scan, const struct scan_sample *params,
                             struct ages_record *record, struct error *error)
{
    char byte;

    if (params->anew && restored[0] >= 0)
        ck_assert_int_eq(read(restored[0], &byte, 1), 0);
    if (!slow.on)
        return __real_guest_scan_sample(scan, params, record, error);
    virtual_clock_pass_ms(300);
    virtual_clock_use_cpu_s(slow.cpu_s);
    atomic_fetch_add(&slow.scans, 1);
    return error_set(error, slow.result, "slow");
}

uint64_t __wrap_guest_scan_pages(const struct guest_scan *scan)
{
    return slow.on ? slow.pages : __real_guest_scan_pages(scan);
}

static int compares[2] = {-1, -1}; /* if it is open, a comparison lasts until it is closed */
static atomic_bool comparing;

bool __wrap_guest_scan_has_ram(const struct guest_scan *scan, struct ram_config *xml)
{
    char byte;

    atomic_store(&comparing, true);
    if (compares[0] >= 0)
        ck_assert_int_eq(read(compares[0], &byte, 1), 0);
    return __real_guest_scan_has_ram(scan, xml);
}

static atomic_bool checked;
static int checks[2] = {-1, -1}; /* if it is open, a check lasts until it is closed */

/* A history so large that to check it takes half a second of CPU time. */
int __wrap_store_check(struct store *store, int (*ends)(void *context), void *context,
                       struct error *error)
{
    char byte;

    if (checks[0] >= 0)
        ck_assert_int_eq(read(checks[0], &byte, 1), 0);
    else
        virtual_clock_use_cpu_s(2 * LEDGER_BURST_S);
    atomic_store(&checked, true);
    return __real_store_check(store, ends, context, error);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* --- guests ----------------------------------------------------------------------------------- */

static void make_hang(int pid)
{
    static const char *const names[] = {"stat", "status", "smaps", "maps"};
    char path[96];

    snprintf(path, sizeof(path), "%s/proc/%d", dir, pid);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(path, sizeof(path), "%s/proc/%d/%s", dir, pid, names[i]);
        ck_assert_int_eq(mkfifo(path, 0600), 0);
    }
}

/* As a source does: it is the scanner's, and the fleet hears of it. */
static void add_guest(unsigned source, struct guest *guest)
{
    struct scan_guest_ref ref;

    ck_assert_int_eq(scanner_adopt(fleet_scanner(fleet), guest, &ref), 0);
    fleet_add(fleet, source, &ref);
}

static void add(int pid)
{
    struct guest guest = {.process = {.pid = pid, .mm_fd = -1, .start_ticks = 1}};

    guest.process.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    strcpy(guest.process.exe, "/usr/bin/qemu-system-x86_64");
    snprintf(guest.name, sizeof(guest.name), "g%d", pid);
    snprintf(guest.uuid, sizeof(guest.uuid), "00000000-0000-4000-8000-%012d", pid);
    add_guest(0, &guest);
}

/* One that is there, and that nobody can measure. */
static void make_refused(int pid)
{
    char path[96];

    snprintf(path, sizeof(path), "%s/proc/%d", dir, pid);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/proc/%d/exe", dir, pid);
    ck_assert_int_eq(symlink("/usr/bin/qemu-system-x86_64", path), 0);
    snprintf(path, sizeof(path), "%s/proc/%d/stat", dir, pid);

    FILE *stat = fopen(path, "w");

    ck_assert_ptr_nonnull(stat);
    fprintf(stat, "%d (qemu) S 1", pid);
    for (int field = 5; field <= 52; field++)
        fprintf(stat, " %d", field == 22); /* the start */
    ck_assert_int_eq(fclose(stat), 0);
}

static bool has_guests(size_t n)
{
    return fleet_state(fleet).guests == n;
}

/* Returns the RAM of a guest without <memoryBacking>: the XML does not tell its kind, QEMU's
 * command line does. */
static struct ram_config ram_of(enum ram_source source, const char *id)
{
    struct ram_backend backend = {.size_bytes = 256ULL << 20, .source = source};
    struct ram_config config = {0};

    strcpy(backend.id, id);
    ck_assert_int_eq(ram_config_add(&config, &backend), 0);
    return config;
}

static void add_with_ram(int pid)
{
    struct guest guest = {.process = {.pid = pid, .mm_fd = -1, .start_ticks = 1}};

    guest.process.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    guest.process.config.ram = ram_of(RAM_SOURCE_ANON, "mach-virt.ram");
    guest.ram = ram_of(RAM_SOURCE_ANON, "mach-virt.ram");
    strcpy(guest.uuid, UUID);
    add_guest(0, &guest);
}

/* Within ten seconds. */
static bool becomes(size_t n)
{
    for (int i = 0; i < 1000 && !has_guests(n); i++)
        virtual_clock_pass_ms(10);
    return has_guests(n);
}

FIXTURE(cases, .setup = setup, .timeout_s = 60);

/* One that is not there is let go as soon as somebody looks. */
TEST(cases, others_are_looked_at_while_some_hang)
{
    for (int pid = FIRST_PID; pid < FIRST_PID + 5; pid++)
        make_hang(pid);
    add(FIRST_PID);
    virtual_clock_pass_ms(100);
    add(FIRST_PID + 10);
    ck_assert(becomes(1)); /* by the second thread */
    for (int pid = FIRST_PID + 1; pid < FIRST_PID + 5; pid++)
        add(pid);
    virtual_clock_pass_ms(100);
    add(FIRST_PID + 11);
    virtual_clock_pass_ms(500);
    ck_assert(has_guests(6)); /* both hang */
    fleet_relieve(fleet, clock_ns());
    virtual_clock_pass_ms(500);
    ck_assert(has_guests(6));                        /* not for long */
    for (int i = 0; i < 10 && !has_guests(5); i++) { /* of a batch one hangs after the other */
        fleet_relieve(fleet, clock_ns() + 20 * SECOND);
        virtual_clock_pass_ms(500);
    }
    ck_assert(becomes(5));
    ck_assert(fleet_state(fleet).alive); /* the service manager need not end us for that */
}

/* Threads that scan guests that hang, until there are no more. */
static void make_all_hang(int n)
{
    for (int pid = FIRST_PID; pid < FIRST_PID + n; pid++) {
        make_hang(pid);
        add(pid);
    }
}

static size_t hanging(void)
{
    return fleet_state_at(fleet, clock_ns() + 20 * SECOND).hanging;
}

TEST(cases, a_stalled_storage_is_not_the_end)
{
    make_all_hang(20);
    for (int i = 0; i < 1000 && hanging() < 20; i++) {
        fleet_relieve(fleet, clock_ns() + 20 * SECOND);
        virtual_clock_pass_ms(10);
    }
    ck_assert_uint_eq(hanging(), 20);
    add(FIRST_PID + 100);
    for (int i = 0; i < 1000 && !has_guests(20); i++) {
        fleet_relieve(fleet, clock_ns() + 20 * SECOND);
        virtual_clock_pass_ms(10);
    }
    ck_assert(has_guests(20)); /* that one was looked at, and is not there */
    ck_assert(fleet_state_at(fleet, clock_ns() + 20 * SECOND).alive);
}

TEST(cases, when_all_threads_hang_the_watchdog_is_not_fed)
{
    make_all_hang(FLEET_WORKERS_MAX + 1);
    for (int i = 0; i < 1000 && hanging() < FLEET_WORKERS_MAX; i++) {
        fleet_relieve(fleet, clock_ns() + 20 * SECOND);
        virtual_clock_pass_ms(10);
    }
    ck_assert_uint_eq(hanging(), FLEET_WORKERS_MAX);
    ck_assert(!fleet_state_at(fleet, clock_ns() + 20 * SECOND).alive);
    ck_assert(fleet_state(fleet).alive); /* for ten seconds it may be just slow */
}

TEST(cases, a_guest_whose_look_hung_is_set_apart)
{
    struct fleet_guest guest = {0};
    uint64_t now_ns = clock_ns();
    uint64_t long_ago_ns = now_ns - 11 * SECOND;

    ck_assert_uint_eq(fleet_set_apart(&guest, now_ns, now_ns + 5), now_ns + 5);
    ck_assert_uint_ge(fleet_set_apart(&guest, long_ago_ns, now_ns), now_ns + 60 * SECOND);
    ck_assert_uint_ge(fleet_set_apart(&guest, long_ago_ns, now_ns), now_ns + 120 * SECOND);
    ck_assert_uint_eq(fleet_set_apart(&guest, long_ago_ns, 0), 0);
    ck_assert_uint_eq(fleet_set_apart(&guest, now_ns, now_ns), now_ns);
    ck_assert_uint_lt(fleet_set_apart(&guest, long_ago_ns, now_ns), now_ns + 90 * SECOND);
}

/* Its panel does not fit the new rules: what was marked is restored before another is drawn. */
TEST(cases, nobody_else_waits_for_a_restoring_that_hangs)
{
    struct config other;

    make_refused(FIRST_PID);
    add(FIRST_PID);
    for (int i = 0; i < 1000 && fleet_state(fleet).refused < 1; i++)
        virtual_clock_pass_ms(10);
    ck_assert_uint_eq(fleet_state(fleet).refused, 1);
    ck_assert_int_eq(pipe(restored), 0);
    config_init(&other);
    other.window_s[0] /= 2;
    fleet_configure(fleet, &other);
    virtual_clock_pass_ms(500);
    fleet_relieve(fleet, clock_ns());
    ck_assert(has_guests(1));
    add(FIRST_PID + 10);
    ck_assert(becomes(1)); /* not there, as somebody has seen */
    ck_assert(fleet_state(fleet).alive);
    close(restored[1]);
}

TEST(cases, the_end_does_not_wait_for_those_that_hang)
{
    make_hang(FIRST_PID);
    add(FIRST_PID);
    virtual_clock_pass_ms(100);
    fleet_stop(fleet);
    ck_assert(has_guests(1)); /* left to the end of the process */
}

TEST(cases, a_guest_stays_when_what_is_plugged_is_no_memory)
{
    struct ram_config xml = ram_of(RAM_SOURCE_UNKNOWN, "pc.ram");
    const struct ram_backend dimm = {.id = "memdimm0", .size_bytes = 128ULL << 20, .dimm = true};

    make_hang(FIRST_PID);
    add_with_ram(FIRST_PID);
    fleet_plugged(fleet, 0, UUID, &xml);
    ck_assert(has_guests(1));
    ram_config_free(&xml);

    xml = ram_of(RAM_SOURCE_UNKNOWN, "pc.ram");
    ck_assert_int_eq(ram_config_add(&xml, &dimm), 0);
    fleet_plugged(fleet, 0, UUID, &xml);
    ck_assert(has_guests(0));
    ram_config_free(&xml);
}

static void *plug(void *context)
{
    fleet_plugged(fleet, 0, UUID, context);
    return NULL;
}

/* A scanner that hangs would hold up all that needs the mutex, and be noticed by nobody. */
TEST(cases, nobody_waits_while_what_was_plugged_is_compared)
{
    cleanup_ram_config struct ram_config xml = ram_of(RAM_SOURCE_UNKNOWN, "pc.ram");
    const struct ram_backend dimm = {.id = "memdimm0", .size_bytes = 128ULL << 20, .dimm = true};
    pthread_t thread;

    ck_assert_int_eq(ram_config_add(&xml, &dimm), 0);
    ck_assert_int_eq(pipe(compares), 0);
    make_hang(FIRST_PID);
    add_with_ram(FIRST_PID);
    ck_assert_int_eq(pthread_create(&thread, NULL, plug, &xml), 0);
    virtual_clock_settle();
    ck_assert(atomic_load(&comparing));
    ck_assert_int_eq(pthread_mutex_trylock(&fleet->mutex), 0);
    pthread_mutex_unlock(&fleet->mutex);
    ck_assert(has_guests(1));
    close(compares[1]);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert(has_guests(0));
}

static void make_task(int pid, int tid, const char *comm)
{
    char path[96];

    snprintf(path, sizeof(path), "%s/proc/%d/task", dir, pid);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/proc/%d/task/%d", dir, pid, tid);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/proc/%d/task/%d/comm", dir, pid, tid);

    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fprintf(file, "%s\n", comm);
    ck_assert_int_eq(fclose(file), 0);
}

static unsigned jobs_of_first(void)
{
    pthread_mutex_lock(&fleet->mutex);

    unsigned jobs = fleet->table.guests->jobs;

    pthread_mutex_unlock(&fleet->mutex);
    return jobs;
}

/* Where /proc is mounted with hidepid the fleet sees no process of another user, and the scanner
 * does. */
TEST(cases, jobs_are_seen_in_processes_that_are_hidden)
{
    struct fsroot hidden;

    make_hang(FIRST_PID);
    make_task(FIRST_PID, FIRST_PID + 1, "live_migration");

    const char *empty = TEXT_OF(64, "%s/proc/%d/task", dir, FIRST_PID);

    ck_assert_int_eq(fsroot_open(&hidden, empty), 0);
    fleet->root = &hidden;
    add(FIRST_PID);
    for (int i = 0; i < 1000 && !jobs_of_first(); i++) {
        virtual_clock_pass_ms(10);
        fleet_find_jobs(fleet);
    }
    ck_assert_uint_eq(jobs_of_first(), FLAG_MIGRATING);
}

/* A guest with the UUID of the first, of this process. */
static void add_uuid(int pid, unsigned source, bool from_libvirt)
{
    struct guest guest = {.from_libvirt = from_libvirt,
                          .process = {.pid = pid, .mm_fd = -1, .start_ticks = 1}};

    guest.process.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    strcpy(guest.process.exe, "/usr/bin/qemu-system-x86_64");
    strcpy(guest.uuid, UUID);
    add_guest(source, &guest);
}

/* Any local user can start a QEMU with the UUID of a guest that is off. */
TEST(cases, libvirts_guest_displaces_a_process_of_its_uuid)
{
    make_hang(FIRST_PID);
    make_hang(FIRST_PID + 1);
    add_uuid(FIRST_PID, 1, false);
    ck_assert(fleet_has(fleet, UUID, false) && !fleet_has(fleet, UUID, true));
    add_uuid(FIRST_PID + 1, 0, true);
    ck_assert(has_guests(1));
    ck_assert(fleet_has(fleet, UUID, true));
    ck_assert(fleet_watches(fleet, FIRST_PID + 1, 1) && !fleet_watches(fleet, FIRST_PID, 1));
}

/* One that was found as a process is not said to be watched to a libvirt that comes to know it, so
 * that it is added anew. */
TEST(cases, libvirt_takes_over_what_was_found_as_a_process)
{
    make_hang(FIRST_PID);
    add_uuid(FIRST_PID, 1, false);
    ck_assert(fleet_note(fleet, 1, UUID, FIRST_PID, 1, false));
    ck_assert(!fleet_note(fleet, 0, UUID, FIRST_PID, 1, false));
    add_uuid(FIRST_PID, 0, true);
    ck_assert(has_guests(1));
    ck_assert(fleet_note(fleet, 0, UUID, FIRST_PID, 1, false));
}

FIXTURE(cases_3, .setup = setup_root, .timeout_s = 60);

/* Any user can start 100,000 processes. */
TEST(cases_3, proc_is_read_for_a_fiftieth_of_the_time)
{
    ck_assert_double_eq(processes_wait_s(0), PROCESSES_EVERY_S);
    ck_assert_double_eq(processes_wait_s(0.009), PROCESSES_EVERY_S); /* 500 processes */
    ck_assert_double_eq(processes_wait_s(1.8), 90);
    ck_assert_double_eq(processes_wait_s(1000), PROCESSES_SELDOM_S);
}

TEST(cases_3, a_name_makes_always_the_same_uuid)
{
    char one[37];
    char again[37];
    char other[37];

    processes_uuid("web1", one);
    processes_uuid("web1", again);
    processes_uuid("web2", other);
    ck_assert_str_eq(one, again);
    ck_assert_str_ne(one, other);
    ck_assert_uint_eq(strlen(one), 36);
    ck_assert_int_eq(one[14], '8');                 /* RFC 9562: version 8, ... */
    ck_assert_ptr_nonnull(strchr("89ab", one[19])); /* ... of its variant */
}

/* ThreadSanitizer watches this: other threads read the fleet's state, and new guests cause new
 * plans, while scans succeed or fail. */
static void scan_and_plan(int result)
{
    slow.result = result;
    slow.pages = 100;
    slow.on = true;
    setup_root();
    start(NULL);
    for (int i = 0; i < 4; i++) {
        make_refused(FIRST_PID + i);
        add(FIRST_PID + i);
        for (int j = 0; j < 25; j++) {
            ck_assert_uint_le(fleet_state(fleet).refused, (uint64_t)i + 1);
            virtual_clock_pass_ms(10);
        }
    }
}

FIXTURE(cases_tests, .timeout_s = 60);

TEST(cases_tests, a_fleet_is_planned_while_guests_are_looked_at)
{
    scan_and_plan(-EAGAIN);
    ck_assert_uint_eq(fleet_state(fleet).refused, 0);
    fleet_stop(fleet);
}

TEST(cases_tests, a_fleet_is_counted_while_looks_fail)
{
    scan_and_plan(-EIO);
    fleet_stop(fleet);
}

/* Its share of the host's budget, 0.15 %, pays for 0.15 s of CPU time in 100 s. */
TEST(cases_tests, a_guest_that_is_dear_is_scanned_less_often)
{
    slow.cpu_s = 0.15;
    slow.result = -EAGAIN;
    slow.pages = BUDGET_MIN_SAMPLES;
    slow.on = true;
    setup_root();
    start(NULL);
    make_refused(FIRST_PID);
    add(FIRST_PID);
    virtual_clock_pass_ms(60000);

    const int learnt = atomic_load(&slow.scans);

    ck_assert_int_ge(learnt, 1);
    virtual_clock_pass_ms(400000);
    ck_assert_msg(atomic_load(&slow.scans) >= learnt + 3 && atomic_load(&slow.scans) <= learnt + 5,
                  "%d, then %d scans", learnt, atomic_load(&slow.scans));
    fleet_stop(fleet);
}

/* Nor are they refused: nothing is wrong with them. */
TEST(cases_tests, a_scanner_that_ends_is_not_the_end_of_guests)
{
    scan_and_plan(-ESHUTDOWN);
    ck_assert_uint_eq(fleet_state(fleet).guests, 4);
    ck_assert_uint_eq(fleet_state(fleet).refused, 0);
    fleet_stop(fleet);
}

/* Opens a writer for a history in the test's directory. */
static struct writer *history_writer(char path[64], const char *name)
{
    struct writer *writer;

    snprintf(path, 64, "%s/%s", dir, name);
    ck_assert_int_eq(writer_start(&writer, path, &store_retention_default, NULL), 0);
    return writer;
}

/* A record of UUID_1 on this host, as events are of. */
static struct ages_record record_here(void)
{
    struct ages_record record = kept_record("web1", UUID_1, 1e9, 64);

    gethostname(record.sample.host, sizeof(record.sample.host) - 1);
    return record;
}

TEST(cases_3, the_budget_does_not_pay_for_checking_the_history)
{
    struct writer *writer;
    char path[64];

    writer = history_writer(path, "history.db");
    start(writer);
    ck_assert(fleet_wait_to_open(fleet, 0, 1, 0) == 0);
    /* Its CPU time is counted while it goes on. */
    for (int i = 0;
         i < 5000 && (writer_checking_cpu_s(writer) < 2 * LEDGER_BURST_S || !atomic_load(&checked));
         i++)
        virtual_clock_pass_ms(10);
    ck_assert(atomic_load(&checked));
    ck_assert(fleet_wait_to_open(fleet, 0, 1, 0) == 0);
    fleet_stop(fleet);
    writer_stop(writer);
    writer_free(writer);
}

static bool writes(struct writer *writer, uint64_t n)
{
    uint64_t written = 0;
    uint64_t dropped;

    for (int i = 0; i < 300 && written < n; i++) {
        virtual_clock_pass_ms(10);
        writer_counts(writer, &written, &dropped);
    }
    return written == n;
}

/* However long that takes: a history that was closed is written meanwhile, one that was not is
 * checked first. */
TEST(cases_3, nobody_waits_for_the_check_of_the_history)
{
    const struct ages_record record = kept_record("web1", UUID_1, 1e9, 64);
    struct writer *writer;
    char path[64];

    ck_assert_int_eq(pipe(checks), 0);
    writer = history_writer(path, "history.db");
    writer_put(writer, &record, 30, 0.022, NULL);
    ck_assert(writes(writer, 1));
    ck_assert(!atomic_load(&checked));
    /* As kill -9 leaves it. */
    unit_shell("cd %s && for i in '' -wal; do cp history.db$i killed.db$i; done", dir);
    close(checks[1]);
    writer_stop(writer);
    writer_free(writer);
    ck_assert(atomic_load(&checked));

    ck_assert_int_eq(pipe(checks), 0);
    atomic_store(&checked, false);
    writer = history_writer(path, "killed.db");
    writer_put(writer, &record, 30, 0.022, NULL);
    ck_assert(!writes(writer, 1) && !atomic_load(&checked)); /* for three seconds */
    close(checks[1]);
    ck_assert(writes(writer, 1));
    writer_stop(writer);
    writer_free(writer);
}

/* A connection that has just found libvirt again asks when it may open guests, and whether they
 * run: at the end nobody waits for its thread. */
TEST(cases_3, a_connection_may_ask_when_all_has_stopped)
{
    const struct ages_record record = kept_record("web1", UUID_1, 1e9, 64);
    struct writer *writer;
    char path[64];
    uint64_t written;
    uint64_t dropped;

    writer = history_writer(path, "history.db");
    start(writer);
    fleet_stop(fleet);
    writer_stop(writer);
    ck_assert(fleet_wait_to_open(fleet, 0, 1, 0) >= 0);
    writer_event(writer, UUID_1, EVENT_SUSPEND);
    writer_put(writer, &record, 30, 0.022, NULL);
    writer_counts(writer, &written, &dropped);
    ck_assert_uint_eq(written, 0);
    ck_assert_uint_eq(dropped, 0); /* so nothing is said of the disk */
    writer_free(writer);
}

/* How it began is known before its first record, which makes it a guest of the history. */
TEST(cases_3, the_start_of_a_new_guest_is_kept)
{
    const struct ages_record record = record_here();
    struct writer *writer;
    char path[64];

    writer = history_writer(path, "history.db");
    writer_event(writer, UUID_1, EVENT_START); /* of a process that ends again */
    writer_event(writer, UUID_1, EVENT_MIGRATE_IN);
    writer_event(writer, UUID_1, EVENT_END);
    writer_event(writer, UUID_1, EVENT_MIGRATE_OUT);
    writer_event(writer, UUID_1, EVENT_START);
    writer_event(writer, UUID_2, EVENT_START);
    writer_event(writer, UUID_1, EVENT_START); /* another process */
    writer_event(writer, UUID_1, EVENT_RESTORE);
    writer_event(writer, UUID_1, EVENT_SUSPEND);
    virtual_clock_pass_ms(2000); /* they are written */
    ck_assert_sql(path, "SELECT count(*) FROM event", "0");
    writer_put(writer, &record, 30, 0.022, NULL);
    ck_assert(writes(writer, 1));
    writer_event(writer, UUID_1, EVENT_SUSPEND);
    writer_stop(writer);
    writer_free(writer);
    ck_assert_sql(path, "SELECT group_concat(kind) FROM (SELECT kind FROM event ORDER BY id)",
                  "start,restore,suspend");
}

/* Guests that are never measured come and go: each has another UUID. */
TEST(cases_3, guests_that_went_unmeasured_take_no_room)
{
    const struct ages_record record = record_here();
    struct writer *writer;
    char path[64];

    writer = history_writer(path, "history.db");
    for (unsigned i = 0; i < 2048; i++) {
        char uuid[37];

        snprintf(uuid, sizeof(uuid), "%08x-0000-4000-8000-0000000000ff", i);
        writer_event(writer, uuid, EVENT_MIGRATE_IN);
        writer_event(writer, uuid, EVENT_MIGRATE_OUT);
        if (i % 256 == 255)
            virtual_clock_pass_ms(2000);
    }
    writer_event(writer, UUID_1, EVENT_START);
    virtual_clock_pass_ms(2000);
    writer_put(writer, &record, 30, 0.022, NULL);
    ck_assert(writes(writer, 1));
    writer_stop(writer);
    writer_free(writer);
    ck_assert_sql(path, "SELECT count(*) FROM event", "1");
}

/* A libvirtd that restarts gives up the arrival, without an event. Much later the domain is started
 * as any other. */
TEST(cases_3, an_arrival_ends_with_its_connection)
{
    const struct ages_record record = record_here();
    static struct connection connection;
    struct domain_event event = {.move = DOMAIN_ARRIVES, .uuid = UUID_1};
    struct writer *writer;
    char path[64];

    writer = history_writer(path, "history.db");
    start(writer);
    writer_put(writer, &record, 30, 0.022, NULL);
    ck_assert(writes(writer, 1));
    connection.fleet = fleet;
    moves_note(&connection.moves, fleet, &event);
    hang_up(&connection);
    event.move = DOMAIN_RUNS_OR_WAITS; /* "Resumed Unpaused", as after each start */
    moves_note(&connection.moves, fleet, &event);
    virtual_clock_pass_ms(2000);
    ck_assert_sql(path, "SELECT count(*) FROM event WHERE kind = 'migrate-in'", "0");
}
