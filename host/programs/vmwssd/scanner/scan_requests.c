// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scan_requests.c  Answers the scanner's requests: scan_table_answer(). */
#include "programs/vmwssd/scanner/guest_writes.h"
#include "programs/vmwssd/scanner/scan_table_private.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc_pid.h"
#include "base/service/privileges.h"
#include "guest/agent/agent_endpoint.h"
#include "guest/domain/qemu_vcpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void fail(struct scan_reply *reply, int rc, const struct error *error)
{
    reply->rc = rc;
    snprintf(reply->error, sizeof(reply->error), "%s", rc < 0 ? error->text : "");
}

static void list(struct scan_table *table, struct scan_reply *reply)
{
    cleanup_free pid_t *pids = NULL;
    ssize_t n = qemu_process_find_all(table->root, false, &pids);

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

static int put_opened(const struct guest *guest, struct scan_opened *out, int *fd)
{
    out->pid = guest->process.pid;
    out->start_ticks = guest->process.start_ticks;
    memcpy(out->name, guest->process.config.name, sizeof(out->name));
    memcpy(out->uuid, guest->process.config.uuid, sizeof(out->uuid));
    out->owner = guest->process.owner;
    if (guest->process.pidfd < 0) /* from a captured tree */
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
        rc = put_opened(&guest, &reply->opened, fd);
        if (rc < 0) {
            error_set(&error, rc, "process %d: %s", guest.process.pid, strerror(-rc));
            guest_close(&guest);
        }
    }
    if (rc == 0 && (reply->opened.guest = scan_table_add(table, &guest)) == 0)
        rc = error_set(&error, -ENOMEM, "out of memory");
    fail(reply, rc, &error);
}

/* A scan may run meanwhile: the data compared here never changes. */
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

/* Works for a guest that is being scanned as well: a hanging scan must not hide jobs. */
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
    struct ages_record record;
    struct error error = {0};

    reply->sampled.pages_before = guest_scan_pages(guest->scan);

    int rc = guest_scan_sample(guest->scan, sample, &record, &error);

    /* The guest runs but cannot be measured: its size is stored. */
    if (rc == 0 ||
        (rc != -ESRCH && rc != -EBUSY && rc != -EAGAIN && guest_scan_size(guest->scan, &record)))
        scan_record_put(&reply->sampled, &record);
    reply->sampled.pages = guest_scan_pages(guest->scan);
    reply->sampled.method = scan_method_put(method_by_name(guest_scan_method(guest->scan)));
    fail(reply, rc, &error);
}

/* Measures beside the guest's scans, which go on: it has the process open once more. */
static void measure_writes(struct scan_table *table, const struct scan_request *request,
                           struct scan_reply *reply)
{
    struct scan_entry *entry = scan_table_take(table, request->guest);
    const double cpu_s = thread_cpu_s();
    struct write_curve curve;
    struct guest guest;
    struct error error = {0};
    int rc;

    if (!entry) {
        reply->rc = scan_table_has_ended(table) ? -ESHUTDOWN : -ESRCH;
        return;
    }

    const struct method *method = method_by_name(guest_scan_method(entry->scan));
    const struct guest_writes writes = {.root = table->root,
                                        .interrupted = &table->ending,
                                        .keep_panel = method && !method->sees_qemu};

    rc = guest_scan_open_again(entry->scan, &guest, &error);
    scan_table_give_back(table, entry);
    if (rc == 0)
        rc = guest_writes_measure(&writes, &guest, &request->writes, &curve, &error);
    if (rc == 0)
        scan_curve_put(&reply->written, &curve);
    reply->written.cpu_s = thread_cpu_s() - cpu_s;
    fail(reply, rc, &error);
}

/* After the other half has ended another process is the parent, and serves sockets that are not an
 * agent's. */
static void connect_agent(const struct scan_table *table, const struct scan_connect *connect,
                          struct scan_reply *reply, int *fd)
{
    struct agent_endpoint endpoint = {.vsock_cid = connect->vsock_cid,
                                      .ours = getppid() == table->parent ? table->parent : 0};
    struct error error = {0};

    memcpy(endpoint.path, connect->path, sizeof(endpoint.path));
    memcpy(endpoint.uuid, connect->uuid, sizeof(endpoint.uuid));

    /* The socket belongs to QEMU's user: the capability to connect to it is held no longer than
     * needed. */
    int rc = privileges_reach(true);

    if (rc < 0)
        error_set(&error, rc, "CAP_DAC_OVERRIDE could not be taken up");
    else
        rc = agent_endpoint_connect(&endpoint, &error);
    if (privileges_reach(false) < 0) {
        cleanup_close_at(&rc);
        rc = error_set(&error, -ENOTRECOVERABLE, "CAP_DAC_OVERRIDE could not be laid down");
    }
    *fd = rc;
    fail(reply, rc < 0 ? rc : 0, &error);
}

static void with_guest(struct scan_table *table, const struct scan_request *request,
                       struct scan_reply *reply)
{
    struct scan_entry *guest = scan_table_take(table, request->guest);
    double cpu_s = thread_cpu_s();

    if (!guest) {
        reply->rc = scan_table_has_ended(table) ? -ESHUTDOWN : -ESRCH;
        return;
    }
    if (request->op == SCAN_SAMPLE)
        sample_guest(guest, &request->sample, reply);
    if (request->op == SCAN_CLOSE)
        scan_table_free_guest(table, guest);
    else
        scan_table_give_back(table, guest);
    if (request->op != SCAN_CLOSE)
        reply->sampled.cpu_s = thread_cpu_s() - cpu_s;
}

/* The kernel gives the lowest free number, so this is about the number in use. */
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
    case SCAN_CLOSE:
        with_guest(table, request, reply);
        break;
    case SCAN_WRITES:
        measure_writes(table, request, reply);
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
    if (scan_table_has_ended(table))
        reply->rc = -ESHUTDOWN;
    else
        answer(table, request, reply, fd);
    reply->files = files_left();
}
