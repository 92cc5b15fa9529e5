// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scanner.c  See scanner.h. */
#include "daemon/scanner/scanner.h"

#include "base/clock.h"
#include "daemon/scanner/scan_socket.h"
#include "daemon/scanner/scan_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Whoever waits for us has as long as we have. */
#define ASKS_IN_PATIENCE 8

struct scanner {
    struct scan_table *table; /* of a local one; NULL: it is beyond the wall */
    int channel_fd;
    clockid_t cpu_clock;
    atomic_uint files;
    pthread_key_t lane;    /* each thread's: its channel's descriptor + 1 */
    pthread_mutex_t mutex; /* of the first channel */
    atomic_ullong lane_ns; /* since when a thread that holds it waits for a lane; 0: none does */
    atomic_ullong turn_ns; /* when scanner_alive() was called last */
    uint64_t asked_ns;     /* whether it lives; 0: the answer has come */
    uint64_t ask_ns;       /* when to ask that again */
};

/* --- channels --------------------------------------------------------------------------------- */

static void close_lane(void *lane)
{
    close((int)(intptr_t)lane - 1);
}

static int scanner_new(struct scanner **out)
{
    struct scanner *scanner = calloc(1, sizeof(*scanner));

    if (!scanner)
        return -ENOMEM;
    scanner->channel_fd = -1;
    atomic_init(&scanner->files, UINT32_MAX);
    atomic_init(&scanner->lane_ns, 0);
    atomic_init(&scanner->turn_ns, 0);
    pthread_mutex_init(&scanner->mutex, NULL);

    int rc = -pthread_key_create(&scanner->lane, close_lane);

    if (rc < 0) {
        free(scanner);
        return rc;
    }
    *out = scanner;
    return 0;
}

int scanner_local(struct scanner **out, const struct fsroot *root)
{
    int rc = scanner_new(out);

    if (rc < 0)
        return rc;
    (*out)->table = scan_table_new(root, getppid());
    return (*out)->table ? 0 : -ENOMEM;
}

int scanner_beyond(struct scanner **out, int channel_fd, pid_t pid)
{
    int rc = scanner_new(out);

    if (rc < 0)
        return rc;
    (*out)->channel_fd = channel_fd;
    return -clock_getcpuclockid(pid, &(*out)->cpu_clock);
}

/* Reads what comes of answers to whether it lives, up to one of @p op. */
static int scanner_receive(struct scanner *scanner, unsigned op, int *fd, int flags)
{
    struct scan_reply reply;

    for (;;) {
        ssize_t n = scan_socket_receive(scanner->channel_fd, &reply, sizeof(reply), fd, flags);

        if (n < 0)
            return (int)n;
        if (scan_reply_valid(&reply, (size_t)n, SCAN_ALIVE))
            scanner->asked_ns = 0;
        if (reply.op == op)
            return scan_reply_valid(&reply, (size_t)n, op) ? reply.rc : -EBADMSG;
    }
}

static int open_lane(struct scanner *scanner)
{
    const struct scan_request request = {.op = SCAN_LANE};
    int fd = -1;

    pthread_mutex_lock(&scanner->mutex);

    int rc = scan_socket_send(scanner->channel_fd, &request, scan_request_size(request.op), -1);

    atomic_store(&scanner->lane_ns, clock_ns());
    if (rc == 0)
        rc = scanner_receive(scanner, SCAN_LANE, &fd, 0);
    atomic_store(&scanner->lane_ns, 0);
    pthread_mutex_unlock(&scanner->mutex);
    if (rc < 0)
        return rc;
    if (fd >= 0)
        pthread_setspecific(scanner->lane, (void *)(intptr_t)(fd + 1)); // NOLINT: a number
    return fd >= 0 ? fd : -EBADMSG;
}

/* This thread's, for as long as it lives. */
static int lane_of(struct scanner *scanner)
{
    int lane = (int)(intptr_t)pthread_getspecific(scanner->lane) - 1;

    return lane >= 0 ? lane : open_lane(scanner);
}

/* One that failed is of no use any more, or would take the next request's reply for that to this
 * one: the next opens another. */
static void drop_lane(struct scanner *scanner, int lane)
{
    pthread_setspecific(scanner->lane, NULL);
    close(lane);
}

static int exchange(struct scanner *scanner, const struct scan_request *request,
                    struct scan_reply *reply, int *fd)
{
    int lane = lane_of(scanner);

    if (lane < 0)
        return lane;

    int rc = scan_socket_send(lane, request, scan_request_size(request->op), -1);
    ssize_t n = rc < 0 ? rc : scan_socket_receive(lane, reply, sizeof(*reply), fd, 0);

    if (n >= 0 && !scan_reply_valid(reply, (size_t)n, request->op))
        n = -EBADMSG;
    if (n < 0)
        drop_lane(scanner, lane);
    return n < 0 ? (int)n : 0;
}

/* Only as much of it as crosses: 30 KB that are not in the cache take longer than all the rest. */
static void begin(struct scan_request *request, enum scan_op op, uint64_t guest)
{
    memset(request, 0, scan_request_size(op));
    request->op = op;
    request->guest = guest;
}

static const char *why(int rc)
{
    return rc == -ESHUTDOWN ? "the scanner is about to end" : strerror(-rc);
}

/* The reply's own result; @p fd: what came with it, closed if nobody wants it. What a domain's XML
 * says may be no request: the scanner would end the channel. */
static int scanner_ask(struct scanner *scanner, const struct scan_request *request,
                       struct scan_reply *reply, int *fd, struct error *error)
{
    int came = -1;
    int rc = 0;

    if (fd)
        *fd = -1;
    if (!scan_request_valid(request, scan_request_size(request->op)))
        return error_set(error, -EINVAL,
                         "the scanner is not asked: a name or a number is out of range");
    memset(reply, 0, offsetof(struct scan_reply, list));
    reply->error[0] = '\0';
    if (scanner->table)
        scan_table_answer(scanner->table, request, reply, &came);
    else
        rc = exchange(scanner, request, reply, &came);
    if (rc < 0)
        error_set(error, rc, "the scanner does not answer: %s", strerror(-rc));
    else if (reply->rc < 0)
        error_set(error, reply->rc, "%s", *reply->error ? reply->error : why(reply->rc));
    if (rc == 0)
        atomic_store(&scanner->files, reply->files);
    if (fd)
        *fd = came;
    else if (came >= 0)
        close(came);
    return rc < 0 ? rc : reply->rc;
}

/* --- does it live ----------------------------------------------------------------------------- */

/* Whoever waits for a lane has the mutex, and waits for the scanner as we would. */
static int alive_by_lane(struct scanner *scanner, uint64_t now_ns, bool stopped,
                         uint64_t patience_ns)
{
    unsigned long long since_ns = atomic_load(&scanner->lane_ns);

    if (stopped && since_ns) /* unless it has just been answered */
        atomic_compare_exchange_strong(&scanner->lane_ns, &since_ns, now_ns);
    return !stopped && since_ns && now_ns > since_ns + patience_ns ? -ETIMEDOUT : 0;
}

int scanner_alive(struct scanner *scanner, uint64_t patience_ns)
{
    struct scan_request request;
    uint64_t now_ns = clock_ns();
    uint64_t turn_ns = atomic_exchange(&scanner->turn_ns, now_ns);
    bool stopped = turn_ns && now_ns > turn_ns + SCANNER_STOPPED_NS;
    int rc;

    if (scanner->table)
        return 0;
    if (pthread_mutex_trylock(&scanner->mutex) != 0)
        return alive_by_lane(scanner, now_ns, stopped, patience_ns);
    if (stopped && scanner->asked_ns)
        scanner->asked_ns = now_ns;
    rc = scanner_receive(scanner, N_SCAN_OPS, NULL, MSG_DONTWAIT);
    if (rc == -EAGAIN && scanner->asked_ns != 0) {
        rc = now_ns > scanner->asked_ns + patience_ns ? -ETIMEDOUT : 0;
    } else if (rc == -EAGAIN && now_ns < scanner->ask_ns) {
        rc = 0;
    } else if (rc == -EAGAIN) {
        begin(&request, SCAN_ALIVE, 0);
        rc = scan_socket_send(scanner->channel_fd, &request, scan_request_size(request.op), -1);
        scanner->asked_ns = now_ns;
        scanner->ask_ns = now_ns + patience_ns / ASKS_IN_PATIENCE;
    }
    pthread_mutex_unlock(&scanner->mutex);
    return rc;
}

int scanner_fd(const struct scanner *scanner)
{
    return scanner->channel_fd;
}

void scanner_leave(struct scanner *scanner)
{
    if (scanner->channel_fd >= 0)
        shutdown(scanner->channel_fd, SHUT_RDWR);
}

double scanner_cpu_s(const struct scanner *scanner)
{
    return scanner->table ? 0 : clock_s(scanner->cpu_clock);
}

uint32_t scanner_files(const struct scanner *scanner)
{
    return atomic_load(&scanner->files);
}

bool scanner_is_gone(int rc)
{
    return rc == -EPIPE || rc == -ESHUTDOWN;
}

/* --- questions -------------------------------------------------------------------------------- */

ssize_t scanner_list(struct scanner *scanner, pid_t **pids)
{
    struct scan_request request;
    struct scan_reply reply;
    int rc;

    begin(&request, SCAN_LIST, 0);
    reply.list.n = 0;
    rc = scanner_ask(scanner, &request, &reply, NULL, NULL);
    if (rc < 0)
        return rc;
    *pids = calloc(reply.list.n + 1, sizeof(**pids));
    if (!*pids)
        return -ENOMEM;
    for (uint32_t i = 0; i < reply.list.n; i++)
        (*pids)[i] = reply.list.pids[i];
    return reply.list.n;
}

static int put_domain(struct scan_domain *out, const struct domain_name *domain)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->pid_dir, sizeof(out->pid_dir), "%s", domain->pid_dir);
    snprintf(out->name, sizeof(out->name), "%s", domain->name);
    snprintf(out->uuid, sizeof(out->uuid), "%s", domain->uuid);
    return strstr(out->pid_dir, "..") || strchr(out->name, '/') ? -EINVAL : 0;
}

pid_t scanner_find(const struct domain_name *domain, void *context)
{
    struct scan_request request;
    struct scan_reply reply;

    begin(&request, SCAN_FIND, 0);
    reply.pid = 0;

    int rc = put_domain(&request.find, domain);

    if (rc == 0)
        rc = scanner_ask(context, &request, &reply, NULL, NULL);
    if (rc == -EINVAL) /* no process has such a name */
        return 0;
    return rc < 0 ? DOMAIN_PID_UNKNOWN : reply.pid;
}

int scanner_start_ticks(struct scanner *scanner, pid_t pid, uint64_t *start_ticks)
{
    struct scan_request request;
    struct scan_reply reply;
    int rc;

    begin(&request, SCAN_START, 0);
    request.pid = pid;
    reply.start_ticks = 0;
    rc = scanner_ask(scanner, &request, &reply, NULL, NULL);
    *start_ticks = reply.start_ticks;
    return rc;
}

static int open_guest(struct scanner *scanner, const struct scan_request *request,
                      struct scan_guest_ref *out, struct error *error)
{
    struct scan_reply reply;
    int fd;

    memset(&reply.opened, 0, sizeof(reply.opened));

    int rc = scanner_ask(scanner, request, &reply, &fd, error);

    if (rc < 0) {
        if (fd >= 0)
            close(fd);
        return rc;
    }
    *out = (struct scan_guest_ref){.guest = reply.opened.guest,
                                   .pid = reply.opened.pid,
                                   .pidfd = fd,
                                   .start_ticks = reply.opened.start_ticks};
    memcpy(out->name, reply.opened.name, sizeof(out->name));
    memcpy(out->uuid, reply.opened.uuid, sizeof(out->uuid));
    return 0;
}

int scanner_open_domain(struct scanner *scanner, const char *pid_dir,
                        const struct domain_info *info, const struct ram_config *ram,
                        struct scan_guest_ref *out, struct error *error)
{
    const struct domain_name name = {.pid_dir = pid_dir, .name = info->name, .uuid = info->uuid};
    struct scan_request request = {.op = SCAN_OPEN, .open.migrating = info->migrating};
    int rc = put_domain(&request.open.domain, &name);

    if (rc == 0)
        rc = scan_ram_put(&request.open.ram, ram);
    if (rc < 0)
        return error_set(error, rc, "domain %s: %s", info->name, strerror(-rc));
    rc = open_guest(scanner, &request, out, error);
    if (rc < 0)
        return rc;
    out->from_libvirt = true;
    memcpy(out->name, info->name, sizeof(out->name));
    memcpy(out->uuid, info->uuid, sizeof(out->uuid));
    return 0;
}

int scanner_open_process(struct scanner *scanner, pid_t pid, struct scan_guest_ref *out,
                         struct error *error)
{
    struct scan_request request = {.op = SCAN_OPEN, .open.pid = pid};

    return open_guest(scanner, &request, out, error);
}

int scanner_adopt(struct scanner *scanner, struct guest *guest, struct scan_guest_ref *out)
{
    *out = (struct scan_guest_ref){.pid = guest->process.pid,
                                   .pidfd = dup(guest->process.pidfd),
                                   .start_ticks = guest->process.start_ticks,
                                   .from_libvirt = guest->from_libvirt};
    memcpy(out->name, guest->name, sizeof(out->name));
    memcpy(out->uuid, guest->uuid, sizeof(out->uuid));
    out->guest = scan_table_add(scanner->table, guest);
    if (out->guest)
        return 0;
    if (out->pidfd >= 0)
        close(out->pidfd);
    return -ENOMEM;
}

bool scanner_has_ram(struct scanner *scanner, uint64_t guest, const struct ram_config *xml)
{
    struct scan_request request = {.op = SCAN_HAS_RAM, .guest = guest};
    struct scan_reply reply;

    reply.has_ram = 0;
    if (scan_ram_put(&request.has_ram, xml) < 0)
        return false;

    int rc = scanner_ask(scanner, &request, &reply, NULL, NULL);

    return rc == 0 ? reply.has_ram : scanner_is_gone(rc);
}

int scanner_jobs(struct scanner *scanner, uint64_t guest, unsigned *jobs, double *cpu_s)
{
    struct scan_request request;
    struct scan_reply reply;

    begin(&request, SCAN_JOBS, guest);
    memset(&reply.jobs, 0, sizeof(reply.jobs));

    int rc = scanner_ask(scanner, &request, &reply, NULL, NULL);

    *jobs = reply.jobs.jobs;
    *cpu_s = scanner->table ? 0 : reply.jobs.cpu_s; /* else it is this thread's */
    return rc;
}

static int ask_sampled(struct scanner *scanner, const struct scan_request *request,
                       struct scan_sampled *out, struct error *error)
{
    struct scan_reply reply;

    memset(&reply.sampled, 0, offsetof(struct scan_sampled, record));

    int rc = scanner_ask(scanner, request, &reply, NULL, error);

    memcpy(out, &reply.sampled,
           reply.sampled.has_record ? sizeof(*out) : offsetof(struct scan_sampled, record));
    return rc;
}

int scanner_sample(struct scanner *scanner, uint64_t guest, const struct scan_sample *sample,
                   struct scan_sampled *out, struct error *error)
{
    struct scan_request request;

    begin(&request, SCAN_SAMPLE, guest);
    request.sample = *sample;

    int rc = ask_sampled(scanner, &request, out, error);

    if (rc == 0 && !out->has_record)
        return error_set(error, -EBADMSG, "the scanner has no record");
    return rc;
}

bool scanner_size(struct scanner *scanner, uint64_t guest, struct ages_record *record)
{
    struct scan_request request;
    struct scan_sampled sampled;

    begin(&request, SCAN_SIZE, guest);
    if (ask_sampled(scanner, &request, &sampled, NULL) < 0 || !sampled.has_record)
        return false;
    *record = *scan_record_take(&sampled);
    return true;
}

void scanner_close(struct scanner *scanner, struct scan_guest_ref *ref)
{
    struct scan_request request;
    struct scan_reply reply;

    if (ref->guest == 0)
        return;
    begin(&request, SCAN_CLOSE, ref->guest);
    scanner_ask(scanner, &request, &reply, NULL, NULL);
    if (ref->pidfd >= 0)
        close(ref->pidfd);
    *ref = (struct scan_guest_ref){.pidfd = -1};
}

int scanner_connect(const struct agent_endpoint *endpoint, void *context, struct error *error)
{
    struct scan_request request;
    struct scan_reply reply;
    char name[300];
    int fd = -1;

    begin(&request, SCAN_CONNECT, 0);
    request.connect.vsock_cid = endpoint->vsock_cid;
    memcpy(request.connect.path, endpoint->path, sizeof(request.connect.path));
    memcpy(request.connect.uuid, endpoint->uuid, sizeof(request.connect.uuid));

    if (!scan_request_valid(&request, scan_request_size(request.op)))
        return error_set(error, -EINVAL,
                         "%s: no agent's: a path is absolute, and not the monitor's",
                         agent_endpoint_name(endpoint, name, sizeof(name)));

    int rc = scanner_ask(context, &request, &reply, &fd, error);

    if (rc < 0 && fd >= 0)
        close(fd);
    if (rc < 0)
        return rc;
    return fd >= 0 ? fd : error_set(error, -EBADMSG, "the scanner has no socket");
}
