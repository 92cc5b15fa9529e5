// SPDX-License-Identifier: LGPL-2.1-or-later
#include "made_up_fleet.h"

#include "base/clock.h"
#include "programs/vmwssd/scanner/guest_writes.h"
#include "programs/vmwssd/scanner/scanner_process.h"

#include "fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#define FIRST_PID 2000

struct made_up *shared;
struct fleet *fleet;
struct scanner *scanner;
pid_t scanner_pid;
struct config config;

static const char *dir;
static struct fsroot root;
static struct run_lock lock = RUN_LOCK_NONE;
static atomic_bool started; /* there is a fleet */

/* --- the scans -------------------------------------------------------------------------------- */

struct guest_scan {
    struct guest guest;
    int i;
};

struct guest_scan *guest_scan_new(struct guest *guest, const struct fsroot *given)
{
    struct guest_scan *scan = calloc(1, sizeof(*scan));

    (void)given;
    guest_move(&scan->guest, guest);
    scan->i = scan->guest.process.pid - FIRST_PID;
    return scan;
}

void guest_scan_free(struct guest_scan *scan)
{
    if (!scan)
        return;
    virtual_clock_wait_while(&shared->of[scan->i].restore_hangs);
    atomic_fetch_add(&shared->of[scan->i].freed, 1);
    guest_close(&scan->guest);
    free(scan);
}

int guest_scan_sample(struct guest_scan *scan, const struct scan_sample *params,
                      struct ages_record *record, struct error *error)
{
    const unsigned n = atomic_fetch_add(&shared->n, 1) % LOGGED;

    (void)error;
    atomic_fetch_add(&shared->of[scan->i].anew, params->anew);
    atomic_fetch_or(&shared->of[scan->i].jobs, params->jobs);
    shared->log[n].guest = scan->i;
    shared->log[n].thread = (pid_t)syscall(SYS_gettid);
    atomic_fetch_add(&shared->of[scan->i].begun, 1);
    usleep(atomic_load(&shared->slow_us));
    virtual_clock_wait_while(&shared->of[scan->i].hangs);
    memset(record, 0, sizeof(*record));
    record->sample.pid = FIRST_PID + scan->i;
    atomic_fetch_add(&shared->of[scan->i].scans, 1);
    return 0;
}

int guest_scan_open_again(const struct guest_scan *scan, struct guest *out, struct error *error)
{
    (void)error;
    *out = (struct guest){.process = {.pid = scan->guest.process.pid, .pidfd = -1}};
    return 0;
}

int guest_writes_measure(const struct guest_writes *writes, struct guest *guest,
                         const struct scan_writes *params, struct write_curve *curve,
                         struct error *error)
{
    const unsigned now = atomic_fetch_add(&shared->measuring, 1) + 1;

    (void)writes;
    if (now > atomic_load(&shared->measuring_most))
        atomic_store(&shared->measuring_most, now);
    atomic_fetch_add(&shared->of[guest->process.pid - FIRST_PID].measured, 1);
    usleep(atomic_load(&shared->writes_us));
    virtual_clock_use_cpu_s(atomic_load(&shared->writes_cpu_ms) / 1e3);
    atomic_fetch_sub(&shared->measuring, 1);
    atomic_fetch_add(&shared->measured, 1);
    if (atomic_load(&shared->blind))
        return error_set(error, -ENOTSUP, "nothing sees it");
    *curve = (struct write_curve){
        .method = "soft-dirty",
        .n = 1,
        .points = {{params->window_s[0], params->window_s[0], 4096, 4096, 4096}}};
    return 0;
}

bool guest_scan_has_ram(const struct guest_scan *scan, struct ram_config *xml)
{
    (void)scan;
    (void)xml;
    return true;
}

bool guest_scan_size(const struct guest_scan *scan, struct ages_record *record)
{
    (void)scan;
    (void)record;
    return false;
}

int guest_scan_poll(struct guest_scan *scan, struct error *error)
{
    (void)scan;
    (void)error;
    return 0;
}

int guest_scan_wake_fd(const struct guest_scan *scan)
{
    (void)scan;
    return -1;
}

uint64_t guest_scan_pages(const struct guest_scan *scan)
{
    (void)scan;
    return 100; /* none is its first */
}

const char *guest_scan_method(const struct guest_scan *scan)
{
    (void)scan;
    return "idle";
}

/* --- what ld --wrap puts in between ----------------------------------------------------------- */

atomic_uint batches, guests_sent;
atomic_int hung = -1;
atomic_bool hang_first, hang_last;
atomic_bool wakes_late;
atomic_uint sleeps, overslept;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
void __real_scanner_batch_send(struct scanner *to, struct scanner_batch *batch);
void __wrap_scanner_batch_send(struct scanner *to, struct scanner_batch *batch);

static void make_hang(uint64_t guest)
{
    const int i = (int)guest - 1; /* numbers are from 1, in turn */

    atomic_store(&shared->of[i].hangs, true);
    atomic_store(&hung, i);
}

void __wrap_scanner_batch_send(struct scanner *to, struct scanner_batch *batch)
{
    atomic_fetch_add(&batches, 1);
    atomic_fetch_add(&guests_sent, (unsigned)batch->n);
    if (batch->n >= N / 2 && atomic_exchange(&hang_first, false))
        make_hang(batch->of[0].guest);
    if (batch->n >= N / 2 && atomic_exchange(&hang_last, false))
        make_hang(batch->of[batch->n - 1].guest);
    __real_scanner_batch_send(to, batch);
}

/* NOLINTEND(bugprone-reserved-identifier) */

/* Called with the mutex held when a worker is about to sleep; counts it if no worker would wake by
 * the first deadline. */
static void note_sleep(const pthread_cond_t *cond, uint64_t *until_ns)
{
    const struct deadline *next;
    uint64_t first_ns;

    if (atomic_load(&wakes_late) && *until_ns > clock_ns() + 5 * SECOND)
        *until_ns = UINT64_MAX;
    if (!atomic_load(&started) || cond != &fleet->changed)
        return;
    first_ns = virtual_clock_wakes_ns(cond);
    if (*until_ns < first_ns)
        first_ns = *until_ns;
    next = deadline_next(&fleet->table.queue);
    atomic_fetch_add(&sleeps, 1);
    atomic_fetch_add(&overslept, next && next->at_ns < first_ns);
}

/* --- the fleet -------------------------------------------------------------------------------- */

void make_processes(int n)
{
    dir = unit_dir();
    unit_shell(
        "mkdir %s/proc %s/run && cd %s/proc && for i in $(seq %d %d); do cp -r %s/libvirt/proc/%d $i "
        "&& sed -i s/^%d/$i/ $i/stat; done",
        dir, dir, dir, FIRST_PID, FIRST_PID + n - 1, FIXTURES, FIXTURE_PID, FIXTURE_PID);
    ck_assert_int_eq(fsroot_open(&root, dir), 0);
}

void start(int n, double period_s)
{
    const struct scanner_plan plan = {
        .root = &root, .lock = &lock, .log_level = LOG_CRIT, .patience_ns = SCANNER_PATIENCE_NS};
    struct fleet_sinks sinks = {0};

    virtual_clock_start();
    virtual_clock_on_wait = note_sleep;
    if (!dir)
        make_processes(n);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    ck_assert_ok(scanner_start(&scanner, &plan, &scanner_pid, &error));
    config_init(&config);
    config.period_s = period_s;
    config.n_windows = 1;
    config.window_s[0] = 4 * period_s;
    config.budget = config.guest_budget = 1;
    sinks.scanner = scanner;
    ck_assert_int_eq(publisher_start(&sinks.publisher, NULL), 0);
    ck_assert_int_eq(agents_start(&sinks.agents, scanner, NULL), 0);
    ck_assert_int_eq(fleet_start(&fleet, &root, &config, &sinks, NULL), 0);
    atomic_store(&started, true);
}

void uuid_of(int i, char uuid[37])
{
    snprintf(uuid, 37, "00000000-0000-4000-8000-%012d", i);
}

void add(int i)
{
    struct scan_guest_ref ref;

    ck_assert_ok(scanner_open_process(scanner, FIRST_PID + i, &ref, &error));
    ref.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    uuid_of(i, ref.uuid);
    fleet_add(fleet, 0, &ref);
}

void add_at_once(int n)
{
    struct config still = config;

    for (int i = 0; i < n; i++)
        add(i);
    fleet_configure(fleet, &still); /* all are due now */
}

void let_go(int i)
{
    char uuid[37];

    uuid_of(i, uuid);
    fleet_remove(fleet, 0, uuid);
}

unsigned scans(int i)
{
    return atomic_load(&shared->of[i].scans);
}

bool are_scanned(int n, int but, unsigned more)
{
    unsigned before[MANY];
    bool all = false;

    for (int i = 0; i < n; i++)
        before[i] = scans(i);
    for (int tries = 0; tries < 3000 && !all; tries++) {
        virtual_clock_pass_ms(10);
        all = true;
        for (int i = 0; i < n; i++)
            all &= i == but || scans(i) >= before[i] + more;
    }
    return all;
}

bool becomes(atomic_uint *number, unsigned value)
{
    for (int tries = 0; tries < 3000 && atomic_load(number) != value; tries++)
        virtual_clock_pass_ms(10);
    return atomic_load(number) == value;
}

static bool is_settled(void)
{
    pthread_mutex_lock(&fleet->mutex);

    const struct deadline *next = deadline_next(&fleet->table.queue);
    bool settled = fleet->table.queue.n == N && next->at_ns > clock_ns() + 100 * SECOND;

    pthread_mutex_unlock(&fleet->mutex);
    return settled;
}

void settle(unsigned before[N])
{
    for (int tries = 0; tries < 3000 && !is_settled(); tries++)
        virtual_clock_pass_ms(10);
    ck_assert(is_settled());
    virtual_clock_settle(); /* until both sleep */
    for (int i = 0; i < N; i++)
        before[i] = scans(i);
}

bool has_records(uint64_t n)
{
    for (int tries = 0; tries < 3000 && fleet_state(fleet).records < n; tries++)
        virtual_clock_pass_ms(10);
    return fleet_state(fleet).records == n;
}

int have_one_hang(int n)
{
    ck_assert(are_scanned(n, -1, 4)); /* together, by then */
    atomic_store(&hang_first, true);
    for (int tries = 0; tries < 3000 && atomic_load(&hung) < 0; tries++)
        virtual_clock_pass_ms(10);
    ck_assert_int_ge(atomic_load(&hung), 0);

    const int i = atomic_load(&hung);

    virtual_clock_settle();
    ck_assert_uint_eq(atomic_load(&shared->of[i].begun), scans(i) + 1);
    return i;
}

size_t hanging(void)
{
    virtual_clock_settle();
    return fleet_state_at(fleet, clock_ns() + 20 * SECOND).hanging;
}
