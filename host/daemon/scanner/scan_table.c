// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scan_table.c  See scan_table.h. */
#include "daemon/scanner/scan_table.h"

#include "agent/agent_endpoint.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/proc_pid.h"
#include "daemon/scanner/guest_epoll.h"
#include "daemon/scanner/guest_scan.h"
#include "domain/qemu_vcpus.h"
#include "service/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RESTORERS 4
#define LEAVE_NS 5000000000ULL
#define FETCH_AT_ONCE 64

struct scan_entry {
    struct scan_entry *next;
    uint64_t number;
    pid_t pid;
    bool busy;         /* a thread has it: nobody else touches watched, but what never changes */
    uint64_t since_ns; /* since then */
    bool gone;         /* that thread frees it */
    struct guest_scan *scan; /* NULL: it is being restored */
};

struct scan_table {
    const struct fsroot *root;
    pid_t parent; /* the other half */
    int epoll_fd;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t changed;
    struct scan_entry *guests;
    uint64_t numbers;
    bool ended;
};

struct scan_table *scan_table_new(const struct fsroot *root, pid_t parent)
{
    struct scan_table *table = calloc(1, sizeof(*table));

    if (!table)
        return NULL;
    table->root = root;
    table->parent = parent;
    table->epoll_fd = guest_epoll_open();
    if (table->epoll_fd < 0) {
        free(table);
        return NULL;
    }
    pthread_mutex_init(&table->mutex, NULL);
    cond_init(&table->changed);
    return table;
}

/* --- one guest -------------------------------------------------------------------------------- */

/* The mutex is held. */
static struct scan_entry *scan_table_find(const struct scan_table *table, uint64_t number)
{
    struct scan_entry *guest = table->ended ? NULL : table->guests;

    while (guest && guest->number != number)
        guest = guest->next;
    return guest;
}

/* For good: what has ended is the scanner, not a guest. */
static bool has_ended(struct scan_table *table)
{
    pthread_mutex_lock(&table->mutex);

    bool ended = table->ended;

    pthread_mutex_unlock(&table->mutex);
    return ended;
}

static void unlink_guest(struct scan_table *table, const struct scan_entry *guest)
{
    struct scan_entry **at = &table->guests;

    while (*at != guest)
        at = &(*at)->next;
    *at = guest->next;
}

/* The mutex is held. */
static void begin(struct scan_entry *guest)
{
    guest->busy = true;
    guest->since_ns = clock_ns();
}

/* To be used by this thread alone; the other half asks for one thing at a time, so who has it now
 * fetches, which is short, or is a second request. NULL: there is none of that number. */
static struct scan_entry *scan_table_take(struct scan_table *table, uint64_t number)
{
    struct scan_entry *guest;

    pthread_mutex_lock(&table->mutex);
    while ((guest = scan_table_find(table, number)) && guest->busy)
        pthread_cond_wait(&table->changed, &table->mutex);
    if (guest)
        begin(guest);
    pthread_mutex_unlock(&table->mutex);
    return guest;
}

/* Its method may have another descriptor now. */
static void give_back(struct scan_table *table, struct scan_entry *guest)
{
    int wake_fd = guest_scan_wake_fd(guest->scan);

    if (wake_fd >= 0)
        guest_epoll_watch(table->epoll_fd, wake_fd, guest->number, GUEST_EVENT_FETCH);
    pthread_mutex_lock(&table->mutex);
    guest->busy = false;
    pthread_cond_broadcast(&table->changed);
    pthread_mutex_unlock(&table->mutex);
}

/* Who has it busy may; restoring it takes long, so others see meanwhile that there is nothing to
 * compare any more. */
static void free_guest(struct scan_table *table, struct scan_entry *guest)
{
    pthread_mutex_lock(&table->mutex);

    struct guest_scan *scan = guest->scan;

    guest->scan = NULL;
    guest->gone = true;
    pthread_mutex_unlock(&table->mutex);
    guest_scan_free(scan);
    pthread_mutex_lock(&table->mutex);
    unlink_guest(table, guest);
    pthread_cond_broadcast(&table->changed);
    pthread_mutex_unlock(&table->mutex);
    free(guest);
}

uint64_t scan_table_add(struct scan_table *table, struct guest *opened)
{
    struct scan_entry *guest = calloc(1, sizeof(*guest));

    if (guest) {
        guest->pid = opened->process.pid;
        guest->scan = guest_scan_new(opened, table->root);
    }
    if (!guest || !guest->scan) {
        free(guest);
        guest_close(opened);
        return 0;
    }
    pthread_mutex_lock(&table->mutex);

    uint64_t number = guest->number = ++table->numbers;

    guest->next = table->guests;
    table->guests = guest;
    pthread_mutex_unlock(&table->mutex);
    return number;
}

/* --- requests --------------------------------------------------------------------------------- */

static void fail(struct scan_reply *reply, int rc, const struct error *error)
{
    reply->rc = rc;
    snprintf(reply->error, sizeof(reply->error), "%s", rc < 0 ? error->text : "");
}

static void list(struct scan_table *table, struct scan_reply *reply)
{
    cleanup_free pid_t *pids = NULL;
    ssize_t n = qemu_process_find_all(table->root, &pids);

    reply->rc = n < 0 ? (int)n : 0;
    for (ssize_t i = 0; i < n && i < SCAN_MAX_PROCESSES; i++)
        reply->list.pids[reply->list.n++] = pids[i];
}

static struct domain_name name_of(const struct scan_domain *domain)
{
    return (struct domain_name){
        .pid_dir = domain->pid_dir, .name = domain->name, .uuid = domain->uuid};
}

static void find_process(struct scan_table *table, const struct scan_domain *domain,
                         struct scan_reply *reply)
{
    const struct domain_name name = name_of(domain);

    reply->pid = domain_process_find(table->root, &name);
}

static void find_start(struct scan_table *table, pid_t pid, struct scan_reply *reply)
{
    struct proc_stat stat;

    reply->rc = proc_stat_read(table->root, pid, &stat);
    reply->start_ticks = reply->rc == 0 ? stat.start_ticks : 0;
}

static int open_domain(struct scan_table *table, const struct scan_open *open, struct guest *guest,
                       struct error *error)
{
    const struct domain_name name = name_of(&open->domain);

    memset(guest, 0, sizeof(*guest));
    guest->process.pidfd = -1;

    int rc = domain_process_open(table->root, &name, &guest->process, error);

    if (rc < 0)
        return rc;
    guest->from_libvirt = true;
    guest->migrating = open->migrating;
    rc = scan_ram_take(&open->ram, &guest->ram);
    if (rc < 0) {
        guest_close(guest);
        return error_set(error, rc, "out of memory");
    }
    ram_config_refine(&guest->ram, &guest->process.config.ram);
    return 0;
}

static int tell_opened(const struct guest *guest, struct scan_opened *out, int *fd)
{
    out->pid = guest->process.pid;
    out->start_ticks = guest->process.start_ticks;
    memcpy(out->name, guest->process.config.name, sizeof(out->name));
    memcpy(out->uuid, guest->process.config.uuid, sizeof(out->uuid));
    if (guest->process.pidfd < 0) /* of a captured tree */
        return 0;
    *fd = fcntl(guest->process.pidfd, F_DUPFD_CLOEXEC, 0);
    return *fd < 0 ? -errno : 0;
}

static void open_guest(struct scan_table *table, const struct scan_open *open,
                       struct scan_reply *reply, int *fd)
{
    struct guest guest;
    struct error error = {0};
    int rc = open->pid ? guest_open_pid(table->root, open->pid, &guest, &error)
                       : open_domain(table, open, &guest, &error);

    if (rc == 0) {
        rc = tell_opened(&guest, &reply->opened, fd);
        if (rc < 0) {
            error_set(&error, rc, "process %d: %s", guest.process.pid, strerror(-rc));
            guest_close(&guest);
        }
    }
    if (rc == 0 && (reply->opened.guest = scan_table_add(table, &guest)) == 0)
        rc = error_set(&error, -ENOMEM, "out of memory");
    fail(reply, rc, &error);
}

/* What it is held against never changes, so whoever scans it meanwhile does not matter. */
static void has_ram(struct scan_table *table, const struct scan_request *request,
                    struct scan_reply *reply)
{
    struct ram_config config;

    reply->rc = scan_ram_take(&request->has_ram, &config);
    if (reply->rc < 0)
        return;
    pthread_mutex_lock(&table->mutex);

    const struct scan_entry *guest = scan_table_find(table, request->guest);

    reply->rc = table->ended ? -ESHUTDOWN : 0;
    reply->has_ram = guest && guest->scan && guest_scan_has_ram(guest->scan, &config);
    pthread_mutex_unlock(&table->mutex);
    ram_config_free(&config);
}

/* Of one that is being scanned as well: a scan that hangs is no reason to see nothing. */
static void find_jobs(struct scan_table *table, uint64_t number, struct scan_reply *reply)
{
    double cpu_s = thread_cpu_s();
    unsigned jobs = 0;

    pthread_mutex_lock(&table->mutex);

    const struct scan_entry *guest = scan_table_find(table, number);
    const pid_t pid = guest ? guest->pid : 0;

    pthread_mutex_unlock(&table->mutex);
    reply->rc = pid ? qemu_process_read_jobs(table->root, pid, &jobs) : -ESRCH;
    reply->jobs.jobs = jobs;
    reply->jobs.cpu_s = thread_cpu_s() - cpu_s;
}

static void sample_guest(struct scan_entry *guest, const struct scan_sample *sample,
                         struct scan_reply *reply)
{
    struct scan_rules rules = {.method = scan_method_take(sample->method),
                               .n_windows = sample->n_windows,
                               .tick_s = sample->tick_s};
    struct error error = {0};

    memcpy(rules.window_s, sample->window_s, sizeof(rules.window_s));
    reply->sampled.pages_before = guest_scan_pages(guest->scan);
    guest_scan_set_suspended(guest->scan, sample->suspended_total_ns);
    guest_scan_note_jobs(guest->scan, sample->jobs);
    if (sample->anew) /* restores the guest, which may hang as a scan may */
        guest_scan_begin_anew(guest->scan);

    int rc = guest_scan_sample(guest->scan, &rules, sample->samples, sample->cpu_s,
                               &reply->sampled.record, &error);

    if (rc == 0)
        scan_record_put(&reply->sampled);
    reply->sampled.pages = guest_scan_pages(guest->scan);
    reply->sampled.method = scan_method_put(method_by_name(guest_scan_method(guest->scan)));
    fail(reply, rc, &error);
}

static void size_guest(const struct scan_entry *guest, struct scan_reply *reply)
{
    if (guest_scan_size(guest->scan, &reply->sampled.record))
        scan_record_put(&reply->sampled);
}

/* Of who has ended another process is the parent, and serves sockets that are no agent's. */
static void connect_agent(const struct scan_table *table, const struct scan_connect *connect,
                          struct scan_reply *reply, int *fd)
{
    struct agent_endpoint endpoint = {.vsock_cid = connect->vsock_cid,
                                      .ours = getppid() == table->parent ? table->parent : 0};
    struct error error = {0};

    memcpy(endpoint.path, connect->path, sizeof(endpoint.path));
    memcpy(endpoint.uuid, connect->uuid, sizeof(endpoint.uuid));

    /* The socket belongs to QEMU's user: what it takes to connect to it is held for no longer than
     * that. */
    privileges_reach(true);

    int rc = agent_endpoint_connect(&endpoint, &error);

    privileges_reach(false);
    *fd = rc;
    fail(reply, rc < 0 ? rc : 0, &error);
}

static void with_guest(struct scan_table *table, const struct scan_request *request,
                       struct scan_reply *reply)
{
    struct scan_entry *guest = scan_table_take(table, request->guest);
    double cpu_s = thread_cpu_s();

    if (!guest) {
        reply->rc = has_ended(table) ? -ESHUTDOWN : -ESRCH;
        return;
    }
    if (request->op == SCAN_SAMPLE)
        sample_guest(guest, &request->sample, reply);
    else if (request->op == SCAN_SIZE)
        size_guest(guest, reply);
    if (request->op == SCAN_CLOSE)
        free_guest(table, guest);
    else
        give_back(table, guest);
    if (request->op != SCAN_CLOSE)
        reply->sampled.cpu_s = thread_cpu_s() - cpu_s;
}

/* The kernel gives the lowest number that is free, so it tells how many are not. */
static uint32_t files_left(void)
{
    cleanup_close int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    struct rlimit limit;

    if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0 || (rlim_t)fd >= limit.rlim_cur)
        return 0;
    return limit.rlim_cur - (rlim_t)fd < UINT32_MAX ? (uint32_t)(limit.rlim_cur - (rlim_t)fd)
                                                    : UINT32_MAX;
}

static void answer(struct scan_table *table, const struct scan_request *request,
                   struct scan_reply *reply, int *fd)
{
    switch ((enum scan_op)request->op) {
    case SCAN_LIST:
        list(table, reply);
        break;
    case SCAN_FIND:
        find_process(table, &request->find, reply);
        break;
    case SCAN_START:
        find_start(table, request->pid, reply);
        break;
    case SCAN_OPEN:
        open_guest(table, &request->open, reply, fd);
        break;
    case SCAN_HAS_RAM:
        has_ram(table, request, reply);
        break;
    case SCAN_JOBS:
        find_jobs(table, request->guest, reply);
        break;
    case SCAN_SAMPLE:
    case SCAN_SIZE:
    case SCAN_CLOSE:
        with_guest(table, request, reply);
        break;
    case SCAN_CONNECT:
        connect_agent(table, &request->connect, reply, fd);
        break;
    default:
        reply->rc = -EINVAL;
    }
}

void scan_table_answer(struct scan_table *table, const struct scan_request *request,
                       struct scan_reply *reply, int *fd)
{
    reply->op = request->op;
    *fd = -1;
    if (has_ended(table))
        reply->rc = -ESHUTDOWN;
    else
        answer(table, request, reply, fd);
    reply->files = files_left();
}

/* --- between scans ---------------------------------------------------------------------------- */

int scan_table_fd(const struct scan_table *table)
{
    return table->epoll_fd;
}

/* One that is being scanned is heard again after that. */
static struct scan_entry *take_idle(struct scan_table *table, uint64_t number)
{
    pthread_mutex_lock(&table->mutex);

    struct scan_entry *guest = scan_table_find(table, number);

    if (guest && guest->busy)
        guest = NULL;
    if (guest)
        begin(guest);
    pthread_mutex_unlock(&table->mutex);
    return guest;
}

void scan_table_fetch(struct scan_table *table)
{
    struct guest_event events[FETCH_AT_ONCE];
    size_t n = guest_epoll_take(table->epoll_fd, events, FETCH_AT_ONCE);

    for (size_t i = 0; i < n; i++) {
        struct scan_entry *guest = take_idle(table, events[i].serial);

        if (!guest)
            continue;
        guest_scan_poll(guest->scan, NULL);
        give_back(table, guest);
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

static struct scan_entry *take_any(struct scan_table *table)
{
    struct scan_entry *guest = table->guests;

    while (guest && guest->busy)
        guest = guest->next;
    if (guest)
        guest->busy = guest->gone = true;
    return guest;
}

static void *restore(void *context)
{
    struct scan_table *table = context;
    struct scan_entry *guest;

    for (;;) {
        pthread_mutex_lock(&table->mutex);
        guest = take_any(table);
        pthread_mutex_unlock(&table->mutex);
        if (!guest)
            return NULL;
        free_guest(table, guest);
    }
}

/* Those that are being restored, or with @p scanned those that are not. */
static size_t count(const struct scan_table *table, bool scanned)
{
    size_t n = 0;

    for (const struct scan_entry *guest = table->guests; guest; guest = guest->next)
        n += guest->gone != scanned;
    return n;
}

/* All but a scan that hangs: what is being restored, however long that takes, and what is to be. */
static bool is_awaited(const struct scan_entry *guest, uint64_t now_ns)
{
    return guest->gone || !guest->busy || now_ns < guest->since_ns + LEAVE_NS;
}

static bool any_awaited(const struct scan_table *table)
{
    uint64_t now_ns = clock_ns();

    for (const struct scan_entry *guest = table->guests; guest; guest = guest->next)
        if (is_awaited(guest, now_ns))
            return true;
    return false;
}

size_t scan_table_end(struct scan_table *table)
{
    pthread_t threads[RESTORERS];
    size_t n = 0;

    pthread_mutex_lock(&table->mutex);
    table->ended = true;
    pthread_cond_broadcast(&table->changed);
    while (n < RESTORERS && pthread_create(&threads[n], NULL, restore, table) == 0)
        pthread_detach(threads[n++]);
    while (any_awaited(table)) {
        struct scan_entry *idle = n == 0 || count(table, false) == 0 ? take_any(table) : NULL;

        pthread_mutex_unlock(&table->mutex);
        if (idle)
            free_guest(table, idle);
        pthread_mutex_lock(&table->mutex);
        if (table->guests)
            cond_wait_until(&table->changed, &table->mutex, clock_ns() + 50000000);
    }

    size_t left = count(table, true);

    pthread_mutex_unlock(&table->mutex);
    return left;
}
